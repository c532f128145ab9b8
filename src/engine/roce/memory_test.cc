// SPDX-License-Identifier: Apache-2.0
// What queue pairs cost, by the engine's own account, and that each keeps its share whatever the others do.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/arena.h"
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::roce {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint32_t kPeers = 1024;

std::uint64_t total_bytes(const RoceEngine& engine) {
  std::uint64_t bytes = 0;
  for (const MemoryUse& use : engine.memory_use()) bytes += use.bytes;
  return bytes;
}

/// One interface with a queue pair for each of kPeers hosts, which the test plays.
class ManyPeers {
 public:
  explicit ManyPeers(const RoceConfig& chosen = {}) {
    RoceConfig config = chosen;
    config.host = {0};
    config.starting_psn = 0;
    engine = std::make_unique<RoceEngine>(RoceEngine::create(config, pool, arena).value());
    token = engine->register_segment(kTimeZero, {.base = kBase, .length = 1U << 20U}).value();
    RoceConfig peer_config;
    peer_config.starting_psn = 0;
    bytes_empty = total_bytes(*engine);
    for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
      peer_config.host = {1 + peer};
      // A blob says which queue of the host is meant, so each host needs an engine only to export.
      RoceEngine remote = RoceEngine::create(peer_config, pool, arena).value();
      const engine::QueueId far = remote.create_queue(kTimeZero, {}).value();
      const engine::QueueId near = engine->create_queue(kTimeZero, {}).value();
      EXPECT_TRUE(engine->connect(kTimeZero, near, remote.export_queue(far).value()).ok());
    }
  }

  /// A WRITE of 64 bytes.
  verbs::WorkRequest request() const {
    verbs::WorkRequest request;
    request.verb = verbs::Verb::kWrite;
    request.local_count = 1;
    request.local[0] = {kBase, 64};
    request.length = 64;
    request.remote = {kBase, token};
    return request;
  }
  /// Fills every ring of `queue` that the program can fill: requests, receive entries, prepared packets.
  void fill_from_program(engine::QueueId queue) {
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {kBase, 64};
    while (engine->post(kTimeZero, queue, request(), engine::Submission::kInHand) ==
           engine::PostStatus::kOk) {
      ++posted;
    }
    while (engine->post_receive(kTimeZero, queue, receive) == engine::PostStatus::kOk) ++received;
  }

  wire::Packet packet(engine::QueueId queue, wire::RoceOpcode opcode, wire::Psn psn) {
    wire::Packet out = wire::roce_packet();
    out.source = {1 + queue};
    out.destination = {0};
    out.roce.bth.opcode = opcode;
    out.roce.bth.destination_queue_pair = kFirstQueueNumber + queue;
    out.roce.bth.psn = psn;
    out.roce.bth.acknowledge_request = true;
    return out;
  }
  /// The peer of `queue` sends a WRITE; `placed` when the interface took it.
  bool write(engine::QueueId queue, wire::Psn psn) {
    wire::Packet out = packet(queue, wire::RoceOpcode::kRcWriteOnly, psn);
    out.roce.reth = {kBase, token.id, 64};
    out.payload = wire::pattern_payload(1, 0, 64);
    const std::uint64_t dropped = engine->counters().dropped_no_resources;
    engine->receive(kTimeZero, 0, out);
    return engine->counters().dropped_no_resources == dropped;
  }

  wire::PayloadPool pool;
  Arena arena;
  std::unique_ptr<RoceEngine> engine;
  verbs::SegmentToken token;
  std::uint64_t bytes_empty = 0;
  std::uint64_t posted = 0;
  std::uint64_t received = 0;
};

TEST(RoceMemory, UntouchedPeersCostTwoKibibytes) {
  ManyPeers world;
  const std::uint64_t each = (total_bytes(*world.engine) - world.bytes_empty) / kPeers;
  EXPECT_LE(each, 2048u);
  EXPECT_GE(each, sizeof(QueuePair));
  RecordProperty("bytes_per_untouched_peer", static_cast<int>(each));
}

// Every queue pair is full of whatever its program and its peer can put there, and the host answers nothing.
TEST(RoceMemory, ThousandFullPeersFitInto64Mebibytes) {
  ManyPeers world;
  for (engine::QueueId queue = 0; queue < kPeers; ++queue) {
    world.fill_from_program(queue);
    for (wire::Psn psn = 0; psn < 256; ++psn) world.write(queue, psn);
    for (wire::Psn psn = 256; psn < 300; ++psn) {
      wire::Packet read = world.packet(queue, wire::RoceOpcode::kRcReadRequest, psn);
      read.roce.reth = {kBase, world.token.id, 64};
      world.engine->receive(kTimeZero, 0, read);
    }
  }
  EXPECT_EQ(world.posted, kPeers * 128u);
  EXPECT_EQ(world.received, kPeers * 128u);
  const std::uint64_t bytes = total_bytes(*world.engine);
  EXPECT_LT(bytes, 64U << 20U);
  EXPECT_GT(bytes, 30U << 20U);  // They are full indeed.
  RecordProperty("bytes_per_full_peer", static_cast<int>(bytes / kPeers));
}

// What no use of the queue pairs can exceed: the room that is promised to each.
TEST(RoceMemory, PromisedRoomFitsInto64Mebibytes) {
  const RoceConfig config;
  const engine::QueueConfig depths;
  const std::uint64_t rings = depths.send_depth * (sizeof(SendEntry) + sizeof(CompletionEntry)) +
                              depths.receive_depth * (sizeof(ReceiveEntry) + sizeof(CompletionEntry)) +
                              config.transmit_ahead * (sizeof(TransmitEntry) + sizeof(ReadAhead)) +
                              config.responses_ahead * sizeof(Answer) +
                              config.max_read_atomic * sizeof(SavedResource);
  const std::uint64_t accesses =
      kAccessSlotsPerQueue * sizeof(AccessSlot) + config.access_slots * sizeof(AccessSlot) / kPeers;
  EXPECT_LT(kPeers * (rings + accesses + 2048), 64U << 20U);
}

// --- Shares ---

/// Takes every access slot that `queue` can get: its peer writes, and the host does not answer.
std::uint64_t hoard(ManyPeers& world, engine::QueueId queue) {
  std::uint64_t taken = 0;
  for (wire::Psn psn = 0; psn < 100'000 && world.write(queue, psn); ++psn) ++taken;
  return taken;
}

// One peer takes what is nobody's, and each of the others can still write, and be answered.
TEST(RoceMemory, HostilePeerTakesNobodysShare) {
  ManyPeers world;
  const RoceConfig config;
  const std::uint64_t slots = config.access_slots + kPeers * kAccessSlotsPerQueue;
  const std::uint64_t taken = hoard(world, 0);
  EXPECT_LE(taken, slots - (kPeers - 1) * kAccessShare);
  EXPECT_GT(taken, slots / 2);
  for (engine::QueueId queue = 1; queue < kPeers; ++queue) {
    EXPECT_TRUE(world.write(queue, 0)) << queue;
    EXPECT_TRUE(world.write(queue, 1)) << queue;
    EXPECT_TRUE(world.write(queue, 2)) << queue;
  }
  // The hoarder has had its share, and gets no slot that was kept for others.
  EXPECT_FALSE(world.write(0, static_cast<wire::Psn>(taken)));
}

// Completions have room in the share, too: what the peers of others acknowledge reaches their programs.
TEST(RoceMemory, HostilePeerDoesNotStopCompletions) {
  ManyPeers world;
  const engine::QueueId queue = 7;
  for (int each = 0; each < 32; ++each) {
    ASSERT_EQ(world.engine->post(kTimeZero, queue, world.request(), engine::Submission::kInHand),
              engine::PostStatus::kOk);
  }
  engine::Access access;
  while (world.engine->next_access(access)) {
    engine::AccessResult result;
    result.data = wire::pattern_payload(1, 0, access.length);
    world.engine->access_done(kTimeZero, access.id, result);
  }
  wire::Packet packet;
  wire::Psn sent = 0;
  while (world.engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet)) sent = packet.roce.bth.psn;
  hoard(world, 0);
  while (world.engine->next_access(access)) {  // The host is slow with all of these.
  }
  wire::Packet acknowledge = world.packet(queue, wire::RoceOpcode::kRcAcknowledge, sent);
  acknowledge.roce.ack = {};
  world.engine->receive(kTimeZero, 0, acknowledge);
  std::uint32_t completed = 0;
  while (world.engine->next_access(access)) {
    if (access.kind == engine::AccessKind::kWriteCompletion) {
      ASSERT_EQ(access.queue, queue);
      world.engine->access_done(kTimeZero, access.id, {});
    }
    verbs::Completion completion;
    while (world.engine->poll(queue, completion)) ++completed;
  }
  EXPECT_EQ(completed, 32u);
}

// A queue pair that is made while another hoards gets its share as well.
TEST(RoceMemory, LateQueueGetsItsShare) {
  ManyPeers world;
  hoard(world, 0);
  RoceConfig config;
  config.host = {1 + kPeers};
  config.starting_psn = 0;
  RoceEngine remote = RoceEngine::create(config, world.pool, world.arena).value();
  const engine::QueueId far = remote.create_queue(kTimeZero, {}).value();
  const engine::QueueId near = world.engine->create_queue(kTimeZero, {}).value();
  ASSERT_TRUE(world.engine->connect(kTimeZero, near, remote.export_queue(far).value()).ok());
  EXPECT_TRUE(world.write(near, 0));
}

}  // namespace
}  // namespace wharf::roce
