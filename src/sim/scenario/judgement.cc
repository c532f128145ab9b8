// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/judgement.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace wharf::sim {

nlohmann::ordered_json expectations_json(const std::vector<JudgedExpectation>& judged) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const JudgedExpectation& each : judged) {
    const Expectation& wanted = each.expectation;
    nlohmann::ordered_json one{{"value", wanted.value}, {"found", each.found}, {"holds", each.holds}};
    if (wanted.least) one["least"] = *wanted.least;
    if (wanted.most) one["most"] = *wanted.most;
    if (!wanted.source.empty()) one["source"] = wanted.source;
    list.push_back(std::move(one));
  }
  return list;
}

std::string failure_text(const JudgedExpectation& judged) {
  const Expectation& wanted = judged.expectation;
  return fmt::format("{}: {} is {:g}, expected {}{}", wanted.origin, wanted.value, judged.found,
                     range_text(wanted), wanted.source.empty() ? "" : " (" + wanted.source + ")");
}

Result<JudgedRun> judge(const Scenario& scenario, const RunReport& report) {
  JudgedRun run;
  run.summary = summary_of(scenario, report);
  if (!report.verdict.empty()) run.failures.push_back(report.verdict);
  auto judged = judge(scenario.expectations, run.summary);
  if (!judged) {
    if (report.end == RunOutcome::kDone) return judged.error();
    return run;
  }
  run.judged = *std::move(judged);
  if (!run.judged.empty()) run.summary["expectations"] = expectations_json(run.judged);
  for (const JudgedExpectation& each : run.judged) {
    if (!each.holds) run.failures.push_back(failure_text(each));
  }
  return run;
}

}  // namespace wharf::sim
