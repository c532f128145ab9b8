// SPDX-License-Identifier: Apache-2.0
// What was observed of a run of many hosts, as plots.
#pragma once

#include <vector>

#include "sim/scenario/observation.h"
#include "study/study.h"

namespace wharf::cli {

/// Goodput always; queues, windows and round trips where ports or flows were chosen and have any.
std::vector<study::Plot> fabric_plots(const sim::ObservedRun& seen, const workload::FlowList& list,
                                      const sim::PortNames& names);

}  // namespace wharf::cli
