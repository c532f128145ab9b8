// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/roce_engine.h"

#include <array>
#include <string>
#include <utility>

#include "base/check.h"

namespace wharf::roce {

using engine::PostStatus;
using wire::RoceOpcode;

namespace {

/// Who takes a packet.
enum class PacketKind : std::uint8_t {
  kUnknown,
  kRequest,       ///< The responder.
  kResponseData,  ///< The requester: data of a READ.
  kAnswer,        ///< The requester: everything else.
  kNotification,  ///< Congestion control.
};

/// By opcode: reliable and unreliable connections, datagrams, and congestion notifications.
constexpr auto kPacketKinds = [] {
  std::array<PacketKind, 256> kinds{};
  for (std::size_t at = 0; at < 0x20; ++at) {
    const auto opcode = static_cast<RoceOpcode>(at);
    if (wire::roce_headers(opcode) == 0) continue;
    const bool is_answer =
        opcode >= RoceOpcode::kRcReadResponseFirst && opcode <= RoceOpcode::kRcAtomicAcknowledge;
    const bool is_data = is_answer && opcode <= RoceOpcode::kRcReadResponseOnly;
    kinds[at] = is_data ? PacketKind::kResponseData : is_answer ? PacketKind::kAnswer : PacketKind::kRequest;
  }
  for (std::size_t at = 0x20; at < 0x80; ++at)
    if (wire::roce_headers(static_cast<RoceOpcode>(at)) != 0) kinds[at] = PacketKind::kRequest;
  kinds[static_cast<std::size_t>(RoceOpcode::kCnp)] = PacketKind::kNotification;
  return kinds;
}();

PacketKind kind_of(RoceOpcode opcode) { return kPacketKinds[static_cast<std::size_t>(opcode)]; }

}  // namespace

// --- Construction ---

RoceEngine::Parts::Parts(const RoceConfig& config, wire::PayloadPool& pool, Arena& arena)
    : core(config, pool, arena),
      congestion(core),
      retransmission(core, congestion),
      requester(core, retransmission),
      responder(core),
      contexts(core) {
  retransmission.attach(requester);
}

RoceEngine::RoceEngine(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)),
      core_(parts_->core),
      congestion_(parts_->congestion),
      retransmission_(parts_->retransmission),
      requester_(parts_->requester),
      responder_(parts_->responder),
      contexts_(parts_->contexts) {}

Result<RoceEngine> RoceEngine::create(const RoceConfig& config, wire::PayloadPool& pool, Arena& arena) {
  WHARF_TRY(check(config));
  return RoceEngine(std::make_unique<Parts>(config, pool, arena));
}

bool RoceEngine::supports(verbs::Verb verb) { return Requester::supports(verb); }

RoceEngine::~RoceEngine() {
  if (parts_ == nullptr) return;  // Moved from.
  core_.tracer = nullptr;         // It may be gone.
  for (const auto& pair : core_.queues) {
    contexts_.forget(kTimeZero, *pair);
    clear(kTimeZero, *pair);
  }
  core_.port.close_all();
}

const QueuePair* RoceEngine::find(engine::QueueId queue) const {
  return const_cast<RoceEngine*>(this)->find(queue);
}

void RoceEngine::enter_error(TimePs now, QueuePair& pair, bool report) {
  pair.usual = {};
  if (pair.context.state != QueueState::kError) {
    retransmission_.stop(pair);
    core_.step(now, pair, QueueEvent::kFail);
    if (report) core_.push_event(engine::AsyncEventKind::kQueueError, pair);
  }
  requester_.flush(pair);
  responder_.flush_receives(pair);
  responder_.drop_reads(pair);
  responder_.discard_early(pair);
}

// The flush needs no context but the ring positions; whoever the peer was, it cannot be answered any more.
void RoceEngine::fail_without_context(TimePs now, QueuePair& pair, bool report) {
  init_context(pair);
  pair.context.requester.sending = pair.context.requester.assigned = pair.send.head();
  responder_.discard(pair);
  responder_.discard_held(pair);
  enter_error(now, pair, report);
}

void RoceEngine::fail(TimePs now, QueuePair& pair, bool report) {
  if (pair.cache.resident) {
    enter_error(now, pair, report);
  } else {
    fail_without_context(now, pair, report);
  }
}

// --- Application ---

PostStatus RoceEngine::post_other(TimePs now, QueuePair& pair, const verbs::WorkRequest& request,
                                  engine::Submission submission) {
  pair.usual = {};
  const PostStatus status = requester_.post(pair, request, submission);
  if (status != PostStatus::kOk) return status;
  if (!contexts_.is_unlimited() && !contexts_.usable(pair)) pair.cache.operation = request.operation;
  run_posted(now, pair);
  return status;
}

PostStatus RoceEngine::post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& request) {
  QueuePair* pair = find(queue);
  if (core_.unprepared != nullptr && (pair == nullptr || !pair->plain)) prepare_posted(now);
  if (pair == nullptr) return post_shared_receive(queue, request);
  if (!rules_of(pair->driver_state).takes_receives) return PostStatus::kBadQueue;
  if (pair->config.receive_queue != engine::kOwn) {
    return pair->own_receive_queue ? PostStatus::kUnsupported : PostStatus::kBadQueue;
  }
  if (request.tagged) return PostStatus::kUnsupported;
  if (request.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  verbs::AddressSpaceId space = pair->config.space;
  if (!Pieces::resolve(request.local, request.local_count, core_.keys, pair->config.domain, space)) {
    return PostStatus::kBadRequest;
  }
  if (pair->receives.held() + pair->receive_completions.size() >= pair->receives.capacity()) {
    return PostStatus::kQueueFull;
  }
  responder_.post_receive(*pair, request, space);
  if (core_.unprepared == nullptr) settle(now);
  return PostStatus::kOk;
}

PostStatus RoceEngine::issue(TimePs, const verbs::LoadStore&) { return PostStatus::kUnsupported; }

bool RoceEngine::next_completed_queue(engine::QueueId& out) {
  while (!core_.completed.empty()) {
    QueuePair& pair = core_.queue(core_.completed.front());
    core_.completed.pop_front();
    const bool has_some = (!pair.send_completions.empty() && pair.send_completions.front().visible) ||
                          (!pair.receive_completions.empty() && pair.receive_completions.front().visible);
    if (!has_some) {
      pair.completed_listed = false;
      continue;
    }
    core_.completed.push_back(pair.id);  // Until a call finds it empty; others come before it.
    out = pair.id;
    return true;
  }
  return core_.completion_queues.next_ready(out);
}

bool RoceEngine::poll_load_store(verbs::LoadStoreResult&) { return false; }

// --- Network ---

// The checks that precede the transport's own; a failure is a silent drop. [Linux rdma_rxe behaviour]
[[gnu::always_inline]] inline QueuePair* RoceEngine::accept(const wire::Packet& packet) {
  Counters& counters = core_.counters;
  ++counters.packets_received;
  if (packet.protocol != wire::Protocol::kRoce || packet.destination != core_.config.host) {
    ++counters.dropped_foreign;
    return nullptr;
  }
  const wire::Bth& bth = packet.roce.bth;
  if (kind_of(bth.opcode) == PacketKind::kUnknown) {
    ++counters.dropped_unknown_opcode;
    return nullptr;
  }
  if (bth.version != 0) {
    ++counters.dropped_version;
    return nullptr;
  }
  QueuePair* pair = bth.destination_queue_pair >= kFirstQueueNumber
                        ? find(bth.destination_queue_pair - kFirstQueueNumber)
                        : nullptr;
  if (pair == nullptr) {
    ++counters.dropped_unknown_queue;
    return nullptr;
  }
  return pair;
}

[[gnu::always_inline]] inline void RoceEngine::handle_packet(TimePs now, QueuePair& pair,
                                                             const wire::Packet& packet) {
  pair.usual = {};
  Counters& counters = core_.counters;
  const QueuePairContext& context = pair.context;
  const wire::Bth& bth = packet.roce.bth;
  if (!rules_of(context.state).serves_peers) {
    ++counters.dropped_not_ready;
    return;
  }
  const PacketKind kind = kind_of(bth.opcode);
  // [IBTA vol 1 9.6.1.2: the transport of the opcode is that of the queue pair]
  const auto service = static_cast<Service>(static_cast<unsigned>(bth.opcode) >> wire::kRoceTransportShift);
  if (service != context.service && kind != PacketKind::kNotification) {
    ++counters.dropped_service;
    return;
  }
  if (packet.source.number != context.remote_host && context.service != Service::kDatagram) {
    ++counters.dropped_wrong_source;
    return;
  }
  // Low 15 bits equal and not zero, and one side a full member. [IBTA vol 1 10.9.3]
  const unsigned theirs = bth.partition_key;
  const unsigned ours = context.partition_key;
  if (((theirs ^ ours) & 0x7fffU) != 0 || (theirs & 0x7fffU) == 0 || ((theirs | ours) & 0x8000U) == 0) {
    ++counters.dropped_partition;
    return;
  }
  if (kind == PacketKind::kNotification) {
    ++counters.congestion_notifications;
    congestion_.on_notified(now, pair);
    return;
  }
  // A reliable connection refuses what is too long, see Responder::in_order(). [IBTA vol 1 9.7.4.1.6]
  const bool reliable = context.service == Service::kReliable;
  if (packet.trim != wire::TrimState::kWhole || (!reliable && packet.payload.length > context.path_mtu)) {
    ++counters.dropped_oversized;
    return;
  }
  if (!reliable) [[unlikely]] {
    return responder_.receive_unreliable(pair, packet);
  }
  if (packet.mark == wire::CongestionMark::kExperienced && kind != PacketKind::kAnswer) {
    congestion_.on_marked(now, pair);
  }
  if (kind == PacketKind::kRequest) {
    responder_.receive(now, pair, packet);
    if (pair.selective != nullptr) [[unlikely]]
      take_early(now, pair);
  } else {
    requester_.receive(now, pair, packet);
  }
}

std::uint32_t RoceEngine::needed_key(const QueuePair& pair, const wire::RocePacket& packet) const {
  const std::uint16_t headers = wire::roce_headers(packet.bth.opcode);
  if ((headers & wire::kRoceReth) != 0) return core_.keys.index_of(packet.reth.remote_key);
  if ((headers & wire::kRoceAtomicEth) != 0) return core_.keys.index_of(packet.atomic.remote_key);
  if ((headers & wire::kRoceIeth) != 0) return core_.keys.index_of(packet.invalidate_key);
  const Step step = step_of(packet.bth.opcode);
  const bool continues_write = step.kind == MessageInProgress::kWrite && !step.first;
  return continues_write ? core_.keys.index_of(pair.context.responder.remote_key) : MemoryKeyTable::kNoRecord;
}

void RoceEngine::receive_other(TimePs now, const wire::Packet& packet) {
  if (core_.unprepared != nullptr) {
    prepare_posted(now);
    return receive(now, 0, packet);
  }
  QueuePair* pair = accept(packet);
  if (pair == nullptr) return;
  if (contexts_.is_unlimited() ||
      (contexts_.usable(*pair) && contexts_.has_key(needed_key(*pair, packet.roce)))) {
    handle_packet(now, *pair, packet);
  } else if (!contexts_.defer_packet(now, *pair, packet)) {
    ++core_.counters.dropped_no_resources;
  }
  settle(now);
}

bool RoceEngine::transmit_other(TimePs now, wire::TrafficClassMask classes, wire::Packet& out) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  if (congestion_.owes_notification() && (classes & wire::mask_of(wire::TrafficClass::kControl)) != 0 &&
      congestion_.take_notification(out)) {
    seal(out);
    return true;
  }
  for (;;) {
    const std::size_t at = core_.first_list(classes);
    if (at == kSendClassCount) return false;  // Asked after every input, mostly in vain.
    const std::uint32_t listed = core_.ready_flows[at].front();
    QueuePair& pair = core_.queue(listed / 2);
    const auto flow = static_cast<Flow>(listed % 2);
    if (!contexts_.usable(pair)) [[unlikely]] {
      core_.unlist_flow(pair, flow, at);
      if (pair.in_use) contexts_.defer_flow(now, pair, flow);
      settle(now);
      continue;
    }
    const bool sent = flow == Flow::kRequests ? serve<Flow::kRequests>(now, pair, requester_, at, out)
                                              : serve<Flow::kAnswers>(now, pair, responder_, at, out);
    settle(now);
    if (sent) return true;
  }
}

// The flow at the front of list `at` has its turn, and gets in line again if it has more to send.
template <Flow kFlow, typename Half>
bool RoceEngine::serve(TimePs now, QueuePair& pair, Half& half, std::size_t at, wire::Packet& out) {
  pair.usual = {};
  // A flow that is alone in its list stays there; the controllers list flows themselves.
  const bool alone = core_.ready_flows[at].size() == 1 && !congestion_.controls();
  if (!alone) core_.unlist_flow(pair, kFlow, at);
  bool sent = false;
  if (Half::ready_class(pair) == at) {
    if (congestion_.holds(now, pair, kFlow, at)) return false;
    sent = half.transmit(now, pair, out);
    if (sent) {
      seal(out);
      congestion_.on_sent(now, pair, kFlow, out);
    }
  }
  const std::size_t next_class = Half::ready_class(pair);
  if (alone) {
    if (next_class == at) return sent;
    core_.unlist_flow(pair, kFlow, at);
  }
  if (next_class != kSendClassCount) core_.list_flow(pair, kFlow, next_class);
  return sent;
}

namespace {

/// Whether an answer of this kind changes what the context decides.
bool needs_context(AccessPurpose purpose) {
  return purpose == AccessPurpose::kRequestPayload || purpose == AccessPurpose::kResendPayload ||
         purpose == AccessPurpose::kPlacement || purpose == AccessPurpose::kReadPayload ||
         purpose == AccessPurpose::kAtomic || purpose == AccessPurpose::kResponseData ||
         purpose == AccessPurpose::kFetchWork;
}

}  // namespace

// --- Memory and time ---

void RoceEngine::completion_written(QueuePair& pair, const AccessSlot& slot,
                                    const engine::AccessResult& result) {
  PositionRing<CompletionEntry>& ring =
      slot.purpose == AccessPurpose::kSendCompletion ? pair.send_completions : pair.receive_completions;
  if (!ring.contains(slot.position)) return;
  CompletionEntry& record = ring[slot.position];
  record.visible = true;
  if (result.status != engine::AccessStatus::kDone) [[unlikely]] {
    completion_failed(pair, record);
  }
  if (slot.position == ring.head()) core_.note_completed(pair);
}

void RoceEngine::handle_access(TimePs now, AccessSlot& slot, const engine::AccessResult& result) {
  QueuePair& pair = core_.queue(slot.access.queue);
  pair.usual = {};
  switch (slot.purpose) {
    case AccessPurpose::kRequestPayload:
      requester_.payload_fetched(pair, slot, result);
      // Here, because transmit() that finds no packet is not asked for accesses again.
      requester_.give_up_front(pair);
      return;
    case AccessPurpose::kResendPayload:
      requester_.resend_fetched(pair, slot, result);
      return;
    case AccessPurpose::kResponseData:
      requester_.response_placed(pair, slot, result);
      return;
    case AccessPurpose::kPlacement:
      responder_.placed(now, pair, slot, result);
      return;
    case AccessPurpose::kReadPayload:
      responder_.read_fetched(pair, slot, result);
      return;
    case AccessPurpose::kAtomic:
      responder_.atomic_done(now, pair, slot, result);
      return;
    case AccessPurpose::kFetchWork:
      requester_.work_fetched(pair, slot, result);
      core_.kick(pair);
      return;
    case AccessPurpose::kFetchReceive:
      responder_.receive_fetched(pair, slot, result);
      return;
    case AccessPurpose::kSendCompletion:
    case AccessPurpose::kReceiveCompletion:
      completion_written(pair, slot, result);
      return;
    case AccessPurpose::kSharedCompletion:
      core_.shared_completion_written(slot, result);
      return;
    case AccessPurpose::kSharedReceive:
      return;
    case AccessPurpose::kFetchQueueContext:
    case AccessPurpose::kWriteQueueContext:
    case AccessPurpose::kFetchKeyRecord:
    case AccessPurpose::kWriteKeyRecord:
      contexts_.access_done(now, slot, result);
      return;
  }
}

namespace {

/// When others have taken everything but the shares, a queue pair goes on with its own.
void feed_share(EngineCore& core, QueuePair& pair) {
  const std::uint32_t common = core.port.available() - core.port.shares();
  if (pair.starved && common < kAccessesPerPacket && core.port.available(pair.share) > common)
    core.kick(pair);
}

}  // namespace

void RoceEngine::other_answered(TimePs now, AccessSlot& slot, const engine::AccessResult& result) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  slot.asked = false;
  if (slot.purpose == AccessPurpose::kSharedReceive) {
    const QueueId id = slot.access.queue;
    core_.counters.receive_entries_dropped +=
        core_.receive_queues.fetched({engine::table_index(id), slot.position, slot.detail}, result);
    core_.close_access(slot);
    --core_.shared_fetches;
    if (core_.receive_queues.exists(id)) core_.fetch_shared_receives(id);
    return;
  }
  if (!contexts_.is_unlimited() && needs_context(slot.purpose) && core_.queue(slot.access.queue).in_use &&
      !contexts_.usable(core_.queue(slot.access.queue))) {
    contexts_.defer_access(now, core_.queue(slot.access.queue), slot, result);
    if (!core_.starved.empty()) core_.feed_starved();
    settle(now);
    return;
  }
  handle_access(now, slot, result);
  core_.close_access(slot);
  if (!core_.starved.empty()) [[unlikely]] {
    core_.feed_starved();
    feed_share(core_, core_.queue(slot.access.queue));
  }
  settle(now);
}

// [IBTA vol 1 10.10.2: an error of the completion queue takes its queue pairs to the error state]
void RoceEngine::completion_failed(QueuePair& pair, CompletionEntry& completion) {
  if (completion.status == verbs::CompletionStatus::kSuccess)
    completion.status = verbs::CompletionStatus::kLocalOperation;
  core_.push_event(engine::AsyncEventKind::kCompletionError, pair);
  pair.fatal = true;
  core_.kick(pair);
}

// Nothing else waits for its turn when an input begins.
void RoceEngine::run_posted(TimePs now, QueuePair& pair) {
  if (contexts_.is_unlimited() && core_.kicked.empty()) {
    run(now, pair);
  } else {
    core_.kick(pair);
  }
  settle(now);
}

void RoceEngine::run_kicked(TimePs now) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  run_all_kicked(now);
  core_.attention = needs_attention();
}

void RoceEngine::run_all_kicked(TimePs now) {
  for (;;) {
    while (!core_.kicked.empty()) {
      QueuePair& pair = core_.queue(core_.kicked.front());
      core_.kicked.pop_front();
      pair.kicked = false;
      if (!pair.in_use) continue;
      if (contexts_.usable(pair)) {
        run(now, pair);
      } else {
        contexts_.defer_kick(now, pair);
      }
    }
    if (contexts_.is_unlimited()) return;
    QueuePair* pair = contexts_.next_ready(now);
    if (pair == nullptr) return;
    catch_up(now, *pair);
  }
}

void RoceEngine::catch_up(TimePs now, QueuePair& pair) {
  // The record may be older than a suspend_queue() or change_queue().
  pair.context.state = pair.driver_state;
  show_changes(pair);
  if (pair.cache.lost) {
    pair.cache.lost = false;
    fail_without_context(now, pair);
  }
  while (AccessSlot* slot = contexts_.pop_access(pair)) {
    const engine::AccessResult& result = contexts_.answer(*slot);
    handle_access(now, *slot, result);
    core_.pool->release(result.data.buffer);
    core_.close_access(*slot);
  }
  while (const wire::Packet* packet = contexts_.front_packet(pair)) {
    if (pair.fatal) [[unlikely]]
      run(now, pair);  // As between packets that do not wait: the next one finds the error state.
    const std::uint32_t key = needed_key(pair, packet->roce);
    if (!contexts_.has_key(key)) {
      contexts_.need_key(now, pair, key);
      return;
    }
    handle_packet(now, pair, *packet);
    contexts_.pop_packet(now, pair);
  }
  ContextState& cache = pair.cache;
  if (cache.expired) {
    cache.expired = false;
    pair.usual = {};
    retransmission_.expire(now, pair);
  }
  for (const Flow flow : {Flow::kRequests, Flow::kAnswers}) {
    bool& waited = cache.flow[static_cast<std::size_t>(flow)];
    if (!waited) continue;
    waited = false;
    const std::size_t send_class =
        flow == Flow::kRequests ? requester_.ready_class(pair) : responder_.ready_class(pair);
    if (send_class != kSendClassCount) core_.list_flow(pair, flow, send_class);
  }
  if (cache.kick) {
    cache.kick = false;
    run(now, pair);
  }
  contexts_.finish(now, pair);
}

void RoceEngine::expire(TimePs now) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  while (core_.timers.earliest() <= now) {
    QueuePair& pair = core_.queue(core_.timers.earliest_owner());
    if (contexts_.usable(pair)) {
      pair.usual = {};
      retransmission_.expire(now, pair);
    } else {
      core_.timers.set(pair.id, kNever);  // Set again when the context is here.
      contexts_.defer_expiry(now, pair);
    }
  }
  congestion_.expire(now);
  settle(now);
}

// --- Observation ---

QueueState RoceEngine::state(engine::QueueId queue) const {
  const QueuePair* pair = find(queue);
  return pair == nullptr ? QueueState::kReset : pair->driver_state;
}

void RoceEngine::describe_waiting(std::vector<std::string>& lines) const {
  for (const auto& pair : core_.queues) {
    if (!pair->in_use || pair->send.empty()) continue;
    const SendEntry& oldest = pair->send.front();
    const RequesterContext& requester = pair->context.requester;
    std::string line = "roce host " + std::to_string(core_.config.host.number) + " queue pair " +
                       std::to_string(pair->id) + ": " + std::to_string(pair->send.size()) +
                       " requests, the oldest a " + std::string(verbs::name(oldest.verb)) + " of " +
                       std::to_string(oldest.length) + " bytes, ";
    if (!pair->cache.resident || pair->cache.waiting) {
      line += "waits for context records";
    } else if (!oldest.fetched) {
      line += "waits for its work-queue entry";
    } else if (requester.rnr_until != kNever) {
      line += "waits for the receiver to become ready";
    } else if (congestion_.is_holding(*pair, Flow::kRequests)) {
      line += "is held back by congestion control";
    } else if (requester.unacknowledged != requester.sent) {
      line += "waits for an answer to PSN " + std::to_string(requester.unacknowledged);
    } else if (!pair->transmit.empty()) {
      line += pair->transmit.front().pending > 0 ? "waits for its payload from memory"
                                                 : "waits to be transmitted";
    } else {
      line +=
          pair->waiting ? "waits for " + std::string(trace::name(pair->waiting_stage)) : "has not started";
    }
    lines.push_back(line);
  }
}

}  // namespace wharf::roce
