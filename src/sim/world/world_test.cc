// SPDX-License-Identifier: Apache-2.0
// Full hosts on a fabric: what may not depend on threads, and what no single wire shows.
#include "sim/world/world.h"

#include <gtest/gtest.h>

#include "sim/fabric/topology_named.h"
#include "verbs/task.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kBytes = 1U << 16U;

WorldConfig world_of(std::string_view topology, Stack stack, std::uint32_t threads = 1) {
  WorldConfig config;
  config.topology =
      named_topology(topology, {gigabits_per_second(400), nanoseconds(100)}, nanoseconds(50))->topology;
  HostGroup group;
  group.count = config.topology.host_count();
  group.engine.stack = stack;
  config.groups = {group};
  config.fabric.profiles = {PortProfile::single_queue()};
  config.threads = threads;
  return config;
}

verbs::Task<void> fetch(SimRemote& remote, SimCore& core, int count, std::uint64_t& good) {
  const std::uint64_t local = core.allocate(Bytes{4096});
  for (int i = 0; i < count; ++i) {
    const auto offset = static_cast<std::uint64_t>(i) * 256 % kBytes;
    const verbs::Completion done = co_await remote.read(local, remote.segment().at(offset), 64);
    good += done.ok() ? 1 : 0;
  }
}

/// Every host but the last reads from the memory of the last.
struct Incast {
  explicit Incast(WorldConfig config, int count = 20)
      : world(World::create(std::move(config)).value()), good(world->host_count(), 0) {
    const std::size_t server = world->host_count() - 1;
    const auto segment = world->expose(server, Bytes{kBytes}).value();
    for (std::size_t client = 0; client < server; ++client) {
      const RemotePair pair = world->connect(client, server, segment).value();
      SimCore& core = world->host(client).core();
      core.spawn(fetch(*pair.near, core, count, good[client]));
    }
  }
  std::unique_ptr<World> world;
  std::vector<std::uint64_t> good;
};

TEST(World, EveryProgramOfEveryHostEnds) {
  for (const Stack stack : {Stack::kUbUrma, Stack::kRoceDma, Stack::kRoceBlueFlame, Stack::kUet}) {
    Incast incast(world_of("star:9", stack));
    EXPECT_EQ(incast.world->run().end, RunEnd::kStopped) << name(stack);
    EXPECT_TRUE(incast.world->programs_ended());
    for (std::size_t client = 0; client < 8; ++client) EXPECT_EQ(incast.good[client], 20U) << name(stack);
    const OperationTotals& totals = incast.world->log().totals(verbs::Verb::kRead);
    EXPECT_EQ(totals.count, 160U);
    EXPECT_EQ(totals.path.unattributed, kTimeZero) << name(stack);
  }
}

/// What a run leaves behind.
struct Print {
  std::uint64_t fingerprint;
  TimePs end;
  TimePs latency;
  TimePs queued;

  bool operator==(const Print&) const = default;
};

Print print_of(World& world) {
  const OperationTotals& totals = world.log().totals(verbs::Verb::kRead);
  return {world.fingerprint(), world.now(), totals.path.latency,
          totals.path.critical[static_cast<std::size_t>(trace::Stage::kLinkQueue)]};
}

TEST(World, TheNumberOfThreadsChangesNothing) {
  for (const Stack stack : {Stack::kUbUrma, Stack::kRoceDma, Stack::kUet}) {
    Incast alone(world_of("fat_tree:16", stack));
    alone.world->run();
    for (const std::uint32_t threads : {2U, 3U, 8U}) {
      Incast together(world_of("fat_tree:16", stack, threads));
      together.world->run();
      EXPECT_GT(together.world->threads(), 1U);
      EXPECT_EQ(print_of(*alone.world), print_of(*together.world)) << name(stack) << " " << threads;
    }
  }
}

TEST(World, EventByEventGivesTheSame) {
  Incast turns(world_of("star:5", Stack::kRoceDma));
  turns.world->run();
  WorldConfig config = world_of("star:5", Stack::kRoceDma);
  config.in_time_order = true;
  Incast events(std::move(config));
  events.world->run();
  EXPECT_EQ(print_of(*turns.world).latency, print_of(*events.world).latency);
  EXPECT_EQ(print_of(*turns.world).queued, print_of(*events.world).queued);
}

TEST(World, FaultsOfEveryLinkAreSurvived) {
  for (const Stack stack : {Stack::kUbUrma, Stack::kRoceDma, Stack::kUet}) {
    WorldConfig config = world_of("star:4", stack, 2);
    config.fabric.faults = {{.loss = 0.02, .damage = 0.01, .duplication = 0.02, .reordering = 0.02}};
    config.fabric.draws_per_fault = true;
    Incast incast(std::move(config), 200);
    EXPECT_EQ(incast.world->run().end, RunEnd::kStopped) << name(stack);
    for (std::size_t client = 0; client < 3; ++client) EXPECT_EQ(incast.good[client], 200U) << name(stack);
  }
}

TEST(World, AReadIsLongerByTheSwitchesThatItCrosses) {
  Incast wire(world_of("back_to_back", Stack::kRoceDma), 1);
  wire.world->run();
  Incast star(world_of("star:2", Stack::kRoceDma), 1);
  star.world->run();
  const auto latency = [](Incast& incast) {
    return incast.world->log().totals(verbs::Verb::kRead).path.latency;
  };
  // Each way one link of 100 ns and a switch of 50 ns more, and the packet is sent once more: the request has
  // 94 bytes on the link with its gap (84 at least), the answer 146; 20 ps a byte.
  const TimePs more = latency(star) - latency(wire);
  EXPECT_GE(more, nanoseconds(300));
  EXPECT_LE(more, nanoseconds(300) + picoseconds(20 * 300));
}

}  // namespace
}  // namespace wharf::sim
