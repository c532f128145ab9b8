// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/line.h"
#include "sim/host/core/program_log.h"
#include "sim/scenario/assembly.h"
#include "sim/scenario/counter_report.h"
#include "sim/scenario/queue_depth.h"
#include "sim/scenario/replay_run.h"
#include "sim/scenario/world_traffic.h"

namespace wharf::sim {
namespace {

/// Clients that run one program against the memory of one server; what the parties of that program share.
struct Cell {
  std::size_t server = 0;
  std::vector<std::size_t> hosts;  ///< By party.
  workload::WorkloadConfig config;
  std::vector<workload::WorkloadResult> results;
  workload::ItemLedger ledger;  ///< Of item gets: what one party knows of the other's puts.
  verbs::RemoteSegment segment;
  std::vector<SimRemote*> remotes;  ///< By party.

  std::uint32_t parties() const { return static_cast<std::uint32_t>(hosts.size()); }
  /// The second party runs at the server.
  bool is_pair() const { return parties() == 2 && hosts[1] == server; }
  /// Parties that run at clients: the first ones.
  std::uint32_t clients() const { return is_pair() ? 1 : parties(); }
};

/// A program of pairs has a cell for each client, whose second party runs at the server; any other one a cell
/// for each server, with all its clients.
std::vector<Cell> cells_of(const workload::WorkloadConfig& config, const WorldRoles& roles) {
  std::vector<Cell> cells;
  const auto add = [&](std::size_t server, std::vector<std::size_t> hosts) {
    Cell& cell = cells.emplace_back();
    cell.server = server;
    cell.hosts = std::move(hosts);
    cell.config = config;
  };
  const bool pairs = workload::parties_needed(config) == 2;
  for (std::uint32_t client = 0; client < roles.clients; ++client) {
    const std::uint32_t server = roles.server_of(client);
    if (pairs) {
      add(server, {client, server});
    } else if (client < roles.servers) {
      add(server, {client});
    } else {
      cells[client % roles.servers].hosts.push_back(client);
    }
  }
  for (Cell& cell : cells) cell.results.assign(cell.hosts.size(), workload::empty_result(config));
  return cells;
}

/// What all clients did together; with one client its records are exact.
void fill_program(const std::vector<Cell>& cells, const ProgramLog& log, RunReport& report) {
  Histogram latency;
  TimePs begin = kNever;
  TimePs end;
  std::uint64_t bytes = 0;
  std::size_t programs = 0;
  for (const Cell& cell : cells) {
    for (std::size_t party = 0; party < cell.clients(); ++party) {
      const workload::LoopResult& loop = workload::loop_result(cell.results[party]);
      ++programs;
      report.program_operations += loop.operations;
      report.program_errors += loop.errors;
      bytes += loop.bytes;
      latency.merge(loop.latency);
      if (loop.operations == 0) continue;
      begin = min(begin, loop.begin);
      end = max(end, loop.end);
    }
  }
  report.program_latency = histogram_latency(latency);
  if (programs == 1 && log.dropped() == 0) {
    std::vector<std::int64_t> latencies;
    for (const verbs::OperationRecord& record : log.records()) {
      // Warm-up operations come first and are no part of the result.
      if (record.status == verbs::CompletionStatus::kSuccess)
        latencies.push_back((record.ended - record.arrived).ps);
    }
    if (latencies.size() == report.program_operations) report.program_latency = exact_latency(latencies);
  }
  if (report.program_operations != 0 && end > begin) {
    const double seconds_taken = static_cast<double>((end - begin).ps) / 1e12;
    report.operations_per_second = static_cast<double>(report.program_operations) / seconds_taken;
    report.goodput_bps = static_cast<double>(bytes) * 8 / seconds_taken;
  }
}

/// Adds `finding` to what the run's memory did wrong.
void add_to_verdict(RunReport& report, std::string_view finding) {
  if (!report.verdict.empty()) report.verdict += "; ";
  report.verdict += finding;
}

/// Writes what the caches of all hosts still hold dirty to the remotes, and lets everything come to rest;
/// says in the report when that did not happen before `limit`.
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
  if (world.run(limit).end == RunEnd::kTimeReached) {
    add_to_verdict(report, fmt::format("run.time_limit of {} was reached before all that the program left "
                                       "behind, dirty lines among it, was done",
                                       format_time(limit)));
  }
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

/// Exposes the memory of a cell, connects its parties with it and prepares it.
Result<void> join(World& world, Cell& cell, const ScenarioConfig& config) {
  const workload::Party party{0, cell.parties()};
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  if (auto* gets = std::get_if<workload::ItemGetsConfig>(&cell.config)) {
    gets->shared_ledger = &cell.ledger;
    read_order = gets->read_order;
  }
  WHARF_TRY(workload::check(cell.config, party));
  const std::uint64_t offset = workload::region_offset(cell.config);
  const std::uint64_t needed = workload::memory_needed(cell.config, party);
  const Bytes length{std::max<std::uint64_t>(offset + needed, kLineBytes)};
  auto segment = world.expose(cell.server, length, verbs::kFullAccess, read_order);
  if (!segment) return segment.error();
  cell.segment = *segment;
  for (const std::size_t host : cell.hosts) {
    if (host == cell.server) continue;  // The other end of the first party's pair.
    auto back = world.expose(host, length);
    if (!back) return back.error();
    auto pair = world.connect(host, cell.server, cell.segment, *back, queue_depth(cell.config));
    if (!pair) return pair.error();
    cell.remotes.push_back(pair->near);
    if (cell.is_pair()) cell.remotes.push_back(pair->far);
    WHARF_TRY(workload::check_remote(cell.config, party, *pair->near));
  }
  if (needed != 0) {
    workload::prepare(cell.config, party,
                      world.host(cell.server).memory().bytes(cell.segment.base + offset, Bytes{needed}),
                      config.seed);
  }
  return {};
}

/// Compares the memory of a cell with what its parties have seen and written.
void judge(World& world, const Cell& cell, const ScenarioConfig& config, RunReport& report) {
  const workload::Party party{0, cell.parties()};
  const std::uint64_t needed = workload::memory_needed(cell.config, party);
  if (needed == 0) return;
  const std::uint64_t at = cell.segment.base + workload::region_offset(cell.config);
  const workload::Verdict verdict =
      workload::verify(cell.config, party, world.host(cell.server).memory().bytes(at, Bytes{needed}),
                       config.seed, cell.results);
  report.memory_checks += verdict.checks;
  if (!verdict.holds()) add_to_verdict(report, workload::describe(verdict));
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
  apply_options(options, plan->config);
  auto made = World::create(std::move(plan->config));
  if (!made) return made.error();
  World& world = **made;
  world.keep_spans_of(0, options.waterfall_operation);
  if (options.sink != nullptr) world.attach(*options.sink, options.sink_mask);

  std::vector<Cell> cells = cells_of(config.workload, plan->roles);
  for (Cell& cell : cells) WHARF_TRY(join(world, cell, config));
  const Cell& first = cells.front();
  ProgramLog program_log(config.record_limit);
  world.host(first.hosts[0]).core().connect(program_log);
  for (Cell& cell : cells) {
    for (std::uint32_t party = cell.parties(); party-- > 0;) {
      SimCore& core = world.host(cell.hosts[party]).core();
      core.spawn(workload::run(cell.config, {party, cell.parties()}, config.seed, *cell.remotes[party], core,
                               cell.results[party]));
    }
  }

  RunReport report;
  const workload::LoopConfig& loop = workload::loop_config(config.workload);
  report.end = run_to_the_end(
      world, config.time_limit, options,
      [&] {
        const workload::LoopResult& so_far = workload::loop_result(first.results[0]);
        if (loop.operations == 0)
          return loop.duration.ps == 0
                     ? 0.0
                     : static_cast<double>(world.now().ps) / static_cast<double>(loop.duration.ps);
        return static_cast<double>(so_far.operations + so_far.errors) / static_cast<double>(loop.operations);
      },
      report.waiting);
  fill_from(world, config, report);
  if (!world.background().flows.empty()) report.background = background_report(world);
  world.stop_background();
  fill_program(cells, program_log, report);
  if (report.end == RunOutcome::kDone) settle(world, config.time_limit, report);
  // Counted to the end: a dirty line that settle() wrote is a write-back, whether it got lost or not.
  report.counters = counter_report(world, config);
  for (const Cell& cell : cells) {
    for (std::uint32_t party = 0; party < cell.clients(); ++party) {
      for (const workload::NamedCount& count : workload::own_counts(cell.results[party])) {
        auto& sum = report.counters["program"][std::string(count.name)];
        sum = (sum.is_null() ? 0 : sum.get<std::uint64_t>()) + count.value;
      }
    }
  }
  for (std::size_t index = 0; index < world.host_count(); ++index) {
    if (world.is_thin(index)) continue;
    if (const LoadStorePort* port = world.host(index).load_store()) note_lost_lines(*port, report);
  }
  if (report.end == RunOutcome::kDone) {
    for (const Cell& cell : cells) judge(world, cell, config, report);
  }
  report.program_log = program_log.records();
  report.log = world.log();
  return report;
}

}  // namespace wharf::sim
