// SPDX-License-Identifier: Apache-2.0
// Thin hosts make traffic beside programs: programs feel it, flows end, and no thread changes either.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/topology_named.h"
#include "sim/world/world.h"
#include "verbs/task.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kBytes = 1U << 16U;
constexpr std::uint32_t kClients = 4;

/// Clients first, thin hosts, one server last.
WorldConfig world_of(Stack stack, std::uint32_t threads = 1) {
  WorldConfig config;
  config.topology =
      named_topology("fat_tree:16", {gigabits_per_second(100), nanoseconds(500)}, nanoseconds(50))->topology;
  HostGroup full;
  full.engine.stack = stack;
  full.count = kClients;
  HostGroup thin = full;
  thin.thin = true;
  thin.count = config.topology.host_count() - kClients - 1;
  HostGroup server = full;
  server.count = 1;
  config.groups = {full, thin, server};
  config.fabric.profiles = {PortProfile::single_queue()};
  config.threads = threads;
  return config;
}

workload::FlowList incast(std::uint32_t first, std::uint32_t last, std::uint32_t target,
                          std::uint64_t bytes) {
  workload::FlowListBuilder builder("incast", 0);
  for (std::uint32_t source = first; source <= last; ++source)
    builder.add({.id = source, .source = source, .destination = target, .bytes = bytes});
  return builder.take();
}

verbs::Task<void> fetch(SimRemote& remote, SimCore& core, int count, std::uint64_t& good) {
  const std::uint64_t local = core.allocate(Bytes{4096});
  for (int i = 0; i < count; ++i) {
    const verbs::Completion done = co_await remote.read(local, remote.segment().at(0), 64);
    good += done.ok() ? 1 : 0;
  }
}

struct Readers {
  explicit Readers(WorldConfig config) : world(World::create(std::move(config)).value()) {
    const std::size_t server = world->host_count() - 1;
    const auto segment = world->expose(server, Bytes{kBytes}).value();
    for (std::size_t client = 0; client < kClients; ++client) {
      const RemotePair pair = world->connect(client, server, segment).value();
      SimCore& core = world->host(client).core();
      core.spawn(fetch(*pair.near, core, 40, good));
    }
    end = world->run().end;
  }
  TimePs latency() const { return world->log().totals(verbs::Verb::kRead).path.latency; }

  std::unique_ptr<World> world;
  std::uint64_t good = 0;
  RunEnd end = RunEnd::kDrained;
};

constexpr std::array<Stack, 3> kEachProtocol{Stack::kUbUrma, Stack::kRoceDma, Stack::kUet};

TEST(Background, AnIncastOnTheServerIsFeltByTheProgramsAndEnds) {
  for (const Stack stack : kEachProtocol) {
    Readers alone(world_of(stack));
    WorldConfig config = world_of(stack);
    config.background = incast(kClients, kClients + 7, 15, 200'000);
    Readers beside(std::move(config));
    EXPECT_EQ(beside.end, RunEnd::kStopped) << name(stack);
    EXPECT_EQ(beside.good, 40U * kClients) << name(stack);
    EXPECT_GT(beside.latency(), alone.latency()) << name(stack);
    EXPECT_EQ(beside.world->log().totals(verbs::Verb::kRead).path.unattributed, kTimeZero) << name(stack);
    EXPECT_EQ(beside.world->settle().end, RunEnd::kDrained);
    for (const FlowRecord& record : beside.world->background_records()) {
      EXPECT_NE(record.end, kNever) << name(stack);
      EXPECT_EQ(record.status, verbs::CompletionStatus::kSuccess) << name(stack);
    }
  }
}

// Hosts have two ports in two planes that no switch joins. What keeps its order takes one of them.
TEST(Background, AFlowThatKeepsItsOrderKeepsToOnePort) {
  for (const Stack stack : kEachProtocol) {
    WorldConfig config = world_of(stack);
    Topology planes;
    for (int host = 0; host < 16; ++host) planes.add_host();
    for (int plane = 0; plane < 2; ++plane) {
      const NodeId middle = planes.add_switch(0, nanoseconds(50));
      for (NodeId host = 0; host < 16; ++host)
        planes.connect(host, middle, {gigabits_per_second(100), nanoseconds(500)});
    }
    config.topology = planes;
    config.background = incast(kClients, kClients + 7, 15, 200'000);
    Readers beside(std::move(config));
    EXPECT_EQ(beside.good, 40U * kClients) << name(stack);
    EXPECT_EQ(beside.world->settle().end, RunEnd::kDrained);
    std::array<std::uint32_t, 2> used{};
    for (std::uint32_t host = kClients; host <= kClients + 7; ++host) {
      const FlowRecord& record = beside.world->background_records()[host - kClients];
      EXPECT_EQ(record.status, verbs::CompletionStatus::kSuccess);
      const std::vector<PortId>& ports = beside.world->topology().node(host).ports;
      const std::array<std::uint64_t, 2> packets{beside.world->link(ports[0]).packets,
                                                 beside.world->link(ports[1]).packets};
      EXPECT_GE(packets[0] + packets[1], 49U) << name(stack);
      if (stack == Stack::kUet) continue;
      EXPECT_EQ(record.retransmissions(), 0U) << name(stack);
      EXPECT_EQ(std::min(packets[0], packets[1]), 0U) << name(stack);
      ++used.at(packets[0] == 0 ? 1 : 0);
    }
    if (stack != Stack::kUet) {
      EXPECT_GT(std::min(used[0], used[1]), 0U) << name(stack);
    }
  }
}

TEST(Background, ThreadsChangeNothing) {
  for (const Stack stack : kEachProtocol) {
    std::vector<std::uint64_t> prints;
    for (const std::uint32_t threads : {1U, 2U, 5U}) {
      WorldConfig config = world_of(stack, threads);
      config.background = incast(kClients, kClients + 7, 15, 50'000);
      Readers run(std::move(config));
      prints.push_back(run.world->fingerprint());
    }
    EXPECT_EQ(prints[0], prints[1]) << name(stack);
    EXPECT_EQ(prints[0], prints[2]) << name(stack);
  }
}

TEST(Background, WhatHasNotStartedNeverDoesOnceItIsStopped) {
  WorldConfig config = world_of(Stack::kRoceDma);
  config.background = incast(kClients, kClients + 1, 15, 1000);
  config.background.flows[1].start = seconds(1);
  Readers run(std::move(config));
  run.world->stop_background();
  EXPECT_EQ(run.world->settle().end, RunEnd::kDrained);
  EXPECT_LT(run.world->now(), seconds(1));
  EXPECT_NE(run.world->background_records()[0].end, kNever);
  EXPECT_EQ(run.world->background_records()[1].start, kNever);
}

TEST(Background, FlowsThatNobodyCanSendOrTakeAreRefused) {
  const auto refusal = [](workload::FlowList flows) {
    WorldConfig config = world_of(Stack::kRoceDma);
    config.background = std::move(flows);
    const auto made = World::create(std::move(config));
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_THAT(refusal(incast(0, 0, 15, 8)),
              testing::HasSubstr("flow 1 (0->15) starts at a host that runs programs"));
  workload::FlowList sends = incast(kClients, kClients, 15, 8);
  sends.flows[0].verb = verbs::Verb::kSend;
  EXPECT_THAT(refusal(sends), testing::HasSubstr("is a send to a host that runs programs"));
  EXPECT_THAT(refusal(incast(kClients, kClients, 16, 8)), testing::HasSubstr("names a host beyond the 16"));
  sends.flows[0].destination = kClients + 1;
  EXPECT_EQ(refusal(sends), "");
}

}  // namespace
}  // namespace wharf::sim
