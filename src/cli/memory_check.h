// SPDX-License-Identifier: Apache-2.0
// Whether a run fits into the memory that there is.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "cli/scenario_options.h"
#include "sim/scenario/scenario.h"

namespace wharf::cli {

/// kEnvironment when there is room for less than `least` of the `needed` bytes. `what` names the run, `less`
/// what would make it smaller.
Result<void> require_room(std::uint64_t least, std::uint64_t needed, std::string_view what,
                          std::string_view less);

/// Refuses a run that clearly needs more memory than this process can have, before it takes any: as the
/// estimate is right within a factor of two, more than twice of it. `--any-memory` lets it go on.
Result<void> check_memory(const sim::Scenario& scenario, const ScenarioOptions& options);
Result<void> check_memory(const sim::FabricInputs& inputs, const sim::FabricRunConfig& config,
                          const ScenarioOptions& options);

}  // namespace wharf::cli
