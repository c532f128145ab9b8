// SPDX-License-Identifier: Apache-2.0
// How somebody asks for a run, whatever front-end they use: a scenario with what overrides it, or keys alone.
// From that follows which kind of run it is, and everything that it reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fabric/wire_mode.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_kind.h"

namespace wharf::sim {

struct RunRequest {
  std::filesystem::path profile_directory;  ///< Where NAME.toml of a profile lies.
  std::string file;                         ///< A scenario; empty: keys alone.
  std::string text;                         ///< What it holds.
  std::string profile;                      ///< Empty: what the scenario says.
  std::vector<std::string> overrides;       ///< key=value, in order.
  /// What stands for keys of runs of flows and wins over `overrides`; the name is for messages.
  std::vector<FabricSettingsSource::Option> options{};
  WireMode wire = WireMode::kStructs;
};

/// The text of a scenario file, which is read once, as it may be a pipe. One that does not exist is looked
/// for among those in `shipped`, if that is a folder.
Result<std::string> read_scenario(const std::string& file, const std::filesystem::path& shipped);

/// Programs on full hosts, or flows between thin ones; a scenario decides it, and options for flows do.
Result<ScenarioKind> kind_of(const RunRequest& request);
/// What runs programs; refuses a request for flows.
Result<Scenario> prepare_programs(const RunRequest& request);
/// What runs flows, with all that it reads. Refuses a request without flows, and flows from several places.
Result<FabricInputs> prepare_flows(const RunRequest& request);

}  // namespace wharf::sim
