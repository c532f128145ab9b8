// SPDX-License-Identifier: Apache-2.0
// The options of runs of many hosts: where flows come from, topology, profile and keys.
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
  std::string collective;
  std::string arrivals;
  std::string topology;
  std::uint32_t threads = 0;

  void declare(CLI::App& app);
  bool given() const {
    return !matrix.empty() || !flows.empty() || !collective.empty() || !arrivals.empty() || !topology.empty();
  }
  /// Reads everything. Without a topology, a fat tree is generated: with the matrix's hosts, or the smallest
  /// that holds the ranks of generated traffic.
  Result<FabricInputs> load(const std::string& profile, const std::vector<std::string>& overrides) const;

 private:
  Result<sim::LoadedFabricSettings> load_settings(const std::string& profile,
                                                  const std::vector<std::string>& overrides) const;
  /// `least`: the topology may have more hosts than these.
  Result<sim::TopologyFile> fabric(const sim::FabricSettings& settings, std::uint32_t hosts,
                                   bool least) const;
  Result<void> read_flows(FabricInputs& inputs) const;
  Result<void> make_flows(FabricInputs& inputs) const;
};

}  // namespace wharf::cli
