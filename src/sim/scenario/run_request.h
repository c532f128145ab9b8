// SPDX-License-Identifier: Apache-2.0
// How somebody asks for a run, whatever front-end they use: a scenario with what overrides it, or keys alone.
// From that follows which kind of run it is, and everything that it reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/search_folders.h"
#include "sim/fabric/wire_mode.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_kind.h"

namespace wharf::sim {

struct RunRequest {
  /// Where NAME.toml of a profile lies: a folder, or several with ':' between; the first that has it wins.
  std::filesystem::path profile_directory;
  SearchFolders trace_directory;       ///< Where a trace that is given by its name may lie.
  std::string file;                    ///< A scenario; empty: keys alone.
  std::string text;                    ///< What it holds.
  std::string profile;                 ///< Empty: what the scenario says.
  std::vector<std::string> overrides;  ///< key=value, in order.
  std::vector<std::string> varied{};   ///< key=value of --vary, which win over `overrides`.
  /// What stands for keys of runs of flows and wins over `overrides`; the name is for messages.
  std::vector<FabricSettingsSource::Option> options{};
  WireMode wire = WireMode::kStructs;
};

/// The scenario file that `name` means: a path, or else one of `shipped` by its name ("incast"), by its file
/// name or with the folder in front ("scenarios/incast.toml").
Result<std::string> find_scenario(const std::string& name, const SearchFolders& shipped);
/// The text of a scenario file, which is read once, as it may be a pipe.
Result<std::string> read_scenario(const std::string& file);

/// Programs on full hosts, or flows between thin ones; a scenario decides it, and options for flows do.
Result<ScenarioKind> kind_of(const RunRequest& request);
/// What runs programs; refuses a request for flows.
Result<Scenario> prepare_programs(const RunRequest& request);
/// What runs flows, with all that it reads. Refuses a request without flows, and flows from several places.
Result<FabricInputs> prepare_flows(const RunRequest& request);

}  // namespace wharf::sim
