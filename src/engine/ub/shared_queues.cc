// SPDX-License-Identifier: Apache-2.0
// What jetties share, and their life as the engine contract sees it: completion queues (JFC), shared receive
// queues (JFR), flushing, destroying, failing. [URMA API]
#include <fmt/format.h>

#include "engine/byte_rings.h"
#include "engine/ub/engine_parts.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {

using engine::PostStatus;
using engine::QueueId;
using verbs::CompletionStatus;

namespace {

Error no_such_queue(QueueId queue) { return input_error(fmt::format("jetty {}: no such queue", queue)); }

}  // namespace

// --- Making

Result<void> Initiator::check_shared(const engine::QueueConfig& config) const {
  for (const QueueId id : {config.send_completions, config.receive_completions}) {
    if (id != engine::kOwn && !parts_.completion_queues.exists(id)) {
      return input_error(fmt::format("there is no completion queue {} to report into", id));
    }
  }
  if (config.receive_queue != engine::kOwn) {
    if (!parts_.receive_queues.exists(config.receive_queue)) {
      return input_error(fmt::format("there is no receive queue {} to take from", config.receive_queue));
    }
    if (config.receive_completions == engine::kOwn) {
      return input_error(
          "receive_completions: found none, expected a completion queue beside a shared receive queue");
    }
  }
  if (config.group != engine::kOwn) {
    WHARF_TRY(parts_.groups.may_join(config.group, config.token));
  }
  if (config.public_id >= kFirstJettyId) {
    return input_error(fmt::format("jetty: found public_id {}, expected 1 to {}, or 0 for none",
                                   config.public_id, kFirstJettyId - 1));
  }
  if (config.public_id != 0 && public_[config.public_id] != kNoSlot) {
    return input_error(fmt::format("jetty: public_id {} is that of jetty {}, expected another",
                                   config.public_id, public_[config.public_id]));
  }
  if (config.entries == engine::EntryFormat::kBytes && config.receive_queue == engine::kOwn &&
      !parts_.receive_queues.has_room()) {
    return input_error("all receive queues are in use, expected room for the receive ring of bytes");
  }
  return engine::check_byte_rings(config);
}

void Initiator::attach_shared(Jetty& made, std::uint32_t jetty_id) {
  const engine::QueueConfig& config = made.config;
  if (config.group != engine::kOwn) parts_.groups.join(config.group, jetty_id);
  if (config.public_id != 0) public_[config.public_id] = jetty_id;
  for (const QueueId id : {config.send_completions, config.receive_completions}) {
    if (id != engine::kOwn) parts_.completion_queues.attach(id);
  }
  if (config.receive_queue != engine::kOwn) parts_.receive_queues.attach(config.receive_queue);
}

void Initiator::reserve_shared(Jetty& made, std::size_t jetties) {
  if (!made.shares(false) && !made.shares(true)) return;
  // What one input can complete: every request, every receive, and those of messages that had begun.
  made.shared = std::make_unique<Ring<SharedRecord>>(std::size_t{2} *
                                                     (made.config.send_depth + made.config.receive_depth));
  sharing_.reserve(jetties);
}

void Initiator::detach_shared(Jetty& owner) {
  for (const QueueId id : {owner.config.send_completions, owner.config.receive_completions}) {
    if (id != engine::kOwn) parts_.completion_queues.detach(id);
  }
  if (owner.config.receive_queue == engine::kOwn) return;
  parts_.receive_queues.detach(owner.config.receive_queue);
  if (owner.own_receive_queue) WHARF_CHECK(parts_.receive_queues.destroy(owner.config.receive_queue).ok());
}

// --- Completions

PendingCompletion& Initiator::add_shared_completion(Jetty& owner, std::uint32_t jetty_id, bool at_target,
                                                    std::uint64_t stream) {
  // Nothing was reserved for messages whose entries are shared.
  const bool reserved = !at_target || owner.config.receive_queue == engine::kOwn;
  if (reserved && owner.completions_reserved > 0) --owner.completions_reserved;
  if (owner.shared->full()) owner.shared->reserve(owner.shared->capacity() * 2);
  SharedRecord& record = owner.shared->emplace_back();
  record.stream = stream;
  record.at_target = at_target;
  list_shared(owner, jetty_id);
  return record.completion;
}

void Initiator::list_shared(Jetty& owner, std::uint32_t jetty_id) {
  if (owner.shared_listed) return;
  owner.shared_listed = true;
  sharing_.push_back(jetty_id);
  parts_.attention |= kUnsettled;
}

void Initiator::move_shared(TimePs now) {
  // Those whose records wait for room are put back behind the others.
  for (std::size_t stuck = 0; stuck < sharing_.size();) {
    const std::uint32_t id = sharing_.front();
    sharing_.pop_front();
    jetty(id).shared_listed = false;
    move_shared_of(now, id);
    if (jetty(id).shared_listed && !jetty(id).shared->empty()) ++stuck;
  }
}

void Initiator::move_shared_of(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  while (owner.shared != nullptr && !owner.shared->empty()) {
    const SharedRecord record = owner.shared->front();
    const QueueId queue = record.at_target ? owner.config.receive_completions : owner.config.send_completions;
    const bool full = parts_.completion_queues.is_full(queue);
    if (full && parts_.completion_queues.keeps(queue)) {
      list_shared(owner, jetty_id);
      return;
    }
    owner.shared->pop_front();
    if (full) {
      ++parts_.counters.completions_dropped;
      if (owner.state != JettyState::kReady && !owner.suspended()) continue;
      parts_.raise({engine::AsyncEventKind::kCompletionQueueFull, queue});
      flush(now, jetty_id);
      continue;
    }
    ++parts_.counters.completions;
    verbs::Completion completion;
    record.completion.show(jetty_id, completion);
    engine::Access made;
    const engine::CompletionTicket ticket = *parts_.completion_queues.add(queue, completion, made);
    engine::Access& access = parts_.accesses.request(
        made.kind,
        {.owner = AccessOwner::kSharedCompletion, .object = ticket.table_index, .detail = ticket.number});
    access.order = made.order;
    access.at_target = record.at_target;
    access.queue = jetty_id;
    access.length = made.length;
    access.space = made.space;
    access.stream = record.stream;
    access.address = made.address;
    access.data = made.data;
    access.operation = completion.operation;
  }
}

void Initiator::shared_completion_done(const PendingAccess& owner, engine::AccessStatus status) {
  const bool failed = status != engine::AccessStatus::kDone;
  const auto written =
      parts_.completion_queues.written({owner.object, static_cast<std::uint32_t>(owner.detail)}, failed);
  if (written.late) return;
  if (failed) parts_.raise({engine::AsyncEventKind::kCompletionError, written.of});
  if (written.ready) parts_.raise({engine::AsyncEventKind::kCompletionReady, written.queue});
}

// --- Receives

void Initiator::fetch_shared_receives(QueueId id) {
  for (;;) {
    engine::Access made;
    const auto ticket = parts_.receive_queues.next_fetch(id, made);
    if (!ticket) return;
    engine::Access& access = parts_.accesses.request(made.kind, {.owner = AccessOwner::kSharedReceive,
                                                                 .object = ticket->table_index,
                                                                 .offset = ticket->count,
                                                                 .detail = ticket->number});
    access.at_target = made.at_target;
    access.count = made.count;
    access.queue = id;
    access.length = made.length;
    access.space = made.space;
    access.stream = id;  // Its own: entries are ordered with nothing.
    access.address = made.address;
  }
}

PostStatus Initiator::post_shared_receive(QueueId queue, const verbs::ReceiveRequest& receive) {
  if (!parts_.receive_queues.exists(queue)) return PostStatus::kBadQueue;
  if (receive.tagged) return PostStatus::kUnsupported;
  if (receive.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  verbs::AddressSpaceId space = parts_.receive_queues.config(queue).space;
  if (!parts_.segments.resolve(receive.local, receive.local_count, space)) return PostStatus::kBadRequest;
  const PostStatus status = parts_.receive_queues.post(queue, receive);
  if (status == PostStatus::kOk) fetch_shared_receives(queue);
  return status;
}

bool Initiator::take_receive(Jetty& owner, std::uint32_t jetty_id, ReceiveEntry& out) {
  const QueueId id = owner.config.receive_queue;
  if (id == engine::kOwn) {
    if (owner.receives.empty()) return false;
    out = owner.receives.front();
    owner.receives.pop_front();
    return true;
  }
  while (parts_.receive_queues.available(id) > 0) {
    verbs::ReceiveRequest request;
    if (parts_.receive_queues.take(id, request)) parts_.raise({engine::AsyncEventKind::kReceiveLimit, id});
    verbs::AddressSpaceId space = parts_.receive_queues.config(id).space;
    if (parts_.segments.resolve(request.local, request.local_count, space)) {
      out = ReceiveEntry(request, space);
      return true;
    }
    ++parts_.counters.receive_entries_dropped;  // Its key has gone since it was posted.
    PendingCompletion completion;
    completion.id = request.id;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = verbs::Verb::kSend;
    completion.status = CompletionStatus::kLocalAccess;
    complete(jetty_id, completion, jetty_id);
  }
  return false;
}

Result<void> Initiator::cancel_receive(std::uint32_t jetty_id, std::uint64_t id) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr) return no_such_queue(jetty_id);
  if (owner->config.receive_queue != engine::kOwn || owner->config.receive_ring != 0) {
    return input_error(fmt::format(
        "jetty {}: its receive entries are shared or lie in host memory, expected ones of its own",
        jetty_id));
  }
  for (std::size_t at = 0; at < owner->receives.size(); ++at) {
    if (owner->receives[at].id != id) continue;
    // The others keep their order: all of them go round once.
    for (std::size_t left = owner->receives.size(), i = 0; i < left; ++i) {
      const ReceiveEntry entry = owner->receives.front();
      owner->receives.pop_front();
      if (i != at) owner->receives.push_back(entry);
    }
    PendingCompletion completion;
    completion.id = id;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = verbs::Verb::kSend;
    completion.status = CompletionStatus::kCancelled;
    complete(jetty_id, completion, jetty_id);
    return {};
  }
  return input_error(fmt::format("jetty {}: no free receive entry has id {}", jetty_id, id));
}

// --- Flushing

void Initiator::flush_receives(std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (owner.own_receive_queue) parts_.receive_queues.clear(owner.config.receive_queue);
  while (!owner.receives.empty()) {
    PendingCompletion completion;
    completion.id = owner.receives.front().id;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = verbs::Verb::kSend;
    completion.status = CompletionStatus::kFlushed;
    owner.receives.pop_front();
    complete(jetty_id, completion, jetty_id);
  }
}

// Each is reported now, in posting order. Packets that have their number must still reach the peer, for the
// sake of the channel; they, and the requests, end by themselves and say nothing.
void Initiator::flush_requests(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  for (std::uint64_t number = owner.head(); number < owner.posted(); ++number) {
    PostedRequest& posted = owner.posted_request(number);
    if (posted.reported || posted.muted) continue;
    if (!posted.entry_present && owner.has_byte_rings()) {
      posted.signaled = false;  // The engine never saw it: it is the host's own.
    } else if (!posted.done) {
      posted.status = CompletionStatus::kFlushed;
    }
    push_completion(owner, jetty_id, posted);
    posted.reported = false;
    posted.muted = true;
    owner.set_apart(posted);
    posted.signaled = false;
    posted.entry_present = true;
    posted.parked = false;
    posted.local_count = 0;
  }
  owner.fetch_next = owner.posted();
  for (std::uint32_t index = 0; index < transactions_.extent(); ++index) {
    if (!transactions_[index].in_use() || transactions_[index].jetty != jetty_id) continue;
    transactions_[index].plain_answer = PlainAnswer::kNone;
    withdraw(now, index, CompletionStatus::kFlushed);
  }
}

void Initiator::flush(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  step(owner, jetty_id, JettyEvent::kFail);
  owner.failed = true;
  owner.draining = false;
  owner.hold_up();
  const std::size_t shared = owner.shared == nullptr ? 0 : owner.shared->size();
  const std::size_t own = owner.completions.size();
  flush_requests(now, jetty_id);
  parts_.responder.flush_entries(jetty_id);
  flush_receives(jetty_id);
  if (owner.config.drain_marks) {
    const bool shows_shared = owner.shared != nullptr && owner.shared->size() > shared;
    const bool shows = owner.completions.size() > own;
    mark_drained(owner, jetty_id,
                 shows_shared ? &owner.shared->back().completion
                 : shows      ? &owner.completions.back()
                              : nullptr);
  }
  advance(now, jetty_id);
}

void Responder::flush_entries(std::uint32_t jetty_id) {
  const Jetty& owner = parts_.initiator.jetty(jetty_id);
  for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
    if (!messages_[index].in_use()) continue;
    InboundMessage& message = messages_[index];
    if (!message.has_entry || message.state == InboundState::kResponding || message.entry_jetty != jetty_id ||
        message.entry_generation != owner.generation) {
      continue;
    }
    PendingCompletion completion;
    completion.id = message.entry.id;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = verbs::Verb::kSend;
    completion.status = CompletionStatus::kFlushed;
    refuse(index, wire::UbResponseInfo::kJettyState);
    message.has_entry = false;
    // Behind what is being placed there.
    parts_.initiator.complete(jetty_id, completion, stream_of(message));
  }
}

Result<void> Initiator::destroy(TimePs now, std::uint32_t jetty_id) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr) return no_such_queue(jetty_id);
  owner->failed = true;
  owner->draining = false;
  step(*owner, jetty_id, JettyEvent::kDestroy);
  flush_requests(now, jetty_id);
  parts_.responder.flush_entries(jetty_id);
  flush_receives(jetty_id);
  move_shared_of(now, jetty_id);
  if (owner->shared != nullptr) owner->shared->clear();  // What waits has nobody to report to any more.
  detach_shared(*owner);
  if (owner->config.group != engine::kOwn) parts_.groups.leave(owner->config.group, jetty_id);
  if (owner->config.public_id != 0) public_[owner->config.public_id] = kNoSlot;
  for (Peer& peer : peers_) peer.used = peer.used && peer.queue != jetty_id;
  for (const auto& each : jetties_) each->hold_up();
  owner->used = false;
  owner->dying = true;
  ++owner->generation;
  owner->config.send_completions = owner->config.receive_completions = engine::kOwn;
  advance(now, jetty_id);
  retire(now, jetty_id);
  return {};
}

void Initiator::retire(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (!owner.dying || !owner.requests.empty() || owner.segments_held > 0 || owner.advance_deferred) return;
  parts_.contexts.remove(now, {ContextKind::kJetty, jetty_id - kFirstJettyId});
  const bool listed = owner.advance_listed;
  const bool completion_listed = owner.listed;
  const bool shared_listed = owner.shared_listed;
  const std::uint32_t generation = owner.generation;
  owner = Jetty{};
  owner.generation = generation;
  owner.advance_listed = listed;
  owner.listed = completion_listed;
  owner.shared_listed = shared_listed;
  resting_.push_back(jetty_id - kFirstJettyId);
}

Result<void> Initiator::reset(std::uint32_t jetty_id) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr) return no_such_queue(jetty_id);
  if (owner->state != JettyState::kError)
    return input_error(fmt::format("jetty {}: it is {}, expected it in error", jetty_id, name(owner->state)));
  owner->failed = false;
  step(*owner, jetty_id, JettyEvent::kReset);
  return {};
}

// --- The engine

Result<QueueId> UbEngine::create_completion_queue(TimePs, const engine::CompletionQueueConfig& config) {
  Result<QueueId> made = parts_->completion_queues.create(config);
  return made;
}

Result<QueueId> UbEngine::create_receive_queue(TimePs, const engine::ReceiveQueueConfig& config) {
  return parts_->receive_queues.create(config);
}

Result<QueueId> UbEngine::create_group(TimePs, const engine::GroupConfig& config) {
  return parts_->groups.create(config);
}

engine::QueueState UbEngine::queue_state(QueueId queue) const {
  const Jetty* owner = parts_->initiator.find(queue);
  if (owner == nullptr) return engine::QueueState::kGone;
  if (owner->suspended()) return engine::QueueState::kSuspended;
  return owner->failed ? engine::QueueState::kError : engine::QueueState::kReady;
}

bool UbEngine::has_requests(QueueId queue) const {
  const Jetty* owner = parts_->initiator.find(queue);
  return owner != nullptr && !owner->requests.empty();
}

Result<void> UbEngine::fail_queue(TimePs now, QueueId queue) {
  const Jetty* owner = parts_->initiator.find(queue);
  if (owner == nullptr) return no_such_queue(queue);
  if (owner->state != JettyState::kError) parts_->initiator.flush(now, queue);
  parts_->settle(now);
  return {};
}

Result<void> UbEngine::set_patience(QueueId queue, const JettyPatience& patience) {
  return parts_->initiator.set_patience(queue, patience);
}

Result<void> UbEngine::take_from(QueueId queue, const Senders& senders) {
  Jetty* const owner = parts_->initiator.find(queue);
  if (owner == nullptr) return no_such_queue(queue);
  if (owner->config.receive_queue == engine::kOwn) {
    return input_error(
        fmt::format("jetty {}: its receive entries are its own, expected a shared receive queue", queue));
  }
  if (owner->senders == nullptr) owner->senders = std::make_unique<Senders>();
  *owner->senders = senders;
  return {};
}

Result<void> UbEngine::suspend_queue(TimePs now, QueueId queue) {
  Result<void> done = parts_->initiator.suspend(queue);
  parts_->settle(now);
  return done;
}

Result<void> UbEngine::resume_queue(TimePs now, QueueId queue) {
  Result<void> done = parts_->initiator.resume(now, queue);
  parts_->settle(now);
  return done;
}

Result<std::size_t> UbEngine::take_back(TimePs now, QueueId queue, std::span<verbs::Completion> out) {
  Result<std::size_t> done = parts_->initiator.take_back(now, queue, out);
  parts_->settle(now);
  return done;
}

Result<void> UbEngine::reset_queue(TimePs, QueueId queue) { return parts_->initiator.reset(queue); }

Result<void> UbEngine::cancel_receive(TimePs now, QueueId queue, std::uint64_t id) {
  if (engine::is_receive_queue(queue)) {
    const Result<verbs::ReceiveRequest> cancelled = parts_->receive_queues.cancel(queue, id);
    if (!cancelled.ok()) return cancelled.error();
    return {};
  }
  Result<void> done = parts_->initiator.cancel_receive(queue, id);
  parts_->settle(now);
  return done;
}

Result<void> UbEngine::set_receive_limit(TimePs, QueueId queue, std::uint32_t count) {
  return parts_->receive_queues.set_limit(queue, count);
}

Result<void> UbEngine::arm(TimePs, QueueId queue, const engine::Arming& arming) {
  return parts_->completion_queues.arm(queue, arming);
}

PostStatus UbEngine::doorbell(TimePs, QueueId queue, engine::RingSide side, std::uint32_t count) {
  switch (side) {
    case engine::RingSide::kSend:
      return parts_->initiator.announce_work(queue, count);
    case engine::RingSide::kReceive:
      return parts_->initiator.announce_receives(queue, count);
    case engine::RingSide::kCompletion:
      return parts_->completion_queues.release(queue, count) ? PostStatus::kOk : PostStatus::kBadQueue;
  }
  WHARF_UNREACHABLE();
}

engine::Capabilities UbEngine::capabilities() const {
  const UbConfig& config = parts_->config;
  const bool narrow = wire::profile(config.encapsulation) == wire::UbProfile::kP2OpenUrma;
  engine::Capabilities can;
  can.protocol = "ub";
  can.services = 0x1f;
  can.suspends = true;
  can.both_connect = true;
  can.load_store = true;
  can.solicited = true;
  can.immediate_bits = 64;
  can.mtu = config.mtu;
  can.max_message_bytes = verbs::kMaxMessageBytes;
  can.max_send_bytes =
      config.transport == engine::TransportMode::kCompact ? config.mtu : config.segment_bytes;
  can.max_scatter_entries = verbs::kMaxScatterEntries;
  can.max_inline_bytes = wire::PayloadPool::kLargestBytes;
  can.max_queues = kJettyIds - kFirstJettyId;
  can.max_queue_depth = 65536;
  can.max_completion_queues = engine::CompletionQueues::kMost;
  can.max_completion_depth = engine::CompletionQueues::kDepthMax;
  can.max_receive_queues = engine::ReceiveQueues::kMost;
  can.byte_rings = true;
  can.max_groups = JettyGroups::kMost;
  can.max_group_members = JettyGroups::kMembersMost;
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<verbs::Verb>(number);
    std::uint8_t widths = engine::kNoWidth;
    if (verbs::is_atomic(verb)) {
      const bool wide = verb == verbs::Verb::kCompareSwap;
      widths = static_cast<std::uint8_t>(engine::kWidth4 | engine::kWidth8 | (wide ? engine::kWidth16 : 0U));
      // Profile P2 has room for one operand of eight bytes.
      if (narrow) widths = wide ? std::uint8_t{0} : engine::kWidth8;
    }
    can.widths[static_cast<std::size_t>(number)] = widths;
  }
  return can;
}

}  // namespace wharf::ub
