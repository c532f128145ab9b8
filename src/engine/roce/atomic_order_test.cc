// SPDX-License-Identifier: Apache-2.0
// A responder carries out SENDs, WRITEs and atomics in the order of their PSNs [IBTA vol 1 9.5]: what stands
// behind an atomic waits for it, and what became of what waited when the queue pair ends.
#include "engine/roce/slow_host_test_support.h"
#include "wire/ring_entry.h"

namespace wharf::roce {
namespace {

using engine::AccessStatus;
using test::AccessKind;
using test::kBase;
using test::RoceOpcode;
using test::SlowHost;
using test::statuses;
using verbs::CompletionStatus;

void fetch_add(SlowHost& host, engine::QueueId queue, verbs::SegmentToken token) {
  wire::Packet atomic = host.packet(queue, RoceOpcode::kRcFetchAdd);
  atomic.roce.atomic = {kBase, 1, 0, token.id};
  host.receive(atomic);
}

engine::QueueId queue_with_receives(SlowHost& host, int count) {
  const engine::QueueId queue = host.add_queue({.send_depth = 4, .receive_depth = 8});
  verbs::ReceiveRequest receive;
  receive.local_count = 1;
  receive.local[0] = {kBase, 1024};
  for (int each = 0; each < count; ++each)
    EXPECT_EQ(host.engine->post_receive(kTimeZero, queue, receive), engine::PostStatus::kOk);
  return queue;
}

TEST(RoceAtomicOrder, WritesBehindAnAtomicWaitForIt) {
  SlowHost host({});
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.write(queue, token);
  fetch_add(host, queue, token);
  host.write(queue, token);
  fetch_add(host, queue, token);
  host.write(queue, token);
  // Memory is asked for one after the other.
  for (const AccessKind kind : {AccessKind::kWrite, AccessKind::kAtomic, AccessKind::kWrite,
                                AccessKind::kAtomic, AccessKind::kWrite}) {
    ASSERT_EQ(host.pending.size(), 1u);
    ASSERT_TRUE(host.answer(kind));
  }
  EXPECT_TRUE(host.pending.empty());
  EXPECT_EQ(host.sent, 2u);  // The results; no WRITE asked for an acknowledgement.
  // Nothing is held back any more.
  host.write(queue, token);
  host.write(queue, token);
  EXPECT_EQ(host.count(AccessKind::kWrite), 2u);
  host.answer_all();
}

// A message without data is told of behind the atomic, too.
TEST(RoceAtomicOrder, SendsBehindAnAtomicAreToldOfAfterIt) {
  for (const std::uint32_t length : {64u, 0u}) {
    SlowHost host({});
    const verbs::SegmentToken token = host.add_segment();
    const engine::QueueId queue = queue_with_receives(host, 1);
    fetch_add(host, queue, token);
    host.send(queue, length);
    EXPECT_EQ(host.pending.size(), 1u);
    EXPECT_TRUE(statuses(host, queue).empty());
    ASSERT_TRUE(host.answer(AccessKind::kAtomic));
    EXPECT_EQ(host.count(AccessKind::kWrite), length > 0 ? 1u : 0u);
    host.answer_all();
    EXPECT_EQ(statuses(host, queue), std::vector{CompletionStatus::kSuccess});
  }
}

// What waits behind an atomic may take all slots but that of the atomic, which finds its own.
TEST(RoceAtomicOrder, AnAtomicFindsASlotWhateverWaitsBehindIt) {
  SlowHost host({});
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.write(queue, token);
  fetch_add(host, queue, token);
  int more = 0;
  while (host.engine->counters().dropped_no_resources == 0) {
    ASSERT_LT(++more, 1000);
    host.write(queue, token);
  }
  EXPECT_EQ(host.pending.size(), 1u);
  host.answer_all();
  EXPECT_EQ(host.engine->state(queue), QueueState::kReadyToSend);
  --host.psn[queue];
  host.write(queue, token);
  EXPECT_EQ(host.count(AccessKind::kWrite), 1u);
  host.answer_all();
}

// IBTA vol 1 9.7.5.1.1: nothing behind a request that failed is carried out.
TEST(RoceAtomicOrder, WhatIsBehindAnAtomicThatFailsDoesNotHappen) {
  for (const bool revoked : {false, true}) {
    SlowHost host({});
    const verbs::SegmentToken token = host.add_segment();
    const verbs::SegmentToken other = host.add_segment();
    const engine::QueueId queue = queue_with_receives(host, 2);
    host.write(queue, other);
    fetch_add(host, queue, token);
    host.write(queue, other);
    host.send(queue, 64);
    host.send(queue, 0);
    if (revoked) {
      ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, token).ok());
    }
    ASSERT_TRUE(host.answer(AccessKind::kWrite));
    if (!revoked) {
      ASSERT_TRUE(host.answer(AccessKind::kAtomic, AccessStatus::kFault));
    }
    EXPECT_EQ(host.engine->counters().naks_sent, 1u);
    EXPECT_EQ(host.count(AccessKind::kWrite), 0u);
    host.answer_all();
    EXPECT_EQ(host.engine->state(queue), QueueState::kError);
    EXPECT_EQ(statuses(host, queue), (std::vector{CompletionStatus::kFlushed, CompletionStatus::kFlushed}));
  }
}

/// Statuses of the completion records that are on their way into a ring of bytes.
std::vector<CompletionStatus> written_statuses(const SlowHost& host) {
  std::vector<CompletionStatus> some;
  for (const engine::Access& access : host.pending) {
    if (access.kind != AccessKind::kWriteCompletion) continue;
    std::array<std::byte, wire::kRingEntryBytes> bytes{};
    wire::fill(access.data, bytes);
    wire::CompletionEntry entry;
    EXPECT_EQ(wire::decode(bytes, entry), wire::RingEntryError::kNone);
    some.push_back(static_cast<CompletionStatus>(entry.status));
  }
  return some;
}

// A record in a ring of bytes says what is final: it is made when the atomics before its message are done.
TEST(RoceAtomicOrder, BytesSayNothingOfAMessageBeforeTheAtomicsInFrontOfIt) {
  for (const bool fails : {false, true}) {
    SlowHost host({});
    const engine::QueueId completions =
        host.engine
            ->create_completion_queue(kTimeZero,
                                      {.depth = 8, .ring = 0x8000, .entries = engine::EntryFormat::kBytes})
            .value();
    const verbs::SegmentToken token = host.add_segment();
    const engine::QueueId queue =
        host.add_queue({.send_depth = 4, .receive_depth = 8, .receive_completions = completions});
    for (int each = 0; each < 3; ++each)
      ASSERT_EQ(host.engine->post_receive(kTimeZero, queue, {}), engine::PostStatus::kOk);
    host.send(queue, 0);
    EXPECT_EQ(written_statuses(host).size(), 1u) << "nothing is before it";
    fetch_add(host, queue, token);
    host.send(queue, 0);
    fetch_add(host, queue, token);
    host.send(queue, 0);
    EXPECT_EQ(written_statuses(host).size(), 1u);
    ASSERT_TRUE(host.answer(AccessKind::kAtomic));
    EXPECT_EQ(written_statuses(host), (std::vector{CompletionStatus::kSuccess, CompletionStatus::kSuccess}));
    ASSERT_TRUE(
        host.answer(AccessKind::kAtomic, fails ? engine::AccessStatus::kFault : engine::AccessStatus::kDone));
    host.drain();  // The NAK has left; what comes after it.
    EXPECT_EQ(written_statuses(host),
              (std::vector{CompletionStatus::kSuccess, CompletionStatus::kSuccess,
                           fails ? CompletionStatus::kFlushed : CompletionStatus::kSuccess}));
    host.answer_all();
  }
}

// IBTA vol 1 10.3.1: a queue pair that fails begins nothing, and acknowledges nothing that did not happen.
TEST(RoceAtomicOrder, AFailedQueuePairForgetsWhatWaitsForAnAtomic) {
  for (const bool begun : {false, true}) {
    SlowHost host({});
    const verbs::SegmentToken token = host.add_segment();
    const engine::QueueId queue = queue_with_receives(host, 1);
    if (!begun) host.write(queue, token);
    fetch_add(host, queue, token);
    wire::Packet write = host.packet(queue, RoceOpcode::kRcWriteOnly);
    write.roce.reth = {kBase, token.id, 64};
    write.roce.bth.acknowledge_request = true;
    write.payload = wire::pattern_payload(1, 0, 64);
    host.receive(write);
    host.send(queue, 64);
    ASSERT_TRUE(host.engine->fail_queue(kTimeZero, queue).ok());
    host.drain();
    EXPECT_EQ(host.count(AccessKind::kWrite), begun ? 0u : 1u);
    host.answer_all();
    EXPECT_EQ(host.sent, begun ? 1u : 0u);  // The result alone.
    EXPECT_EQ(statuses(host, queue), std::vector{CompletionStatus::kFlushed});
    // The next connection waits for nothing of this one.
    host.reset(queue);
    host.write(queue, token);
    EXPECT_EQ(host.count(AccessKind::kWrite), 1u);
    host.answer_all();
  }
}

// What is acknowledged then is what happened before, though what was dropped stands right behind it.
TEST(RoceAtomicOrder, AFailedQueuePairAcknowledgesNothingThatItDropped) {
  for (const bool atomic : {false, true}) {
    SlowHost host({});
    const verbs::SegmentToken token = host.add_segment();
    const engine::QueueId queue = host.add_queue();
    wire::Packet write = host.packet(queue, RoceOpcode::kRcWriteOnly);
    write.roce.reth = {kBase, token.id, 64};
    write.roce.bth.acknowledge_request = true;
    write.payload = wire::pattern_payload(1, 0, 64);
    host.receive(write);
    if (atomic) {
      fetch_add(host, queue, token);
      wire::Packet behind = write;
      behind.roce.bth.psn = host.psn[queue]++;
      host.receive(behind);
    } else {
      wire::Packet read = host.packet(queue, RoceOpcode::kRcReadRequest);
      read.roce.reth = {kBase, token.id, 64};
      host.receive(read);
    }
    ASSERT_TRUE(host.engine->fail_queue(kTimeZero, queue).ok());
    host.drain();
    ASSERT_EQ(host.pending.size(), 1u);
    const engine::Access access = host.pending.front();
    host.pending.clear();
    host.engine->access_done(kTimeZero, access.id, {});
    wire::Packet answer;
    ASSERT_TRUE(host.engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, answer));
    EXPECT_EQ(answer.roce.bth.opcode, RoceOpcode::kRcAcknowledge);
    EXPECT_EQ(answer.roce.bth.psn, write.roce.bth.psn);
    EXPECT_EQ(host.engine->counters().acknowledgements_merged, 0u);
    EXPECT_FALSE(host.engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, answer));
  }
}

}  // namespace
}  // namespace wharf::roce
