// SPDX-License-Identifier: Apache-2.0
// What --verbose says before a run: the files that are read, where they were found, and what follows from
// them. Remarks on standard error; nothing without the option.
#pragma once

#include "cli/console.h"
#include "cli/scenario_options.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"

namespace wharf::cli {

/// The scenario and the folders in which names are looked for.
void tell_places(const ScenarioOptions& options, const Console& console);
/// The same, and what a run of programs reads and has.
void tell_inputs(const ScenarioOptions& options, const sim::Scenario& scenario, const Console& console);
/// The same of a run of flows.
void tell_inputs(const ScenarioOptions& options, const sim::FabricInputs& inputs,
                 const sim::FabricDerived& derived, const Console& console);

}  // namespace wharf::cli
