// SPDX-License-Identifier: Apache-2.0
// What a peer can do that speaks the protocol and means harm, or a program that takes away what a peer still
// uses: guessed tokens, answers about control packets, messages without end, queues that go in the middle.
#include <gtest/gtest.h>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_answers.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;
using wire::UetNackCode;
using wire::UetOpcode;
using wire::UetPdsType;

class HostilePeer : public ::testing::Test {
 protected:
  void start(UetConfig config = {}, test::EnginePairOptions options = {}) {
    world_ = std::make_unique<World>(config, options);
    world_->watch();
    hand.start = 1000;
    hand.payload = wire::pattern_payload(1, 0, 64);
  }
  void give(wire::UetPsn psn) {
    hand.psn = psn;
    world().pair().inject(1, hand.packet());
    // SYN ends when the other end is known.
    if (hand.dpdcid == 0) hand.dpdcid = world().engine(1).parts().pds.pdc(0).local_id;
  }
  std::size_t requests_sent(UetOpcode opcode) {
    std::size_t count = 0;
    for (const wire::Packet& packet : world().sent) {
      const wire::UetPrologue& prologue = packet.uet.prologue;
      if (wire::is_uet_pdc_request(prologue.type) && wire::is_uet_request_form(prologue.next) &&
          packet.uet.ses.opcode == opcode) {
        ++count;
      }
    }
    return count;
  }
  World& world() { return *world_; }

  HandMade hand;
  std::unique_ptr<World> world_;
};

TEST_F(HostilePeer, AGuessedTokenTakesNoReceive) {
  start();
  hand.opcode = UetOpcode::kDeferrableSend;
  hand.address = std::uint64_t{5} << 32U;
  give(1000);
  // The first token that a target hands out. Nobody has been asked to start again.
  hand.message_id = 2;
  hand.address = (std::uint64_t{6} << 32U) | 0x1'0001U;
  give(1001);
  EXPECT_EQ(requests_sent(UetOpcode::kDeferrableReadyToRestart), 0U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(64ULL * i, 64)),
              engine::PostStatus::kOk);
  }
  // Both were waiting, and each is asked for once.
  EXPECT_EQ(requests_sent(UetOpcode::kDeferrableReadyToRestart), 2U);
}

TEST_F(HostilePeer, AReceiveThatWaitsForARestartIsNotForAnotherHost) {
  test::EnginePairOptions options;
  options.hosts = 3;
  start({}, options);
  hand.opcode = UetOpcode::kDeferrableSend;
  hand.address = std::uint64_t{5} << 32U;
  give(1000);
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 64)),
            engine::PostStatus::kOk);
  ASSERT_EQ(requests_sent(UetOpcode::kDeferrableReadyToRestart), 1U);
  const wire::UetPsn mine = hand.psn + 1;
  const std::uint16_t pdc = hand.dpdcid;
  hand.dpdcid = 0;
  hand.psn = hand.start;
  hand.address |= 0x1'0001U;
  wire::Packet forged = hand.packet();
  forged.source = {2};
  world().pair().inject(1, forged);
  EXPECT_TRUE(world().completions(1).empty());
  // Who was asked is served.
  hand.dpdcid = pdc;
  give(mine);
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_EQ(world().completions(1)[0].remote_host, 0U);
}

TEST_F(HostilePeer, Uet_3_5_8_APdcIsForItsPeerAlone) {
  test::EnginePairOptions options;
  options.hosts = 3;
  start({}, options);
  give(1000);
  hand.psn = 1001;
  wire::Packet forged = hand.packet();
  forged.source = {2};
  world().sent.clear();
  world().pair().inject(1, forged);
  ASSERT_EQ(world().sent.size(), 1U);
  ASSERT_TRUE(wire::is_uet_nack(world().sent[0].uet.prologue.type));
  EXPECT_EQ(world().sent[0].uet.nack.code, UetNackCode::kPdcHeaderMismatch);
  EXPECT_EQ(world().sent[0].destination.number, 2U);
}

TEST_F(HostilePeer, Uet_3_5_8_NothingNewComesBehindTheClose) {
  start();
  give(1000);
  const std::uint16_t pdc = hand.dpdcid;
  const wire::Packet close = control_packet(0, wire::UetControlType::kCloseCommand, 1002, hand.spdcid, pdc, 0,
                                            wire::kUetAckRequested);
  world().pair().inject(1, close);  // Ahead of 1001, for which it waits.
  world().sent.clear();
  give(1003);
  ASSERT_EQ(world().sent.size(), 1U);
  ASSERT_TRUE(wire::is_uet_nack(world().sent[0].uet.prologue.type));
  EXPECT_EQ(world().sent[0].uet.nack.code, UetNackCode::kClosing);
  EXPECT_EQ(world().sent[0].uet.nack.psn, 1003U);
  EXPECT_EQ(world().sent[0].uet.nack.source_pdcid, pdc);
  EXPECT_FALSE(world().engine(1).parts().pds.pdc(0).rx.has(1003));
  give(1001);
  world().pair().inject(1, close);
  EXPECT_EQ(world().counters(1).pdcs_closed, 1U);
}

TEST_F(HostilePeer, Uet_3_5_8_OnlyTheInitiatorCloses) {
  UetConfig config;
  config.idle_timeout = kTimeZero;
  start(config);
  ASSERT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  const Pdc& source = world().engine(0).parts().pds.pdc(0);
  const Pdc& target = world().engine(1).parts().pds.pdc(0);
  world().sent.clear();
  world().pair().inject(0, control_packet(1, wire::UetControlType::kCloseCommand, source.rx.expected,
                                          target.local_id, source.local_id, 0, wire::kUetAckRequested));
  ASSERT_EQ(world().sent.size(), 1U);
  ASSERT_TRUE(wire::is_uet_nack(world().sent[0].uet.prologue.type));
  EXPECT_EQ(world().sent[0].uet.nack.code, UetNackCode::kUnexpectedEvent);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  EXPECT_EQ(world().counters(0).pdcs_opened, 1U) << "the PDC goes on";
}

TEST_F(HostilePeer, OnlyTheTargetRestartsADeferredSend) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 100;
  test::EnginePairOptions options;
  options.hosts = 3;
  start(config, options);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 1000)), engine::PostStatus::kOk);
  world().pass(microseconds(100));
  ASSERT_EQ(world().counters(0).messages_deferred, 1U);
  const std::uint32_t token = world().engine(0).parts().outbound[0].generation << 16U;
  hand.opcode = UetOpcode::kDeferrableReadyToRestart;
  hand.key = wire::uet_tokens(token, 7);
  hand.psn = 1000;
  hand.payload = {};
  wire::Packet forged = hand.packet();
  forged.source = {2};
  forged.destination = {0};
  world().pair().inject(0, forged);
  EXPECT_EQ(world().counters(0).messages_retried, 0U);
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 1000)),
            engine::PostStatus::kOk);
  world().pass(milliseconds(1));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
}

TEST_F(HostilePeer, AControlPacketThatASackAndANackNameIsSentAgain) {
  start();
  world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  const Pdc& source = world().engine(0).parts().pds.pdc(0);
  const Pdc& target = world().engine(1).parts().pds.pdc(0);
  wire::Packet packet = acknowledgement_of(world(), source.tx.start);
  packet.uet.prologue.flags = wire::uet_request_flags(wire::UetAckRequest::kClose);
  world().pair().inject(0, packet);
  ASSERT_EQ(source.state, PdcState::kCloseAckWait);
  packet.uet.prologue.flags = 0;
  packet.uet.ack_congestion.sack_psn_offset = 1;
  packet.uet.ack_congestion.sack_bitmap = 1;  // The CLOSE_CMD.
  world().pair().inject(0, packet);
  for (const UetNackCode code : {UetNackCode::kPacketNotReceived, UetNackCode::kAckWithData,
                                 UetNackCode::kTrimmed, UetNackCode::kNoResource})
    world().pair().inject(0, refusal_of(world(), code, source.close_psn, target.local_id));
  world().lose = nullptr;
  world().run();
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
  EXPECT_EQ(world().counters(1).pdcs_closed, 1U);
}

// The answer to a read takes numbers behind CLOSE_CMD; who answers that has not waited for it.
TEST_F(HostilePeer, AReadBehindTheCloseHoldsNothing) {
  start();
  world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  const EngineParts& parts = world().engine(0).parts();
  const Pdc& source = parts.pds.pdc(0);
  const Pdc& target = world().engine(1).parts().pds.pdc(0);
  wire::Packet packet = acknowledgement_of(world(), source.tx.start);
  packet.uet.prologue.flags = wire::uet_request_flags(wire::UetAckRequest::kClose);
  world().pair().inject(0, packet);
  ASSERT_EQ(source.state, PdcState::kCloseAckWait);
  hand.source = 1;
  hand.spdcid = target.local_id;
  hand.dpdcid = source.local_id;
  hand.psn = target.tx.start;
  hand.opcode = UetOpcode::kRead;
  hand.payload = {};
  hand.request_length = 60'000;
  hand.key = key_of(world().token(0));
  hand.address = World::kLocal;
  world().pair().inject(0, hand.packet());
  world().pass(nanoseconds(200));
  ASSERT_GT(parts.outbound.in_use(), 0U);
  packet = acknowledgement_of(world(), source.close_psn);
  packet.uet.prologue.flags = 0;
  world().pair().inject(0, packet);
  EXPECT_EQ(source.state, PdcState::kClosed);
  world().pass(milliseconds(1));
  EXPECT_EQ(parts.outbound.in_use(), 0U);
  EXPECT_EQ(parts.cms[source.ccc].in_flight, 0U);
  EXPECT_TRUE(world().engine(0).forget_host(world().now(), {1}).ok());
}

TEST_F(HostilePeer, Uet_3_5_8_LatePacketsForAnEarlierPdcDoNotNameThePeer) {
  start();
  world().lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(nanoseconds(100));
  const Pdc& pdc = world().engine(0).parts().pds.pdc(0);
  constexpr std::uint16_t kEarlier = 0x8099;
  const wire::UetPsn elsewhere = pdc.tx.start + 0x10'0000;
  wire::Packet late = wire::uet_packet();
  late.source = {1};
  late.destination = {0};
  wire::UetAck& ack = wire::use_ack(late.uet);
  ack.source_pdcid = kEarlier;
  ack.destination_pdcid = pdc.local_id;
  ack.cumulative_psn = elsewhere;
  world().pair().inject(0, late);
  for (const wire::UetControlType type :
       {wire::UetControlType::kClearRequest, wire::UetControlType::kCloseRequest,
        wire::UetControlType::kCredit, wire::UetControlType::kNoop}) {
    world().pair().inject(0, control_packet(1, type, elsewhere, kEarlier, pdc.local_id));
  }
  EXPECT_FALSE(pdc.peer_known);
  EXPECT_EQ(pdc.state, PdcState::kCreating);
  EXPECT_TRUE(world().sent_of(UetPdsType::kControl).empty());
}

TEST_F(HostilePeer, Uet_3_5_11_ACommandToClearWhatHasNotComeIsIgnored) {
  start();
  hand.opcode = UetOpcode::kRead;
  hand.payload = {};
  hand.request_length = 8;
  hand.key = (std::uint64_t{world().token(1).value} << 32U) | world().token(1).id;
  hand.address = World::kRemote;
  give(1000);
  const Pds& pds = world().engine(1).parts().pds;
  ASSERT_EQ(pds.stored_responses(), 1U);
  const auto clear = [&](wire::UetPsn psn) {
    world().pair().inject(
        1, control_packet(0, wire::UetControlType::kClearCommand, 0, hand.spdcid, hand.dpdcid, psn));
  };
  clear(1001 + 0x10'0000);
  EXPECT_EQ(pds.stored_responses(), 1U);
  clear(1000);
  EXPECT_EQ(pds.stored_responses(), 0U);
}

TEST_F(HostilePeer, AQueueThatGoesWhileAMessageFillsItsReceive) {
  for (const bool rendezvous : {false, true}) {
    UetConfig config;
    config.payload_mtu = 256;
    config.controller = congestion::ConstantWindowConfig{.packets = 1};
    config.large_send = rendezvous ? LargeSend::kRendezvous : LargeSend::kEager;
    config.large_send_bytes = 1000;
    start(config);
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 64000)),
              engine::PostStatus::kOk);
    ASSERT_EQ(world().post(world().request(Verb::kSend, 64000)), engine::PostStatus::kOk);
    while (world().pair().memory(1).count(engine::AccessKind::kWrite) < 3) world().pass(nanoseconds(100));
    ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
    const auto writes = world().pair().memory(1).count(engine::AccessKind::kWrite);
    world().pass(milliseconds(100));
    EXPECT_LE(world().pair().memory(1).count(engine::AccessKind::kWrite), writes + 1);
    EXPECT_TRUE(world().completions(1).empty());
    ASSERT_EQ(world().completions(0).size(), 1U);
    // A rendezvous was answered when it matched: only its remainder was dropped.
    EXPECT_EQ(world().completions(0)[0].ok(), rendezvous);
    EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
  }
}

TEST_F(HostilePeer, AQueueThatGoesWhileAnAtomicWorksOnItsReceive) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(5);
  start({}, options);
  for (std::uint32_t i = 0; i < 2; ++i) {
    verbs::ReceiveRequest receive = world().receive(0, 64);  // Both the same bytes: the second waits.
    receive.tagged = true;
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), receive), engine::PostStatus::kOk);
  }
  hand.opcode = UetOpcode::kTaggedSendAtomic;
  hand.payload = wire::pattern_payload(1, 0, 16);
  for (std::uint32_t i = 0; i < 2; ++i) {
    hand.message_id = static_cast<std::uint16_t>(i + 1);
    hand.psn = 1000 + i;
    wire::Packet packet = hand.packet();
    packet.uet.atomic.opcode = wire::UetAtomicOpcode::kMax;
    packet.uet.atomic.datatype = wire::UetDatatype::kUint64;
    world().pair().inject(1, packet);
  }
  while (world().engine(1).parts().accesses.unanswered() == 0) world().pass(nanoseconds(100));
  ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
  world().pass(milliseconds(1));
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kRead), 1U);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 0U);
  EXPECT_EQ(
      world().counters(1).refused_return_code[static_cast<std::uint8_t>(wire::UetReturnCode::kCancelled)],
      2U);
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
}

TEST_F(HostilePeer, AnswersThatMayNotLeaveAreBounded) {
  wire::PayloadPool pool;
  Arena arena;
  UetConfig config;
  config.host = {1};
  UetEngine engine = std::move(UetEngine::create(config, pool, arena).value());
  hand.dpdcid = 9;  // No such PDC: each packet is worth a NACK.
  hand.payload = wire::pattern_payload(1, 0, 64);
  const wire::Packet packet = hand.packet();
  constexpr std::uint64_t kPackets = 66'000;
  for (std::uint64_t i = 0; i < kPackets; ++i) engine.receive(kTimeZero, 0, packet);
  wire::Packet out;
  std::uint64_t left = 0;
  while (engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, out)) ++left;
  EXPECT_EQ(left, 65'536U);
  EXPECT_EQ(engine.counters().dropped_no_room, kPackets - left);
}

TEST_F(HostilePeer, MessagesWithoutEndAreBounded) {
  UetConfig config;
  config.default_mpr = 1;
  config.inbound_messages = 8;
  config.ack_trigger_bytes = 1;
  start(config);
  hand.opcode = UetOpcode::kSend;
  hand.ses_flags = wire::kUetSom | wire::kUetRelative;
  hand.request_length = 1'000'000;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    hand.message_id = static_cast<std::uint16_t>(i + 1);
    give(1000 + i);
  }
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 8U + 128);
}

TEST_F(HostilePeer, PayloadsWithoutTheirFirstPacketAreBounded) {
  UetConfig config;
  config.default_mpr = 1;
  config.held_packets = 8;
  start(config);
  hand.opcode = UetOpcode::kSend;
  hand.ses_flags = wire::kUetRelative;
  hand.request_length = 1'000'000;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    hand.message_id = static_cast<std::uint16_t>(1 + i % 2);
    hand.message_offset = 64 * i;
    give(1000 + i);
  }
  EXPECT_EQ(world().engine(1).parts().held.in_use(), 8U + 128);
}

TEST_F(HostilePeer, ARefusedIdempotentMessageEndsOnceThoughNotAllOfItWasSent) {
  UetConfig config;
  config.rudi_window = 1;
  start(config);
  verbs::WorkRequest request = world().request(Verb::kWrite, 3 * config.payload_mtu);
  request.delivery = verbs::Delivery::kIdempotent;  // The region is not for RUDI.
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  world().run();
  EXPECT_EQ(world().completions(0).size(), 2U);
  EXPECT_EQ(world().engine(0).parts().outbound.in_use(), 0U);
}

}  // namespace
}  // namespace wharf::uet
