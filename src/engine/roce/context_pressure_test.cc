// SPDX-License-Identifier: Apache-2.0
// A busy or hostile peer against an interface with few context records while its host answers late or never,
// and while queue pairs are reset: every list and table of the engine must stay within its bound.
#include "engine/roce/slow_host_test_support.h"

namespace wharf::roce {
namespace {

using test::AccessKind;
using test::kBase;
using test::SlowHost;
using wire::RoceOpcode;

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

// Whichever header names the key, its record is there before the packet is executed.
TEST(RoceContextPressure, EveryRequestThatNamesAKeyWaitsForItsRecord) {
  RoceConfig config;
  config.key_cache_entries = 1;
  SlowHost host(config);
  const engine::QueueId queue = host.add_queue();
  const verbs::SegmentToken one = host.add_segment();
  const verbs::SegmentToken other = host.add_segment();
  const auto makes_fetch = [&](auto&& give) {
    host.answer_all();
    host.read_nothing(queue, other);  // The record of `one` gives way.
    host.answer_all();
    give();
    const bool fetched = host.count(AccessKind::kFetchContext) == 1;
    EXPECT_EQ(host.count(AccessKind::kAtomic) + host.count(AccessKind::kWrite), 0u) << "before the record";
    host.answer_all();
    return fetched;
  };
  EXPECT_TRUE(makes_fetch([&] { host.read_nothing(queue, one); }));
  EXPECT_TRUE(makes_fetch([&] { host.write(queue, one); }));
  EXPECT_TRUE(makes_fetch([&] {
    wire::Packet add = host.packet(queue, RoceOpcode::kRcFetchAdd);
    add.roce.atomic = {kBase, 1, 0, one.id};
    host.receive(add);
  }));
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

// A queue pair that is failed while its record is in memory used to get that record back, which says that it
// can send; a refused request then failed it a second time, for which there is no transition.
TEST(RoceContextPressure, AFailedQueuePairDoesNotComeBackWithItsOldRecord) {
  RoceConfig config;
  config.queue_cache_entries = 1;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId a = host.add_queue();
  const engine::QueueId b = host.add_queue();  // Displaces the record of `a`.
  host.answer_all();
  ASSERT_TRUE(host.engine->fail_queue(kTimeZero, a).ok());
  host.read_nothing(a, {token.id + 1, 0});
  wire::Packet read = host.packet(a, test::RoceOpcode::kRcReadRequest);
  read.roce.reth = {kBase, token.id + 1, 64};  // No such key.
  host.receive(read);
  host.answer_all();
  EXPECT_EQ(host.engine->queue_state(a), engine::QueueState::kError);
  EXPECT_EQ(host.engine->counters().dropped_not_ready, 2u);
  EXPECT_EQ(host.sent, 0u);
  host.reset(a);
  host.read_nothing(a, token);
  host.read_nothing(b, token);
  host.answer_all();
  EXPECT_EQ(host.sent, 2u);
}

// The same while the record is on its way.
TEST(RoceContextPressure, AQueuePairMayFailWhileItsRecordComes) {
  RoceConfig config;
  config.queue_cache_entries = 1;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId a = host.add_queue();
  host.add_queue();
  host.answer_all();
  wire::Packet read = host.packet(a, test::RoceOpcode::kRcReadRequest);
  read.roce.reth = {kBase, token.id + 1, 64};
  host.receive(read);
  ASSERT_EQ(host.count(AccessKind::kFetchContext), 1u);
  ASSERT_TRUE(host.engine->fail_queue(kTimeZero, a).ok());
  host.answer_all();
  EXPECT_EQ(host.engine->queue_state(a), engine::QueueState::kError);
  EXPECT_EQ(host.sent, 0u);
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
