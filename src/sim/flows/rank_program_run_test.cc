// SPDX-License-Identifier: Apache-2.0
// Ranks that compute and send, over engines on fabrics: times computed by hand, and the same on any number of
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/topology_fat_tree.h"
#include "sim/fabric/topology_named.h"
#include "sim/flows/fabric_run.h"
#include "workload/goal_trace.h"

namespace wharf::sim {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
// A full packet of 4086 and 64 bytes, and an answer of 64 bytes, on a link of 100 Gb/s: and its microsecond.
constexpr TimePs kData = nanoseconds(332) + microseconds(1);
constexpr TimePs kAnswer = picoseconds(5'120) + microseconds(1);

Topology tree() { return fat_tree_of(*k_ary_shape(3, 16, kLink, kTimeZero)).value(); }

/// Sizes as htsim counts them.
FabricRunConfig nominal() {
  FabricRunConfig config;
  config.protocol = wire::Protocol::kUet;
  config.fabric.profiles = {PortProfile::single_queue()};
  auto& uet = std::get<uet::UetConfig>(config.engines);
  uet.payload_mtu = 4086;
  uet.window_overhead_bytes = 64;
  uet.nominal_header_bytes = 64;
  uet.controller = congestion::ConstantWindowConfig{.packets = 63};
  config.charge = {.count_gaps = false, .nominal_header_bytes = 64};
  return config;
}

workload::FlowList goal(const std::string& text) {
  auto list = workload::read_goal_trace(text, "t.goal");
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  return *std::move(list);
}

FabricReport run(const Topology& topology, const workload::FlowList& flows, const FabricRunConfig& config) {
  auto report = run_flows(topology, flows, config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->outcome, FabricOutcome::kFinished) << report->waiting;
  EXPECT_EQ(report->failed, 0U);
  EXPECT_EQ(report->finished, flows.flows.size());
  return *std::move(report);
}

TEST(RankProgramRun, APingPongWithComputationBackToBack) {
  const workload::FlowList list = goal(
      "num_ranks 2\n"
      "rank 0 { a: calc 1000 b: send 4086b to 1 c: recv 4086b from 1 b requires a c requires b }\n"
      "rank 1 { a: recv 4086b from 0 b: calc 500 c: send 4086b to 0 b requires a c requires b }\n");
  const FabricReport report =
      run(named_topology("back_to_back", kLink, kTimeZero)->topology, list, nominal());
  // One link. The answer to the ping is back long before the pong.
  const TimePs ping = microseconds(1) + kData;
  const TimePs pong = ping + nanoseconds(500) + kData;
  ASSERT_EQ(report.ranks.size(), 2U);
  EXPECT_EQ(report.records[0].start, microseconds(1));
  EXPECT_EQ(report.records[0].end, ping + kAnswer);
  EXPECT_EQ(report.records[1].start, ping + nanoseconds(500));
  EXPECT_EQ(report.ranks[0].finish, pong);
  EXPECT_EQ(report.ranks[1].finish, pong + kAnswer);
  EXPECT_EQ(report.ranks[0].computed, microseconds(1));
  EXPECT_EQ(report.ranks[1].computed, nanoseconds(500));
}

/// Every rank sends to the next one and computes on what it gets, `steps` times.
std::string ring(std::uint32_t ranks, std::uint32_t steps, std::uint32_t calc, std::uint32_t bytes = 4086) {
  std::string text = "num_ranks " + std::to_string(ranks) + "\n";
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::string s = std::to_string(step);
      text += "s" + s + ": send " + std::to_string(bytes) + "b to " + std::to_string((rank + 1) % ranks) +
              " tag " + s + "\nr" + s + ": recv " + std::to_string(bytes) + "b from " +
              std::to_string((rank + ranks - 1) % ranks) + " tag " + s + "\nc" + s + ": calc " +
              std::to_string(calc) + "\nc" + s + " requires r" + s + "\n";
      if (step > 0) text += "s" + s + " requires c" + std::to_string(step - 1) + "\n";
    }
    text += "}\n";
  }
  return text;
}

TEST(RankProgramRun, ARingWithComputationBetweenStepsOnAFatTree) {
  // Ranks in four pods: six links between neighbours, and no link has two of the messages at once.
  workload::FlowList list = goal(ring(4, 3, 700));
  workload::move_ranks(list, {0, 4, 8, 12});
  const FabricReport report = run(tree(), list, nominal());
  const TimePs step = 6 * kData + nanoseconds(700);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    for (std::uint32_t s = 0; s < 3; ++s) {
      const FlowRecord& record = report.records[rank * 3 + s];
      EXPECT_EQ(record.start, s * step) << rank << " step " << s;
      EXPECT_EQ(record.end, s * step + 6 * kData + 6 * kAnswer) << rank << " step " << s;
    }
    // The answer to the last send comes after the last computation.
    EXPECT_EQ(report.ranks[rank].finish, 2 * step + 6 * kData + 6 * kAnswer);
    EXPECT_EQ(report.ranks[rank].computed, nanoseconds(2100));
  }
}

TEST(RankProgramRun, ComputationsOfOneCpuFollowEachOther) {
  const FabricReport report =
      run(named_topology("back_to_back", kLink, kTimeZero)->topology,
          goal("num_ranks 2\nrank 0 { calc 10 a: calc 20 calc 25 cpu 1 b: send 8b to 1 b requires a }\n"
               "rank 1 { recv 8b from 0 calc 90000 }"),
          nominal());
  EXPECT_EQ(report.records[0].start, nanoseconds(30));
  // The run goes on to the end of the last rank, when no packet is under way any more.
  EXPECT_EQ(report.ranks[1].finish, microseconds(90));
}

TEST(RankProgramRun, AMessageBeforeItsReceiveWaitsForIt) {
  const FabricReport report =
      run(named_topology("back_to_back", kLink, kTimeZero)->topology,
          goal("num_ranks 2\nrank 0 { send 8b to 1 }\n"
               "rank 1 { a: calc 50000 b: recv 8b from 0 c: calc 1000 b requires a c requires b }"),
          nominal());
  EXPECT_EQ(report.ranks[1].finish, microseconds(51));
  EXPECT_LT(report.ranks[0].finish, microseconds(3));
}

TEST(RankProgramRun, TheSameOnAnyNumberOfThreadsForEachProtocol) {
  const Topology topology = tree();
  const workload::FlowList list = goal(ring(16, 6, 3'000, 30'000));
  for (const wire::Protocol protocol : {wire::Protocol::kUet, wire::Protocol::kUb, wire::Protocol::kRoce}) {
    FabricRunConfig config;
    config.protocol = protocol;
    config.fabric.profiles = {PortProfile::single_queue()};
    const FabricReport one = run(topology, list, config);
    const auto same = [&](const FabricReport& other, const char* what) {
      EXPECT_EQ(other.history, one.history) << what;
      for (std::size_t i = 0; i < one.records.size(); ++i)
        EXPECT_EQ(other.records[i].end, one.records[i].end) << what << ", flow " << i;
      for (std::size_t i = 0; i < one.ranks.size(); ++i)
        EXPECT_EQ(other.ranks[i].finish, one.ranks[i].finish) << what << ", rank " << i;
    };
    for (const std::uint32_t threads : {2U, 3U, 8U}) {
      config.threads = threads;
      const FabricReport other = run(topology, list, config);
      EXPECT_EQ(other.threads, threads);
      EXPECT_EQ(other.events, one.events);
      same(other, "threads");
    }
    config.wire = WireMode::kBytes;
    same(run(topology, list, config), "bytes");
    config.wire = WireMode::kStructs;
    config.fabric.turns = false;
    same(run(topology, list, config), "events");
  }
}

TEST(RankProgramRun, AComputationIsNoStallAndAStallNamesTheRank) {
  const Topology pair = named_topology("back_to_back", kLink, kTimeZero)->topology;
  FabricRunConfig config = nominal();
  config.stall_after = milliseconds(1);
  const FabricReport report = run(
      pair,
      goal("num_ranks 2\nrank 0 { a: calc 9000000 b: send 8b to 1 b requires a }\nrank 1 { recv 8b from 0 }"),
      config);
  EXPECT_GT(report.ranks[1].finish, milliseconds(9));

  config.time_limit = milliseconds(5);
  const auto limited = run_flows(
      pair, goal("num_ranks 2\nrank 0 { send 8b to 1 calc 9000000 }\nrank 1 { recv 8b from 0 }"), config, {});
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->outcome, FabricOutcome::kStalled);
  EXPECT_EQ(limited->waiting,
            "run.time_limit of 5ms was reached; 1 of 2 ranks have not finished at 5ms, the first of them "
            "rank 0, which waits for the calc in line "
            "2, which has started");
  EXPECT_EQ(limited->finished, 1U);
  EXPECT_EQ(limited->ranks[0].finish, kNever);

  const auto silent = run_flows(pair, goal("num_ranks 1\nrank 0 { calc 5 }"), config, {});
  ASSERT_FALSE(silent.ok());
  EXPECT_THAT(silent.error().message, HasSubstr("t.goal: found no send, expected at least one"));
}

}  // namespace
}  // namespace wharf::sim
