// SPDX-License-Identifier: Apache-2.0
// What a world's network decides beside its packets: how large windows may be, which keys of links count,
// when the run has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Result<Scenario> loaded(std::vector<std::string> keys) {
  ScenarioSource source;
  source.overrides = std::move(keys);
  source.profile_directory = "profiles";
  return load_scenario(source);
}

const std::vector<std::string> kWorld{"model.stack=uet", "topology.from=fat_tree:16", "hosts.servers=1"};

std::vector<std::string> with(std::vector<std::string> keys) {
  keys.insert(keys.begin(), kWorld.begin(), kWorld.end());
  return keys;
}

TEST(WorldNetwork, KeysOfLinksThatDoNotCountAreNamed) {
  const auto remarks = [](std::vector<std::string> keys) {
    const auto scenario = loaded(with(std::move(keys)));
    EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
    return scenario ? scenario->no_influence : std::vector<std::string>{};
  };
  EXPECT_THAT(remarks({"model.link.rate=40Gbps", "model.link.delay=2us"}),
              Not(Contains(HasSubstr("model.link"))));
  const auto both = remarks({"model.link.rate=40Gbps", "fabric.link_speed=100Gbps", "model.link.delay=2us",
                             "fabric.hop_latency=1us"});
  EXPECT_THAT(both, Contains("model.link.rate (--set) had no influence: fabric.link_speed stands beside it"));
  EXPECT_THAT(both,
              Contains("model.link.delay (--set) had no influence: fabric.hop_latency stands beside it"));
}

/// The first time-out of the hosts of a world.
template <typename P>
TimePs first_timeout(std::vector<std::string> keys) {
  keys.insert(keys.end(), {"topology.from=fat_tree:16", "hosts.servers=1"});
  const auto scenario = loaded(std::move(keys));
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  const auto plan = plan_world(scenario->config);
  EXPECT_TRUE(plan.ok());
  return P::timeout(std::get<typename P::Config>(plan->config.groups.front().engine.configs), 0);
}

// Six links of 1 ms one way, six back: 12 ms and a little. A profile's 1 ms, or what a protocol has by
// itself, would send everything again.
TEST(WorldNetwork, TimeoutsThatNobodySetLastTwoBaseRoundTrips) {
  const std::string far = "model.link.delay=1ms";
  EXPECT_GE(first_timeout<UetProtocol>({"model.stack=uet", far}), milliseconds(24));
  EXPECT_GE(first_timeout<UbProtocol>({"model.stack=ub_urma", far}), milliseconds(24));
  EXPECT_GE(first_timeout<RoceProtocol>({"model.stack=roce_dma", "model.link.delay=4ms"}), milliseconds(96));
  // Short links leave them as they are: Ultra Ethernet has that of the fabric, 15 us and six full queues.
  EXPECT_LT(first_timeout<UetProtocol>({"model.stack=uet"}), microseconds(40));
  // The user's own is what it is.
  EXPECT_EQ(first_timeout<UetProtocol>({"model.stack=uet", far, "model.uet.rto=2ms"}), milliseconds(2));
  EXPECT_EQ(first_timeout<UbProtocol>({"model.stack=ub_urma", far, "model.ub.rto=2ms"}), milliseconds(2));
  EXPECT_EQ(first_timeout<RoceProtocol>({"model.stack=roce_dma", far, "model.roce.ack_timeout=5"}),
            picoseconds(4'096'000) * 32);
}

/// A program's last instant is that of one event, whatever windows and threads the world is brought forward
/// in.
TEST(WorldNetwork, ARunEndsWithItsLastProgram) {
  for (const char* threads : {"hosts.threads=1", "hosts.threads=2"}) {
    const auto scenario =
        loaded(with({"run.workload=verb_loop", "run.verb=write", "run.operations=20", threads}));
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const auto report = run_scenario(*scenario, {});
    ASSERT_TRUE(report.ok());
    EXPECT_NE(report->simulated.ps % 100'000, 0) << "not where a window ended";
    TimePs last;
    for (const auto& entry : report->log.entries()) last = max(last, entry.begin + entry.latency);
    EXPECT_GE(report->simulated, last);
    EXPECT_LT(report->simulated, last + microseconds(1));
  }
}

/// Waits of a millisecond between operations: the same on any number of threads.
TEST(WorldNetwork, IdleWaitsAreTheSameOnTwoThreads) {
  std::vector<std::uint64_t> fingerprints;
  std::vector<std::int64_t> ends;
  for (const char* threads : {"hosts.threads=1", "hosts.threads=2"}) {
    const auto scenario = loaded(with({"run.workload=verb_loop", "run.verb=write", "run.operations=10",
                                       "run.think_time=1ms", "hosts.clients=4", threads}));
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const auto report = run_scenario(*scenario, {});
    ASSERT_TRUE(report.ok());
    fingerprints.push_back(report->fingerprint);
    ends.push_back(report->simulated.ps);
    EXPECT_EQ(report->program_operations, 40U);
  }
  EXPECT_EQ(fingerprints[0], fingerprints[1]);
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace wharf::sim
