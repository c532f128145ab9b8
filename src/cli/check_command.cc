// SPDX-License-Identifier: Apache-2.0
// wharf check SCENARIO: validates and estimates; of the scenario it runs a short sample alone, of its program
// on a few hosts, to learn what an operation takes and how fast this machine is.
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/fabric_check.h"
#include "cli/interrupt.h"
#include "cli/scenario_options.h"
#include "cli/verbose.h"
#include "report/wrapped_text.h"
#include "sim/host/replay/trace_reader.h"
#include "sim/scenario/estimate.h"
#include "sim/scenario/run.h"

namespace wharf::cli {
namespace {

/// Runs `sample`; the caller of a simulation has the clock. Processor time: others may use the machine, too.
Result<sim::SampleRun> timed_run(const sim::Scenario& sample) {
  const std::clock_t begin = std::clock();
  const auto report = sim::run_scenario(sample, {});
  if (!report) return report.error();
  const auto taken = static_cast<double>(std::clock() - begin) * (1e9 / CLOCKS_PER_SEC);
  return sim::sample_run_of(*report, taken);
}

class CheckCommand : public Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "Validate a scenario and estimate its cost on this machine, without running it.";
  }
  std::string_view examples() const override {
    return "  wharf check fetch-64-bytes\n"
           "  wharf check fetch-64-bytes --set run.operations=1000000\n"
           "  wharf check incast\n";
  }
  void declare(Options& app) override { scenario_.declare(app); }
  Result<ExitCode> run(const Console& console) override {
    // It writes nothing before its end, and a fabric takes long to lay out, to fill and to count.
    end_at_interrupt("wharf: interrupted; the cost was not estimated\n");
    WHARF_TRY(scenario_.take_seed());
    WHARF_TRY(scenario_.read());
    const auto many = scenario_.many_hosts();
    if (!many) return many.error();
    if (*many) return check_fabric(scenario_, console);
    auto scenario = scenario_.load();
    if (!scenario) return scenario.error();
    tell_inputs(scenario_, *scenario, console);
    if (scenario->config.program == sim::ProgramKind::kReplay) {
      const auto trace = sim::TraceReader::open(scenario->config.replay.trace);
      if (!trace) return trace.error();
    }
    const auto sample = sim::measure_sample(*scenario, timed_run);
    if (!sample) return sample.error();
    const auto estimate = sim::estimate_cost(*scenario, sample->cost);
    if (!estimate) return estimate.error();
    for (const std::string& line : scenario->no_influence) console.remark(line);
    console.print(json_of(*scenario, *sample, *estimate));
    console.print(text_of(*scenario, *sample, *estimate));
    return ExitCode::kDone;
  }

 private:
  nlohmann::ordered_json json_of(const sim::Scenario& scenario, const sim::MeasuredSample& sample,
                                 const sim::CostEstimate& estimate) const {
    return {{"scenario", scenario_.file},
            {"valid", true},
            {"estimate",
             {{"hosts", estimate.hosts},
              {"clients", estimate.clients},
              {"hops", estimate.hops},
              {"operations", estimate.operations},
              {"events", estimate.events},
              {"memory_bytes", estimate.memory_bytes},
              {"seconds", estimate.seconds},
              {"sample",
               {{"operations", sample.operations},
                {"event_ns", sample.cost.event_ns},
                {"events_per_operation", sample.cost.events_per_operation}}}}},
            {"without_influence", scenario.no_influence}};
  }
  std::string text_of(const sim::Scenario& scenario, const sim::MeasuredSample& sample,
                      const sim::CostEstimate& estimate) const {
    const std::string hosts =
        estimate.hosts > 2 ? fmt::format("{} hosts, {} of them clients; ", estimate.hosts, estimate.clients)
                           : "";
    const std::string cost = fmt::format(
        "{} is valid: {}about {} operations, {} events, {:.1f} s on one core, {} MiB", scenario_.file, hosts,
        estimate.operations, estimate.events, estimate.seconds, estimate.memory_bytes >> 20U);
    const std::string basis =
        fmt::format("(a sample of {} operations took {:.0f} ns per event here just now; {})",
                    sample.operations, sample.cost.event_ns,
                    scenario.config.program == sim::ProgramKind::kReplay
                        ? "the rest of a trace may miss its caches more or less often"
                        : "loss-free runs stay within a factor of two");
    return report::in_lines(cost) + report::in_lines(basis);
  }

  ScenarioOptions scenario_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace wharf::cli
