// SPDX-License-Identifier: Apache-2.0
// Full hosts with several NICs: what they carry together, who meets whom, and what cannot be.
#include <gtest/gtest.h>

#include <array>

#include "sim/fabric/topology_named.h"
#include "sim/world/engine_of.h"
#include "sim/world/world.h"
#include "verbs/task.h"

namespace wharf::sim {
namespace {

constexpr std::uint32_t kBlock = 65'536;
constexpr BitsPerSecond kRate = gigabits_per_second(25);
constexpr std::array<Stack, 3> kEachProtocol{Stack::kUbUrma, Stack::kRoceDma, Stack::kUet};

verbs::Task<void> fetch(SimRemote& remote, SimCore& core, int count) {
  const std::uint64_t local = core.allocate(Bytes{kBlock});
  for (int i = 0; i < count; ++i) {
    const verbs::Completion done = co_await remote.read(local, remote.segment().at(0), kBlock);
    EXPECT_TRUE(done.ok());
  }
}

struct Shape {
  std::string_view topology = "rail_servers:1x4x2x1";
  Stack stack = Stack::kRoceDma;
  std::uint32_t nics_at_clients = 1;
  std::uint32_t nics_at_server = 2;
  NicSpread spread = NicSpread::kQueue;
  std::uint32_t threads = 1;
  WireMode wire = WireMode::kStructs;
  MemorySystem memory = MemorySystem::kFlat;
};

WorldConfig config_of(const Shape& shape) {
  WorldConfig config;
  config.topology = named_topology(shape.topology, {kRate, nanoseconds(500)}, nanoseconds(50))->topology;
  HostGroup clients;
  clients.engine.stack = shape.stack;
  clients.nics.count = shape.nics_at_clients;
  clients.nics.spread = shape.spread;
  clients.count = config.topology.host_count() - 1;
  HostGroup server = clients;
  server.count = 1;
  server.nics.count = shape.nics_at_server;
  server.host.memory.system = shape.memory;
  config.groups = {clients, server};
  config.fabric.profiles = {PortProfile::single_queue()};
  config.threads = shape.threads;
  config.link.wire = shape.wire;
  return config;
}

struct Outcome {
  TimePs time;
  std::uint64_t fingerprint = 0;
  std::vector<std::uint64_t> packets;  ///< By NIC of the server.
};

/// Every host but the last reads from the memory of the last, over two queues.
Outcome run(const Shape& shape) {
  constexpr int kReads = 8;
  const auto world = World::create(config_of(shape)).value();
  const std::size_t server = world->host_count() - 1;
  const auto segment = world->expose(server, Bytes{kBlock}).value();
  for (std::size_t client = 0; client < server; ++client) {
    for (int queue = 0; queue < 2; ++queue) {
      const RemotePair pair = world->connect(client, server, segment).value();
      SimCore& core = world->host(client).core();
      core.spawn(fetch(*pair.near, core, kReads));
    }
  }
  EXPECT_EQ(world->run().end, RunEnd::kStopped) << name(shape.stack);
  const OperationTotals& totals = world->log().totals(verbs::Verb::kRead);
  EXPECT_EQ(totals.count, server * 2 * kReads) << name(shape.stack);
  EXPECT_EQ(totals.path.unattributed, kTimeZero) << name(shape.stack);
  Outcome outcome{world->now(), world->fingerprint(), {}};
  for (std::uint32_t nic = 0; nic < world->host(server).nic_count(); ++nic)
    outcome.packets.push_back(world->host(server).nic(nic).counters().packets_sent);
  return outcome;
}

// Each NIC of the server has one port: the wire is the limit.
TEST(SeveralNics, CarryWhatTheirPortsCarryTogether) {
  for (const Stack stack : kEachProtocol) {
    const Outcome one = run({.topology = "rail_servers:1x4x1x1", .stack = stack, .nics_at_server = 1});
    const Outcome two = run({.stack = stack});
    EXPECT_GT(one.time * 10, two.time * 18) << name(stack);
    EXPECT_GT(two.packets.at(0), 0U);
    EXPECT_NEAR(static_cast<double>(two.packets[0]), static_cast<double>(two.packets.at(1)),
                static_cast<double>(two.packets[0]) * 0.1);
  }
}

// With a slow bus in front of each NIC, two NICs carry twice what one NIC with two ports does.
TEST(SeveralNics, HaveAnAttachmentEach) {
  const auto with = [](std::uint32_t nics) {
    Shape shape{.nics_at_server = nics};
    WorldConfig config = config_of(shape);
    for (HostGroup& group : config.groups) group.host.pcie.rate = gigabits_per_second(20);
    const auto world = World::create(std::move(config)).value();
    const std::size_t server = world->host_count() - 1;
    const auto segment = world->expose(server, Bytes{kBlock}).value();
    for (std::size_t client = 0; client < server; ++client) {
      SimCore& core = world->host(client).core();
      for (int queue = 0; queue < 2; ++queue)
        core.spawn(fetch(*world->connect(client, server, segment)->near, core, 8));
    }
    EXPECT_EQ(world->run().end, RunEnd::kStopped);
    return world->now();
  };
  EXPECT_GT(with(1) * 10, with(2) * 18);
}

TEST(SeveralNics, MeetInEveryCombination) {
  for (const Stack stack : kEachProtocol) {
    for (const std::string_view topology : {"rail_servers:1x3x3x1", "rail_servers:2x2x3x2"}) {
      for (const std::uint32_t clients : {1U, 2U, 3U}) {
        for (const std::uint32_t server : {1U, 2U, 3U}) {
          SCOPED_TRACE(testing::Message() << name(stack) << topology << clients << server);
          const Outcome outcome = run(
              {.topology = topology, .stack = stack, .nics_at_clients = clients, .nics_at_server = server});
          for (const std::uint64_t packets : outcome.packets) EXPECT_GT(packets, 0U);
        }
      }
    }
  }
}

TEST(SeveralNics, GiveTheSameOnAnyNumberOfThreadsAndWithBytes) {
  for (const Stack stack : kEachProtocol) {
    const Shape shape{.topology = "rail_servers:2x4x2x2", .stack = stack, .nics_at_clients = 2};
    const Outcome one = run(shape);
    Shape other = shape;
    other.threads = 2;
    EXPECT_EQ(one.fingerprint, run(other).fingerprint) << name(stack);
    other.threads = 3;
    other.wire = WireMode::kBytes;
    EXPECT_EQ(one.fingerprint, run(other).fingerprint) << name(stack);
  }
}

TEST(SeveralNics, OfOnePeerMayBeOne) {
  // Clients 0 to 2 of server 3: two of the three sums are odd.
  const Outcome outcome = run({.spread = NicSpread::kPeer});
  ASSERT_GT(outcome.packets.at(0), 0U);
  EXPECT_NEAR(static_cast<double>(outcome.packets.at(1)) / static_cast<double>(outcome.packets[0]), 2.0, 0.1);
}

TEST(SeveralNics, ShareMemoryThatIsCoherent) {
  const Outcome one = run({.nics_at_server = 1, .memory = MemorySystem::kCoherent});
  const Outcome two = run({.nics_at_server = 2, .memory = MemorySystem::kCoherent});
  EXPECT_LE(two.time, one.time);
  EXPECT_GT(two.packets.at(1), 0U);
}

TEST(SeveralNics, NeedPortsAndPaths) {
  EXPECT_EQ(World::create(config_of({.topology = "star:4"})).error().message,
            "nics is 2, expected at most 1: host 3 has one port in the topology, and each NIC needs one");
  EXPECT_EQ(World::create(config_of({.nics_at_clients = 3})).error().message,
            "nics is 3, expected at most 2: host 0 has 2 ports in the topology, and each NIC needs one");
  // Two rails without a spine are two networks.
  Topology rails;
  for (int host = 0; host < 4; ++host) rails.add_host();
  for (int rail = 0; rail < 2; ++rail) rails.add_switch(0, nanoseconds(50));
  for (NodeId host = 0; host < 4; ++host) {
    for (const NodeId rail : {4U, 5U}) rails.connect(host, rail, {kRate, nanoseconds(500)});
  }
  const auto on_rails = [&](std::uint32_t nics_at_clients) {
    WorldConfig config = config_of({.nics_at_clients = nics_at_clients});
    config.topology = rails;
    return World::create(std::move(config));
  };
  EXPECT_EQ(on_rails(1).error().message,
            "nics is 2 at some hosts alone, expected one number for all hosts and no traffic beside: no "
            "switch joins the planes of the topology");
  EXPECT_TRUE(on_rails(2).ok());
}

}  // namespace
}  // namespace wharf::sim
