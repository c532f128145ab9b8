// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md, rule by rule, for the engine that includes this: objects, their life, events,
// addresses, buffers.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "contract_world.h"
#include "engine/connections.h"
#include "verbs/ring_request.h"

namespace wharf::contract {
namespace {

using engine::AccessKind;
using engine::AsyncEventKind;
using engine::PostStatus;
using engine::QueueId;
using engine::QueueState;
using verbs::CompletionKind;
using verbs::CompletionStatus;
using verbs::Verb;

// WHARF_CONTRACT_SUITE and WHARF_CONTRACT_ENGINE name the engine that this is compiled for. One of the first
// edition skips: the list of those shrinks to nothing.
#define WHARF_SECOND_EDITION_TEST(name)                      \
  template <typename E>                                      \
  void check_##name();                                       \
  TEST(WHARF_CONTRACT_SUITE, name) {                         \
    if constexpr (engine::EngineV2<WHARF_CONTRACT_ENGINE>) { \
      check_##name<WHARF_CONTRACT_ENGINE>();                 \
    } else {                                                 \
      GTEST_SKIP() << "the engine is of the first edition";  \
    }                                                        \
  }                                                          \
  template <typename E>                                      \
  void check_##name()

/// Two hosts with a queue each that report into a completion queue each.
template <typename E>
struct Pair : World<E> {
  explicit Pair(std::uint32_t depth = 64) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      cq[host] = this->engine(host).create_completion_queue(this->now, {.depth = depth}).value();
      queue[host] = this->create_queue(host, this->into(cq[host]));
    }
    std::tie(peer[0], peer[1]) = this->connect(0, queue[0], 1, queue[1]);
    this->settle();
  }
  PostStatus post(std::uint64_t id, Verb verb, std::uint32_t length = 64) {
    return World<E>::post(0, queue[0], this->request(id, verb, peer[0], 1, length));
  }
  QueueId cq[2];
  QueueId queue[2];
  verbs::PeerId peer[2];
};

// --- Capabilities
// ---------------------------------------------------------------------------------------------------

WHARF_SECOND_EDITION_TEST(CapabilitiesSayWhichVerbsAreTaken) {
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<Verb>(number);
    Pair<E> world;
    const engine::Capabilities can = world.engine(0).capabilities();
    EXPECT_EQ(can.supports(verb), E::supports(verb)) << verbs::name(verb);
    if (verbs::is_load_store(verb)) {
      EXPECT_EQ(can.supports(verb), can.load_store);
      continue;
    }
    for (const std::uint32_t width : {4U, 8U, 16U}) {
      if (!verbs::is_atomic(verb) && width != 8) continue;
      verbs::WorkRequest request = world.request(1, verb, world.peer[0], 1);
      if (verbs::is_atomic(verb)) {
        request.length = request.width = static_cast<std::uint8_t>(width);
        request.local[0].length = width;
      }
      const bool expected = verbs::is_atomic(verb) ? can.supports(verb, width) : can.supports(verb);
      const PostStatus status = static_cast<World<E>&>(world).post(0, world.queue[0], request);
      EXPECT_EQ(status == PostStatus::kOk, expected)
          << verbs::name(verb) << " of " << width << " bytes: " << engine::name(status);
    }
  }
}

WHARF_SECOND_EDITION_TEST(CapabilitiesSayTheLimits) {
  World<E> world;
  const engine::Capabilities can = world.engine(0).capabilities();
  EXPECT_FALSE(can.protocol.empty());
  EXPECT_GT(can.mtu, 0U);
  EXPECT_GE(can.max_message_bytes, can.max_send_bytes);
  EXPECT_EQ(can.max_scatter_entries, static_cast<std::uint32_t>(verbs::kMaxScatterEntries));
  const auto with_depth = [&](std::uint32_t depth) {
    return world.engine(0).create_queue(world.now, {.send_depth = depth, .receive_depth = 16}).ok();
  };
  EXPECT_TRUE(with_depth(can.max_queue_depth));
  EXPECT_FALSE(with_depth(can.max_queue_depth * 2));
  EXPECT_FALSE(with_depth(3));
  EXPECT_TRUE(world.engine(0).create_completion_queue(world.now, {.depth = can.max_completion_depth}).ok());
  EXPECT_FALSE(
      world.engine(0).create_completion_queue(world.now, {.depth = can.max_completion_depth * 2}).ok());
  EXPECT_EQ(world.engine(0).create_receive_queue(world.now, {}).ok(), can.max_receive_queues > 0);
  EXPECT_EQ(world.engine(0).create_group(world.now, {}).ok(), can.max_groups > 0);
  engine::QueueConfig bytes = world.plain();
  bytes.entries = engine::EntryFormat::kBytes;
  bytes.send_completions = bytes.receive_completions =
      world.engine(0).create_completion_queue(world.now, {}).value();
  EXPECT_EQ(world.engine(0).create_queue(world.now, bytes).ok(), can.byte_rings);
}

WHARF_SECOND_EDITION_TEST(QueuesNameOnlyWhatExists) {
  World<E> world;
  E& engine = world.engine(0);
  const QueueId cq = engine.create_completion_queue(world.now, {}).value();
  for (const QueueId wrong : {0U, 7U, cq + 1, engine::kReceiveQueueBit}) {
    engine::QueueConfig config = world.into(cq);
    config.send_completions = wrong;
    EXPECT_FALSE(engine.create_queue(world.now, config).ok()) << wrong;
    config = world.into(cq);
    config.receive_completions = wrong;
    EXPECT_FALSE(engine.create_queue(world.now, config).ok()) << wrong;
  }
  for (const QueueId wrong : {0U, cq, engine::kReceiveQueueBit + 1}) {
    engine::QueueConfig config = world.into(cq);
    config.receive_queue = wrong;
    EXPECT_FALSE(engine.create_queue(world.now, config).ok()) << wrong;
  }
  EXPECT_TRUE(engine.destroy_queue(world.now, cq).ok());  // Nothing that failed uses it.
}

// --- Completion queues
// ---------------------------------------------------------------------------------------------------

WHARF_SECOND_EDITION_TEST(SeveralQueuesReportIntoOneCompletionQueue) {
  World<E> world;
  const QueueId cq = world.engine(0).create_completion_queue(world.now, {.depth = 64}).value();
  std::vector<QueueId> queues;
  for (std::uint64_t i = 0; i < 4; ++i) {
    queues.push_back(world.create_queue(0, world.into(cq)));
    const QueueId there = world.create_queue(1, world.plain());
    const auto [peer, back] = world.connect(0, queues.back(), 1, there);
    world.settle();
    for (std::uint64_t n = 0; n < 3; ++n) {
      ASSERT_EQ(world.post(0, queues[i], world.request(i * 10 + n, Verb::kWrite, peer, 1)), PostStatus::kOk);
    }
  }
  world.run();
  const auto& host = world.hosts[0];
  ASSERT_EQ(host.completions.size(), 12U);
  std::map<QueueId, std::uint64_t> last;
  for (std::size_t i = 0; i < 12; ++i) {
    const verbs::Completion& completion = host.completions[i];
    EXPECT_EQ(host.from[i], cq);
    EXPECT_TRUE(completion.ok());
    EXPECT_EQ(completion.queue, queues[completion.id / 10]);
    if (last.contains(completion.queue) && world.engine(0).capabilities().ordered_delivery) {
      EXPECT_LT(last[completion.queue], completion.id);
    }
    last[completion.queue] = completion.id;
  }
  verbs::Completion none;
  for (const QueueId queue : queues) EXPECT_FALSE(world.engine(0).poll(queue, none));
  EXPECT_FALSE(world.engine(0).destroy_queue(world.now, cq).ok());
  for (const QueueId queue : queues) EXPECT_TRUE(world.engine(0).destroy_queue(world.now, queue).ok());
  EXPECT_TRUE(world.engine(0).destroy_queue(world.now, cq).ok());
  EXPECT_FALSE(world.engine(0).destroy_queue(world.now, cq).ok());
}

WHARF_SECOND_EDITION_TEST(AFullCompletionQueueFailsTheQueue) {
  Pair<E> world(2);
  for (std::uint64_t id = 0; id < 4; ++id) ASSERT_EQ(world.post(id, Verb::kWrite), PostStatus::kOk);
  // Nobody polls: the world's loop would.
  for (int round = 0; round < 50; ++round) {
    for (std::uint32_t at = 0; at < 2; ++at) {
      auto& host = world.hosts[at];
      engine::Access access;
      while (host.engine->next_access(access))
        host.engine->access_done(world.now, access.id, world.perform(host, access));
      wire::Packet packet;
      while (host.engine->transmit(world.now, 0, wire::kAllTrafficClasses, packet)) {
        world.engine(1 - at).receive(world.now, 0, packet);
        world.pool.release(packet.payload.buffer);
      }
    }
  }
  world.run();
  EXPECT_GE(world.count(0, AsyncEventKind::kCompletionQueueFull), 1U);
  ASSERT_FALSE(world.hosts[0].events.empty());
  EXPECT_EQ(world.hosts[0].events.front().queue, world.cq[0]);
  EXPECT_EQ(world.engine(0).queue_state(world.queue[0]), QueueState::kError);
  EXPECT_EQ(world.count(0, CompletionStatus::kSuccess, CompletionKind::kSend), 2U);
}

WHARF_SECOND_EDITION_TEST(AnArmedCompletionQueueReportsOnce) {
  Pair<E> world;
  E& engine = world.engine(0);
  const auto write = [&](std::uint64_t id) {
    ASSERT_EQ(world.post(id, Verb::kWrite), PostStatus::kOk);
    world.run();
  };
  const auto ready = [&] { return world.count(0, AsyncEventKind::kCompletionReady); };
  write(1);
  EXPECT_EQ(ready(), 0U);
  ASSERT_TRUE(engine.arm(world.now, world.cq[0], {}).ok());
  write(2);
  EXPECT_EQ(ready(), 1U);
  EXPECT_EQ(world.hosts[0].events.back().queue, world.cq[0]);
  write(3);
  EXPECT_EQ(ready(), 1U);
  ASSERT_TRUE(engine.arm(world.now, world.cq[0], {.count = 3}).ok());
  write(4);
  write(5);
  EXPECT_EQ(ready(), 1U);
  write(6);
  EXPECT_EQ(ready(), 2U);
  EXPECT_FALSE(engine.arm(world.now, world.queue[0], {}).ok());
  EXPECT_FALSE(engine.arm(world.now, world.cq[0], {.count = 0}).ok());
}

WHARF_SECOND_EDITION_TEST(SolicitedMessagesAreToldApart) {
  Pair<E> world;
  const bool can = world.engine(0).capabilities().solicited;
  ASSERT_TRUE(world.engine(1).arm(world.now, world.cq[1], {.solicited_only = true}).ok());
  for (std::uint64_t id = 0; id < 3; ++id)
    ASSERT_EQ(world.post_receive(1, world.queue[1], id), PostStatus::kOk);
  const auto send = [&](bool solicited) {
    verbs::WorkRequest request = world.request(9, Verb::kSend, world.peer[0], 1);
    request.solicited = solicited;
    ASSERT_EQ(static_cast<World<E>&>(world).post(0, world.queue[0], request), PostStatus::kOk);
    world.run();
  };
  send(false);
  EXPECT_EQ(world.count(1, AsyncEventKind::kCompletionReady), 0U);
  send(true);
  EXPECT_EQ(world.count(1, AsyncEventKind::kCompletionReady), can ? 1U : 0U);
  ASSERT_EQ(world.hosts[1].completions.size(), 2U);
  EXPECT_FALSE(world.hosts[1].completions[0].solicited);
  EXPECT_EQ(world.hosts[1].completions[1].solicited, can);
}

// --- Receives
// ---------------------------------------------------------------------------------------------------

WHARF_SECOND_EDITION_TEST(QueuesShareReceives) {
  World<E> world(3);
  E& target = world.engine(0);
  if (target.capabilities().max_receive_queues == 0) return;
  const QueueId cq = target.create_completion_queue(world.now, {.depth = 64}).value();
  const QueueId shared = target.create_receive_queue(world.now, {.depth = 8}).value();
  engine::QueueConfig config = world.into(cq);
  config.receive_queue = shared;
  QueueId at[2];
  QueueId from[2];
  verbs::PeerId peer[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    at[i] = world.create_queue(0, config);
    from[i] = world.create_queue(i + 1, world.plain());
    peer[i] = world.connect(i + 1, from[i], 0, at[i]).first;
  }
  world.settle();
  EXPECT_EQ(world.post_receive(0, at[0], 1), PostStatus::kBadQueue);  // It has none of its own.
  for (std::uint64_t id = 0; id < 8; ++id) ASSERT_EQ(world.post_receive(0, shared, id), PostStatus::kOk);
  EXPECT_EQ(world.post_receive(0, shared, 8), PostStatus::kQueueFull);
  ASSERT_TRUE(target.set_receive_limit(world.now, shared, 6).ok());
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(world.post(i + 1, from[i], world.request(round, Verb::kSend, peer[i], 0)), PostStatus::kOk);
      world.run();
    }
  }
  const auto& host = world.hosts[0];
  ASSERT_EQ(host.completions.size(), 8U);
  for (std::uint64_t id = 0; id < 8; ++id) {
    EXPECT_EQ(host.completions[id].id, id);
    EXPECT_EQ(host.completions[id].queue, at[id % 2]);
    EXPECT_EQ(host.completions[id].remote_host, 1 + id % 2);
    EXPECT_EQ(host.from[id], cq);
    EXPECT_TRUE(host.completions[id].ok());
  }
  EXPECT_EQ(world.count(0, AsyncEventKind::kReceiveLimit), 1U);
  // A queue that goes takes no entry with it.
  ASSERT_EQ(world.post_receive(0, shared, 9), PostStatus::kOk);
  EXPECT_FALSE(target.destroy_queue(world.now, shared).ok());
  ASSERT_TRUE(target.destroy_queue(world.now, at[0]).ok());
  ASSERT_EQ(world.post(2, from[1], world.request(5, Verb::kSend, peer[1], 0)), PostStatus::kOk);
  world.run();
  EXPECT_EQ(host.completions.back().id, 9U);
  EXPECT_EQ(host.completions.back().queue, at[1]);
  ASSERT_TRUE(target.destroy_queue(world.now, at[1]).ok());
  ASSERT_TRUE(target.destroy_queue(world.now, shared).ok());
  EXPECT_EQ(world.post_receive(0, shared, 9), PostStatus::kBadQueue);
}

WHARF_SECOND_EDITION_TEST(AnEmptySharedReceiveQueueMakesSendersWait) {
  World<E> world;
  E& target = world.engine(1);
  if (target.capabilities().max_receive_queues == 0) return;
  const QueueId cq = target.create_completion_queue(world.now, {}).value();
  const QueueId shared = target.create_receive_queue(world.now, {.depth = 8}).value();
  engine::QueueConfig config = world.into(cq);
  config.receive_queue = shared;
  const QueueId at = world.create_queue(1, config);
  const QueueId from = world.create_queue(0, world.plain());
  const verbs::PeerId peer = world.connect(0, from, 1, at).first;
  world.settle();
  ASSERT_EQ(world.post(0, from, world.request(1, Verb::kSend, peer, 1)), PostStatus::kOk);
  world.settle();
  EXPECT_TRUE(world.hosts[0].completions.empty());
  ASSERT_EQ(world.post_receive(1, shared, 3), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[1].completions.size(), 1U);
  EXPECT_EQ(world.hosts[1].completions[0].id, 3U);
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
}

WHARF_SECOND_EDITION_TEST(AReceiveCanBeTakenBack) {
  Pair<E> world;
  for (std::uint64_t id = 0; id < 3; ++id)
    ASSERT_EQ(world.post_receive(1, world.queue[1], id), PostStatus::kOk);
  E& engine = world.engine(1);
  ASSERT_TRUE(engine.cancel_receive(world.now, world.queue[1], 1).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, world.queue[1], 1).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, world.queue[1], 7).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, world.queue[1] + 1, 0).ok());
  world.run();
  ASSERT_EQ(world.hosts[1].completions.size(), 1U);
  EXPECT_EQ(world.hosts[1].completions[0].id, 1U);
  EXPECT_EQ(world.hosts[1].completions[0].status, CompletionStatus::kCancelled);
  EXPECT_EQ(world.hosts[1].completions[0].kind, CompletionKind::kReceive);
  for (std::uint64_t id = 0; id < 2; ++id) ASSERT_EQ(world.post(id, Verb::kSend), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[1].completions.size(), 3U);
  EXPECT_EQ(world.hosts[1].completions[1].id, 0U);
  EXPECT_EQ(world.hosts[1].completions[2].id, 2U);
  if (engine.capabilities().max_receive_queues == 0) return;
  const QueueId shared = engine.create_receive_queue(world.now, {}).value();
  ASSERT_EQ(world.post_receive(1, shared, 4), PostStatus::kOk);
  EXPECT_TRUE(engine.cancel_receive(world.now, shared, 4).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, shared, 4).ok());
}

// --- Life
// ---------------------------------------------------------------------------------------------------

/// The peer is silent: everything stays outstanding.
template <typename E>
void leave_outstanding(Pair<E>& world) {
  world.flies = false;
  for (std::uint64_t id = 0; id < 3; ++id) {
    ASSERT_EQ(world.post(id, id == 1 ? Verb::kRead : Verb::kWrite), PostStatus::kOk);
    ASSERT_EQ(world.post_receive(0, world.queue[0], 10 + id), PostStatus::kOk);
  }
  world.settle();
}

template <typename E>
void expect_flushed(Pair<E>& world) {
  const auto& host = world.hosts[0];
  ASSERT_EQ(host.completions.size(), 6U);
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(host.completions[i].id, i < 3 ? i : 10 + i - 3);
    EXPECT_EQ(host.completions[i].status, CompletionStatus::kFlushed);
    EXPECT_EQ(host.completions[i].kind, i < 3 ? CompletionKind::kSend : CompletionKind::kReceive);
    EXPECT_EQ(host.completions[i].queue, world.queue[0]);
    EXPECT_EQ(host.from[i], world.cq[0]);
  }
}

WHARF_SECOND_EDITION_TEST(DestroyFlushesAndLateAnswersDoNothing) {
  Pair<E> world;
  leave_outstanding(world);
  ASSERT_TRUE(world.engine(0).destroy_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(world.engine(0).queue_state(world.queue[0]), QueueState::kGone);
  EXPECT_EQ(world.post(9, Verb::kWrite), PostStatus::kBadQueue);
  EXPECT_EQ(world.post_receive(0, world.queue[0], 9), PostStatus::kBadQueue);
  EXPECT_FALSE(world.engine(0).export_queue(world.queue[0]).ok());
  EXPECT_FALSE(world.engine(0).destroy_queue(world.now, world.queue[0]).ok());
  world.settle();
  expect_flushed(world);
  world.hosts[0].accesses.clear();
  world.flies = true;  // Now the answers come.
  world.run();
  expect_flushed(world);
  for (const engine::Access& access : world.hosts[0].accesses) {
    EXPECT_FALSE(access.kind == AccessKind::kRead || access.kind == AccessKind::kWrite)
        << "an access to the program's memory after the queue was gone";
  }
  // The completion queue is free, and the place of the queue serves the next.
  const QueueId next = world.create_queue(0, world.into(world.cq[0]));
  const QueueId there = world.create_queue(1, world.into(world.cq[1]));
  const auto peer = world.connect(0, next, 1, there).first;
  world.settle();
  world.hosts[0].completions.clear();
  ASSERT_EQ(static_cast<World<E>&>(world).post(0, next, world.request(20, Verb::kWrite, peer, 1)),
            PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
}

WHARF_SECOND_EDITION_TEST(DestroyWhileMemoryIsSlow) {
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kSend, Verb::kFetchAdd}) {
    for (const std::uint32_t slow : {0U, 1U}) {
      for (const std::uint32_t destroyed : {0U, 1U}) {
        Pair<E> world;
        ASSERT_EQ(world.post_receive(1, world.queue[1], 4), PostStatus::kOk);
        world.settle();
        ASSERT_EQ(world.post(1, verb, verbs::is_send(verb) ? 64 : 20'000), PostStatus::kOk);
        world.answers = false;
        world.settle();
        world.answer_all(1 - slow);
        world.settle();
        ASSERT_TRUE(world.engine(destroyed).destroy_queue(world.now, world.queue[destroyed]).ok());
        world.answers = true;
        world.answer_all(slow);
        world.answer_all(1 - slow);
        world.run();
        if (destroyed == 0) {
          ASSERT_EQ(world.hosts[0].completions.size(), 1U) << verbs::name(verb);
          // What was answered and only waits for this host's own memory may have ended well.
          const CompletionStatus status = world.hosts[0].completions[0].status;
          EXPECT_TRUE(status == CompletionStatus::kFlushed ||
                      (slow == 0 && status == CompletionStatus::kSuccess))
              << verbs::name(verb) << " " << verbs::name(status);
        }
      }
    }
  }
}

WHARF_SECOND_EDITION_TEST(DestroyOfAQueueWithItsOwnCompletions) {
  World<E> world;
  const QueueId here = world.create_queue(0, world.plain());
  const QueueId there = world.create_queue(1, world.plain());
  const auto peer = world.connect(0, here, 1, there).first;
  world.settle();
  ASSERT_EQ(world.post(0, here, world.request(1, Verb::kWrite, peer, 1)), PostStatus::kOk);
  world.flies = false;
  world.settle();
  ASSERT_TRUE(world.engine(0).destroy_queue(world.now, here).ok());
  verbs::Completion none;
  EXPECT_FALSE(world.engine(0).poll(here, none));
  world.flies = true;
  world.run();
  EXPECT_TRUE(world.hosts[0].completions.empty());
}

WHARF_SECOND_EDITION_TEST(AQueueFailsAndBeginsAnew) {
  Pair<E> world;
  E& engine = world.engine(0);
  const bool one_peer = engine.capabilities().queue_per_peer;
  EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kReady);
  EXPECT_EQ(engine.queue_state(world.create_queue(0, world.plain())),
            one_peer ? QueueState::kIdle : QueueState::kReady);
  EXPECT_EQ(engine.queue_state(12345), QueueState::kGone);
  EXPECT_FALSE(engine.reset_queue(world.now, world.queue[0]).ok());  // Not in error.
  leave_outstanding(world);
  ASSERT_TRUE(engine.fail_queue(world.now, world.queue[0]).ok());
  EXPECT_TRUE(engine.fail_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kError);
  EXPECT_EQ(world.post(9, Verb::kWrite), PostStatus::kBadQueue);
  EXPECT_EQ(world.post_receive(0, world.queue[0], 9), PostStatus::kBadQueue);
  world.settle();
  expect_flushed(world);
  EXPECT_EQ(world.count(0, AsyncEventKind::kQueueError), 0U);
  world.flies = true;
  world.run();
  expect_flushed(world);
  ASSERT_TRUE(engine.reset_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(engine.queue_state(world.queue[0]), one_peer ? QueueState::kIdle : QueueState::kReady);
  if (one_peer) {  // The other end begins anew too.
    ASSERT_TRUE(world.engine(1).disconnect(world.now, world.queue[1], world.peer[1]).ok());
    std::tie(world.peer[0], world.peer[1]) = world.connect(0, world.queue[0], 1, world.queue[1]);
  }
  world.run();
  world.hosts[0].completions.clear();
  ASSERT_EQ(world.post(30, Verb::kWrite), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
  EXPECT_FALSE(engine.fail_queue(world.now, 12345).ok());
}

// --- Hosts and connections
// ---------------------------------------------------------------------------------------------------

WHARF_SECOND_EDITION_TEST(OneEngineIsClientAndServerOfMany) {
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

WHARF_SECOND_EDITION_TEST(AForgottenHostIsNobodysPeer) {
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

WHARF_SECOND_EDITION_TEST(ConnectionsRunOverIt) {
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

// --- Rings of bytes
// ---------------------------------------------------------------------------------------------------

constexpr std::uint64_t kSendRing = 0x100'0000;
constexpr std::uint64_t kReceiveRing = 0x200'0000;
constexpr std::uint64_t kCompletionRing = 0x300'0000;

/// Two hosts whose queues have rings of bytes.
template <typename E>
struct BytePair : World<E> {
  explicit BytePair(std::uint32_t entry_bytes = 128) : stride(entry_bytes) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      E& engine = this->engine(host);
      cq[host] =
          engine
              .create_completion_queue(
                  this->now, {.depth = 8, .ring = kCompletionRing, .entries = engine::EntryFormat::kBytes})
              .value();
      engine::QueueConfig config = this->into(cq[host]);
      config.entries = engine::EntryFormat::kBytes;
      config.send_entry_bytes = stride;
      config.send_ring = kSendRing;
      config.receive_ring = kReceiveRing;
      queue[host] = this->create_queue(host, config);
    }
    std::tie(peer[0], peer[1]) = this->connect(0, queue[0], 1, queue[1]);
    this->settle();
  }
  void write_entry(std::span<const std::byte> bytes) {
    this->write_memory(0, kSendRing + sent++ % 16 * stride, bytes);
  }
  void write_entry(const verbs::WorkRequest& request) {
    std::vector<std::byte> bytes(stride);
    wire::encode(verbs::to_entry(request).value(), bytes);
    write_entry(bytes);
  }
  void write_receive(std::uint64_t id) {
    verbs::ReceiveRequest receive;
    receive.id = id;
    receive.local_count = 1;
    receive.local[0] = {kBase + 0x4000, 0x1000};
    std::array<std::byte, wire::kRingEntryBytes> bytes;
    wire::encode(verbs::to_entry(receive).value(), bytes);
    this->write_memory(1, kReceiveRing + received++ % 16 * wire::kRingEntryBytes, bytes);
  }
  /// The completions that the host finds in its memory and gives back.
  std::vector<verbs::Completion> take(std::uint32_t host) {
    std::vector<verbs::Completion> taken;
    for (;;) {
      const auto bytes = this->read_memory(host, kCompletionRing + read[host] % 8 * wire::kRingEntryBytes,
                                           wire::kRingEntryBytes);
      wire::CompletionEntry entry;
      const bool lap = read[host] / 8 % 2 == 0;
      if (wire::decode(bytes, entry) != wire::RingEntryError::kNone || entry.lap != lap) return taken;
      taken.push_back(verbs::to_completion(entry));
      ++read[host];
      EXPECT_EQ(this->engine(host).doorbell(this->now, cq[host], engine::RingSide::kCompletion, 1),
                PostStatus::kOk);
    }
  }
  std::uint32_t stride;
  QueueId cq[2];
  QueueId queue[2];
  verbs::PeerId peer[2];
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t read[2] = {0, 0};
};

WHARF_SECOND_EDITION_TEST(DriversWriteMemoryAndRingDoorbells) {
  {
    World<E> world;
    if (!world.engine(0).capabilities().byte_rings) return;
  }
  for (const std::uint32_t stride : {64U, 128U}) {
    BytePair<E> world(stride);
    E& engine = world.engine(0);
    // Three laps of both rings.
    for (std::uint64_t round = 0; round < 12; ++round) {
      world.write_receive(100 + round);
      ASSERT_EQ(world.engine(1).doorbell(world.now, world.queue[1], engine::RingSide::kReceive, 1),
                PostStatus::kOk);
      world.settle();
      std::uint64_t id = round * 10;
      for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kFetchAdd, Verb::kSend}) {
        verbs::WorkRequest request = world.request(id++, verb, world.peer[0], 1);
        if (stride == 128 && verb == Verb::kSend) {
          request.local_count = 0;
          request.inline_data = wire::pattern_payload(3, 0, 64);
        }
        world.write_entry(request);
      }
      ASSERT_EQ(engine.doorbell(world.now, world.queue[0], engine::RingSide::kSend, 4), PostStatus::kOk);
      world.run();
      const auto sent = world.take(0);
      ASSERT_EQ(sent.size(), 4U);
      for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(sent[i].id, round * 10 + i);
        EXPECT_TRUE(sent[i].ok()) << i;
        EXPECT_EQ(sent[i].queue, world.queue[0]);
      }
      const auto received = world.take(1);
      ASSERT_EQ(received.size(), 1U);
      EXPECT_EQ(received[0].id, 100 + round);
      EXPECT_EQ(received[0].length, 64U);
      EXPECT_EQ(received[0].remote_host, 0U);
    }
    verbs::Completion none;
    EXPECT_FALSE(engine.poll(world.cq[0], none));
    EXPECT_EQ(static_cast<World<E>&>(world).post(0, world.queue[0],
                                                 world.request(1, Verb::kWrite, world.peer[0], 1)),
              PostStatus::kUnsupported);
    EXPECT_EQ(engine.doorbell(world.now, world.queue[0], engine::RingSide::kSend, 17),
              PostStatus::kQueueFull);
    EXPECT_EQ(engine.doorbell(world.now, world.cq[0], engine::RingSide::kCompletion, 1),
              PostStatus::kBadQueue);
    EXPECT_EQ(engine.doorbell(world.now, 999, engine::RingSide::kSend, 1), PostStatus::kBadQueue);
  }
}

WHARF_SECOND_EDITION_TEST(ABadWorkEntryEndsItsRequest) {
  {
    World<E> world;
    if (!world.engine(0).capabilities().byte_rings) return;
  }
  for (const unsigned opcode : {0U, 200U}) {
    BytePair<E> world(64);
    std::array<std::byte, 64> bytes{};
    bytes[8] = static_cast<std::byte>(opcode);
    world.write_entry(bytes);
    ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 1),
              PostStatus::kOk);
    world.run();
    const auto ended = world.take(0);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].status, CompletionStatus::kLocalOperation);
  }
  {
    BytePair<E> world(64);  // Memory does not give the entry at all.
    world.answers = false;
    ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 1),
              PostStatus::kOk);
    world.settle();
    ASSERT_EQ(world.hosts[0].unanswered.size(), 1U);
    world.engine(0).access_done(world.now, world.hosts[0].unanswered[0].id,
                                {.status = engine::AccessStatus::kFault, .data = {}});
    world.answers = true;
    world.run();
    const auto ended = world.take(0);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].status, CompletionStatus::kLocalOperation);
  }
  {
    BytePair<E> world(64);  // The queue goes before the entry has come.
    world.answers = false;
    ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 2),
              PostStatus::kOk);
    world.settle();
    ASSERT_TRUE(world.engine(0).destroy_queue(world.now, world.queue[0]).ok());
    world.answers = true;
    world.answer_all(0);
    world.run();
    EXPECT_TRUE(world.take(0).empty());
  }
}

// --- Memory and buffers
// ---------------------------------------------------------------------------------------------------

WHARF_SECOND_EDITION_TEST(AccessesCarryTheirAddressSpace) {
  World<E> world;
  const QueueId cq = world.engine(0).create_completion_queue(world.now, {.space = 7}).value();
  engine::QueueConfig config = world.into(cq);
  config.space = 8;
  const QueueId here = world.create_queue(0, config);
  config = world.plain();
  config.space = 9;
  const QueueId there = world.create_queue(1, config);
  const auto peer = world.connect(0, here, 1, there).first;
  world.settle();
  ASSERT_EQ(world.post_receive(1, there, 1), PostStatus::kOk);
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kFetchAdd, Verb::kSend}) {
    for (auto& host : world.hosts) host.accesses.clear();
    ASSERT_EQ(world.post(0, here, world.request(1, verb, peer, 1)), PostStatus::kOk);
    world.run();
    for (const engine::Access& access : world.hosts[0].accesses) {
      EXPECT_EQ(access.space, access.kind == AccessKind::kWriteCompletion ? 7U : 8U) << verbs::name(verb);
    }
    for (const engine::Access& access : world.hosts[1].accesses) {
      EXPECT_EQ(access.space, verbs::is_send(verb) ? 9U : 41U) << verbs::name(verb);
    }
  }
}

WHARF_SECOND_EDITION_TEST(ALocalKeyNamesSpaceAndRange) {
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kSend}) {
    for (const int wrong : {0, 1, 2, 3}) {  // Nothing; beyond the end; no such key; deregistered.
      Pair<E> world;
      ASSERT_EQ(world.post_receive(1, world.queue[1], 1), PostStatus::kOk);
      const verbs::SegmentToken token =
          world.engine(0).register_segment(world.now, {.base = 0x9000, .length = 64, .space = 5}).value();
      verbs::WorkRequest request = world.request(1, verb, world.peer[0], 1);
      request.local[0] = {0x9000U + (wrong == 1 ? 1U : 0U), 64, token.id + (wrong == 2 ? 77U : 0U)};
      if (wrong == 3) {
        ASSERT_TRUE(world.engine(0).deregister_segment(world.now, token).ok());
      }
      world.hosts[0].accesses.clear();
      ASSERT_EQ(static_cast<World<E>&>(world).post(0, world.queue[0], request), PostStatus::kOk);
      world.run();
      ASSERT_EQ(world.hosts[0].completions.size(), 1U) << verbs::name(verb) << wrong;
      EXPECT_EQ(world.hosts[0].completions[0].status,
                wrong == 0 ? CompletionStatus::kSuccess : CompletionStatus::kLocalAccess)
          << verbs::name(verb) << wrong;
      for (const engine::Access& access : world.hosts[0].accesses) {
        if (access.kind == AccessKind::kWriteCompletion) continue;
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(access.space, 5U);
      }
    }
  }
}

/// The bytes that memory is given are those that the packet brought, where they landed.
WHARF_SECOND_EDITION_TEST(ReceivedBytesStayWhereTheyLanded) {
  Pair<E> world;
  world.flies = false;
  ASSERT_EQ(world.post(1, Verb::kWrite, 256), PostStatus::kOk);
  world.settle();
  const std::byte* landed = nullptr;
  auto& arrived = world.hosts[1].arrived;
  ASSERT_FALSE(arrived.empty());
  for (wire::Packet& packet : arrived) {
    if (packet.payload.length == 0) continue;
    // A datagram of 100 header bytes and the payload.
    const wire::BufferId buffer = world.pool.acquire(100 + packet.payload.length);
    std::byte* at = world.pool.data(buffer) + 100;
    wire::fill(packet.payload, {at, packet.payload.length});
    world.pool.release(packet.payload.buffer);
    packet.payload = wire::bytes_payload(at, packet.payload.length, buffer);
    landed = at;
  }
  world.flies = true;
  world.hosts[1].accesses.clear();
  world.run();
  bool found = false;
  for (const engine::Access& access : world.hosts[1].accesses) {
    if (access.kind != AccessKind::kWrite) continue;
    found = true;
    EXPECT_EQ(access.data.bytes, landed);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace wharf::contract
