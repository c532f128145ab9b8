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
using test::statuses;
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

// --- Results that find no memory at the requester ---

// IBTA vol 1 10.3.1, 10.8.7: it completes with its error and the queue pair goes to the error state.
TEST(RoceRequestFaults, AResultThatFindsNoMemoryEndsTheQueuePair) {
  for (const int piece : {0, 1, 2, 3}) {
    SCOPED_TRACE(piece);
    RocePair world(small_packets());
    verbs::WorkRequest request = world.request(piece == 2 ? Verb::kFetchAdd : Verb::kRead, 0, 0, 8);
    request.local[0].address = kUnmapped;
    if (piece == 1) {
      request = world.request(Verb::kRead, 0, 0, 600);
      request.local_count = 2;
      request.local[0].length = 300;
      request.local[1] = {kUnmapped, 300};
    }
    request.signaled = piece != 3;
    ASSERT_EQ(world.pair.post(0, 0, request), PostStatus::kOk);
    ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
    world.pair.run_until_idle();
    std::vector<CompletionStatus> expected{CompletionStatus::kLocalAccess, CompletionStatus::kFlushed};
    if (piece == 3) expected.erase(expected.begin());  // Complete, and nobody asked, before memory said so.
    EXPECT_EQ(statuses(world.completions(0)), expected);
    EXPECT_EQ(world.pair.engine(0).state(0), QueueState::kError);
    ASSERT_EQ(world.pair.host(0).events.size(), 1u);
    EXPECT_EQ(world.pair.host(0).events[0].kind, engine::AsyncEventKind::kQueueError);
    EXPECT_EQ(world.pair.pool().in_use(), 0u);
  }
}

/// A host that has asked its peer for `length` bytes.
engine::QueueId reading(SlowHost& host, std::uint32_t length) {
  const engine::QueueId queue = host.add_queue();
  verbs::WorkRequest read;
  read.verb = Verb::kRead;
  read.length = length;
  read.local_count = 1;
  read.local[0] = {kBase, length};
  read.remote = {kBase, {77, 0}};
  EXPECT_EQ(host.engine->post(kTimeZero, queue, read, engine::Submission::kInHand), PostStatus::kOk);
  host.drain();
  EXPECT_EQ(host.sent, 1u);
  return queue;
}

TEST(RoceRequestFaults, AResultOfAnEarlierConnectionEndsNothing) {
  SlowHost host(small_packets());
  const engine::QueueId queue = reading(host, 64);
  wire::Packet data = host.packet(queue, RoceOpcode::kRcReadResponseOnly);
  data.roce.bth.psn = 100;
  data.roce.ack.aeth.syndrome = wire::kAckUnlimited;
  data.payload = wire::pattern_payload(1, 0, 64);
  host.receive(data);
  ASSERT_EQ(host.count(AccessKind::kWrite), 1u);
  host.reset(queue);
  ASSERT_TRUE(host.answer(AccessKind::kWrite, AccessStatus::kFault));
  host.answer_all();
  EXPECT_EQ(host.engine->state(queue), QueueState::kReadyToSend);
  EXPECT_EQ(statuses(host, queue), std::vector{CompletionStatus::kLocalAccess});
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

// --- Lengths ---

// A READ takes as many PSNs as its answer has packets of the MTU that both ends agreed on.
TEST(RoceRequestFaults, AReadOfTooManyPacketsIsRefusedAtPost) {
  RoceConfig large;
  large.path_mtu = 4096;
  RocePair world(large, small_packets(), {});
  verbs::WorkRequest read = world.request(Verb::kRead, 0, 0, (1U << 30U) + 1);
  EXPECT_EQ(world.pair.post(0, 0, read), PostStatus::kBadRequest);
  EXPECT_EQ(world.pair.engine(0).state(0), QueueState::kReadyToSend);
  read.length = read.local[0].length = 1U << 30U;
  EXPECT_EQ(world.pair.post(0, 0, read), PostStatus::kOk);
}

// IBTA vol 1 9.9.2.4: READ data of more than the path MTU is a bad response.
TEST(RoceRequestFaults, ReadDataAboveThePathMtuIsBad) {
  SlowHost host(small_packets());
  const engine::QueueId queue = reading(host, 300);
  wire::Packet data = host.packet(queue, RoceOpcode::kRcReadResponseFirst);
  data.roce.bth.psn = 100;
  data.roce.ack.aeth.syndrome = wire::kAckUnlimited;
  data.payload = wire::pattern_payload(1, 0, 257);
  host.receive(data);
  host.answer_all();
  EXPECT_EQ(statuses(host, queue), std::vector{CompletionStatus::kResponseLength});
}

TEST(RoceRequestFaults, APeerThatServesNoReadsIsRefused) {
  ExchangeRecord peer;
  peer.queue_number = kFirstQueueNumber;
  peer.path_mtu = 256;
  peer.responder_resources = 1;
  EXPECT_TRUE(decode_exchange(encode(peer)).ok());
  peer.responder_resources = 0;
  EXPECT_FALSE(decode_exchange(encode(peer)).ok());
}

// --- The receive entry at fault ---

// IBTA vol 1 9.9.3: it says what was wrong, also of a message of several packets, and that it was too small.
TEST(RoceRequestFaults, TheReceiveEntryAtFaultSaysSo) {
  struct Case {
    std::uint64_t address;
    std::uint32_t room;
    std::uint32_t length;
    CompletionStatus status;
  };
  for (const Case& each : {Case{kUnmapped, 64, 64, CompletionStatus::kLocalAccess},
                           {kUnmapped, 600, 600, CompletionStatus::kLocalAccess},
                           {kBase, 63, 64, CompletionStatus::kLocalLength},
                           {kBase, 300, 600, CompletionStatus::kLocalLength}}) {
    SCOPED_TRACE(each.length);
    RocePair world(small_packets());
    verbs::ReceiveRequest receive = world.receive(0, each.room);
    receive.local[0].address = each.address;
    ASSERT_EQ(world.pair.post_receive(1, 0, receive), PostStatus::kOk);
    ASSERT_EQ(world.pair.post_receive(1, 0, world.receive(0, 64)), PostStatus::kOk);
    world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, each.length));
    world.pair.run_until_idle();
    EXPECT_EQ(statuses(world.completions(1)), (std::vector{each.status, CompletionStatus::kFlushed}));
    EXPECT_EQ(world.pair.engine(1).state(0), QueueState::kError);
  }
}

// A message may end while its refusal waits for the rest of its data.
TEST(RoceRequestFaults, AMessageThatEndsAfterItsFaultIsNoSuccess) {
  SlowHost host({});
  const engine::QueueId queue = queue_with_entries(host, 1);
  const auto send = [&](RoceOpcode opcode, std::uint32_t length) {
    wire::Packet packet = host.packet(queue, opcode);
    packet.payload = wire::pattern_payload(1, 0, length);
    host.receive(packet);
  };
  send(RoceOpcode::kRcSendFirst, 256);
  ASSERT_TRUE(host.answer(AccessKind::kFetchReceiveEntry));
  send(RoceOpcode::kRcSendMiddle, 256);
  ASSERT_TRUE(host.answer(AccessKind::kWrite, AccessStatus::kFault));
  send(RoceOpcode::kRcSendLast, 64);
  host.answer_all();
  EXPECT_EQ(statuses(host, queue), std::vector{CompletionStatus::kLocalAccess});
  EXPECT_EQ(host.engine->state(queue), QueueState::kError);
}

// --- The error state ---

// IBTA vol 1 10.3.1: memory is not read for the peer any more.
TEST(RoceRequestFaults, AFailedQueuePairReadsNoMoreForItsPeer) {
  RoceConfig config;
  config.transmit_ahead = 4;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.receive(read_of(host, queue, token, 2560));
  ASSERT_EQ(host.count(AccessKind::kRead), 4u);
  ASSERT_TRUE(host.engine->fail_queue(kTimeZero, queue).ok());
  for (int each = 0; each < 4; ++each) ASSERT_TRUE(host.answer(AccessKind::kRead));
  EXPECT_EQ(host.count(AccessKind::kRead), 0u);
  host.answer_all();
  EXPECT_EQ(host.sent, 0u);
}

TEST(RoceRequestFaults, AFailedQueuePairBeginsNoAtomic) {
  SlowHost host({});
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.write(queue, token);
  wire::Packet add = host.packet(queue, RoceOpcode::kRcFetchAdd);
  add.roce.atomic = {kBase, 1, 0, token.id};
  host.receive(add);
  ASSERT_TRUE(host.engine->fail_queue(kTimeZero, queue).ok());
  ASSERT_TRUE(host.answer(AccessKind::kWrite));
  EXPECT_EQ(host.count(AccessKind::kAtomic), 0u);
  // A new connection serves both again.
  host.reset(queue);
  add.roce.bth.psn = test::kTheirPsn;
  host.receive(add);
  EXPECT_EQ(host.count(AccessKind::kAtomic), 1u);
  host.answer_all();
}

// What stands in front of a NAK still leaves: else the peer would not know what the NAK says of it.
TEST(RoceRequestFaults, DataInFrontOfANakStillLeaves) {
  RoceConfig config;
  config.transmit_ahead = 4;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.receive(read_of(host, queue, token, 2560));
  host.write(queue, {token.id + 1, 0});
  EXPECT_EQ(host.engine->state(queue), QueueState::kError);
  host.answer_all();
  EXPECT_EQ(host.sent, 11u);
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
}

// Packets that wait for the record of their queue pair find the error state behind one that is refused.
TEST(RoceRequestFaults, NothingIsServedBehindARefusedPacketThatWaited) {
  RoceConfig config;
  config.queue_cache_entries = 1;
  SlowHost host(config);
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  host.add_queue();
  host.answer_all();
  host.receive(host.packet(queue, RoceOpcode::kRcAtomicWrite));
  host.write(queue, token);
  ASSERT_EQ(host.count(AccessKind::kFetchContext), 1u);
  host.answer_all();
  EXPECT_EQ(host.engine->state(queue), QueueState::kError);
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
  EXPECT_EQ(host.engine->counters().dropped_not_ready, 1u);
}

// --- Sequence NAKs and receives ---

// IBTA vol 1 9.7.5.1.2: silence ends when the expected packet comes, also when it finds no receive.
TEST(RoceRequestFaults, APacketThatFindsNoReceiveEndsTheSilence) {
  SlowHost host({});
  const verbs::SegmentToken token = host.add_segment();
  const engine::QueueId queue = host.add_queue();
  const wire::Packet expected = host.packet(queue, RoceOpcode::kRcSendOnly);
  wire::Packet later = host.packet(queue, RoceOpcode::kRcWriteOnly);
  later.roce.reth = {kBase, token.id, 0};
  host.receive(later);
  EXPECT_EQ(host.engine->counters().naks_sent, 1u);
  host.receive(expected);
  EXPECT_EQ(host.engine->counters().rnr_naks_sent, 1u);
  host.receive(later);
  EXPECT_EQ(host.engine->counters().naks_sent, 2u);
  host.receive(later);
  EXPECT_EQ(host.engine->counters().naks_sent, 2u);
}

TEST(RoceRequestFaults, ADisconnectFlushesReceivesWithoutAPeer) {
  SlowHost host({});
  const engine::QueueId queue = host.engine->create_queue(kTimeZero, {}).value();
  ASSERT_EQ(host.engine->post_receive(kTimeZero, queue, {}), PostStatus::kOk);
  ASSERT_TRUE(host.engine->disconnect(kTimeZero, queue, queue).ok());
  host.answer_all();
  EXPECT_EQ(statuses(host, queue), std::vector{CompletionStatus::kFlushed});
  engine::AsyncEvent event;
  EXPECT_FALSE(host.engine->poll_event(event));
}

}  // namespace
}  // namespace wharf::roce
