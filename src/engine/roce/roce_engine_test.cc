// SPDX-License-Identifier: Apache-2.0
// What a program sees of the engine: verbs, completions, errors, queues.
#include "engine/roce/roce_engine.h"

#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using engine::AccessKind;
using engine::PostStatus;
using test::RocePair;
using test::RunEnd;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

TEST(RoceEngine, WritesBytesIntoRemoteMemory) {
  RocePair world;
  world.fill(0, 0, 64, 7);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64)), PostStatus::kOk);
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_EQ(world.completions(0)[0].length, 64u);
  EXPECT_TRUE(world.holds(1, 4096, 64, 7));
  EXPECT_EQ(world.pair.now(), nanoseconds(200));
  EXPECT_EQ(world.pair.pool().in_use(), 0u);
}

TEST(RoceEngine, ReadsBytesFromRemoteMemory) {
  RocePair world;
  world.fill(1, 4096, 100000, 9);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, 100000)), PostStatus::kOk);
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_TRUE(world.holds(0, 0, 100000, 9));
}

TEST(RoceEngine, GathersAndScattersPieces) {
  RocePair world;
  world.fill(0, 0, 300, 3);
  verbs::WorkRequest write = world.request(Verb::kWrite, 0, 4096, 300);
  write.local_count = 3;
  write.local[0] = {RocePair::kBase, 7};
  write.local[1] = {RocePair::kBase + 7, 0};
  write.local[2] = {RocePair::kBase + 7, 293};
  world.pair.post(0, 0, write);
  verbs::WorkRequest read = world.request(Verb::kRead, 0, 4096, 300);
  read.fence = true;
  read.local_count = 2;
  read.local[0] = {RocePair::kBase + 1000, 299};
  read.local[1] = {RocePair::kBase + 1299, 1};
  world.pair.run_until_idle();
  world.pair.post(0, 0, read);
  world.pair.run_until_idle();
  EXPECT_TRUE(world.holds(1, 4096, 300, 3));
  EXPECT_TRUE(world.holds(0, 1000, 300, 3));
}

TEST(RoceEngine, ExecutesAtomicsAndReturnsTheOldValue) {
  RocePair world;
  world.pair.memory(1).store64(RocePair::kBase + 64, 40);
  verbs::WorkRequest add = world.request(Verb::kFetchAdd, 0, 64, 8);
  add.operand[0] = 2;
  world.pair.post(0, 0, add);
  verbs::WorkRequest swap = world.request(Verb::kCompareSwap, 8, 64, 8);
  swap.compare[0] = 42;
  swap.operand[0] = 100;
  world.pair.post(0, 0, swap);
  verbs::WorkRequest missed = world.request(Verb::kCompareSwap, 16, 64, 8);
  missed.compare[0] = 42;
  missed.operand[0] = 200;
  missed.local_count = 0;
  world.pair.post(0, 0, missed);
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(0).size(), 3u);
  EXPECT_EQ(world.completions(0)[0].atomic_result[0], 40u);
  EXPECT_EQ(world.completions(0)[1].atomic_result[0], 42u);
  EXPECT_EQ(world.completions(0)[2].atomic_result[0], 100u);
  EXPECT_EQ(world.pair.memory(1).load64(RocePair::kBase + 64), 100u);
  EXPECT_EQ(world.pair.memory(0).load64(RocePair::kBase), 40u);
  EXPECT_EQ(world.pair.memory(0).load64(RocePair::kBase + 8), 42u);
}

TEST(RoceEngine, DeliversSendsWithImmediateAndWritesWithImmediate) {
  RocePair world;
  world.fill(0, 0, 5000, 5);
  world.pair.post_receive(1, 0, world.receive(8192, 8192));
  world.pair.post_receive(1, 0, world.receive(16384, 64));
  verbs::WorkRequest send = world.request(Verb::kSendImm, 0, 0, 5000);
  send.immediate = 0xabcd1234;
  world.pair.post(0, 0, send);
  verbs::WorkRequest write = world.request(Verb::kWriteImm, 0, 65536, 5000);
  write.immediate = 77;
  world.pair.post(0, 0, write);
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(1).size(), 2u);
  EXPECT_EQ(world.completions(1)[0].verb, Verb::kSendImm);
  EXPECT_EQ(world.completions(1)[0].immediate, 0xabcd1234u);
  EXPECT_EQ(world.completions(1)[0].length, 5000u);
  EXPECT_EQ(world.completions(1)[0].remote_host, 0u);
  EXPECT_EQ(world.completions(1)[1].verb, Verb::kWriteImm);
  EXPECT_EQ(world.completions(1)[1].immediate, 77u);
  EXPECT_TRUE(world.holds(1, 8192, 5000, 5));
  EXPECT_TRUE(world.holds(1, 65536, 5000, 5));
}

TEST(RoceEngine, SendWithInvalidateRevokesTheKey) {
  RocePair world;
  world.pair.post_receive(1, 0, world.receive(8192, 64));
  verbs::WorkRequest send = world.request(Verb::kSendInvalidate, 0, 0, 16);
  send.invalidate = world.token[1];
  world.pair.post(0, 0, send);
  world.pair.run_until_idle();
  EXPECT_TRUE(world.completions(0).at(0).ok());
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 16));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).at(1).status, CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(world.pair.engine(1).deregister_segment(world.pair.now(), world.token[1]).ok());
}

// [IBTA vol 1 10.2.3] Whoever guesses a key of another protection domain can neither use nor revoke it.
TEST(RoceEngine, AKeyOfAnotherDomainIsRefused) {
  for (const std::uint32_t domain : {5U, 6U}) {
    for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd, Verb::kSendInvalidate}) {
      engine::QueueConfig queue;
      queue.domain = 5;
      RocePair world({}, {}, 1, queue);
      const verbs::SegmentToken key =
          world.pair.engine(1)
              .register_segment(world.pair.now(), {.base = RocePair::kBase, .length = 4096, .domain = domain})
              .value();
      world.pair.post_receive(1, 0, world.receive(8192, 64));
      verbs::WorkRequest request = world.request(verb, 0, 0, 8);
      request.remote.token = request.invalidate = key;
      world.pair.post(0, 0, request);
      world.pair.run_until_idle();
      EXPECT_EQ(world.completions(0).at(0).status,
                domain == 5 ? CompletionStatus::kSuccess : CompletionStatus::kRemoteAccess)
          << verbs::name(verb);
    }
  }
}

TEST(RoceEngine, RefusesWhatRoceDoesNotHave) {
  RocePair world;
  for (const Verb verb :
       {Verb::kWriteNotify, Verb::kSwap, Verb::kAtomicStore, Verb::kAtomicLoad, Verb::kFetchSub,
        Verb::kFetchAnd, Verb::kFetchOr, Verb::kFetchXor, Verb::kLoad, Verb::kStore}) {
    EXPECT_FALSE(RoceEngine::supports(verb));
    EXPECT_EQ(world.pair.post(0, 0, world.request(verb, 0, 0, 8)), PostStatus::kUnsupported);
  }
  verbs::WorkRequest narrow = world.request(Verb::kFetchAdd, 0, 0, 8);
  narrow.width = 4;
  EXPECT_EQ(world.pair.post(0, 0, narrow), PostStatus::kUnsupported);
  EXPECT_EQ(world.pair.issue(0, verbs::LoadStore{}), PostStatus::kUnsupported);
  EXPECT_EQ(world.pair.post(0, 9, world.request(Verb::kRead, 0, 0, 8)), PostStatus::kBadQueue);
  verbs::WorkRequest uneven = world.request(Verb::kWrite, 0, 0, 8);
  uneven.length = 9;
  EXPECT_EQ(world.pair.post(0, 0, uneven), PostStatus::kBadRequest);
}

TEST(RoceEngine, QueueIsFullUntilACompletionIsTaken) {
  engine::QueueConfig depths;
  depths.send_depth = 2;
  depths.receive_depth = 1;
  RocePair world({}, {}, 1, depths);
  RoceEngine& engine = world.pair.engine(0);
  const verbs::WorkRequest write = world.request(Verb::kWrite, 0, 0, 8);
  EXPECT_EQ(engine.post(kTimeZero, 0, write, engine::Submission::kInHand), PostStatus::kOk);
  EXPECT_EQ(engine.post(kTimeZero, 0, write, engine::Submission::kInHand), PostStatus::kOk);
  EXPECT_EQ(engine.post(kTimeZero, 0, write, engine::Submission::kInHand), PostStatus::kQueueFull);
  EXPECT_EQ(world.pair.post_receive(0, 0, world.receive(0, 8)), PostStatus::kOk);
  EXPECT_EQ(world.pair.post_receive(0, 0, world.receive(0, 8)), PostStatus::kQueueFull);
  world.pair.drain(0);
  world.pair.run_until_idle();
  EXPECT_EQ(world.pair.post(0, 0, write), PostStatus::kOk);
}

TEST(RoceEngine, FetchesAnnouncedEntriesInBatchesAndOnlySignaledOnesComplete) {
  RoceConfig config;
  config.fetch_batch = 4;
  RocePair world(config);
  RoceEngine& engine = world.pair.engine(0);
  for (int count = 0; count < 9; ++count) {
    verbs::WorkRequest write = world.request(Verb::kWrite, 0, 0, 8);
    write.signaled = count == 8;
    ASSERT_EQ(engine.post(kTimeZero, 0, write, engine::Submission::kDoorbell), PostStatus::kOk);
  }
  world.pair.drain(0);
  world.pair.run_until_idle();
  // 1 entry at the first doorbell, 1 at the second (two fetches under way), then batches of 4 and 3.
  EXPECT_EQ(world.pair.memory(0).count(AccessKind::kFetchWorkRequest), 4u);
  EXPECT_EQ(world.pair.memory(0).count(AccessKind::kWriteCompletion), 1u);
  EXPECT_EQ(world.completions(0).size(), 1u);
}

TEST(RoceEngine, CompletionIsOrderedBehindItsPayload) {
  RocePair world;
  RoceEngine& target = world.pair.engine(1);
  world.pair.post_receive(1, 0, world.receive(8192, 64));
  RoceEngine& source = world.pair.engine(0);
  ASSERT_EQ(source.post(kTimeZero, 0, world.request(Verb::kSend, 0, 0, 16), engine::Submission::kInHand),
            PostStatus::kOk);
  engine::Access access;
  wire::Packet packet;
  ASSERT_TRUE(source.next_access(access));
  EXPECT_EQ(access.kind, AccessKind::kRead);
  const std::array<std::byte, 16> bytes{};
  engine::AccessResult data;
  data.data = wire::bytes_payload(bytes);
  source.access_done(kTimeZero, access.id, data);
  ASSERT_TRUE(source.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  target.receive(kTimeZero, 0, packet);
  engine::Access placement;
  engine::Access completion;
  ASSERT_TRUE(target.next_access(placement));
  ASSERT_TRUE(target.next_access(completion));
  EXPECT_EQ(placement.kind, AccessKind::kWrite);
  EXPECT_TRUE(placement.at_target);
  EXPECT_EQ(completion.kind, AccessKind::kWriteCompletion);
  EXPECT_EQ(completion.order, verbs::AccessOrder::kRelease);
  EXPECT_EQ(completion.stream, placement.stream);
  verbs::Completion polled;
  EXPECT_FALSE(target.poll(0, polled));
  // No acknowledgement before the bytes are in memory.
  EXPECT_FALSE(target.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  target.access_done(kTimeZero, placement.id, {});
  EXPECT_TRUE(target.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  EXPECT_FALSE(target.poll(0, polled));
  target.access_done(kTimeZero, completion.id, {});
  EXPECT_TRUE(target.poll(0, polled));
}

TEST(RoceEngine, FenceWaitsForEarlierReads) {
  RocePair world;
  world.watch();
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64));
  verbs::WorkRequest fenced = world.request(Verb::kWrite, 64, 64, 64);
  fenced.fence = true;
  world.pair.post(0, 0, fenced);
  EXPECT_TRUE(world.sent_of(RoceOpcode::kRcWriteOnly).empty());
  world.pair.run_until_idle();
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteOnly).size(), 1u);
}

// IBTA vol 1 10.8.3.3: what an earlier READ brings is in memory before a fenced request begins.
TEST(RoceEngine, FenceWaitsForDataThatIsBeingPlaced) {
  test::EnginePairOptions slow;
  slow.access_shortest = slow.access_longest = microseconds(5);
  RocePair world({}, slow);
  world.watch();
  world.fill(1, 0, 64, 7);
  bool placed = false;
  world.lose = [&](const wire::Packet& packet) {
    if (packet.roce.bth.opcode == RoceOpcode::kRcWriteOnly) placed = world.holds(0, 0, 64, 7);
    return false;
  };
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64));
  verbs::WorkRequest fenced = world.request(Verb::kWrite, 64, 64, 64);
  fenced.fence = true;
  fenced.local_count = 0;
  fenced.inline_data = wire::pattern_payload(8, 0, 64);  // Nothing else has to be waited for.
  world.pair.post(0, 0, fenced);
  world.pair.run_until_idle();
  ASSERT_EQ(world.sent_of(RoceOpcode::kRcWriteOnly).size(), 1u);
  EXPECT_TRUE(placed);
}

// IBTA vol 1 10.3.1: an error flushes the queue; after a reset and a new connection it works again.
TEST(RoceEngine, FailedQueueIsFlushedAndUsableAfterReset) {
  RocePair world;
  verbs::WorkRequest wrong = world.request(Verb::kWrite, 0, 0, 64);
  wrong.remote.token.id ^= 0xff;
  world.pair.memory(1).store64(RocePair::kBase, 5);
  world.pair.post_receive(0, 0, world.receive(0, 64));
  world.pair.post_receive(1, 0, world.receive(0, 64));
  world.pair.post(0, 0, wrong);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 64, 64));
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(0).size(), 3u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kRemoteAccess);
  EXPECT_EQ(world.completions(0)[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(world.completions(0)[2].status, CompletionStatus::kFlushed);  // The receive entry.
  EXPECT_EQ(world.completions(1).at(0).status, CompletionStatus::kFlushed);
  EXPECT_EQ(world.pair.memory(1).load64(RocePair::kBase), 5u);
  EXPECT_EQ(world.pair.engine(0).state(0), QueueState::kError);
  EXPECT_EQ(world.pair.engine(1).state(0), QueueState::kError);
  EXPECT_EQ(world.pair.host(0).events.at(0).kind, engine::AsyncEventKind::kQueueError);
  EXPECT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kBadQueue);

  ASSERT_TRUE(world.pair.engine(0).reset(world.pair.now(), 0).ok());
  ASSERT_TRUE(world.pair.engine(1).disconnect(world.pair.now(), 0, 0).ok());
  world.connect(0);
  world.fill(0, 0, 64, 1);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 128, 64));
  world.pair.run_until_idle();
  EXPECT_TRUE(world.completions(0).at(3).ok());
  EXPECT_TRUE(world.holds(1, 128, 64, 1));
  EXPECT_EQ(world.pair.pool().in_use(), 0u);
}

// Records of completions serve again: what ends without a message says nothing of the one that had its place.
TEST(RoceEngine, AReceiveThatEndsWithoutAMessageSaysNothingOfAnEarlierOne) {
  engine::QueueConfig few;
  few.receive_depth = 2;
  RocePair world({}, {}, 1, few);
  for (int message = 0; message < 4; ++message) {
    ASSERT_EQ(world.pair.post_receive(1, 0, world.receive(8192, 64)), PostStatus::kOk);
    verbs::WorkRequest send = world.request(Verb::kSendImm, 0, 0, 64);
    send.immediate = 0xffff'ffff;
    send.solicited = true;
    ASSERT_EQ(world.pair.post(0, 0, send), PostStatus::kOk);
    world.pair.run_until_idle();
  }
  ASSERT_EQ(world.completions(1).size(), 4u);
  EXPECT_TRUE(world.completions(1)[3].has_immediate && world.completions(1)[3].solicited);
  const verbs::ReceiveRequest cancelled = world.receive(8192, 64);
  ASSERT_EQ(world.pair.post_receive(1, 0, cancelled), PostStatus::kOk);
  ASSERT_EQ(world.pair.post_receive(1, 0, world.receive(8192, 64)), PostStatus::kOk);
  ASSERT_TRUE(world.pair.engine(1).cancel_receive(world.pair.now(), 0, cancelled.id).ok());
  world.pair.drain(1);
  ASSERT_TRUE(world.pair.engine(1).fail_queue(world.pair.now(), 0).ok());
  world.pair.drain(1);
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(1).size(), 6u);
  EXPECT_EQ(world.completions(1)[4].status, CompletionStatus::kCancelled);
  EXPECT_EQ(world.completions(1)[5].status, CompletionStatus::kFlushed);
  for (std::size_t at : {4u, 5u}) {
    const verbs::Completion& ended = world.completions(1)[at];
    EXPECT_EQ(ended.kind, verbs::CompletionKind::kReceive);
    EXPECT_EQ(ended.verb, Verb::kSend);
    EXPECT_EQ(ended.length, 0u);
    EXPECT_FALSE(ended.has_immediate);
    EXPECT_EQ(ended.immediate, 0u);
    EXPECT_FALSE(ended.solicited);
    EXPECT_EQ(ended.remote_host, 0u);
    EXPECT_EQ(ended.remote_queue, 0u);
    EXPECT_EQ(ended.drain, verbs::DrainMark::kNone);
  }
}

TEST(RoceEngine, ConnectRefusesNonsense) {
  RocePair world;
  RoceEngine& engine = world.pair.engine(0);
  const auto blob = engine.export_queue(0).value();
  EXPECT_FALSE(engine.connect(kTimeZero, 0, blob).ok());  // Connected already.
  const engine::QueueId fresh = engine.create_queue(kTimeZero, {}).value();
  for (std::size_t length = 0; length < blob.size(); ++length) {
    EXPECT_FALSE(engine.connect(kTimeZero, fresh, std::span(blob).first(length)).ok());
  }
  EXPECT_FALSE(engine.create_queue(kTimeZero, {.send_depth = 3}).ok());
  EXPECT_FALSE(engine.export_queue(77).ok());
  EXPECT_TRUE(engine.destroy_queue(kTimeZero, fresh).ok());
  EXPECT_FALSE(engine.destroy_queue(kTimeZero, fresh).ok());
  RoceConfig bad;
  bad.path_mtu = 1500;
  wire::PayloadPool pool;
  Arena arena;
  EXPECT_FALSE(RoceEngine::create(bad, pool, arena).ok());
}

// A cache of one record gives the same results, only later.
TEST(RoceEngine, OneEntryContextCacheChangesOnlyTheTime) {
  const auto run = [](std::uint32_t entries, TimePs& end, std::uint64_t& fetches) {
    RoceConfig config;
    config.queue_cache_entries = entries;
    config.key_cache_entries = entries;
    test::EnginePairOptions options;
    options.access_shortest = options.access_longest = nanoseconds(500);
    RocePair world(config, options, 3);
    const auto second = world.pair.engine(1)
                            .register_segment(world.pair.now(), {.base = RocePair::kBase, .length = 4096})
                            .value();
    world.fill(0, 0, 8192, 4);
    for (std::uint64_t round = 0; round < 6; ++round) {
      for (engine::QueueId queue = 0; queue < 3; ++queue) {
        verbs::WorkRequest write =
            world.request(Verb::kWrite, round * 64, 32768 + (round * 3 + queue) * 64, 64);
        if (round % 2 == 1) {
          write.remote = {RocePair::kBase + (round * 3 + queue) * 64, second};
        }
        EXPECT_EQ(world.pair.post(0, queue, write), PostStatus::kOk);
      }
    }
    EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
    end = world.pair.now();
    fetches = world.pair.memory(1).count(AccessKind::kFetchContext);
    EXPECT_EQ(world.pair.memory(1).count(AccessKind::kWriteContext) > 0, fetches > 0);
    EXPECT_EQ(world.completions(0).size(), 18u);
    for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
    const auto bytes = world.pair.memory(1).at(RocePair::kBase, 65536);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  TimePs end_all;
  TimePs end_one;
  std::uint64_t fetches_all = 0;
  std::uint64_t fetches_one = 0;
  EXPECT_EQ(run(0, end_all, fetches_all), run(1, end_one, fetches_one));
  EXPECT_EQ(fetches_all, 0u);
  EXPECT_GT(fetches_one, 3u);
  EXPECT_GT(end_one, end_all);
}

// Fewer access slots than a message has packets: it takes turns, nothing is lost.
TEST(RoceEngine, WorksWithFewAccessSlots) {
  RoceConfig config;
  config.access_slots = 64;
  config.path_mtu = 256;
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(1);
  RocePair world(config, options);
  world.fill(0, 0, 100000, 2);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 200000, 100000));
  world.pair.post(0, 0, world.request(Verb::kRead, 400000, 200000, 100000));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 2u);
  EXPECT_TRUE(world.holds(0, 400000, 100000, 2));
}

}  // namespace
}  // namespace wharf::roce
