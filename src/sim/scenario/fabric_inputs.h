// SPDX-License-Identifier: Apache-2.0
// What a run of many hosts reads: its flows and its topology, from the files and rules that its keys name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fabric/port_names.h"
#include "sim/fabric/topology_file.h"
#include "sim/scenario/fabric_settings.h"
#include "workload/flow_list.h"

namespace wharf::sim {

struct FabricInputs {
  LoadedFabricSettings loaded;
  workload::FlowList flows;
  TopologyFile topology;
  std::vector<std::string> remarks;  ///< What files said without consequence.
  /// Of the files that decide the run beside scenario and profile, by name.
  std::map<std::string, std::string> hashes;
};

/// Reads everything. Without a topology, a fat tree is generated: with the matrix's hosts, or the smallest
/// that holds the ranks of generated traffic. The settings have flows.
Result<FabricInputs> read_inputs(LoadedFabricSettings loaded);

/// What is to run: the rules applied, and the flows and ports that are to be observed found.
Result<DerivedFabricRun> derive(const FabricInputs& inputs, const PortNames& names);

}  // namespace wharf::sim
