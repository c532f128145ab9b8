// SPDX-License-Identifier: Apache-2.0
#include "study/frame/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/frame/accounting_rules.h"
#include "study/frame/overrides.h"
#include "study/frame/parallel.h"

namespace wharf::study {
namespace {

/// Enough for every percentile that a study prints; sums cover all operations anyway.
constexpr const char* kRecordLimit = "run.record_operations=50000";

Result<sim::RunReport> run_one(const StudyContext& context, const RunRequest& request) {
  auto scenario = load_request(context, request);
  if (!scenario) return scenario.error();
  sim::RunOptions options;
  options.interrupt = context.interrupt;
  options.waterfall_operation = ~std::uint64_t{0};
  auto report = sim::run_scenario(*scenario, options);
  if (!report) return report.error();
  if (report->end == sim::RunOutcome::kDone) return report;
  std::string text = fmt::format("a run of {} on {} did not end", request.stack, request.profile);
  for (const std::string& line : report->waiting) text += "; " + line;
  return Error{ErrorKind::kStalled, text};
}

}  // namespace

Result<sim::Scenario> load_request(const StudyContext& context, const RunRequest& request) {
  sim::ScenarioSource source;
  const Overrides* const others = context.overrides;
  source.profile = others != nullptr && !others->profile().empty() ? others->profile() : request.profile;
  source.profile_directory = context.profiles;
  source.overrides.emplace_back(kRecordLimit);
  if (!request.stack.empty()) source.overrides.push_back("model.stack=" + request.stack);
  source.overrides.insert(source.overrides.end(), request.keys.begin(), request.keys.end());
  if (others == nullptr) return sim::load_scenario(source);
  source.overrides = others->over(std::move(source.overrides));
  auto scenario = sim::load_scenario(source);
  if (scenario.ok()) others->note(scenario->no_influence);
  return scenario;
}

std::size_t RunBatch::add(RunRequest request) {
  const auto same = std::find(requests_.begin(), requests_.end(), request);
  if (same != requests_.end()) return static_cast<std::size_t>(same - requests_.begin());
  requests_.push_back(std::move(request));
  return requests_.size() - 1;
}

Result<void> RunBatch::run() {
  const std::size_t first = reports_.size();
  reports_.resize(requests_.size());
  return for_each_in_parallel(context_, requests_.size() - first,
                              [this, first](std::size_t i) -> Result<void> {
                                auto report = run_one(context_, requests_[first + i]);
                                if (!report) return report.error();
                                reports_[first + i] = *std::move(report);
                                return {};
                              });
}

void RunBatch::compare(std::size_t accounting, std::size_t mechanism) {
  compared_.push_back({requests_[accounting], requests_[mechanism]});
}

Result<std::vector<AccountingRule>> RunBatch::rules() const { return rules_between(context_, compared_); }

Check RunBatch::integrity() const {
  double wrong = 0;
  for (const sim::RunReport& report : reports_) {
    if (report.program_errors != 0 || !report.verdict.empty()) ++wrong;
  }
  return equal("runs with failed operations or wrong memory", wrong, 0);
}

}  // namespace wharf::study
