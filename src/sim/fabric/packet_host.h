// SPDX-License-Identifier: Apache-2.0
// A host of a fabric that speaks whole packets (wire::Packet): what switches did to a packet is noted in its
// head on the way and written into the packet here.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.h"
#include "engine/congestion/caqm_packet.h"
#include "sim/fabric/captured_frames.h"
#include "sim/fabric/fabric_host.h"
#include "sim/fabric/fabric_state.h"
#include "sim/fabric/wire_mode.h"
#include "sim/kernel/charge_rule.h"
#include "trace/tracer.h"
#include "wire/packet.h"
#include "wire/packet_role.h"
#include "wire/payload_pool.h"
#include "wire/protocol_traits.h"

namespace wharf::sim {

/// How packets become load, and how they travel.
struct PacketCharge {
  /// Ethernet's preamble and gap, and its shortest frame, count (wire::link_bytes); false: the frame alone.
  bool count_gaps = true;
  /// All headers together count as this many bytes; 0: what they really take.
  std::uint16_t nominal_header_bytes = 0;
  /// kPayload: data alone counts, and these where there is none.
  ChargeRule rule = ChargeRule::kPacket;
  std::uint32_t nominal_request_bytes = 64;
  std::uint32_t nominal_response_bytes = 8;
};

/// What the hosts of one partition share.
struct PacketContext : PartitionContext {
  wire::PayloadPool payloads;
  WireMode wire = WireMode::kStructs;
  wire::WireOptions wire_options;
  std::uint64_t refused_by_decoder = 0;  ///< WireMode::kBytes: must stay 0 without damage.
  CapturedFrames captured;               ///< Of the observed ports of the partition.
  /// What was done for operations of other hosts, until the hosts meet (trace/attribution.h).
  std::vector<trace::ForeignSpan> foreign;
  std::vector<std::uint32_t> to_close;  ///< Hosts with operations that have finished since.
  trace::Tracer* tracer = nullptr;      ///< Is told of lost packets; may be null.
  bool halted = false;                  ///< The run ends at once.
};

/// One network interface and whoever feeds it: an engine with its memory and its flows.
template <typename E>
concept PacketEndpoint = requires(E& endpoint, const E& observed, TimePs now, std::uint32_t port,
                                  wire::TrafficClassMask allowed, wire::Packet& out, const wire::Packet& in) {
  { endpoint.transmit(now, port, allowed, out) } -> std::same_as<bool>;
  endpoint.receive(now, port, in);
  endpoint.expire(now);
  { observed.deadline() } -> std::same_as<TimePs>;
};

/// Writes what the network did into the packet.
inline void apply_head(const PacketHead& head, wire::Packet& packet, wire::PayloadPool& payloads) {
  if ((head.flags & kHeadMarked) != 0) wire::mark_congestion(packet);
  if ((head.flags & kHeadTrimmed) != 0 && packet.trim == wire::TrimState::kWhole) {
    payloads.release(packet.payload.buffer);
    wire::trim_packet(packet, (head.flags & kHeadTrimmedLastHop) != 0 ? wire::TrimState::kTrimmedLastHop
                                                                      : wire::TrimState::kTrimmed);
  }
}

/// What a link carries for a packet whose headers have been charged.
inline std::uint32_t charged_bytes(const wire::Packet& packet, const PacketCharge& charge) {
  if (charge.rule == ChargeRule::kPayload) {
    return payload_charge(wire::data_bytes(packet), wire::is_response(packet), charge.nominal_request_bytes,
                          charge.nominal_response_bytes);
  }
  return charge.count_gaps ? wire::link_bytes(packet) : wire::frame_bytes(packet);
}

/// The head of a packet that leaves its host.
inline void fill_head(const wire::Packet& packet, const PacketCharge& charge, PacketHead& head) {
  const std::uint32_t bytes = charged_bytes(packet, charge);
  WHARF_CHECK(bytes <= 0xffff);
  head.bytes = static_cast<std::uint16_t>(bytes);
  head.destination = packet.destination.number;
  head.flow = static_cast<std::uint32_t>(
      mix_bits(std::uint64_t{packet.source.number} << 32U | packet.destination.number));
  head.entropy = packet.entropy;
  head.traffic_class = static_cast<std::uint8_t>(packet.traffic_class);
  unsigned flags = 0;
  if (packet.mark == wire::CongestionMark::kCapable || wire::has_own_mark(packet.protocol))
    flags |= kHeadEcnCapable;
  // Control packets stay whole.
  const bool urgent = packet.traffic_class == wire::TrafficClass::kControl ||
                      packet.traffic_class == wire::TrafficClass::kAcknowledgement;
  if (wire::tells_trims(packet.protocol) && !urgent) flags |= kHeadTrimmable;
  head.flags = static_cast<std::uint8_t>(flags);
}

/// How an endpoint's records are fetched ahead: Endpoint::Prefetch, if it has one.
template <typename Endpoint>
struct PrefetchOf {
  using Type = void;
};
template <typename Endpoint>
requires requires { typename Endpoint::Prefetch::Root; }
struct PrefetchOf<Endpoint> {
  using Type = typename Endpoint::Prefetch;
};

template <PacketEndpoint Endpoint>
class PacketHost {
 public:
  using Body = wire::Packet;
  using Context = PacketContext;
  using Prefetch = typename PrefetchOf<Endpoint>::Type;

  /// `context` outlives the host.
  PacketHost(Endpoint endpoint, const PacketCharge& charge, PacketContext& context)
      : endpoint_(std::move(endpoint)), context_(&context), charge_(charge) {}

  Endpoint& endpoint() { return endpoint_; }
  const Endpoint& endpoint() const { return endpoint_; }

  bool transmit(TimePs now, std::uint32_t port, ClassMask allowed, wire::Packet& packet, PacketHead& head) {
    const auto classes = static_cast<wire::TrafficClassMask>(allowed & wire::kAllTrafficClasses);
    if (!endpoint_.transmit(now, port, classes, packet)) return false;
    if (charge_.nominal_header_bytes != 0) packet.header_bytes = charge_.nominal_header_bytes;
    fill_head(packet, charge_, head);
    if constexpr (requires { endpoint_.host_of(packet); }) head.destination = endpoint_.host_of(packet);
    if constexpr (requires { endpoint_.whole_at(); }) head.time = endpoint_.whole_at();
    return true;
  }

  /// By which of its host's ports a packet that leaves by `port` arrives, where the endpoint knows.
  std::uint32_t arrival_port(const wire::Packet& packet, std::uint32_t port) const requires
      requires(const Endpoint& endpoint) {
    endpoint.arrival_port(packet, port);
  }
  { return endpoint_.arrival_port(packet, port); }

  void receive(TimePs now, std::uint32_t port, wire::Packet& packet, const PacketHead& head) {
    apply_head(head, packet, context_->payloads);
    endpoint_.receive(now, port, packet);
    context_->payloads.release(packet.payload.buffer);
  }

  /// So many bytes that have arrived wait for the host's memory.
  void note_backlog(std::uint64_t bytes) requires requires(Endpoint& endpoint) {
    endpoint.note_backlog(bytes);
  }
  { endpoint_.note_backlog(bytes); }

  /// Whoever watches the endpoint looks at it now.
  void sample(TimePs now) {
    if constexpr (requires { endpoint_.sample(now); }) endpoint_.sample(now);
  }

  void expire(TimePs now) { endpoint_.expire(now); }
  TimePs deadline() const { return endpoint_.deadline(); }
  void refresh() { endpoint_.refresh(); }
  /// Nothing arrives before `until`: hosts with an inside may run ahead that far.
  void allow(TimePs until) requires requires(Endpoint& endpoint) { endpoint.allow(until); }
  { endpoint_.allow(until); }
  /// What other hosts did for an operation of this one.
  void add_foreign(const trace::ForeignSpan& span) requires requires(Endpoint& endpoint) {
    endpoint.add_foreign(span);
  }
  { endpoint_.add_foreign(span); }
  /// All of them are known up to now: operations that have finished are accounted for.
  void close_accounts() requires requires(Endpoint& endpoint) { endpoint.close_accounts(); }
  { endpoint_.close_accounts(); }
  /// Where fetching ahead begins, for endpoints that know how.
  const auto* root() const requires requires { typename Endpoint::Prefetch::Root; }
  { return &Endpoint::Prefetch::root(endpoint_.engine()); }

  /// What a packet asks a switch with C-AQM for; none: it asks for nothing.
  static std::optional<congestion::CaqmFields> caqm_fields(const wire::Packet& packet, std::uint32_t mtu) {
    if (!congestion::carries_caqm(packet)) return std::nullopt;
    return congestion::read_caqm(packet, mtu);
  }
  static void answer_caqm(wire::Packet& packet, const congestion::CaqmFields& fields) {
    congestion::write_caqm(packet, fields);
  }

  /// The fabric has dropped the packet.
  static void drop(wire::Packet& packet, PacketContext& context) {
    context.payloads.release(packet.payload.buffer);
  }

  /// WireMode::kBytes: the packet crosses a link as a frame. False: the decoder refused it, and it is gone.
  /// Described payloads are compared and stay described.
  static bool over_wire(wire::Packet& packet, const PacketHead& head, PacketContext& context) {
    if (context.wire == WireMode::kStructs) return true;
    apply_head(head, packet, context.payloads);
    const wire::Payload described = packet.payload;
    if (pass_as_bytes(packet, context.payloads, context.wire_options, kNoDamage) != wire::DropReason::kNone) {
      ++context.refused_by_decoder;
      packet.payload = {};
      return false;
    }
    if (described.kind == wire::PayloadKind::kPattern) {
      WHARF_CHECK(wire::payload_equal(described, packet.payload));
      context.payloads.release(packet.payload.buffer);
      packet.payload = described;
    }
    return true;
  }

  /// A packet crosses a link: its operation learns where it waited and how long it was on the way.
  static void crossed(const wire::Packet& packet, PacketContext& context, const LinkCrossing& crossing) {
    if (!trace::Attribution::is_tag(packet.operation)) return;
    const trace::Stage wire =
        wire::is_response(packet) ? trace::Stage::kWireBack : trace::Stage::kWireForward;
    if (crossing.carried > crossing.queued) {
      context.foreign.push_back({packet.operation, crossing.queued, crossing.carried, crossing.queued,
                                 trace::Stage::kLinkQueue, crossing.link + 1});
    }
    context.foreign.push_back(
        {packet.operation, crossing.carried, crossing.arrival, crossing.queued, wire, crossing.link + 1});
  }

  /// A link has made a second packet of one.
  static void copied(wire::Packet& packet, PacketContext& context) {
    context.payloads.retain(packet.payload.buffer);
  }
  /// A bit of the packet is inverted behind the frame check; the reason for which the decoder at the far end
  /// refuses it, if it does.
  static wire::DropReason damage(wire::Packet& packet, const PacketHead& head, PacketContext& context,
                                 std::uint64_t bit) {
    apply_head(head, packet, context.payloads);
    const wire::DropReason reason = pass_as_bytes(packet, context.payloads, context.wire_options, bit);
    if (reason != wire::DropReason::kNone) packet.payload = {};
    return reason;
  }
  static void check_notices(const wire::Packet& packet, PacketContext& context, std::uint64_t bit) {
    if (context.wire == WireMode::kBytes)
      WHARF_CHECK(frame_check_notices(packet, context.payloads, context.wire_options, bit));
  }
  static void lost(TimePs at, std::uint32_t link, const wire::Packet& packet, PacketContext& context,
                   LinkLoss why) {
    if (context.tracer == nullptr || !context.tracer->wants(trace::EventKind::kPacketDropped)) return;
    context.tracer->emit({.kind = trace::EventKind::kPacketDropped,
                          .host = packet.source.number,
                          .component = link,
                          .begin = at,
                          .end = at,
                          .operation = packet.operation,
                          .a = static_cast<std::uint64_t>(why),
                          .packet = &packet});
  }

  /// Keeps the frame of what leaves an observed port; no body: a frame of flow control.
  static void capture(TimePs at, std::uint32_t port, const PacketHead& head, const wire::Packet* packet,
                      PacketContext& context) {
    if (packet == nullptr) {
      context.captured.add_flow_control(at, port, head.flow);
      return;
    }
    wire::Packet seen = *packet;
    if ((head.flags & kHeadMarked) != 0) wire::mark_congestion(seen);
    if ((head.flags & kHeadTrimmed) != 0 && seen.trim == wire::TrimState::kWhole) {
      wire::trim_packet(seen, (head.flags & kHeadTrimmedLastHop) != 0 ? wire::TrimState::kTrimmedLastHop
                                                                      : wire::TrimState::kTrimmed);
    }
    context.captured.add(at, port, seen, context.wire_options);
  }

  /// Between partitions, bytes in a pool buffer leave the pool of the one and enter that of the other.
  /// `payloads` has those of all packets that cross; `bytes` are this packet's.
  static void leave(wire::Packet& packet, PacketContext& context, std::vector<std::byte>& payloads) {
    if (packet.payload.buffer == wire::kNoBuffer) return;
    payloads.insert(payloads.end(), packet.payload.bytes, packet.payload.bytes + packet.payload.length);
    context.payloads.release(packet.payload.buffer);
    packet.payload.bytes = nullptr;
    packet.payload.buffer = kOnTheWay;
  }
  static void enter(wire::Packet& packet, PacketContext& context, const std::byte* bytes) {
    if (packet.payload.buffer != kOnTheWay) return;
    packet.payload.buffer = context.payloads.acquire(packet.payload.length);
    std::byte* own = context.payloads.data(packet.payload.buffer);
    std::copy_n(bytes, packet.payload.length, own);
    packet.payload.bytes = own;
  }

 private:
  static constexpr wire::BufferId kOnTheWay = 0xffff'fffe;

  Endpoint endpoint_;
  PacketContext* context_;
  PacketCharge charge_;
};

}  // namespace wharf::sim
