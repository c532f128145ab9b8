// SPDX-License-Identifier: Apache-2.0
// Fabric: from topology and configuration to ports, switches and tables; and the search for deadlocks.
#pragma once

#include "sim/fabric/fabric.h"

namespace wharf::sim {

template <FabricHost Host>
void Fabric<Host>::build_ports(const Topology& topology) {
  const FabricConfig& config = state_.config;
  const auto links = static_cast<std::uint32_t>(topology.ports().size());
  const bool parallel = *std::max_element(state_.partition_of.begin(), state_.partition_of.end()) > 0;
  state_.ports.resize(parallel ? 2 * links : links);
  state_.counters.resize(state_.ports.size());
  state_.rates.resize(links);
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
      if (config.switching == Switching::kCutThrough) port.flags |= kPortCutThrough;
    }
    port.transit_ps = static_cast<std::uint32_t>(transit.ps);
    if (topology.is_host(link.node)) port.flags |= kPortOfHost;
    if (!config.port_profile.empty()) port.profile = config.port_profile[id];
    if (!config.errors.empty() && (config.errors.size() == 1 ? config.errors[0] : config.errors[id]).any())
      port.flags |= kPortFaulty;
  }
  for (const PortId id : config.captured_ports) state_.ports[id].flags |= kPortObserved;
  for (PortId id = 0; parallel && id < links; ++id) {
    const TopologyPort& link = topology.port(id);
    if (state_.partition_of[link.node] == state_.partition_of[link.peer]) continue;
    Port& near = state_.ports[id];
    Port& far = state_.ports[links + id];
    far = near;
    far.flags = near.flags & kPortObserved;
    near.flags |= kPortCrosses;
    near.far_partition = state_.partition_of[link.peer];
  }
  build_extras(topology);
}

template <FabricHost Host>
void Fabric<Host>::build_extras(const Topology& topology) {
  bool wanted = state_.config.flow_control.kind != FlowControl::kNone;
  for (PortId id = 0; id < topology.ports().size(); ++id) {
    const PortProfile& profile = state_.config.profiles[state_.ports[id].profile];
    state_.ports[id].weighted = profile.shares_priority();
    wanted = wanted || state_.ports[id].weighted;
  }
  if (wanted) state_.extras.resize(state_.ports.size());
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
    state_.tables.emplace_back(topology, usable);
    state_.table_from.push_back(changes[i].at + state_.config.reroute_delay);
  }
}

template <FabricHost Host>
std::vector<PortId> Fabric<Host>::waiting_cycle() const {
  const Topology& topology = *state_.topology;
  const auto links = static_cast<std::uint32_t>(topology.ports().size());
  // Port a waits for port b when a is held, and b (at the far end of a) has queued what came through a.
  std::vector<std::vector<PortId>> waits(links);
  for (PortId b = 0; b < links; ++b) {
    if (state_.ports[b].waiting == 0) continue;
    for (const PortId a : partitions_[state_.partition_of[topology.port(b).node]]->waiting_from(b)) {
      if (state_.ports[a].waiting != 0) waits[a].push_back(b);
    }
  }
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> mark(links, kNew);
  std::vector<std::pair<PortId, std::size_t>> path;
  for (PortId root = 0; root < links; ++root) {
    if (mark[root] != kNew) continue;
    path.push_back({root, 0});
    mark[root] = kOpen;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == waits[at].size()) {
        mark[at] = kDone;
        path.pop_back();
        continue;
      }
      const PortId to = waits[at][next++];
      if (mark[to] == kOpen) {
        std::vector<PortId> cycle;
        auto from =
            std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == to; });
        for (; from != path.end(); ++from) cycle.push_back(from->first);
        return cycle;
      }
      if (mark[to] == kNew) {
        mark[to] = kOpen;
        path.push_back({to, 0});
      }
    }
  }
  return {};
}

template <FabricHost Host>
std::string Fabric<Host>::describe_cycle(const std::vector<PortId>& cycle) const {
  const Topology& topology = *state_.topology;
  const auto name = [&](PortId id) {
    const TopologyPort& port = topology.port(id);
    const bool host = topology.is_host(port.node);
    const bool to_host = topology.is_host(port.peer);
    return fmt::format("the link from {} {} to {} {}", host ? "host" : "switch",
                       host ? port.node : port.node - topology.host_count(), to_host ? "host" : "switch",
                       to_host ? port.peer : port.peer - topology.host_count());
  };
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " waits for ", name(cycle[i]));
  if (!cycle.empty()) text += fmt::format(" waits for {}", name(cycle[0]));
  return text;
}

}  // namespace wharf::sim
