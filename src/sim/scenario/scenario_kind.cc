// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/world_settings.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, 4> kManyHostSections{"fabric", "observe", "topology", "traffic"};

bool is_one_of(const std::vector<KeyDoc>& keys, std::string_view path) {
  return std::any_of(keys.begin(), keys.end(), [path](const KeyDoc& key) { return key.path == path; });
}

const std::vector<KeyDoc>& many_host_keys() {
  static const std::vector<KeyDoc> keys = every_fabric_key();
  return keys;
}

const std::vector<KeyDoc>& two_host_keys() {
  static const std::vector<KeyDoc> keys = every_key();
  return keys;
}

}  // namespace

ScenarioFileKind kind_of(const ConfigDocument& document) {
  if (describes_world(document)) return {};
  for (const auto& [key, value] : document.values()) {
    const std::string_view section = std::string_view(key).substr(0, key.find('.'));
    if (section.size() == key.size() ||
        std::find(kManyHostSections.begin(), kManyHostSections.end(), section) == kManyHostSections.end())
      continue;
    return {ScenarioKind::kManyHosts, fmt::format("{} ({})", key, value.origin)};
  }
  return {};
}

Result<ScenarioFileKind> kind_of_text(std::string_view text, std::string_view file) {
  ConfigDocument document;
  WHARF_TRY(document.add_text(text, file, "", kScenarioLayer));
  return kind_of(document);
}

Result<void> refuse_two_host_keys(const ConfigDocument& document, std::string_view reason) {
  const std::vector<KeyDoc>& many = many_host_keys();
  const std::vector<KeyDoc>& two = two_host_keys();
  for (const auto& [key, value] : document.values()) {
    if (is_one_of(many, key) || !(key.starts_with("model.") || is_one_of(two, key))) continue;
    return input_error(fmt::format(
        "{}: {} is a key of scenarios of two hosts, but {} makes this one of many hosts, "
        "expected keys of one kind{}",
        value.origin, key, reason,
        key == "run.workload" ? ", or [hosts] that run the program (hosts.clients, hosts.servers)" : ""));
  }
  return {};
}

Result<void> refuse_two_host_profile(const ConfigDocument& document, std::string_view profile,
                                     std::string_view origin) {
  const std::vector<KeyDoc>& many = many_host_keys();
  const std::vector<KeyDoc>& two = two_host_keys();
  for (const auto& [key, value] : document.values()) {
    if (value.layer >= kScenarioLayer || is_one_of(many, key) || !is_one_of(two, "model." + key)) continue;
    return input_error(
        fmt::format("{}: found {}, a profile of two hosts ({}: {}), expected one of many hosts, such as "
                    "ultra-ethernet",
                    origin, profile, value.origin, key));
  }
  return {};
}

Result<void> refuse_world(const ConfigDocument& document) {
  for (const auto& [key, value] : document.values()) {
    if (!key.starts_with("hosts.")) continue;
    return input_error(fmt::format(
        "{}: {} makes hosts that run programs, but the file is one of flows without them, expected "
        "a file with [hosts], such as key-value-fat-tree",
        value.origin, key));
  }
  return {};
}

Result<void> refuse_flow_keys(const ConfigDocument& document, const std::vector<KeyDoc>& world,
                              wire::Protocol protocol) {
  const auto first_of_hosts = std::find_if(document.values().begin(), document.values().end(),
                                           [](const auto& each) { return each.first.starts_with("hosts."); });
  for (const auto& [key, value] : document.values()) {
    if (is_one_of(world, key) || !is_one_of(many_host_keys(), key)) continue;
    const std::string own =
        fmt::format("model.{}.{}", wire::key_of(protocol), std::string_view(key).substr(key.rfind('.') + 1));
    const std::string instead = key == "fabric.protocol" ? "model.stack"
                                : is_one_of(world, own)  ? own
                                                         : "none: leave it out";
    return input_error(fmt::format(
        "{}: {} is a key of runs of flows, but {} ({}) makes this one of hosts with programs, expected {}",
        value.origin, key, first_of_hosts->first, first_of_hosts->second.origin, instead));
  }
  return {};
}

Result<void> refuse_many_host_keys(const ConfigDocument& document) {
  if (describes_world(document)) return {};  // The binder refuses what a world has not.
  const std::vector<KeyDoc>& many = many_host_keys();
  const std::vector<KeyDoc>& two = two_host_keys();
  for (const auto& [key, value] : document.values()) {
    if (is_one_of(two, key) || !is_one_of(many, key)) continue;
    return input_error(
        fmt::format("{}: {} is a key of runs of many hosts, expected one of scenarios of two hosts, as this "
                    "one is",
                    value.origin, key));
  }
  return {};
}

}  // namespace wharf::sim
