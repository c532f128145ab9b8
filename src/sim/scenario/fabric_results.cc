// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/fabric_results.h"

#include <fmt/format.h>

#include <utility>

#include "sim/scenario/judgement.h"
#include "sim/scenario/traffic_results.h"

namespace wharf::sim {

FabricResults results_of(const FabricInputs& inputs, const FabricDerived& derived,
                         const FabricReport& report) {
  const FabricSettings& settings = inputs.loaded.settings;
  const Topology& topology = inputs.topology.topology;
  FabricResults results;
  results.ideal = ideal_times(topology, inputs.flows, settings, derived);
  results.statistics = statistics_of(inputs.flows, report, results.ideal, settings.traffic.warm_up);
  results.summary = fabric_summary(inputs.flows, topology, settings, derived, report, results.statistics);
  add_traffic_results(results.summary, settings.traffic, topology, inputs.flows, report, results.ideal);
  if (report.failed != 0)
    results.failures.push_back(
        fmt::format("{} flows ended with an error; flows.csv says which", report.failed));
  if (report.outcome != FabricOutcome::kFinished && report.outcome != FabricOutcome::kTimeReached)
    return results;
  if (report.outcome == FabricOutcome::kFinished && results.statistics.count == 0)
    results.failures.push_back(fmt::format("none of {} flows finished", inputs.flows.flows.size()));
  auto judged = judge(inputs.loaded.expectations, results.summary);
  if (!judged) {  // A number that only whole runs have, such as the time of a collective.
    results.failures.push_back(judged.error().message);
    return results;
  }
  results.judged = *std::move(judged);
  if (!results.judged.empty()) results.summary["expectations"] = expectations_json(results.judged);
  for (const JudgedExpectation& each : results.judged) {
    if (!each.holds) results.failures.push_back(failure_text(each));
  }
  return results;
}

}  // namespace wharf::sim
