// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/ub_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ub/engine_parts.h"
#include "engine/ub/exchange.h"

namespace wharf::ub {

static_assert(engine::Engine<UbEngine>);

Result<UbEngine> UbEngine::create(const UbConfig& config, wire::PayloadPool& payloads, Arena& arena) {
  WHARF_TRY(validate(config));
  return UbEngine(std::make_unique<EngineParts>(config, payloads, arena));
}

UbEngine::UbEngine(std::unique_ptr<EngineParts> parts)
    : parts_(std::move(parts)), accesses_(&parts_->accesses) {}
UbEngine::UbEngine(UbEngine&&) noexcept = default;
UbEngine& UbEngine::operator=(UbEngine&&) noexcept = default;
UbEngine::~UbEngine() = default;

Result<engine::QueueId> UbEngine::create_queue(TimePs now, const engine::QueueConfig& config) {
  Result<std::uint32_t> made = parts_->initiator.create(config);
  parts_->settle(now);
  return made;
}

Result<void> UbEngine::destroy_queue(TimePs now, engine::QueueId queue) {
  if (engine::is_completion_queue(queue)) return parts_->completion_queues.destroy(queue);
  if (engine::is_receive_queue(queue)) return parts_->receive_queues.destroy(queue);
  if (engine::is_group(queue)) return parts_->groups.destroy(queue);
  Result<void> done = parts_->initiator.destroy(now, queue);
  parts_->settle(now);
  return done;
}

Result<verbs::SegmentToken> UbEngine::register_segment(TimePs now, const verbs::SegmentConfig& config) {
  const ContextKey key{ContextKind::kMr, parts_->segments.next_number()};
  WHARF_TRY(parts_->contexts.reserve(key));
  Result<std::uint32_t> number = parts_->segments.add(config);
  if (!number) return number.error();
  const MrRecord& record = parts_->segments.record(*number);
  const verbs::SegmentToken token{record.token_id, record.token_value};
  parts_->contexts.add(key);
  parts_->settle(now);
  return token;
}

Result<void> UbEngine::deregister_segment(TimePs now, verbs::SegmentToken token) {
  const std::uint32_t number = parts_->segments.find(token.id);
  if (number == kNoSlot) return input_error(fmt::format("segment token {}: no such segment", token.id));
  const SegmentRange gone = parts_->segments.range(token.id, number);
  parts_->segments.remove(token.id);
  parts_->responder.revoke(gone);
  parts_->initiator.revoke(now, gone);
  parts_->contexts.remove(now, {ContextKind::kMr, number});
  parts_->settle(now);
  return {};
}

Result<engine::ExchangeBlob> UbEngine::export_queue(engine::QueueId queue) const {
  QueueBlob blob;
  if (engine::is_group(queue)) {
    if (!parts_->groups.exists(queue)) return input_error(fmt::format("there is no jetty group {}", queue));
    blob.jetty = engine::table_index(queue);
    blob.target = wire::TargetContextType::kJettyGroup;
    blob.token = parts_->groups.config(queue).token;
  } else {
    const Jetty* jetty = parts_->initiator.find(queue);
    if (jetty == nullptr) return input_error(fmt::format("jetty {}: no such queue", queue));
    blob.jetty = jetty->config.public_id != 0 ? jetty->config.public_id : queue;
    blob.requester = queue;
    blob.numbering = jetty->numbering;
    blob.token = jetty->config.token;
    blob.service = jetty->config.service;
    blob.transport = jetty->config.transport;
  }
  blob.host = parts_->config.host;
  blob.encapsulation = parts_->config.encapsulation;
  blob.recovery = parts_->config.recovery;
  blob.mtu = parts_->config.mtu;
  blob.receive_window = parts_->config.receive_window;
  blob.first_psn = parts_->config.first_psn;
  blob.inbound_messages = parts_->config.inbound_messages;
  blob.first_incarnation = parts_->config.first_incarnation;
  blob.channels = parts_->config.channels;
  blob.failures = parts_->tp.failures();
  return encode(blob);
}

Result<engine::PeerId> UbEngine::connect(TimePs now, engine::QueueId queue, std::span<const std::byte> blob) {
  const Jetty* owner = parts_->initiator.find(queue);
  if (owner == nullptr) return input_error(fmt::format("jetty {}: no such queue", queue));
  Result<QueueBlob> decoded = decode_queue_blob(blob);
  if (!decoded) return decoded.error();
  const engine::ServiceMode service = owner->config.service;
  if (is_sequenced(service) && decoded->target == wire::TargetContextType::kJettyGroup) {
    return input_error(
        fmt::format("jetty {}: service mode {} has one peer, found a jetty group, expected a jetty", queue,
                    engine::name(service)));
  }
  WHARF_TRY(parts_->initiator.may_import(*owner, queue, decoded->host, decoded->jetty));
  Result<std::uint32_t> home = parts_->tp.open(now, *decoded, kFirstLane);
  if (!home) return home.error();
  const std::uint32_t channels = std::min(parts_->config.channels, decoded->channels);
  const bool general = service == engine::ServiceMode::kOrderedByTarget ||
                       decoded->service == engine::ServiceMode::kOrderedByTarget;
  parts_->tp.end_old_lanes(now, *decoded, static_cast<Lane>(channels));
  // All reliable lanes, because the peer alone knows which of them its jetties use.
  Result<std::uint32_t> channel = home;
  for (Lane lane = kFirstLane; lane < channels; ++lane) {
    const Result<std::uint32_t> opened = parts_->tp.open(now, *decoded, lane);
    if (!opened) return opened.error();
    if (general) parts_->tp.make_general(*opened);
    if (lane == reliable_lane(queue, 0, channels)) channel = opened;
  }
  // The lane that the peer's requests need beside them, and that of own ones.
  const Lane own_lane = lane_of(service, owner->config.transport);
  for (const Lane lane : {lane_of(decoded->service, decoded->transport), own_lane}) {
    if (lane == kFirstLane) continue;
    const Result<std::uint32_t> opened = parts_->tp.open(now, *decoded, lane);
    if (!opened) return opened.error();
    if (lane == own_lane) channel = opened;
  }
  const std::uint32_t incarnation = parts_->tp.channel(*home).incarnation;
  if (is_sequenced(service) && owner->tassn_oldest != owner->tassn_next &&
      !owner->numbers_toward(decoded->host, incarnation)) {
    return input_error(
        fmt::format("jetty {}: it has requests outstanding, expected none with service mode {}", queue,
                    engine::name(service)));
  }
  if (is_sequenced(decoded->service)) {
    const SequenceLife life{incarnation, decoded->numbering};
    WHARF_TRY(parts_->responder.bind_sequence(decoded->host, decoded->requester_id(), life));
  }
  Peer peer;
  peer.used = true;
  peer.queue = queue;
  peer.channel = *channel;
  if (parts_->config.spread == ChannelSpread::kRequest && own_lane == kFirstLane) {
    peer.channels = channels;
  }
  peer.home = *home;
  peer.host = decoded->host;
  peer.jetty = decoded->jetty;
  peer.target = decoded->target;
  peer.token = decoded->token;
  const engine::PeerId id = parts_->initiator.import(peer);
  parts_->settle(now);
  return id;
}

Result<void> UbEngine::disconnect(TimePs, engine::QueueId queue, engine::PeerId peer) {
  if (parts_->initiator.find(queue) == nullptr)
    return input_error(fmt::format("jetty {}: no such queue", queue));
  return parts_->initiator.forget(queue, peer);
}

Result<void> UbEngine::forget_jetty(wire::HostAddress remote, std::uint32_t jetty) {
  return parts_->responder.forget_sequence(remote, jetty);
}

Result<void> UbEngine::forget_host(TimePs now, wire::HostAddress remote) {
  const std::uint32_t channel = parts_->tp.find(remote);
  if (channel != kNoSlot && parts_->load_store.serves(channel)) {
    return input_error(
        fmt::format("host {}: a load or store of it is in execution, expected none", remote.number));
  }
  for (Lane lane = kFirstLane; lane < kLaneCount; ++lane) {  // The first one first, see TpLayer::end_lanes().
    const std::uint32_t index = parts_->tp.find(remote, lane);
    if (index == kNoSlot) continue;
    parts_->initiator.forget_channel(index);
    parts_->tp.close(now, index);
  }
  parts_->responder.forget_sequences(remote);
  parts_->settle(now);
  return {};
}

engine::PostStatus UbEngine::post_receive(TimePs, engine::QueueId queue,
                                          const verbs::ReceiveRequest& receive) {
  return parts_->initiator.post_receive(queue, receive);
}

engine::PostStatus UbEngine::issue(TimePs now, const verbs::LoadStore& load_store) {
  return parts_->load_store.issue(now, load_store);
}

void UbEngine::expire(TimePs now) {
  parts_->tp.expire(now);
  parts_->initiator.expire(now);
  parts_->load_store.expire(now);
  parts_->settle(now);
}

bool UbEngine::next_access(engine::Access& out) { return parts_->accesses.next(out); }

bool UbEngine::next_completed_queue(engine::QueueId& queue) {
  return parts_->initiator.next_completed(queue);
}
bool UbEngine::poll(engine::QueueId queue, verbs::Completion& out) {
  return parts_->initiator.poll(queue, out);
}
Result<void> UbEngine::keep_records(engine::QueueId queue) {
  if (!parts_->completion_queues.exists(queue))
    return input_error(fmt::format("there is no completion queue {}", queue));
  parts_->completion_queues.set_keeps(queue);
  return {};
}
bool UbEngine::completions_polled(TimePs now) {
  if (!parts_->initiator.has_shared_records()) return false;
  parts_->settle(now);
  return true;
}
bool UbEngine::poll_load_store(verbs::LoadStoreResult& out) { return parts_->load_store.poll(out); }

bool UbEngine::poll_event(engine::AsyncEvent& out) {
  if (parts_->events.empty()) return false;
  out = parts_->events.front();
  parts_->events.pop_front();
  return true;
}

TimePs UbEngine::deadline() const {
  return min(min(parts_->tp.deadline(), parts_->initiator.deadline()), parts_->load_store.deadline());
}

const UbCounters& UbEngine::counters() const { return parts_->counters; }
const CongestionCounters& UbEngine::congestion_counters() const { return parts_->tp.congestion().counters(); }
const UbConfig& UbEngine::config() const { return parts_->config; }

congestion::SenderTrace UbEngine::congestion_trace(wire::HostAddress peer) const {
  const std::uint32_t channel = parts_->tp.find(peer);
  if (channel == kNoSlot) return {};
  return parts_->tp.congestion().trace(channel);
}

congestion::SenderTrace UbEngine::congestion_trace(engine::QueueId, engine::PeerId peer) const {
  const Peer* to = parts_->initiator.peer(peer);
  if (to == nullptr || to->channel == kNoSlot) return {};
  return parts_->tp.congestion().trace(to->channel);
}

void UbEngine::describe_waiting(std::vector<std::string>& out) const {
  parts_->initiator.describe_waiting(out);
  parts_->tp.describe_waiting(out);
  parts_->responder.describe_waiting(out);
  parts_->load_store.describe_waiting(out);
  if (parts_->contexts.waiting() > 0) {
    out.push_back(fmt::format("context cache: {} steps wait for records", parts_->contexts.waiting()));
  }
}

}  // namespace wharf::ub
