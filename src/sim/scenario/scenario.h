// SPDX-License-Identifier: Apache-2.0
// A scenario: everything that decides a run, resolved from profile, file and command line, each key checked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/config/binder.h"
#include "sim/config/config_document.h"
#include "sim/config/expectation.h"
#include "sim/config/replay_keys.h"
#include "sim/fabric/link_config.h"
#include "sim/scenario/host_groups.h"
#include "sim/scenario/host_settings.h"
#include "sim/scenario/program_settings.h"
#include "sim/scenario/world_settings.h"
#include "workload/workload.h"

namespace wharf::sim {

/// What "run.workload" runs.
enum class ProgramKind : std::uint8_t {
  kWorkload,  ///< A coroutine program of src/workload.
  kReplay,    ///< A recorded memory trace.
};

/// Full hosts, the network between them, programs. The hosts are alike, but for those of groups. Plain data.
struct ScenarioConfig : HostSettings {
  std::string title;
  std::string profile = "connectx7-class";
  LinkConfig link;

  WorldSettings world;
  std::vector<HostGroupSettings> groups;

  ProgramKind program = ProgramKind::kWorkload;
  workload::WorkloadConfig workload;
  ReplayConfig replay;
  ProgramPlacement placement;             ///< Of the program above.
  std::vector<ProgramSettings> programs;  ///< Those beside it.

  std::uint64_t seed = 1;
  TimePs time_limit = seconds(10);       ///< Simulated time after which an unfinished run counts as stalled.
  std::uint64_t record_limit = 100'000;  ///< Rows of operations.csv; sums and latencies cover all.
};

/// Where a scenario comes from; neither `file` nor `text`: all defaults.
struct ScenarioSource {
  std::filesystem::path file;
  std::string text;                         ///< What `file` holds, or TOML that is no file.
  std::string profile;                      ///< --profile; empty: what the scenario says.
  std::vector<std::string> overrides;       ///< --set key=value, in order.
  std::filesystem::path profile_directory;  ///< Where NAME.toml of a profile lies.
  WireMode wire = WireMode::kStructs;       ///< Some faults exist on real frames only.
};

/// A scenario that has passed every check.
struct Scenario {
  ScenarioConfig config;
  std::vector<Expectation> expectations;
  std::vector<KeyDoc> keys;               ///< Every key that exists for this run.
  std::vector<std::string> no_influence;  ///< Keys that were set and do not matter here, one sentence each.
  std::uint64_t identity =
      0;  ///< Hash of the keys of all layers and of what is expected, as they were given.
  std::vector<std::filesystem::path> profile_files;  ///< The profile, then what it extends.
  std::string effective;  ///< config.effective.toml: the keys that were given, with their origins.
};

/// The configuration of the engines for two hosts on one link.
EngineConfigs derive_engines(const HostSettings& settings, const LinkConfig& link);

/// Resolves and checks. Every refusal is one sentence that names the place.
Result<Scenario> load_scenario(const ScenarioSource& source);

/// Every key that any scenario can hold, with the keys of each program and of both transports.
std::vector<KeyDoc> every_key();

/// Binds every key of a scenario; load_scenario() uses it, and the key reference.
void bind_scenario(Binder& binder, ScenarioConfig& config);

}  // namespace wharf::sim
