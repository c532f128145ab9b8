// SPDX-License-Identifier: Apache-2.0
// What once left a PDC, a message, a receive or a window where nothing could move it, or moved it wrongly:
// names that were taken again too soon, packets without a record, silence taken for death. Named after
// UE 1.0.
#include <map>
#include <utility>

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
using wire::UetControlType;
using wire::UetNackCode;
using wire::UetOpcode;
using wire::UetPdsType;
using wire::UetReturnCode;

bool from_target(const wire::Packet& packet) { return packet.source.number == 1; }

class Stuck : public ::testing::Test {
 protected:
  void start(UetConfig config = {}, test::EnginePairOptions options = {}) { start(config, config, options); }
  void start(const UetConfig& config0, const UetConfig& config1, test::EnginePairOptions options = {}) {
    world_ = std::make_unique<World>(config0, config1, options);
    world_->watch();
    hand.start = hand.psn = 1000;
    hand.key = (std::uint64_t{world_->token(1).value} << 32U) | world_->token(1).id;
    hand.address = World::kRemote;
    hand.payload = wire::pattern_payload(1, 0, 64);
  }
  /// An ACK_CC of host 1 for the PDC that host 0 opened: CACK, and the PSN that it answers.
  wire::Packet acknowledgement(wire::UetPsn cumulative) { return acknowledgement_of(world(), cumulative); }
  wire::Packet refusal(UetNackCode code, wire::UetPsn psn, std::uint16_t source_pdcid = 0) {
    return refusal_of(world(), code, psn, source_pdcid);
  }
  const Pdc& source_pdc(std::uint32_t index = 0) { return world().engine(0).parts().pds.pdc(index); }
  /// A READ that its target has acknowledged with the wish to close, and whose data is lost.
  void await_data_in_quiesce() {
    start();
    world().lose = from_target;
    ASSERT_EQ(world().post(world().request(Verb::kRead, 1000)), engine::PostStatus::kOk);
    world().pass(microseconds(1));
    wire::Packet ack = acknowledgement(source_pdc().tx.start);
    ack.uet.prologue.flags |= wire::uet_request_flags(wire::UetAckRequest::kClose);
    world().pair().inject(0, ack);
    ASSERT_EQ(source_pdc().state, PdcState::kQuiesce);
  }
  const congestion::NsccSender& nscc() {
    return *world().engine(0).parts().cms[0].controller.as<congestion::NsccSender>();
  }
  static UetConfig with_nscc() {
    UetConfig config;
    config.controller =
        congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4204, true);
    config.base_rtt_probe = false;
    return config;
  }
  std::uint32_t errors_told() {
    std::uint32_t count = 0;
    for (const wire::Packet& packet : world().sent) {
      const wire::UetPrologue& prologue = packet.uet.prologue;
      const bool request =
          wire::is_uet_pdc_request(prologue.type) && wire::is_uet_request_form(prologue.next);
      count += request && packet.uet.ses.opcode == UetOpcode::kMessageError ? 1 : 0;
    }
    return count;
  }
  World& world() { return *world_; }

  HandMade hand;
  Arena next_life;
  std::unique_ptr<World> world_;
};

TEST(PdcidPool, IdentifiersOfPdcsThatFailedComeLast) {
  PdcidPool pool(1, 3);
  EXPECT_EQ(pool.acquire(), 1);
  pool.release(1, true);
  EXPECT_EQ(pool.acquire(), 2);
  pool.release(2, false);
  EXPECT_EQ(pool.acquire(), 2);
  EXPECT_EQ(pool.acquire(), 3);
  EXPECT_EQ(pool.acquire(), 1);
  EXPECT_EQ(pool.acquire(), std::nullopt);
}

TEST_F(Stuck, Uet_3_5_8_APdcThatFailedAtItsInitiatorAloneIsFollowedByOneOfAnotherName) {
  start();
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(10));
  ASSERT_EQ(world().completions(0).size(), 1U);
  world().lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(seconds(1));
  ASSERT_EQ(world().completions(0).size(), 2U);
  ASSERT_EQ(world().completions(0)[1].status, CompletionStatus::kRetryExhausted);
  world().lose = nullptr;
  EXPECT_TRUE(world().finish(world().request(Verb::kFetchAdd, 8)).ok());
  EXPECT_EQ(world().counters(0).pdcs_failed, 1U);
}

TEST_F(Stuck, Uet_3_5_8_QuiesceEndsWithTheDataThatIsOwed) {
  await_data_in_quiesce();
  world().lose = nullptr;
  world().pass(seconds(1));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
  EXPECT_EQ(world().counters(1).pdcs_closed, 1U);
}

TEST_F(Stuck, Uet_3_5_8_QuiesceEndsInAnErrorWhenTheDataThatIsOwedDoesNotCome) {
  await_data_in_quiesce();
  world().pass(seconds(60));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world().counters(0).pdcs_failed, 1U);
}

// The program takes its queue away meanwhile: nothing is owed any more, and nobody says so.
TEST_F(Stuck, Uet_3_5_8_QuiesceEndsWhenNobodyWaitsForTheData) {
  await_data_in_quiesce();
  ASSERT_TRUE(world().engine(0).destroy_queue(world().now(), world().queue(0)).ok());
  world().pass(seconds(60));
  EXPECT_EQ(world().counters(0).pdcs_closed + world().counters(0).pdcs_failed, 1U);
}

// The peer has had the second request for long when the first one, on which it works, is answered at last.
TEST_F(Stuck, Uet_3_5_12_WhatWasHeardSinceAPacketWasReceivedCounts) {
  start();
  world().lose = from_target;
  ASSERT_EQ(world().post(world().request(Verb::kFetchAdd, 8)), engine::PostStatus::kOk);
  ASSERT_EQ(world().post(world().request(Verb::kFetchAdd, 8, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(2));
  const wire::UetPsn first = source_pdc().tx.start;
  ASSERT_EQ(source_pdc().tx.next, first + 2);
  wire::Packet ack = acknowledgement(first - 1);
  ack.uet.ack_congestion.sack_psn_offset = 1;
  ack.uet.ack_congestion.sack_bitmap = 2;
  world().pair().inject(0, ack);
  ASSERT_EQ(source_pdc().tx.at(first + 1).state, EntryState::kReceived);
  const std::uint16_t target = world().engine(1).parts().pds.pdc(0).local_id;
  for (int i = 0; i < 20; ++i) {
    world().pass(milliseconds(5));
    world().pair().inject(0, refusal(UetNackCode::kSesProcessing, first, target));
  }
  world().lose = nullptr;
  world().pass(seconds(1));
  ASSERT_EQ(world().completions(0).size(), 2U);
  for (const verbs::Completion& each : world().completions(0)) EXPECT_TRUE(each.ok());
  EXPECT_EQ(world().counters(0).pdcs_failed, 0U);
}

// A peer that is heard and never has the packet: its tries end all the same.
TEST_F(Stuck, TriesHaveAnEndThoughThePeerIsHeard) {
  UetConfig config;
  config.idle_timeout = kTimeZero;
  start(config);
  ASSERT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  const wire::Packet heard =
      control_packet(1, UetControlType::kClearRequest, 0, world().engine(1).parts().pds.pdc(0).local_id,
                     source_pdc().local_id);
  world().lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  for (int i = 0; i < 400 && world().completions(0).size() < 2; ++i) {
    world().pass(milliseconds(1));
    if (world().counters(0).pdcs_failed == 0) world().pair().inject(0, heard);
  }
  ASSERT_EQ(world().completions(0).size(), 2U);
  EXPECT_EQ(world().completions(0)[1].status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world().counters(0).timeouts, config.max_rto_retries + 1);
}

// A repetition that waits for the link, or for credit, asks nothing: that the peer says nothing meanwhile is
// no sign of its death.
TEST_F(Stuck, Uet_3_5_TimeInWhichNothingIsAskedIsNoSilence) {
  UetConfig config;
  config.idle_timeout = kTimeZero;
  start(config);
  ASSERT_TRUE(world().finish(world().request(Verb::kWrite, 64)).ok());
  const TimePs free_again = world().now() + seconds(60);
  world().lose = [&](const wire::Packet&) { return world().now() < free_again + config.rto_init; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pair().host(0).transmit_at = free_again;
  world().pass(seconds(61));
  ASSERT_EQ(world().completions(0).size(), 2U);
  EXPECT_TRUE(world().completions(0)[1].ok());
  EXPECT_EQ(world().counters(0).timeouts, 2U);
  EXPECT_EQ(world().counters(0).pdcs_failed, 0U);
}

// It has asked for the close of an idle PDC when another request comes, on which its memory works for long.
TEST_F(Stuck, Uet_3_5_8_ATargetThatClosesFinishesWhatItExecutes) {
  UetConfig config;
  config.idle_timeout = milliseconds(1);
  config.rto_cap = config.rto_init = milliseconds(1);
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = milliseconds(100);
  start(config, options);
  world().lose = [](const wire::Packet&) { return true; };
  world().pair().inject(1, hand.packet());
  const Pdc& target = world().engine(1).parts().pds.pdc(0);
  for (int i = 0; i < 1000 && target.state != PdcState::kClosing; ++i) world().pass(microseconds(200));
  ASSERT_EQ(target.state, PdcState::kClosing);
  world().sent.clear();
  ++hand.psn;
  hand.message_id = 2;
  world().pair().inject(1, hand.packet());
  world().pass(milliseconds(99));
  EXPECT_EQ(world().counters(1).pdcs_failed, 0U);
  world().pass(milliseconds(2));
  ASSERT_EQ(world().sent_of(UetPdsType::kAck).size(), 1U);
  EXPECT_EQ(world().sent_of(UetPdsType::kAck)[0].uet.ack.cumulative_psn, 1001U);
  world().pass(seconds(1));
  EXPECT_EQ(world().counters(1).pdcs_failed, 1U);
}

// Its peer still has the PDC of its last life, which had the same seed.
TEST_F(Stuck, Uet_3_5_8_AHostThatStartsAgainIsNotTakenForItsLastLife) {
  start();
  verbs::WorkRequest add = world().request(Verb::kFetchAdd, 8);
  add.operand[0] = 1;
  ASSERT_EQ(world().post(add), engine::PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(world().completions(0).size(), 1U);
  UetConfig config;
  config.host = {0};
  world().pair().host(0).engine = std::make_unique<UetEngine>(
      std::move(UetEngine::create(config, world().pair().pool(), next_life).value()));
  UetEngine& again = world().engine(0);
  ASSERT_EQ(again.create_queue(world().now(), {}).value(), world().queue(0));
  ASSERT_TRUE(again.register_segment(world().now(), {.base = World::kBase, .length = World::kSize}).ok());
  const auto blob = world().engine(1).export_queue(world().queue(1)).value();
  ASSERT_EQ(again.connect(world().now(), world().queue(0), blob).value(), world().peer(0));
  ASSERT_EQ(world().post(add), engine::PostStatus::kOk);
  world().pass(seconds(1));
  ASSERT_EQ(world().completions(0).size(), 2U);
  EXPECT_TRUE(world().completions(0)[1].ok());
  EXPECT_EQ(world().completions(0)[1].atomic_result[0] + 1, world().pair().memory(1).load64(World::kRemote));
  EXPECT_EQ(world().counters(1).pdcs_accepted, 2U);
}

TEST_F(Stuck, Uet_3_4_AnInitiatorErrorInAMessageOfSeveralPacketsEndsItsRecord) {
  UetConfig config;
  config.payload_mtu = 256;
  start(config);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 1024)),
              engine::PostStatus::kOk);
  }
  world().fill(0, World::kLocal, 1024, 3);
  verbs::WorkRequest faulty = world().request(Verb::kSend, 1024);
  faulty.local_count = 2;
  faulty.local[0] = {World::kBase + 2 * World::kSize, 256};
  faulty.local[1] = {World::kLocal, 768};
  EXPECT_EQ(world().finish(faulty).status, CompletionStatus::kLocalAccess);
  EXPECT_EQ(errors_told(), 1U);
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
  EXPECT_EQ(world().engine(1).parts().held.in_use(), 0U);
  world().fill(0, World::kLocal, 1024, 9);
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 1024)).ok());
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_TRUE(world().completions(1)[0].ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 1024));
}

TEST_F(Stuck, Uet_3_4_AMessageThatAnUnknownIndexRefusedInPartIsEnded) {
  UetConfig config;
  config.payload_mtu = 256;
  start(config);
  // The first packet is refused, the others come before their message is known.
  verbs::WorkRequest request = world().request(Verb::kSend, 1024);
  request.delivery = Delivery::kUnordered;
  world().lose = [](const wire::Packet& packet) {
    return packet.source.number == 0 && packet.uet.prologue.next != wire::UetNextHeader::kNone &&
           packet.uet.ses.first() && packet.uet.ses.opcode == UetOpcode::kSend;
  };
  ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  world().pass(microseconds(5));
  ASSERT_EQ(world().engine(1).parts().held.in_use(), 3U);
  wire::Packet ack = acknowledgement(source_pdc().tx.start - 1);
  ack.uet.ack.ack_psn_offset = 1;
  wire::UetSesResponse& response =
      wire::use_ses_response(ack.uet, ack.uet.prologue.next = wire::UetNextHeader::kResponse);
  response.opcode = wire::UetResponseOpcode::kResponse;
  response.return_code = UetReturnCode::kBadIndex;
  world().pair().inject(0, ack);
  world().lose = nullptr;
  world().pass(milliseconds(10));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kRemoteOperation);
  EXPECT_EQ(errors_told(), 1U);
  EXPECT_EQ(world().engine(1).parts().held.in_use(), 0U);
}

TEST_F(Stuck, Uet_3_5_16_AnAckRequestForAPacketInExecutionIsAnswered) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = milliseconds(10);
  start({}, options);
  world().pair().inject(1, hand.packet());
  ASSERT_TRUE(world().sent.empty());
  const std::uint16_t target = world().engine(1).parts().pds.pdc(0).local_id;
  world().pair().inject(1, control_packet(0, UetControlType::kAckRequest, 1000, hand.spdcid, target, 0,
                                          wire::kUetAckRequested));
  ASSERT_EQ(world().sent.size(), 1U);
  ASSERT_TRUE(wire::is_uet_nack(world().sent[0].uet.prologue.type));
  EXPECT_EQ(world().sent[0].uet.nack.code, UetNackCode::kSesProcessing);
  EXPECT_EQ(world().sent[0].uet.nack.psn, 1000U);
}

TEST_F(Stuck, Uet_3_5_12_ATargetThatWorksOnAPacketIsNotGivenUp) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = milliseconds(200);
  start({}, options);
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 8)).ok());
  EXPECT_GT(world().counters(0).timeouts, 5U) << "more than Max_RTO_Retx_Cnt";
}

TEST_F(Stuck, Uet_3_6_13_WhatGoesBackWithATrimmedPacketLeavesTheWindow) {
  start(with_nscc());
  world().lose = from_target;
  verbs::WorkRequest request = world().request(Verb::kWrite, 32 * 4096);
  request.delivery = Delivery::kOrdered;
  ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  ASSERT_EQ(source_pdc().tx.in_flight, 32U);
  const std::uint64_t window = nscc().window();
  world().lose = [](const wire::Packet&) { return true; };
  world().pair().inject(0, refusal(UetNackCode::kTrimmed, source_pdc().tx.start));
  EXPECT_LT(nscc().window(), window);
  EXPECT_GE(nscc().window(), window - 4300) << "one packet";
  // So with the time-out.
  const std::uint64_t before = nscc().window();
  world().pass(milliseconds(1));
  ASSERT_EQ(world().counters(0).timeouts, 1U);
  EXPECT_GE(nscc().window(), before - 4300) << "one packet";
}

TEST_F(Stuck, Uet_3_5_11_ClearPsnOffsetIsNeverPositive) {
  UetConfig config;
  config.payload_mtu = 256;
  config.congestion = CongestionControl::kNone;
  config.rto_init = seconds(1);
  start(config);
  int positive = 0;
  std::uint64_t requests = 0;
  world().lose = [&](const wire::Packet& packet) {
    if (packet.source.number == 0 && wire::is_uet_pdc_request(packet.uet.prologue.type)) {
      ++requests;
      positive += packet.uet.request.clear_psn_offset > 0 ? 1 : 0;
    }
    world().sent.clear();
    return packet.source.number == 1;
  };
  ASSERT_EQ(world().post(world().request(Verb::kFetchAdd, 8)), engine::PostStatus::kOk);
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_EQ(world().post(world().request(Verb::kWrite, 256 * 2000)), engine::PostStatus::kOk);
  }
  // CACK says that all has come; the value of the atomic does not.
  for (std::uint32_t i = 0; i < 60; ++i) {
    world().pass(microseconds(1));
    world().pair().inject(0, acknowledgement(source_pdc().tx.next - 1));
  }
  EXPECT_EQ(positive, 0);
  EXPECT_EQ(requests, 32'768U);
  EXPECT_EQ(source_pdc().tx.outstanding(), 32'768U);
}

TEST_F(Stuck, Uet_3_4_APacketThatWaitsForItsFirstIsNotForTheNextEndpointOfThatIndex) {
  start();
  hand.opcode = UetOpcode::kSend;
  hand.request_length = 128;
  hand.message_offset = 64;
  hand.ses_flags = wire::kUetEom | wire::kUetRelative;
  hand.psn = 1001;
  world().pair().inject(1, hand.packet());
  ASSERT_EQ(world().engine(1).parts().held.in_use(), 1U);
  ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
  EXPECT_EQ(world().engine(1).parts().held.in_use(), 0U);
  // Queue numbers rest for a while before they are used again.
  engine::QueueId next = ~engine::QueueId{0};
  for (std::uint32_t i = 0; i < 100'000 && next != world().queue(1); ++i) {
    if (i > 0) {
      ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), next).ok());
    }
    next = world().engine(1).create_endpoint(world().now(), {}, UetConfig{}.endpoint, 16).value();
  }
  ASSERT_EQ(next, world().queue(1));
  ASSERT_EQ(world().pair().post_receive(1, next, world().receive(0, 128)), engine::PostStatus::kOk);
  world().sent.clear();
  hand.psn = 1000;
  hand.message_offset = 0;
  hand.ses_flags = wire::kUetSom | wire::kUetRelative;
  world().pair().inject(1, hand.packet());
  EXPECT_TRUE(world().completions(1).empty());
  ASSERT_EQ(world().sent.size(), 1U);
  EXPECT_EQ(world().sent[0].uet.response.return_code, UetReturnCode::kCancelled);
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
  // The receive is there for a message of its own.
  hand.psn = 1002;
  hand.message_id = 2;
  hand.request_length = 64;
  hand.ses_flags = wire::kUetSom | wire::kUetEom | wire::kUetRelative;
  world().pair().inject(1, hand.packet());
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_TRUE(world().completions(1)[0].ok());
}

TEST_F(Stuck, Uet_3_6_13_BytesThatAPlainAckConfirmedAreNotConfirmedAgain) {
  UetConfig plain;
  plain.congestion = CongestionControl::kNone;
  test::EnginePairOptions options;
  options.seed = 3;
  options.wire.loss = Probability::from(0.02);
  start(with_nscc(), plain, options);
  std::int64_t least = 0;
  world().lose = [&](const wire::Packet&) {
    world().sent.clear();
    if (world().engine(0).parts().cms.count() > 0) least = std::min(least, nscc().in_flight());
    return false;
  };
  for (std::uint32_t i = 0; i < 40; ++i) {
    ASSERT_EQ(world().post(world().request(Verb::kWrite, 100'000)), engine::PostStatus::kOk);
  }
  world().run();
  EXPECT_EQ(world().completions(0).size(), 40U);
  EXPECT_GT(least, -4300) << "rcvd_bytes rounds, and a packet can have been sent twice";
}

TEST_F(Stuck, Uet_3_4_ASmallReadIsNoLongerThanAPacketOfTheTarget) {
  UetConfig config0;
  config0.medium_headers = true;
  UetConfig config1 = config0;
  config1.payload_mtu = 1024;
  start(config0, config1);
  world().fill(1, World::kRemote, 4096, 5);
  EXPECT_EQ(world().finish(world().request(Verb::kRead, 4096)).status,
            CompletionStatus::kRemoteUnsupportedRequest);
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 1024)).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 1024));
}

TEST_F(Stuck, Uet_3_4_SmallReadDataThatIsNotAllOfItIsAnError) {
  UetConfig config;
  config.medium_headers = true;
  start(config);
  world().lose = from_target;
  ASSERT_EQ(world().post(world().request(Verb::kRead, 1000)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  ASSERT_EQ(world().sent.back().uet.prologue.next, wire::UetNextHeader::kResponseDataSmall);
  wire::Packet data = world().sent.back();
  data.payload = wire::pattern_payload(1, 0, 500);
  world().pair().inject(0, data);
  world().lose = nullptr;
  world().pass(milliseconds(10));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kResponseLength);
}

TEST_F(Stuck, Uet_3_5_8_RefusedSynsOfOthersDoNotMakeATargetForgetItsClosedPdcs) {
  test::EnginePairOptions options;
  options.hosts = 3;
  start({}, options);
  const auto code = [&] {
    const wire::Packet& said = world().sent.back();
    return said.uet.prologue.type == UetPdsType::kNack ? said.uet.nack.code : UetNackCode::kExperimentalFatal;
  };
  world().pair().inject(1, hand.packet());
  const std::uint16_t target = world().engine(1).parts().pds.pdc(0).local_id;
  world().pair().inject(1, control_packet(0, UetControlType::kCloseCommand, 1001, hand.spdcid, target, 0,
                                          wire::kUetAckRequested));
  ASSERT_EQ(world().counters(1).pdcs_closed, 1U);
  HandMade flood = hand;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    flood.start = 1000 * i;
    flood.psn = flood.start + 1024;  // Beyond the window.
    wire::Packet packet = flood.packet();
    packet.source = {2};
    world().pair().inject(1, packet);
    ASSERT_EQ(code(), UetNackCode::kInvalidSyn);
  }
  world().pair().inject(1, hand.packet());
  EXPECT_EQ(code(), UetNackCode::kInvalidSyn);
  // And the newest refusal stands, though its obstacle goes.
  flood.psn = flood.start;
  wire::Packet packet = flood.packet();
  packet.source = {2};
  world().pair().inject(1, packet);
  EXPECT_EQ(code(), UetNackCode::kInvalidSyn);
}

TEST_F(Stuck, Uet_3_5_12_ARefusalOfARudiPacketForLackOfRoomWaitsAndIsCounted) {
  UetConfig config;
  config.max_nack_retries = 1;
  config.rto_init = milliseconds(100);
  start(config);
  world().lose = [](const wire::Packet&) { return true; };
  verbs::WorkRequest request = world().request(Verb::kWrite, 64);
  request.delivery = Delivery::kIdempotent;
  ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  ASSERT_EQ(world().sent.size(), 1U);
  ASSERT_EQ(world().sent[0].uet.prologue.type, UetPdsType::kRudiRequest);
  wire::Packet nack = wire::uet_packet();
  nack.source = {1};
  nack.destination = {0};
  wire::use_nack(nack.uet, UetNackCode::kNoPacketBuffer).psn = world().sent[0].uet.rudi.packet_id;
  nack.uet.prologue.flags = wire::kUetNackRudi;
  world().pair().inject(0, nack);
  world().pass(microseconds(900));
  EXPECT_EQ(world().sent.size(), 1U) << "NACK_Retx_Time has not passed";
  world().pass(microseconds(200));
  ASSERT_EQ(world().sent.size(), 2U);
  world().pair().inject(0, nack);
  world().pass(milliseconds(2));
  EXPECT_EQ(world().sent.size(), 2U);
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kReceiverNotReady);
}

TEST_F(Stuck, Uet_4_1_ATrimmedRudiRequestIsNackedByItsIdAndComesAgainAtOnce) {
  for (const wire::TrimState trim : {wire::TrimState::kTrimmed, wire::TrimState::kTrimmedLastHop}) {
    UetConfig config;
    config.rto_init = milliseconds(100);
    start(config);
    const auto region = world().engine(1).register_region(
        world().now(), {.base = World::kRemote, .length = 4096}, 1, std::nullopt, true);
    bool arrives = false;
    world().lose = [&](const wire::Packet&) { return !arrives; };
    verbs::WorkRequest request = world().request(Verb::kWrite, 64);
    request.delivery = Delivery::kIdempotent;
    request.remote.token = *region;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
    world().pass(microseconds(1));
    ASSERT_EQ(world().sent.size(), 1U);
    wire::Packet cut = world().sent[0];
    arrives = true;
    cut.payload = {};
    cut.trim = trim;
    world().pair().inject(1, cut);
    world().pass(microseconds(100));
    ASSERT_GE(world().sent.size(), 3U);
    const wire::UetPacket& said = world().sent[1].uet;
    ASSERT_EQ(said.prologue.type, UetPdsType::kNack);
    EXPECT_EQ(said.nack.code,
              trim == wire::TrimState::kTrimmed ? UetNackCode::kTrimmed : UetNackCode::kTrimmedLastHop);
    EXPECT_EQ(said.nack.psn, cut.uet.rudi.packet_id);
    EXPECT_TRUE((said.prologue.flags & wire::kUetNackRudi) != 0);
    EXPECT_EQ(world().sent[2].uet.rudi.packet_id, cut.uet.rudi.packet_id);
    ASSERT_EQ(world().completions(0).size(), 1U) << "long before the time-out";
    EXPECT_TRUE(world().completions(0)[0].ok());
  }
}

// What is late speaks of a message by its place and how often that was taken: the number never comes again,
// whichever way the next message is made.
TEST_F(Stuck, APlaceThatIsTakenAgainHasAnotherName) {
  start();
  struct Name {
    std::uint64_t order = 0;  ///< Of the message that has the place.
    std::uint32_t generation = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Name> newest;
  std::size_t taken = 0;
  for (int round = 0; round < 4; ++round) {
    for (const auto& [verb, length] : {std::pair{Verb::kWrite, 64U},
                                       {Verb::kWrite, 64U},
                                       {Verb::kRead, 64U},
                                       {Verb::kWrite, 9000U},
                                       {Verb::kRead, 9000U},
                                       {Verb::kWrite, 64U}}) {
      ASSERT_EQ(world().post(world().request(verb, length)), engine::PostStatus::kOk);
      const std::size_t before = world().completions(0).size();
      for (int step = 0; step < 1000 && world().completions(0).size() == before; ++step) {
        for (std::uint32_t host = 0; host < 2; ++host) {
          const auto& outbound = world().engine(host).parts().outbound;
          for (std::uint32_t at = 0; at < outbound.extent(); ++at) {
            if (!outbound.is_used(at)) continue;
            const OutboundMessage& message = outbound[at];
            const auto [place, first] =
                newest.try_emplace({host, at}, Name{message.order, message.generation});
            if (first || message.order == place->second.order) continue;
            EXPECT_GT(message.generation, place->second.generation) << "place " << at << " of host " << host;
            place->second = {message.order, message.generation};
            ++taken;
          }
        }
        world().pass(nanoseconds(200));
      }
      ASSERT_EQ(world().completions(0).size(), before + 1);
    }
  }
  EXPECT_GT(taken, 20U);
}

TEST_F(Stuck, Uet_3_4_AReceiveForADeferredSendThatNeverComesIsFreeAgain) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  start(config);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 3000)), engine::PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(world().counters(0).messages_deferred, 1U);
  // It is asked for, and that is answered; but what starts again is lost until its PDC fails.
  world().lose = [](const wire::Packet& packet) {
    return packet.source.number == 0 && packet.uet.prologue.type == UetPdsType::kRodRequest;
  };
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 3000)),
            engine::PostStatus::kOk);
  world().pass(seconds(1));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kRetryExhausted);
  world().lose = nullptr;
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 64)).ok());
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_EQ(world().completions(1)[0].length, 64U);
}

TEST_F(Stuck, ADeferredSendThatComesIsNotAskedForAgain) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  start(config);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 3000)), engine::PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 3000)),
            engine::PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_EQ(world().engine(1).parts().outbound.in_use(), 0U);
  world().run();
  EXPECT_EQ(world().counters(1).messages_retried, 0U);
}

TEST_F(Stuck, Uet_3_5_12_TheAnswerToATailProbeAsksForTheAnswerThatWasLost) {
  UetConfig config;
  config.tail_loss_time = microseconds(100);
  config.rto_init = seconds(1);
  start(config);
  ASSERT_TRUE(world().post(world().request(Verb::kWrite, 64)) == engine::PostStatus::kOk);
  world().pass(microseconds(20));
  ASSERT_EQ(world().completions(0).size(), 1U);
  int answers = 0;
  world().lose = [&](const wire::Packet& packet) {
    return wire::is_uet_ack(packet.uet.prologue.type) && answers++ == 0;
  };
  ASSERT_EQ(world().post(world().request(Verb::kFetchAdd, 8)), engine::PostStatus::kOk);
  world().pass(milliseconds(10));
  EXPECT_GT(world().counters(0).tail_probes_sent, 0U);
  EXPECT_EQ(world().counters(0).timeouts, 0U);
  EXPECT_EQ(world().completions(0).size(), 2U) << "long before the RTO";
}

TEST_F(Stuck, Uet_3_5_8_AnAnswerToAProbeDoesNotNameThePeer) {
  start();
  world().lose = from_target;
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  ASSERT_EQ(source_pdc().state, PdcState::kCreating);
  wire::Packet late = acknowledgement(source_pdc().tx.start - 1);
  late.uet.ack.source_pdcid = 0x8123;  // Of the PDC that had the identifier before.
  late.uet.prologue.flags |= wire::kUetProbeAnswer;
  world().pair().inject(0, late);
  EXPECT_EQ(source_pdc().state, PdcState::kCreating);
  world().lose = nullptr;
  world().run();
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  EXPECT_EQ(world().counters(0).pdcs_failed, 0U);
}

TEST_F(Stuck, Uet_3_5_8_ANewStartPsnThatNamesItsPdcCounts) {
  start();
  world().lose = from_target;
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  const wire::UetPsn other = source_pdc().tx.start + 500'000;
  wire::Packet nack = refusal(UetNackCode::kNewStartPsn, source_pdc().tx.start, 0x8001);
  nack.uet.nack.payload = other;
  world().pair().inject(0, nack);
  EXPECT_EQ(source_pdc().tx.start, other);
}

TEST_F(Stuck, Uet_3_4_AFetchingAtomicAnsweredWithoutItsValueIsAnError) {
  start();
  world().lose = from_target;
  ASSERT_EQ(world().post(world().request(Verb::kFetchAdd, 8)), engine::PostStatus::kOk);
  world().pass(microseconds(1));
  wire::Packet ack = acknowledgement(source_pdc().tx.start);
  wire::UetSesResponse& response =
      wire::use_ses_response(ack.uet, ack.uet.prologue.next = wire::UetNextHeader::kResponse);
  response.opcode = wire::UetResponseOpcode::kResponse;
  response.return_code = UetReturnCode::kOk;
  world().pair().inject(0, ack);
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kResponseLength);
}

}  // namespace
}  // namespace wharf::uet
