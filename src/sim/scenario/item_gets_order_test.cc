// SPDX-License-Identifier: Apache-2.0
// Gets between two hosts with coherent memory: those that ask for no order tear beside a writer, with nobody
// to help; those that ask for what they need never do.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

RunReport run(std::vector<std::string> overrides) {
  ScenarioSource source;
  source.text =
      "[model]\nprofile = \"coherent-host\"\n[run]\nworkload = \"item_gets\"\nprotocol = \"single_read\"\n"
      "items = 1\npayload = \"496B\"\nwriter = \"core\"\nwrite_gap = \"1us\"\nconcurrency = 4\noperations = "
      "2000\n";
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  const auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  auto report = run_scenario(scenario.value(), {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  return *std::move(report);
}

std::uint64_t torn(const RunReport& report) {
  return report.counters.at("program").at("torn").get<std::uint64_t>();
}

TEST(ItemGetsOrder, TearWithoutAnyOrderAndWithoutHelp) {
  for (const std::string stack : {"roce_bf", "roce_dma", "ub_urma", "uet"}) {
    SCOPED_TRACE(stack);
    const RunReport report = run({"model.stack=" + stack});
    EXPECT_GT(torn(report), 0U);
    EXPECT_THAT(report.verdict, HasSubstr("torn item"));
    EXPECT_GT(report.counters.at("program").at("overlaps").get<std::uint64_t>(), 200U);
  }
}

TEST(ItemGetsOrder, AreWholeWhereTheirOrderIsKept) {
  const std::string few = "run.operations=400";
  for (const std::string stack : {"roce_bf", "ub_urma"}) {
    for (const char* design : {"release_acquire", "thread_specific", "speculative"}) {
      SCOPED_TRACE(stack + " " + design);
      const RunReport report = run({"model.stack=" + stack, few, "run.read_order=ascending",
                                    std::string("model.root_complex.design=") + design});
      EXPECT_EQ(torn(report), 0U);
      EXPECT_EQ(report.verdict, "");
    }
    for (const char* design : {"strict_blocking", "strict_speculative"}) {
      SCOPED_TRACE(stack + " " + design);
      const RunReport report =
          run({"model.stack=" + stack, few, std::string("model.root_complex.design=") + design});
      EXPECT_EQ(report.verdict, "");
    }
    const RunReport waits =
        run({"model.stack=" + stack, few, "run.read_order=ascending", "model.dma.order=source"});
    EXPECT_EQ(waits.verdict, "");
  }
}

TEST(ItemGetsOrder, AreWholeUnderManySeeds) {
  for (int seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const std::string seeded = "run.seed=" + std::to_string(seed);
    const std::string stack = seed % 2 == 0 ? "model.stack=roce_bf" : "model.stack=ub_urma";
    EXPECT_GT(torn(run({stack, "run.operations=400", seeded})), 0U);
    EXPECT_EQ(torn(run({stack, "run.operations=400", seeded, "run.read_order=ascending",
                        "model.root_complex.design=speculative"})),
              0U);
  }
}

TEST(ItemGetsOrder, PassingIsAKeyThatIsOnWhereOrderIsJudged) {
  const std::string stack = "model.stack=roce_bf";
  const RunReport usual = run({stack});
  EXPECT_GT(usual.counters.at("host1").at("root_complex").at("passed").get<std::uint64_t>(), 100U);
  EXPECT_EQ(run({stack, "model.root_complex.passing=on"}).fingerprint, usual.fingerprint);
  EXPECT_NE(run({stack, "run.seed=2"}).fingerprint, usual.fingerprint);
  const RunReport off = run({stack, "model.root_complex.passing=off"});
  EXPECT_EQ(off.counters.at("host1").at("root_complex").at("passed").get<std::uint64_t>(), 0U);
  // A run that judges no order keeps its times.
  const auto with = [](const char* passing) {
    ScenarioSource source;
    source.overrides = {"model.profile=coherent-host", "model.stack=roce_dma", "run.workload=bulk_read",
                        "run.operations=200", std::string("model.root_complex.passing=") + passing};
    source.profile_directory = "profiles";
    return run_scenario(load_scenario(source).value(), {}).value().fingerprint;
  };
  EXPECT_EQ(with("auto"), with("off"));
  EXPECT_NE(with("auto"), with("on"));
}

}  // namespace
}  // namespace wharf::sim
