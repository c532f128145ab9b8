// SPDX-License-Identifier: Apache-2.0
// A whole fabric: builds the state from a topology and runs it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
class Fabric {
 public:
  /// `topology` outlives the fabric and is valid, as is `config`. `make(host)` makes the hosts, in order.
  template <typename Make>
  Fabric(const Topology& topology, FabricConfig config, Make&& make) : state_(topology, std::move(config)) {
    RandomStream random(state_.config.seed, "fabric");
    state_.draw_key = random.next_u64();
    build_ports(topology);
    for (std::uint32_t i = 0; i < topology.switch_count(); ++i) {
      SwitchState sw;
      sw.routes = state_.routes.routes(i);
      sw.salt = random.substream(i).next_u32();
      state_.switches.push_back(sw);
    }
    state_.hosts.reserve(topology.host_count());
    state_.host_port_first.push_back(0);
    for (NodeId host = 0; host < topology.host_count(); ++host) {
      state_.hosts.push_back(make(host));
      for (const PortId port : topology.node(host).ports) state_.host_ports.push_back(port);
      state_.host_port_first.push_back(static_cast<std::uint32_t>(state_.host_ports.size()));
    }
    state_.wake_at.assign(topology.host_count(), kNever);
    partition_ = std::make_unique<Partition<Host>>(state_);
    for (NodeId host = 0; host < topology.host_count(); ++host) partition_->start_host(host);
  }

  /// Executes everything before `end`.
  void run_until(TimePs end) { partition_->run_until(end); }

  Host& host(NodeId id) { return state_.hosts[id]; }
  const Port& port(PortId id) const { return state_.ports[id]; }
  const PortCounters& port_counters(PortId id) const { return state_.counters[id]; }
  const PartitionCounters& counters() const { return partition_->counters(); }
  std::uint32_t packets_in_fabric() const { return partition_->packets_in_fabric(); }

 private:
  void build_ports(const Topology& topology) {
    state_.ports.resize(topology.ports().size());
    state_.counters.resize(topology.ports().size());
    for (PortId id = 0; id < topology.ports().size(); ++id) {
      const TopologyPort& link = topology.port(id);
      Port& port = state_.ports[id];
      const std::uint64_t ps_rate = 8'000'000'000'000ULL;
      if (ps_rate % link.rate.value == 0)
        port.ps_per_byte = static_cast<std::uint32_t>(ps_rate / link.rate.value);
      TimePs transit = link.delay;
      if (topology.is_host(link.peer)) {
        port.far.value = link.peer | FarEnd::kHostBit;
        const auto& reverse = topology.node(link.peer).ports;
        for (std::uint32_t k = 0; k < reverse.size(); ++k) {
          if (reverse[k] == link.reverse) port.far_port = static_cast<std::uint8_t>(k);
        }
      } else {
        port.far.value = link.peer - topology.host_count();
        transit += topology.node(link.peer).latency;
      }
      port.transit_ps = static_cast<std::uint32_t>(transit.ps);
      if (topology.is_host(link.node)) port.flags |= kPortOfHost;
      if (!state_.config.port_profile.empty()) port.profile = state_.config.port_profile[id];
    }
  }

  FabricState<Host> state_;
  std::unique_ptr<Partition<Host>> partition_;
};

}  // namespace wharf::sim
