// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: rings of bytes in host memory, and their doorbells.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rule_test_support.h"
#include "verbs/ring_request.h"

namespace wharf::contract {
namespace {

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

WHARF_CONTRACT_TEST(DriversWriteMemoryAndRingDoorbells) {
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

WHARF_CONTRACT_TEST(ABadWorkEntryEndsItsRequest) {
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

/// What `request` comes to: how it ends, and what both hosts' memory is asked meanwhile.
template <typename W>
std::vector<std::string> outcome_of(W& world, const std::vector<verbs::Completion>& ended) {
  std::vector<std::string> lines;
  for (const verbs::Completion& completion : ended) {
    lines.push_back(std::string(verbs::name(completion.status)) + " id " + std::to_string(completion.id) +
                    " length " + std::to_string(completion.length) + " immediate " +
                    std::to_string(completion.immediate) + (completion.solicited ? " solicited" : ""));
  }
  for (std::uint32_t host = 0; host < 2; ++host) {
    for (const engine::Access& access : world.hosts[host].accesses) {
      if (access.kind == AccessKind::kFetchWorkRequest || access.kind == AccessKind::kFetchReceiveEntry ||
          access.kind == AccessKind::kWriteCompletion) {
        continue;
      }
      lines.push_back(std::to_string(host) + ": kind " + std::to_string(static_cast<int>(access.kind)) +
                      " at " + std::to_string(access.address) + " length " + std::to_string(access.length) +
                      " space " + std::to_string(access.space) + " operand " +
                      std::to_string(access.operand[0]) + " " + std::to_string(access.operand[1]) +
                      " compare " + std::to_string(access.compare[0]) + " " +
                      std::to_string(access.compare[1]));
    }
  }
  return lines;
}

WHARF_CONTRACT_TEST(EveryVerbSaysTheSameAsBytesAndAsAnObject) {
  const engine::Capabilities can = World<E>().engine(0).capabilities();
  if (!can.byte_rings) return;
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<Verb>(number);
    for (const std::uint8_t width : {0, 4, 8, 16}) {
      if (verbs::is_load_store(verb) || !E::supports(verb)) continue;
      if (verbs::is_atomic(verb) != (width > 0)) continue;
      if (width > 0 && (can.widths[static_cast<std::size_t>(number)] & width) == 0) continue;
      std::vector<std::string> found[2];
      for (const bool as_bytes : {false, true}) {
        const auto fill_in = [&](auto& world, verbs::WorkRequest& request) {
          request.immediate = 0x1234'5678;
          request.operand = {7, width == 16 ? 8U : 0U};
          request.compare = {9, width == 16 ? 10U : 0U};
          if (width > 0) {
            request.width = width;
            request.length = request.local[0].length = width;
          }
          if (verb == Verb::kSendInvalidate) request.invalidate = world.hosts[1].token;
        };
        if (as_bytes) {
          BytePair<E> world;
          world.write_receive(5);
          world.write_receive(6);
          ASSERT_EQ(world.engine(1).doorbell(world.now, world.queue[1], engine::RingSide::kReceive, 2),
                    PostStatus::kOk);
          world.settle();
          verbs::WorkRequest request = world.request(3, verb, world.peer[0], 1);
          fill_in(world, request);
          world.write_entry(request);
          ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 1),
                    PostStatus::kOk);
          world.run();
          auto ended = world.take(0);
          for (const verbs::Completion& completion : world.take(1)) ended.push_back(completion);
          found[1] = outcome_of(world, ended);
        } else {
          Pair<E> world;
          ASSERT_EQ(world.post_receive(1, world.queue[1], 5), PostStatus::kOk);
          ASSERT_EQ(world.post_receive(1, world.queue[1], 6), PostStatus::kOk);
          world.settle();
          verbs::WorkRequest request = world.request(3, verb, world.peer[0], 1);
          fill_in(world, request);
          ASSERT_EQ(static_cast<World<E>&>(world).post(0, world.queue[0], request), PostStatus::kOk);
          world.run();
          auto ended = world.hosts[0].completions;
          for (const verbs::Completion& completion : world.hosts[1].completions) ended.push_back(completion);
          found[0] = outcome_of(world, ended);
        }
      }
      EXPECT_FALSE(found[0].empty());
      EXPECT_EQ(found[0], found[1]) << verbs::name(verb) << " of " << int{width};
    }
  }
}

WHARF_CONTRACT_TEST(EntriesMayComeInAnyOrder) {
  if (!World<E>().engine(0).capabilities().byte_rings) return;
  BytePair<E> world(64);
  for (std::uint64_t id = 0; id < 8; ++id) {
    world.write_entry(world.request(id, id % 2 == 0 ? Verb::kWrite : Verb::kRead, world.peer[0], 1));
  }
  world.answers = false;
  for (const std::uint32_t count : {1U, 5U, 2U}) {
    ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, count),
              PostStatus::kOk);
    world.settle();
  }
  world.answers = true;
  std::reverse(world.hosts[0].unanswered.begin(), world.hosts[0].unanswered.end());
  world.answer_all(0);
  world.run();
  const auto ended = world.take(0);
  ASSERT_EQ(ended.size(), 8U);
  for (std::uint64_t id = 0; id < 8; ++id) {
    EXPECT_EQ(ended[id].id, id);
    EXPECT_TRUE(ended[id].ok());
  }
}

WHARF_CONTRACT_TEST(EntriesThatWereNotFetchedStayWithTheHost) {
  if (!World<E>().engine(0).capabilities().byte_rings) return;
  BytePair<E> world(64);
  world.flies = false;
  world.write_entry(world.request(1, Verb::kWrite, world.peer[0], 1));
  ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 1), PostStatus::kOk);
  world.settle();
  world.answers = false;
  for (std::uint64_t id = 2; id < 6; ++id) {
    world.write_entry(world.request(id, Verb::kWrite, world.peer[0], 1));
  }
  ASSERT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 4), PostStatus::kOk);
  world.settle();
  ASSERT_TRUE(world.engine(0).fail_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kSend, 1),
            PostStatus::kBadQueue);
  EXPECT_EQ(world.engine(0).doorbell(world.now, world.queue[0], engine::RingSide::kReceive, 1),
            PostStatus::kBadQueue);
  world.answers = world.flies = true;
  world.answer_all(0);
  world.run();
  const auto ended = world.take(0);
  ASSERT_EQ(ended.size(), 1U);  // The one that was fetched.
  EXPECT_EQ(ended[0].id, 1U);
  EXPECT_EQ(ended[0].status, CompletionStatus::kFlushed);
}

WHARF_CONTRACT_TEST(QueuesWithByteRingsNameTheirCompletionQueues) {
  World<E> world;
  if (!world.engine(0).capabilities().byte_rings) return;
  const QueueId cq = world.engine(0).create_completion_queue(world.now, {}).value();
  engine::QueueConfig config = world.into(cq);
  config.entries = engine::EntryFormat::kBytes;
  EXPECT_TRUE(world.engine(0).create_queue(world.now, config).ok());
  for (const std::uint32_t stride : {0U, 32U, 96U, 256U}) {
    engine::QueueConfig wrong = config;
    wrong.send_entry_bytes = stride;
    EXPECT_FALSE(world.engine(0).create_queue(world.now, wrong).ok()) << stride;
  }
  engine::QueueConfig without = config;
  without.send_completions = engine::kOwn;
  EXPECT_FALSE(world.engine(0).create_queue(world.now, without).ok());
  without = config;
  without.receive_completions = engine::kOwn;
  EXPECT_FALSE(world.engine(0).create_queue(world.now, without).ok());
  // Rings of objects have no doorbells, rings of bytes take no objects.
  const QueueId objects = world.create_queue(0, world.into(cq));
  EXPECT_EQ(world.engine(0).doorbell(world.now, objects, engine::RingSide::kSend, 1),
            PostStatus::kUnsupported);
  EXPECT_EQ(world.engine(0).doorbell(world.now, objects, engine::RingSide::kReceive, 1),
            PostStatus::kUnsupported);
  const QueueId bytes = world.create_queue(0, config);
  EXPECT_EQ(world.post_receive(0, bytes, 1), PostStatus::kUnsupported);
  EXPECT_FALSE(world.engine(0).cancel_receive(world.now, bytes, 1).ok());
}

}  // namespace
}  // namespace wharf::contract
