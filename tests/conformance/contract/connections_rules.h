// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: many hosts, what may leave for them, and connections with data of their own.
#pragma once

#include <map>
#include <vector>

#include "engine/connections.h"
#include "rule_test_support.h"

namespace wharf::contract {
namespace {

WHARF_CONTRACT_TEST(OneEngineIsClientAndServerOfMany) {
  World<E> world(4);
  // Everybody connects to everybody, in no order that matters.
  struct End {
    QueueId queue;
    verbs::PeerId peer;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, End> ends;
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = a + 1; b < 4; ++b) {
      const QueueId queue_a = world.create_queue(a, world.plain());
      const QueueId queue_b = world.create_queue(b, world.plain());
      const auto [peer_a, peer_b] = world.connect(a, queue_a, b, queue_b);
      ends[{a, b}] = {queue_a, peer_a};
      ends[{b, a}] = {queue_b, peer_b};
    }
  }
  world.settle();
  for (const auto& [pair, end] : ends) {
    ASSERT_EQ(
        world.post(pair.first, end.queue, world.request(pair.second, Verb::kWrite, end.peer, pair.second)),
        PostStatus::kOk);
  }
  world.run();
  for (std::uint32_t host = 0; host < 4; ++host) {
    EXPECT_EQ(world.count(host, CompletionStatus::kSuccess, CompletionKind::kSend), 3U);
  }
}

WHARF_CONTRACT_TEST(APacketLeavesOnlyWhenItsClassMay) {
  Pair<E> world;
  ASSERT_EQ(world.post_receive(1, world.queue[1], 1), PostStatus::kOk);
  // Of one packet and of several, alone and in company.
  std::uint64_t id = 0;
  for (const Verb verb :
       {Verb::kWrite, Verb::kRead, Verb::kSend, Verb::kFetchAdd, Verb::kWrite, Verb::kRead}) {
    if (!world.engine(0).capabilities().supports(verb)) continue;
    ASSERT_EQ(world.post(++id, verb, id > 4 ? 3000 : 64), PostStatus::kOk);
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::uint32_t traffic = 0; traffic < wire::kTrafficClassCount; ++traffic) {
        const auto may = static_cast<wire::TrafficClass>(traffic);
        for (auto& host : world.hosts) {
          engine::Access access;
          while (host.engine->next_access(access))
            host.engine->access_done(world.now, access.id, world.perform(host, access));
          wire::Packet packet;
          while (host.engine->transmit(world.now, 0, wire::mask_of(may), packet)) {
            progress = true;
            EXPECT_EQ(packet.traffic_class, may) << verbs::name(verb);
            world.engine(packet.destination.number).receive(world.now, 0, packet);
            world.pool.release(packet.payload.buffer);
          }
        }
      }
    }
  }
  world.run();
  EXPECT_EQ(world.count(0, CompletionStatus::kSuccess, CompletionKind::kSend), id);
}

WHARF_CONTRACT_TEST(AForgottenHostIsNobodysPeer) {
  World<E> world(3);
  const QueueId cq = world.engine(0).create_completion_queue(world.now, {}).value();
  QueueId queue[3] = {};
  verbs::PeerId peer[3] = {};
  QueueId there[3] = {};
  for (std::uint32_t host = 1; host < 3; ++host) {
    queue[host] = world.create_queue(0, world.into(cq));
    there[host] = world.create_queue(host, world.plain());
    peer[host] = world.connect(0, queue[host], host, there[host]).first;
  }
  world.settle();
  EXPECT_TRUE(world.engine(0).forget_host(world.now, {77}).ok());
  world.flies = false;
  ASSERT_EQ(world.post(0, queue[1], world.request(1, Verb::kWrite, peer[1], 1)), PostStatus::kOk);
  ASSERT_EQ(world.post(0, queue[2], world.request(2, Verb::kWrite, peer[2], 2)), PostStatus::kOk);
  world.settle();
  ASSERT_TRUE(world.engine(0).forget_host(world.now, {1}).ok());
  world.settle();
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_EQ(world.hosts[0].completions[0].id, 1U);
  EXPECT_FALSE(world.hosts[0].completions[0].ok());
  EXPECT_NE(world.post(0, queue[1], world.request(3, Verb::kWrite, peer[1], 1)), PostStatus::kOk);
  // What the host said before reaches nobody, and the other host never notices.
  world.flies = true;
  world.run();
  ASSERT_EQ(world.hosts[0].completions.size(), 2U);
  EXPECT_EQ(world.hosts[0].completions[1].id, 2U);
  EXPECT_TRUE(world.hosts[0].completions[1].ok());
}

WHARF_CONTRACT_TEST(ConnectionsRunOverIt) {
  World<E> world;
  engine::Connections<E> of[2] = {{world.engine(0), {}}, {world.engine(1), {}}};
  const QueueId queue[2] = {world.create_queue(0, world.plain()), world.create_queue(1, world.plain())};
  std::vector<engine::ConnectionEvent> events[2];
  const auto deliver = [&] {
    for (int round = 0; round < 4; ++round) {
      for (std::uint32_t host = 0; host < 2; ++host) {
        wire::HostAddress to;
        std::vector<std::byte> bytes;
        while (of[host].next_message(to, bytes)) of[to.number].receive(world.now, {host}, bytes);
        engine::ConnectionEvent event;
        while (of[host].poll_event(event)) events[host].push_back(event);
      }
    }
  };
  ASSERT_TRUE(of[1].listen(5).ok());
  ASSERT_TRUE(of[0].connect(world.now, queue[0], {1}, 5, {}).ok());
  deliver();
  ASSERT_EQ(events[1].size(), 1U);
  ASSERT_TRUE(of[1].accept(world.now, events[1][0].connection, queue[1], {}).ok());
  deliver();
  ASSERT_EQ(events[0].size(), 1U);
  ASSERT_EQ(events[0][0].kind, engine::ConnectionEventKind::kEstablished);
  ASSERT_EQ(world.post(0, queue[0], world.request(1, Verb::kWrite, events[0][0].peer, 1)), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
  ASSERT_TRUE(of[0].close(world.now, events[0][0].connection).ok());
  deliver();
  EXPECT_EQ(events[1].back().kind, engine::ConnectionEventKind::kLost);
}

}  // namespace
}  // namespace wharf::contract
