// SPDX-License-Identifier: Apache-2.0
// manifest.json: the one file of a result that is not a function of scenario and seed alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/console.h"
#include "cli/scenario_options.h"
#include "sim/scenario/run.h"

namespace wharf::cli {

/// What every manifest begins with: version, commit, command, host and time of writing.
nlohmann::ordered_json manifest_head(const Console& console);

/// Version, commit, command, seed, input hashes, host, wall time, wire mode, paths, and whether the run is
/// partial.
nlohmann::ordered_json manifest_of(const Console& console, const sim::Scenario& scenario,
                                   const ScenarioOptions& options, const std::string& wire,
                                   const std::string& out, sim::RunOutcome end, double seconds);

}  // namespace wharf::cli
