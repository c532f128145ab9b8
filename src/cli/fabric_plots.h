// SPDX-License-Identifier: Apache-2.0
// What a run of many hosts has shown, as plots.
#pragma once

#include <vector>

#include "sim/scenario/fabric_run.h"
#include "study/study.h"

namespace wharf::cli {

/// Completion times always; goodput where the run was observed, queues, windows and round trips where ports
/// or flows were chosen and have any.
std::vector<study::Plot> fabric_plots(const sim::FabricReport& report, const workload::FlowList& list,
                                      const sim::PortNames& names);

}  // namespace wharf::cli
