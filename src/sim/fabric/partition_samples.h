// SPDX-License-Identifier: Apache-2.0
// What a partition samples of its ports and hosts, and what it has seen. It knows nothing of packets: how
// full a port is tells whoever it belongs to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/fabric_state.h"

namespace wharf::sim {

class PartitionSamples {
 public:
  /// Samples from now on what `config` asks for, as far as it belongs to partition `number`.
  void start(const FabricConfig& config, const Topology& topology,
             const std::vector<std::uint8_t>& partition_of, std::uint32_t number) {
    for (const PortId id : config.sampled_ports) {
      if (partition_of[topology.port(id).node] == number) ports_.push_back(id);
    }
    for (const NodeId host : config.sampled_hosts) {
      if (partition_of[host] == number) hosts_.push_back(host);
    }
    fullest_kept_ = config.fullest_ports;
    for (PortId id = 0; fullest_kept_ != 0 && id < topology.ports().size(); ++id) {
      const NodeId node = topology.port(id).node;
      if (!topology.is_host(node) && partition_of[node] == number) switch_ports_.push_back(id);
    }
    interval_ = config.sample_interval;
    if (interval_ > kTimeZero) next_ = interval_;
  }

  /// When the next samples are due; kNever when nothing is sampled.
  TimePs next() const { return next_; }
  void pass() { next_ += interval_; }
  /// Whether the samples of `now` have been taken.
  bool are_taken(TimePs now) const { return !deliveries_.empty() && deliveries_.back().at == now; }

  /// Looks at the ports: `look` gives the OccupancySample of one.
  template <typename Look>
  void take_ports(Look&& look) {
    for (const PortId id : ports_) taken_.push_back(look(id));
    if (switch_ports_.empty()) return;
    ranking_.clear();
    for (const PortId id : switch_ports_) {
      const OccupancySample sample = look(id);
      if (sample.queued_bytes != 0) ranking_.push_back(sample);
    }
    const auto kept =
        ranking_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ranking_.size(), fullest_kept_));
    std::partial_sort(ranking_.begin(), kept, ranking_.end(), fuller);
    fullest_.insert(fullest_.end(), ranking_.begin(), kept);
  }
  /// Bytes that hosts of the partition have received up to the time of the sample.
  void take_delivered(const DeliverySample& sample) { deliveries_.push_back(sample); }

  /// Hosts that sample themselves.
  const std::vector<NodeId>& hosts() const { return hosts_; }
  const std::vector<OccupancySample>& taken() const { return taken_; }
  /// At each instant the fullest ports, fullest first.
  const std::vector<OccupancySample>& fullest() const { return fullest_; }
  const std::vector<DeliverySample>& deliveries() const { return deliveries_; }

 private:
  std::vector<PortId> ports_;
  std::vector<NodeId> hosts_;
  std::vector<PortId> switch_ports_;  ///< When the fullest are sampled.
  std::size_t fullest_kept_ = 0;
  TimePs interval_;
  TimePs next_ = kNever;
  std::vector<OccupancySample> taken_;
  std::vector<OccupancySample> fullest_;
  std::vector<OccupancySample> ranking_;
  std::vector<DeliverySample> deliveries_;
};

}  // namespace wharf::sim
