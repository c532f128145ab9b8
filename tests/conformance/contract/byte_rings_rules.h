// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: rings of bytes in host memory, and their doorbells.
#pragma once

#include <array>
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

}  // namespace
}  // namespace wharf::contract
