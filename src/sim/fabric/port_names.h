// SPDX-License-Identifier: Apache-2.0
// Names of output ports for people: what options and result files call them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// A port is named after its node and the one that its link leads to: "host3-leaf0", "leaf0-host3"; parallel
/// links after the first add their number: "leaf0-top1.1". Hosts are hostN. Switches have the names that a
/// graph file gave them, or else leafN, middleN, topN by tier and number within it, and tierT_N above.
class PortNames {
 public:
  /// `switches`: names of the switches in order; empty: there are none.
  PortNames(const Topology& topology, const std::vector<std::string>& switches);

  const std::string& operator[](PortId port) const { return names_[port]; }
  const std::string& node(NodeId node) const { return nodes_[node]; }

  /// The ports that `list` names, each once, in the order of their numbers: names separated by commas, with *
  /// for any characters. An Error names the first that matches nothing, and the nearest that there is.
  Result<std::vector<PortId>> find(std::string_view list) const;

 private:
  std::vector<std::string> nodes_;
  std::vector<std::string> names_;
  std::map<std::string, PortId, std::less<>> ports_;
};

/// One sentence about Fabric::waiting_cycle(): "leaf0-leaf1 waits for leaf1-leaf2, which waits for ...".
std::string describe_cycle(const PortNames& names, const std::vector<PortId>& cycle);

}  // namespace wharf::sim
