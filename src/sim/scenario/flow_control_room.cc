// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/flow_control_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace wharf::sim {
namespace {

/// Queue of data packets (PortProfile::composite).
constexpr std::size_t kDataQueue = 1;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Bytes that credits let in: packets whose size is no multiple of a credit take more credits than bytes, and
/// fewer where the overhead is negative.
std::uint64_t room_of_credits(const FlowControlConfig& flow, const FabricDerived& derived) {
  const std::uint64_t credits = flow.credit_limit_bytes / flow.credit_bytes;
  std::uint64_t most = 0;
  for (const std::uint32_t bytes : {derived.full_packet, derived.ack_packet}) {
    const auto charged = std::max<std::int64_t>(1, std::int64_t{bytes} + flow.credit_overhead_bytes);
    const std::uint64_t cost = divide_up(static_cast<std::uint64_t>(charged), flow.credit_bytes);
    most = std::max(most, credits / cost * bytes);
  }
  return most;
}

/// What a link carries in `time` at `rate`, in whole bytes.
std::uint64_t carried(BitsPerSecond rate, TimePs time) {
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide(time.ps) * rate.value / 8'000'000'000'000ULL) + 1;
}

}  // namespace

std::uint64_t room_for_link(const FabricSettings& settings, const FabricDerived& derived,
                            const Topology& topology, PortId link) {
  const FlowControlConfig& flow = settings.links.flow_control;
  if (settings.flow_control == FlowControl::kCredit) return room_of_credits(flow, derived);
  const TopologyPort& in = topology.port(link);
  const TopologyPort& back = topology.port(in.reverse);
  BitsPerSecond fastest = in.rate;
  BitsPerSecond slowest = settings.slow_links > 0 ? BitsPerSecond{back.rate.value / kSlowLink} : back.rate;
  for (const NamedLinkChange& change : settings.links.changes) {
    if (change.rate.value == 0) continue;
    fastest = std::max(fastest, change.rate);
    slowest = std::min(slowest, change.rate);
  }
  // The frame that says pause follows a packet, and frames for the other queues. What arrives from the packet
  // that crosses the threshold on until the near end hears it was under way or is sent then; a packet that
  // has begun is sent to its end.
  const auto frames = static_cast<std::uint64_t>(std::popcount(flow.queues)) * flow.frame_bytes;
  const TimePs heard = transfer_time(Bytes{derived.full_packet + frames}, slowest) + back.delay + in.delay +
                       settings.links.fec_delay * 2 + topology.node(in.peer).latency;
  // Frames that are replayed count as sent: no pause holds them.
  const std::uint64_t replayed = settings.links.retry ? settings.links.retry_rules.outstanding_bytes_max : 0;
  return std::uint64_t{flow.xoff_bytes} + 2 * std::uint64_t{derived.full_packet} + carried(fastest, heard) +
         replayed;
}

namespace {

/// Queues count their bytes in 32 bits.
Result<void> check_occupancy(const FabricSettings& settings, const FabricDerived& derived,
                             const Topology& topology) {
  if (settings.flow_control == FlowControl::kNone) return {};
  const FlowControlConfig& flow = settings.links.flow_control;
  const bool pause = settings.flow_control == FlowControl::kPause;
  for (NodeId node = topology.host_count(); node < topology.nodes().size(); ++node) {
    const std::vector<PortId>& ports = topology.node(node).ports;
    std::uint64_t all = 0;
    for (const PortId port : ports)
      all += room_for_link(settings, derived, topology, topology.port(port).reverse);
    if (all <= kUnlimitedBytes) continue;
    const std::uint64_t each = pause ? flow.xoff_bytes : flow.credit_limit_bytes;
    // Beside the threshold a pause leaves room for what is under way; credits are all of it.
    const std::uint64_t under_way = pause ? all - each * ports.size() : 0;
    if (under_way >= kUnlimitedBytes) {
      return input_error(fmt::format(
          "fabric.flow_control: found pause, expected none or credit: while a pause is on its way, more than "
          "4 GiB may come for one port over the {} links of a switch, whatever fabric.pfc_xoff is",
          ports.size()));
    }
    const std::uint64_t most =
        pause ? (kUnlimitedBytes - under_way) / ports.size()
              : static_cast<std::uint64_t>(static_cast<unsigned __int128>(each) * kUnlimitedBytes / all);
    return input_error(
        fmt::format("{}: found {}, expected at most {}: over the {} links of a switch more than 4 GiB may "
                    "come for one port",
                    pause ? "fabric.pfc_xoff" : "fabric.credit_limit", format_bytes(Bytes{each}),
                    format_bytes(Bytes{most}), ports.size()));
  }
  return {};
}

}  // namespace

Result<void> check_queue_room(const FabricSettings& settings, const FabricDerived& derived,
                              const Topology& topology, const FabricConfig& fabric) {
  if (settings.flow_control == FlowControl::kCredit &&
      room_of_credits(settings.links.flow_control, derived) < derived.full_packet) {
    return input_error(
        fmt::format("fabric.credit_limit: found {}, expected the credits of at least one packet, {}",
                    format_bytes(Bytes{settings.links.flow_control.credit_limit_bytes}),
                    format_bytes(Bytes{derived.full_packet})));
  }
  WHARF_TRY(check_occupancy(settings, derived, topology));
  const bool by_key = settings.queue_packets != 0 || settings.queue_bdp_factor != 0;
  if (!by_key || settings.flow_control == FlowControl::kNone) return {};
  // The port that asks most of the key; slow links have shorter queues.
  std::uint64_t needed = 0;
  std::size_t links = 0;
  for (NodeId node = topology.host_count(); node < topology.nodes().size(); ++node) {
    const std::vector<PortId>& ports = topology.node(node).ports;
    const auto room_of = [&](PortId port) {
      return room_for_link(settings, derived, topology, topology.port(port).reverse);
    };
    std::uint64_t all = 0;
    for (const PortId port : ports) all += room_of(port);
    for (const PortId port : ports) {
      const std::uint64_t room = all - room_of(port);
      const std::size_t profile = fabric.port_profile.empty() ? 0 : fabric.port_profile[port];
      const std::uint64_t capacity = fabric.profiles[profile].queues[kDataQueue].capacity_bytes;
      const std::uint64_t share =
          derived.queue_bytes / std::clamp<std::uint64_t>(capacity, 1, derived.queue_bytes);
      if (room * share <= needed) continue;
      needed = room * share;
      links = ports.size() - 1;
    }
  }
  if (derived.queue_bytes >= needed) return {};
  const std::string found = settings.queue_packets != 0
                                ? fmt::format("fabric.queue_packets is {}", settings.queue_packets)
                                : fmt::format("fabric.queue_bdp_factor is {}", settings.queue_bdp_factor);
  return input_error(fmt::format(
      "{}, a queue of {}, expected at least {} packets ({}): so much may come over {} link{} for one port "
      "before {} holds {} back",
      found, format_bytes(Bytes{derived.queue_bytes}), divide_up(needed, derived.full_packet),
      format_bytes(Bytes{needed}), links, links == 1 ? "" : "s",
      settings.flow_control == FlowControl::kPause ? "fabric.pfc_xoff" : "fabric.credit_limit",
      links == 1 ? "it" : "them"));
}

}  // namespace wharf::sim
