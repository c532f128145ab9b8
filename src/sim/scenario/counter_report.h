// SPDX-License-Identifier: Apache-2.0
// The counters of a run as JSON, by host and component. Counters that stayed zero are left out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/world/world.h"

namespace wharf::sim {

nlohmann::ordered_json counter_report(World& world, const ScenarioConfig& config);

/// Dotted names of every counter that counter_report() may hold for hosts of `config`; those that are zero
/// are left out of the report.
std::vector<std::string> counter_names(const ScenarioConfig& config);

}  // namespace wharf::sim
