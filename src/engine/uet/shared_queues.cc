// SPDX-License-Identifier: Apache-2.0
// What queues share, and their life as the engine contract sees it: completion queues, flushing, failing,
// taking receives back.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/uet/completion_writing.h"
#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

using engine::PostStatus;
using engine::QueueId;
using verbs::CompletionStatus;

namespace {

Error no_such_queue(QueueId queue) { return input_error(fmt::format("queue {}: no such queue", queue)); }

}  // namespace

// --- Completions

void EndpointTable::complete_shared(Endpoint& endpoint, std::uint64_t stream,
                                    const verbs::Completion& completion) {
  const bool sends = completion.kind == verbs::CompletionKind::kSend;
  const QueueId shared = sends ? endpoint.config.send_completions : endpoint.config.receive_completions;
  const QueueId queue = completion.queue;
  if (shared == engine::kOwn) {
    PendingCompletion& pending = begin_completion(parts_, endpoint);
    pending = {};
    pending.completion = completion;
    write_completion(parts_, queue, endpoint, stream, completion.operation);
    return;
  }
  if (endpoint.reserved > 0) --endpoint.reserved;
  if (completion_queues_.is_full(shared)) {
    ++parts_.counters.completions_dropped;
    if (endpoint.overrun || endpoint.failed) return;
    parts_.raise({engine::AsyncEventKind::kCompletionQueueFull, shared});
    endpoint.overrun = true;
    ++overruns_;
    parts_.initiator.look_at(queue);
    return;
  }
  ++parts_.counters.completions;
  PendingAccess owner;
  owner.owner = AccessOwner::kSharedCompletion;
  owner.object = engine::table_index(shared);
  engine::Access made;
  owner.detail = completion_queues_.add(shared, completion, made)->number;
  engine::Access& access = parts_.accesses.request(made.kind, made.length, owner);
  access.queue = queue;
  access.stream = stream;
  access.order = made.order;
  access.space = made.space;
  access.address = made.address;
  access.operation = completion.operation;
}

void EndpointTable::shared_completion_done(const PendingAccess& owner, engine::AccessStatus status) {
  const bool failed = status != engine::AccessStatus::kDone;
  const auto written =
      completion_queues_.written({owner.object, static_cast<std::uint32_t>(owner.detail)}, failed);
  if (written.late) return;
  if (failed) parts_.raise({engine::AsyncEventKind::kCompletionError, written.of});
  if (written.ready) parts_.raise({engine::AsyncEventKind::kCompletionReady, written.queue});
}

// --- Flushing

void Initiator::flush(TimePs now, QueueId queue) {
  std::vector<std::uint32_t> outstanding;
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    if (message.kind == MessageKind::kRequest && message.queue == queue && message.peer != verbs::kNoPeer) {
      outstanding.push_back(slot);
    }
  }
  std::sort(outstanding.begin(), outstanding.end(), [&](std::uint32_t a, std::uint32_t b) {
    return parts_.outbound[a].order < parts_.outbound[b].order;
  });
  Endpoint& endpoint = parts_.endpoints[queue];
  for (const std::uint32_t slot : outstanding) {
    OutboundMessage& message = parts_.outbound[slot];
    parts_.endpoints.complete(queue, local_stream(queue), [&message](verbs::Completion& completion) {
      completion.id = message.id;
      completion.status = CompletionStatus::kFlushed;
      completion.kind = verbs::CompletionKind::kSend;
      completion.verb = message.verb;
      completion.operation = message.operation;
    });
    --peers_[message.peer].outstanding;
    if (retries_.get(slot) != kNever) {
      if (message.delivery == verbs::Delivery::kOrdered && message.retry_wanted)
        --peers_[message.peer].waiting;
      retries_.set(slot, kNever);
    }
    if (message.region != kNoSlot) parts_.regions.remove(message.region);
    message.region = kNoSlot;
    message.local_count = 0;
    message.trouble();
    message.peer = verbs::kNoPeer;
  }
  endpoint.outstanding = 0;
  endpoint.reads = 0;
  while (!endpoint.posted.empty()) {
    PostedRequest& posted = endpoint.posted.front();
    posted.end = CompletionStatus::kFlushed;
    end_unsent(queue, posted);
    endpoint.posted.pop_front();
    ++endpoint.posted_head;
  }
  for (const std::uint32_t slot : outstanding) {
    fail(now, slot, CompletionStatus::kFlushed);
    try_end(now, slot);
  }
}

void Initiator::look_at(QueueId queue) {
  Endpoint& endpoint = parts_.endpoints[queue];
  if (endpoint.starved) return;
  endpoint.starved = true;
  starved_.push(parts_.endpoints, queue, &Endpoint::next_starved);
  ++starved_count_;
  parts_.plain.unsettled = true;
}

void EndpointTable::end_receive(QueueId queue, std::uint32_t slot, CompletionStatus status) {
  --endpoints_[queue]->receive_count;
  complete(queue, local_stream(queue), [&](verbs::Completion& completion) {
    completion.id = receives_[slot].request.id;
    completion.status = status;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = verbs::Verb::kSend;
  });
  receives_.release(slot);
}

void EndpointTable::flush(TimePs now, QueueId queue) {
  parts_.initiator.flush(now, queue);
  parts_.target.forget_endpoint(now, queue);
  Endpoint& endpoint = *endpoints_[queue];
  while (!endpoint.receives.empty()) {
    end_receive(queue, endpoint.receives.pop(receives_, &ReceiveEntry::next), CompletionStatus::kFlushed);
  }
}

void EndpointTable::fail(TimePs now, QueueId queue) {
  Endpoint& endpoint = *endpoints_[queue];
  if (endpoint.failed) return;
  endpoint.failed = true;
  endpoint.enabled = endpoint.refuses = false;
  flush(now, queue);
}

void EndpointTable::fail_overrun(TimePs now) {
  for (QueueId queue = 0; queue < count(); ++queue) {
    Endpoint& endpoint = *endpoints_[queue];
    if (!endpoint.used || !endpoint.overrun) continue;
    fail(now, queue);
    endpoint.overrun = false;
  }
  overruns_ = 0;
}

Result<void> EndpointTable::cancel_receive(QueueId queue, std::uint64_t id) {
  Endpoint* endpoint = find(queue);
  if (endpoint == nullptr) return no_such_queue(queue);
  for (std::uint32_t at = endpoint->receives.head; at != kNoSlot; at = receives_[at].next) {
    if (receives_[at].request.id != id) continue;
    endpoint->receives.remove(receives_, at, &ReceiveEntry::next);
    end_receive(queue, at, CompletionStatus::kCancelled);
    return {};
  }
  return input_error(fmt::format("queue {}: no free receive has id {}", queue, id));
}

// --- The engine

Result<QueueId> UetEngine::create_completion_queue(TimePs, const engine::CompletionQueueConfig& config) {
  if (config.entries != engine::EntryFormat::kObjects) {
    return input_error("completion queue entries: found bytes, expected objects; UET has no rings of bytes");
  }
  return parts_->endpoints.completion_queues().create(config);
}

Result<QueueId> UetEngine::create_receive_queue(TimePs, const engine::ReceiveQueueConfig&) {
  return input_error("UET has no shared receive queues");
}

Result<QueueId> UetEngine::create_group(TimePs, const engine::GroupConfig&) {
  return input_error("UET has no groups of queues");
}

engine::QueueState UetEngine::queue_state(QueueId queue) const {
  const Endpoint* endpoint = std::as_const(parts_->endpoints).find(queue);
  if (endpoint == nullptr) return engine::QueueState::kGone;
  return endpoint->failed || endpoint->overrun ? engine::QueueState::kError : engine::QueueState::kReady;
}

Result<void> UetEngine::fail_queue(TimePs now, QueueId queue) {
  if (parts_->endpoints.find(queue) == nullptr) return no_such_queue(queue);
  parts_->endpoints.fail(now, queue);
  parts_->initiator.settle(now);
  parts_->pds.settle(now);
  return {};
}

Result<void> UetEngine::reset_queue(TimePs now, QueueId queue) {
  Endpoint* endpoint = parts_->endpoints.find(queue);
  if (endpoint == nullptr) return no_such_queue(queue);
  if (!endpoint->failed)
    return input_error(fmt::format("queue {}: it is ready, expected it in error", queue));
  endpoint->failed = false;
  return set_enabled(now, queue, true);
}

Result<void> UetEngine::cancel_receive(TimePs, QueueId queue, std::uint64_t id) {
  return parts_->endpoints.cancel_receive(queue, id);
}

Result<void> UetEngine::set_receive_limit(TimePs, QueueId, std::uint32_t) {
  return input_error("UET has no shared receive queues");
}

Result<void> UetEngine::arm(TimePs, QueueId queue, const engine::Arming& arming) {
  return parts_->endpoints.completion_queues().arm(queue, arming);
}

PostStatus UetEngine::doorbell(TimePs, QueueId, engine::RingSide, std::uint32_t) {
  return PostStatus::kUnsupported;
}

engine::Capabilities UetEngine::capabilities() const {
  const UetConfig& config = parts_->config;
  engine::Capabilities can;
  can.protocol = "uet";
  can.ordered_delivery = config.one_sided_delivery == verbs::Delivery::kOrdered &&
                         config.two_sided_delivery == verbs::Delivery::kOrdered;
  can.tagged = true;
  can.typed_atomics = true;
  can.delivery_modes = true;
  can.write_imm_takes_receive = false;  // [UE 1.0 3.4] Header data becomes remote completion data.
  can.immediate_bits = 64;
  can.mtu = config.payload_mtu;
  can.max_message_bytes = config.max_message_bytes;
  can.max_send_bytes = config.max_message_bytes;
  can.max_scatter_entries = verbs::kMaxScatterEntries;
  can.max_inline_bytes = wire::PayloadPool::kLargestBytes;
  can.max_queues = 0xfffU - config.endpoint.resource_index + 1U;  // One resource index each.
  can.max_queue_depth = 65536;
  can.max_completion_queues = engine::CompletionQueues::kMost;
  can.max_completion_depth = engine::CompletionQueues::kDepthMax;
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<verbs::Verb>(number);
    if (!supports(verb)) continue;
    const bool wide = verb == verbs::Verb::kCompareSwap;
    const auto atomic =
        static_cast<std::uint8_t>(engine::kWidth4 | engine::kWidth8 | (wide ? engine::kWidth16 : 0U));
    can.widths[static_cast<std::size_t>(verb)] = verbs::is_atomic(verb) ? atomic : engine::kNoWidth;
  }
  return can;
}

}  // namespace wharf::uet
