// SPDX-License-Identifier: Apache-2.0
// Running a scenario: builds the hosts, runs the program to its end, reports what happened.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/wire_mode.h"
#include "sim/host/core/operation_log.h"
#include "sim/scenario/observed_network.h"
#include "sim/scenario/scenario.h"
#include "trace/attribution.h"
#include "trace/tracer.h"
#include "verbs/operation_record.h"

namespace wharf::sim {

/// How far a run has come.
struct RunProgress {
  double fraction = 0;  ///< Of the operations, 0 to 1.
  TimePs simulated;
  std::uint64_t events = 0;
};

/// What a caller wants from a run beside its report. Everything is optional.
struct RunOptions {
  WireMode wire = WireMode::kStructs;
  bool attribution = true;
  const std::atomic<bool>* interrupt = nullptr;  ///< Checked between slices of events.
  void (*progress)(void* context, const RunProgress& progress) = nullptr;
  void* progress_context = nullptr;
  /// Attached to the run's tracer with its mask, for captures and timelines.
  trace::Sink* sink = nullptr;
  std::uint32_t sink_mask = 0;
  /// The operation (counted from 0 in order of their ends) whose spans are kept for a waterfall; none if too
  /// large.
  std::uint64_t waterfall_operation = 0;
  /// Written while the run goes on.
  std::vector<NamedCapture> captures{};
};

/// Latency statistics of operations that ended well. They cover all of them; where the record limit cut
/// records off, the percentiles come from a histogram and lie up to 1/128 above the exact ones.
struct LatencySummary {
  std::uint64_t count = 0;
  bool exact = true;  ///< The percentiles are those of the records themselves.
  double mean_ns = 0;
  double min_ns = 0;
  double p50_ns = 0;
  double p99_ns = 0;
  double p999_ns = 0;
  double max_ns = 0;
};

/// All operations of one verb.
struct VerbReport {
  verbs::Verb verb = verbs::Verb::kRead;
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  LatencySummary latency;
  trace::OperationPath path;  ///< Sums over all of them.

  /// Mean critical-path time of a stage in nanoseconds.
  double critical_ns(trace::Stage stage) const;
};

/// What one program came to at all its clients.
struct ProgramReport {
  std::string name;  ///< Empty: that of "run.*".
  workload::WorkloadKind kind = workload::WorkloadKind::kPointerChase;
  std::uint64_t operations = 0;
  std::uint64_t errors = 0;
  double operations_per_second = 0;  ///< Over the time from the first start to the last end.
  double goodput_bps = 0;
  LatencySummary latency;
  Histogram latencies;                       ///< Of all of them, in picoseconds.
  std::vector<workload::NamedCount> counts;  ///< Its own, summed over its clients.
};

enum class RunOutcome : std::uint8_t { kDone, kInterrupted, kStalled };

struct RunReport {
  RunOutcome end = RunOutcome::kDone;
  std::vector<std::string> waiting;  ///< Stalled: who waits for what, one line each.

  std::vector<VerbReport> verbs;   ///< Verbs that occurred, in enumerator order.
  LatencySummary program_latency;  ///< The program's own operations (gets, hops, round trips), party 0.
  Histogram program_latencies;     ///< Of all clients, in picoseconds.
  std::uint64_t program_operations = 0;
  std::uint64_t program_errors = 0;
  double operations_per_second =
      0;  ///< Program operations over the time from the first start to the last end.
  double goodput_bps = 0;
  std::vector<ProgramReport> programs;  ///< Those beside that of "run.*".
  std::string verdict;                  ///< Empty, or what the program found wrong with memory.
  /// Comparisons of memory with what it must hold; 0: nothing was proven, whatever `verdict` says.
  std::uint64_t memory_checks = 0;

  TimePs simulated;
  std::uint64_t events = 0;
  std::uint64_t fingerprint = 0;
  /// By component: engines, links, caches, NICs. What happened after the program's end is counted too: late
  /// acknowledgements, and dirty lines that were written to the remote.
  nlohmann::ordered_json counters;
  nlohmann::ordered_json
      background;                 ///< Worlds with traffic only: what flows came to until the programs ended.
  nlohmann::ordered_json replay;  ///< Trace replay only: hits, misses, times, paging.

  /// Switches between the hosts only: what the network did until the programs ended.
  std::shared_ptr<const ObservedNetwork> network;

  OperationLog log{0};
  std::vector<verbs::OperationRecord> program_log;  ///< Party 0, up to the record limit.
  std::vector<trace::Attribution::Span> waterfall;  ///< Spans of the chosen operation; empty: no such one.
  std::vector<std::string> places;                  ///< Links by Span::place less 1; empty on a wire.
  OperationEntry waterfall_operation;               ///< What it was, when `waterfall` holds spans.

  const VerbReport* find(verbs::Verb verb) const;
};

/// Runs to the end, the stall or the interrupt. Refuses combinations that make no sense with one sentence.
Result<RunReport> run_scenario(const Scenario& scenario, const RunOptions& options);

/// summary.json of a run: a function of scenario and seed alone.
nlohmann::ordered_json summary_of(const Scenario& scenario, const RunReport& report);

}  // namespace wharf::sim
