// SPDX-License-Identifier: Apache-2.0
// Fabric: from topology and configuration to ports, switches and tables.
#pragma once

#include "sim/fabric/fabric.h"
#include "sim/fabric/link_changes.h"

namespace wharf::sim {

template <FabricHost Host>
void Fabric<Host>::build_ports(const Topology& topology) {
  const FabricConfig& config = state_.config;
  const auto links = static_cast<std::uint32_t>(topology.ports().size());
  const bool parallel = *std::max_element(state_.partition_of.begin(), state_.partition_of.end()) > 0;
  state_.ports.resize(parallel ? 2 * links : links);
  state_.counters.resize(state_.ports.size());
  state_.rates.resize(links);
  if (config.any_retries()) {
    state_.slowest.resize(links);
    for (PortId id = 0; id < links; ++id) state_.slowest[id] = topology.port(id).rate.value;
    for (const LinkChange& change : config.changes) {
      std::uint64_t& least = state_.slowest[change.port];
      if (change.rate.value != 0) least = std::min(least, change.rate.value);
    }
  }
  if (config.flow_control.kind == FlowControl::kPause &&
      (!config.faults.empty() || fails_one_way(config.changes, topology))) {
    for (PortId id = 0; id < links; ++id) state_.fastest.push_back(topology.port(id).rate.value);
    for (const LinkChange& change : config.changes)
      state_.fastest[change.port] = std::max(state_.fastest[change.port], change.rate.value);
  }
  if (config.switching == Switching::kCutThrough &&
      std::any_of(config.changes.begin(), config.changes.end(),
                  [](const LinkChange& change) { return change.rate.value != 0; }))
    state_.rate_from.resize(links);
  for (PortId id = 0; id < links; ++id) {
    const TopologyPort& link = topology.port(id);
    Port& port = state_.ports[id];
    state_.rates[id] = link.rate.value;
    port.ps_per_byte = whole_ps_per_byte(link.rate.value);
    TimePs transit = link.delay + config.fec_delay;
    if (topology.is_host(link.peer)) {
      port.far.value = link.peer | FarEnd::kHostBit;
      const auto& back = topology.node(link.peer).ports;
      port.far_port =
          static_cast<std::uint8_t>(std::find(back.begin(), back.end(), link.reverse) - back.begin());
    } else {
      port.far.value = link.peer - topology.host_count();
      transit += topology.node(link.peer).latency;
      // A link that retries checks a frame before anybody sees it.
      if (config.switching == Switching::kCutThrough && !config.retries(id)) port.flags |= kPortCutThrough;
    }
    // Longer ones are found in the topology; here they are what a packet takes at least.
    port.transit_ps = static_cast<std::uint32_t>(std::min<std::int64_t>(transit.ps, 0xffff'ffff));
    if (config.traced || config.rounding != StageRounding::kNone || transit.ps > 0xffff'ffff ||
        (config.paced_hosts && topology.is_host(link.node)))
      port.flags |= kPortRuled;
    if (topology.is_host(link.node)) {
      port.flags |= kPortOfHost;
      port.host = link.node;
    }
    if (!config.port_profile.empty()) port.profile = config.port_profile[id];
    if (!config.faults.empty() && (config.faults.size() == 1 ? config.faults[0] : config.faults[id]).any())
      port.flags |= kPortFaulty;
  }
  for (const PortId id : config.captured_ports) state_.ports[id].flags |= kPortObserved;
  for (PortId id = 0; parallel && id < links; ++id) {
    const TopologyPort& link = topology.port(id);
    if (state_.partition_of[link.node] == state_.partition_of[link.peer]) continue;
    Port& near = state_.ports[id];
    Port& far = state_.ports[links + id];
    far = near;
    far.flags = 0;
    near.flags |= kPortCrosses;
    near.far_partition = state_.partition_of[link.peer];
  }
  build_extras(topology);
  if (config.any_retries()) {
    state_.retry_senders.resize(links);
    state_.retry_receivers.resize(state_.ports.size());
  }
  if (config.draws_per_fault && !config.faults.empty()) {
    const RandomStream random(config.seed, "link");
    for (PortId id = 0; id < links; ++id) state_.draws.emplace_back(random.substream(id));
  }
}

/// What a node does at some instant is felt elsewhere when a packet has crossed a link. Hosts act after the
/// switches, so the links that lead to them do not count.
template <FabricHost Host>
TimePs Fabric<Host>::longest_turn(const Topology& topology) const {
  /// In shorter turns there would be more to look through than to do.
  constexpr TimePs kLeast = nanoseconds(10);
  if (state_.config.serves_by_event() || !state_.config.turns) return kTimeZero;
  TimePs shortest = kNever;
  for (PortId id = 0; id < topology.ports().size(); ++id) {
    const TopologyPort& link = topology.port(id);
    if (topology.is_host(link.node) || !topology.is_host(link.peer))
      shortest = min(shortest, picoseconds(state_.ports[id].transit_ps));
  }
  if (state_.config.rounding != StageRounding::kNone && shortest != kNever) shortest -= nanoseconds(1);
  return shortest >= kLeast && shortest != kNever ? shortest : kTimeZero;
}

/// Which records a node looks at. Packets of a link that crosses wait for the far partition in one of its
/// own.
template <FabricHost Host>
void Fabric<Host>::build_nodes(const Topology& topology) {
  const auto links = static_cast<std::uint32_t>(topology.ports().size());
  state_.node_port_first.push_back(0);
  for (NodeId node = 0; node < topology.nodes().size(); ++node) {
    for (const PortId port : topology.node(node).ports) {
      const PortId back = topology.port(port).reverse;
      state_.node_ports.push_back(port);
      state_.node_arrivals.push_back((state_.ports[back].flags & kPortCrosses) != 0 ? back + links : back);
    }
    state_.node_port_first.push_back(static_cast<std::uint32_t>(state_.node_ports.size()));
  }
}

template <FabricHost Host>
void Fabric<Host>::build_extras(const Topology& topology) {
  bool wanted = state_.config.serves_by_event();
  for (PortId id = 0; id < topology.ports().size(); ++id) {
    const PortProfile& profile = state_.config.profiles[state_.ports[id].profile];
    state_.ports[id].weighted = profile.shares_priority();
    wanted = wanted || state_.ports[id].weighted;
  }
  if (wanted) state_.extras.resize(state_.ports.size());
  if (!state_.config.caqm) return;
  // Every departure is looked at.
  for (PortProfile& profile : state_.config.profiles) {
    for (PortQueueConfig& queue : profile.queues) queue.mark_min_bytes = 0;
  }
  for (PortId id = 0; id < topology.ports().size(); ++id) {
    congestion::CaqmPortConfig port = *state_.config.caqm;
    port.rate = topology.port(id).rate;
    state_.caqm.emplace_back(port, mix_bits(state_.draw_key ^ id));
  }
}

template <FabricHost Host>
void Fabric<Host>::build_switches(const Topology& topology, const RandomStream& random) {
  for (std::uint32_t i = 0; i < topology.switch_count(); ++i) {
    SwitchState sw;
    sw.routes = state_.tables[0].routes(i);
    sw.salt = random.substream(i).next_u32();
    state_.switches.push_back(sw);
  }
}

/// One set of tables for each instant at which links fail or return.
template <FabricHost Host>
void Fabric<Host>::build_tables(const Topology& topology) {
  if (state_.config.reroute_delay == kNever) return;
  std::vector<LinkChange> changes = state_.config.changes;
  std::stable_sort(changes.begin(), changes.end(),
                   [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
  std::vector<bool> usable(topology.ports().size(), true);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool differs = usable[changes[i].port] != changes[i].up;
    usable[changes[i].port] = changes[i].up;
    if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
    if (!differs && i == 0) continue;
    state_.add_tables(usable);
    state_.table_from.push_back(changes[i].at + state_.config.reroute_delay);
  }
}

}  // namespace wharf::sim
