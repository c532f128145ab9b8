// SPDX-License-Identifier: Apache-2.0
// Rules of UE 1.0 that lie between the sublayers, or that nothing else needs: secured packets, trimmed
// acknowledgements, mpr, close requests on ACKs, tail probes, what a fatal NACK repeats.
#include <set>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_answers.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::CompletionStatus;
using verbs::Delivery;
using verbs::Verb;
using wire::UetNackCode;
using wire::UetPdsType;
using wire::UetReturnCode;

class Rule : public ::testing::Test {
 protected:
  void start(UetConfig config = {}) {
    world_ = std::make_unique<World>(config);
    world_->watch();
  }
  /// A write of host 0 of which only the first packet arrives; host 1's answers are lost.
  void open_silently(UetConfig config = {}) {
    start(config);
    world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
    ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
    world().pass(microseconds(1));
    ASSERT_FALSE(world().sent.empty());
  }
  /// An ACK_CC of host 1 for PSN `psn` of the PDC that host 0 opened, CACK included.
  wire::Packet acknowledgement(wire::UetPsn cumulative) { return acknowledgement_of(world(), cumulative); }
  wire::Packet refusal(UetNackCode code, wire::UetPsn psn, std::uint16_t source_pdcid = 0) {
    return refusal_of(world(), code, psn, source_pdcid);
  }
  const Pdc& source_pdc(std::uint32_t index = 0) { return world().engine(0).parts().pds.pdc(index); }
  const congestion::NsccSender& nscc() {
    return *world().engine(0).parts().cms[0].controller.as<congestion::NsccSender>();
  }
  World& world() { return *world_; }

  std::unique_ptr<World> world_;
};

TEST_F(Rule, Uet_3_7_SecuredPacketsAreCountedAndDropped) {
  start();
  wire::Packet packet = wire::uet_packet();
  packet.source = {0};
  packet.destination = {1};
  packet.uet.prologue.type = UetPdsType::kTss;
  world().pair().inject(1, packet);
  EXPECT_EQ(world().counters(1).dropped_secured, 1U);
  EXPECT_TRUE(world().sent.empty());
  EXPECT_EQ(world().engine(1).parts().pds.pdc_count(), 0U);
}

TEST_F(Rule, Uet_4_1_TrimmedAcknowledgementCausesNothing) {
  open_silently();
  wire::Packet trimmed = acknowledgement(source_pdc().tx.next - 1);
  trimmed.trim = wire::TrimState::kTrimmed;
  const auto sent = world().sent.size();
  world().pair().inject(0, trimmed);
  EXPECT_EQ(world().counters(0).dropped_trimmed, 1U);
  EXPECT_EQ(source_pdc().tx.outstanding(), 1U);
  EXPECT_EQ(world().sent.size(), sent);
  // The RTO asks again, and the answer counts.
  world().lose = nullptr;
  world().run();
  EXPECT_EQ(world().completions(0).size(), 1U);
}

TEST_F(Rule, Uet_3_5_11_APdcClosesHalfTheRangeAfterItsStart) {
  UetConfig config;
  config.idle_timeout = kTimeZero;
  start(config);
  ASSERT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  // Nobody sends 2^31 packets here: the start is moved back instead.
  const_cast<Pdc&>(source_pdc()).tx.start -= (1U << 31U) - 8;
  ASSERT_TRUE(world().finish(world().request(Verb::kWrite, 16 * 4096)).ok());
  EXPECT_EQ(world().counters(0).timeouts, 0U);
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
  ASSERT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  EXPECT_EQ(world().counters(0).pdcs_opened, 2U);
}

TEST_F(Rule, Uet_3_5_OrderedPacketsKeepTheirPath) {
  for (const bool ordered : {true, false}) {
    UetConfig config;
    config.payload_mtu = 256;
    start(config);
    verbs::WorkRequest request = world().request(Verb::kWrite, 8192);
    request.delivery = ordered ? Delivery::kOrdered : Delivery::kUnordered;
    EXPECT_TRUE(world().finish(request).ok());
    std::set<std::uint16_t> paths;
    for (const wire::Packet& packet : world().sent) {
      if (wire::is_uet_pdc_request(packet.uet.prologue.type)) paths.insert(packet.entropy);
    }
    if (ordered) {
      EXPECT_EQ(paths.size(), 1U);
    } else {
      // 32 packets over 64 paths: each path once.
      EXPECT_EQ(paths.size(), 32U);
    }
  }
}

TEST_F(Rule, Uet_3_6_12_PdcsOfOnePairShareAContext) {
  start();
  verbs::WorkRequest ordered = world().request(Verb::kWrite, 64);
  ordered.delivery = Delivery::kOrdered;
  ASSERT_EQ(world().post(ordered), engine::PostStatus::kOk);
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world().engine(0).parts().pds.pdc_count(), 2U);
  EXPECT_EQ(source_pdc(0).ccc, source_pdc(1).ccc);
  EXPECT_EQ(world().engine(0).parts().cms.count(), 1U);
}

TEST_F(Rule, Uet_3_5_11_MprCountsOnlyWhereCackAdvances) {
  open_silently();
  EXPECT_EQ(source_pdc().tx.range, 1024U);
  wire::Packet ack = acknowledgement(source_pdc().tx.start - 1);
  ack.uet.ack_congestion.mpr = 2;
  world().pair().inject(0, ack);
  EXPECT_EQ(source_pdc().tx.range, 1024U);
  ack.uet.ack_congestion.mpr = 0;
  ack.uet.ack.cumulative_psn = source_pdc().tx.start;
  world().pair().inject(0, ack);
  EXPECT_EQ(source_pdc().tx.cumulative, source_pdc().tx.start);
  EXPECT_EQ(source_pdc().tx.range, 1024U);
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  ack.uet.ack_congestion.mpr = 2;
  ++ack.uet.ack.cumulative_psn;
  world().pair().inject(0, ack);
  EXPECT_EQ(source_pdc().tx.range, 256U);
}

TEST_F(Rule, Uet_3_5_12_AcknowledgementThatAsksForTheClose) {
  open_silently();
  wire::Packet ack = acknowledgement(source_pdc().tx.start);
  ack.uet.prologue.flags |= wire::uet_request_flags(wire::UetAckRequest::kClose);
  world().lose = nullptr;
  world().pair().inject(0, ack);
  EXPECT_EQ(source_pdc().state, PdcState::kCloseAckWait);
  world().run();
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
  EXPECT_EQ(world().counters(1).pdcs_closed, 1U);
}

TEST_F(Rule, Uet_3_5_8_APacketAnsweredWhileItWaitsToBeSentAgainLeavesThePdcItsTimer) {
  test::EnginePairOptions options;
  options.packet_interval = milliseconds(10);
  world_ = std::make_unique<World>(UetConfig{}, options);
  world().watch();
  world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kRead, 1000)), engine::PostStatus::kOk);
  world().pass(milliseconds(2));  // Its RTO has passed, and the port is not free yet.
  ASSERT_EQ(source_pdc().tx.resend.count, 1U);
  world().pair().inject(0, acknowledgement(source_pdc().tx.start));
  ASSERT_EQ(source_pdc().tx.outstanding(), 0U);
  // The data is owed: after a while without it the source asks.
  world().pass(seconds(6));
  EXPECT_GT(world().counters(0).control_packets_sent, 0U);
}

// No RTO sent it to the queue, so there is no back-off whose end sets a timer.
TEST_F(Rule, ARefusedPacketAnsweredWhileItWaitsLeavesThePdcItsTimer) {
  test::EnginePairOptions options;
  options.packet_interval = milliseconds(10);
  world_ = std::make_unique<World>(UetConfig{}, options);
  world().watch();
  world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kRead, 1000)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  world().pair().inject(0, refusal(UetNackCode::kTrimmed, source_pdc().tx.start));
  ASSERT_EQ(source_pdc().tx.resend.count, 1U);
  world().pass(milliseconds(2));  // The timer of its first copy has come, and found nothing under way.
  ASSERT_EQ(world().counters(0).timeouts, 0U);
  ASSERT_EQ(source_pdc().tx.resend.count, 1U);
  world().pair().inject(0, acknowledgement(source_pdc().tx.start));
  ASSERT_EQ(source_pdc().tx.outstanding(), 0U);
  world().pass(seconds(6));
  EXPECT_GT(world().counters(0).control_packets_sent, 0U) << "the data is owed: the source asks for it";
}

TEST_F(Rule, Uet_3_5_12_ASackLeavesTheRepetitionThatBringsAnAnswerQueued) {
  UetConfig config;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  start(config);
  world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kRead, 8)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  const wire::UetPsn psn = source_pdc().tx.start;
  wire::Packet sack = acknowledgement(psn - 1);
  sack.uet.ack_congestion.sack_psn_offset = 1;
  sack.uet.ack_congestion.sack_bitmap = 1;
  sack.uet.ack.ack_psn_offset = 0;
  world().pair().inject(0, sack);
  // The window is full of something else when the repetition is asked for.
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  world().pair().inject(0, refusal(UetNackCode::kAckWithData, psn));
  ASSERT_EQ(source_pdc().tx.resend.count, 1U);
  world().pair().inject(0, sack);
  EXPECT_EQ(source_pdc().tx.resend.count, 1U);
  world().lose = nullptr;
  world().run();
  EXPECT_EQ(world().completions(0).size(), 2U);
}

TEST_F(Rule, Uet_3_5_12_LossThatTheReceiverInferredIsRepaired) {
  start();
  int lost = 0;
  world().lose = [&lost](const wire::Packet& packet) { return packet.source.number == 0 && lost++ == 0; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  const TimePs posted = world().now();
  world().pair().inject(0, refusal(UetNackCode::kReceiverInferredLoss, source_pdc().tx.una));
  world().pass(microseconds(100));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_LT(world().now() - posted, milliseconds(1));  // Before the RTO.
  EXPECT_EQ(world().counters(0).packets_retransmitted, 1U);
  EXPECT_EQ(world().counters(0).timeouts, 0U);
}

TEST_F(Rule, Uet_3_5_12_RefusalsForLackOfRoomEndInAnError) {
  UetConfig config;
  config.max_nack_retries = 2;
  config.rto_init = milliseconds(100);
  start(config);
  world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kFetchAdd, 8)), engine::PostStatus::kOk);
  world().pass(microseconds(10));
  wire::Packet nack = refusal(UetNackCode::kNoPacketBuffer, source_pdc().tx.start,
                              world().engine(1).parts().pds.pdc(0).local_id);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(world().completions(0).empty()) << i;
    EXPECT_EQ(world().counters(0).packets_retransmitted, i);
    world().pair().inject(0, nack);
    world().pass(milliseconds(2));  // NACK_Retx_Time, and it has left again.
    nack.uet.prologue.flags = wire::kUetRetransmit;
  }
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kReceiverNotReady);
}

TEST_F(Rule, Uet_3_5_12_SilenceIsFollowedByATailProbe) {
  UetConfig config;
  config.tail_loss_time = microseconds(100);
  start(config);
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(20));
  ASSERT_EQ(world().completions(0).size(), 1U);
  int lost = 0;
  world().lose = [&lost](const wire::Packet& packet) {
    return wire::is_uet_pdc_request(packet.uet.prologue.type) && lost++ == 0;
  };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(70));
  EXPECT_EQ(world().counters(0).tail_probes_sent, 0U);  // Silence counts from the last answer.
  world().pass(microseconds(60));
  EXPECT_EQ(world().counters(0).tail_probes_sent, 1U);
  world().run();
  EXPECT_EQ(world().completions(0).size(), 2U);
}

TEST_F(Rule, Uet_3_6_13_AnAnswerThatMayBeToTheFirstCopyIsNoSample) {
  UetConfig config;
  config.controller =
      congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4204, true);
  config.base_rtt_probe = false;
  open_silently(config);
  world().pass(milliseconds(1));
  ASSERT_EQ(world().counters(0).packets_retransmitted, 1U);
  // Without RETX it may be the answer to the first copy, a microsecond after the second.
  world().pair().inject(0, acknowledgement(source_pdc().tx.start));
  EXPECT_EQ(nscc().base_rtt(), microseconds(12));
}

TEST_F(Rule, Uet_3_6_AnOlderAcknowledgementTakesNothingBack) {
  open_silently();
  wire::Packet ack = acknowledgement(source_pdc().tx.start);
  ack.uet.ack_congestion.byte_units = 10;
  world().pair().inject(0, ack);
  EXPECT_EQ(source_pdc().tx.received_bytes, 10U * 256);
  ack.uet.ack_congestion.byte_units = 9;
  world().pair().inject(0, ack);
  EXPECT_EQ(source_pdc().tx.received_bytes, 10U * 256);
}

TEST_F(Rule, Uet_3_6_13_TrimsOfTheLastHopLeaveTheWindowBesideCredit) {
  for (const UetNackCode code : {UetNackCode::kTrimmed, UetNackCode::kTrimmedLastHop}) {
    UetConfig config;
    congestion::NsccConfig chosen =
        congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4204, true);
    chosen.nack_lowers_base_rtt = false;  // Nor the largest window with it.
    config.controller = chosen;
    config.congestion = CongestionControl::kBoth;
    open_silently(config);
    const std::uint64_t before = nscc().window();
    world().pair().inject(0, refusal(code, source_pdc().tx.start));
    EXPECT_EQ(nscc().window() < before, code == UetNackCode::kTrimmed);
  }
}

TEST_F(Rule, Uet_3_4_DisabledIndexWithoutGenerations) {
  start();
  ASSERT_TRUE(world().engine(1).set_enabled(world().now(), world().queue(1), false).ok());
  HandMade hand;
  hand.start = hand.psn = 1000;
  hand.opcode = wire::UetOpcode::kSend;
  hand.payload = wire::pattern_payload(1, 0, 64);
  world().pair().inject(1, hand.packet());
  ASSERT_EQ(world().sent.size(), 1U);
  EXPECT_EQ(world().sent[0].uet.response.return_code, UetReturnCode::kDisabled);
}

TEST_F(Rule, Uet_3_4_DeliverCompleteTravelsAndTheAnswerFollowsTheData) {
  start();
  world().fill(0, World::kLocal, 64, 5);
  bool there = false;
  world().lose = [this, &there](const wire::Packet& packet) {
    if (wire::is_uet_ack(packet.uet.prologue.type)) there = world().same(World::kLocal, World::kRemote, 64);
    return false;
  };
  verbs::WorkRequest request = world().request(Verb::kWrite, 64);
  request.remote_complete = true;
  EXPECT_TRUE(world().finish(request).ok());
  EXPECT_TRUE(world().sent[0].uet.ses.deliver_complete());
  EXPECT_TRUE(there);
}

TEST_F(Rule, Uet_3_5_12_FatalNackRepeatsOnlyWhatMayRunTwice) {
  // A write may run twice and goes again on a new PDC; an atomic that may have run ends in error.
  for (const Verb verb : {Verb::kWrite, Verb::kFetchAdd}) {
    start();
    world().lose = [](const wire::Packet&) { return true; };
    ASSERT_EQ(world().post(world().request(verb, 8)), engine::PostStatus::kOk);
    world().pass(microseconds(1));
    world().lose = nullptr;
    world().pair().inject(0, refusal(UetNackCode::kInvalidDpdcid, source_pdc().tx.una));
    world().run();
    ASSERT_EQ(world().completions(0).size(), 1U);
    EXPECT_EQ(world().counters(0).pdcs_failed, 1U);
    EXPECT_EQ(world().completions(0)[0].status,
              verb == Verb::kWrite ? CompletionStatus::kSuccess : CompletionStatus::kRetryExhausted);
  }
}

}  // namespace
}  // namespace wharf::uet
