// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/uet_engine.h"

#include <fmt/format.h>

#include "engine/uet/engine_parts.h"
#include "engine/uet/exchange.h"

namespace wharf::uet {

static_assert(engine::Engine<UetEngine>);

Result<std::shared_ptr<const UetConfig>> UetEngine::prepare(const UetConfig& config) {
  WHARF_TRY(validate(config));
  auto prepared = std::make_shared<UetConfig>(config);
  // [UE 1.0 3.6.14] Receiver credit deals with incast: trims of the last hop are not NSCC's business then.
  if (auto* nscc = std::get_if<congestion::NsccConfig>(&prepared->controller)) {
    nscc->last_hop_trims_count =
        config.congestion != CongestionControl::kReceiver && config.congestion != CongestionControl::kBoth;
  }
  return std::shared_ptr<const UetConfig>(std::move(prepared));
}

UetEngine UetEngine::create(std::shared_ptr<const UetConfig> prepared, wire::HostAddress host,
                            std::uint64_t seed, wire::PayloadPool& payloads, Arena& arena) {
  return UetEngine(std::make_unique<EngineParts>(std::move(prepared), host, seed, payloads, arena));
}

Result<UetEngine> UetEngine::create(const UetConfig& config, wire::PayloadPool& payloads, Arena& arena) {
  auto prepared = prepare(config);
  if (!prepared) return prepared.error();
  return create(*std::move(prepared), config.host, config.seed, payloads, arena);
}

UetEngine::UetEngine(std::unique_ptr<EngineParts> parts)
    : parts_(std::move(parts)), accesses_(&parts_->accesses) {}
UetEngine::UetEngine(UetEngine&&) noexcept = default;
UetEngine& UetEngine::operator=(UetEngine&&) noexcept = default;
UetEngine::~UetEngine() = default;

Result<engine::QueueId> UetEngine::create_queue(TimePs now, const engine::QueueConfig& config) {
  EndpointAddress address = parts_->config.endpoint;
  address.resource_index = static_cast<std::uint16_t>(address.resource_index + parts_->endpoints.next());
  return create_endpoint(now, config, address, parts_->config.initiator_id);
}

Result<engine::QueueId> UetEngine::create_endpoint(TimePs now, const engine::QueueConfig& config,
                                                   const EndpointAddress& address,
                                                   std::uint32_t initiator_id) {
  parts_->pds.begin(now);
  return parts_->endpoints.create(config, address, initiator_id);
}

Result<void> UetEngine::destroy_queue(TimePs now, engine::QueueId queue) {
  if (engine::is_completion_queue(queue)) return parts_->endpoints.completion_queues().destroy(queue);
  Result<void> done = parts_->endpoints.destroy(now, queue);
  parts_->initiator.settle(now);
  parts_->pds.settle(now);
  return done;
}

Result<verbs::SegmentToken> UetEngine::register_segment(TimePs now, const verbs::SegmentConfig& config) {
  // What goes without a connection unless a request says otherwise may go anywhere.
  const bool idempotent = parts_->config.one_sided_delivery == verbs::Delivery::kIdempotent;
  return register_region(now, config, parts_->config.endpoint.job_id, std::nullopt, idempotent);
}

Result<verbs::SegmentToken> UetEngine::register_region(TimePs, const verbs::SegmentConfig& config,
                                                       std::uint32_t job_id, std::optional<std::uint64_t> key,
                                                       bool idempotent) {
  Result<std::uint32_t> slot =
      key ? parts_->regions.add_keyed(config, job_id, *key, idempotent)
          : parts_->regions.add(config, job_id, parts_->config.small_headers, idempotent);
  if (!slot) return slot.error();
  return token_of(parts_->regions[*slot].key);
}

Result<void> UetEngine::deregister_segment(TimePs, verbs::SegmentToken token) {
  const std::uint64_t key = key_of(token);
  for (std::uint32_t slot = 0; slot < parts_->regions.capacity(); ++slot) {
    if (!parts_->regions[slot].used || parts_->regions[slot].key != key) continue;
    parts_->regions.remove(slot);
    return {};
  }
  return input_error(fmt::format("segment token {:#x}: no such segment", key));
}

Result<engine::ExchangeBlob> UetEngine::export_queue(engine::QueueId queue) const {
  const Endpoint* endpoint = std::as_const(parts_->endpoints).find(queue);
  if (endpoint == nullptr) return input_error(fmt::format("queue {}: no such queue", queue));
  EndpointBlob blob;
  blob.host = parts_->host;
  blob.address = endpoint->address;
  blob.initiator_id = endpoint->initiator_id;
  blob.generation = endpoint->generation;
  if (parts_->config.small_headers) blob.capabilities |= kCapabilitySmallHeader;
  return encode(blob);
}

Result<engine::PeerId> UetEngine::connect(TimePs, engine::QueueId queue, std::span<const std::byte> bytes) {
  if (parts_->endpoints.find(queue) == nullptr)
    return input_error(fmt::format("queue {}: no such queue", queue));
  Result<EndpointBlob> blob = decode_endpoint_blob(bytes);
  if (!blob) return blob.error();
  Peer peer;
  peer.used = true;
  peer.queue = queue;
  peer.to.host = blob->host;
  peer.to.job_id = blob->address.job_id;
  peer.to.pid_on_fep = blob->address.pid_on_fep;
  peer.to.resource_index = blob->address.resource_index;
  peer.to.relative = blob->address.relative;
  peer.to.ri_generation = blob->generation;
  return parts_->initiator.import(peer);
}

Result<void> UetEngine::disconnect(TimePs, engine::QueueId queue, engine::PeerId peer) {
  if (parts_->endpoints.find(queue) == nullptr)
    return input_error(fmt::format("queue {}: no such queue", queue));
  return parts_->initiator.forget(peer);
}

Result<void> UetEngine::set_enabled(TimePs, engine::QueueId queue, bool enabled) {
  Endpoint* endpoint = parts_->endpoints.find(queue);
  if (endpoint == nullptr) return input_error(fmt::format("queue {}: no such queue", queue));
  if (enabled && !endpoint->enabled && endpoint->generations) ++endpoint->generation;
  endpoint->enabled = enabled;
  endpoint->refuses = false;
  return {};
}

engine::PostStatus UetEngine::post_other(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                                         engine::Submission submission) {
  const engine::PostStatus status = parts_->initiator.post(now, queue, request, submission);
  parts_->pds.settle(now);
  return status;
}

engine::PostStatus UetEngine::post_receive(TimePs now, engine::QueueId queue,
                                           const verbs::ReceiveRequest& receive) {
  const engine::PostStatus status = parts_->endpoints.post_receive(now, queue, receive);
  parts_->pds.settle(now);
  return status;
}

engine::PostStatus UetEngine::issue(TimePs, const verbs::LoadStore&) {
  return engine::PostStatus::kUnsupported;
}

void UetEngine::receive_other(TimePs now, const wire::Packet& packet) {
  UetCounters& counters = parts_->counters;
  ++counters.packets_received;
  if (packet.protocol != wire::Protocol::kUet || packet.destination != parts_->host) {
    ++counters.dropped_foreign;
    return;
  }
  parts_->pds.receive(now, packet);
  parts_->initiator.settle(now);
  parts_->pds.settle(now);
}

void UetEngine::access_done_other(TimePs now, const PendingAccess& taken,
                                  const engine::AccessResult& answer) {
  EngineParts& parts = *parts_;
  // Data of another length than was asked for is a failure (engine/contract.h).
  static constexpr engine::AccessResult kFaulted{.status = engine::AccessStatus::kFault, .data = {}};
  const bool whole =
      taken.asked == 0 || answer.status != engine::AccessStatus::kDone || answer.data.length == taken.asked;
  const engine::AccessResult& result = whole ? answer : kFaulted;
  const wire::BufferId buffer = taken.buffer;
  if (taken.owner == AccessOwner::kPacketData) {
    parts.pds.data_done(now, taken.object, taken.detail, result);
  } else if (taken.owner == AccessOwner::kInbound) {
    // The end of a read asks for an access, which takes the place of `taken`.
    if (result.status != engine::AccessStatus::kDone ||
        !parts.pds.data_placed_plain(parts, now, taken.object))
      parts.target.access_done(now, taken.object, result.status);
  } else {
    const PendingAccess owner = taken;
    parts.access_done(now, owner, result);
  }
  parts.payloads.release(buffer);
  parts.initiator.settle(now);
  parts.pds.settle(now);
}

void UetEngine::expire(TimePs now) {
  parts_->pds.expire(now);
  parts_->cms.expire(now);
  parts_->initiator.expire(now);
  parts_->rudi.expire(now);
  parts_->initiator.settle(now);
  parts_->pds.settle(now);
}

bool UetEngine::next_access(engine::Access& out) { return parts_->accesses.next(out); }

bool UetEngine::transmit_other(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  EngineParts& parts = *parts_;
  const bool others = parts.plain.others_wait;
  const bool sent = (others && parts.rudi.has_answers() && parts.rudi.transmit(now, allowed, out)) ||
                    transmit_of_pdcs(now, allowed, out);
  if (others)
    parts.plain.others_wait = !parts.plain.allowed || parts.rudi.has_answers() || parts.pds.has_others();
  return sent;
}

bool UetEngine::transmit_of_pdcs(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  if (!parts_->pds.transmit(now, allowed, out)) return false;
  parts_->pds.settle(now);
  return true;
}

bool UetEngine::next_completed_queue(engine::QueueId& queue) {
  return parts_->endpoints.next_completed(queue);
}
bool UetEngine::poll(engine::QueueId queue, verbs::Completion& out) {
  return parts_->endpoints.poll(queue, out);
}
bool UetEngine::poll_load_store(verbs::LoadStoreResult&) { return false; }

bool UetEngine::poll_event(engine::AsyncEvent& out) {
  if (parts_->events.empty()) return false;
  out = parts_->events.front();
  parts_->events.pop_front();
  return true;
}

TimePs UetEngine::deadline() const {
  return min(min(parts_->pds.deadline(), parts_->cms.deadline()),
             min(parts_->initiator.deadline(), parts_->rudi.deadline()));
}

const UetCounters& UetEngine::counters() const { return parts_->counters; }
const UetConfig& UetEngine::config() const { return parts_->config; }

void UetEngine::note_backlog(std::uint64_t bytes) { parts_->cms.note_backlog(bytes); }

void UetEngine::describe_waiting(std::vector<std::string>& out) const {
  parts_->initiator.describe_waiting(out);
  parts_->pds.describe_waiting(out);
  parts_->cms.describe_waiting(out);
  parts_->target.describe_waiting(out);
  parts_->rudi.describe_waiting(out);
}

}  // namespace wharf::uet
