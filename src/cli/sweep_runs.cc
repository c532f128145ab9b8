// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/interrupt.h"
#include "cli/memory_check.h"
#include "sim/scenario/fabric_results.h"
#include "sim/scenario/input_hash.h"
#include "sim/scenario/judgement.h"
#include "sim/scenario/read_again.h"
#include "sim/scenario/run.h"

namespace wharf::cli {
namespace {

class TwoHostsRun : public SweepRun {
 public:
  TwoHostsRun(sim::Scenario scenario, std::string configuration)
      : scenario_(std::move(scenario)), configuration_(std::move(configuration)) {}

  std::string configuration() const override { return configuration_; }
  std::string title() const override { return scenario_.config.title; }
  Result<SweepOutcome> execute() const override {
    sim::RunOptions options;
    options.interrupt = &interrupt_requested();
    auto report = sim::run_scenario(scenario_, options);
    if (!report) return report.error();
    if (report->end == sim::RunOutcome::kInterrupted) return SweepOutcome{.interrupted = true};
    if (report->end == sim::RunOutcome::kStalled)
      return Error{ErrorKind::kStalled, fmt::format("{}", fmt::join(report->waiting, "; "))};
    auto judged = sim::judge(scenario_, *report);
    if (!judged) return judged.error();
    return SweepOutcome{.summary = std::move(judged->summary), .failures = std::move(judged->failures)};
  }
  std::vector<std::string> titles() const override {
    if (replays()) return {"accesses", "time us", "all local us", "slow-down"};
    return {"operations", "mean ns", "p99 ns", "M op/s"};
  }
  std::vector<std::string> cells(const nlohmann::ordered_json& summary) const override {
    if (replays()) {
      const auto& replay = summary["replay"];
      return {std::to_string(replay["accesses"].get<std::uint64_t>()),
              fmt::format("{:.3f}", replay["time_ns"].get<double>() / 1e3),
              fmt::format("{:.3f}", replay["all_local_time_ns"].get<double>() / 1e3),
              fmt::format("{:.4f}", replay["slow_down"].get<double>())};
    }
    const auto& program = summary["program"];
    const auto& latency = program["latency_ns"];
    return {std::to_string(program["operations"].get<std::uint64_t>()),
            fmt::format("{:.1f}", latency["mean"].get<double>()),
            fmt::format("{:.1f}", latency["p99"].get<double>()),
            fmt::format("{:.3f}", program["operations_per_second"].get<double>() / 1e6)};
  }

 private:
  bool replays() const { return scenario_.config.program == sim::ProgramKind::kReplay; }

  sim::Scenario scenario_;
  std::string configuration_;
};

/// Keeps its keys alone: topologies and flows of all runs of a sweep together may be large.
class ManyHostsRun : public SweepRun {
 public:
  ManyHostsRun(const ScenarioOptions& scenario, std::vector<std::string> overrides, std::string configuration,
               std::string title)
      : scenario_(&scenario),
        overrides_(std::move(overrides)),
        configuration_(std::move(configuration)),
        title_(std::move(title)) {}

  std::string configuration() const override { return configuration_; }
  std::string title() const override { return title_; }
  Result<SweepOutcome> execute() const override {
    const auto request = scenario_->request(overrides_);
    if (!request) return request.error();
    const auto inputs = sim::prepare_flows(*request);
    if (!inputs) return inputs.error();
    const auto derived = sim::derive(*inputs, {inputs->topology.topology, inputs->topology.names});
    if (!derived) return derived.error();
    sim::FabricRunOptions options;
    options.interrupt = &interrupt_requested();
    const auto report = sim::run_flows(inputs->topology.topology, inputs->flows, derived->config, options);
    if (!report) return report.error();
    if (report->outcome == sim::FabricOutcome::kInterrupted) return SweepOutcome{.interrupted = true};
    if (report->outcome == sim::FabricOutcome::kStalled) return Error{ErrorKind::kStalled, report->waiting};
    sim::FabricResults results = sim::results_of(*inputs, derived->derived, *report);
    return SweepOutcome{.summary = std::move(results.summary), .failures = std::move(results.failures)};
  }
  std::vector<std::string> titles() const override {
    return {"finished", "mean us", "p99 us", "max us", "Gb/s", "sent again"};
  }
  std::vector<std::string> cells(const nlohmann::ordered_json& summary) const override {
    const auto microseconds_of = [&summary](const char* statistic) {
      return fmt::format("{:.3f}", summary["fct_ns"][statistic].get<double>() / 1e3);
    };
    return {std::to_string(summary["finished"].get<std::uint64_t>()),
            microseconds_of("mean"),
            microseconds_of("p99"),
            microseconds_of("max"),
            fmt::format("{:.1f}", summary["goodput_gbps"].get<double>()),
            std::to_string(summary["packets"]["retransmitted"].get<std::uint64_t>())};
  }

 private:
  const ScenarioOptions* scenario_;
  std::vector<std::string> overrides_;
  std::string configuration_;
  std::string title_;
};

}  // namespace

Result<SweepRuns> SweepRuns::of(const ScenarioOptions& scenario) {
  const auto many = scenario.many_hosts();
  if (!many) return many.error();
  return SweepRuns(scenario, *many);
}

const std::string& SweepRuns::hash_of(const std::string& file) {
  std::string& hash = hashes_[file];
  if (hash.empty()) hash = sim::file_hash(file);
  return hash;
}

Result<std::unique_ptr<SweepRun>> SweepRuns::make(const std::vector<std::string>& overrides) {
  return many_hosts_ ? make_many_hosts(overrides) : make_two_hosts(overrides);
}

Result<std::unique_ptr<SweepRun>> SweepRuns::make_two_hosts(const std::vector<std::string>& overrides) {
  auto scenario = scenario_->load(overrides);
  if (!scenario) return scenario.error();
  WHARF_TRY(check_memory(*scenario, *scenario_));
  WHARF_TRY(sim::require_same_again(*scenario));
  std::string configuration = fmt::format("{:#018x}", scenario->identity);
  for (const sim::InputFile& input : sim::files_read_by(*scenario))
    configuration += "-" + hash_of(input.file);
  return std::unique_ptr<SweepRun>(
      std::make_unique<TwoHostsRun>(*std::move(scenario), std::move(configuration)));
}

Result<std::unique_ptr<SweepRun>> SweepRuns::make_many_hosts(const std::vector<std::string>& overrides) {
  const auto request = scenario_->request(overrides);
  if (!request) return request.error();
  const auto inputs = sim::prepare_flows(*request);
  if (!inputs) return inputs.error();
  const auto derived = sim::derive(*inputs, {inputs->topology.topology, inputs->topology.names});
  if (!derived) return derived.error();
  WHARF_TRY(sim::check_flows(inputs->topology.topology, inputs->flows, derived->config));
  WHARF_TRY(check_memory(*inputs, derived->config, *scenario_));
  WHARF_TRY(sim::require_same_again(*inputs));
  std::string configuration = fmt::format("{:#018x}", inputs->loaded.identity);
  for (const auto& [file, hash] : inputs->hashes) configuration += "-" + hash;
  return std::unique_ptr<SweepRun>(std::make_unique<ManyHostsRun>(
      *scenario_, overrides, std::move(configuration), inputs->loaded.settings.title));
}

}  // namespace wharf::cli
