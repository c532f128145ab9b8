// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/roce_engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "engine/roce/exchange.h"

namespace wharf::roce {

using engine::PostStatus;
using wire::RoceOpcode;

const char* name(QueueState state) {
  switch (state) {
    case QueueState::kReset:
      return "reset";
    case QueueState::kInit:
      return "init";
    case QueueState::kReadyToReceive:
      return "rtr";
    case QueueState::kReadyToSend:
      return "rts";
    case QueueState::kError:
      return "error";
  }
  WHARF_UNREACHABLE();
}

// --- Construction
// ----------------------------------------------------------------------------------------------------------

RoceEngine::RoceEngine(const RoceConfig& config, wire::PayloadPool& pool)
    : core_(config, pool), retransmission_(core_), requester_(core_, retransmission_), responder_(core_) {
  retransmission_.attach(requester_);
}

Result<std::unique_ptr<RoceEngine>> RoceEngine::create(const RoceConfig& config, wire::PayloadPool& pool) {
  WHARF_TRY(check(config));
  return std::unique_ptr<RoceEngine>(new RoceEngine(config, pool));
}

bool RoceEngine::supports(verbs::Verb verb) { return Requester::supports(verb); }

RoceEngine::~RoceEngine() {
  for (const auto& pair : core_.queues) clear(*pair);
}

// --- Control
// ---------------------------------------------------------------------------------------------------------------

QueuePair* RoceEngine::find(engine::QueueId queue) {
  return queue < core_.queues.size() && core_.queues[queue]->in_use ? core_.queues[queue].get() : nullptr;
}
const QueuePair* RoceEngine::find(engine::QueueId queue) const {
  return const_cast<RoceEngine*>(this)->find(queue);
}

namespace {

Error no_such_queue(engine::QueueId queue) {
  return input_error("there is no queue pair " + std::to_string(queue));
}

Error wrong_state(engine::QueueId queue, QueueState state, const char* expected) {
  return input_error("queue pair " + std::to_string(queue) + " is in state " + name(state) + ", expected " +
                     expected);
}

}  // namespace

void RoceEngine::draw_starting_psn(QueuePair& pair) {
  RandomStream random = RandomStream(core_.config.seed, "roce.starting_psn")
                            .substream(core_.config.host.number)
                            .substream(pair.id)
                            .substream(pair.connections);
  pair.starting_psn = random.next_u32() & wire::kPsnMask;
}

Result<engine::QueueId> RoceEngine::create_queue(TimePs, const engine::QueueConfig& config) {
  for (const auto& [key, depth] :
       {std::pair{"send_depth", config.send_depth}, std::pair{"receive_depth", config.receive_depth}}) {
    if (!std::has_single_bit(depth) || depth > 65536) {
      return input_error(std::string(key) + " is " + std::to_string(depth) +
                         ", expected a power of two from 1 to 65536");
    }
  }
  const auto free_queue =
      std::find_if(core_.queues.begin(), core_.queues.end(), [](const auto& pair) { return !pair->in_use; });
  engine::QueueId id = static_cast<engine::QueueId>(free_queue - core_.queues.begin());
  if (free_queue == core_.queues.end()) {
    if (id >= kMaxQueues) {
      return input_error("all " + std::to_string(kMaxQueues) +
                         " queue pairs are in use, expected destroy_queue() first");
    }
    core_.queues.push_back(std::make_unique<QueuePair>());
    const std::uint32_t count = id + 1;
    core_.port.reserve(core_.config.access_slots + 32 * count);
    core_.timers.reserve(count);
    for (auto& list : core_.ready_flows) list.reserve(2 * std::size_t{count});
    core_.completed.reserve(count);
    core_.kicked.reserve(count);
    core_.starved.reserve(count);
    core_.events.reserve(4 * std::size_t{count});
  }
  QueuePair& pair = *core_.queues[id];
  pair.id = id;
  pair.in_use = true;
  pair.config = config;
  pair.send.reserve(config.send_depth);
  pair.send_completions.reserve(config.send_depth);
  pair.receive_completions.reserve(config.receive_depth);
  pair.receives.reserve(config.receive_depth, config.receive_ring != 0);
  pair.transmit.reserve(core_.config.transmit_ahead);
  pair.answers.reserve(core_.config.responses_ahead);
  pair.read_ahead.reserve(core_.config.transmit_ahead);
  pair.resources.assign(core_.config.max_read_atomic, SavedResource{});
  ++pair.connections;
  draw_starting_psn(pair);
  clear(pair);
  return id;
}

// Everything of the last connection is forgotten; the queue pair is in INIT. Answers of memory that are still
// to come find that their positions are gone.
void RoceEngine::clear(QueuePair& pair) {
  requester_.discard_prepared(pair);
  while (!pair.send.empty()) {
    core_.pool->release(pair.send.front().request.inline_data.buffer);
    pair.send.pop();
  }
  pair.fetch_issued = pair.send.tail();
  responder_.discard(pair);
  pair.receives.clear();
  pair.waiting = false;
  pair.fatal = false;
  pair.context = QueuePairContext{};
  QueuePairContext& context = pair.context;
  context.queue_number = kFirstQueueNumber + pair.id;
  // [Linux rdma_rxe behaviour: 14 bits of a hash of the QPN, constant per queue pair]
  context.entropy = static_cast<std::uint16_t>(0xc000U + ((context.queue_number * 0x61c88647U) >> 18U));
  context.requester.sending = pair.send.tail();
  context.requester.assigned = pair.send.tail();
  core_.move_to(pair, QueueState::kInit);
  core_.timers.set(pair.id, kNever);
}

Result<void> RoceEngine::destroy_queue(TimePs, engine::QueueId queue) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  clear(*pair);
  while (!pair->send_completions.empty()) pair->send_completions.pop();
  while (!pair->receive_completions.empty()) pair->receive_completions.pop();
  pair->send_completions_issued = pair->send_completions.tail();
  pair->receive_completions_issued = pair->receive_completions.tail();
  core_.move_to(*pair, QueueState::kReset);
  pair->in_use = false;
  return {};
}

Result<verbs::SegmentToken> RoceEngine::register_segment(TimePs, const verbs::SegmentConfig& config) {
  return core_.keys.add(config);
}

Result<void> RoceEngine::deregister_segment(TimePs, verbs::SegmentToken token) {
  WHARF_TRY(core_.keys.remove(token.id));
  for (const auto& pair : core_.queues) responder_.revoke(*pair, token.id);
  return {};
}

Result<engine::ExchangeBlob> RoceEngine::export_queue(engine::QueueId queue) const {
  const QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  ExchangeRecord record;
  record.host = core_.config.host;
  record.queue_number = kFirstQueueNumber + pair->id;
  record.starting_psn = pair->starting_psn;
  record.path_mtu = core_.config.path_mtu;
  record.responder_resources = core_.config.max_read_atomic;
  return encode(record);
}

Result<engine::PeerId> RoceEngine::connect(TimePs, engine::QueueId queue, std::span<const std::byte> blob) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  if (pair->driver_state != QueueState::kInit) return wrong_state(queue, pair->driver_state, "init");
  Result<ExchangeRecord> decoded = decode_exchange(blob);
  if (!decoded.ok()) return decoded.error();
  const ExchangeRecord& remote = *decoded;
  QueuePairContext& context = pair->context;
  context.remote_host = remote.host.number;
  context.remote_queue_number = remote.queue_number;
  context.path_mtu = std::min(core_.config.path_mtu, remote.path_mtu);
  context.mtu_shift = static_cast<std::uint8_t>(std::countr_zero(context.path_mtu));
  ResponderContext& responder = context.responder;
  responder.expected = remote.starting_psn;
  responder.resource_limit = core_.config.max_read_atomic;
  core_.move_to(*pair, QueueState::kReadyToReceive);
  RequesterContext& requester = context.requester;
  requester.unacknowledged = requester.next = requester.sent = requester.highest_sent =
      requester.next_unassigned = pair->starting_psn;
  requester.read_limit = std::min(core_.config.max_read_atomic, remote.responder_resources);
  requester.retries_left = core_.config.retry_count;
  requester.rnr_left = core_.config.rnr_retry;
  core_.move_to(*pair, QueueState::kReadyToSend);
  return pair->id;
}

Result<void> RoceEngine::disconnect(TimePs now, engine::QueueId queue, engine::PeerId peer) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  if (peer != queue)
    return input_error("queue pair " + std::to_string(queue) + " has no peer " + std::to_string(peer));
  enter_error(now, *pair);
  return reset(now, queue);
}

Result<void> RoceEngine::reset(TimePs, engine::QueueId queue) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  ++pair->connections;
  draw_starting_psn(*pair);
  clear(*pair);
  return {};
}

bool RoceEngine::poll_event(engine::AsyncEvent& out) {
  if (core_.events.empty()) return false;
  out = core_.events.front();
  core_.events.pop_front();
  return true;
}

void RoceEngine::enter_error(TimePs now, QueuePair& pair) {
  if (pair.context.state != QueueState::kError) {
    retransmission_.stop(pair);
    core_.move_to(pair, QueueState::kError);
    core_.push_event(engine::AsyncEventKind::kQueueError, pair);
  }
  static_cast<void>(now);
  requester_.flush(pair);
  responder_.flush_receives(pair);
}

// --- Application
// -------------------------------------------------------------------------------------------------------------

PostStatus RoceEngine::post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                            engine::Submission submission) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return PostStatus::kBadQueue;
  const PostStatus status = requester_.post(*pair, request, submission);
  if (status != PostStatus::kOk) return status;
  core_.kick(*pair);
  run_kicked(now);
  return status;
}

PostStatus RoceEngine::post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& request) {
  QueuePair* pair = find(queue);
  // Receives may be posted from INIT on. [IBTA vol 1 10.3.1]
  if (pair == nullptr || pair->driver_state == QueueState::kError) return PostStatus::kBadQueue;
  if (request.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  if (pair->receives.held() + pair->receive_completions.size() >= pair->receives.capacity()) {
    return PostStatus::kQueueFull;
  }
  responder_.post_receive(*pair, request);
  run_kicked(now);
  return PostStatus::kOk;
}

PostStatus RoceEngine::issue(TimePs, const verbs::LoadStore&) { return PostStatus::kUnsupported; }

bool RoceEngine::poll(engine::QueueId queue, verbs::Completion& out) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return false;
  for (PositionRing<CompletionEntry>* ring : {&pair->send_completions, &pair->receive_completions}) {
    if (ring->empty() || !ring->front().visible) continue;
    out = ring->front().completion;
    ring->pop();
    return true;
  }
  return false;
}

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
  return false;
}

bool RoceEngine::poll_load_store(verbs::LoadStoreResult&) { return false; }

// --- Network
// -----------------------------------------------------------------------------------------------------------------

// The checks that precede the transport's own; a failure is a silent drop. [Linux rdma_rxe behaviour]
QueuePair* RoceEngine::accept(const wire::Packet& packet) {
  Counters& counters = core_.counters;
  ++counters.packets_received;
  if (packet.protocol != wire::Protocol::kRoce || packet.destination != core_.config.host) {
    ++counters.dropped_foreign;
    return nullptr;
  }
  const wire::Bth& bth = packet.roce.bth;
  const std::uint16_t headers = wire::roce_headers(bth.opcode);
  // Reliable connections and congestion notifications only.
  const bool known =
      headers != 0 && (static_cast<unsigned>(bth.opcode) < 0x20U || bth.opcode == RoceOpcode::kCnp);
  if (!known) {
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

void RoceEngine::handle_packet(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  Counters& counters = core_.counters;
  const QueuePairContext& context = pair.context;
  const wire::Bth& bth = packet.roce.bth;
  if (context.state != QueueState::kReadyToSend && context.state != QueueState::kReadyToReceive) {
    ++counters.dropped_not_ready;
    return;
  }
  if (packet.source.number != context.remote_host) {
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
  if (bth.opcode == RoceOpcode::kCnp) {
    // The rate limiter of a congestion controller is told here when the engine has one.
    ++counters.congestion_notifications;
    return;
  }
  if (packet.trim != wire::TrimState::kWhole || packet.payload.length > context.path_mtu) {
    ++counters.dropped_oversized;
    return;
  }
  const bool is_answer =
      bth.opcode >= RoceOpcode::kRcReadResponseFirst && bth.opcode <= RoceOpcode::kRcAtomicAcknowledge;
  if (is_answer) {
    requester_.receive(now, pair, packet);
  } else {
    responder_.receive(now, pair, packet);
  }
}

void RoceEngine::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  QueuePair* pair = accept(packet);
  if (pair == nullptr) return;
  handle_packet(now, *pair, packet);
  run_kicked(now);
}

bool RoceEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask classes, wire::Packet& out) {
  for (std::size_t at = 0; at < kSendClassCount;) {
    Ring<std::uint32_t>& flows = core_.ready_flows[at];
    if ((classes & wire::mask_of(kSendClasses[at])) == 0 || flows.empty()) {
      ++at;
      continue;
    }
    QueuePair& pair = core_.queue(flows.front() / 2);
    const auto flow = static_cast<Flow>(flows.front() % 2);
    flows.pop_front();
    pair.flow_listed[static_cast<std::size_t>(flow)] = false;
    const auto ready_class = [&] {
      return flow == Flow::kRequests ? requester_.ready_class(pair) : responder_.ready_class(pair);
    };
    const std::size_t now_class = ready_class();
    bool sent = false;
    if (now_class == at) {
      sent = flow == Flow::kRequests ? requester_.transmit(now, pair, out) : responder_.transmit(now, pair, out);
    }
    const std::size_t next_class = ready_class();
    if (next_class != kSendClassCount) core_.list_flow(pair, flow, next_class);
    run_kicked(now);
    if (sent) {
      // Ethernet 14, IP 20 or 40, UDP 8, BTH 12, ICRC 4, FCS 4.
      const std::uint32_t fixed = core_.config.ip_version == wire::IpVersion::kV4 ? 62 : 82;
      out.header_bytes = fixed + wire::roce_extension_bytes(out.roce.bth.opcode);
      ++core_.counters.packets_sent;
      return true;
    }
    at = 0;  // A flow may have moved to a more urgent list.
  }
  return false;
}

// --- Memory and time
// -----------------------------------------------------------------------------------------------------------

bool RoceEngine::next_access(engine::Access& out) { return core_.port.next(out); }

void RoceEngine::access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result) {
  WHARF_CHECK(core_.port.is_open(access));
  AccessSlot& slot = core_.port.slot(access);
  handle_access(now, slot, result);
  core_.port.close(slot);
  if (!core_.starved.empty()) core_.feed_starved();
  run_kicked(now);
}

void RoceEngine::handle_access(TimePs now, AccessSlot& slot, const engine::AccessResult& result) {
  QueuePair& pair = core_.queue(slot.queue);
  switch (slot.purpose) {
    case AccessPurpose::kRequestPayload:
      requester_.payload_fetched(now, pair, slot, result);
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
      responder_.receive_fetched(pair, slot);
      return;
    case AccessPurpose::kSendCompletion:
    case AccessPurpose::kReceiveCompletion: {
      PositionRing<CompletionEntry>& ring =
          slot.purpose == AccessPurpose::kSendCompletion ? pair.send_completions : pair.receive_completions;
      if (!ring.contains(slot.position)) return;
      ring[slot.position].visible = true;
      if (slot.position == ring.head()) core_.note_completed(pair);
      return;
    }
    case AccessPurpose::kFetchQueueContext:
    case AccessPurpose::kWriteQueueContext:
    case AccessPurpose::kFetchKeyRecord:
    case AccessPurpose::kWriteKeyRecord:
      return;
  }
}

void RoceEngine::run_kicked(TimePs now) {
  while (!core_.kicked.empty()) {
    QueuePair& pair = core_.queue(core_.kicked.front());
    core_.kicked.pop_front();
    pair.kicked = false;
    if (!pair.in_use) continue;
    if (pair.fatal || pair.context.state == QueueState::kError) {
      pair.fatal = false;
      enter_error(now, pair);
    }
    requester_.advance(now, pair);
    responder_.advance(now, pair);
    core_.issue_completions(pair);
  }
}

void RoceEngine::expire(TimePs now) {
  while (core_.timers.earliest() <= now) {
    QueuePair& pair = core_.queue(core_.timers.earliest_owner());
    retransmission_.expire(now, pair);
  }
  run_kicked(now);
}

TimePs RoceEngine::deadline() const { return core_.timers.earliest(); }

// --- Observation
// -----------------------------------------------------------------------------------------------------------------

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
                       " requests, the oldest a " + std::string(verbs::name(oldest.request.verb)) + " of " +
                       std::to_string(oldest.request.length) + " bytes, ";
    if (!oldest.fetched) {
      line += "waits for its work-queue entry";
    } else if (requester.rnr_until != kNever) {
      line += "waits for the receiver to become ready";
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
