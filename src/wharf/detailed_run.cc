// SPDX-License-Identifier: Apache-2.0
#include "wharf/detailed_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/scenario/fabric_results.h"
#include "sim/scenario/judgement.h"
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

/// What was judged is told of runs that went to their end; of others how they ended.
RunResult judged(const nlohmann::ordered_json& summary, std::vector<std::string> failures) {
  return {.status = failures.empty() ? RunStatus::kDone : RunStatus::kJudgedFailed,
          .failures = std::move(failures),
          .summary = versioned(summary).dump(2)};
}

RunResult unfinished(RunStatus status, std::string message, const nlohmann::ordered_json& summary) {
  return {.status = status, .message = std::move(message), .summary = versioned(summary).dump(2)};
}

Result<sim::RunRequest> request_of(const RunSettings& settings) {
  sim::RunRequest request;
  request.file = settings.scenario;
  request.text = settings.text;
  if (settings.text.empty()) {
    const auto shipped = data_folders("scenarios");
    auto file = sim::find_scenario(settings.scenario, shipped ? *shipped : SearchFolders());
    // Where the shipped ones cannot be found, a name that is missing says nothing about itself.
    if (!file) return shipped ? file.error() : shipped.error();
    auto text = sim::read_scenario(*file);
    if (!text) return text.error();
    request.file = *std::move(file);
    request.text = *std::move(text);
  }
  auto profiles = data_folders("profiles");
  if (!profiles) return profiles.error();
  request.profile_directory = profiles->list();
  if (auto traces = data_folders("traces")) request.trace_directory = *std::move(traces);
  request.profile = settings.profile;
  request.overrides = settings.keys;
  return request;
}

void tell_flows(void* context, const sim::FabricProgress& at) {
  const auto& watch = *static_cast<const RunWatch*>(context);
  const double flows =
      static_cast<double>(at.finished) / static_cast<double>(std::max<std::uint64_t>(at.flows, 1));
  const double bytes =
      static_cast<double>(at.delivered_bytes) / static_cast<double>(std::max<std::uint64_t>(at.bytes, 1));
  watch.advance(watch.context,
                {std::min(1.0, std::max(flows, bytes)), as_nanoseconds(at.simulated), at.hops});
}

void tell_programs(void* context, const sim::RunProgress& at) {
  const auto& watch = *static_cast<const RunWatch*>(context);
  watch.advance(watch.context, {at.fraction, as_nanoseconds(at.simulated), at.events});
}

DetailedRun run_flows(const sim::RunRequest& request, const std::atomic<bool>* interrupt,
                      const RunWatch& watch) {
  auto inputs = sim::prepare_flows(request);
  if (!inputs) return {.result = ended(inputs.error())};
  const sim::PortNames names(inputs->topology.topology, inputs->topology.names);
  const auto derived = sim::derive(*inputs, names);
  if (!derived) return {.result = ended(derived.error())};
  sim::FabricRunOptions options;
  options.interrupt = interrupt;
  RunWatch watching = watch;
  if (watch.advance != nullptr) {
    options.progress = tell_flows;
    options.progress_context = &watching;
  }
  auto report = sim::run_flows(inputs->topology.topology, inputs->flows, derived->config, options);
  if (!report) return {.result = ended(report.error())};
  sim::FabricResults results = sim::results_of(*inputs, derived->derived, *report);
  RunResult result;
  if (report->outcome == sim::FabricOutcome::kInterrupted) {
    result = unfinished(RunStatus::kInterrupted, {}, results.summary);
  } else if (report->outcome == sim::FabricOutcome::kStalled) {
    result = unfinished(RunStatus::kStalled, "the run stalled: " + report->waiting, results.summary);
  } else {
    result = judged(results.summary, std::move(results.failures));
  }
  return {.result = std::move(result),
          .flows = std::make_shared<const FlowsRun>(FlowsRun{
              .inputs = *std::move(inputs),
              .report = *std::move(report),
              .ideal = std::move(results.ideal),
              .names = names,
              .asked = derived->config.observation,
              .pauses = derived->config.fabric.flow_control.kind == sim::FlowControl::kPause,
          })};
}

DetailedRun run_programs(const sim::RunRequest& request, const std::atomic<bool>* interrupt,
                         const RunWatch& watch) {
  const auto scenario = sim::prepare_programs(request);
  if (!scenario) return {.result = ended(scenario.error())};
  sim::RunOptions options;
  options.interrupt = interrupt;
  RunWatch watching = watch;
  if (watch.advance != nullptr) {
    options.progress = tell_programs;
    options.progress_context = &watching;
  }
  auto report = sim::run_scenario(*scenario, options);
  if (!report) return {.result = ended(report.error())};
  auto judgement = sim::judge(*scenario, *report);
  if (!judgement) return {.result = ended(judgement.error())};
  RunResult result;
  if (report->end == sim::RunOutcome::kInterrupted) {
    result = unfinished(RunStatus::kInterrupted, {}, judgement->summary);
  } else if (report->end == sim::RunOutcome::kStalled) {
    result =
        unfinished(RunStatus::kStalled, fmt::format("the run stalled; {}", fmt::join(report->waiting, "; ")),
                   judgement->summary);
  } else {
    result = judged(judgement->summary, std::move(judgement->failures));
  }
  return {.result = std::move(result),
          .programs = std::make_shared<const sim::RunReport>(*std::move(report))};
}

}  // namespace

std::vector<sim::ObservedFile> FlowsRun::files() const {
  const sim::ObservedNetwork network{
      .topology = inputs.topology.topology,
      .names = names,
      .asked = asked,
      .pauses = pauses,
      .simulated = report.simulated,
      .ports = report.ports,
      .seen = report.seen,
  };
  return sim::files_of(network, inputs.flows);
}

DetailedRun run_in_detail(const RunSettings& settings, const RunWatch& watch) {
  const auto request = request_of(settings);
  if (!request) return {.result = ended(request.error())};
  const auto kind = sim::kind_of(*request);
  if (!kind) return {.result = ended(kind.error())};
  return *kind == sim::ScenarioKind::kManyHosts ? run_flows(*request, settings.interrupt, watch)
                                                : run_programs(*request, settings.interrupt, watch);
}

CheckedSettings check(const RunSettings& settings) {
  const auto request = request_of(settings);
  if (!request) return {.result = ended(request.error())};
  const auto kind = sim::kind_of(*request);
  if (!kind) return {.result = ended(kind.error())};
  if (*kind == sim::ScenarioKind::kManyHosts) {
    const auto inputs = sim::prepare_flows(*request);
    if (!inputs) return {.result = ended(inputs.error())};
    const auto derived = sim::derive(*inputs, {inputs->topology.topology, inputs->topology.names});
    if (!derived) return {.result = ended(derived.error())};
    const auto fit = sim::check_flows(inputs->topology.topology, inputs->flows, derived->config);
    if (!fit) return {.result = ended(fit.error())};
    return {.flows = true, .remarks = inputs->remarks, .effective = inputs->loaded.effective};
  }
  const auto scenario = sim::prepare_programs(*request);
  if (!scenario) return {.result = ended(scenario.error())};
  return {.remarks = scenario->no_influence, .effective = scenario->effective};
}

}  // namespace wharf
