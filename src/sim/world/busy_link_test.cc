// SPDX-License-Identifier: Apache-2.0
// A link that is behind holds the NIC's pipeline back: what the engine finds urgent overtakes what has not
// left, and the link never waits for it.
#include <gtest/gtest.h>

#include <array>

#include "sim/fabric/topology_named.h"
#include "sim/world/world.h"
#include "verbs/task.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kBytes = 1U << 22U;
constexpr BitsPerSecond kSlow = gigabits_per_second(10);
constexpr std::array<Stack, 3> kEachProtocol{Stack::kUbUrma, Stack::kRoceDma, Stack::kUet};

WorldConfig world_of(std::string_view topology, Stack stack, std::uint32_t threads = 1) {
  WorldConfig config;
  config.topology = named_topology(topology, {kSlow, nanoseconds(500)}, nanoseconds(50))->topology;
  HostGroup group;
  group.host.nic.port_buffer = 0;
  group.engine.stack = stack;
  group.count = config.topology.host_count();
  config.groups = {group};
  config.fabric.profiles = {PortProfile::single_queue()};
  config.threads = threads;
  return config;
}

/// Writes `length` bytes `count` times, one after the other.
verbs::Task<void> write(SimRemote& remote, SimCore& core, int count, std::uint32_t length, TimePs& longest) {
  const std::uint64_t local = core.allocate(Bytes{length});
  for (int i = 0; i < count; ++i) {
    const TimePs begin = core.now();
    const verbs::Completion done = co_await remote.write(local, remote.segment().at(0), length);
    EXPECT_TRUE(done.ok());
    longest = max(longest, core.now() - begin);
  }
}

struct Opposed {
  explicit Opposed(Stack stack) : world(World::create(world_of("back_to_back", stack)).value()) {
    const auto near = world->expose(1, Bytes{kBytes}).value();
    const auto far = world->expose(0, Bytes{kBytes}).value();
    pair = world->connect(0, 1, near, far).value();
  }
  std::unique_ptr<World> world;
  RemotePair pair;
};

// Unified Bus answers with numbered packets, which keep their place in the channel: not so there.
TEST(BusyLink, AcknowledgementsOvertakeDataThatHasNotLeft) {
  for (const Stack stack : {Stack::kRoceDma, Stack::kUet}) {
    Opposed hosts(stack);
    TimePs bulk;
    TimePs small;
    for (int stream = 0; stream < 8; ++stream)
      hosts.world->host(0).core().spawn(
          write(*hosts.pair.near, hosts.world->host(0).core(), 8, 65'536, bulk));
    hosts.world->host(1).core().spawn(write(*hosts.pair.far, hosts.world->host(1).core(), 200, 64, small));
    EXPECT_EQ(hosts.world->run().end, RunEnd::kStopped) << name(stack);
    EXPECT_GT(hosts.world->host(0).nic().counters().link_stalls, 0U) << name(stack);
    // The packet that is on the link, one that is next, and the way there and back.
    EXPECT_LT(small, microseconds(14)) << name(stack);
  }
}

TEST(BusyLink, TheLinkNeverWaitsForThePipeline) {
  for (const Stack stack : kEachProtocol) {
    Opposed hosts(stack);
    TimePs longest;
    for (int stream = 0; stream < 8; ++stream)
      hosts.world->host(0).core().spawn(
          write(*hosts.pair.near, hosts.world->host(0).core(), 16, 65'536, longest));
    EXPECT_EQ(hosts.world->run().end, RunEnd::kStopped) << name(stack);
    const LinkReport link = hosts.world->link(0);
    const TimePs sent = transfer_time(Bytes{link.charged_bytes}, kSlow);
    // Beside the first read of memory and the last answer.
    EXPECT_LT(hosts.world->now() - sent, microseconds(6)) << name(stack);
  }
}

verbs::Task<void> fetch(SimRemote& remote, SimCore& core, int count) {
  const std::uint64_t local = core.allocate(Bytes{4096});
  for (int i = 0; i < count; ++i) {
    const verbs::Completion done = co_await remote.read(local, remote.segment().at(0), 4096);
    EXPECT_TRUE(done.ok());
  }
}

/// Every host reads from the last, whose port is paused now and then, or runs out of credit.
std::uint64_t held_run(FlowControl kind, Stack stack, std::uint32_t threads, bool in_time_order = false) {
  WorldConfig config = world_of("star:6", stack, threads);
  config.in_time_order = in_time_order;
  config.fabric.flow_control.kind = kind;
  config.fabric.flow_control.xoff_bytes = 12'000;
  config.fabric.flow_control.xon_bytes = 6'000;
  config.fabric.flow_control.credit_limit_bytes = 16'384;
  const auto world = World::create(std::move(config)).value();
  const std::size_t server = 5;
  const auto segment = world->expose(server, Bytes{kBytes}).value();
  for (std::size_t client = 0; client < server; ++client) {
    const RemotePair pair = world->connect(client, server, segment).value();
    for (int stream = 0; stream < 4; ++stream)
      world->host(client).core().spawn(fetch(*pair.near, world->host(client).core(), 12));
  }
  EXPECT_EQ(world->run().end, RunEnd::kStopped) << name(stack);
  EXPECT_EQ(world->log().totals(verbs::Verb::kRead).count, 240U);
  EXPECT_GT(world->host(server).nic().counters().link_stalls, 0U) << name(stack);
  return static_cast<std::uint64_t>(world->log().totals(verbs::Verb::kRead).path.latency.ps);
}

TEST(BusyLink, WhatASteadyLinkWillDoIsKnownBeforeItDoesIt) {
  for (const Stack stack : kEachProtocol) {
    const std::uint64_t alone = held_run(FlowControl::kNone, stack, 1);
    EXPECT_EQ(held_run(FlowControl::kNone, stack, 3), alone) << name(stack);
    EXPECT_EQ(held_run(FlowControl::kNone, stack, 1, true), alone) << name(stack);
  }
}

TEST(BusyLink, PauseAndCreditHoldFullHostsTheSameOnAnyNumberOfThreads) {
  for (const FlowControl kind : {FlowControl::kPause, FlowControl::kCredit}) {
    for (const Stack stack : kEachProtocol) {
      const std::uint64_t alone = held_run(kind, stack, 1);
      EXPECT_EQ(held_run(kind, stack, 3), alone) << name(stack);
    }
  }
}

}  // namespace
}  // namespace wharf::sim
