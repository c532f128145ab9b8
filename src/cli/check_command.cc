// SPDX-License-Identifier: Apache-2.0
// wharf check SCENARIO: validates and estimates; runs nothing of the scenario, only a short sample of its
// stack to learn how fast this machine is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/data_files.h"
#include "cli/fabric_check.h"
#include "cli/scenario_options.h"
#include "sim/host/replay/trace_reader.h"
#include "sim/scenario/estimate.h"
#include "sim/scenario/run.h"

namespace wharf::cli {
namespace {

/// Operations of the two runs of the sample. What the second takes beyond the first is the operations' own:
/// both make the same hosts.
constexpr std::uint64_t kFewOperations = 1000;
constexpr std::uint64_t kSampleOperations = 20'000;

/// Tens of milliseconds of fetches over `stack`.
Result<sim::SampleCost> measure_sample(sim::Stack stack) {
  sim::ScenarioSource source;
  const auto profiles = data_directory("profiles");
  if (!profiles) return profiles.error();
  source.profile_directory = *profiles;
  std::array<double, 2> nanoseconds_taken{};
  std::array<double, 2> events{};
  for (std::size_t turn = 0; turn < 2; ++turn) {
    source.overrides = sim::sample_overrides(stack, turn == 0 ? kFewOperations : kSampleOperations);
    const auto sample = sim::load_scenario(source);
    if (!sample) return sample.error();
    const auto begin = std::chrono::steady_clock::now();
    const auto report = sim::run_scenario(*sample, {});
    if (!report) return report.error();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    nanoseconds_taken[turn] = taken.count();
    events[turn] = static_cast<double>(report->events);
  }
  const double more = events[1] - events[0];
  // A machine that was busy during the first run makes the difference meaningless; never below a nanosecond.
  const double event_ns = std::max(1.0, (nanoseconds_taken[1] - nanoseconds_taken[0]) / more);
  return sim::SampleCost{event_ns, more / static_cast<double>(kSampleOperations - kFewOperations)};
}

class CheckCommand : public Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "Validate a scenario and estimate its cost on this machine, without running it.";
  }
  std::string_view examples() const override {
    return "  wharf check scenarios/fetch-64-bytes.toml\n"
           "  wharf check scenarios/fetch-64-bytes.toml --set run.operations=1000000\n"
           "  wharf check scenarios/incast.toml\n";
  }
  void declare(Options& app) override { scenario_.declare(app); }
  Result<ExitCode> run(const Console& console) override {
    WHARF_TRY(scenario_.read());
    const auto many = scenario_.many_hosts();
    if (!many) return many.error();
    if (*many) return check_fabric(scenario_, console);
    auto scenario = scenario_.load();
    if (!scenario) return scenario.error();
    if (scenario->config.program == sim::ProgramKind::kReplay) {
      const auto trace = sim::TraceReader::open(scenario->config.replay.trace);
      if (!trace) return trace.error();
    }
    const auto sample = measure_sample(scenario->config.stack);
    if (!sample) return sample.error();
    const sim::CostEstimate estimate = sim::estimate_cost(*scenario, *sample);
    for (const std::string& line : scenario->no_influence) console.remark(line);
    console.print(nlohmann::ordered_json{{"scenario", scenario_.file},
                                         {"valid", true},
                                         {"estimate",
                                          {{"operations", estimate.operations},
                                           {"events", estimate.events},
                                           {"memory_bytes", estimate.memory_bytes},
                                           {"seconds", estimate.seconds},
                                           {"sample",
                                            {{"operations", kSampleOperations},
                                             {"event_ns", sample->event_ns},
                                             {"events_per_operation", sample->events_per_operation}}}}},
                                         {"without_influence", scenario->no_influence}});
    console.print(
        fmt::format("{} is valid: about {} operations, {} events, {:.1f} s on one core, {} MiB\n"
                    "(a sample of {} fetches took {:.0f} ns per event here just now; loss-free runs "
                    "stay within a factor of two)\n",
                    scenario_.file, estimate.operations, estimate.events, estimate.seconds,
                    estimate.memory_bytes >> 20U, kSampleOperations, sample->event_ns));
    return ExitCode::kDone;
  }

 private:
  ScenarioOptions scenario_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace wharf::cli
