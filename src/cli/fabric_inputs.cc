// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_inputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/check.h"
#include "cli/data_files.h"
#include "sim/fabric/topology_named.h"
#include "wire/compressed_file.h"
#include "workload/connection_matrix.h"
#include "workload/flow_table.h"

namespace wharf::cli {
namespace {

bool exists(const std::string& file) {
  std::error_code status;
  return std::filesystem::exists(file, status);
}

/// Whether `text` can only be meant as a topology's name.
bool is_name(const std::string& text) {
  return text != kStandardInput && !exists(text) &&
         (sim::names_topology(text) || text.find_first_of("./") == std::string::npos);
}

const sim::ConfigValue* given_by_scenario(const sim::LoadedFabricSettings& loaded, std::string_view key) {
  const sim::ConfigValue* given = loaded.document.peek(key);
  return given != nullptr && given->layer == sim::kScenarioLayer ? given : nullptr;
}

/// `error` about what `key` names; with its place where a scenario gives it. Options are seen by whoever
/// typed them.
Error about(const sim::LoadedFabricSettings& loaded, std::string_view key, const Error& error) {
  if (given_by_scenario(loaded, key) == nullptr) return error;
  return Error{error.kind, fmt::format("{}: {}", loaded.place_of(key), error.message)};
}

/// What messages call a file.
std::string shown(const std::string& file) { return file == kStandardInput ? "standard input" : file; }

/// The text of the file that `key` names, which is an input of the run.
Result<std::string> text_of_key(FabricInputs& inputs, std::string_view key, const std::string& file) {
  if (file == kStandardInput && inputs.hashes.contains(file)) {
    return input_error(fmt::format("{}: found - a second time, expected standard input to stand for one file",
                                   inputs.loaded.place_of(key)));
  }
  auto text = read_text(file);
  if (!text) return about(inputs.loaded, key, text.error());
  std::error_code status;
  // A pipe cannot be read again.
  inputs.hashes[file] = std::filesystem::is_regular_file(file, status) ? file_hash(file) : text_hash(*text);
  return text;
}

/// The flows of `key` need a topology of their own, which nobody gave.
Error without_hosts(const sim::LoadedFabricSettings& loaded, std::string_view key, std::string_view option,
                    bool ranks) {
  if (given_by_scenario(loaded, key) != nullptr) {
    return input_error(fmt::format("{} names no number of hosts, expected topology.from{} too",
                                   loaded.place_of(key), ranks ? " or traffic.ranks" : ""));
  }
  return Error{ErrorKind::kUsage, fmt::format("wharf run: {} names no number of hosts, expected --topo{} too",
                                              option, ranks ? " or --set traffic.ranks=N" : "")};
}

/// `least`: a generated one may have more hosts than these.
Result<sim::TopologyFile> topology_for(FabricInputs& inputs, std::uint32_t hosts, bool least) {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  const std::string& topology = settings.topology;
  if (!topology.empty()) {
    if (is_name(topology)) {
      auto named = load_topology(topology, settings);
      if (!named) return about(inputs.loaded, "topology.from", named.error());
      return named;
    }
    auto text = text_of_key(inputs, "topology.from", topology);
    if (!text) return text.error();
    auto read = sim::read_topology(*text, shown(topology));
    if (!read) return read.error();
    // Both say how long queues are, and the format gives neither the last word.
    if (read->queue_line != 0 && settings.queue_packets != 0) {
      return input_error(
          fmt::format("{}:{}:1: found queue sizes beside fabric.queue_packets = {}, expected one "
                      "of the two",
                      shown(topology), read->queue_line, settings.queue_packets));
    }
    return read;
  }
  const auto shape = sim::k_ary_shape(settings.tiers, least ? sim::k_ary_hosts(settings.tiers, hosts) : hosts,
                                      {settings.link_speed, settings.hop_latency}, settings.switch_latency);
  if (!shape) return shape.error();
  auto built = sim::fat_tree_of(*shape);
  if (!built) return built.error();
  return sim::TopologyFile{.topology = *std::move(built), .fat_tree = *shape};
}

Result<void> read_flows(FabricInputs& inputs) {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  const bool matrix = !settings.traffic.matrix.empty();
  const std::string& file = matrix ? settings.traffic.matrix : settings.traffic.table;
  const std::string traffic = shown(file);
  auto text = text_of_key(inputs, matrix ? "traffic.cm" : "traffic.table", file);
  if (!text) return text.error();
  auto list = matrix ? workload::read_connection_matrix(*text, traffic,
                                                        {.connection_reuse = settings.connection_reuse})
                     : workload::read_flow_table(*text, traffic);
  if (!list) return list.error();
  inputs.flows = *std::move(list);
  if (settings.topology.empty() && inputs.flows.hosts == 0)
    return without_hosts(inputs.loaded, "traffic.table", "--flows", false);
  auto built = topology_for(inputs, inputs.flows.hosts, false);
  const std::string nodes =
      inputs.flows.hosts_line == 0
          ? traffic
          : fmt::format("{}:{}:{}", traffic, inputs.flows.hosts_line, inputs.flows.hosts_column);
  if (!built)
    return settings.topology.empty() ? input_error(fmt::format("{}: {}", nodes, built.error().message))
                                     : built.error();
  inputs.topology = *std::move(built);
  if (inputs.flows.hosts > inputs.topology.topology.host_count()) {
    return input_error(fmt::format("{}: found Nodes {}, expected at most {} as {} has them", nodes,
                                   inputs.flows.hosts, inputs.topology.topology.host_count(),
                                   shown(settings.topology)));
  }
  return {};
}

Result<void> make_flows(FabricInputs& inputs) {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  const sim::TrafficSettings& traffic = settings.traffic;
  const std::uint32_t needed = traffic.hosts_needed();
  std::optional<workload::SizeDistribution> table;
  if (traffic.sizes_from_file()) {
    const auto text = text_of_key(inputs, "traffic.arrivals", traffic.sizes_file);
    if (!text) return text.error();
    auto read = workload::read_size_distribution(*text, traffic.sizes_file);
    if (!read) return read.error();
    table = *std::move(read);
  }
  if (settings.topology.empty() && needed == 0) {
    return traffic.collective ? without_hosts(inputs.loaded, "traffic.collective", "--collective", true)
                              : without_hosts(inputs.loaded, "traffic.arrivals", "--arrivals", true);
  }
  auto built = topology_for(inputs, needed, true);
  if (!built) return built.error();
  inputs.topology = *std::move(built);
  auto list = sim::generate_flows(traffic, inputs.topology.topology, settings.seed, table);
  if (!list) return list.error();
  inputs.flows = *std::move(list);
  return {};
}

}  // namespace

Result<std::string> read_text(const std::string& file) {
  const std::string path = file == kStandardInput ? "/dev/stdin" : file;
  std::error_code status;
  if (std::filesystem::is_directory(path, status))
    return input_error(fmt::format("{} is a directory, expected a file", file));
  if (!exists(path)) return input_error(fmt::format("{} does not exist, expected a file", file));
  WHARF_TRY(refuse_device(path));
  auto bytes = wire::read_file(path);
  if (!bytes) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<sim::TopologyFile> load_topology(const std::string& file_or_name,
                                        const sim::FabricSettings& settings) {
  if (is_name(file_or_name)) {
    return sim::named_topology(file_or_name, {settings.link_speed, settings.hop_latency},
                               settings.switch_latency);
  }
  auto text = read_text(file_or_name);
  if (!text) return text.error();
  return sim::read_topology(*text, shown(file_or_name));
}

Result<FabricInputs> read_inputs(sim::LoadedFabricSettings loaded) {
  FabricInputs inputs;
  inputs.loaded = std::move(loaded);
  const sim::TrafficSettings& traffic = inputs.loaded.settings.traffic;
  WHARF_CHECK(traffic.any());
  WHARF_TRY(traffic.given() ? make_flows(inputs) : read_flows(inputs));
  for (const auto* remarks : {&inputs.flows.remarks, &inputs.topology.remarks, &inputs.loaded.no_influence})
    inputs.remarks.insert(inputs.remarks.end(), remarks->begin(), remarks->end());
  return inputs;
}

Result<sim::DerivedFabricRun> derive(const FabricInputs& inputs, const sim::PortNames& names) {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  auto derived =
      sim::derive_fabric_run(settings, inputs.topology.topology,
                             inputs.topology.fat_tree ? &*inputs.topology.fat_tree : nullptr, inputs.flows);
  if (!derived) return derived.error();
  derived->config.switch_names = inputs.topology.names;
  WHARF_TRY(sim::add_link_changes(settings.links, inputs.topology.topology, names, derived->config.fabric));
  auto observation = sim::resolve(settings.observation, inputs.flows, names);
  if (!observation) return observation.error();
  derived->config.observation = *std::move(observation);
  return derived;
}

}  // namespace wharf::cli
