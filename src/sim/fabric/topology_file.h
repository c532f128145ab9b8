// SPDX-License-Identifier: Apache-2.0
// Topology files: the fat-tree files of htsim (".topo"), and wharf's own description of any graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fabric/topology.h"
#include "sim/fabric/topology_fat_tree.h"

namespace wharf::sim {

/// What a file describes. Remarks are sentences that name file and line: what was read and does not count.
struct TopologyFile {
  Topology topology;
  std::optional<FatTreeShape> fat_tree;  ///< Nothing for a graph.
  std::vector<std::string> names{};      ///< Graphs: of the switches, in order.
  std::vector<std::string> remarks{};
  std::uint32_t queue_line = 0;  ///< A line with Queue_Down or Queue_Up; 0: there is none.
};

/// Reads either kind: a text whose first token is "graph" is a graph, any other a fat tree. `name` stands in
/// the refusals, which are one sentence with line, column, what was found and what was expected.
Result<TopologyFile> read_topology(std::string_view text, const std::string& name);

/// A fat tree as htsim describes it: header lines "Nodes N", "Tiers 2|3" and "Podsize P", then a section
/// "Tier T" for each tier from 0, next to the hosts, with the keys Downlink_speed_Gbps, Radix_Down, Radix_Up,
/// Queue_Down, Queue_Up, Oversubscribed, Bundle, Switch_Latency_ns and Downlink_Latency_ns, in any letter
/// case, one space before the value. Lines that begin with # do not count.
///
/// Kept from that format: header lines that it does not know are ignored (with one remark); queue sizes are
/// read and have no influence (the run's own rule sets them; one remark, and queue_line); the number of links
/// above a tier follows from speeds and "Oversubscribed", and radices must agree with it.
Result<TopologyFile> read_fat_tree_file(std::string_view text, const std::string& name);

/// Any graph. Lines, with one space between tokens; # begins a comment line:
///   graph
///   hosts N [pod P]                                  N more hosts; may be repeated before the first switch
///   switch NAME [tier T] [pod P] [latency TIME]      NAME: not a number
///   link A B RATE DELAY [bundle N]                   A, B: host numbers or switch names
Result<TopologyFile> read_graph_file(std::string_view text, const std::string& name);

}  // namespace wharf::sim
