// SPDX-License-Identifier: Apache-2.0
// Draws repeat and go together, judges find what is broken, and failures become small.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sim/chaos/drawn_run.h"
#include "sim/chaos/shrink.h"
#include "sim/chaos/verdict.h"

namespace wharf::sim {
namespace {

constexpr const char* kProfiles = "profiles";

TEST(DrawnRun, OneSeedIsOneScenario) {
  std::set<std::string> texts;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::string text = scenario_text(draw_run(seed));
    EXPECT_EQ(scenario_text(draw_run(seed)), text);
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 50u);
}

TEST(Verdict, SoundRunsBreakNoRule) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto verdict = judge_run(draw_run(seed), kProfiles);
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    for (const Finding& each : verdict->findings)
      ADD_FAILURE() << "seed " << seed << ": " << each.check << ": " << each.what;
    refused += verdict->refused.empty() ? 0 : 1;
  }
  EXPECT_LE(refused, 2u);
}

// Each event, each protocol, and what the line about a seed says of them.
DrawnRun peers_run(std::string_view stack, std::string_view event, std::uint64_t seed) {
  DrawnRun run;
  run.seed = seed;
  run.peers = true;
  run.keys = {{"model.stack", fmt::format("\"{}\"", stack), true},
              {"peers.hosts", "4"},
              {"peers.host", "2"},
              {"peers.event", fmt::format("\"{}\"", event)},
              {"peers.at_ns", "9000"},
              {"peers.away_ns", "20000"}};
  return run;
}

TEST(Peers, WhoDiesIsResetOrLiesHurtsNobodyElse) {
  for (const char* stack : {"ub_urma", "roce_dma", "uet"}) {
    for (const char* event : {"none", "death", "reset", "lies"}) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto verdict = judge_run(peers_run(stack, event, seed), kProfiles);
        ASSERT_TRUE(verdict.ok()) << verdict.error().message;
        EXPECT_EQ(verdict->refused, "");
        for (const Finding& each : verdict->findings)
          ADD_FAILURE() << stack << ", " << event << ", seed " << seed << ": " << each.check << ": "
                        << each.what;
        EXPECT_GT(verdict->operations, 100u);
      }
    }
  }
}

// Seed 4924, made small: a place at the peer was given back twice, once when the channel ended and once when
// data that had come before was placed, and then none was free for ever.
TEST(Peers, WhatWasStillBeingPlacedWhenAHostWasResetCountsOnce) {
  DrawnRun run;
  run.seed = 4924;
  run.peers = true;
  run.keys = {{"model.stack", "\"ub_urma\"", true},
              {"model.ub.rto_attempts", "\"unlimited\""},
              {"peers.hosts", "3"},
              {"peers.event", "\"reset\"", true},
              {"peers.host", "0"},
              {"peers.at_ns", "16027"},
              {"peers.operations", "7"},
              {"peers.depth", "1"},
              {"peers.longest", "32"},
              {"peers.memory_delay_ns", "1267"}};
  const auto verdict = judge_run(run, kProfiles);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  for (const Finding& each : verdict->findings) ADD_FAILURE() << each.check << ": " << each.what;
}

TEST(Peers, OneSeedIsOneHistory) {
  const DrawnRun run = peers_run("ub_urma", "lies", 5);
  const auto first = judge_run(run, kProfiles);
  const auto second = judge_run(run, kProfiles);
  EXPECT_EQ(to_json(*first), to_json(*second));
}

TEST(Peers, TheLineAboutASeedSaysWhatBefallsWhom) {
  EXPECT_EQ(describe(peers_run("uet", "death", 1)), "uet, 4 hosts, host 2 falls silent at 9000 ns");
  EXPECT_EQ(describe(peers_run("ub_urma", "reset", 1)),
            "ub_urma, 4 hosts, host 2 is reset at 9000 ns and back after 20000 ns");
  DrawnRun lies = peers_run("roce_dma", "lies", 1);
  lies.keys.push_back({"peers.lie", "\"token\""});
  EXPECT_EQ(describe(lies), "roce_dma, 4 hosts, host 2 lies in 20 % of its packets (token) from 9000 ns on");
  lies.set("peers.lie", "\"nonsense\"");
  const auto verdict = judge_run(lies, kProfiles);
  ASSERT_FALSE(verdict.ok());
  EXPECT_THAT(verdict.error().message, testing::HasSubstr("wharf chaos --show"));
}

// Among the first seeds is everything that can be drawn.
TEST(DrawnRun, DrawsEveryEventAndTopology) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const DrawnRun run = draw_run(seed);
    seen.insert(run.value_of("peers.event"));
    const std::string from = run.value_of("topology.from");
    seen.insert(from.substr(0, from.find(':')));
    if (!run.value_of("fabric.link_retry").empty()) seen.insert("retry of fabrics");
    if (!run.value_of("model.faults.link_retry").empty()) seen.insert("retry of hosts");
  }
  for (const char* each : {"\"death\"", "\"reset\"", "\"lies\"", "\"dragonfly", "\"fat_tree", "\"star",
                           "\"leaf_spine", "retry of fabrics", "retry of hosts"})
    EXPECT_TRUE(seen.contains(each)) << each;
}

DrawnRun lossy_run(const char* loss, const char* attempts) {
  DrawnRun run;
  run.keys = {{"model.stack", "\"ub_urma\"", true},
              {"model.ub.rto_attempts", attempts, true},
              {"model.ub.mtu", "\"1024B\""},
              {"model.faults.loss", loss},
              {"run.workload", "\"bulk_write\"", true},
              {"run.operations", "40", true},
              {"run.concurrency", "4"},
              {"run.payload", "\"4096B\""}};
  return run;
}

TEST(Verdict, FailedRequestsAreFound) {
  const auto verdict = judge_run(lossy_run("\"60%\"", "1"), kProfiles);
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->refused, "");
  ASSERT_FALSE(verdict->ok());
  EXPECT_EQ(verdict->findings.front().check, "errors");
  EXPECT_THAT(verdict->reached, testing::Contains("ub.timeouts"));
  EXPECT_THAT(verdict->known, testing::Contains("ub.duplicates"));
}

// Loads fetch whole lines: that of the last entry must not reach out of the segment.
TEST(Verdict, ATableThatEndsWithinALineIsReadToItsEnd) {
  DrawnRun run;
  run.keys = {{"model.stack", "\"ub_ldst\"", true},
              {"run.workload", "\"key_value\"", true},
              {"run.keys", "3"},
              {"run.value_bytes", "\"24B\""},
              {"run.operations", "200", true}};
  const auto verdict = judge_run(run, kProfiles);
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->refused, "");
  EXPECT_TRUE(verdict->ok()) << verdict->findings.front().what;
}

TEST(Verdict, KeysThatDoNotGoTogetherAreRefusedNotFound) {
  DrawnRun run = lossy_run("\"1%\"", "3");
  run.keys.push_back({"run.nonsense", "1"});
  const auto verdict = judge_run(run, kProfiles);
  ASSERT_TRUE(verdict.ok());
  EXPECT_THAT(verdict->refused, testing::HasSubstr("nonsense"));
  EXPECT_TRUE(verdict->ok());
}

TEST(Verdict, TravelsAsADocument) {
  Verdict verdict;
  verdict.findings = {{"memory", "a byte"}, {"wire", "two histories"}};
  verdict.operations = 7;
  verdict.known = {"ub.a", "ub.b"};
  verdict.reached = {"ub.b"};
  const Verdict back = verdict_from(to_json(verdict));
  EXPECT_EQ(to_json(back), to_json(verdict));
  EXPECT_EQ(back.findings.at(1).what, "two histories");
}

// The rule of this failure: at least 5 operations with a loss.
TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const auto fails = [](const DrawnRun& run) -> std::string {
    if (run.value_of("model.faults.loss").empty()) return "";
    return std::stoull(run.value_of("run.operations")) >= 5 ? "memory" : "end";
  };
  const Shrunk small = shrink(lossy_run("\"1%\"", "3"), "memory", fails, 100);
  EXPECT_EQ(small.run.value_of("run.operations"), "5");
  EXPECT_EQ(small.run.value_of("model.faults.loss"), "\"1%\"");
  EXPECT_EQ(small.run.value_of("model.ub.mtu"), "");
  EXPECT_EQ(small.run.value_of("run.workload"), "\"bulk_write\"");
  EXPECT_EQ(small.run.value_of("model.ub.rto_attempts"), "3");  // Without it the run would be another one.
  EXPECT_LE(small.tries, 30u);
  EXPECT_EQ(shrink(lossy_run("\"1%\"", "3"), "memory", fails, 2).tries, 2u);
}

}  // namespace
}  // namespace wharf::sim
