// SPDX-License-Identifier: Apache-2.0
// Recorded traces on worlds: every client replays against far memory of its own, two hosts on a wire are the
// case of one, clients of one server wait for one another, and what stands beside programs stands beside
// replays.
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run.h"
#include "sim/scenario/summary_schema.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::array<const char*, 5> kStacks{"ub_ldst", "ub_urma", "roce_bf", "roce_dma", "uet"};

class ReplayWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / fs::path(std::string("replay_world_") + test.name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "walk.lackey") << walk();
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Twice over so many pages, two lines of each, every third access a store.
  static std::string walk(int pages = 64) {
    std::string text;
    for (int i = 0; i < 4 * pages; ++i) {
      const int page = i / 2 * 7 % pages;
      text += fmt::format("I  04001000,3\n {} {:x},8\n", i % 3 == 0 ? 'S' : 'L',
                          0x100000 + 4096 * page + 64 * (i % 2));
    }
    return text;
  }

  Result<Scenario> load(std::vector<std::string> overrides) const {
    ScenarioSource source;
    source.file = folder_ / "s.toml";
    source.text = "[run]\nworkload = \"replay\"\ntrace = \"walk.lackey\"\nremote = \"all\"\n";
    source.overrides = std::move(overrides);
    source.profile_directory = "profiles";
    return load_scenario(source);
  }
  RunReport run(std::vector<std::string> overrides, const RunOptions& options = {}) const {
    const auto scenario = load(std::move(overrides));
    EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
    auto report = run_scenario(*scenario, options);
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    EXPECT_EQ(report->end, RunOutcome::kDone);
    return *std::move(report);
  }

  fs::path folder_;
};

/// The keys of far memory by lines, or by pages of which few are resident.
std::vector<std::string> far_memory(bool paged, const std::string& stack) {
  std::vector<std::string> keys{"model.stack=" + stack, "model.cache.l1.lines=64", "model.cache.l1.ways=8",
                                "model.cache.l2.lines=0", "model.cache.llc.lines=0"};
  if (paged) {
    keys.emplace_back("model.replay.far_memory=paged");
    keys.emplace_back("model.paging.resident_pages=16");
  }
  return keys;
}

std::vector<std::string> with(std::vector<std::string> keys, const std::vector<std::string>& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

TEST_F(ReplayWorld, TwoHostsOnAWireAreTheCaseOfOneClient) {
  for (const bool paged : {false, true}) {
    for (const char* stack : kStacks) {
      const auto keys = far_memory(paged, stack);
      const RunReport wire = run(keys);
      const RunReport world = run(with(keys, {"topology.from=back_to_back", "hosts.servers=1"}));
      // The histories differ: a network has congestion control.
      EXPECT_EQ(wire.simulated.ps, world.simulated.ps) << stack << paged;
      nlohmann::ordered_json replay = world.replay;
      EXPECT_EQ(replay["clients"]["count"], 1U);
      EXPECT_EQ(replay["clients"]["time_ns"]["median"], wire.replay["time_ns"]);
      replay.erase("clients");
      EXPECT_EQ(replay, wire.replay) << stack << paged;
    }
  }
}

/// As they were before worlds of many hosts could replay; the events as they are counted since.
TEST(ReplayBetweenTwoHosts, TimesAndHistoriesStay) {
  struct Known {
    const char* scenario;
    double time_ns;
    std::uint64_t events;
    std::uint64_t fingerprint;
  };
  constexpr std::array<Known, 2> kKnown{
      {{"scenarios/sqlite-remote-heap.toml", 9102597.36, 13381, 0x84a07b43d9852695},
       {"scenarios/sort-infiniswap.toml", 3040552.575, 1596, 0xc7241997d7c65c44}}};
  for (const Known& known : kKnown) {
    ScenarioSource source;
    source.file = known.scenario;
    source.profile_directory = "profiles";
    const auto scenario = load_scenario(source);
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const auto report = run_scenario(*scenario, {});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_DOUBLE_EQ(report->replay["time_ns"].get<double>(), known.time_ns) << known.scenario;
    EXPECT_EQ(report->events, known.events) << known.scenario;
    EXPECT_EQ(report->fingerprint, known.fingerprint) << known.scenario;
    EXPECT_FALSE(report->replay.contains("clients"));
  }
}

TEST_F(ReplayWorld, EveryClientReplaysTheTraceAgainstItsServer) {
  for (const bool paged : {false, true}) {
    for (const char* stack : kStacks) {
      const auto keys = far_memory(paged, stack);
      const RunReport one = run(with(keys, {"topology.from=star:6", "hosts.clients=1", "hosts.servers=2"}));
      const RunReport four = run(with(keys, {"topology.from=star:6", "hosts.servers=2"}));
      EXPECT_EQ(four.program_operations, 4 * one.program_operations) << stack;
      for (const char* count : {"accesses", "loads", "stores", "instructions", "l1_hits", "misses",
                                "remote_loads", "remote_stores"})
        EXPECT_EQ(four.replay[count], 4 * one.replay[count].get<std::uint64_t>()) << stack << count;
      EXPECT_EQ(four.replay.contains("paging"), paged);
      if (paged) {
        EXPECT_EQ(four.replay["paging"]["pages_read"],
                  4 * one.replay["paging"]["pages_read"].get<std::uint64_t>());
      } else {
        EXPECT_GT(four.replay["remote_loads"], 0U);
      }
      // Both servers answered: what went out to a host is shared out among them.
      EXPECT_EQ(four.replay["clients"]["each"].size(), 4U);
      EXPECT_EQ(four.replay["clients"]["each"][3]["host"], 3U);
      EXPECT_GE(four.replay["time_ns"], one.replay["time_ns"]) << stack;
      EXPECT_EQ(four.replay["time_ns"], four.replay["clients"]["time_ns"]["max"]);
      EXPECT_DOUBLE_EQ(four.replay["slow_down"].get<double>(),
                       four.replay["time_ns"].get<double>() / four.replay["all_local_time_ns"].get<double>());
    }
  }
}

TEST_F(ReplayWorld, ClientsOfOneServerWaitForOneAnother) {
  // A page of 4 KiB takes 8 us of a link of 4 Gb/s, and a fault little beside: eight clients of one server
  // wait for its link.
  std::vector<std::string> keys = far_memory(true, "roce_dma");
  keys = with(keys, {"topology.from=star:9", "model.link.rate=4Gbps", "model.paging.fault_cost=1us"});
  const double alone = run(with(keys, {"hosts.clients=1"})).replay["time_ns"].get<double>();
  const double shared = run(with(keys, {"hosts.clients=8"})).replay["time_ns"].get<double>();
  const double apart = run(with(keys, {"topology.from=star:16", "hosts.clients=8", "hosts.servers=8"}))
                           .replay["time_ns"]
                           .get<double>();
  EXPECT_GT(shared, 2 * alone);
  EXPECT_LT(apart, 1.1 * alone);
}

TEST_F(ReplayWorld, ResultsDoNotDependOnThreadsOrTheWire) {
  struct Case {
    bool paged;
    const char* stack;
  };
  constexpr std::array<Case, 4> kCases{
      {{false, "ub_ldst"}, {false, "roce_dma"}, {true, "ub_urma"}, {true, "uet"}}};
  std::ofstream(folder_ / "short.lackey") << walk(16);
  for (const auto& [paged, stack] : kCases) {
    const auto keys =
        with(far_memory(paged, stack), {"topology.from=fat_tree:16", "hosts.clients=9", "hosts.servers=3",
                                        "run.trace=short.lackey", "run.remote=fraction", "run.fraction=0.7"});
    const RunReport one = run(keys);
    const RunReport three = run(with(keys, {"hosts.threads=3"}));
    EXPECT_EQ(one.fingerprint, three.fingerprint) << stack;
    EXPECT_EQ(one.replay, three.replay) << stack;
    EXPECT_EQ(one.program_operations, three.program_operations) << stack;
    RunOptions bytes;
    bytes.wire = WireMode::kBytes;
    EXPECT_EQ(one.fingerprint, run(keys, bytes).fingerprint) << stack;
  }
}

TEST_F(ReplayWorld, ClientsDrawTheirPlacementForThemselves) {
  auto keys = far_memory(false, "ub_ldst");
  keys = with(keys, {"run.remote=fraction", "run.fraction=0.5"});
  const RunReport two = run(keys);
  const RunReport first = run(with(keys, {"topology.from=star:5", "hosts.clients=1"}));
  EXPECT_EQ(first.replay["remote_loads"], two.replay["remote_loads"]);
  const RunReport four = run(with(keys, {"topology.from=star:5", "hosts.servers=1"}));
  EXPECT_NE(four.replay["remote_loads"], 4 * two.replay["remote_loads"].get<std::uint64_t>());
}

TEST_F(ReplayWorld, LossAndTrafficBesideChangeTimesAlone) {
  auto keys = far_memory(true, "roce_dma");
  keys = with(keys, {"topology.from=fat_tree:16", "hosts.clients=4"});
  const RunReport quiet = run(keys);
  const RunReport lossy = run(with(keys, {"fabric.loss=0.01"}));
  const RunReport busy = run(with(keys, {"traffic.collective=incast", "traffic.size=256KiB",
                                         "hosts.traffic_root=server", "fabric.flow_control=pause"}));
  for (const RunReport* report : {&lossy, &busy}) {
    EXPECT_EQ(report->replay["accesses"], quiet.replay["accesses"]);
    EXPECT_EQ(report->replay["misses"], quiet.replay["misses"]);
    EXPECT_GT(report->replay["time_ns"], quiet.replay["time_ns"]);
  }
  EXPECT_GT(busy.background["started"], 0U);
  EXPECT_EQ(busy.background["failed"], 0U);
}

TEST_F(ReplayWorld, FarMemoryThatNobodyReachesIsTold) {
  const auto scenario =
      load(with(far_memory(true, "roce_dma"), {"topology.from=star:4", "hosts.servers=1", "fabric.loss=1",
                                               "model.roce.ack_timeout=1", "model.roce.retry_count=1"}));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kStalled);
  EXPECT_THAT(report.error().message, HasSubstr("far memory could not be reached by host 0: "));
}

TEST_F(ReplayWorld, ATraceThatCanBeReadOnceIsReadOnce) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << walk(); });
  const RunReport piped = run({"topology.from=star:5", "hosts.servers=1", "run.trace=" + pipe.string()});
  writer.join();
  const RunReport read = run({"topology.from=star:5", "hosts.servers=1"});
  EXPECT_EQ(piped.replay, read.replay);
}

TEST_F(ReplayWorld, WhatIsWrongWithTheTraceIsTold) {
  const auto refusal = [&](std::vector<std::string> overrides) {
    const auto scenario = load(with({"topology.from=star:5", "hosts.servers=1"}, overrides));
    if (!scenario) return scenario.error().message;
    const auto report = run_scenario(*scenario, {});
    return report.ok() ? std::string("accepted") : report.error().message;
  };
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_THAT(refusal({"run.trace=absent.wtrace"}), HasSubstr("absent.wtrace"));
  EXPECT_THAT(refusal({"run.trace=" + folder_.string()}), HasSubstr(folder_.string()));
  EXPECT_THAT(refusal({"run.warm_up=0.5"}), HasSubstr("warm_up is the share 0.5 of a trace in text form"));
  EXPECT_THAT(refusal({"run.warm_up_accesses=1000"}), HasSubstr("the warm-up of 1000 accesses takes"));
  EXPECT_EQ(refusal({"run.trace="}), "--set: run.trace is empty, expected the file name of a memory trace");
  EXPECT_THAT(refusal({"hosts.clients=5"}),
              HasSubstr("--set: hosts.clients is 5, expected at most 4: 1 of the 5 hosts are servers"));
}

TEST_F(ReplayWorld, ExpectationsSeeHowFarClientsLieApart) {
  const auto keys = std::vector<std::string>{"topology.from=star:20", "hosts.servers=1"};
  const auto scenario = load(keys);
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const RunReport report = run(keys);
  // Of more than sixteen clients the extremes and the median are told.
  EXPECT_EQ(report.replay["clients"]["count"], 19U);
  EXPECT_FALSE(report.replay["clients"].contains("each"));
  EXPECT_LE(report.replay["clients"]["slow_down"]["min"], report.replay["clients"]["slow_down"]["median"]);
  const auto paths = summary_paths(scenario->config);
  for (const char* path : {"replay.clients.count", "replay.clients.time_ns.min",
                           "replay.clients.time_ns.median", "replay.clients.slow_down.max"})
    EXPECT_THAT(paths, ::testing::Contains(path));
  const auto two = load({});
  EXPECT_THAT(summary_paths(two->config), ::testing::Not(::testing::Contains("replay.clients.count")));
}

}  // namespace
}  // namespace wharf::sim
