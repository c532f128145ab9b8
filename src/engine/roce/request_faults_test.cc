// SPDX-License-Identifier: Apache-2.0
// Requests that fail at either end: who is told what, what becomes of those around them, and what the
// interface still does for a queue pair that is in the error state.
#include "engine/roce/slow_host_test_support.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using engine::AccessStatus;
using engine::PostStatus;
using test::AccessKind;
using test::kBase;
using test::RoceOpcode;
using test::SlowHost;
using verbs::CompletionStatus;
using verbs::Verb;
using wharf::test::RocePair;

constexpr std::uint64_t kUnmapped = 0x10;

RoceConfig small_packets() {
  RoceConfig config;
  config.path_mtu = 256;
  config.starting_psn = 100;
  return config;
}

std::vector<CompletionStatus> statuses(const std::vector<verbs::Completion>& completions) {
  std::vector<CompletionStatus> some;
  for (const verbs::Completion& each : completions) some.push_back(each.status);
  return some;
}
std::vector<CompletionStatus> statuses(SlowHost& host, engine::QueueId queue) {
  std::vector<CompletionStatus> some;
  verbs::Completion completion;
  while (host.engine->poll(queue, completion)) some.push_back(completion.status);
  return some;
}

/// Answers the oldest access, a write; the packets that leave then.
std::vector<wire::Packet> listen(SlowHost& host, AccessStatus status) {
  const engine::Access access = host.pending.front();
  host.pending.pop_front();
  EXPECT_EQ(access.kind, AccessKind::kWrite);
  engine::AccessResult result;
  result.status = status;
  host.engine->access_done(kTimeZero, access.id, result);
  std::vector<wire::Packet> packets;
  wire::Packet packet;
  while (host.engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet)) packets.push_back(packet);
  host.drain();
  return packets;
}

/// A queue pair whose receive entries, `count` of 1 KiB, have to be fetched.
engine::QueueId queue_with_entries(SlowHost& host, int count) {
  const engine::QueueId queue = host.add_queue({.send_depth = 4, .receive_depth = 4, .receive_ring = 0x8000});
  verbs::ReceiveRequest receive;
  receive.local_count = 1;
  receive.local[0] = {kBase, 1024};
  for (int each = 0; each < count; ++each)
    EXPECT_EQ(host.engine->post_receive(kTimeZero, queue, receive), PostStatus::kOk);
  return queue;
}

wire::Packet read_of(SlowHost& host, engine::QueueId queue, verbs::SegmentToken token, std::uint32_t length) {
  wire::Packet read = host.packet(queue, RoceOpcode::kRcReadRequest);
  read.roce.reth = {kBase, token.id, length};
  host.psn[queue] += (length + 255) / 256 - 1;
  return read;
}

// --- Which request is at fault ---

// IBTA vol 1 9.7.5.1.1: a NAK acknowledges what comes before its PSN, whichever fault memory told of first.
TEST(RoceRequestFaults, ANakNamesTheFirstPacketThatFailed) {
  SlowHost host({});
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.write(queue, token);
  host.write(queue, token);
  ASSERT_EQ(host.count(AccessKind::kWrite), 2u);
  std::swap(host.pending[0], host.pending[1]);
  EXPECT_TRUE(listen(host, AccessStatus::kFault).empty());
  const std::vector<wire::Packet> answers = listen(host, AccessStatus::kFault);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].roce.ack.aeth.syndrome, wire::nak_syndrome(wire::NakCode::kRemoteOperation));
  EXPECT_EQ(answers[0].roce.bth.psn, test::kTheirPsn);
}

// The same of WRITEs whose keys go while they wait, the last one first.
TEST(RoceRequestFaults, ANakNamesTheFirstPacketWhoseKeyIsGone) {
  SlowHost host({});
  const verbs::SegmentToken first = host.add_segment();
  const verbs::SegmentToken second = host.add_segment();
  const engine::QueueId queue = queue_with_entries(host, 1);
  host.send(queue, 64);
  host.write(queue, first);
  host.write(queue, second);
  ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, second).ok());
  ASSERT_TRUE(host.engine->deregister_segment(kTimeZero, first).ok());
  ASSERT_TRUE(host.answer(AccessKind::kFetchReceiveEntry));
  const std::vector<wire::Packet> answers = listen(host, AccessStatus::kDone);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].roce.bth.psn, wire::psn_add(test::kTheirPsn, 1));
  host.answer_all();
}

// --- Send with Invalidate ---

// IBTA vol 1 9.5: WRITEs that came before it on its queue pair are carried out first.
TEST(RoceRequestFaults, AnInvalidateSparesTheWritesBeforeIt) {
  SlowHost host({});
  const verbs::SegmentToken key = host.add_segment();
  const engine::QueueId queue = queue_with_entries(host, 2);
  host.send(queue, 64);
  host.write(queue, key);
  wire::Packet invalidate = host.packet(queue, RoceOpcode::kRcSendOnlyInvalidate);
  invalidate.payload = wire::pattern_payload(1, 0, 64);
  invalidate.roce.invalidate_key = key.id;
  host.receive(invalidate);
  ASSERT_EQ(host.count(AccessKind::kWrite), 0u);
  while (host.answer(AccessKind::kFetchReceiveEntry)) {
  }
  EXPECT_EQ(host.count(AccessKind::kWrite), 3u);
  host.answer_all();
  EXPECT_EQ(host.engine->counters().naks_sent, 0u);
  EXPECT_EQ(host.engine->state(queue), QueueState::kReadyToSend);
  EXPECT_EQ(statuses(host, queue), std::vector(2, CompletionStatus::kSuccess));
  host.write(queue, key);
  host.answer_all();
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
}

}  // namespace
}  // namespace wharf::roce
