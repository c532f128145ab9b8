// SPDX-License-Identifier: Apache-2.0
// Memory that was granted is not touched any more once the grant has ended, whatever had been accepted under
// it.
#include "engine/roce/slow_host_test_support.h"

namespace wharf::roce {
namespace {

using test::AccessKind;
using test::kBase;
using test::RoceOpcode;
using test::SlowHost;

/// A queue pair whose receive entries have to be fetched, with one of them.
engine::QueueId queue_with_entry(SlowHost& host) {
  const engine::QueueId queue = host.add_queue({.send_depth = 4, .receive_depth = 4, .receive_ring = 0x8000});
  verbs::ReceiveRequest receive;
  receive.local_count = 1;
  receive.local[0] = {kBase, 256};
  EXPECT_EQ(host.engine->post_receive(kTimeZero, queue, receive), engine::PostStatus::kOk);
  return queue;
}

void fetch_add(SlowHost& host, engine::QueueId queue, verbs::SegmentToken token) {
  wire::Packet add = host.packet(queue, RoceOpcode::kRcFetchAdd);
  add.roce.atomic = {kBase, 1, 0, token.id};
  host.receive(add);
}

// An atomic waits for the writes before it; the segment may be gone by then.
TEST(RoceRevocation, AnAtomicThatWaitsIsRefused) {
  SlowHost host({});
  const verbs::SegmentToken kept = host.add_segment();
  const verbs::SegmentToken gone = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.write(queue, kept);
  fetch_add(host, queue, gone);
  ASSERT_EQ(host.count(AccessKind::kAtomic), 0u);
  ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, gone).ok());
  ASSERT_TRUE(host.answer(AccessKind::kWrite));
  EXPECT_EQ(host.count(AccessKind::kAtomic), 0u);
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
}

// The same when a peer revokes the key with a Send with Invalidate.
TEST(RoceRevocation, AnAtomicThatWaitsIsRefusedAfterAnInvalidate) {
  SlowHost host({});
  const verbs::SegmentToken kept = host.add_segment();
  const verbs::SegmentToken gone = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  const engine::QueueId other = queue_with_entry(host);
  host.write(queue, kept);
  fetch_add(host, queue, gone);
  wire::Packet invalidate = host.packet(other, RoceOpcode::kRcSendOnlyInvalidate);
  invalidate.roce.invalidate_key = gone.id;
  host.receive(invalidate);
  ASSERT_TRUE(host.answer(AccessKind::kWrite));
  EXPECT_EQ(host.count(AccessKind::kAtomic), 0u);
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
  host.answer_all();
}

// A WRITE stays behind a SEND that waits for its receive entry; the segment may be gone when that comes.
TEST(RoceRevocation, AWriteThatWaitsIsRefused) {
  SlowHost host({});
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = queue_with_entry(host);
  host.send(queue, 64);
  host.write(queue, token);
  ASSERT_EQ(host.count(AccessKind::kWrite), 0u);
  ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, token).ok());
  ASSERT_TRUE(host.answer(AccessKind::kFetchReceiveEntry));
  EXPECT_EQ(host.count(AccessKind::kWrite), 1u);  // Of the SEND.
  host.answer_all();
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
}

// The buffers of receive entries are the program's again when it resets or destroys their queue pair.
TEST(RoceRevocation, AResetGivesReceiveBuffersBack) {
  for (const bool destroys : {false, true}) {
    SlowHost host({});
    const engine::QueueId queue = queue_with_entry(host);
    host.send(queue, 64);
    ASSERT_EQ(host.count(AccessKind::kFetchReceiveEntry), 1u);
    ASSERT_TRUE(
        (destroys ? host.engine->destroy_queue(kTimeZero, queue) : host.engine->reset(kTimeZero, queue))
            .ok());
    ASSERT_TRUE(host.answer(AccessKind::kFetchReceiveEntry));
    EXPECT_EQ(host.count(AccessKind::kWrite), 0u);
  }
}

}  // namespace
}  // namespace wharf::roce
