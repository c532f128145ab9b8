// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/endpoint.h"

#include <fmt/format.h>

#include <bit>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

namespace {

/// Places for completions that a queue begins with; they double as they are needed.
constexpr std::size_t kFirstCompletions = 4;

}  // namespace

using engine::PostStatus;
using wire::UetReturnCode;

Result<engine::QueueId> EndpointTable::create(const engine::QueueConfig& config,
                                              const EndpointAddress& address, std::uint32_t initiator_id) {
  for (const std::uint32_t depth : {config.send_depth, config.receive_depth}) {
    if (!std::has_single_bit(depth) || depth > 65536) {
      return input_error(fmt::format("queue depth: found {}, expected a power of two up to 65536", depth));
    }
  }
  if (address.job_id == 0 || address.job_id > 0xff'ffff || address.pid_on_fep > 0xfff ||
      address.resource_index == 0 || address.resource_index > 0xfff) {
    return input_error(
        fmt::format("endpoint address: found JobID {}, PIDonFEP {}, resource index {}, expected 1 to "
                    "16777215, 0 to 4095, 1 to 4095",
                    address.job_id, address.pid_on_fep, address.resource_index));
  }
  for (const engine::QueueId id : {config.send_completions, config.receive_completions}) {
    if (id != engine::kOwn && !completion_queues_.exists(id)) {
      return input_error(fmt::format("there is no completion queue {} to report into", id));
    }
  }
  if (config.receive_queue != engine::kOwn || config.group != engine::kOwn ||
      config.entries != engine::EntryFormat::kObjects) {
    return input_error("UET has no shared receive queues, groups or rings of bytes, expected none");
  }
  if (const std::string_view beyond = engine::beyond_common(config); !beyond.empty()) {
    return input_error(
        fmt::format("queue: {} is of Unified Bus alone, expected its default with Ultra Ethernet", beyond));
  }
  const std::uint64_t where =
      key(address.job_id, address.pid_on_fep, address.resource_index, address.relative);
  if (by_address_.contains(where)) {
    return input_error(fmt::format("endpoint address: JobID {}, PIDonFEP {}, resource index {} is in use",
                                   address.job_id, address.pid_on_fep, address.resource_index));
  }
  const engine::QueueId queue = next();
  if (queue == count()) {
    endpoints_.push_back(std::make_unique<Endpoint>());
    ++count_;
    completed_.reserve(endpoints_.size());
    resting_.reserve(endpoints_.size());
  } else {
    resting_.pop_front();
  }
  Endpoint& made = *endpoints_[queue];
  made.used = true;
  made.config = config;
  made.address = address;
  made.initiator_id = initiator_id;
  for (const engine::QueueId id : {config.send_completions, config.receive_completions}) {
    if (id == engine::kOwn) continue;
    completion_queues_.attach(id);
    made.shares = true;
  }
  made.generations = parts_.config.use_ri_generation;
  made.generation = made.generations ? 1 : 0;
  made.record_places = std::bit_ceil(made.records());
  made.completions.reserve(kFirstCompletions);
  by_address_.insert(where, queue);
  return queue;
}

Result<void> EndpointTable::destroy(TimePs now, engine::QueueId queue) {
  Endpoint* endpoint = find(queue);
  if (endpoint == nullptr) return input_error(fmt::format("queue {}: no such queue", queue));
  flush(now, queue);
  parts_.initiator.forget_queue(queue);
  for (const engine::QueueId id : {endpoint->config.send_completions, endpoint->config.receive_completions}) {
    if (id != engine::kOwn) completion_queues_.detach(id);
  }
  if (endpoint->overrun) --overruns_;
  const EndpointAddress& address = endpoint->address;
  by_address_.erase(key(address.job_id, address.pid_on_fep, address.resource_index, address.relative));
  last_ = {};
  // Numbers go on where they were, so that memory's late answers are none of the next endpoint's.
  Endpoint gone;
  gone.posted_head = endpoint->posted_head + endpoint->posted.size();
  gone.completion_next = endpoint->completion_next;
  gone.listed = endpoint->listed;
  *endpoint = std::move(gone);
  resting_.push_back(queue);
  // Who waited here is still to be told.
  if (parts_.target.has_unasked()) parts_.initiator.look_at(queue);
  return {};
}

UetReturnCode EndpointTable::what_is_wrong(const wire::UetSesRequest& request) const {
  bool job = false;
  bool pid = false;
  for (const auto& endpoint : endpoints_) {
    if (!endpoint->used || endpoint->address.job_id != request.job_id) continue;
    job = true;
    if (endpoint->address.relative == request.relative() &&
        endpoint->address.pid_on_fep == request.pid_on_fep) {
      pid = true;
    }
  }
  return !job ? UetReturnCode::kBadJobId : (!pid ? UetReturnCode::kBadPid : UetReturnCode::kBadIndex);
}

UetReturnCode EndpointTable::find_other(const wire::UetSesRequest& request) {
  const std::uint32_t* found =
      by_address_.find(key(request.job_id, request.pid_on_fep, request.resource_index, request.relative()));
  if (found == nullptr) return what_is_wrong(request);
  const Endpoint& endpoint = *endpoints_[*found];
  // Absolute addressing finds the process by the FEP alone; the job still has to be authorised.
  if (endpoint.address.job_id != request.job_id) return UetReturnCode::kBadJobId;
  last_ = {request.job_id, request.pid_on_fep, request.resource_index, request.relative(), *found, &endpoint};
  return UetReturnCode::kOk;
}

UetReturnCode EndpointTable::refused_by(const Endpoint& endpoint, const wire::UetSesRequest& request) {
  if (endpoint.generations && request.ri_generation != endpoint.generation)
    return UetReturnCode::kBadGeneration;
  if (!endpoint.enabled)
    return endpoint.generations ? UetReturnCode::kDisabledGeneration : UetReturnCode::kDisabled;
  return UetReturnCode::kOk;
}

PostStatus EndpointTable::post_receive(TimePs now, engine::QueueId queue,
                                       const verbs::ReceiveRequest& request) {
  Endpoint* endpoint = find(queue);
  if (endpoint == nullptr || endpoint->failed) return PostStatus::kBadQueue;
  if (request.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  for (std::uint8_t i = 0; i < request.local_count; ++i) {
    verbs::ScatterEntry piece = request.local[i];
    if (!parts_.regions.resolve(piece, endpoint->config.space)) return PostStatus::kBadRequest;
  }
  if (endpoint->receive_count >= endpoint->config.receive_depth ||
      endpoint->reserved >= endpoint->records()) {
    return PostStatus::kQueueFull;
  }
  ++endpoint->reserved;
  ++endpoint->receive_count;
  const std::uint32_t slot = EngineParts::acquire(receives_, 1U << 24U);
  ReceiveEntry& entry = receives_[slot];
  entry.request = request;
  entry.capacity = 0;
  for (std::uint8_t i = 0; i < request.local_count; ++i) {
    entry.capacity += request.local[i].length;
    parts_.regions.resolve(entry.request.local[i], endpoint->config.space);
  }
  if (!parts_.target.receive_posted(now, queue, slot)) {
    endpoint->receives.push(receives_, slot, &ReceiveEntry::next);
  }
  enable(*endpoint);
  return PostStatus::kOk;
}

void EndpointTable::enable(Endpoint& endpoint) {
  if (endpoint.enabled) return;
  // [UE 1.0 3.4] There is a buffer again: the RI is enabled under the next generation.
  endpoint.enabled = true;
  endpoint.refuses = false;
  if (endpoint.generations) ++endpoint.generation;
}

bool EndpointTable::matches(const verbs::ReceiveRequest& receive, const wire::UetSesRequest& request) {
  const bool tagged = is_tagged(request.opcode);
  if (receive.tagged != tagged) return false;
  if (receive.from_one_sender && receive.sender != request.initiator) return false;
  return !tagged || ((request.memory_key ^ receive.tag) & ~receive.ignore) == 0;
}

template <typename Takes>
[[gnu::always_inline]] inline std::uint32_t EndpointTable::take_first(engine::QueueId queue,
                                                                      const wire::UetSesRequest& request,
                                                                      Takes&& takes) {
  Endpoint& endpoint = *endpoints_[queue];
  // [UE 1.0 3.4] First posted wins.
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t at = endpoint.receives.head; at != kNoSlot; at = receives_[at].next) {
    if (matches(receives_[at].request, request)) {
      if (!takes(receives_[at])) return kNoSlot;
      const std::uint32_t next = receives_[at].next;
      (previous == kNoSlot ? endpoint.receives.head : receives_[previous].next) = next;
      if (endpoint.receives.tail == at) endpoint.receives.tail = previous;
      return at;
    }
    previous = at;
  }
  return kNoSlot;
}

std::uint32_t EndpointTable::match(engine::QueueId queue, const wire::UetSesRequest& request) {
  return take_first(queue, request, [](const ReceiveEntry&) { return true; });
}

std::uint32_t EndpointTable::match_whole(engine::QueueId queue, const wire::UetSesRequest& request) {
  return take_first(queue, request,
                    [&](const ReceiveEntry& entry) { return entry.capacity >= request.request_length; });
}

void EndpointTable::give_back(engine::QueueId queue, std::uint32_t slot) {
  Endpoint& endpoint = *endpoints_[queue];
  if (!endpoint.used) {
    receives_.release(slot);
    return;
  }
  receives_[slot].next = endpoint.receives.head;
  endpoint.receives.head = slot;
  if (endpoint.receives.tail == kNoSlot) endpoint.receives.tail = slot;
}

void EndpointTable::completion_error(engine::QueueId queue, Endpoint& endpoint, PendingCompletion& record) {
  record.made_plain = false;
  if (record.completion.ok()) record.completion.status = verbs::CompletionStatus::kLocalOperation;
  parts_.raise({engine::AsyncEventKind::kCompletionError, queue});
  if (!endpoint.listed && endpoint.completions.front().visible) list_completed(queue, endpoint);
}

void EndpointTable::list_completed(engine::QueueId queue, Endpoint& endpoint) {
  endpoint.listed = true;
  completed_.push_back(queue);
}

bool EndpointTable::next_completed(engine::QueueId& queue) {
  while (!completed_.empty()) {
    queue = completed_.front();
    Endpoint& endpoint = *endpoints_[queue];
    if (endpoint.used && !endpoint.completions.empty() && endpoint.completions.front().visible) return true;
    endpoint.listed = false;
    completed_.pop_front();
  }
  return completion_queues_.next_ready(queue);
}

bool EndpointTable::poll(engine::QueueId queue, verbs::Completion& out) {
  Endpoint* endpoint = find(queue);
  if (endpoint == nullptr) return completion_queues_.poll(queue, out);
  if (endpoint->completions.empty() || !endpoint->completions.front().visible) return false;
  out = endpoint->completions.front().completion;
  endpoint->completions.pop_front();
  if (endpoint->reserved > 0) --endpoint->reserved;
  return true;
}

}  // namespace wharf::uet
