// SPDX-License-Identifier: Apache-2.0
// The options of runs of many hosts: connection matrix or flow table, topology, profile and keys.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/fabric/topology_file.h"
#include "sim/scenario/fabric_settings.h"
#include "workload/flow_list.h"

namespace wharf::cli {

/// The text of a file; plain, gzip or xz.
Result<std::string> read_text(const std::string& file);
/// A topology file, or a topology by name.
Result<sim::TopologyFile> load_topology(const std::string& file_or_name, const sim::FabricSettings& settings);

struct FabricInputs {
  sim::LoadedFabricSettings loaded;
  workload::FlowList flows;
  sim::TopologyFile topology;
  std::vector<std::string> remarks;  ///< What files said without consequence.
};

struct FabricOptions {
  std::string matrix;
  std::string flows;
  std::string topology;
  std::uint32_t threads = 0;

  void declare(CLI::App& app);
  bool given() const { return !matrix.empty() || !flows.empty() || !topology.empty(); }
  /// Reads everything. Without a topology, a fat tree for the matrix's hosts is generated.
  Result<FabricInputs> load(const std::string& profile, const std::vector<std::string>& overrides) const;
};

}  // namespace wharf::cli
