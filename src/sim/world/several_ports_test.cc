// SPDX-License-Identifier: Apache-2.0
// Full hosts with several ports: what the links carry together, and that packets of one path keep their
// order.
#include <gtest/gtest.h>

#include <array>

#include "sim/fabric/topology_named.h"
#include "sim/world/engine_of.h"
#include "sim/world/world.h"
#include "verbs/task.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kBytes = 1U << 20U;
constexpr BitsPerSecond kRate = gigabits_per_second(25);
constexpr std::array<Stack, 3> kEachProtocol{Stack::kUbUrma, Stack::kRoceDma, Stack::kUet};

verbs::Task<void> write(SimRemote& remote, SimCore& core, int count) {
  const std::uint64_t local = core.allocate(Bytes{65'536});
  for (int i = 0; i < count; ++i) {
    const verbs::Completion done = co_await remote.write(local, remote.segment().at(0), 65'536);
    EXPECT_TRUE(done.ok());
  }
}

struct Outcome {
  TimePs time;
  std::uint64_t fingerprint = 0;
  std::array<std::uint64_t, 2> packets{};  ///< By port of host 0.
};

/// Host 0 writes 2 MiB to host 1 over `queues` queues.
Outcome run(std::string_view topology, Stack stack, int queues, std::uint32_t threads = 1) {
  WorldConfig config;
  config.topology = named_topology(topology, {kRate, nanoseconds(500)}, nanoseconds(50))->topology;
  HostGroup group;
  group.engine.stack = stack;
  group.count = config.topology.host_count();
  config.groups = {group};
  config.fabric.profiles = {PortProfile::single_queue()};
  config.threads = threads;
  const auto world = World::create(std::move(config)).value();
  for (int queue = 0; queue < queues; ++queue) {
    const auto segment = world->expose(1, Bytes{kBytes}).value();
    const RemotePair pair = world->connect(0, 1, segment).value();
    world->host(0).core().spawn(write(*pair.near, world->host(0).core(), 32 / queues));
  }
  EXPECT_EQ(world->run().end, RunEnd::kStopped) << name(stack);
  EXPECT_EQ(world->log().totals(verbs::Verb::kWrite).count, 32U) << name(stack);
  if (auto* engine = engine_of<RoceProtocol>(*world, 1)) {
    EXPECT_EQ(engine->counters().naks_sent, 0U);
  }
  Outcome outcome{world->now(), world->fingerprint(), {}};
  const std::vector<PortId>& ports = world->topology().node(0).ports;
  for (std::size_t i = 0; i < ports.size(); ++i) outcome.packets.at(i) = world->link(ports[i]).packets;
  return outcome;
}

TEST(SeveralPorts, CarryMoreThanOneTogether) {
  // All queues of two hosts share one channel of Unified Bus, which is one path.
  for (const Stack stack : {Stack::kRoceDma, Stack::kUet}) {
    const Outcome one = run("star:4", stack, 16);
    const Outcome two = run("rail_servers:1x4x2x1", stack, 16);
    EXPECT_GT(two.packets[0], 0U) << name(stack);
    EXPECT_GT(two.packets[1], 0U) << name(stack);
    // Paths are drawn, so that the halves are not equal.
    EXPECT_LT(two.time.ps, one.time.ps * 8 / 10) << name(stack);
  }
}

TEST(SeveralPorts, OnePathTakesOnePort) {
  for (const Stack stack : {Stack::kRoceDma, Stack::kUbUrma}) {
    const Outcome one = run("rail_servers:1x4x2x1", stack, 1);
    EXPECT_EQ(std::min(one.packets[0], one.packets[1]), 0U) << name(stack);
  }
}

TEST(SeveralPorts, GiveTheSameOnAnyNumberOfThreads) {
  for (const Stack stack : kEachProtocol) {
    EXPECT_EQ(run("rail_servers:2x4x2x2", stack, 4).fingerprint,
              run("rail_servers:2x4x2x2", stack, 4, 3).fingerprint)
        << name(stack);
  }
}

}  // namespace
}  // namespace wharf::sim
