// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/summary_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/scenario/run.h"
#include "sim/scenario/scenario_kind.h"
#include "tests/support/sanitized.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

ScenarioSource source(const fs::path& file, std::vector<std::string> overrides = {}) {
  ScenarioSource out;
  out.file = file;
  out.overrides = std::move(overrides);
  out.profile_directory = "profiles";
  return out;
}

ScenarioSource text(std::string content) {
  ScenarioSource out;
  out.text = std::move(content);
  out.profile_directory = "profiles";
  return out;
}

void collect_numbers(const nlohmann::ordered_json& value, const std::string& path,
                     std::vector<std::string>& out) {
  if (value.is_number()) out.push_back(path);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items())
    collect_numbers(member, path.empty() ? key : path + "." + key, out);
}

TEST(SummarySchema, HoldsEveryNumberOfEveryShippedScenario) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator("scenarios"))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (std::size_t at = 0; at < files.size(); at += kEveryRow) {
    SCOPED_TRACE(files[at].string());
    std::ifstream file(files[at]);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (kind_of_text(content, "x")->kind == ScenarioKind::kManyHosts) continue;  // fabric_scenario_test.cc
    const auto scenario = load_scenario(source(files[at]));
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const auto report = run_scenario(*scenario, {});
    ASSERT_TRUE(report.ok()) << report.error().message;
    std::vector<std::string> numbers;
    collect_numbers(summary_of(*scenario, *report), "", numbers);
    const std::vector<std::string> paths = summary_paths(scenario->config);
    for (const std::string& number : numbers)
      EXPECT_NE(std::find(paths.begin(), paths.end(), number), paths.end()) << number;
  }
}

TEST(SummarySchema, AMistypedExpectationIsRefusedBeforeTheRun) {
  const auto scenario = load_scenario(
      text("[run]\nworkload = \"verb_loop\"\n[[expect]]\nvalue = \"verbs.raed.latency_ns.mean\"\nmax = 1\n"));
  ASSERT_FALSE(scenario.ok());
  EXPECT_EQ(scenario.error().message,
            "scenario:3: expect.value is \"verbs.raed.latency_ns.mean\", which is no number of summary.json, "
            "expected the path of one; "
            "did you "
            "mean \"verbs.read.latency_ns.mean\"?");
}

TEST(SummarySchema, CountersOfAnotherStackAreRefused) {
  const std::string expect = "[[expect]]\nvalue = \"counters.host0.engine.rnr_naks_sent\"\nmax = 0\n";
  EXPECT_FALSE(load_scenario(text("[model]\nstack = \"ub_urma\"\n" + expect)).ok());
  EXPECT_TRUE(load_scenario(text("[model]\nstack = \"roce_dma\"\n" + expect)).ok());
}

TEST(SummarySchema, ACounterThatStaysZeroIsJudgedAsZero) {
  const auto scenario =
      load_scenario(text("[run]\nworkload = \"verb_loop\"\noperations = 5\n[[expect]]\n"
                         "value = \"counters.host0.link_out.lost\"\nmax = 0\n"));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok());
  const auto judged = judge(scenario->expectations, summary_of(*scenario, *report));
  ASSERT_TRUE(judged.ok()) << judged.error().message;
  EXPECT_TRUE(judged->front().holds);
}

/// "integer from 1 to 64" of a key's reference as its two ends.
bool ends_of(const KeyDoc& key, std::string& least, std::string& most) {
  std::string_view expected = key.expected;
  for (const std::string_view begin : {"integer from ", "size from "}) {
    if (!expected.starts_with(begin)) continue;
    expected.remove_prefix(begin.size());
    const auto middle = expected.find(" to ");
    least = expected.substr(0, middle);
    most = expected.substr(middle + 4, expected.substr(middle + 4).find(' '));
    return true;
  }
  return false;
}

// What the key reference promises, the checks of the layers below must accept; what they refuse because of
// other keys, they must refuse with the place and the key's full name.
TEST(KeyRanges, BothEndsOfEveryRangeAreAccepted) {
  std::size_t tried = 0;
  for (const KeyDoc& key : every_key()) {
    std::string ends[2];
    if (!key.path.starts_with("model.") || !ends_of(key, ends[0], ends[1])) continue;
    for (const std::string& end : ends) {
      const bool roce = key.path.starts_with("model.roce.");
      const auto scenario = load_scenario(
          source("scenarios/ping-pong.toml",
                 {std::string("model.stack=") + (roce ? "roce_dma" : "ub_urma"), key.path + "=" + end}));
      ++tried;
      if (scenario.ok()) continue;
      EXPECT_THAT(scenario.error().message, HasSubstr("--set: " + key.path)) << end;
      EXPECT_THAT(scenario.error().message, ::testing::Not(HasSubstr(", expected " + ends[0] + " to ")))
          << end;
    }
  }
  EXPECT_GT(tried, 60U);
}

TEST(KeyRanges, ARefusalOfALowerLayerNamesThePlaceAndTheKey) {
  const auto refusal = [](std::vector<std::string> overrides) {
    const auto scenario = load_scenario(source("scenarios/fetch-64-bytes.toml", std::move(overrides)));
    return scenario.ok() ? std::string("accepted") : scenario.error().message;
  };
  EXPECT_EQ(refusal({"model.cache.l1.ways=7"}),
            "--set: model.cache.l1.ways is 7, expected a divisor of cache.l1.lines = 512");
  EXPECT_EQ(refusal({"model.stack=roce_dma", "model.roce.mtu=300B"}).substr(0, 25),
            "--set: model.roce.mtu is ");
  EXPECT_THAT(refusal({"model.core.library_post=2s"}), HasSubstr("--set: model.core.library_post is 2s"));
  EXPECT_EQ(refusal({"run.seed=9223372036854775808"}),
            "--set: run.seed is \"9223372036854775808\", expected an integer from 0 to 9223372036854775807");
  const auto file =
      load_scenario(text("[run]\nworkload = \"verb_loop\"\nverb = \"fetch_add\"\npayload = \"3B\"\n"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(
      file.error().message,
      "scenario:4: run.payload is 3, expected 4, 8 or 16 bytes for an atomic (run.workload = \"verb_loop\")");
}

TEST(KeyRanges, AProfileIsANameOrAPath) {
  const auto load = [](const std::string& profile) {
    return load_scenario(source("scenarios/fetch-64-bytes.toml", {"model.profile=" + profile}));
  };
  const auto named = load("connectx7-class");
  const auto by_path = load("profiles/connectx7-class.toml");
  ASSERT_TRUE(by_path.ok()) << by_path.error().message;
  EXPECT_EQ(by_path->config.link.delay, named->config.link.delay);
  EXPECT_EQ(by_path->profile_files, named->profile_files);
  const auto absent = load("../profiles/fastswap.toml");
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.error().message, HasSubstr("--set: there is no profile \"../profiles/fastswap.toml\""));
  EXPECT_THAT(load("./profiles").error().message, HasSubstr("is a folder, expected a TOML file"));
}

TEST(Verdicts, WhatWasNotCheckedIsNotPraised) {
  const auto verdict = [](const std::string& keys) {
    const auto scenario = load_scenario(text("[run]\n" + keys));
    EXPECT_TRUE(scenario.ok()) << scenario.error().message;
    const auto report = run_scenario(*scenario, {});
    EXPECT_TRUE(report.ok());
    return summary_of(*scenario, *report)["program"]["verdict"].get<std::string>();
  };
  EXPECT_THAT(verdict("workload = \"verb_loop\"\nverb = \"read\"\noperations = 5\n"),
              ::testing::MatchesRegex("memory held every promise in [0-9]+ checks?"));
  EXPECT_EQ(verdict("workload = \"bulk_read\"\noperations = 5\ntime_limit = \"1us\"\n"),
            "memory was not checked");
  const auto replay = load_scenario(source("scenarios/sort-infiniswap.toml"));
  ASSERT_TRUE(replay.ok()) << replay.error().message;
  const auto report = run_scenario(*replay, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(summary_of(*replay, *report)["program"]["verdict"], "memory was not checked");
}

// They break no promise of memory, but a run without one success has nothing to say.
TEST(Verdicts, RequestsThatEndInTheirSpecifiedErrorBreakNoPromise) {
  const auto scenario = load_scenario(
      text("[model]\nstack = \"roce_dma\"\nfaults.loss = 1\nroce.ack_timeout = 1\nroce.retry_count = 1\n"
           "[run]\nworkload = \"barrier\"\noperations = 5\n"));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok());
  EXPECT_GT(report->program_errors, 0U);
  EXPECT_EQ(report->verdict, "no operation succeeded, 1 failed, the first with retry_exhausted");
}

TEST(Verdicts, WhatTheProgramLeavesDirtyIsWrittenAndCountedUnlessTimeRunsOut) {
  const auto report_of = [](const std::string& limit) {
    const auto scenario =
        load_scenario(text("[model]\nstack = \"ub_ldst\"\n[run]\nworkload = \"verb_loop\"\nverb = \"store\"\n"
                           "payload = \"8B\"\noperations = 100\n" +
                           limit));
    EXPECT_TRUE(scenario.ok()) << scenario.error().message;
    auto report = run_scenario(*scenario, {});
    EXPECT_TRUE(report.ok());
    return *std::move(report);
  };
  const RunReport whole = report_of("");
  EXPECT_EQ(whole.verdict, "");
  // The caches hold every line that was stored to: each leaves once, after the program's end.
  const auto& counters = whole.counters["host0"]["load_store"];
  EXPECT_GT(counters.value("misses", 0), 0);
  EXPECT_EQ(counters.value("write_backs", 0), counters.value("misses", 0));
  const RunReport cut = report_of(fmt::format("time_limit = \"{}ps\"\n", whole.simulated.ps + 100'000));
  EXPECT_EQ(cut.end, RunOutcome::kDone);
  EXPECT_THAT(cut.verdict, HasSubstr("was reached before all that the program left behind, dirty lines among "
                                     "it, was done"));
}

TEST(Latencies, CoverOperationsThatTheLogDoesNotKeep) {
  const auto report_with = [](const std::string& limit) {
    const auto scenario = load_scenario(
        source("scenarios/key-value.toml", {"run.operations=2000", "run.record_operations=" + limit}));
    EXPECT_TRUE(scenario.ok());
    auto report = run_scenario(*scenario, {});
    EXPECT_TRUE(report.ok());
    return *std::move(report);
  };
  const RunReport all = report_with("100000");
  const RunReport few = report_with("10");
  ASSERT_EQ(few.log.entries().size(), 10U);
  ASSERT_EQ(few.verbs.size(), all.verbs.size());
  for (std::size_t i = 0; i < all.verbs.size(); ++i) {
    EXPECT_EQ(few.verbs[i].latency.count, all.verbs[i].latency.count);
    EXPECT_DOUBLE_EQ(few.verbs[i].latency.mean_ns, all.verbs[i].latency.mean_ns);
    EXPECT_EQ(few.verbs[i].latency.max_ns, all.verbs[i].latency.max_ns);
    EXPECT_GE(few.verbs[i].latency.p99_ns, all.verbs[i].latency.p99_ns);
    EXPECT_LE(few.verbs[i].latency.p99_ns, all.verbs[i].latency.p99_ns * (1 + 1.0 / 128));
    EXPECT_TRUE(all.verbs[i].latency.exact);
    EXPECT_FALSE(few.verbs[i].latency.exact);
  }
}

}  // namespace
}  // namespace wharf::sim
