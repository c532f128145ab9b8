// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/host/core/program_log.h"
#include "sim/scenario/assembly.h"
#include "sim/scenario/counter_report.h"
#include "sim/scenario/program_cells.h"
#include "sim/scenario/replay_run.h"
#include "sim/scenario/world_traffic.h"

namespace wharf::sim {
namespace {

/// Writes what the caches of all hosts still hold dirty to the remotes, and lets everything come to rest;
/// says in the report what did not before `limit`.
void settle(World& world, TimePs limit, RunReport& report) {
  for (std::size_t index = 0; index < world.host_count(); ++index) {
    if (world.is_thin(index)) continue;
    Host& host = world.host(index);
    if (LoadStorePort* port = host.load_store()) {
      host.caches().clean_all([port](LineNumber line) {
        if ((line & kRemoteLineBit) != 0) port->write_back(line);
      });
    }
  }
  if (world.run(limit).end != RunEnd::kTimeReached) return;
  // Timers of connections that nobody uses may go on for longer: they hold nothing back.
  const std::vector<std::string> waiting = world.describe_waiting();
  if (waiting.empty()) return;
  add_to_verdict(report, fmt::format("run.time_limit of {} was reached before all that the program left "
                                     "behind, dirty lines among it, was done; {}",
                                     format_time(limit), waiting.front()));
}

/// Says in the report which dirty lines never came home, those that settle() wrote included.
void note_lost_lines(const LoadStorePort& port, RunReport& report) {
  const std::uint64_t lost = port.counters().lines_lost;
  if (lost == 0) return;
  add_to_verdict(
      report,
      fmt::format("{} dirty line{} lost, with the stores in {} that had ended well: the write-back of "
                  "{:#x} ended with {}",
                  lost, lost == 1 ? " is" : "s are", lost == 1 ? "it" : "them", port.first_lost().address,
                  verbs::name(port.first_lost().status)));
}

/// The program of "run.*"; returns its own counts.
std::vector<workload::NamedCount> fill_program(const ProgramRun& program, const ProgramLog& log,
                                               RunReport& report) {
  const ProgramReport own = program.report(&log);
  report.program_operations = own.operations;
  report.program_errors = own.errors;
  report.operations_per_second = own.operations_per_second;
  report.goodput_bps = own.goodput_bps;
  report.program_latency = own.latency;
  report.program_latencies = own.latencies;
  return own.counts;
}

}  // namespace

double VerbReport::critical_ns(trace::Stage stage) const {
  return count == 0
             ? 0
             : as_nanoseconds(path.critical[static_cast<std::size_t>(stage)]) / static_cast<double>(count);
}

const VerbReport* RunReport::find(verbs::Verb verb) const {
  for (const VerbReport& report : verbs) {
    if (report.verb == verb) return &report;
  }
  return nullptr;
}

Result<RunReport> run_scenario(const Scenario& scenario, const RunOptions& options) {
  const ScenarioConfig& config = scenario.config;
  if (config.program == ProgramKind::kReplay) return run_replay(scenario, options);

  auto plan = plan_world(config);
  if (!plan) return plan.error();
  WHARF_TRY(apply_options(options, plan->config));
  auto made = World::create(std::move(plan->config));
  if (!made) return made.error();
  World& world = **made;
  world.keep_spans_of(0, options.waterfall_operation);
  if (options.sink != nullptr) world.attach(*options.sink, options.sink_mask);

  ProgramRun main("", 0, config.workload, plan->programs.front(), config.seed);
  WHARF_TRY(main.join(world));
  auto beside = ProgramsBeside::join(world, config, *plan);
  if (!beside) return beside.error();
  ProgramLog program_log(config.record_limit);
  world.host(main.first_host()).core().connect(program_log);
  main.spawn(world);
  beside->spawn(world);

  RunReport report;
  const auto judge_records = [&](TimePs until) {
    main.judge_records(until);
    beside->judge_records(until);
  };
  const RunHooks hooks{.fraction = [&] { return main.fraction(world.now()); },
                       .at_rest = [&] { judge_records(world.now()); }};
  report.end = run_to_the_end(world, config.time_limit, options, hooks, report.waiting);
  judge_records(kNever);
  fill_from(world, config, report);
  if (!world.background().flows.empty())
    report.background = background_report(world, config.world.fabric.traffic);
  world.stop_background();
  const std::vector<workload::NamedCount> counts = fill_program(main, program_log, report);
  beside->report(report);
  if (report.end == RunOutcome::kDone) settle(world, config.time_limit, report);
  // Counted to the end: a dirty line that settle() wrote is a write-back, whether it got lost or not.
  report.counters = counter_report(world, config);
  for (const workload::NamedCount& count : counts)
    report.counters["program"][std::string(count.name)] = count.value;
  for (std::size_t index = 0; index < world.host_count(); ++index) {
    if (world.is_thin(index)) continue;
    if (const LoadStorePort* port = world.host(index).load_store()) note_lost_lines(*port, report);
  }
  if (report.end == RunOutcome::kDone) {
    main.judge(world, report);
    beside->judge(world, report);
  }
  WHARF_TRY(world.close_captures());
  report.program_log = program_log.records();
  report.log = world.log();
  return report;
}

}  // namespace wharf::sim
