// SPDX-License-Identifier: Apache-2.0
// summary.json: what every result directory has and every expectation and sweep reads.
#include <fmt/format.h>

#include <cmath>

#include "base/fingerprint.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/run.h"
#include "verbs/verb.h"

namespace wharf::sim {
namespace {

using Json = nlohmann::ordered_json;

/// Three decimals are a picosecond; more would be noise of the division.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

Json latency_json(const LatencySummary& latency) {
  return {{"min", rounded(latency.min_ns)},    {"mean", rounded(latency.mean_ns)},
          {"p50", rounded(latency.p50_ns)},    {"p99", rounded(latency.p99_ns)},
          {"p999", rounded(latency.p999_ns)},  {"max", rounded(latency.max_ns)},
          {"percentiles_exact", latency.exact}};
}

Json stage_json(const std::array<TimePs, trace::kStageCount>& times, std::uint64_t count) {
  Json out = Json::object();
  for (int stage = 0; stage < trace::kStageCount; ++stage) {
    const TimePs time = times[static_cast<std::size_t>(stage)];
    if (time == kTimeZero) continue;
    out[std::string(trace::name(static_cast<trace::Stage>(stage)))] =
        rounded(as_nanoseconds(time) / static_cast<double>(count));
  }
  return out;
}

std::string verdict_text(const RunReport& report) {
  if (!report.verdict.empty()) return report.verdict;
  if (report.memory_checks == 0) return "memory was not checked";
  return fmt::format("memory held every promise in {} check{}", report.memory_checks,
                     report.memory_checks == 1 ? "" : "s");
}

std::string_view name(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kDone:
      return "done";
    case RunOutcome::kInterrupted:
      return "interrupted";
    case RunOutcome::kStalled:
      return "stalled";
  }
  WHARF_UNREACHABLE();
}

}  // namespace

Json summary_of(const Scenario& scenario, const RunReport& report) {
  const ScenarioConfig& config = scenario.config;
  Json out;
  out["title"] = config.title;
  out["end"] = name(report.end);
  out["profile"] = config.profile;
  out["stack"] = name(config.stack);
  out["workload"] = config.program == ProgramKind::kReplay
                        ? std::string("replay")
                        : std::string(workload::name(workload::kind_of(config.workload)));
  out["seed"] = config.seed;
  out["program"] = {{"operations", report.program_operations},
                    {"errors", report.program_errors},
                    {"operations_per_second", rounded(report.operations_per_second)},
                    {"goodput_bps", rounded(report.goodput_bps)},
                    {"verdict", verdict_text(report)},
                    {"latency_ns", latency_json(report.program_latency)}};
  // As runs of flows have it; the program's own, in bits per second, stays until the next schema version.
  out["goodput_gbps"] = rounded(report.goodput_bps) / 1e9;
  for (const VerbReport& verb : report.verbs) {
    Json one;
    one["count"] = verb.count;
    one["failed"] = verb.failed;
    one["bytes"] = verb.bytes;
    one["latency_ns"] = latency_json(verb.latency);
    one["critical_ns"] = stage_json(verb.path.critical, verb.count);
    one["overlapped_ns"] = stage_json(verb.path.overlapped, verb.count);
    one["unattributed_ns"] =
        rounded(as_nanoseconds(verb.path.unattributed) / static_cast<double>(verb.count));
    out["verbs"][std::string(verbs::name(verb.verb))] = std::move(one);
  }
  for (const ProgramReport& program : report.programs) {
    Json one{{"workload", workload::name(program.kind)},
             {"operations", program.operations},
             {"errors", program.errors},
             {"operations_per_second", rounded(program.operations_per_second)},
             {"goodput_bps", rounded(program.goodput_bps)},
             {"latency_ns", latency_json(program.latency)}};
    for (const workload::NamedCount& count : program.counts)
      one["counts"][std::string(count.name)] = count.value;
    out["programs"][program.name] = std::move(one);
  }
  if (!report.background.is_null()) out["background"] = report.background;
  if (!report.replay.is_null()) out["replay"] = report.replay;
  out["simulated_ns"] = as_nanoseconds(report.simulated);
  out["events"] = report.events;
  out["fingerprint"] = fingerprint_hex(report.fingerprint);
  out["counters"] = report.counters;
  if (!report.waiting.empty()) out["waiting"] = report.waiting;
  return out;
}

}  // namespace wharf::sim
