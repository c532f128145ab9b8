// SPDX-License-Identifier: Apache-2.0
// The pages of `wharf run --html`: of programs on full hosts, and of flows among many hosts.
#pragma once

#include <string>
#include <vector>

#include "cli/scenario_options.h"
#include "report/page.h"
#include "report/part.h"
#include "sim/flows/fabric_run.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_results.h"
#include "sim/scenario/run.h"

namespace wharf::cli {

/// How a run ended, in the words of a page.
struct RunEnd {
  std::vector<std::string> failures{};  ///< What does not hold, a sentence each.
  bool interrupted = false;
  bool stalled = false;
  std::size_t judged = 0;  ///< How many things were expected.
};

/// Title, verdict and what ran; `parts` are those of the terminal.
report::Page run_page(const sim::Scenario& scenario, const ScenarioOptions& options, const RunEnd& end,
                      const std::vector<report::Part>& parts);
report::Page fabric_page(const sim::FabricInputs& inputs, const ScenarioOptions& options, const RunEnd& end,
                         const std::vector<report::Part>& parts);

/// The slowest flows, one row each.
void add_flows(report::Page& page, const workload::FlowList& list, const sim::FabricReport& report,
               const std::vector<TimePs>& ideal);

}  // namespace wharf::cli
