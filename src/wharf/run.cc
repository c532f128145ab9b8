// SPDX-License-Identifier: Apache-2.0
#include "wharf/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/scenario/fabric_results.h"
#include "sim/scenario/judgement.h"
#include "sim/scenario/run.h"
#include "sim/scenario/run_request.h"
#include "wharf/data_folders.h"
#include "wharf/schema_version.h"

namespace wharf {
namespace {

RunResult ended(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUsage:
      return {.status = RunStatus::kUsage, .message = error.message};
    case ErrorKind::kInput:
      return {.status = RunStatus::kInput, .message = error.message};
    case ErrorKind::kEnvironment:
      return {.status = RunStatus::kEnvironment, .message = error.message};
    case ErrorKind::kStalled:
      break;
  }
  return {.status = RunStatus::kStalled, .message = error.message};
}

RunResult judged(const nlohmann::ordered_json& summary, std::vector<std::string> failures) {
  return {.status = failures.empty() ? RunStatus::kDone : RunStatus::kJudgedFailed,
          .failures = std::move(failures),
          .summary = versioned(summary).dump(2)};
}

RunResult run_flows(const sim::RunRequest& request, const std::atomic<bool>* interrupt) {
  const auto inputs = sim::prepare_flows(request);
  if (!inputs) return ended(inputs.error());
  const auto derived = sim::derive(*inputs, {inputs->topology.topology, inputs->topology.names});
  if (!derived) return ended(derived.error());
  sim::FabricRunOptions options;
  options.interrupt = interrupt;
  const auto report = sim::run_flows(inputs->topology.topology, inputs->flows, derived->config, options);
  if (!report) return ended(report.error());
  if (report->outcome == sim::FabricOutcome::kInterrupted) return {.status = RunStatus::kInterrupted};
  if (report->outcome == sim::FabricOutcome::kStalled)
    return {.status = RunStatus::kStalled, .message = "the run stalled; " + report->waiting};
  sim::FabricResults results = sim::results_of(*inputs, derived->derived, *report);
  return judged(results.summary, std::move(results.failures));
}

RunResult run_programs(const sim::RunRequest& request, const std::atomic<bool>* interrupt) {
  const auto scenario = sim::prepare_programs(request);
  if (!scenario) return ended(scenario.error());
  sim::RunOptions options;
  options.interrupt = interrupt;
  const auto report = sim::run_scenario(*scenario, options);
  if (!report) return ended(report.error());
  if (report->end == sim::RunOutcome::kInterrupted) return {.status = RunStatus::kInterrupted};
  if (report->end == sim::RunOutcome::kStalled) {
    return {.status = RunStatus::kStalled,
            .message = fmt::format("the run stalled; {}", fmt::join(report->waiting, "; "))};
  }
  auto judgement = sim::judge(*scenario, *report);
  if (!judgement) return ended(judgement.error());
  return judged(judgement->summary, std::move(judgement->failures));
}

}  // namespace

RunResult run(const RunSettings& settings) {
  sim::RunRequest request;
  auto profiles = data_folders("profiles");
  if (!profiles) return ended(profiles.error());
  request.profile_directory = profiles->list();
  if (auto traces = data_folders("traces")) request.trace_directory = *std::move(traces);
  request.file = settings.scenario;
  request.text = settings.text;
  if (settings.text.empty()) {
    const auto shipped = data_folders("scenarios");
    auto file = sim::find_scenario(settings.scenario, shipped ? *shipped : SearchFolders());
    if (!file) return ended(file.error());
    auto text = sim::read_scenario(*file);
    if (!text) return ended(text.error());
    request.file = *std::move(file);
    request.text = *std::move(text);
  }
  request.profile = settings.profile;
  request.overrides = settings.keys;
  const auto kind = sim::kind_of(request);
  if (!kind) return ended(kind.error());
  return *kind == sim::ScenarioKind::kManyHosts ? run_flows(request, settings.interrupt)
                                                : run_programs(request, settings.interrupt);
}

}  // namespace wharf
