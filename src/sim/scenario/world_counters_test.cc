// SPDX-License-Identifier: Apache-2.0
// What the summary of a world counts: the operations of all clients of all servers, all hosts, all switches.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "sim/scenario/counter_report.h"
#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kOperations = 50;

struct Counted {
  RunReport report;
  nlohmann::ordered_json summary;
  std::vector<std::string> names;  ///< That expectations may use.
};

Counted counted(std::vector<std::string> overrides) {
  ScenarioSource source;
  source.overrides = std::move(overrides);
  source.overrides.push_back("run.operations=" + std::to_string(kOperations));
  source.profile_directory = "profiles";
  const Scenario scenario = load_scenario(source).value();
  Counted out{run_scenario(scenario, {}).value(), {}, counter_names(scenario.config)};
  EXPECT_EQ(out.report.end, RunOutcome::kDone);
  EXPECT_EQ(out.report.verdict, "");
  out.summary = summary_of(scenario, out.report);
  return out;
}

/// The programs that say what they did: what they count of their operations is all of them.
TEST(WorldCounters, AProgramsCountsAreThoseOfAllClients) {
  for (const char* stack : {"model.stack=ub_urma", "model.stack=roce_dma", "model.stack=uet"}) {
    const auto result = counted({stack, "run.workload=key_value", "run.keys=64", "run.put_fraction=0.3",
                                 "topology.from=star:7", "hosts.servers=2"});
    const auto& program = result.summary["counters"]["program"];
    EXPECT_EQ(result.report.program_operations, 5 * kOperations) << stack;
    EXPECT_EQ(program["gets"].get<std::uint64_t>() + program["puts"].get<std::uint64_t>(), 5 * kOperations)
        << stack;
    EXPECT_GT(program["puts"].get<std::uint64_t>(), kOperations / 2) << stack;
  }
  const auto lock = counted({"run.workload=cas_lock", "topology.from=star:5", "hosts.servers=1"});
  EXPECT_EQ(lock.summary["counters"]["program"]["increments"], 4 * kOperations);
}

/// Hosts have memory for what their NICs evict: a small cache of records costs time, and no operation.
TEST(WorldCounters, EvictedRecordsComeBack) {
  for (const char* cache :
       {"model.roce.key_cache=1", "model.roce.queue_cache=1", "model.ub.context_cache=4"}) {
    const bool roce = std::string_view(cache).find("roce") != std::string_view::npos;
    const auto result =
        counted({roce ? "model.stack=roce_bf" : "model.stack=ub_urma", cache, "topology.from=star:6",
                 "hosts.servers=1", "run.workload=verb_loop", "run.verb=write_imm", "run.payload=8B"});
    const auto& engine = result.report.counters["hosts"]["engine"];
    EXPECT_EQ(result.report.program_errors, 0U) << cache;
    EXPECT_EQ(engine.value("contexts_lost", 0), 0) << cache;
    EXPECT_GT(engine.value("context_evictions", 0), 0) << cache;
  }
}

/// A program that repeats a verb does so on every client, the second too, and its memory is judged by what
/// all did.
TEST(WorldCounters, EveryClientRepeatsItsVerb) {
  for (const char* verb : {"run.verb=write", "run.verb=read", "run.verb=fetch_add"}) {
    const auto result = counted(
        {"run.workload=verb_loop", verb, "run.payload=8B", "topology.from=star:4", "hosts.servers=1"});
    EXPECT_EQ(result.report.program_operations, 3 * kOperations) << verb;
    EXPECT_GT(result.report.memory_checks, 0U) << verb;
  }
}

/// Counts of hosts and of switches have their place however small the world is, and expectations know their
/// names.
TEST(WorldCounters, HostsAndSwitchesHaveTheirPlace) {
  for (const char* topology : {"back_to_back", "star:2", "star:4", "fat_tree:16"}) {
    const auto result =
        counted({std::string("topology.from=") + topology, "hosts.servers=1", "run.workload=bulk_read"});
    const auto& counters = result.summary["counters"];
    EXPECT_FALSE(counters.contains("host0")) << topology;
    for (const char* part : {"engine", "nic", "link_out"})
      EXPECT_TRUE(counters["hosts"].contains(part)) << topology;
    const std::uint64_t sent = counters["hosts"]["link_out"]["packets"].get<std::uint64_t>();
    const std::uint64_t passed = counters["switches"]["packets"].get<std::uint64_t>();
    EXPECT_GT(sent, 0U) << topology;
    EXPECT_EQ(counters["hosts"]["nic"]["packets_sent"], sent) << topology;
    const std::string_view name(topology);
    if (name.starts_with("fat_tree")) {
      EXPECT_GT(passed, 2 * sent) << topology;
    } else {
      EXPECT_EQ(passed, name.starts_with("star") ? sent : 0U) << topology;
    }
    for (const auto& [key, value] : counters["switches"].items())
      EXPECT_EQ(std::count(result.names.begin(), result.names.end(), "switches." + key), 1) << key;
    for (const auto& [key, value] : counters["hosts"]["nic"].items())
      EXPECT_EQ(std::count(result.names.begin(), result.names.end(), "hosts.nic." + key), 1) << key;
  }
}

}  // namespace
}  // namespace wharf::sim
