// SPDX-License-Identifier: Apache-2.0
// wharf check of a scenario of many hosts.
#pragma once

#include "base/result.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/scenario_options.h"

namespace wharf::cli {

/// Reads and checks everything that the scenario names, and estimates what its run costs by a short run of
/// other traffic over the same protocol.
Result<ExitCode> check_fabric(const ScenarioOptions& scenario, const Console& console);

}  // namespace wharf::cli
