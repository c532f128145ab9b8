// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the reader of scenarios of many hosts, and what it accepts to everything that stands before
// a run: topology by name, generated flows, the rules, ports and flows to observe, links that fail. Each may
// refuse with a sentence about what was expected; what none refuses, the engines take. Nothing is simulated,
// no file that a scenario names is read, and more than some dozens of hosts or flows are left out: building
// them is slow, and nothing new happens.
// LINK: wharf_sim_scenario
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sim/fabric/topology_named.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario_kind.h"

namespace {

using wharf::Error;

/// A folder of profiles without values, so that the bytes alone decide; gone when the program ends.
class Profiles {
 public:
  Profiles() {
    std::string name = (std::filesystem::temp_directory_path() / "wharf-fuzz-XXXXXX").string();
    WHARF_CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(folder_ / "ultra-ethernet.toml");
  }
  ~Profiles() {
    std::error_code status;
    std::filesystem::remove_all(folder_, status);
  }
  Profiles(const Profiles&) = delete;
  Profiles& operator=(const Profiles&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

void check_refusal(const Error& error) {
  WHARF_CHECK(error.kind == wharf::ErrorKind::kInput);
  const std::string_view text = error.message;
  // Keys of engines are none of the scenario's.
  for (const std::string_view engine : {"uet.", "ub.", "roce."}) WHARF_CHECK(!text.starts_with(engine));
  WHARF_CHECK(text.find("expected") != std::string_view::npos ||
              text.find("did you mean") != std::string_view::npos ||
              text.find("shows every key") != std::string_view::npos);
}

bool large_number(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 1) return true;
  }
  return false;
}

bool small(const wharf::sim::FabricSettings& settings) {
  const wharf::sim::TrafficSettings& traffic = settings.traffic;
  return !large_number(settings.topology) && traffic.hosts_needed() <= 64 && traffic.flows <= 100 &&
         traffic.duration == wharf::kTimeZero;
}

std::optional<wharf::sim::TopologyFile> topology_of(const wharf::sim::FabricSettings& settings) {
  using namespace wharf::sim;
  const LinkSpec link{settings.link_speed, settings.hop_latency};
  if (!settings.topology.empty()) {
    if (!names_topology(settings.topology)) return std::nullopt;
    auto named = named_topology(settings.topology, link, settings.switch_latency);
    if (named) return *std::move(named);
    check_refusal(named.error());
    return std::nullopt;
  }
  const std::uint32_t hosts = settings.traffic.hosts_needed();
  if (hosts == 0) return std::nullopt;
  const auto shape =
      k_ary_shape(settings.tiers, k_ary_hosts(settings.tiers, hosts), link, settings.switch_latency);
  if (!shape) {
    check_refusal(shape.error());
    return std::nullopt;
  }
  auto built = fat_tree_of(*shape);
  if (built) return TopologyFile{.topology = *std::move(built), .fat_tree = *shape};
  check_refusal(built.error());
  return std::nullopt;
}

void prepare(const wharf::sim::FabricSettings& settings) {
  using namespace wharf::sim;
  const auto file = topology_of(settings);
  if (!file) return;
  const Topology& topology = file->topology;
  const auto flows = generate_flows(settings.traffic, topology, settings.seed, std::nullopt);
  if (!flows) return check_refusal(flows.error());
  auto run = derive_fabric_run(settings, topology, file->fat_tree ? &*file->fat_tree : nullptr, *flows);
  if (!run) return check_refusal(run.error());
  const PortNames names(topology, file->names);
  if (auto added = add_link_changes(settings.links, topology, names, run->config.fabric); !added)
    return check_refusal(added.error());
  if (const auto observed = resolve(settings.observation, *flows, names); !observed)
    return check_refusal(observed.error());
  if (const auto runs = check_flows(topology, *flows, run->config); !runs) check_refusal(runs.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Profiles profiles;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto kind = wharf::sim::kind_of_text(text, "fuzz.toml");
  if (!kind) {
    check_refusal(kind.error());
    WHARF_CHECK(kind.error().message.starts_with("fuzz.toml:"));
    return 0;
  }
  if (kind->kind != wharf::sim::ScenarioKind::kManyHosts) return 0;
  wharf::sim::FabricSettingsSource source{"", {}, profiles.folder()};
  source.file = "fuzz.toml";
  source.text = text;
  const auto loaded = wharf::sim::load_fabric_settings(source);
  if (!loaded) {
    check_refusal(loaded.error());
    return 0;
  }
  if (loaded->settings.traffic.given() && !loaded->settings.traffic.sizes_from_file() &&
      small(loaded->settings))
    prepare(loaded->settings);
  return 0;
}
