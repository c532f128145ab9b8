// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/line.h"
#include "sim/host/program_log.h"
#include "sim/scenario/assembly.h"
#include "sim/scenario/counter_report.h"
#include "sim/scenario/replay_run.h"

namespace wharf::sim {
namespace {

/// Receive entries per worker that a program may keep posted, with some room.
constexpr std::uint32_t kEntriesPerWorker = 8;
constexpr std::uint32_t kDeepestQueue = 65'536;

/// What the parties of a program share.
struct Parties {
  workload::WorkloadConfig config;
  std::array<workload::WorkloadResult, 2> results;
  std::uint32_t count = 1;
  workload::ItemLedger ledger;  ///< Of item gets: what one party knows of the other's puts.
};

std::uint32_t queue_depth(const workload::WorkloadConfig& config) {
  const std::uint32_t wanted = std::bit_ceil(kEntriesPerWorker * workload::loop_config(config).concurrency);
  return std::clamp(wanted, 128U, kDeepestQueue);
}

void fill_program(const workload::LoopResult& loop, const ProgramLog& log, RunReport& report) {
  report.program_operations = loop.operations;
  report.program_errors = loop.errors;
  report.program_latency = histogram_latency(loop.latency);
  if (log.dropped() == 0) {
    std::vector<std::int64_t> latencies;
    for (const verbs::OperationRecord& record : log.records()) {
      // Warm-up operations come first and are no part of the result.
      if (record.status == verbs::CompletionStatus::kSuccess)
        latencies.push_back((record.ended - record.arrived).ps);
    }
    if (latencies.size() == loop.operations) report.program_latency = exact_latency(latencies);
  }
  if (loop.operations != 0 && loop.end > loop.begin) {
    const double seconds_taken = static_cast<double>((loop.end - loop.begin).ps) / 1e12;
    report.operations_per_second = static_cast<double>(loop.operations) / seconds_taken;
    report.goodput_bps = static_cast<double>(loop.bytes) * 8 / seconds_taken;
  }
}

/// Adds `finding` to what the run's memory did wrong.
void add_to_verdict(RunReport& report, std::string_view finding) {
  if (!report.verdict.empty()) report.verdict += "; ";
  report.verdict += finding;
}

/// Writes what the caches of host 0 still hold dirty to the remote, and lets everything come to rest; says in
/// the report when that did not happen before `limit`.
void settle(TwoHosts& two, TimePs limit, RunReport& report) {
  Host& host = two.host(0);
  if (LoadStorePort* port = host.load_store()) {
    host.caches().clean_all([port](LineNumber line) {
      if ((line & kRemoteLineBit) != 0) port->write_back(line);
    });
  }
  if (two.run(limit).end == RunEnd::kTimeReached) {
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

  auto made = TwoHosts::create(two_hosts_config(config, options));
  if (!made) return made.error();
  TwoHosts& two = **made;
  two.records().keep_spans_of(options.waterfall_operation);
  if (options.sink != nullptr) two.tracer().attach(*options.sink, options.sink_mask);

  Parties parties{config.workload,
                  {workload::empty_result(config.workload), workload::empty_result(config.workload)},
                  workload::parties_needed(config.workload),
                  {}};
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  if (auto* gets = std::get_if<workload::ItemGetsConfig>(&parties.config)) {
    gets->shared_ledger = &parties.ledger;
    read_order = gets->read_order;
  }
  const std::uint64_t offset = workload::region_offset(config.workload);
  const std::uint64_t needed = workload::memory_needed(config.workload, {0, parties.count});
  const Bytes length{std::max<std::uint64_t>(offset + needed, kLineBytes)};
  auto near_segment = two.expose(1, length, verbs::kFullAccess, read_order);
  if (!near_segment) return near_segment.error();
  auto far_segment = two.expose(0, length);
  if (!far_segment) return far_segment.error();
  auto pair = two.connect(*near_segment, *far_segment, queue_depth(config.workload));
  if (!pair) return pair.error();
  WHARF_TRY(workload::check_remote(config.workload, {0, parties.count}, *pair->near));

  const auto region = [&] { return two.host(1).memory().bytes(near_segment->base + offset, Bytes{needed}); };
  if (needed != 0) workload::prepare(config.workload, {0, parties.count}, region(), config.seed);

  ProgramLog program_log(config.record_limit);
  two.host(0).core().connect(program_log);
  for (std::uint32_t party = parties.count; party-- > 0;) {
    SimRemote& remote = party == 0 ? *pair->near : *pair->far;
    two.host(party).core().spawn(workload::run(parties.config, {party, parties.count}, config.seed, remote,
                                               two.host(party).core(), parties.results[party]));
  }

  RunReport report;
  const workload::LoopConfig& loop = workload::loop_config(config.workload);
  report.end = run_to_the_end(
      two, config.time_limit, options,
      [&] {
        const workload::LoopResult& so_far = workload::loop_result(parties.results[0]);
        if (loop.operations == 0)
          return loop.duration.ps == 0
                     ? 0.0
                     : static_cast<double>(two.simulation().now().ps) / static_cast<double>(loop.duration.ps);
        return static_cast<double>(so_far.operations + so_far.errors) / static_cast<double>(loop.operations);
      },
      report.waiting);
  fill_from(two, report);
  fill_program(workload::loop_result(parties.results[0]), program_log, report);
  if (report.end == RunOutcome::kDone) settle(two, config.time_limit, report);
  // Counted to the end: a dirty line that settle() wrote is a write-back, whether it got lost or not.
  report.counters = counter_report(two);
  for (const workload::NamedCount& count : workload::own_counts(parties.results[0])) {
    report.counters["program"][std::string(count.name)] = count.value;
  }
  if (const LoadStorePort* port = two.host(0).load_store()) note_lost_lines(*port, report);
  if (report.end == RunOutcome::kDone) {
    if (needed != 0) {
      const std::span<const workload::WorkloadResult> results(parties.results.data(), parties.count);
      const workload::Verdict verdict =
          workload::verify(config.workload, {0, parties.count}, region(), config.seed, results);
      report.memory_checks = verdict.checks;
      if (!verdict.holds()) add_to_verdict(report, workload::describe(verdict));
    }
  }
  report.program_log = program_log.records();
  report.log = two.log();
  return report;
}

}  // namespace wharf::sim
