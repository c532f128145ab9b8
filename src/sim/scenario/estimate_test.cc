// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/estimate.h"

#include <gtest/gtest.h>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

Scenario scenario_with(std::vector<std::string> overrides) {
  ScenarioSource source;
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  return load_scenario(source).value();
}

// The wall time is handed in, so that this is arithmetic.
TEST(Estimate, MultipliesOperationsWithWhatTheSampleTook) {
  const SampleCost sample{.event_ns = 50, .events_per_operation = 20};
  const CostEstimate one = estimate_cost(scenario_with({"model.stack=ub_urma", "run.workload=bulk_read",
                                                        "run.payload=64B", "run.operations=1000"}),
                                         sample);
  EXPECT_EQ(one.operations, 1000U);
  EXPECT_EQ(one.events, 20'000U);
  EXPECT_DOUBLE_EQ(one.seconds, 0.001);
  const CostEstimate large = estimate_cost(scenario_with({"model.stack=ub_urma", "run.workload=bulk_read",
                                                          "run.payload=64KiB", "run.operations=1000"}),
                                           sample);
  EXPECT_GT(large.events, 5 * one.events);
}

TEST(Estimate, TheSampleRunsOverEveryStackAndItsEventsAreRight) {
  for (const auto& stack : kStacks) {
    const Scenario sample = scenario_with(sample_overrides(stack.value, 200));
    EXPECT_TRUE(sample.no_influence.empty()) << stack.name;
    const RunReport report = run_scenario(sample, {}).value();
    EXPECT_EQ(report.end, RunOutcome::kDone) << stack.name;
    const double each = static_cast<double>(report.events) / 200;
    const Scenario longer = scenario_with(sample_overrides(stack.value, 2000));
    const auto estimate = estimate_cost(longer, {.event_ns = 1, .events_per_operation = each});
    const auto real = static_cast<double>(run_scenario(longer, {}).value().events);
    EXPECT_NEAR(static_cast<double>(estimate.events) / real, 1, 0.1) << stack.name;
  }
}

}  // namespace
}  // namespace wharf::sim
