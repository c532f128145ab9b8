// SPDX-License-Identifier: Apache-2.0
#include "engine/completion_queues.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.h"
#include "verbs/ring_request.h"

namespace wharf::engine {

CompletionQueues::Queue* CompletionQueues::find(QueueId id) {
  if (!is_completion_queue(id) || table_index(id) >= queues_.size()) return nullptr;
  Queue& queue = *queues_[table_index(id)];
  return queue.used ? &queue : nullptr;
}
const CompletionQueues::Queue* CompletionQueues::find(QueueId id) const {
  return const_cast<CompletionQueues*>(this)->find(id);
}

Result<QueueId> CompletionQueues::create(const CompletionQueueConfig& config) {
  if (!std::has_single_bit(config.depth) || config.depth > kDepthMax) {
    return input_error("completion queue depth is " + std::to_string(config.depth) +
                       ", expected a power of two from 1 to " + std::to_string(kDepthMax));
  }
  const auto free =
      std::find_if(queues_.begin(), queues_.end(), [](const auto& queue) { return !queue->used; });
  const auto at = static_cast<std::uint32_t>(free - queues_.begin());
  if (free == queues_.end()) {
    if (at >= kMost) {
      return input_error("all " + std::to_string(kMost) + " completion queues are in use");
    }
    ready_.reserve(at + 1);
    queues_.push_back(std::make_unique<Queue>());
  }
  Queue& queue = *queues_[at];
  queue.config = config;
  queue.armed = queue.keeps = false;
  queue.head = queue.shown = queue.tail;  // Numbers go on: late answers find nothing.
  queue.records.assign(config.depth, Record{});
  if (queue.as_bytes()) queue.bytes.assign(std::size_t{config.depth} * wire::kRingEntryBytes, std::byte{0});
  queue.used = true;  // Last: before, memory may run out.
  return at | kCompletionQueueBit;
}

Result<void> CompletionQueues::destroy(QueueId id) {
  Queue* queue = find(id);
  if (queue == nullptr) return input_error("there is no completion queue " + std::to_string(table_index(id)));
  if (queue->users > 0) {
    return input_error("completion queue " + std::to_string(table_index(id)) + " has " +
                       std::to_string(queue->users) + " queues that report into it, expected none");
  }
  queue->used = false;
  queue->head = queue->shown = queue->tail;
  return {};
}

Result<void> CompletionQueues::arm(QueueId id, const Arming& arming) {
  Queue* queue = find(id);
  if (queue == nullptr) return input_error("there is no completion queue " + std::to_string(table_index(id)));
  if (arming.count == 0 || arming.count > queue->config.depth) {
    return input_error("arm count is " + std::to_string(arming.count) + ", expected 1 to the depth of " +
                       std::to_string(queue->config.depth));
  }
  queue->armed = true;
  queue->arming = arming;
  queue->counted = 0;
  return {};
}

std::optional<CompletionTicket> CompletionQueues::add(QueueId id, const verbs::Completion& completion,
                                                      Access& access) {
  Queue& queue = *queues_[table_index(id)];
  if (queue.tail - queue.head >= queue.config.depth) return std::nullopt;
  const std::uint32_t number = queue.tail++;
  const std::uint32_t place = number & queue.mask();
  queue.records[place] = {completion, false};
  access.kind = AccessKind::kWriteCompletion;
  access.order = verbs::AccessOrder::kRelease;  // After the data that it announces.
  access.space = queue.config.space;
  access.length = wire::kRingEntryBytes;
  access.address = queue.config.ring + std::uint64_t{place} * wire::kRingEntryBytes;
  if (queue.as_bytes()) {
    std::byte* at = queue.bytes.data() + std::size_t{place} * wire::kRingEntryBytes;
    const bool lap = (number / queue.config.depth & 1U) == 0;
    wire::encode(verbs::to_entry(completion, lap),
                 std::span<std::byte, wire::kRingEntryBytes>(at, wire::kRingEntryBytes));
    access.data = wire::bytes_payload(at, wire::kRingEntryBytes);
  }
  return CompletionTicket{table_index(id), number};
}

CompletionQueues::Written CompletionQueues::written(CompletionTicket ticket, bool failed,
                                                    std::optional<verbs::CompletionStatus> status) {
  Queue& queue = *queues_[ticket.table_index];
  if (!queue.used || ticket.number - queue.head >= queue.tail - queue.head) return {.late = true};
  Record& record = queue.records[ticket.number & queue.mask()];
  record.visible = true;
  if (status) record.completion.status = *status;
  if (failed && record.completion.ok()) record.completion.status = verbs::CompletionStatus::kLocalOperation;
  Written result;
  result.queue = ticket.table_index | kCompletionQueueBit;
  result.of = record.completion.queue;
  result.ready = show(queue);
  if (!queue.listed && queue.shown != queue.head && !queue.as_bytes()) {
    queue.listed = true;
    ready_.push_back(ticket.table_index);
  }
  return result;
}

bool CompletionQueues::show(Queue& queue) {
  bool ready = false;
  while (queue.shown != queue.tail && queue.records[queue.shown & queue.mask()].visible) {
    const verbs::Completion& completion = queue.records[queue.shown & queue.mask()].completion;
    ++queue.shown;
    if (!queue.armed) continue;
    // [IBTA vol 1 11.4.2.2] An error is an event even for those who wait for solicited ones.
    if (queue.arming.solicited_only && !completion.solicited && completion.ok()) continue;
    if (++queue.counted < queue.arming.count) continue;
    queue.armed = false;
    ready = true;
  }
  return ready;
}

bool CompletionQueues::poll(QueueId id, verbs::Completion& out) {
  Queue* queue = find(id);
  if (queue == nullptr || queue->head == queue->shown || queue->as_bytes()) return false;
  out = queue->records[queue->head++ & queue->mask()].completion;
  return true;
}

bool CompletionQueues::next_ready(QueueId& out) {
  while (!ready_.empty()) {
    const std::uint32_t at = ready_.front();
    ready_.pop_front();
    Queue& queue = *queues_[at];
    if (!queue.used || queue.head == queue.shown) {
      queue.listed = false;
      continue;
    }
    ready_.push_back(at);  // Until a call finds it empty; others come before it.
    out = at | kCompletionQueueBit;
    return true;
  }
  return false;
}

bool CompletionQueues::release(QueueId id, std::uint32_t count) {
  Queue* queue = find(id);
  if (queue == nullptr || !queue->as_bytes() || count > queue->shown - queue->head) return false;
  queue->head += count;
  return true;
}

std::size_t CompletionQueues::bytes_held() const {
  std::size_t bytes = queues_.capacity() * sizeof(queues_[0]) + ready_.capacity() * sizeof(std::uint32_t);
  for (const auto& queue : queues_) {
    bytes += sizeof *queue + queue->records.capacity() * sizeof(Record) + queue->bytes.capacity();
  }
  return bytes;
}

}  // namespace wharf::engine
