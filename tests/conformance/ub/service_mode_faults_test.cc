// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 7.4 (as public documents show it), where something goes wrong beside the order:
// memory that is not there, queues that fail, end or connect once more, records in memory, windows.
#include <string>

#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using engine::ServiceMode;
using verbs::CompletionStatus;
using verbs::OrderTag;
using verbs::Verb;

constexpr ServiceMode kKept[] = {ServiceMode::kOrderedByTarget, ServiceMode::kOrderedByTransport};

UbConfig with(ServiceMode service) {
  UbConfig config;
  config.service = service;
  config.min_rnr_timer = 1;
  return config;
}

test::EnginePairOptions memory_of(TimePs delay) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = delay;
  return options;
}

verbs::WorkRequest strong(World& world, Verb verb, std::uint32_t length, std::uint64_t offset = 0) {
  auto request = world.request(verb, length, offset);
  request.order = OrderTag::kStrong;
  return request;
}

void post_receive(World& world, std::uint64_t id) {
  verbs::ReceiveRequest receive{.id = id, .local_count = 1};
  receive.local[0] = {World::kRemote + 0x8000, 64};
  world.pair().post_receive(1, world.queue(1), receive);
}

/// Posts on host 0's first queue without letting anything happen.
void post_alone(World& world, const verbs::WorkRequest& request) {
  ASSERT_EQ(world.engine(0).post(world.now(), world.queue(0), request, engine::Submission::kInHand),
            engine::PostStatus::kOk);
}

std::vector<std::string> waiting(World& world) {
  std::vector<std::string> all;
  for (std::uint32_t host = 0; host < 2; ++host) world.engine(host).describe_waiting(all);
  return all;
}

// --- UNO

// 6.1: a datagram is no concern of the record of its lane, which may have left when it leaves.
TEST(Uno, WorksWithOneContextRecord) {
  for (const std::uint32_t entries : {1u, 2u}) {
    UbConfig config = with(ServiceMode::kUnordered);
    config.context_cache_entries = entries;
    World world(config);
    for (std::uint32_t i = 0; i < 20; ++i) {
      world.fill(0, World::kLocal, 64, i);
      EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64, i * 64)).ok());
      EXPECT_TRUE(world.same(World::kLocal, World::kRemote + i * 64, 64)) << i;
    }
    for (std::uint32_t i = 0; i < 100; ++i) post_alone(world, world.request(Verb::kWrite, 4096));
    world.pair().drain(0);
    world.run();
    EXPECT_EQ(world.pair().host(0).completions.size(), 120u);
    EXPECT_EQ(world.counters(1).datagrams_received, 120u);
    EXPECT_EQ(world.pair().pool().in_use(), 0u);
  }
}

// 7.4: what has left is complete, and in nobody's window.
TEST(Uno, WorksUnderEveryWindow) {
  const congestion::ControllerConfig controllers[] = {congestion::ConstantWindowConfig{.packets = 1},
                                                      congestion::CaqmConfig{.initial_packets = 10},
                                                      congestion::LdcpConfig{}, congestion::DcqcnConfig{}};
  for (const auto& controller : controllers) {
    UbConfig config = with(ServiceMode::kUnordered);
    config.congestion = controller;
    World world(config);
    for (int i = 0; i < 100; ++i) post_alone(world, world.request(Verb::kWrite, 4096));
    world.pair().drain(0);
    world.run();
    EXPECT_EQ(world.pair().host(0).completions.size(), 100u) << controller.index();
    EXPECT_EQ(world.engine(0).congestion_trace(world.queue(0), world.peer(0)).in_flight, 0u);
  }
}

// 6.1: the first byte of UTPH is 0: it does not say that the packet is the last of its message.
TEST(Uno, EveryDatagramIsAWholeMessage) {
  World world(with(ServiceMode::kUnordered));
  world.fill(0, World::kLocal, 64);
  world.pair().wire().options().transform = [](wire::Packet& packet, bool, RandomStream&,
                                               wire::PayloadPool&) {
    packet.ub.rtph.last = false;
    return true;
  };
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
  EXPECT_EQ(world.counters(1).datagrams_received, 1u);
  EXPECT_TRUE(waiting(world).empty());
}

TEST(Uno, WhoIsNotReadySaysNothing) {
  World world(with(ServiceMode::kUnordered));
  EXPECT_TRUE(world.finish(world.request(Verb::kSend, 64)).ok());
  EXPECT_EQ(world.counters(1).datagrams_received, 1u);
  EXPECT_EQ(world.counters(1).receiver_not_ready_sent, 0u);
}

// --- Reads whose data is not there

// 7.3, 7.4: a Read that meets a missing page has not been executed: it comes again, and the strong Write
// behind it waits for that.
TEST(Sequences, AReadOfAMissingPageComesAgainBeforeWhatWaitsForIt) {
  for (const ServiceMode service : kKept) {
    for (const OrderTag order : {OrderTag::kRelaxed, OrderTag::kStrong}) {
      SCOPED_TRACE(std::string(engine::name(service)) +
                   (order == OrderTag::kStrong ? ", strong" : ", relaxed"));
      World world(with(service), memory_of(nanoseconds(100)));
      world.fill(1, World::kRemote, 64, 3);
      world.fill(0, World::kLocal, 64, 9);
      std::vector<std::byte> before(64);
      std::memcpy(before.data(), world.pair().memory(1).at(World::kRemote, 64).data(), 64);
      world.pair().memory(1).fail_next(engine::AccessKind::kRead, 1);
      auto read = world.request(Verb::kRead, 64);
      read.order = order;
      read.local[0].address = World::kLocal + 0x1000;
      post_alone(world, read);
      post_alone(world, strong(world, Verb::kWrite, 64));
      world.pair().drain(0);
      world.run();
      ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
      for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
      EXPECT_EQ(world.counters(0).page_fault_retries, 1u);
      EXPECT_EQ(world.counters(1).refused_sequence, 0u);
      EXPECT_EQ(std::memcmp(before.data(), world.pair().memory(0).at(World::kLocal + 0x1000, 64).data(), 64),
                0)
          << "the Read has seen the Write behind it";
      EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
      EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
      EXPECT_TRUE(waiting(world).empty());
    }
  }
}

// 7.4: memory fails when a part of an answer is read to be sent again. The initiator may have the answer: its
// number has been used, and nothing waits for it.
TEST(Sequences, AnAnswerThatCannotBeReadAgainHoldsNothingBack) {
  for (const ServiceMode service : kKept) {
    World world(with(service));
    int lost = 0;
    world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      // Its confirmation, so that the answer is sent again.
      return packet.source.number == 0 && packet.ub.rtph.opcode == wire::TpOpcode::kAck && lost++ == 0;
    };
    auto read = world.request(Verb::kRead, 64);
    read.order = OrderTag::kRelaxed;
    ASSERT_EQ(world.post(read), engine::PostStatus::kOk);
    world.pair().run_until([&] { return lost > 0; });
    world.pair().memory(1).fail_next(engine::AccessKind::kRead, 1);
    world.run();
    ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
    EXPECT_TRUE(world.pair().host(0).completions[0].ok());
    EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
    EXPECT_TRUE(waiting(world).empty());
  }
}

// --- Who is not ready

// 7.4: once. A request that was not ready is no reason to send others away that come later.
TEST(Rol, OneThatWasNotReadySendsNobodyElseAway) {
  World world(with(ServiceMode::kOrderedByTransport), memory_of(nanoseconds(300)));
  ASSERT_EQ(world.post(strong(world, Verb::kSend, 64)), engine::PostStatus::kOk);
  world.pair().run_until([&] { return world.counters(1).receiver_not_ready_sent == 1; });
  post_receive(world, 1);
  world.run();
  for (int i = 0; i < 10; ++i) {
    auto relaxed = world.request(Verb::kWrite, 64);
    relaxed.order = OrderTag::kRelaxed;
    post_alone(world, relaxed);
    post_alone(world, strong(world, Verb::kWrite, 64));
    world.pair().drain(0);
    world.run();
  }
  EXPECT_EQ(world.pair().host(0).completions.size(), 21u);
  EXPECT_EQ(world.counters(1).receiver_not_ready_sent, 1u);
}

// 6.4.2: nothing has been executed yet, and the peer is there all the same.
TEST(Rol, AFirstRequestMayTakeItsTime) {
  World world(with(ServiceMode::kOrderedByTransport), memory_of(milliseconds(20)));
  auto request = world.request(Verb::kWrite, 64);
  request.inline_data = wire::pattern_payload(1, 0, 64);  // The initiator's memory has no part in it.
  request.local_count = 0;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_EQ(world.counters(0).channels_failed, 0u);
  EXPECT_GT(world.counters(1).duplicates, 0u);
}

// 7.4: the bits of a TPSACK behind its base answer nothing, also where a completion needs no turn.
TEST(Rol, BitsOfASelectiveAcknowledgementAnswerNoRequest) {
  World world(with(ServiceMode::kOrderedByTransport), memory_of(microseconds(3)));
  int seen = 0;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return packet.source.number == 0 && seen++ == 1;
  };
  for (int i = 0; i < 4; ++i) {
    auto request = world.request(Verb::kWrite, 64);
    request.completion_in_order = false;
    ASSERT_EQ(world.post(request), engine::PostStatus::kOk);
  }
  world.pair().run_until([&] { return world.counters(1).selective_acknowledgements_sent > 0; });
  world.pair().run_to(world.now() + nanoseconds(4500));  // Completions take three microseconds, too.
  EXPECT_TRUE(world.pair().host(0).completions.empty());
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 4u);
}

// 6.4.2: TPNAK names the PSN that is expected, though what lies before it has not been executed.
TEST(Rol, ANegativeAcknowledgementNamesWhatIsMissing) {
  UbConfig config = with(ServiceMode::kOrderedByTransport);
  config.recovery = LossRecovery::kGoBackN;
  World world(config, memory_of(microseconds(3)));
  int seen = 0;
  wire::Psn lost = 0;
  std::vector<wire::Packet> refused;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 1 && packet.ub.rtph.opcode == wire::TpOpcode::kAck &&
        packet.ub.rtph.status == wire::UbResponseStatus::kError)
      refused.push_back(packet);
    if (packet.source.number != 0 || packet.ub.rtph.opcode != wire::TpOpcode::kReliable || seen++ != 2)
      return false;
    lost = packet.ub.rtph.psn;
    return true;
  };
  for (int i = 0; i < 6; ++i) post_alone(world, world.request(Verb::kWrite, 64));
  world.pair().drain(0);
  world.run();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].ub.rtph.psn, lost);
  EXPECT_EQ(world.pair().host(0).completions.size(), 6u);
}

// --- Connecting again

/// Strong and plain Writes of host 0, more than the order of a target looks ahead.
void write_on(World& world) {
  EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
  for (int round = 0; round < 21; ++round) {
    for (int i = 0; i < 100; ++i) post_alone(world, world.request(Verb::kWrite, 64));
    world.pair().drain(0);
    world.run();
  }
  EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
  for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
  EXPECT_EQ(world.counters(1).refused_sequence, 0u);
  EXPECT_TRUE(waiting(world).empty());
}

// 7.4: another queue of the target's host connects to the jetty, or either end once more: it counts on.
TEST(Sequences, WhoConnectsOnceMoreChangesNoOrder) {
  for (const ServiceMode service : kKept) {
    for (int who = 0; who < 3; ++who) {
      SCOPED_TRACE(std::string(engine::name(service)) + ", " + std::to_string(who));
      World world(with(service));
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
      if (who == 0) {
        const auto other = *world.engine(1).create_queue(world.now(), {});
        const auto blob = *world.engine(0).export_queue(world.queue(0));
        ASSERT_TRUE(world.engine(1).connect(world.now(), other, blob).ok());
      } else {
        const auto host = static_cast<std::uint32_t>(who - 1);
        const auto blob = *world.engine(1 - host).export_queue(world.queue(1 - host));
        ASSERT_TRUE(world.engine(host).connect(world.now(), world.queue(host), blob).ok());
      }
      write_on(world);
    }
  }
}

// 7.4: a jetty that has left its peer, and a new one with its number, begin with 0 at both ends.
TEST(Sequences, ANewConnectionBeginsWithZero) {
  for (const ServiceMode service : kKept) {
    for (const bool anew : {false, true}) {
      SCOPED_TRACE(std::string(engine::name(service)) + (anew ? ", a new jetty" : ""));
      World world(with(service));
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
      engine::QueueId queue = world.queue(0);
      if (anew) {
        ASSERT_TRUE(world.engine(0).destroy_queue(world.now(), queue).ok());
        const engine::QueueId old = queue;
        // Places rest for a while before they are used again.
        do {
          queue = *world.engine(0).create_queue(world.now(), {});
          if (queue != old) ASSERT_TRUE(world.engine(0).destroy_queue(world.now(), queue).ok());
        } while (queue != old);
      } else {
        ASSERT_TRUE(world.engine(0).disconnect(world.now(), queue, world.peer(0)).ok());
      }
      const auto here = *world.engine(0).export_queue(queue);
      const auto there = *world.engine(1).export_queue(world.queue(1));
      ASSERT_TRUE(world.engine(1).connect(world.now(), world.queue(1), here).ok() || anew);
      const auto peer = world.engine(0).connect(world.now(), queue, there);
      ASSERT_TRUE(peer.ok());
      for (int i = 0; i < 3; ++i) {
        auto request = strong(world, Verb::kWrite, 64);
        request.peer = *peer;
        ASSERT_EQ(world.pair().post(0, queue, request), engine::PostStatus::kOk);
        world.run();
        EXPECT_TRUE(world.pair().host(0).completions.back().ok());
      }
      EXPECT_EQ(world.counters(1).refused_sequence, 0u);
    }
  }
}

// --- Queues that end

// 7.3: what a destroyed jetty has under way is answered, and takes no place any more.
TEST(Sequences, WhatADestroyedJettyAskedForEndsWithItsAnswers) {
  for (const ServiceMode service : {ServiceMode::kOrderedByInitiator, ServiceMode::kOrderedByTarget}) {
    World world(with(service));
    for (int i = 0; i < 64; ++i) post_alone(world, world.request(Verb::kRead, 64));
    world.pair().drain(0);
    ASSERT_TRUE(world.engine(0).destroy_queue(world.now(), world.queue(0)).ok());
    world.pair().drain(0);
    world.pair().run_to(world.now() + microseconds(20));
    EXPECT_TRUE(waiting(world).empty()) << world.pair().waiting_report();
    EXPECT_EQ(world.counters(0).dropped_response, 0u);
    world.run();
    EXPECT_EQ(world.counters(0).answers_timed_out, 0u);
  }
}

// 7.2: the number of a request that was not ready when its jetty ended, or failed, is filled, and what waits
// at the target for it goes on.
TEST(Sequences, NothingWaitsForAJettyThatHasEnded) {
  for (const ServiceMode service : kKept) {
    for (const bool destroyed : {false, true}) {
      SCOPED_TRACE(std::string(engine::name(service)) + (destroyed ? ", destroyed" : ", failed"));
      World world(with(service));
      post_alone(world, strong(world, Verb::kSend, 0));
      post_alone(world, strong(world, Verb::kWrite, 64));
      world.pair().drain(0);
      // Before any answer has come.
      const auto ended = destroyed ? world.engine(0).destroy_queue(world.now(), world.queue(0))
                                   : world.engine(0).fail_queue(world.now(), world.queue(0));
      ASSERT_TRUE(ended.ok());
      world.pair().drain(0);
      world.pair().run_to(world.now() + microseconds(100));
      EXPECT_TRUE(waiting(world).empty()) << world.pair().waiting_report();
      EXPECT_EQ(world.counters(0).answers_timed_out, 0u);
      EXPECT_LE(world.counters(1).receiver_not_ready_sent, 2u);
      if (destroyed) continue;
      ASSERT_TRUE(world.engine(0).reset_queue(world.now(), world.queue(0)).ok());
      EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
    }
  }
}

// 7.3: a request that has been flushed is not sent again for ever.
TEST(Flushing, AFlushedRequestThatWasNotReadyIsGivenUp) {
  World world(with(ServiceMode::kOrderedByInitiator));
  post_alone(world, world.request(Verb::kSend, 0));
  world.pair().drain(0);
  ASSERT_TRUE(world.engine(0).fail_queue(world.now(), world.queue(0)).ok());
  world.pair().drain(0);
  world.pair().run_to(world.now() + milliseconds(1));
  EXPECT_EQ(world.counters(1).receiver_not_ready_sent, 1u);
  EXPECT_TRUE(waiting(world).empty());
  ASSERT_TRUE(world.engine(0).reset_queue(world.now(), world.queue(0)).ok());
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
}

}  // namespace
}  // namespace wharf::ub
