// SPDX-License-Identifier: Apache-2.0
// What queue pairs share, and their life as the engine contract sees it: completion queues, shared receive
// queues, rings of bytes, failing and forgetting.
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/byte_rings.h"
#include "engine/roce/roce_engine.h"

namespace wharf::roce {

using engine::PostStatus;
using engine::QueueId;

namespace {

/// Fetches of entries under way for each shared receive queue.
constexpr std::uint32_t kSharedFetches = 4;

}  // namespace

// --- Completions ---

// A record stays in the queue pair's own ring until it is written, because memory may still say that its data
// did not arrive, or an atomic before it that it failed; one in a ring of bytes is not written before that is
// known.
void EngineCore::issue_shared(QueuePair& pair, PositionRing<CompletionEntry>& ring, Position& issued,
                              QueueId shared, bool at_target) {
  const bool waits_for_data = completion_queues.writes_bytes(shared) && !pair.ending;
  while (issued != ring.tail()) {
    if (waits_for_data && (at_target ? pair.awaits_placements() || pair.is_behind_atomic(ring[issued])
                                     : pair.responses_outstanding > 0))
      return;
    if (port.available(pair.share) == 0 && !pair.ending) return starve(pair);
    AccessSlot& slot = open_access(AccessPurpose::kSharedCompletion, engine::AccessKind::kWriteCompletion,
                                   pair, issued, at_target, pair.config.space);
    slot.for_receive = at_target;
    verbs::Completion completion;
    ring[issued].show(ring[issued].kind, pair.id, completion);
    slot.access.operation = completion.operation;
    const auto ticket = completion_queues.add(shared, completion, slot.access);
    if (!ticket) {
      close_access(slot);
      ring[issued++].visible = true;
      while (!ring.empty() && ring.head() != issued && ring.front().visible) ring.pop();
      ++counters.completions_dropped;
      // [IBTA vol 1 10.2.6, 10.10.2: an overrun is an error of every queue pair that it hits]
      if (pair.fatal || pair.driver_state == QueueState::kError) continue;
      push_event({engine::AsyncEventKind::kCompletionQueueFull, shared, verbs::kNoPeer});
      pair.fatal = true;
      kick(pair);
      continue;
    }
    slot.detail = ticket->number;
    slot.remote_key = ticket->table_index;
    if (at_target && pair.holds_back(ring[issued]) && !pair.ending) {
      hold(pair, slot, ring[issued].atomics());
    } else {
      port.issue(slot);
    }
    ++issued;
  }
}

void EngineCore::shared_completion_written(const AccessSlot& slot, const engine::AccessResult& result) {
  QueuePair& pair = queue(slot.access.queue);
  PositionRing<CompletionEntry>& ring = slot.for_receive ? pair.receive_completions : pair.send_completions;
  std::optional<verbs::CompletionStatus> status;
  const bool known = ring.contains(slot.position);
  if (known) {
    status = ring[slot.position].status;
    ring[slot.position].visible = true;
    while (!ring.empty() && ring.front().visible) ring.pop();
  }
  const bool failed = result.status != engine::AccessStatus::kDone;
  const auto written = completion_queues.written({slot.remote_key, slot.detail}, failed, status);
  if (written.late) return;
  if (failed) {
    push_event({engine::AsyncEventKind::kCompletionError, written.of, verbs::kNoPeer});
    pair.fatal = known;
    if (known) kick(pair);
  }
  if (written.ready) {
    push_event({engine::AsyncEventKind::kCompletionReady, written.queue, verbs::kNoPeer});
  }
}

Result<QueueId> RoceEngine::create_completion_queue(TimePs, const engine::CompletionQueueConfig& config) {
  Result<QueueId> made = core_.completion_queues.create(config);
  if (made.ok()) core_.events.reserve(core_.events.capacity() + 4);
  return made;
}

Result<void> RoceEngine::arm(TimePs, QueueId queue, const engine::Arming& arming) {
  return core_.completion_queues.arm(queue, arming);
}

// --- Receives ---

void EngineCore::fetch_shared_receives(QueueId id) {
  while (shared_fetches < port.kept_for_shared()) {
    engine::Access access;
    const auto ticket = receive_queues.next_fetch(id, access);
    if (!ticket) return;
    // A stream of its own: entries are ordered with nothing.
    AccessSlot& slot = port.open(AccessPurpose::kSharedReceive, access.kind, id, nullptr, ticket->number, id,
                                 access.at_target);
    slot.detail = ticket->count;
    slot.access.count = access.count;
    slot.access.space = access.space;
    slot.access.address = access.address;
    slot.access.length = access.length;
    slot.access.operation = {};
    port.issue(slot);
    ++shared_fetches;
  }
}

bool EngineCore::draw_receive(QueuePair& pair) {
  const QueueId id = pair.config.receive_queue;
  if (pair.receives.held() + pair.receive_completions.size() >= pair.receives.capacity()) return false;
  bool drawn = false;
  while (!drawn && receive_queues.available(id) > 0) {
    verbs::ReceiveRequest request;
    if (receive_queues.take(id, request)) {
      push_event({engine::AsyncEventKind::kReceiveLimit, id, verbs::kNoPeer});
    }
    const engine::ReceiveQueueConfig& shared = receive_queues.config(id);
    verbs::AddressSpaceId space = shared.space;
    drawn = Pieces::resolve(request.local, request.local_count, keys, shared.domain, space);
    if (drawn) {
      pair.receives.post(request, space);
    } else {
      ++counters.receive_entries_dropped;
    }
  }
  fetch_shared_receives(id);
  return drawn;
}

Result<QueueId> RoceEngine::create_receive_queue(TimePs, const engine::ReceiveQueueConfig& config) {
  Result<QueueId> made = core_.receive_queues.create(config);
  if (made.ok()) {
    core_.events.reserve(core_.events.capacity() + 4);
    core_.port.keep_for_shared(kSharedFetches);
  }
  return made;
}

PostStatus RoceEngine::post_shared_receive(QueueId queue, const verbs::ReceiveRequest& request) {
  if (!core_.receive_queues.exists(queue)) return PostStatus::kBadQueue;
  if (request.tagged) return PostStatus::kUnsupported;
  if (request.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  const engine::ReceiveQueueConfig& config = core_.receive_queues.config(queue);
  verbs::AddressSpaceId space = config.space;
  if (!Pieces::resolve(request.local, request.local_count, core_.keys, config.domain, space)) {
    return PostStatus::kBadRequest;
  }
  const PostStatus status = core_.receive_queues.post(queue, request);
  if (status == PostStatus::kOk) core_.fetch_shared_receives(queue);
  return status;
}

Result<void> RoceEngine::set_receive_limit(TimePs, QueueId queue, std::uint32_t count) {
  return core_.receive_queues.set_limit(queue, count);
}

Result<void> RoceEngine::cancel_receive(TimePs now, QueueId queue, std::uint64_t id) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  if (engine::is_receive_queue(queue)) {
    const Result<verbs::ReceiveRequest> cancelled = core_.receive_queues.cancel(queue, id);
    if (!cancelled.ok()) return cancelled.error();
    return {};
  }
  QueuePair* pair = find(queue);
  if (pair == nullptr) return input_error("there is no queue pair " + std::to_string(queue));
  if (pair->config.receive_queue != engine::kOwn || pair->receives.needs_fetch()) {
    return input_error("queue pair " + std::to_string(queue) +
                       ": its receive entries are shared or lie in host memory, expected ones of its own");
  }
  if (!pair->receives.cancel(id)) {
    return input_error("queue pair " + std::to_string(queue) + " has no free receive entry with id " +
                       std::to_string(id));
  }
  responder_.cancel(*pair, id);
  settle(now);
  return {};
}

// --- Rings of bytes ---

PostStatus RoceEngine::doorbell(TimePs now, QueueId queue, engine::RingSide side, std::uint32_t count) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  if (side == engine::RingSide::kCompletion) {
    return core_.completion_queues.release(queue, count) ? PostStatus::kOk : PostStatus::kBadQueue;
  }
  QueuePair* pair = find(queue);
  if (side == engine::RingSide::kSend) {
    if (pair == nullptr) return PostStatus::kBadQueue;
    pair->usual = {};
    const PostStatus status = requester_.announce(*pair, count);
    if (status == PostStatus::kOk) run_posted(now, *pair);
    return status;
  }
  if (pair != nullptr) {
    if (!pair->own_receive_queue) return PostStatus::kUnsupported;
    if (!rules_of(pair->driver_state).takes_receives) return PostStatus::kBadQueue;
    queue = pair->config.receive_queue;
  }
  const PostStatus status = core_.receive_queues.announce(queue, count);
  if (status == PostStatus::kOk) core_.fetch_shared_receives(queue);
  return status;
}

// --- Making and ending ---

Result<void> RoceEngine::attach_shared(engine::QueueConfig& config, bool& own_receive_queue) {
  for (const QueueId id : {config.send_completions, config.receive_completions}) {
    if (id != engine::kOwn && !core_.completion_queues.exists(id)) {
      return input_error("there is no completion queue " + std::to_string(id) + " to report into");
    }
  }
  if (config.receive_queue != engine::kOwn && !core_.receive_queues.exists(config.receive_queue)) {
    return input_error("there is no receive queue " + std::to_string(config.receive_queue) + " to take from");
  }
  engine::QueueConfig common = config;
  common.service = engine::ServiceMode::kDefault;  // Looked at by create_queue().
  if (const std::string_view beyond = engine::beyond_common(common); !beyond.empty()) {
    return input_error("queue: " + std::string(beyond) +
                       " is of Unified Bus alone, expected its default with RoCE");
  }
  if (config.group != engine::kOwn) return input_error("RoCE has no groups of queue pairs, expected none");
  WHARF_TRY(engine::check_byte_rings(config));
  if (config.receive_queue != engine::kOwn && config.receive_completions == engine::kOwn) {
    return input_error(
        "receive_completions: found none of its own, expected a completion queue beside a "
        "shared receive queue");
  }
  if (config.entries == engine::EntryFormat::kBytes && config.receive_queue == engine::kOwn) {
    Result<QueueId> made = core_.receive_queues.create({.depth = config.receive_depth,
                                                        .ring = config.receive_ring,
                                                        .entries = engine::EntryFormat::kBytes,
                                                        .space = config.space,
                                                        .domain = config.domain});
    if (!made.ok()) return made.error();
    core_.port.keep_for_shared(kSharedFetches);
    config.receive_queue = *made;
    own_receive_queue = true;
  }
  for (const QueueId id : {config.send_completions, config.receive_completions}) {
    if (id != engine::kOwn) core_.completion_queues.attach(id);
  }
  if (config.receive_queue != engine::kOwn) core_.receive_queues.attach(config.receive_queue);
  return {};
}

void RoceEngine::detach_shared(QueuePair& pair) {
  for (const QueueId id : {pair.config.send_completions, pair.config.receive_completions}) {
    if (id != engine::kOwn) core_.completion_queues.detach(id);
  }
  if (pair.config.receive_queue == engine::kOwn) return;
  core_.receive_queues.detach(pair.config.receive_queue);
  if (pair.own_receive_queue) WHARF_CHECK(core_.receive_queues.destroy(pair.config.receive_queue).ok());
}

// What nobody shares goes with the queue pair, completions and all.
void RoceEngine::flush_into_shared(TimePs now, QueuePair& pair) {
  const engine::QueueConfig& config = pair.config;
  if (config.send_completions == engine::kOwn && config.receive_completions == engine::kOwn) return;
  pair.ending = true;
  core_.port.make_available(pair.send.size() + pair.send_completions.size() + pair.receives.held() +
                            pair.receive_completions.size() + 1);
  fail(now, pair, false);
  core_.issue_completions(pair);
}

Result<QueueId> RoceEngine::create_group(TimePs, const engine::GroupConfig&) {
  return input_error("RoCE has no groups of queue pairs");
}

engine::QueueState RoceEngine::queue_state(QueueId queue) const {
  const QueuePair* pair = find(queue);
  if (pair == nullptr) return engine::QueueState::kGone;
  switch (pair->driver_state) {
    case QueueState::kReset:
    case QueueState::kInit:
      return engine::QueueState::kIdle;
    case QueueState::kReadyToReceive:
    case QueueState::kReadyToSend:
      return engine::QueueState::kReady;
    case QueueState::kDraining:
    case QueueState::kSendError:
      return engine::QueueState::kSuspended;
    case QueueState::kError:
      return engine::QueueState::kError;
  }
  WHARF_UNREACHABLE();
}

Result<void> RoceEngine::fail_queue(TimePs now, QueueId queue) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return input_error("there is no queue pair " + std::to_string(queue));
  if (pair->driver_state != QueueState::kError) {
    const bool was_resident = pair->cache.resident;
    fail(now, *pair, false);
    // The record in memory still says what the queue pair was before; it must not come back.
    if (!was_resident) contexts_.adopt(now, *pair);
  }
  resume_others(now);
  return {};
}

Result<void> RoceEngine::reset_queue(TimePs now, QueueId queue) {
  const QueuePair* pair = find(queue);
  if (pair == nullptr) return input_error("there is no queue pair " + std::to_string(queue));
  if (pair->driver_state != QueueState::kError) {
    return input_error("queue pair " + std::to_string(queue) + " is in state " + name(pair->driver_state) +
                       ", expected error");
  }
  return reset(now, queue);
}

// --- Standing still

Result<void> RoceEngine::suspend_queue(TimePs now, QueueId queue) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return input_error("there is no queue pair " + std::to_string(queue));
  if (!next_state(pair->driver_state, QueueEvent::kSuspend)) {
    return input_error("queue pair " + std::to_string(queue) + " is in state " + name(pair->driver_state) +
                       ", expected rts");
  }
  core_.step(now, *pair, QueueEvent::kSuspend);
  pair->drained = false;
  core_.kick(*pair);
  settle(now);
  return {};
}

Result<void> RoceEngine::resume_queue(TimePs now, QueueId queue) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return input_error("there is no queue pair " + std::to_string(queue));
  if (!next_state(pair->driver_state, QueueEvent::kResume)) {
    return input_error("queue pair " + std::to_string(queue) + " is in state " + name(pair->driver_state) +
                       ", expected sqd or sqe");
  }
  core_.step(now, *pair, QueueEvent::kResume);
  core_.kick(*pair);
  settle(now);
  return {};
}

void RoceEngine::show_changes(QueuePair& pair) {
  if (!std::exchange(pair.has_changes, false)) return;
  RequesterContext& requester = pair.context.requester;
  requester.read_limit = pair.attributes.max_read_atomic;
  requester.retries_left = pair.attributes.retry_count;
  requester.rnr_left = pair.attributes.rnr_retry;
}

// [IBTA vol 1 10.3.1, 11.2.4.2: what may be changed in which state]
Result<void> RoceEngine::change_queue(TimePs now, QueueId queue, const QueueChanges& changes) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return input_error("there is no queue pair " + std::to_string(queue));
  const std::string who = "queue pair " + std::to_string(queue);
  WHARF_TRY(roce::check(changes));
  const QueueState state = pair->driver_state;
  if (state == QueueState::kReset || state == QueueState::kReadyToReceive || state == QueueState::kError) {
    return input_error(who + " is in state " + name(state) + ", expected init, rts, sqd or sqe");
  }
  const bool of_requests =
      changes.ack_timeout || changes.retry_count || changes.rnr_retry || changes.max_read_atomic;
  const bool reliable = pair->service == Service::kReliable;
  if (!reliable && (of_requests || changes.min_rnr_timer)) {
    return input_error(who + " is of service " + name(pair->service) +
                       ", which repeats nothing, expected rights or queue_key alone");
  }
  if (pair->service == Service::kDatagram ? changes.rights.has_value() : changes.queue_key.has_value()) {
    return input_error(who + " is of service " + name(pair->service) + ", expected " +
                       (changes.queue_key ? "no queue_key" : "no rights"));
  }
  if (of_requests && (state != QueueState::kDraining || !pair->drained)) {
    return input_error(who + " is in state " + name(state) + ", expected sqd, drained, to change " +
                       "ack_timeout, retry_count, rnr_retry or max_read_atomic");
  }
  if (changes.ack_timeout && core_.config.timeout_floor > kTimeZero && *changes.ack_timeout == 0)
    return input_error(who + ": ack_timeout is 0, expected 1 to 31 where the time-out adapts");
  if (changes.max_read_atomic && *changes.max_read_atomic > pair->read_limit) {
    return input_error(who + ": max_read_atomic is " + std::to_string(*changes.max_read_atomic) +
                       ", expected at most " + std::to_string(pair->read_limit) +
                       ", as it was connected with");
  }
  QueueAttributes& now_is = pair->attributes;
  now_is.rights = changes.rights.value_or(now_is.rights);
  now_is.min_rnr_timer = changes.min_rnr_timer.value_or(now_is.min_rnr_timer);
  now_is.queue_key = changes.queue_key.value_or(now_is.queue_key);
  now_is.ack_timeout = changes.ack_timeout.value_or(now_is.ack_timeout);
  now_is.retry_count = changes.retry_count.value_or(now_is.retry_count);
  now_is.rnr_retry = changes.rnr_retry.value_or(now_is.rnr_retry);
  if (changes.max_read_atomic) now_is.max_read_atomic = *changes.max_read_atomic;
  pair->has_changes |= of_requests;
  if (of_requests && contexts_.usable(*pair)) show_changes(*pair);
  return {};
}

Result<void> RoceEngine::forget_host(TimePs now, wire::HostAddress host) {
  for (QueueId id = 0; id < core_.queues.size(); ++id) {
    QueuePair* pair = find(id);
    if (pair == nullptr) continue;
    for (AddressHandle& handle : pair->handles)
      if (handle.host == host.number) handle = {};
    if (pair->service == Service::kDatagram || pair->peer_host != host.number) continue;
    WHARF_TRY(disconnect(now, id, id));
  }
  return {};
}

engine::Capabilities RoceEngine::capabilities() const {
  engine::Capabilities can;
  can.protocol = "roce";
  can.queue_per_peer = true;
  can.both_connect = true;
  can.blob_per_peer = true;
  can.ordered_delivery = true;
  for (const engine::ServiceMode mode : {engine::ServiceMode::kUnreliable, engine::ServiceMode::kUnordered})
    can.services |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode));
  can.suspends = true;
  can.solicited = true;
  can.immediate_bits = 32;
  can.mtu = core_.config.path_mtu;
  can.max_message_bytes = verbs::kMaxMessageBytes;
  can.max_send_bytes = verbs::kMaxMessageBytes;
  can.max_scatter_entries = verbs::kMaxScatterEntries;
  can.max_inline_bytes = wire::PayloadPool::kLargestBytes;
  can.max_queues = kMaxQueues;
  can.max_queue_depth = 65536;
  can.max_completion_queues = engine::CompletionQueues::kMost;
  can.max_completion_depth = engine::CompletionQueues::kDepthMax;
  can.max_receive_queues = engine::ReceiveQueues::kMost;
  can.byte_rings = true;
  for (int verb = 0; verb < verbs::kVerbCount; ++verb) {
    if (!supports(static_cast<verbs::Verb>(verb))) continue;
    can.widths[static_cast<std::size_t>(verb)] =
        verbs::is_atomic(static_cast<verbs::Verb>(verb)) ? engine::kWidth8 : engine::kNoWidth;
  }
  return can;
}

}  // namespace wharf::roce
