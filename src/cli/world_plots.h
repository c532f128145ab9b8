// SPDX-License-Identifier: Apache-2.0
// What a run of programs on full hosts has shown, as plots.
#pragma once

#include <vector>

#include "report/plot.h"
#include "sim/scenario/run.h"

namespace wharf::cli {

/// Latencies of the programs and of the verbs, operations and their latencies over time, and what was
/// observed of the network. Pictures that would show nothing are not among them.
std::vector<report::Plot> world_plots(const sim::Scenario& scenario, const sim::RunReport& report);

}  // namespace wharf::cli
