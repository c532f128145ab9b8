// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/fabric_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/check.h"
#include "sim/scenario/input_file.h"
#include "sim/scenario/input_hash.h"
#include "sim/scenario/topology_source.h"

namespace wharf::sim {
namespace {

const ConfigValue* given_by_scenario(const LoadedFabricSettings& loaded, std::string_view key) {
  const ConfigValue* given = loaded.document.peek(key);
  return given != nullptr && given->layer == kScenarioLayer ? given : nullptr;
}

/// `error` about what `key` names; with its place where a scenario gives it. Options are seen by whoever
/// typed them.
Error about(const LoadedFabricSettings& loaded, std::string_view key, const Error& error) {
  if (given_by_scenario(loaded, key) == nullptr) return error;
  return Error{error.kind, fmt::format("{}: {}", loaded.place_of(key), error.message)};
}

/// `error` of a check of the whole, which begins with a key: with the place where a scenario gives it.
Error placed(const LoadedFabricSettings& loaded, const Error& error) {
  const std::size_t end = std::min(error.message.find_first_of(" :"), error.message.size());
  const std::string key = error.message.substr(0, end);
  if (given_by_scenario(loaded, key) == nullptr) return error;
  return Error{error.kind, loaded.place_of(key) + error.message.substr(end)};
}

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
Error without_hosts(const LoadedFabricSettings& loaded, std::string_view key, std::string_view option,
                    bool ranks) {
  if (given_by_scenario(loaded, key) != nullptr) {
    return input_error(fmt::format("{} names no number of hosts, expected topology.from{} too",
                                   loaded.place_of(key), ranks ? " or traffic.ranks" : ""));
  }
  return Error{ErrorKind::kUsage, fmt::format("wharf run: {} names no number of hosts, expected --topo{} too",
                                              option, ranks ? " or --set traffic.ranks=N" : "")};
}

/// `least`: a generated one may have more hosts than these.
Result<TopologyFile> topology_for(FabricInputs& inputs, std::uint32_t hosts, bool least) {
  const FabricSettings& settings = inputs.loaded.settings;
  const std::string& topology = settings.topology;
  if (!topology.empty()) {
    if (means_topology_name(topology)) {
      auto named = topology_by_name(topology, settings);
      if (!named) return about(inputs.loaded, "topology.from", named.error());
      return named;
    }
    auto text = text_of_key(inputs, "topology.from", topology);
    if (!text) return text.error();
    return topology_in(*text, topology, settings);
  }
  const auto shape = k_ary_shape(settings.tiers, least ? k_ary_hosts(settings.tiers, hosts) : hosts,
                                 {settings.link_speed, settings.hop_latency}, settings.switch_latency);
  if (!shape) return shape.error();
  auto built = fat_tree_of(*shape);
  if (!built) return built.error();
  return TopologyFile{.topology = *std::move(built), .fat_tree = *shape};
}

/// Ranks of a program are at hosts of any topology that has enough.
Result<void> place_ranks(FabricInputs& inputs) {
  const TrafficSettings& traffic = inputs.loaded.settings.traffic;
  auto built = topology_for(inputs, std::max(inputs.flows.ranks.ranks(), traffic.hosts_needed()), true);
  if (!built) return built.error();
  inputs.topology = *std::move(built);
  const std::uint32_t hosts = inputs.topology.topology.host_count();
  WHARF_TRY(place_program(traffic, 0, hosts, inputs.loaded.settings.seed, inputs.flows));
  inputs.flows.hosts = hosts;
  return {};
}

Result<void> read_flows(FabricInputs& inputs) {
  const FabricSettings& settings = inputs.loaded.settings;
  const TrafficFile& given = *traffic_file(settings.traffic);
  const std::string& file = settings.traffic.*given.file;
  const std::string traffic = shown(file);
  auto text = text_of_key(inputs, given.key, file);
  if (!text) return text.error();
  auto list = read_traffic_file(settings.traffic, *text, traffic, settings.connection_reuse);
  if (!list) return list.error();
  inputs.flows = *std::move(list);
  if (!inputs.flows.ranks.empty()) return place_ranks(inputs);
  if (settings.topology.empty() && inputs.flows.hosts == 0)
    return without_hosts(inputs.loaded, given.key, given.option, false);
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
  const FabricSettings& settings = inputs.loaded.settings;
  const TrafficSettings& traffic = settings.traffic;
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
  auto list = generate_flows(traffic, inputs.topology.topology, settings.seed, table);
  if (!list) return list.error();
  inputs.flows = *std::move(list);
  return {};
}

}  // namespace

Result<FabricInputs> read_inputs(LoadedFabricSettings loaded) {
  FabricInputs inputs;
  inputs.loaded = std::move(loaded);
  const TrafficSettings& traffic = inputs.loaded.settings.traffic;
  WHARF_CHECK(traffic.any());
  WHARF_TRY(traffic.given() ? make_flows(inputs) : read_flows(inputs));
  inputs.flows.share_connections(inputs.loaded.settings.shared_connections());
  for (const auto* remarks : {&inputs.flows.remarks, &inputs.topology.remarks, &inputs.loaded.no_influence})
    inputs.remarks.insert(inputs.remarks.end(), remarks->begin(), remarks->end());
  return inputs;
}

Result<DerivedFabricRun> derive(const FabricInputs& inputs, const PortNames& names) {
  const FabricSettings& settings = inputs.loaded.settings;
  auto derived =
      derive_fabric_run(settings, inputs.topology.topology,
                        inputs.topology.fat_tree ? &*inputs.topology.fat_tree : nullptr, inputs.flows);
  if (!derived) return placed(inputs.loaded, derived.error());
  derived->config.switch_names = inputs.topology.names;
  if (const auto added =
          add_link_changes(settings.links, inputs.topology.topology, names, derived->config.fabric);
      !added)
    return placed(inputs.loaded, added.error());
  auto observation = resolve(settings.observation, inputs.flows, names);
  if (!observation) return placed(inputs.loaded, observation.error());
  derived->config.observation = *std::move(observation);
  return derived;
}

}  // namespace wharf::sim
