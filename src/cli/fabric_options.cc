// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/data_files.h"
#include "sim/fabric/topology_named.h"
#include "wire/compressed_file.h"
#include "workload/connection_matrix.h"
#include "workload/flow_table.h"

namespace wharf::cli {

Result<std::string> read_text(const std::string& file) {
  std::error_code status;
  if (!std::filesystem::is_regular_file(file, status))
    return input_error(fmt::format("{} does not exist, expected a file", file));
  auto bytes = wire::read_file(file);
  if (!bytes) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<sim::TopologyFile> load_topology(const std::string& file_or_name,
                                        const sim::FabricSettings& settings) {
  std::error_code status;
  if (!std::filesystem::exists(file_or_name, status) &&
      (sim::names_topology(file_or_name) || file_or_name.find_first_of("./") == std::string::npos)) {
    return sim::named_topology(file_or_name, {settings.link_speed, settings.hop_latency},
                               settings.switch_latency);
  }
  auto text = read_text(file_or_name);
  if (!text) return text.error();
  return sim::read_topology(*text, file_or_name);
}

void FabricOptions::declare(CLI::App& app) {
  app.add_option("--cm", matrix, "Connection matrix of htsim: a run of many hosts");
  app.add_option("--flows", flows, "Flows from CSV: src,dst,bytes,start_ns[,op,priority,after]");
  app.add_option("--topo", topology,
                 "Topology file (htsim's .topo, or a graph), or a name like fat_tree:128");
  app.add_option("--threads", threads, "Short for --set run.threads=N, in runs of many hosts")
      ->check(CLI::Range(1, 64));
}

Result<FabricInputs> FabricOptions::load(const std::string& profile,
                                         const std::vector<std::string>& overrides) const {
  if (matrix.empty() == flows.empty()) {
    return Error{ErrorKind::kUsage, matrix.empty()
                                        ? "wharf run: --topo needs flows, expected --cm or --flows too"
                                        : "wharf run: found --cm and --flows, expected one of them"};
  }
  FabricInputs inputs;
  const auto profiles = data_directory("profiles");
  if (!profiles) return profiles.error();
  sim::FabricSettingsSource source{profile, overrides, *profiles};
  if (threads != 0) source.overrides.push_back(fmt::format("run.threads={}", threads));
  auto loaded = sim::load_fabric_settings(source);
  if (!loaded) return loaded.error();
  inputs.loaded = *std::move(loaded);
  const sim::FabricSettings& settings = inputs.loaded.settings;

  const std::string& traffic = matrix.empty() ? flows : matrix;
  auto text = read_text(traffic);
  if (!text) return text.error();
  auto list = matrix.empty() ? workload::read_flow_table(*text, traffic)
                             : workload::read_connection_matrix(
                                   *text, traffic, {.connection_reuse = settings.connection_reuse});
  if (!list) return list.error();
  inputs.flows = *std::move(list);

  if (!topology.empty()) {
    auto file = load_topology(topology, settings);
    if (!file) return file.error();
    inputs.topology = *std::move(file);
    if (inputs.flows.hosts > inputs.topology.topology.host_count()) {
      return input_error(fmt::format("{}: found Nodes {}, expected at most {} as {} has them", traffic,
                                     inputs.flows.hosts, inputs.topology.topology.host_count(), topology));
    }
  } else {
    if (inputs.flows.hosts == 0)
      return Error{ErrorKind::kUsage, "wharf run: --flows names no number of hosts, expected --topo too"};
    auto shape = sim::k_ary_shape(settings.tiers, inputs.flows.hosts,
                                  {settings.link_speed, settings.hop_latency}, settings.switch_latency);
    if (!shape) return input_error(fmt::format("{}: {}", traffic, shape.error().message));
    auto built = sim::fat_tree_of(*shape);
    if (!built) return built.error();
    inputs.topology = {.topology = *std::move(built), .fat_tree = *shape};
  }
  for (const auto* remarks : {&inputs.flows.remarks, &inputs.topology.remarks, &inputs.loaded.no_influence})
    inputs.remarks.insert(inputs.remarks.end(), remarks->begin(), remarks->end());
  return inputs;
}

}  // namespace wharf::cli
