// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/summary_schema.h"

#include <fmt/format.h>

#include <string_view>

#include "sim/scenario/counter_report.h"
#include "sim/scenario/replay_report.h"
#include "sim/scenario/world_traffic.h"
#include "trace/stage.h"
#include "verbs/verb.h"

namespace wharf::sim {
namespace {

void add_latencies(std::vector<std::string>& paths, const std::string& prefix) {
  for (const char* statistic : {"min", "mean", "p50", "p99", "p999", "max"})
    paths.push_back(fmt::format("{}.latency_ns.{}", prefix, statistic));
}

void add_verb(std::vector<std::string>& paths, std::string_view verb) {
  const std::string prefix = fmt::format("verbs.{}", verb);
  for (const char* number : {"count", "failed", "bytes", "unattributed_ns"})
    paths.push_back(fmt::format("{}.{}", prefix, number));
  add_latencies(paths, prefix);
  for (const char* part : {"critical_ns", "overlapped_ns"}) {
    for (int stage = 0; stage < trace::kStageCount; ++stage)
      paths.push_back(fmt::format("{}.{}.{}", prefix, part, trace::name(static_cast<trace::Stage>(stage))));
  }
}

}  // namespace

std::vector<std::string> summary_paths(const ScenarioConfig& config) {
  std::vector<std::string> paths{"seed",
                                 "goodput_gbps",
                                 "program.operations",
                                 "program.errors",
                                 "program.operations_per_second",
                                 "program.goodput_bps",
                                 "simulated_ns",
                                 "events"};
  add_latencies(paths, "program");
  // Every verb: a program may end its peers by one of its own, and a pager reads where the program loads.
  for (const std::string_view verb : verbs::verb_names()) add_verb(paths, verb);
  for (std::string& counter : counter_names(config)) paths.push_back("counters." + std::move(counter));
  if (config.program == ProgramKind::kReplay) {
    for (std::string& value : replay_numbers(config.world.given))
      paths.push_back("replay." + std::move(value));
  } else {
    for (const workload::NamedCount& count : workload::own_counts(workload::empty_result(config.workload)))
      paths.push_back(fmt::format("counters.program.{}", count.name));
  }
  for (const ProgramSettings& program : config.programs) {
    const std::string prefix = "programs." + program.name;
    for (const char* number : {"operations", "errors", "operations_per_second", "goodput_bps"})
      paths.push_back(fmt::format("{}.{}", prefix, number));
    add_latencies(paths, prefix);
    for (const workload::NamedCount& count : workload::own_counts(workload::empty_result(program.workload)))
      paths.push_back(fmt::format("{}.counts.{}", prefix, count.name));
  }
  if (config.world.fabric.traffic.any()) {
    for (std::string& value : background_paths(config.world.fabric.traffic))
      paths.push_back(std::move(value));
  }
  return paths;
}

Result<void> check_expectations(const Scenario& scenario) {
  if (scenario.expectations.empty()) return {};
  return check_paths(scenario.expectations, summary_paths(scenario.config));
}

}  // namespace wharf::sim
