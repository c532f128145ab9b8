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
  app.add_option(
      "--collective", collective,
      "Flows of a collective: ring_all_reduce, all_to_all, ... (`wharf list collectives`); sizes and "
      "ranks are keys, traffic.*");
  app.add_option("--arrivals", arrivals,
                 "Flows that arrive at random: web_search, ..., fixed (`wharf list sizes`), or a CSV file "
                 "size_bytes,cumulative; load and pattern are keys, traffic.*");
  app.add_option("--topo", topology,
                 "Topology file (htsim's .topo, or a graph), or a name like fat_tree:128");
  app.add_option("--threads", threads, "Short for --set run.threads=N, in runs of many hosts")
      ->check(CLI::Range(1, 64));
}

Result<sim::LoadedFabricSettings> FabricOptions::load_settings(
    const std::string& profile, const std::vector<std::string>& overrides) const {
  const auto profiles = data_directory("profiles");
  if (!profiles) return profiles.error();
  sim::FabricSettingsSource source{profile, overrides, *profiles};
  if (threads != 0) source.options.push_back({"run.threads", fmt::format("{}", threads), "--threads"});
  if (!collective.empty()) source.options.push_back({"traffic.collective", collective, "--collective"});
  if (!arrivals.empty()) source.options.push_back({"traffic.arrivals", arrivals, "--arrivals"});
  return sim::load_fabric_settings(source);
}

Result<sim::TopologyFile> FabricOptions::fabric(const sim::FabricSettings& settings, std::uint32_t hosts,
                                                bool least) const {
  if (!topology.empty()) {
    auto loaded = load_topology(topology, settings);
    // Both say how long queues are, and the format gives neither the last word.
    if (loaded && loaded->queue_line != 0 && settings.queue_packets != 0) {
      return input_error(
          fmt::format("{}:{}:1: found queue sizes beside fabric.queue_packets = {}, expected one "
                      "of the two",
                      topology, loaded->queue_line, settings.queue_packets));
    }
    return loaded;
  }
  const auto shape = sim::k_ary_shape(settings.tiers, least ? sim::k_ary_hosts(settings.tiers, hosts) : hosts,
                                      {settings.link_speed, settings.hop_latency}, settings.switch_latency);
  if (!shape) return shape.error();
  auto built = sim::fat_tree_of(*shape);
  if (!built) return built.error();
  return sim::TopologyFile{.topology = *std::move(built), .fat_tree = *shape};
}

Result<void> FabricOptions::read_flows(FabricInputs& inputs) const {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  const std::string& traffic = matrix.empty() ? flows : matrix;
  auto text = read_text(traffic);
  if (!text) return text.error();
  auto list = matrix.empty() ? workload::read_flow_table(*text, traffic)
                             : workload::read_connection_matrix(
                                   *text, traffic, {.connection_reuse = settings.connection_reuse});
  if (!list) return list.error();
  inputs.flows = *std::move(list);
  if (topology.empty() && inputs.flows.hosts == 0)
    return Error{ErrorKind::kUsage, "wharf run: --flows names no number of hosts, expected --topo too"};
  auto built = fabric(settings, inputs.flows.hosts, false);
  const std::string nodes =
      inputs.flows.hosts_line == 0
          ? traffic
          : fmt::format("{}:{}:{}", traffic, inputs.flows.hosts_line, inputs.flows.hosts_column);
  if (!built)
    return topology.empty() ? input_error(fmt::format("{}: {}", nodes, built.error().message))
                            : built.error();
  inputs.topology = *std::move(built);
  if (inputs.flows.hosts > inputs.topology.topology.host_count()) {
    return input_error(fmt::format("{}: found Nodes {}, expected at most {} as {} has them", nodes,
                                   inputs.flows.hosts, inputs.topology.topology.host_count(), topology));
  }
  return {};
}

Result<void> FabricOptions::make_flows(FabricInputs& inputs) const {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  const std::uint32_t needed = settings.traffic.hosts_needed();
  std::optional<workload::SizeDistribution> table;
  if (settings.traffic.sizes_from_file()) {
    const auto text = read_text(settings.traffic.arrivals);
    if (!text) return text.error();
    auto read = workload::read_size_distribution(*text, settings.traffic.arrivals);
    if (!read) return read.error();
    table = *std::move(read);
  }
  if (topology.empty() && needed == 0) {
    return Error{ErrorKind::kUsage, fmt::format("wharf run: {} names no number of hosts, expected --topo or "
                                                "--set traffic.ranks=N too",
                                                settings.traffic.collective ? "--collective" : "--arrivals")};
  }
  auto built = fabric(settings, needed, true);
  if (!built) return built.error();
  inputs.topology = *std::move(built);
  auto list = sim::generate_flows(settings.traffic, inputs.topology.topology, settings.seed, table);
  if (!list) return list.error();
  inputs.flows = *std::move(list);
  return {};
}

Result<FabricInputs> FabricOptions::load(const std::string& profile,
                                         const std::vector<std::string>& overrides) const {
  FabricInputs inputs;
  auto loaded = load_settings(profile, overrides);
  if (!loaded) return loaded.error();
  inputs.loaded = *std::move(loaded);
  const bool generated = inputs.loaded.settings.traffic.given();
  const int sources = (matrix.empty() ? 0 : 1) + (flows.empty() ? 0 : 1) + (generated ? 1 : 0);
  if (sources != 1) {
    return Error{ErrorKind::kUsage,
                 sources == 0 ? "wharf run: --topo needs flows, expected --cm, --flows, --collective or "
                                "--arrivals too"
                              : "wharf run: found flows from several places, expected one of --cm, --flows, "
                                "--collective and --arrivals"};
  }
  WHARF_TRY(generated ? make_flows(inputs) : read_flows(inputs));
  for (const auto* remarks : {&inputs.flows.remarks, &inputs.topology.remarks, &inputs.loaded.no_influence})
    inputs.remarks.insert(inputs.remarks.end(), remarks->begin(), remarks->end());
  return inputs;
}

}  // namespace wharf::cli
