// SPDX-License-Identifier: Apache-2.0
// Peers that die, come back as others or lie: what waits for them ends, and what they left is in nobody's
// way.
#include <gtest/gtest.h>

#include <vector>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Verb;

UetConfig quick() {
  UetConfig config;
  config.rto_init = microseconds(100);
  config.rto_cap = milliseconds(10);
  config.max_rto_retries = 4;
  config.idle_timeout = kTimeZero;
  return config;
}
/// All tries of one packet under quick().
constexpr TimePs kAllTries = microseconds(100 * (1 + 2 + 4 + 8 + 16));

/// A late packet of an earlier life of host 0 that opens a PDC at host 1.
wire::Packet late_opening(const wire::Packet& opening) {
  wire::Packet late = opening;
  late.uet.request.psn += 0x40'0000;
  return late;
}

// Whatever a late packet has opened keeps its name: a PDC of that name is refused [UE 1.0 3.5.12,
// INVALID_SYN], and its messages go again on one of another name.
TEST(UnreliablePeers, NamesThatALatePacketHasTakenAreLeftAside) {
  World first;
  first.watch();
  ASSERT_EQ(first.post(first.request(Verb::kWrite, 64)), PostStatus::kOk);
  first.pass(microseconds(20));
  const std::vector<wire::Packet> openings = first.sent_of(wire::UetPdsType::kRudRequest);
  ASSERT_FALSE(openings.empty());
  ASSERT_TRUE(openings[0].uet.prologue.syn());
  wire::Packet late = late_opening(openings[0]);
  late.payload = {};
  late.uet.ses.opcode = wire::UetOpcode::kNoOp;

  World world;
  world.pair().inject(1, late);
  ASSERT_EQ(world.counters(1).pdcs_accepted, 1u);
  verbs::WorkRequest add = world.request(Verb::kFetchAdd, 8);
  add.operand[0] = 1;
  ASSERT_EQ(world.post(add), PostStatus::kOk);
  world.pass(milliseconds(10));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(world.counters(0).pdcs_opened, 2u);
  EXPECT_EQ(world.counters(0).pdcs_failed, 1u);
}

// Packets that take turns in a window of one do not add up their tries: the peer is silent for all of them.
TEST(UnreliablePeers, ASilentPeerIsGivenUpHoweverManyPacketsTakeTurns) {
  UetConfig config = quick();
  config.payload_mtu = 256;
  config.congestion = CongestionControl::kSender;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  World world(config);
  world.watch();
  world.lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 4096)), PostStatus::kOk);
  // The silence is looked at when a packet expires.
  world.pass(kAllTries + microseconds(1700));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kRetryExhausted);
}

// Nothing is outstanding once a read is acknowledged: without a question, nobody would learn that the target
// is gone.
TEST(UnreliablePeers, AReadWhoseTargetDiesBeforeItsDataEnds) {
  World world(quick());
  world.watch();
  // The request is acknowledged, and then the target is gone.
  world.lose = [](const wire::Packet& packet) {
    const wire::UetPdsType type = packet.uet.prologue.type;
    return packet.source.number == 1 && type != wire::UetPdsType::kAck && type != wire::UetPdsType::kAckCc;
  };
  ASSERT_EQ(world.post(world.request(Verb::kRead, 4096)), PostStatus::kOk);
  world.pass(microseconds(50));
  world.pair().host(1).plugged = false;
  world.pass(kAllTries + milliseconds(4));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kRetryExhausted);
}

// What is stored for an initiator that is gone has to end, or it would hold its place among all peers' for
// ever.
TEST(UnreliablePeers, ResponsesThatNobodyClearsEndWithTheirPdc) {
  World world(quick());
  ASSERT_EQ(world.post(world.request(Verb::kFetchAdd, 8)), PostStatus::kOk);
  EXPECT_EQ(world.pair().run_until([&world] { return world.counters(1).packets_received == 1; }),
            test::RunEnd::kDone);
  world.pair().host(0).plugged = false;
  EXPECT_GT(world.pair().pool().in_use(), 0u);
  world.pass(milliseconds(60));
  EXPECT_GT(world.counters(1).clear_requests_sent, 1u);
  EXPECT_EQ(world.counters(1).pdcs_failed, 0u);
  world.pass(milliseconds(60));
  EXPECT_EQ(world.counters(1).pdcs_failed, 1u);
  EXPECT_EQ(world.engine(1).deadline(), kNever);
}

// A whole message without a receive is of nobody once its host is forgotten: the next of that number has not
// sent it.
TEST(UnreliablePeers, MessagesThatWaitForAReceiveAreForgottenWithTheirHost) {
  World world;
  ASSERT_EQ(world.post(world.request(Verb::kSend, 64)), PostStatus::kOk);
  world.pass(microseconds(50));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_GT(world.pair().pool().in_use(), 0u);
  ASSERT_TRUE(world.engine(1).forget_host(world.now(), {0}).ok());
  ASSERT_TRUE(world.engine(0).forget_host(world.now(), {1}).ok());
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 64)), PostStatus::kOk);
  world.pass(microseconds(50));
  EXPECT_TRUE(world.completions(1).empty());
}

// An answer to a probe names no PSN: a late one must not tell a new PDC who its peer is.
TEST(UnreliablePeers, ALateAnswerToAProbeNamesNoPeer) {
  World world;
  world.watch();
  world.lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 64)), PostStatus::kOk);
  world.pass(microseconds(20));
  ASSERT_FALSE(world.sent.empty());
  wire::Packet late;
  late.source = {1};
  late.destination = {0};
  late.protocol = wire::Protocol::kUet;
  late.uet.prologue.type = wire::UetPdsType::kAckCc;
  late.uet.prologue.flags = wire::kUetProbeAnswer;
  late.uet.ack.source_pdcid = 0x7777;
  late.uet.ack.destination_pdcid = world.sent[0].uet.request.source_pdcid;
  late.uet.ack.cumulative_psn = 77;
  world.pair().inject(0, late);
  EXPECT_EQ(world.counters(0).dropped_acknowledgement, 1u);
  world.lose = nullptr;
  world.pass(milliseconds(10));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace wharf::uet
