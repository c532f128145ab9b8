// SPDX-License-Identifier: Apache-2.0
// Estimates against real runs. The wall time is handed in, so that nothing here depends on the machine;
// memory is compared with what processes take in tests/cli/cli_estimate_test.cc.
#include "sim/scenario/estimate.h"

#include <gtest/gtest.h>

#include "sim/scenario/memory_estimate.h"

namespace wharf::sim {
namespace {

Scenario scenario_with(std::vector<std::string> overrides) {
  ScenarioSource source;
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return *std::move(scenario);
}

/// What the sample of `scenario` took, by a clock that gives each event 10 ns.
SampleCost sampled(const Scenario& scenario) {
  const auto run = [](const Scenario& sample) -> Result<SampleRun> {
    const RunReport report = run_scenario(sample, {}).value();
    EXPECT_EQ(report.end, RunOutcome::kDone);
    return sample_run_of(report, 10.0 * static_cast<double>(report.events));
  };
  return measure_sample(scenario, run).value().cost;
}

void expect_within_factor_of_two(double estimate, double real, const std::string& what) {
  EXPECT_GE(estimate, real / 2) << what;
  EXPECT_LE(estimate, real * 2) << what;
}

TEST(Estimate, MultipliesOperationsWithWhatTheSampleTook) {
  const SampleCost sample{.event_ns = 50, .events_per_operation = 20, .packets_per_operation = 2, .hops = 2};
  const Scenario two = scenario_with({"run.workload=bulk_read", "run.operations=1000"});
  const CostEstimate pair = estimate_cost(two, {.event_ns = 50, .events_per_operation = 20}).value();
  EXPECT_EQ(pair.operations, 1000U);
  EXPECT_EQ(pair.events, 20'000U);
  // Every client has its operations, and each switch that a packet passes has its events.
  const std::vector<std::string> star{"run.workload=bulk_read", "run.operations=1000",
                                      "topology.from=star:54", "hosts.servers=1"};
  const CostEstimate near = estimate_cost(scenario_with(star), sample).value();
  EXPECT_EQ(near.hosts, 54U);
  EXPECT_EQ(near.clients, 53U);
  EXPECT_EQ(near.operations, 53'000U);
  EXPECT_EQ(near.events, 20U * 53'000U);
  EXPECT_GT(near.seconds, 50e-9 * 20 * 53'000);
  // Each core of a client is a party.
  std::vector<std::string> cores = star;
  cores.emplace_back("run.cores=2");
  const CostEstimate twice = estimate_cost(scenario_with(cores), sample).value();
  EXPECT_EQ(twice.clients, 53U);
  EXPECT_EQ(twice.operations, 106'000U);
  std::vector<std::string> tree = star;
  tree.emplace_back("topology.from=fat_tree:54");
  const CostEstimate far = estimate_cost(scenario_with(tree), sample).value();
  EXPECT_GT(far.hops, 5);
  EXPECT_GT(far.events, near.events);
}

TEST(Estimate, ADurationGivesAsManyOperationsAsTheSampleHadInThatTime) {
  const SampleCost sample{.event_ns = 50, .events_per_operation = 20, .operations_per_second = 1e6};
  const auto operations = [&](const std::string& count) {
    return estimate_cost(
               scenario_with({"run.workload=bulk_read", "run.operations=" + count, "run.duration=2ms"}),
               sample)
        .value()
        .operations;
  };
  EXPECT_EQ(operations("0"), 2000U);
  EXPECT_EQ(operations("500"), 500U);
}

TEST(Estimate, SamplesHaveNoTrafficBeside) {
  const Scenario world =
      scenario_with({"run.workload=key_value", "run.keys=1000", "topology.from=fat_tree:54",
                     "hosts.clients=30", "traffic.collective=incast"});
  EXPECT_EQ(sampled(world).hosts, 9U);
}

TEST(Estimate, SamplesAreSmallWhateverIsAsked) {
  const Scenario world =
      scenario_with({"run.workload=key_value", "run.keys=100000000", "topology.from=fat_tree:1024",
                     "hosts.servers=16", "run.operations=1000000"});
  const Scenario sample = sample_of(world, 16);
  EXPECT_EQ(plan_world(sample.config)->roles.hosts, 9U);
  EXPECT_LE(workload::memory_needed(sample.config.workload, {0, 8}), std::uint64_t{32} << 20U);
  EXPECT_EQ(workload::loop_config(sample.config.workload).operations, 16U);
  // Blocks of a gigabyte are not read by the thousand.
  EXPECT_EQ(first_sample_operations(scenario_with({"run.workload=bulk_read", "run.payload=1GiB",
                                                   "run.region_bytes=1GiB", "run.operations=1000"})),
            1U);
}

TEST(Estimate, OperationsAndEventsAreWithinAFactorOfTwo) {
  const std::vector<std::vector<std::string>> worlds{
      {"run.workload=verb_loop"},
      {"run.workload=verb_loop", "topology.from=back_to_back", "hosts.servers=1"},
      {"run.workload=verb_loop", "topology.from=star:4", "hosts.servers=1"},
      {"run.workload=key_value", "run.keys=2000", "topology.from=fat_tree:54", "hosts.servers=1"},
      {"run.workload=bulk_read", "run.payload=16KiB", "topology.from=fat_tree:128", "hosts.servers=8"},
      {"run.workload=ping_pong", "topology.from=star:24", "hosts.servers=8"},
  };
  for (const char* stack : {"ub_urma", "roce_dma", "uet"}) {
    for (std::vector<std::string> overrides : worlds) {
      std::string what = stack;
      for (const std::string& each : overrides) what += " " + each;
      overrides.push_back(std::string("model.stack=") + stack);
      overrides.emplace_back("run.operations=60");
      const Scenario scenario = scenario_with(overrides);
      const CostEstimate estimate = estimate_cost(scenario, sampled(scenario)).value();
      const RunReport report = run_scenario(scenario, {}).value();
      EXPECT_EQ(estimate.operations, report.program_operations) << what;
      expect_within_factor_of_two(static_cast<double>(estimate.events), static_cast<double>(report.events),
                                  what);
    }
  }
}

/// The first operations of a program find its caches empty; where there are few, they are all there is.
TEST(Estimate, FewOperationsAreThoseThatFindCachesEmpty) {
  for (const char* operations : {"run.operations=1", "run.operations=2", "run.operations=200"}) {
    const Scenario scenario =
        scenario_with({"model.stack=ub_ldst", "run.workload=pointer_chase", operations});
    const CostEstimate estimate = estimate_cost(scenario, sampled(scenario)).value();
    const RunReport report = run_scenario(scenario, {}).value();
    EXPECT_EQ(estimate.operations, report.program_operations);
    expect_within_factor_of_two(static_cast<double>(estimate.events), static_cast<double>(report.events),
                                operations);
  }
}

TEST(Estimate, AnEventIsTimedOverManyHoweverFewOperationsThereAre) {
  const Scenario scenario = scenario_with({"run.operations=3"});
  const SampleRun first{.operations = 1, .events = 20, .taken_ns = 9000};
  EXPECT_EQ(second_sample_operations(scenario, first), 3U);
  EXPECT_GT(timing_sample_operations(scenario, first), 10'000U);
  EXPECT_DOUBLE_EQ(event_ns_of(first, {.operations = 1000, .events = 20'020, .taken_ns = 2'009'000}), 100);
  // The first run was disturbed.
  EXPECT_DOUBLE_EQ(event_ns_of(first, {.operations = 2, .events = 40, .taken_ns = 8000}), 1);
}

TEST(Estimate, ItemGetsAndTracesKeepTheirs) {
  const Scenario gets =
      scenario_with({"run.workload=item_gets", "run.operations=500", "model.stack=roce_dma"});
  const CostEstimate estimate = estimate_cost(gets, sampled(gets)).value();
  EXPECT_EQ(estimate.operations, 500U);
  const RunReport report = run_scenario(gets, {}).value();
  expect_within_factor_of_two(static_cast<double>(estimate.events), static_cast<double>(report.events),
                              "item_gets");

  const Scenario replay =
      scenario_with({"run.workload=replay", "run.trace=traces/sort-numbers.wtrace", "model.stack=ub_ldst"});
  const SampleCost fetches = sampled(replay);
  EXPECT_DOUBLE_EQ(fetches.event_ns, 10);
  const CostEstimate trace = estimate_cost(replay, fetches).value();
  EXPECT_EQ(trace.operations, 1'960'432U);
  EXPECT_GT(trace.seconds, 0);
  // Every client replays all of it; a sample is a piece of it, by one client.
  const Scenario world = scenario_with({"run.workload=replay", "run.trace=traces/sort-numbers.wtrace",
                                        "model.stack=ub_ldst", "topology.from=star:5", "hosts.servers=1"});
  EXPECT_EQ(estimate_cost(world, sampled(world)).value().operations, 4 * trace.operations);
  EXPECT_EQ(run_scenario(sample_of(world, 1000), {}).value().program_operations, 1000U);
}

/// A lock takes the more attempts the more clients want it; a trace misses most at its beginning.
TEST(Estimate, FightsAndTracesOnManyHostsAreWithinAFactorOfTwo) {
  const std::vector<std::vector<std::string>> worlds{
      {"run.workload=cas_lock", "run.operations=20", "topology.from=star:33", "model.stack=roce_dma"},
      {"run.workload=cas_lock", "run.operations=5", "topology.from=star:65", "model.stack=ub_urma"},
      {"run.workload=replay", "run.trace=traces/sort-numbers.wtrace", "topology.from=star:4",
       "model.stack=ub_ldst"},
      {"run.workload=replay", "run.trace=traces/sort-numbers.wtrace", "topology.from=star:4",
       "model.stack=roce_dma", "model.replay.far_memory=paged"},
  };
  for (std::vector<std::string> overrides : worlds) {
    std::string what;
    for (const std::string& each : overrides) what += each + " ";
    overrides.emplace_back("hosts.servers=1");
    const Scenario scenario = scenario_with(overrides);
    const CostEstimate estimate = estimate_cost(scenario, sampled(scenario)).value();
    const RunReport report = run_scenario(scenario, {}).value();
    expect_within_factor_of_two(static_cast<double>(estimate.events), static_cast<double>(report.events),
                                what);
  }
}

TEST(Estimate, MemoryGrowsWithWhatIsAskedFor) {
  const auto bytes = [](std::vector<std::string> overrides) {
    return estimate_memory(scenario_with(std::move(overrides)).config).value();
  };
  const std::uint64_t two = bytes({"run.workload=key_value"});
  const std::uint64_t many = bytes({"run.workload=key_value", "topology.from=star:64", "hosts.servers=1"});
  EXPECT_GT(many, two + (std::uint64_t{64} << 20U));
  EXPECT_GT(bytes({"run.workload=key_value", "topology.from=star:64", "hosts.servers=1",
                   "model.stack=ub_ldst", "model.cache.write_policy=uncached"}),
            many);
  EXPECT_GE(bytes({"run.workload=key_value", "run.keys=16777216"}), two + (std::uint64_t{1000} << 20U));
}

}  // namespace
}  // namespace wharf::sim
