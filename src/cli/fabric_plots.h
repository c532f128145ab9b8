// SPDX-License-Identifier: Apache-2.0
// What a run of many hosts has shown, as plots.
#pragma once

#include <vector>

#include "report/plot.h"
#include "sim/flows/fabric_run.h"
#include "sim/scenario/observed_network.h"

namespace wharf::cli {

/// Completion times always; goodput and held queues where the run was observed, queues, windows, rates and
/// round trips where ports or flows were chosen and have any. Pictures that would show nothing are not among
/// them: of a single look, or of queues that were always empty. `network` holds what was seen in the run.
/// Flows that start during the warm-up are not among the completion times.
std::vector<report::Plot> fabric_plots(const sim::FabricReport& report, const workload::FlowList& list,
                                       const sim::ObservedNetwork& network, TimePs warm_up);

}  // namespace wharf::cli
