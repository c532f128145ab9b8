// SPDX-License-Identifier: Apache-2.0
// A busy or hostile peer against an interface with few context records while its host answers late or never,
// and while queue pairs are reset: every list and table of the engine must stay within its bound.
#include <algorithm>
#include <deque>

#include <map>
#include <utility>
#include <vector>

#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"
#include "gtest/gtest.h"

namespace wharf::roce {
namespace {

using engine::AccessKind;
using wire::RoceOpcode;

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kBytes = 4096;
constexpr Psn kTheirPsn = 5000;

/// One engine, a peer made of single packets, and a host that answers only what it is told to answer.
class SlowHost {
 public:
  explicit SlowHost(RoceConfig config) {
    config.host = {1};
    config.path_mtu = 256;
    config.access_slots = 64;
    engine = RoceEngine::create(config, pool).value();
  }
  ~SlowHost() {
    engine.reset();
    EXPECT_EQ(pool.in_use(), 0u);
  }

  verbs::SegmentToken add_segment() {
    return engine->register_segment(kTimeZero, {.base = kBase, .length = kBytes}).value();
  }
  engine::QueueId add_queue(const engine::QueueConfig& config = {}) {
    const engine::QueueId queue = engine->create_queue(kTimeZero, config).value();
    psn.push_back(kTheirPsn);
    connect(queue);
    return queue;
  }
  void connect(engine::QueueId queue) {
    ExchangeRecord peer;
    peer.host = {0};
    peer.queue_number = kFirstQueueNumber + queue;
    peer.starting_psn = kTheirPsn;
    peer.path_mtu = 256;
    peer.responder_resources = 4;
    psn[queue] = kTheirPsn;
    ASSERT_TRUE(engine->connect(kTimeZero, queue, encode(peer)).ok());
  }
  void reset(engine::QueueId queue) {
    ASSERT_TRUE(engine->reset(kTimeZero, queue).ok());
    connect(queue);
  }

  /// The next packet of the peer of `queue`.
  wire::Packet packet(engine::QueueId queue, RoceOpcode opcode) {
    wire::Packet out = wire::roce_packet();
    out.source = {0};
    out.destination = {1};
    out.roce.bth.opcode = opcode;
    out.roce.bth.destination_queue_pair = kFirstQueueNumber + queue;
    out.roce.bth.psn = psn[queue]++;
    return out;
  }
  void receive(const wire::Packet& arrived) {
    engine->receive(kTimeZero, 0, arrived);
    drain();
  }
  /// A READ of no bytes: it needs the record of its key, and no memory.
  void read_nothing(engine::QueueId queue, verbs::SegmentToken token) {
    wire::Packet read = packet(queue, RoceOpcode::kRcReadRequest);
    read.roce.reth = {kBase, token.id, 0};
    receive(read);
  }
  void write(engine::QueueId queue, verbs::SegmentToken token) {
    wire::Packet out = packet(queue, RoceOpcode::kRcWriteOnly);
    out.roce.reth = {kBase, token.id, 64};
    out.payload = wire::pattern_payload(1, 0, 64);
    receive(out);
  }
  void send(engine::QueueId queue, std::uint32_t length) {
    wire::Packet out = packet(queue, RoceOpcode::kRcSendOnly);
    out.payload = wire::pattern_payload(1, 0, length);
    receive(out);
  }

  /// Takes what the engine wants of memory and of the network, and answers nothing.
  void drain() {
    engine::Access access;
    while (engine->next_access(access)) pending.push_back(access);
    wire::Packet packet;
    while (engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet)) {
      ++sent;
      pool.release(packet.payload.buffer);
    }
  }
  std::size_t count(AccessKind kind) const {
    return static_cast<std::size_t>(std::count_if(pending.begin(), pending.end(),
                                                  [&](const auto& access) { return access.kind == kind; }));
  }
  /// Answers the oldest access of `kind`; false when there is none.
  bool answer(AccessKind kind) {
    const auto at = std::find_if(pending.begin(), pending.end(),
                                 [&](const engine::Access& access) { return access.kind == kind; });
    if (at == pending.end()) return false;
    const engine::Access access = *at;
    pending.erase(at);
    engine::AccessResult result;
    wire::BufferId buffer = wire::kNoBuffer;
    if (kind == AccessKind::kWriteContext) {
      records[access.address].resize(access.length);
      wire::fill(access.data, records[access.address]);
    } else if (kind == AccessKind::kFetchContext || kind == AccessKind::kRead) {
      buffer = pool.acquire(access.length);
      std::fill_n(pool.data(buffer), access.length, std::byte{0});
      if (kind == AccessKind::kFetchContext)
        std::copy_n(records.at(access.address).begin(), access.length, pool.data(buffer));
      result.data = wire::bytes_payload(pool.data(buffer), access.length, buffer);
    }
    engine->access_done(kTimeZero, access.id, result);
    pool.release(buffer);
    drain();
    return true;
  }
  void answer_all() {
    drain();
    while (!pending.empty()) answer(pending.front().kind);
  }

  wire::PayloadPool pool;
  std::unique_ptr<RoceEngine> engine;
  std::deque<engine::Access> pending;
  std::map<std::uint64_t, std::vector<std::byte>> records;
  std::vector<Psn> psn;
  std::size_t sent = 0;
};

// A queue pair that is reset while it waits for its record used to leave its place in line behind, so that a
// peer whose queue pairs are made anew filled the line.
TEST(RoceContextPressure, ResetQueuePairsKeepOnePlaceInLine) {
  RoceConfig config;
  config.queue_cache_entries = 1;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId served = host.add_queue();
  const engine::QueueId a = host.add_queue();
  const engine::QueueId b = host.add_queue();
  host.answer_all();
  host.read_nothing(served, token);
  ASSERT_EQ(host.count(AccessKind::kFetchContext), 1u);
  // Each reset makes one record resident and so displaces that of the other.
  for (int round = 0; round < 50; ++round) {
    host.reset(a);
    host.read_nothing(b, token);
    host.reset(b);
    host.read_nothing(a, token);
  }
  host.answer_all();
  EXPECT_EQ(host.engine->counters().dropped_no_resources, 0u);
  // The last packet of `a`, which no reset has dropped, and that of `served`.
  EXPECT_EQ(host.sent, 2u);
  host.read_nothing(b, token);
  host.answer_all();
  EXPECT_EQ(host.sent, 3u);
}

// The fetch of a key record goes on when the queue pair that wanted it is reset; there are as many entries
// for such fetches as queue pairs that are served at a time.
TEST(RoceContextPressure, KeyFetchesOfResetQueuePairsAreBounded) {
  RoceConfig config;
  config.key_cache_entries = 1;
  SlowHost host(config);
  const engine::QueueId queue = host.add_queue();
  std::vector<verbs::SegmentToken> tokens;
  for (int at = 0; at < 10; ++at) tokens.push_back(host.add_segment());
  host.answer_all();
  for (int at = 0; at < 9; ++at) {
    host.read_nothing(queue, tokens[static_cast<std::size_t>(at)]);
    if (at < 8) host.reset(queue);
  }
  EXPECT_LE(host.count(AccessKind::kFetchContext), 4u);
  host.answer_all();
  EXPECT_EQ(host.sent, 1u);
}

// Each key that a packet names displaces another record; a host that is slow to take them must not run the
// interface out of access slots.
TEST(RoceContextPressure, EvictionsWaitForTheHost) {
  RoceConfig config;
  config.key_cache_entries = 1;
  config.responses_ahead = 256;
  SlowHost host(config);
  const engine::QueueId queue = host.add_queue();
  std::vector<verbs::SegmentToken> tokens;
  for (int at = 0; at < 200; ++at) {
    tokens.push_back(host.add_segment());
    host.answer_all();
  }
  for (const verbs::SegmentToken token : tokens) host.read_nothing(queue, token);
  while (host.answer(AccessKind::kFetchContext)) {
  }
  EXPECT_LE(host.count(AccessKind::kWriteContext), 12u);
  host.answer_all();
  EXPECT_EQ(host.sent, tokens.size());
}

// The same from the control side: segments come and go faster than the host takes their records.
TEST(RoceContextPressure, SegmentsMayComeAndGoWhileTheHostIsBusy) {
  RoceConfig config;
  config.key_cache_entries = 1;
  SlowHost host(config);
  const engine::QueueId queue = host.add_queue();
  verbs::SegmentToken first = host.add_segment();
  verbs::SegmentToken second = host.add_segment();
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, first).ok());
    ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, second).ok());
    first = host.add_segment();
    second = host.add_segment();
  }
  host.drain();
  EXPECT_GT(host.count(AccessKind::kWriteContext), 200u);
  host.read_nothing(queue, first);
  host.read_nothing(queue, second);
  host.answer_all();
  EXPECT_EQ(host.sent, 2u);
}

// Receive entries that are fetched ahead of need took the slots of the packet that was being placed.
TEST(RoceContextPressure, PrefetchLeavesThePacketItsAccessSlots) {
  RoceConfig config;
  config.receive_prefetch = 64;
  config.fetch_batch = 1;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue =
      host.add_queue({.send_depth = 4, .receive_depth = 64, .receive_ring = 0x8000});
  while (host.engine->counters().dropped_no_resources == 0) host.write(queue, token);
  --host.psn[queue];
  verbs::ReceiveRequest receive;
  receive.local_count = verbs::kMaxScatterEntries;
  for (auto& piece : receive.local) piece = {kBase, 16};
  for (int at = 0; at < 64; ++at) {
    ASSERT_EQ(host.engine->post_receive(kTimeZero, queue, receive), engine::PostStatus::kOk);
  }
  host.drain();
  const std::size_t before = host.pending.size();
  for (int at = 0; at < verbs::kMaxScatterEntries + 2; ++at) ASSERT_TRUE(host.answer(AccessKind::kWrite));
  ASSERT_EQ(host.pending.size(), before - verbs::kMaxScatterEntries - 2);
  host.send(queue, 64);
  host.answer_all();
  verbs::Completion completion;
  ASSERT_TRUE(host.engine->poll(queue, completion));
  EXPECT_EQ(completion.length, 64u);
}

// Answers of memory that waited for the record of a queue pair free their slots when that is destroyed; who
// found no slot goes on, though no answer of memory may be left to come.
TEST(RoceContextPressure, ADestroyedQueuePairFeedsThoseThatFoundNoSlot) {
  RoceConfig config;
  config.queue_cache_entries = 2;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId a = host.add_queue();
  const engine::QueueId c = host.add_queue();
  const engine::QueueId b = host.add_queue();
  host.answer_all();
  host.write(b, token);
  host.write(a, token);
  host.answer_all();
  while (host.engine->counters().dropped_no_resources == 0) host.write(a, token);
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.length = 64;
  request.local_count = 1;
  request.local[0] = {kBase, 64};
  request.remote = {kBase, token};
  ASSERT_EQ(host.engine->post(kTimeZero, b, request, engine::Submission::kInHand), engine::PostStatus::kOk);
  host.drain();
  ASSERT_EQ(host.count(AccessKind::kRead), 0u);
  // `c` displaces `a`, whose answers then wait for its record.
  host.read_nothing(c, token);
  ASSERT_TRUE(host.answer(AccessKind::kFetchContext));
  ASSERT_EQ(host.count(AccessKind::kWriteContext), 1u);
  while (host.answer(AccessKind::kWrite)) {
  }
  ASSERT_EQ(host.count(AccessKind::kRead), 0u);
  ASSERT_TRUE(host.engine->destroy_queue(kTimeZero, a).ok());
  host.drain();
  EXPECT_EQ(host.count(AccessKind::kRead), 1u);
  host.answer_all();
}

// An engine that ends gives back the buffers of accesses that nobody has answered (see ~SlowHost).
TEST(RoceContextPressure, EndsWithAccessesUnderWay) {
  RoceConfig config;
  config.queue_cache_entries = 1;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId a = host.add_queue();
  host.add_queue();
  host.write(a, token);
  EXPECT_GT(host.count(AccessKind::kWriteContext), 0u);
}

}  // namespace
}  // namespace wharf::roce
