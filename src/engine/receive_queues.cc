// SPDX-License-Identifier: Apache-2.0
#include "engine/receive_queues.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "verbs/ring_request.h"
#include "wire/ring_entry.h"

namespace wharf::engine {

namespace {

Error no_such(QueueId id) {
  return input_error("there is no receive queue " + std::to_string(table_index(id)));
}

}  // namespace

ReceiveQueues::Queue* ReceiveQueues::find(QueueId id) {
  if (!is_receive_queue(id) || table_index(id) >= queues_.size()) return nullptr;
  Queue& queue = *queues_[table_index(id)];
  return queue.used ? &queue : nullptr;
}
const ReceiveQueues::Queue* ReceiveQueues::find(QueueId id) const {
  return const_cast<ReceiveQueues*>(this)->find(id);
}

/// Whatever has come in order can be taken; what was dropped is passed over.
void ReceiveQueues::Queue::settle() {
  while (ready != tail && (entry(ready).usable || entry(ready).dropped)) ++ready;
  while (head != ready && entry(head).dropped) ++head;
}

Result<QueueId> ReceiveQueues::create(const ReceiveQueueConfig& config) {
  if (!std::has_single_bit(config.depth) || config.depth > kDepthMax) {
    return input_error("receive queue depth is " + std::to_string(config.depth) +
                       ", expected a power of two from 1 to " + std::to_string(kDepthMax));
  }
  const auto free =
      std::find_if(queues_.begin(), queues_.end(), [](const auto& queue) { return !queue->used; });
  const auto at = static_cast<std::uint32_t>(free - queues_.begin());
  if (free == queues_.end()) {
    if (at >= kMost) return input_error("all " + std::to_string(kMost) + " receive queues are in use");
    queues_.push_back(std::make_unique<Queue>());
  }
  Queue& queue = *queues_[at];
  queue.limit = 0;
  queue.config = config;
  queue.head = queue.ready = queue.asked = queue.tail;  // Numbers go on: late answers find nothing.
  queue.entries.assign(config.depth, Entry{});
  queue.used = true;  // Last: before, memory may run out.
  return at | kReceiveQueueBit;
}

bool ReceiveQueues::has_room() const {
  return queues_.size() < kMost ||
         std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) { return !queue->used; });
}

Result<void> ReceiveQueues::destroy(QueueId id) {
  Queue* queue = find(id);
  if (queue == nullptr) return no_such(id);
  if (queue->users > 0) {
    return input_error("receive queue " + std::to_string(table_index(id)) + " has " +
                       std::to_string(queue->users) + " queues that take from it, expected none");
  }
  queue->used = false;
  queue->head = queue->ready = queue->asked = queue->tail;
  return {};
}

void ReceiveQueues::clear(QueueId id) {
  Queue& queue = *queues_[table_index(id)];
  queue.head = queue.ready = queue.asked = queue.tail;
}

Result<void> ReceiveQueues::set_limit(QueueId id, std::uint32_t limit) {
  Queue* queue = find(id);
  if (queue == nullptr) return no_such(id);
  if (limit > queue->config.depth) {
    return input_error("receive limit is " + std::to_string(limit) + ", expected at most the depth of " +
                       std::to_string(queue->config.depth));
  }
  queue->limit = limit;
  return {};
}

Result<verbs::ReceiveRequest> ReceiveQueues::cancel(QueueId id, std::uint64_t receive) {
  Queue* queue = find(id);
  if (queue == nullptr) return no_such(id);
  if (queue->in_memory()) {
    return input_error("receive queue " + std::to_string(table_index(id)) +
                       ": its entries lie in host memory, where the interface may have read them");
  }
  for (std::uint32_t at = queue->head; at != queue->tail; ++at) {
    if (queue->entry(at).request.id != receive) continue;
    const verbs::ReceiveRequest found = queue->entry(at).request;
    for (; at + 1 != queue->tail; ++at) queue->entry(at) = queue->entry(at + 1);
    queue->ready = queue->asked = --queue->tail;
    return found;
  }
  return input_error("receive queue " + std::to_string(table_index(id)) + " has no free entry with id " +
                     std::to_string(receive));
}

PostStatus ReceiveQueues::post(QueueId id, const verbs::ReceiveRequest& receive) {
  Queue* queue = find(id);
  if (queue == nullptr) return PostStatus::kBadQueue;
  if (queue->config.entries == EntryFormat::kBytes) return PostStatus::kUnsupported;
  if (receive.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  if (queue->tail - queue->head >= queue->config.depth) return PostStatus::kQueueFull;
  queue->entry(queue->tail++) = {receive, !queue->in_memory(), false};
  if (!queue->in_memory()) queue->ready = queue->asked = queue->tail;
  return PostStatus::kOk;
}

PostStatus ReceiveQueues::announce(QueueId id, std::uint32_t count) {
  Queue* queue = find(id);
  if (queue == nullptr) return PostStatus::kBadQueue;
  if (queue->config.entries != EntryFormat::kBytes) return PostStatus::kUnsupported;
  if (count > queue->config.depth - (queue->tail - queue->head)) return PostStatus::kQueueFull;
  for (std::uint32_t i = 0; i < count; ++i) queue->entry(queue->tail++) = Entry{};
  return PostStatus::kOk;
}

std::optional<ReceiveTicket> ReceiveQueues::next_fetch(QueueId id, Access& access) {
  Queue& queue = *queues_[table_index(id)];
  if (queue.asked == queue.tail) return std::nullopt;
  const std::uint32_t first = queue.asked & queue.mask();
  // Back to back in memory: no fetch goes round the end of the ring.
  const std::uint32_t count = std::min({queue.tail - queue.asked, queue.config.depth - first, kFetchMost});
  access.kind = AccessKind::kFetchReceiveEntry;
  access.queue = id;
  access.space = queue.config.space;
  access.at_target = true;
  access.count = static_cast<std::uint8_t>(count);
  access.length = count * wire::kRingEntryBytes;
  access.address = queue.config.ring + std::uint64_t{first} * wire::kRingEntryBytes;
  const ReceiveTicket ticket{table_index(id), queue.asked, count};
  queue.asked += count;
  return ticket;
}

std::uint32_t ReceiveQueues::fetched(ReceiveTicket ticket, const AccessResult& result) {
  Queue& queue = *queues_[ticket.table_index];
  if (!queue.used || ticket.number - queue.head >= queue.asked - queue.head) return 0;
  const std::uint32_t count = ticket.count;
  const bool as_bytes = queue.config.entries == EntryFormat::kBytes;
  bool done = result.status == AccessStatus::kDone;
  if (as_bytes) done = done && result.data.length == count * wire::kRingEntryBytes;
  std::uint32_t dropped = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Entry& entry = queue.entry(ticket.number + i);
    bool good = done;
    if (good && as_bytes) {
      std::array<std::byte, wire::kRingEntryBytes> bytes;
      wire::fill(wire::slice(result.data, i * wire::kRingEntryBytes, wire::kRingEntryBytes), bytes);
      wire::ReceiveEntry read;
      good = wire::decode(bytes, read) == wire::RingEntryError::kNone;
      if (good) entry.request = verbs::to_request(read);
    }
    entry.usable = good;
    entry.dropped = !good;
    if (!good) ++dropped;
  }
  queue.settle();
  return dropped;
}

std::uint32_t ReceiveQueues::available(QueueId id) const {
  const Queue& queue = *queues_[table_index(id)];
  return queue.ready - queue.head;
}

bool ReceiveQueues::take(QueueId id, verbs::ReceiveRequest& out) {
  Queue& queue = *queues_[table_index(id)];
  out = queue.entry(queue.head++).request;
  queue.settle();
  if (queue.limit == 0 || queue.tail - queue.head >= queue.limit) return false;
  queue.limit = 0;
  return true;
}

std::size_t ReceiveQueues::bytes_held() const {
  std::size_t bytes = queues_.capacity() * sizeof(queues_[0]);
  for (const auto& queue : queues_) bytes += sizeof *queue + queue->entries.capacity() * sizeof(Entry);
  return bytes;
}

}  // namespace wharf::engine
