// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_results.h"

#include <fmt/format.h>

#include <utility>

#include "cli/run_text.h"
#include "sim/scenario/traffic_results.h"

namespace wharf::cli {

FabricResults results_of(const FabricInputs& inputs, const sim::FabricDerived& derived,
                         const sim::FabricReport& report) {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  const sim::Topology& topology = inputs.topology.topology;
  FabricResults results;
  results.ideal = sim::ideal_times(topology, inputs.flows, settings, derived);
  results.statistics = sim::statistics_of(inputs.flows, report, results.ideal);
  results.summary =
      sim::fabric_summary(inputs.flows, topology, settings, derived, report, results.statistics);
  sim::add_traffic_results(results.summary, settings.traffic, topology, inputs.flows, report, results.ideal);
  if (report.failed != 0)
    results.failures.push_back(
        fmt::format("{} flows ended with an error; flows.csv says which", report.failed));
  if (report.outcome != sim::FabricOutcome::kFinished && report.outcome != sim::FabricOutcome::kTimeReached)
    return results;
  auto judged = sim::judge(inputs.loaded.expectations, results.summary);
  if (!judged) {  // A number that only whole runs have, such as the time of a collective.
    results.failures.push_back(judged.error().message);
    return results;
  }
  results.judged = *std::move(judged);
  if (!results.judged.empty()) results.summary["expectations"] = expectations_json(results.judged);
  for (const sim::JudgedExpectation& each : results.judged) {
    if (!each.holds) results.failures.push_back(failure_text(each));
  }
  return results;
}

}  // namespace wharf::cli
