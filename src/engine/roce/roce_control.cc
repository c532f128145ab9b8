// SPDX-License-Identifier: Apache-2.0
// The control side of the engine: queue pairs, segments and connections come and go. The only part that takes
// memory.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"

namespace wharf::roce {

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
  pair.starting_psn = core_.config.starting_psn.value_or(random.next_u32() & wire::kPsnMask);
}

// All rings in one piece of memory, which a queue pair of the same depths keeps when it is made again.
void RoceEngine::attach_places(QueuePair& pair) {
  const RoceConfig& config = core_.config;
  const engine::QueueConfig& depths = pair.config;
  pair.places.reserve(depths.send_depth * (sizeof(SendEntry) + sizeof(CompletionEntry)) +
                      depths.receive_depth * (sizeof(ReceiveEntry) + sizeof(CompletionEntry)) +
                      config.transmit_ahead * (sizeof(TransmitEntry) + sizeof(ReadAhead)) +
                      config.responses_ahead * sizeof(Answer) +
                      config.max_read_atomic * sizeof(SavedResource));
  PlaceCutter cutter(pair.places);
  pair.send.attach(cutter.take<SendEntry>(depths.send_depth), depths.send_depth);
  pair.transmit.attach(cutter.take<TransmitEntry>(config.transmit_ahead), config.transmit_ahead);
  pair.send_completions.attach(cutter.take<CompletionEntry>(depths.send_depth), depths.send_depth);
  pair.answers.attach(cutter.take<Answer>(config.responses_ahead), config.responses_ahead);
  pair.receives.attach(cutter.take<ReceiveEntry>(depths.receive_depth), depths.receive_depth,
                       depths.receive_ring != 0 && depths.receive_queue == engine::kOwn);
  pair.receive_completions.attach(cutter.take<CompletionEntry>(depths.receive_depth), depths.receive_depth);
  pair.read_ahead.attach(cutter.take<ReadAhead>(config.transmit_ahead), config.transmit_ahead);
  pair.plain = depths.entries == engine::EntryFormat::kObjects && depths.send_completions == engine::kOwn &&
               depths.receive_completions == engine::kOwn && depths.receive_queue == engine::kOwn &&
               pair.service == Service::kReliable && !pair.receives.needs_fetch();
  pair.completion_place = pair.completions_written % (depths.send_depth + depths.receive_depth);
  SavedResource* const resources = cutter.take<SavedResource>(config.max_read_atomic);
  if (resources != pair.resources) pair.resources_touched = 0;
  pair.resources = resources;
  for (SavedResource& saved : pair.saved_resources()) saved = SavedResource{};
  pair.selective.reset();
  if (config.recovery == LossRecovery::kSelective && pair.service == Service::kReliable) {
    pair.selective = std::make_unique<SelectiveRepeat>(config);
    pair.plain = false;
  }
}

static_assert(kContextRegionBytes / 2 >= std::uint64_t{RoceEngine::kMaxQueues} * sizeof(QueuePairContext));

Result<engine::QueueId> RoceEngine::create_queue(TimePs now, const engine::QueueConfig& asked) {
  engine::QueueConfig config = asked;
  for (const auto& [key, depth] :
       {std::pair{"send_depth", config.send_depth}, std::pair{"receive_depth", config.receive_depth}}) {
    if (!std::has_single_bit(depth) || depth > 65536) {
      return input_error(std::string(key) + " is " + std::to_string(depth) +
                         ", expected a power of two from 1 to 65536");
    }
  }
  const std::optional<Service> service = service_of(config.service);
  if (!service) {
    return input_error("queue: service " + std::string(engine::name(config.service)) +
                       " is of Unified Bus alone, expected the default, uc, or datagrams with RoCE");
  }
  if (*service != Service::kReliable && core_.config.congestion) {
    return input_error(
        std::string("queue: service ") + name(*service) +
        " has no acknowledgements, which congestion control follows, expected the default with it");
  }
  bool own_receive_queue = false;
  WHARF_TRY(attach_shared(config, own_receive_queue));
  engine::QueueId id = core_.first_free;
  while (id < core_.queue_count && core_.queues[id]->in_use) ++id;
  core_.first_free = id;
  if (id == core_.queue_count) {
    if (id >= kMaxQueues) {
      return input_error("all " + std::to_string(kMaxQueues) +
                         " queue pairs are in use, expected destroy_queue() first");
    }
    core_.queues.push_back(std::make_unique<QueuePair>());
    const std::uint32_t count = core_.queue_count = id + 1;
    core_.port.reserve(core_.config.access_slots + kAccessSlotsPerQueue * count);
    core_.port.add_share();
    core_.timers.reserve(count);
    congestion_.add_queue(id);
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
  pair.service = *service;
  pair.handles.clear();
  pair.own_receive_queue = own_receive_queue;
  pair.ending = false;
  pair.usual = {};
  attach_places(pair);
  ++pair.connections;
  draw_starting_psn(pair);
  clear(now, pair);
  core_.step(now, pair, QueueEvent::kInitialize);
  open_datagrams(now, pair);
  contexts_.adopt(now, pair);
  return id;
}

void RoceEngine::begin_requests(QueuePair& pair) const {
  RequesterContext& requester = pair.context.requester;
  requester.unacknowledged = requester.next = requester.sent = requester.highest_sent =
      requester.next_unassigned = pair.starting_psn;
  requester.window = core_.config.window_packets;
  if (pair.selective != nullptr) pair.selective->repairs.begin(pair.starting_psn);
}

void RoceEngine::open_datagrams(TimePs now, QueuePair& pair) {
  if (pair.service != Service::kDatagram) return;
  QueuePairContext& context = pair.context;
  context.remote_host = wire::kNoHost.number;
  context.path_mtu = core_.config.path_mtu;
  context.mtu_shift = static_cast<std::uint8_t>(std::countr_zero(context.path_mtu));
  begin_requests(pair);
  core_.step(now, pair, QueueEvent::kPeerKnown);
  core_.step(now, pair, QueueEvent::kPeerPrepared);
}

// Everything of the last connection is forgotten; the queue pair is in RESET. Answers of memory that are
// still to come find that their positions are gone.
void RoceEngine::clear(TimePs now, QueuePair& pair) {
  requester_.discard_prepared(pair);
  while (!pair.send.empty()) {
    requester_.release_inline(pair.send.front());
    pair.send.pop();
  }
  pair.fetch_issued = pair.first_work = pair.send.tail();
  if (pair.selective != nullptr) requester_.discard_repairs(pair);
  responder_.discard(pair);
  responder_.discard_held(pair);
  pair.receives.clear();
  pair.waiting = false;
  pair.fatal = false;
  pair.drained = false;
  const RoceConfig& config = core_.config;
  pair.attributes = {config.queue_rights, config.min_rnr_timer, config.ack_timeout,    config.retry_count,
                     config.rnr_retry,    pair.config.token,    config.max_read_atomic};
  pair.has_changes = false;
  core_.timers.set(pair.id, kNever);
  congestion_.restart(pair);
  if (pair.driver_state != QueueState::kReset) core_.step(now, pair, QueueEvent::kReset);
  init_context(pair);
}

void RoceEngine::init_context(QueuePair& pair) {
  pair.context = QueuePairContext{};
  QueuePairContext& context = pair.context;
  context.queue_number = kFirstQueueNumber + pair.id;
  context.domain = pair.config.domain;
  context.service = pair.service;
  // [Linux rdma_rxe behaviour: 14 bits of a hash of the QPN, constant per queue pair]
  context.entropy = static_cast<std::uint16_t>(0xc000U + ((context.queue_number * 0x61c88647U) >> 18U));
  context.requester.sending = pair.send.tail();
  context.requester.assigned = pair.send.tail();
  context.state = pair.driver_state;
  prepare_start(pair);
}

void RoceEngine::prepare_start(QueuePair& pair) {
  QueuePairContext& context = pair.context;
  wire::Packet packet = wire::roce_packet();
  packet.mark = wire::CongestionMark::kCapable;
  packet.ip_version = core_.config.ip_version;
  packet.entropy = context.entropy;
  packet.source = core_.config.host;
  packet.destination = {context.remote_host};
  packet.roce.bth.destination_queue_pair = context.remote_queue_number;
  packet.roce.bth.partition_key = context.partition_key;
  context.start.set(packet);
}

// What a queue pair held is free: others may wait for it.
void RoceEngine::resume_others(TimePs now) {
  core_.feed_starved();
  settle(now);
}

Result<void> RoceEngine::destroy_queue(TimePs now, engine::QueueId queue) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  if (engine::is_completion_queue(queue)) return core_.completion_queues.destroy(queue);
  if (engine::is_receive_queue(queue)) return core_.receive_queues.destroy(queue);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  flush_into_shared(now, *pair);
  clear(now, *pair);
  while (!pair->send_completions.empty()) pair->send_completions.pop();
  while (!pair->receive_completions.empty()) pair->receive_completions.pop();
  pair->send_completions_issued = pair->send_completions.tail();
  pair->receive_completions_issued = pair->receive_completions.tail();
  contexts_.forget(now, *pair);
  detach_shared(*pair);
  pair->in_use = false;
  core_.first_free = std::min(core_.first_free, pair->id);
  pair->usual = {};
  resume_others(now);
  return {};
}

Result<verbs::SegmentToken> RoceEngine::register_segment(TimePs now, const verbs::SegmentConfig& config) {
  Result<verbs::SegmentToken> token = core_.keys.add(config);
  if (token.ok()) contexts_.adopt_key(now, core_.keys.index_of(token->id));
  return token;
}

Result<void> RoceEngine::deregister_segment(TimePs now, verbs::SegmentToken token) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  WHARF_TRY(core_.keys.remove(token.id));
  contexts_.adopt_key(now, core_.keys.index_of(token.id));
  for (const auto& pair : core_.queues) responder_.revoke(*pair, token.id);
  settle(now);
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
  record.service = pair->service;
  if (pair->selective != nullptr) record.early_window = pair->selective->early.window();
  if (pair->service == Service::kDatagram) record.queue_key = pair->attributes.queue_key;
  // No more than it can prepare answers to: a request that finds no room is dropped, and repeated only after
  // a time-out.
  record.responder_resources = static_cast<std::uint8_t>(
      std::min<std::uint32_t>(core_.config.max_read_atomic, core_.config.responses_ahead));
  return encode(record);
}

Result<engine::PeerId> RoceEngine::connect(TimePs now, engine::QueueId queue,
                                           std::span<const std::byte> blob) {
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  if (pair->driver_state != QueueState::kInit && pair->service != Service::kDatagram)
    return wrong_state(queue, pair->driver_state, "init");
  Result<ExchangeRecord> decoded = decode_exchange(blob);
  if (!decoded.ok()) return decoded.error();
  const ExchangeRecord& remote = *decoded;
  if (remote.service != pair->service) {
    return input_error("queue pair " + std::to_string(queue) + " is of service " + name(pair->service) +
                       ", the peer's of " + name(remote.service) + ", expected the same");
  }
  if (pair->service == Service::kDatagram) return add_handle(*pair, remote);
  if (pair->service == Service::kReliable && (remote.early_window > 0) != (pair->selective != nullptr)) {
    const LossRecovery theirs = remote.early_window > 0 ? LossRecovery::kSelective : LossRecovery::kGoBackN;
    return input_error("queue pair " + std::to_string(queue) + " recovers by " + name(core_.config.recovery) +
                       ", the peer's by " + name(theirs) + ", expected the same");
  }
  // An evicted context holds what it was made with.
  if (!pair->cache.resident) init_context(*pair);
  contexts_.adopt(now, *pair);
  QueuePairContext& context = pair->context;
  context.remote_host = remote.host.number;
  pair->peer_host = remote.host.number;
  context.remote_queue_number = remote.queue_number;
  context.path_mtu = std::min(core_.config.path_mtu, remote.path_mtu);
  context.mtu_shift = pair->mtu_shift = static_cast<std::uint8_t>(std::countr_zero(context.path_mtu));
  prepare_start(*pair);
  ResponderContext& responder = context.responder;
  responder.expected = remote.starting_psn;
  responder.resource_limit = pair->service == Service::kReliable ? core_.config.max_read_atomic : 0;
  core_.step(now, *pair, QueueEvent::kPeerKnown);
  RequesterContext& requester = context.requester;
  begin_requests(*pair);
  if (pair->selective != nullptr) requester.window = std::min(requester.window, remote.early_window);
  requester.read_limit = std::min(core_.config.max_read_atomic, remote.responder_resources);
  pair->read_limit = pair->attributes.max_read_atomic = requester.read_limit;
  requester.retries_left = pair->attributes.retry_count;
  requester.rnr_left = pair->attributes.rnr_retry;
  pair->round_trip = nullptr;
  if (core_.config.timeout_floor > kTimeZero)
    pair->round_trip = std::make_unique<reliability::RoundTripEstimate>();
  congestion_.connect(*pair, remote.host);
  core_.step(now, *pair, QueueEvent::kPeerPrepared);
  return pair->id;
}

Result<engine::PeerId> RoceEngine::add_handle(QueuePair& pair, const ExchangeRecord& remote) {
  const auto unused = std::find_if(pair.handles.begin(), pair.handles.end(), [](const AddressHandle& each) {
    return each.host == wire::kNoHost.number;
  });
  const auto peer = static_cast<engine::PeerId>(unused - pair.handles.begin());
  if (unused == pair.handles.end()) pair.handles.emplace_back();
  pair.handles[peer] = {remote.host.number, remote.queue_number, remote.queue_key};
  return peer;
}

Result<void> RoceEngine::disconnect(TimePs now, engine::QueueId queue, engine::PeerId peer) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  if (pair->service == Service::kDatagram && Requester::find_handle(*pair, peer) != nullptr) {
    pair->handles[peer] = {};
    return {};
  }
  if (peer != queue || pair->service == Service::kDatagram)
    return input_error("queue pair " + std::to_string(queue) + " has no peer " + std::to_string(peer));
  if (pair->driver_state != QueueState::kInit) {
    fail(now, *pair, true);
  } else {
    responder_.flush_receives(*pair);  // All that a queue pair without a peer can hold.
  }
  return reset(now, queue);
}

Result<void> RoceEngine::reset(TimePs now, engine::QueueId queue) {
  if (core_.unprepared != nullptr) prepare_posted(now);
  QueuePair* pair = find(queue);
  if (pair == nullptr) return no_such_queue(queue);
  ++pair->connections;
  pair->peer_host = wire::kNoHost.number;
  draw_starting_psn(*pair);
  contexts_.forget(now, *pair);
  clear(now, *pair);
  if (pair->own_receive_queue) core_.receive_queues.clear(pair->config.receive_queue);
  core_.step(now, *pair, QueueEvent::kInitialize);
  open_datagrams(now, *pair);
  contexts_.adopt(now, *pair);
  resume_others(now);
  return {};
}

bool RoceEngine::poll_event(engine::AsyncEvent& out) {
  if (core_.events.empty()) return false;
  out = core_.events.front();
  core_.events.pop_front();
  return true;
}

}  // namespace wharf::roce
