// SPDX-License-Identifier: Apache-2.0
// From settings and a topology to a run: the rules of Ultra Ethernet 1.0 3.6 (window, thresholds) with
// those of the UEC's simulator where its profile asks for them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "sim/fabric/detours.h"
#include "sim/fabric/topology_survey.h"
#include "sim/flows/flow_connections.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/flow_control_room.h"

namespace wharf::sim {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// `part` tenths of `whole`, rounded up.
std::uint32_t tenths(std::uint64_t whole, std::uint64_t part) {
  return static_cast<std::uint32_t>(divide_up(whole * part, 10));
}

/// What a link may send before flow control stops it.
std::uint64_t held_per_link(const FabricSettings& settings) {
  const FlowControlConfig& links = settings.links.flow_control;
  return settings.flow_control == FlowControl::kPause ? links.xoff_bytes : links.credit_limit_bytes;
}

/// What waits for one port at most under flow control: what all links into its switch may send.
std::uint64_t held_at_switch(const FabricSettings& settings, const Topology& topology) {
  std::size_t ports = 1;
  for (NodeId node = topology.host_count(); node < topology.nodes().size(); ++node)
    ports = std::max(ports, topology.node(node).ports.size());
  return ports * held_per_link(settings);
}

/// What a data queue holds at ports to hosts: one full packet at least.
std::uint32_t last_hop_queue(const FabricSettings& settings, const FabricDerived& derived) {
  const std::uint64_t bytes =
      std::uint64_t{derived.queue_bytes} * (settings.trims() ? settings.last_hop_threshold : 100) / 100;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes, derived.full_packet, kUnlimitedBytes));
}

/// The retransmission time-out by rule. Choice: under flow control all that switches hold may have to leave
/// through one port first, and nothing is lost by queues, so a time-out waits for that.
TimePs timeout_by_rule(const FabricSettings& settings, const FabricDerived& derived,
                       const Topology& topology) {
  std::uint64_t ahead = derived.queue_bytes * std::uint64_t{5} + last_hop_queue(settings, derived);
  if (settings.lossless()) {
    ahead = 0;
    for (const TopologyPort& port : topology.ports())
      ahead += topology.is_host(port.peer) ? 0 : held_per_link(settings);
  }
  return microseconds(15) + transfer_time(Bytes{ahead}, derived.link);
}

/// What frames take before there are engines to look at: all by the nominal size of headers, or what the
/// protocol says.
EngineFrames nominal_frames(const FabricSettings& settings) {
  const ProtocolRules& protocol = rules_of(settings.protocol);
  const auto header = static_cast<std::uint32_t>(settings.header);
  const std::uint32_t data = header != 0 ? header : protocol.data_overhead;
  return {data, data, data, data, header != 0 ? header : protocol.acknowledgement};
}

FabricDerived rules(const FabricSettings& settings, const Topology& topology, const TopologySummary& summary,
                    const EngineFrames& frames) {
  FabricDerived derived;
  const auto payload = static_cast<std::uint32_t>(settings.payload);
  derived.frames = derived.read_frames = derived.send_frames = frames;
  derived.full_packet = payload + std::max({frames.only, frames.first, frames.further, frames.last});
  derived.ack_packet = frames.answer;
  derived.link = topology.port(topology.node(0).ports[0]).rate;
  derived.host_rate = {~std::uint64_t{0}};
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    BitsPerSecond all{};
    for (const PortId port : topology.node(host).ports) {
      derived.link = std::min(derived.link, topology.port(port).rate);
      all.value += topology.port(port).rate.value;
    }
    derived.host_rate = std::min(derived.host_rate, all);
  }
  // [UE 1.0 3.6: config_base_rtt] Full-size data along the longest path, an answer back, nothing queued. Ways
  // over a third group are the longest where packets take them.
  PathSurvey paths(topology);
  const auto [from, to] =
      longest_pair(topology, summary, Bytes{derived.full_packet}, Bytes{derived.ack_packet});
  const auto way = [&, routing = settings.routing](NodeId a, NodeId b, Bytes bytes) {
    return routing == Routing::kMinimal ? paths.longest_path(a, b, bytes) : paths.detour(a, b, bytes);
  };
  const Bytes data{derived.full_packet};
  const Bytes answer{derived.ack_packet};
  const auto longest = way(from, to, data);
  derived.base_rtt = packet_time(topology, longest, data) +
                     packet_time(topology, way(to, from, answer), answer) +
                     settings.links.fec_delay * (2 * static_cast<std::int64_t>(longest.size()));
  using Wide = unsigned __int128;
  derived.bdp =
      static_cast<std::uint64_t>(Wide(derived.base_rtt.ps) * derived.link.value / 8'000'000'000'000ULL);
  const std::uint64_t packets = divide_up(derived.bdp, derived.full_packet);
  const std::uint64_t factor =
      settings.queue_bdp_factor != 0 ? settings.queue_bdp_factor : (settings.trims() ? 1 : 5);
  const std::uint64_t queued = settings.queue_packets != 0 ? settings.queue_packets : factor * packets;
  const auto in_bytes = [&](std::uint64_t count) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(count * derived.full_packet, 0x7fff'ffff));
  };
  derived.queue_bytes = in_bytes(
      settings.lossless() ? divide_up(held_at_switch(settings, topology), derived.full_packet) : queued);
  derived.ecn_low = in_bytes(settings.ecn_low_packets != 0 ? settings.ecn_low_packets : tenths(packets, 2));
  derived.ecn_high =
      in_bytes(settings.ecn_high_packets != 0 ? settings.ecn_high_packets : tenths(packets, 8));
  derived.max_window = derived.bdp * 3 / 2;
  derived.rto = settings.rto != kTimeZero ? settings.rto : timeout_by_rule(settings, derived, topology);
  // Choice: the time-out of a profile is for the links that it was made for; an answer may take a round trip
  // of the links that are there, and as long in queues.
  if (settings.rto_of_profile) derived.rto = max(derived.rto, derived.base_rtt * 2);
  return derived;
}

SenderNetwork senders_of(const FabricSettings& settings, const EndNetwork& network) {
  return visit_protocol(settings.protocol,
                        [&]<typename P>(std::type_identity<P>) { return P::senders(network); });
}

FlowSite site_of(const FabricSettings& settings, std::function<std::uint32_t()> most_connections = {}) {
  return {settings.payload, settings.pcie_rate, settings.seed,
          settings.shared_connections() == workload::SharedConnections::kAll, std::move(most_connections)};
}

/// Ways over a third group need groups that are joined directly, and switches enough room to compare them.
Result<void> check_routing(const FabricSettings& settings, const Topology& topology) {
  if (settings.routing == Routing::kMinimal) return {};
  const char* const name = settings.routing == Routing::kUgal ? "ugal" : "valiant";
  const RoutingTables routes(topology);
  if (!Detours(topology, routes, false).any()) {
    return input_error(fmt::format(
        "fabric.routing: found {}, expected minimal, or a topology of three groups or more that are "
        "joined directly, such as dragonfly:2x4x2",
        name));
  }
  if (settings.routing == Routing::kUgal && routes.leaf_count() > Detours::kComparedMax) {
    return input_error(
        fmt::format("fabric.routing: found ugal with {} switches that have hosts, expected at most {}",
                    routes.leaf_count(), Detours::kComparedMax));
  }
  return {};
}

/// What depends on the topology as well as on the keys.
Result<void> check_combination(const FabricSettings& settings, const FabricDerived& derived,
                               const EndNetwork& network) {
  if (network.link > kFastestLink) {
    return input_error(fmt::format("the slowest link of a host has {}, expected at most {}",
                                   format_rate(network.link), format_rate(kFastestLink)));
  }
  const TimePs longest = rules_of(settings.protocol).longest_round_trip;
  if (network.base_rtt > longest) {
    return input_error(fmt::format(
        "found a base round trip of {}, expected at most {}: speeds and delays of the links make it, by "
        "fabric.link_speed, fabric.hop_latency and fabric.switch_latency or by the topology file",
        format_time(network.base_rtt), format_time(longest)));
  }
  if (settings.ecn && !settings.switches_grant() && derived.ecn_low > derived.ecn_high) {
    return input_error(
        fmt::format("fabric.ecn_low_packets: found {}, expected at most fabric.ecn_high_packets, {}",
                    format_bytes(Bytes{derived.ecn_low}), format_bytes(Bytes{derived.ecn_high})));
  }
  const BitsPerSecond least = settings.dcqcn.rpg_min_rate;
  if (settings.controller == SenderController::kDcqcn && (least.value == 0 || least > network.link)) {
    return input_error(
        fmt::format("fabric.dcqcn.rpg_min_rate: found {}, expected 1bps to the {} of a host's link",
                    format_rate(least), format_rate(network.link)));
  }
  WHARF_TRY(check_window(settings, senders_of(settings, network), "fabric", "this topology"));
  return visit_protocol(settings.protocol, [&]<typename P>(std::type_identity<P>) {
    return P::check_fabric(ends_of<P>(settings.ends), site_of(settings));
  });
}

EndNetwork network_of(const FabricSettings& settings, const FabricDerived& derived,
                      std::uint32_t oversubscription_permille) {
  return {.link = derived.link,
          .base_rtt = derived.base_rtt,
          .max_window = derived.max_window,
          .payload = static_cast<std::uint32_t>(settings.payload),
          .header = static_cast<std::uint32_t>(settings.header),
          .trimming = settings.trims(),
          .oversubscription_permille = oversubscription_permille,
          .rto = derived.rto,
          .host_rate = derived.host_rate};
}

/// What the frames of these engines really take: those of `hosts`, or what the keys make of a network with
/// nominal frames. What no engine takes is refused later, with its numbers.
Result<EngineFrames> frames_in_use(const FabricSettings& settings, const FabricDerived& nominal,
                                   const TopologySummary& summary, const EngineConfigs* hosts) {
  const auto payload = static_cast<std::uint32_t>(settings.payload);
  if (hosts != nullptr) return engine_frames(settings.protocol, *hosts, payload);
  EngineConfigs engines;
  WHARF_TRY(visit_protocol(settings.protocol, [&]<typename P>(std::type_identity<P>) -> Result<void> {
    const FlowSite site = site_of(settings, [] { return 4U; });
    if (auto checked = P::check_fabric(ends_of<P>(settings.ends), site); !checked) return checked;
    auto engine = P::derive_fabric(settings, ends_of<P>(settings.ends),
                                   network_of(settings, nominal, summary.oversubscription_permille), site);
    if (!engine) return engine.error();
    std::get<typename P::Config>(engines) = *std::move(engine);
    return {};
  }));
  return engine_frames(settings.protocol, engines, payload);
}

/// Most connections that one host begins, or that end at it.
std::uint32_t most_connections(const workload::FlowList& list, std::uint32_t hosts) {
  using Connection = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::vector<Connection> all;
  all.reserve(list.flows.size());
  for (const workload::Flow& flow : list.flows)
    all.emplace_back(flow.source, flow.destination, flow.connection);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<std::uint32_t> out(hosts, 0);
  std::vector<std::uint32_t> in(hosts, 0);
  std::uint32_t most = 1;
  for (const auto& [source, destination, number] : all) {
    if (source < hosts) most = std::max(most, ++out[source]);
    if (destination < hosts) most = std::max(most, ++in[destination]);
  }
  return most;
}

bool has(const workload::FlowList& list, verbs::Verb verb) {
  return std::any_of(list.flows.begin(), list.flows.end(),
                     [verb](const workload::Flow& flow) { return flow.verb == verb; });
}

/// The ports of a switch toward the tier above, in order.
std::vector<PortId> ports_up(const Topology& topology, NodeId node) {
  std::vector<PortId> up;
  for (const PortId port : topology.node(node).ports) {
    const NodeId peer = topology.port(port).peer;
    if (!topology.is_host(peer) && topology.node(peer).tier > topology.node(node).tier) up.push_back(port);
  }
  return up;
}

Result<void> add_failures(const Topology& topology, const FatTreeShape* shape, const workload::FlowList& list,
                          FabricConfig& fabric) {
  if (list.failures.empty()) return {};
  if (shape == nullptr || shape->tiers() != 3) {
    return input_error(fmt::format("{}:{}:1: found a failure, expected a fat tree of three tiers beneath it",
                                   list.name, list.failures.front().line));
  }
  for (const workload::LinkFailure& failure : list.failures) {
    const std::uint32_t middles = shape->pods * shape->middles_per_pod;
    if (failure.switch_id >= middles) {
      return input_error(fmt::format("{}:{}:{}: found switch_id {}, expected 0 to {}", list.name,
                                     failure.line, failure.switch_column, failure.switch_id, middles - 1));
    }
    // The format counts the top of a link as position * middles + link_id; links exist to position + middles
    // * n. Only links for which both agree can fail.
    const std::uint32_t position = failure.switch_id % shape->middles_per_pod;
    const std::uint32_t top = position * shape->middles_per_pod + failure.link_id;
    if (top >= shape->tops() || top % shape->middles_per_pod != position) {
      return input_error(
          fmt::format("{}:{}:{}: found link_id {} of switch {}, which would be the link to switch {} of the "
                      "third tier, expected "
                      "one that is wired",
                      list.name, failure.line, failure.link_column, failure.link_id, failure.switch_id, top));
    }
    const std::uint32_t leaves = shape->pods * shape->leaves_per_pod;
    const NodeId node = topology.host_count() + leaves + failure.switch_id;
    const NodeId far = topology.host_count() + leaves + middles + top;
    for (const PortId port : ports_up(topology, node)) {
      if (topology.port(port).peer != far) continue;
      fabric.changes.push_back({.at = kTimeZero, .port = port, .up = false});
      fabric.changes.push_back({.at = kTimeZero, .port = topology.port(port).reverse, .up = false});
    }
    if (fabric.reroute_delay == kNever) fabric.reroute_delay = kTimeZero;
  }
  return {};
}

/// `profile` for a link with 1/kSlowLink of the speed: queues and thresholds hold as much time.
PortProfile slowed(PortProfile profile) {
  for (PortQueueConfig& queue : profile.queues) {
    for (std::uint32_t* bytes : {&queue.capacity_bytes, &queue.mark_min_bytes, &queue.mark_max_bytes}) {
      if (*bytes != kUnlimitedBytes) *bytes = static_cast<std::uint32_t>(*bytes / kSlowLink);
    }
  }
  return profile;
}

/// The first links below the top tier, downwards at a quarter of their speed from the start.
Result<void> add_slow_links(const Topology& topology, std::uint32_t count, FabricConfig& fabric) {
  if (count == 0) return {};
  std::uint8_t top = 0;
  for (const TopologyNode& node : topology.nodes()) top = std::max(top, node.tier);
  std::uint32_t left = count;
  for (PortId port = 0; port < topology.ports().size() && left > 0; port += 2) {
    const TopologyPort& link = topology.port(port);
    if (top == 0 || topology.is_host(link.node) || topology.is_host(link.peer) ||
        std::max(topology.node(link.node).tier, topology.node(link.peer).tier) != top)
      continue;
    const PortId down = topology.node(link.node).tier == top ? port : link.reverse;
    fabric.changes.push_back(
        {.at = kTimeZero, .port = down, .up = true, .rate = {topology.port(down).rate.value / kSlowLink}});
    if (left == count) {
      fabric.port_profile.resize(topology.ports().size(), 0);
      fabric.profiles.push_back(slowed(fabric.profiles[0]));
    }
    fabric.port_profile[down] = static_cast<std::uint8_t>(fabric.profiles.size() - 1);
    --left;
  }
  if (left > 0) {
    return input_error(fmt::format(
        "fabric.slow_links: found {}, expected at most {} links below the top tier", count, count - left));
  }
  return {};
}

FabricConfig derive_fabric(const FabricSettings& settings, const FabricDerived& derived,
                           const Topology& topology) {
  FabricConfig fabric;
  const bool marks = settings.ecn && !settings.switches_grant();
  PortProfile profile = PortProfile::composite(derived.queue_bytes, marks ? derived.ecn_low : kUnlimitedBytes,
                                               marks ? derived.ecn_high : kUnlimitedBytes);
  // Flow control is there so that nothing is dropped: what a link may still send bounds queues, that of
  // acknowledgements too.
  if (settings.lossless())
    profile.queues[0].capacity_bytes = profile.queues[1].capacity_bytes = kUnlimitedBytes;
  profile.queues[1].mark_most_ppm = static_cast<std::uint32_t>(std::lround(settings.ecn_most * 1e6));
  profile.queues[1].mark_behind = settings.ecn_occupancy == EcnOccupancy::kBehindPacket;
  if (!settings.trims()) {
    // Buffers under flow control are counted by arrivals.
    profile.queues[1].overflow =
        settings.drop_victim == DropVictim::kNewestOrArrival && settings.flow_control == FlowControl::kNone
            ? OverflowRule::kDropNewestOrArrival
            : OverflowRule::kDrop;
  }
  profile.trimmed_bytes = static_cast<std::uint16_t>(settings.trim_size);
  fabric.profiles = {profile};
  // Receiver credit deals with the last hop; marks there would count twice.
  const bool unmarked = settings.has_credit() && settings.ecn;
  const bool resized = settings.trims() && settings.last_hop_threshold != 100;
  if (unmarked || resized) {
    PortProfile last_hop = profile;
    if (unmarked) last_hop.queues[1].mark_min_bytes = last_hop.queues[1].mark_max_bytes = kUnlimitedBytes;
    if (resized) last_hop.queues[1].capacity_bytes = last_hop_queue(settings, derived);
    fabric.profiles.push_back(last_hop);
    fabric.port_profile.assign(topology.ports().size(), 0);
    for (PortId port = 0; port < topology.ports().size(); ++port) {
      if (topology.is_host(topology.port(port).peer)) fabric.port_profile[port] = 1;
    }
  }
  if (settings.trims() && settings.trimmed_share != 0) {
    for (PortProfile& each : fabric.profiles) each.share_with_trimmed(settings.trimmed_share);
  }
  fabric.load_balancing = settings.load_balancing;
  fabric.routing = settings.routing;
  fabric.ugal_bias_bytes = settings.ugal_bias;
  fabric.switching = settings.switching;
  apply_links(settings.links, settings.loss, settings.flow_control, fabric);
  if (settings.switches_grant()) {
    fabric.caqm = settings.caqm_port;
    fabric.caqm->mtu_bytes = static_cast<std::uint32_t>(settings.payload);
    fabric.caqm->beta_ppm = settings.caqm.beta_ppm;
  }
  if (settings.pcie_rate > 0) {
    fabric.ingest.rate = {
        static_cast<std::uint64_t>(static_cast<double>(derived.link.value) * settings.pcie_rate)};
  }
  fabric.seed = settings.seed;
  return fabric;
}

}  // namespace

Result<DerivedFabricRun> derive_fabric_run(const FabricSettings& settings, const Topology& topology,
                                           const FatTreeShape* shape, const workload::FlowList& list,
                                           const EngineConfigs* hosts) {
  const TopologySummary summary = survey(topology);
  DerivedFabricRun run;
  run.derived = rules(settings, topology, summary, nominal_frames(settings));
  if (settings.header == 0) {
    if (const auto frames = frames_in_use(settings, run.derived, summary, hosts))
      run.derived = rules(settings, topology, summary, *frames);
  }
  EndNetwork network = network_of(settings, run.derived, summary.oversubscription_permille);
  WHARF_TRY(check_routing(settings, topology));
  if (run.derived.rto < run.derived.base_rtt) {
    run.remarks.push_back(
        fmt::format("fabric.rto of {} is below the base round trip of {}: packets are sent again "
                    "before their answers can be there",
                    format_time(run.derived.rto), format_time(run.derived.base_rtt)));
  }
  WHARF_TRY(check_combination(settings, run.derived, network));
  FabricRunConfig& config = run.config;
  config.protocol = settings.protocol;
  const FlowSite site = site_of(settings, [&] { return most_connections(list, topology.host_count()); });
  WHARF_TRY(visit_protocol(settings.protocol, [&]<typename P>(std::type_identity<P>) -> Result<void> {
    auto engine = P::derive_fabric(settings, ends_of<P>(settings.ends), network, site);
    if (engine && summary.host_ports_max > 1 && P::keeps_port(*engine, has(list, verbs::Verb::kSend))) {
      config.flows_keep_ports = run.derived.flows_keep_ports = true;
      network.host_rate = network.link;
      engine = P::derive_fabric(settings, ends_of<P>(settings.ends), network, site);
    }
    if (!engine) return engine.error();
    std::get<typename P::Config>(config.engines) = *std::move(engine);
    return {};
  }));
  for (const auto& [verb, frames] : {std::pair(verbs::Verb::kRead, &run.derived.read_frames),
                                     std::pair(verbs::Verb::kSend, &run.derived.send_frames)}) {
    if (settings.header != 0 || !has(list, verb)) continue;
    const auto found = engine_frames(settings.protocol, hosts != nullptr ? *hosts : config.engines,
                                     static_cast<std::uint32_t>(settings.payload), verb);
    if (found) *frames = *found;
  }
  config.charge = {.count_gaps = settings.header == 0,
                   .nominal_header_bytes = static_cast<std::uint16_t>(settings.header)};
  config.fabric = derive_fabric(settings, run.derived, topology);
  WHARF_TRY(add_failures(topology, shape, list, config.fabric));
  WHARF_TRY(add_slow_links(topology, settings.slow_links, config.fabric));
  WHARF_TRY(check_queue_room(settings, run.derived, topology, config.fabric));
  config.end = settings.end == kTimeZero ? kNever : settings.end;
  config.time_limit = settings.time_limit;
  config.stall_after = stall_patience(settings, run.derived, topology, summary, config);
  config.threads = settings.threads;
  return run;
}

std::vector<TimePs> ideal_times(const Topology& topology, const workload::FlowList& list,
                                const FabricSettings& settings, const FabricDerived& derived) {
  PathSurvey paths(topology);
  const auto ports = topology.host_ports();
  std::vector<TimePs> ideal;
  ideal.reserve(list.flows.size());
  std::vector<std::vector<PortId>> ways;
  for (const workload::Flow& flow : list.flows) {
    const bool read = flow.verb == verbs::Verb::kRead;
    const NodeId from = read ? flow.destination : flow.source;
    const NodeId to = read ? flow.source : flow.destination;
    const std::uint64_t full = (flow.bytes - 1) / settings.payload;
    const EngineFrames& frames = read                              ? derived.read_frames
                                 : flow.verb == verbs::Verb::kSend ? derived.send_frames
                                                                   : derived.frames;
    const PacketTrain train{
        full, Bytes{settings.payload + frames.further},
        Bytes{flow.bytes - full * settings.payload + (full == 0 ? frames.only : frames.last)}};
    const TimePs more_in_first = full == 0 || frames.first <= frames.further
                                     ? kTimeZero
                                     : transfer_time(Bytes{frames.first - frames.further}, derived.link);
    std::vector<PortId> back;
    ways.clear();
    if (derived.flows_keep_ports) {
      const std::uint32_t port = flow_port(flow, ports[flow.source]);
      const std::uint32_t far = port % ports[flow.destination];
      ways.push_back(paths.path(from, to, read ? far : port, read ? port : far));
      back = paths.path(to, from, read ? port : far, read ? far : port);
    } else {
      for (std::uint32_t port = 0; ports[from] > 1 && port < ports[from]; ++port) {
        ways.push_back(paths.path(from, to, port, port % ports[to]));
        if (ways.back().empty()) ways.pop_back();
      }
      if (ways.empty()) ways.push_back(paths.path(from, to));
      back = paths.path(to, from);
    }
    ideal.push_back(spread_time(topology, ways, train) + more_in_first +
                    packet_time(topology, back, Bytes{frames.answer}) +
                    settings.links.fec_delay * static_cast<std::int64_t>(ways.front().size() + back.size()));
  }
  return ideal;
}

}  // namespace wharf::sim
