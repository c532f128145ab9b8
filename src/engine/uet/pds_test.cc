// SPDX-License-Identifier: Apache-2.0
// The packet delivery sublayer rule by rule: PDC life cycle, windows, acknowledgements, NACKs,
// retransmission. Each test is named after the section of UE 1.0 that it shows.
#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;
using wire::UetControlType;
using wire::UetNackCode;
using wire::UetPdsType;

/// Host 1 is the engine under test; host 0 stays silent unless a test posts there.
class Pds : public ::testing::Test {
 protected:
  void start(UetConfig config = {}, test::EnginePairOptions options = {}) {
    world_ = std::make_unique<World>(config, options);
    world_->watch();
    hand.start = 1000;
    hand.key = (std::uint64_t{world_->token(1).value} << 32U) | world_->token(1).id;
    hand.address = World::kRemote;
    hand.payload = wire::pattern_payload(1, 0, 64);
  }
  std::vector<wire::Packet> give(wire::UetPsn psn) {
    hand.psn = psn;
    return give(hand.packet());
  }
  std::vector<wire::Packet> give(const wire::Packet& packet) {
    world_->sent.clear();
    world_->pair().inject(1, packet);
    return world_->sent;
  }
  /// Opens the PDC with PSN 1000 and goes on without SYN.
  void open() {
    const auto said = give(1000);
    ASSERT_EQ(said.size(), 1U);
    hand.dpdcid = said[0].uet.ack.source_pdcid;
  }
  UetNackCode code(const std::vector<wire::Packet>& said) {
    EXPECT_EQ(said.size(), 1U);
    if (said.size() != 1 || said[0].uet.prologue.type != UetPdsType::kNack)
      return UetNackCode::kExperimentalFatal;
    return said[0].uet.nack.code;
  }
  World& world() { return *world_; }

  HandMade hand;
  std::unique_ptr<World> world_;
};

TEST_F(Pds, Uet_3_5_8_AnySynPacketOfTheBurstOpensThePdc) {
  start();
  const auto said = give(1003);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 999U);
  EXPECT_EQ(said[0].uet.ack.ack_psn(), 1003U);
  EXPECT_EQ(said[0].uet.ack.source_pdcid, 0x8001);
  EXPECT_EQ(said[0].uet.ack.destination_pdcid, 0x4001);
  // Others of the burst find the same PDC.
  EXPECT_EQ(give(1000).at(0).uet.ack.source_pdcid, 0x8001);
}

TEST_F(Pds, Uet_3_5_8_SynWithAnotherStartIsInvalid) {
  start();
  open();
  hand.dpdcid = 0;
  hand.start = 5000;
  EXPECT_EQ(code(give(5000)), UetNackCode::kInvalidSyn);
  // The start decides, though the PSN lies in the window.
  hand.start = 1001;
  EXPECT_EQ(code(give(1002)), UetNackCode::kInvalidSyn);
}

TEST_F(Pds, Uet_3_5_8_SynBeyondTheWindowIsInvalid) {
  start();
  EXPECT_EQ(code(give(1000 + 1024)), UetNackCode::kInvalidSyn);
}

TEST_F(Pds, Uet_3_5_8_UnknownDpdcid) {
  start();
  hand.dpdcid = 0x8123;
  const auto said = give(1000);
  EXPECT_EQ(code(said), UetNackCode::kInvalidDpdcid);
  EXPECT_EQ(said[0].uet.nack.source_pdcid, 0);
}

TEST_F(Pds, Uet_3_5_8_HeaderThatDoesNotMatchThePdc) {
  start();
  open();
  hand.spdcid = 0x4002;
  EXPECT_EQ(code(give(1001)), UetNackCode::kPdcHeaderMismatch);
}

TEST_F(Pds, Uet_3_5_8_ModeMustMatch) {
  start();
  open();
  hand.ordered = true;
  EXPECT_EQ(code(give(1001)), UetNackCode::kPdcModeMismatch);
}

TEST_F(Pds, Uet_3_5_8_PoolsAreLimited) {
  UetConfig config;
  config.pdc_limit = 1;
  start(config);
  open();
  hand.spdcid = 0x4002;
  hand.dpdcid = 0;
  const auto said = give(1000);
  EXPECT_EQ(code(said), UetNackCode::kNoPdc);
  EXPECT_EQ(said[0].uet.nack.source_pdcid, 0);
}

TEST_F(Pds, Uet_3_5_8_ReservedPoolServesUseRsvPdc) {
  UetConfig config;
  config.pdc_limit = 1;
  config.reserved_pdc_limit = 1;
  start(config);
  open();
  hand.spdcid = 0x4002;
  hand.dpdcid = 0;
  hand.psn = 1000;
  wire::Packet packet = hand.packet();
  packet.uet.request.destination_pdcid = wire::uet_syn_word(0, true);
  EXPECT_EQ(give(packet).at(0).uet.ack.source_pdcid, 0x8002);
}

TEST_F(Pds, Uet_3_5_8_StartPsnKeepsItsDistanceFromTheLastOne) {
  UetConfig config;
  config.idle_timeout = microseconds(50);
  start(config);
  std::vector<wire::UetPsn> starts;
  wire::UetPsn last = 0;
  for (int i = 0; i < 50; ++i) {
    world().sent.clear();
    EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 8)).ok());
    for (const wire::Packet& packet : world().sent_of(UetPdsType::kRudRequest)) {
      ASSERT_TRUE(packet.uet.prologue.syn());
      const wire::UetPsn first = packet.uet.request.start_psn();
      if (i > 0) {
        const std::int64_t distance = std::abs(std::int64_t{wire::uet_psn_difference(first, last)});
        EXPECT_GE(distance, 1 << 16);
      }
      last = first + 1;
      starts.push_back(first);
    }
  }
  EXPECT_EQ(starts.size(), 50U);
  EXPECT_EQ(world().counters(0).pdcs_closed, 50U);
}

// A packet of an earlier opening that is still under way must not pass for one of the present opening.
TEST_F(Pds, AConfiguredStartIsForTheFirstOpeningOfAnIdentifier) {
  UetConfig config;
  config.idle_timeout = microseconds(50);
  config.pdc_limit = 1;
  config.start_psn = 7;
  start(config);
  for (int i = 0; i < 3; ++i) {
    world().sent.clear();
    EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 8)).ok());
    const auto requests = world().sent_of(UetPdsType::kRudRequest);
    ASSERT_EQ(requests.size(), 1U);
    const wire::UetPsn first = requests[0].uet.request.start_psn();
    EXPECT_EQ(requests[0].uet.request.source_pdcid, 0x4001);
    EXPECT_TRUE(i == 0 ? first == 7 : std::abs(std::int64_t{wire::uet_psn_difference(first, 7)}) >= 1 << 16)
        << first;
  }
}

TEST_F(Pds, Uet_3_5_8_AStartPsnTooCloseIsDrawnAgain) {
  // A seed whose first two draws lie closer than the specification allows.
  UetConfig config;
  config.idle_timeout = microseconds(50);
  for (config.seed = 1; config.seed < (1U << 20U); ++config.seed) {
    RandomStream draws = RandomStream(config.seed, "uet.pdc").substream(0);
    const wire::UetPsn first = draws.next_u32();
    if (std::abs(std::int64_t{wire::uet_psn_difference(draws.next_u32(), first)}) < 1 << 15) break;
  }
  start(config);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 8)).ok());
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 8)).ok());
  const auto requests = world().sent_of(UetPdsType::kRudRequest);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_GE(std::abs(std::int64_t{wire::uet_psn_difference(requests[1].uet.request.start_psn(),
                                                           requests[0].uet.request.start_psn() + 1)}),
            1 << 16);
}

TEST_F(Pds, Uet_3_5_8_SynEndsWithTheFirstAcknowledgement) {
  UetConfig config;
  config.payload_mtu = 256;
  config.controller = congestion::ConstantWindowConfig{.packets = 2};
  start(config);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 256 * 6)).ok());
  const auto requests = world().sent_of(UetPdsType::kRudRequest);
  ASSERT_EQ(requests.size(), 6U);
  EXPECT_TRUE(requests[0].uet.prologue.syn());
  EXPECT_TRUE(requests[1].uet.prologue.syn());
  EXPECT_FALSE(requests[4].uet.prologue.syn());
  EXPECT_EQ(requests[4].uet.request.destination_pdcid, 0x8001);
}

TEST_F(Pds, Uet_3_5_8_CloseHandshakeFreesBothEnds) {
  UetConfig config;
  config.idle_timeout = microseconds(100);
  start(config);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 8)).ok());
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
  EXPECT_EQ(world().counters(1).pdcs_closed, 1U);
  const auto control = world().sent_of(UetPdsType::kControl);
  ASSERT_EQ(control.size(), 1U);
  EXPECT_EQ(control[0].uet.prologue.control, UetControlType::kCloseCommand);
  EXPECT_TRUE(control[0].uet.prologue.ack_requested());
}

TEST_F(Pds, Uet_3_5_8_LostCloseAcknowledgementCountsAsClosed) {
  UetConfig config;
  config.idle_timeout = microseconds(100);
  start(config);
  int acks = 0;
  world().lose = [&](const wire::Packet& packet) {
    return packet.source.number == 1 && wire::is_uet_ack(packet.uet.prologue.type) && ++acks == 2;
  };
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 8)).ok());
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
  EXPECT_EQ(world().sent_of(UetPdsType::kNack).at(0).uet.nack.code, UetNackCode::kInvalidDpdcid);
}

TEST_F(Pds, Uet_3_5_8_StaleSynOfAClosedPdcIsRefused) {
  start();
  open();
  give(
      control_packet(0, UetControlType::kCloseCommand, 1001, 0x4001, hand.dpdcid, 0, wire::kUetAckRequested));
  EXPECT_EQ(world().counters(1).pdcs_closed, 1U);
  hand.dpdcid = 0;
  EXPECT_EQ(code(give(1000)), UetNackCode::kInvalidSyn);
  // A new opening keeps its distance, and is welcome.
  hand.start = 1000 + (1 << 17);
  EXPECT_EQ(give(hand.start).at(0).uet.prologue.type, UetPdsType::kAckCc);
}

TEST_F(Pds, Uet_3_5_8_CloseRequestIsHonouredByTheInitiator) {
  start();
  auto request = world().request(Verb::kWrite, 8);
  ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  world().pass(microseconds(10));
  ASSERT_EQ(world().completions(0).size(), 1U);
  world().pair().inject(0, control_packet(1, UetControlType::kCloseRequest, 0, 0x8001, 0x4001));
  world().pass(microseconds(10));
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U);
}

TEST_F(Pds, Uet_3_5_8_UnansweredCloseRequestClosesInError) {
  UetConfig config;
  config.idle_timeout = microseconds(100);
  config.rto_init = config.rto_cap = microseconds(100);
  start(config);
  open();
  world().lose = [](const wire::Packet&) { return true; };
  world().pass(milliseconds(10));
  EXPECT_EQ(world().counters(1).pdcs_failed, 1U);
}

TEST_F(Pds, Uet_3_5_11_PsnOutsideTheWindow) {
  start();
  open();
  EXPECT_EQ(code(give(1000 + 1025)), UetNackCode::kPsnOutOfWindow);
  EXPECT_EQ(give(1000 + 1024).at(0).uet.prologue.type, UetPdsType::kAckCc);
}

TEST_F(Pds, Uet_3_5_11_ClearPsnIsMonotonicAndBounded) {
  start();
  hand.opcode = wire::UetOpcode::kRead;
  hand.payload = {};
  hand.request_length = 8;
  open();
  EXPECT_EQ(give(1001).at(0).uet.ack.cumulative_psn, 1000U);
  // CLEAR cannot run ahead of what has arrived: 1003 is missing.
  hand.clear_offset = 0;
  EXPECT_EQ(give(1002).at(0).uet.ack.cumulative_psn, 1001U);
  // An older CLEAR takes nothing back.
  hand.clear_offset = -3;
  EXPECT_EQ(give(1003).at(0).uet.ack.cumulative_psn, 1001U);
}

TEST_F(Pds, Uet_3_5_12_DuplicateWithoutRetxIsDroppedSilently) {
  start();
  open();
  EXPECT_TRUE(give(1000).empty());
  EXPECT_EQ(world().counters(1).duplicates_dropped, 1U);
}

TEST_F(Pds, Uet_3_5_12_DuplicateWithRetxGetsTheDefaultResponseAgain) {
  start();
  open();
  hand.flags |= wire::kUetRetransmit;
  const auto said = give(1000);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.prologue.next, wire::UetNextHeader::kResponse);
  EXPECT_TRUE(said[0].uet.prologue.retransmitted());
  EXPECT_EQ(said[0].uet.response.return_code, wire::UetReturnCode::kOk);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 1U);
}

TEST_F(Pds, Uet_3_5_12_DuplicateGetsItsStoredResponse) {
  start();
  hand.opcode = wire::UetOpcode::kRead;
  hand.payload = {};
  hand.request_length = 8;
  world().pair().memory(1).store64(World::kRemote, 42);
  open();
  world().pair().memory(1).store64(World::kRemote, 43);
  hand.flags |= wire::kUetRetransmit;
  const auto said = give(1000);
  ASSERT_EQ(said.size(), 1U);
  ASSERT_EQ(said[0].payload.length, 8U);
  EXPECT_EQ(static_cast<int>(wire::payload_byte(said[0].payload, 0)), 42);
}

TEST_F(Pds, Uet_3_5_12_DuplicateInExecutionIsNacked) {
  test::EnginePairOptions options;
  options.access_shortest = microseconds(5);
  options.access_longest = microseconds(5);
  start({}, options);
  EXPECT_TRUE(give(1000).empty());
  hand.flags |= wire::kUetRetransmit;
  EXPECT_EQ(code(give(1000)), UetNackCode::kSesProcessing);
}

TEST_F(Pds, Uet_3_5_12_OneNackForEachGapOnRod) {
  start();
  hand.ordered = true;
  open();
  const auto said = give(1002);
  EXPECT_EQ(code(said), UetNackCode::kRodOutOfOrder);
  EXPECT_EQ(said[0].uet.nack.psn, 1002U);
  EXPECT_EQ(said[0].uet.nack.payload, 1001U);
  EXPECT_TRUE(give(1003).empty());
  EXPECT_EQ(world().counters(1).dropped_out_of_order, 2U);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 1U);
}

TEST_F(Pds, Uet_3_5_12_RodGoesBackToTheGap) {
  UetConfig config;
  config.payload_mtu = 256;
  config.one_sided_delivery = verbs::Delivery::kOrdered;
  start(config);
  int nth = 0;
  world().lose = [&](const wire::Packet& packet) {
    return packet.uet.prologue.type == UetPdsType::kRodRequest && ++nth == 3;
  };
  world().fill(0, World::kLocal, 256 * 8);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 256 * 8)).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 256 * 8));
  EXPECT_EQ(world().counters(0).packets_retransmitted, 6U);
  EXPECT_EQ(world().counters(0).timeouts, 0U);
}

TEST_F(Pds, Uet_3_5_12_RudResendsOnlyWhatIsMissing) {
  UetConfig config;
  config.payload_mtu = 256;
  start(config);
  int nth = 0;
  world().lose = [&](const wire::Packet& packet) {
    return packet.uet.prologue.type == UetPdsType::kRudRequest && ++nth == 3;
  };
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 256 * 8)).ok());
  EXPECT_EQ(world().counters(0).packets_retransmitted, 1U);
  EXPECT_EQ(world().counters(0).timeouts, 1U);
  const auto requests = world().sent_of(UetPdsType::kRudRequest);
  EXPECT_EQ(requests.back().uet.request.psn, requests[2].uet.request.psn);
  EXPECT_TRUE(requests.back().uet.prologue.retransmitted());
  EXPECT_TRUE(requests.back().uet.prologue.ack_requested());
}

TEST_F(Pds, Uet_3_5_12_CoalescesUntilTheTrigger) {
  UetConfig config;
  config.payload_mtu = 4096;
  start(config);
  open();
  hand.flags = 0;
  hand.payload = wire::pattern_payload(1, 0, 4096);
  EXPECT_TRUE(give(1001).empty());
  EXPECT_TRUE(give(1002).empty());
  EXPECT_TRUE(give(1003).empty());
  const auto said = give(1004);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 1004U);
}

TEST_F(Pds, OfABurstOnlyTheFirstPacketIsAcknowledgedAtOnceWhereSynAsksOnce) {
  UetConfig config;
  start(config);
  hand.flags = wire::kUetSyn;
  EXPECT_EQ(give(1000).size(), 1U);
  EXPECT_EQ(give(1001).size(), 1U);
  config.ack_every_syn = false;
  start(config);
  EXPECT_EQ(give(1000).size(), 1U);
  EXPECT_TRUE(give(1001).empty());
}

TEST_F(Pds, CountedHeadersCountTowardTheTrigger) {
  // Four times 4086 bytes lack 40 of the trigger; with 64 of headers each they exceed it.
  for (const std::uint32_t headers : {0U, 64U}) {
    UetConfig config;
    config.payload_mtu = 4086;
    config.window_overhead_bytes = headers;
    hand = {};
    start(config);
    open();
    hand.flags = 0;
    hand.payload = wire::pattern_payload(1, 0, 4086);
    for (wire::UetPsn psn = 1001; psn < 1004; ++psn) EXPECT_TRUE(give(psn).empty()) << psn;
    EXPECT_EQ(give(1004).size(), headers == 0 ? 0U : 1U);
  }
}

TEST_F(Pds, Uet_3_5_12_SmallPacketsCountTheMinimum) {
  start();
  open();
  hand.flags = 0;
  for (wire::UetPsn psn = 1001; psn < 1016; ++psn) EXPECT_TRUE(give(psn).empty()) << psn;
  EXPECT_EQ(give(1016).size(), 1U);
}

TEST_F(Pds, Uet_3_5_12_EcnForcesAnAcknowledgement) {
  start();
  open();
  hand.flags = 0;
  hand.psn = 1001;
  wire::Packet packet = hand.packet();
  packet.mark = wire::CongestionMark::kExperienced;
  const auto said = give(packet);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].uet.prologue.marked());
  EXPECT_EQ(said[0].entropy, packet.entropy);
}

TEST_F(Pds, Uet_3_5_12_ClosedGapBeforeAnArPacketIsAcknowledged) {
  start();
  open();
  EXPECT_EQ(give(1003).size(), 1U);
  hand.flags = 0;
  EXPECT_TRUE(give(1001).empty());
  const auto said = give(1002);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 1003U);
}

TEST_F(Pds, Uet_3_5_12_SackNamesWhatArrivedOutOfOrder) {
  start();
  open();
  give(1003);
  const auto said = give(1005);
  ASSERT_EQ(said.size(), 1U);
  const wire::UetAckCongestion& cc = said[0].uet.ack_congestion;
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 1000U);
  EXPECT_EQ(cc.out_of_order, 2);
  std::uint64_t bits = 0;
  for (int i = 0; i < 64; ++i) {
    if ((cc.sack_bitmap >> i & 1U) != 0) bits |= std::uint64_t{1} << (cc.sack_base(1000) + i - 1001);
  }
  EXPECT_EQ(bits & 0b11111U, 0b10100U);
}

TEST_F(Pds, Uet_3_5_12_PacketKnownFromSackIsAskedForInsteadOfSent) {
  UetConfig config;
  config.payload_mtu = 256;
  start(config);
  // The answer to a small read is lost, but later acknowledgements show that the request arrived.
  bool lost = false;
  world().lose = [&](const wire::Packet& packet) {
    const bool data = packet.uet.prologue.next == wire::UetNextHeader::kResponseData;
    if (data && !lost) return lost = true;
    return false;
  };
  ASSERT_EQ(world().post(world().request(Verb::kRead, 8)), engine::PostStatus::kOk);
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8, 64)), engine::PostStatus::kOk);
  world().run();
  EXPECT_EQ(world().completions(0).size(), 2U);
  EXPECT_EQ(world().counters(0).ack_requests_sent, 1U);
  EXPECT_EQ(world().sent_of(UetPdsType::kNack).at(0).uet.nack.code, UetNackCode::kAckWithData);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kRead), 1U);
}

TEST_F(Pds, Uet_3_5_12_AckRequestForAnUnseenPsn) {
  start();
  open();
  EXPECT_EQ(code(give(control_packet(0, UetControlType::kAckRequest, 1001, 0x4001, hand.dpdcid))),
            UetNackCode::kPacketNotReceived);
}

TEST_F(Pds, Uet_3_5_12_NackOutsideTheOutstandingRangeChangesNothing) {
  start();
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  wire::Packet nack = wire::uet_packet();
  nack.source = {1};
  nack.destination = {0};
  wire::use_nack(nack.uet, UetNackCode::kClosingInError).psn = 77;
  nack.uet.nack.destination_pdcid = 0x4001;
  world().pair().inject(0, nack);
  world().run();
  EXPECT_TRUE(world().completions(0).at(0).ok());
  EXPECT_EQ(world().counters(0).dropped_nack, 1U);
}

TEST_F(Pds, Uet_3_5_12_RtoIsShortAgainWhenSomethingNewIsAcknowledged) {
  UetConfig config;
  config.rto_init = milliseconds(1);
  config.max_rto_retries = 5;
  start(config);
  std::vector<TimePs> times;  // Of the first packet.
  bool dark = true;
  world().lose = [&](const wire::Packet& packet) {
    if (packet.source.number != 0 || !wire::is_uet_pdc_request(packet.uet.prologue.type)) return dark;
    const bool first = packet.uet.request.psn == world().sent[0].uet.request.psn;
    if (first) times.push_back(world().now());
    return dark || (first && times.size() < 9);
  };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  world().pass(milliseconds(40));
  ASSERT_EQ(times.size(), 6U) << "at 0, 1, 3, 7, 15 and 31 ms; the next and last wait would end at 63 ms";
  // Another packet arrives: the first may be tried anew, with the first RTO, and as often.
  dark = false;
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  world().run();
  ASSERT_EQ(times.size(), 9U);
  EXPECT_LT(times[6], milliseconds(40) + microseconds(1100));
  EXPECT_EQ(times[7] - times[6], milliseconds(2)) << "nothing was acknowledged meanwhile";
  EXPECT_EQ(times[8] - times[7], milliseconds(4));
  EXPECT_EQ(world().completions(0).size(), 2U);
  for (const verbs::Completion& each : world().completions(0)) EXPECT_TRUE(each.ok());
}

TEST_F(Pds, Uet_3_5_12_RtoDoublesAndEndsInAnError) {
  UetConfig config;
  config.rto_init = microseconds(100);
  config.max_rto_retries = 3;
  start(config);
  std::vector<TimePs> times;
  world().lose = [&](const wire::Packet& packet) {
    times.push_back(world().now());
    return packet.source.number == 0;
  };
  const verbs::WorkRequest request = world().request(Verb::kWrite, 8);
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRetryExhausted);
  ASSERT_EQ(times.size(), 4U);
  EXPECT_EQ(times[1] - times[0], microseconds(100));
  EXPECT_EQ(times[2] - times[1], microseconds(200));
  EXPECT_EQ(times[3] - times[2], microseconds(400));
  EXPECT_EQ(world().counters(0).pdcs_failed, 1U);
  const engine::AsyncEvent event = world().pair().host(0).events.at(0);
  EXPECT_EQ(event.kind, engine::AsyncEventKind::kPeerUnreachable);
  EXPECT_EQ(event.peer, request.peer);
}

TEST_F(Pds, Uet_3_5_12_ResourceNackWaitsForNackRetxTime) {
  UetConfig config;
  config.nack_retransmit_time = microseconds(70);
  start(config);
  world().lose = [this](const wire::Packet&) { return world().sent.size() == 1; };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  const wire::UetPsn psn = world().sent.at(0).uet.request.psn;
  wire::Packet nack = wire::uet_packet();
  nack.source = {1};
  nack.destination = {0};
  wire::use_nack(nack.uet, UetNackCode::kNoPacketBuffer).psn = psn;
  nack.uet.nack.destination_pdcid = 0x4001;
  world().pair().inject(0, nack);
  world().pass(microseconds(69));
  EXPECT_EQ(world().counters(0).packets_retransmitted, 0U);
  world().pass(microseconds(2));
  EXPECT_EQ(world().counters(0).packets_retransmitted, 1U);
}

TEST_F(Pds, Uet_3_5_12_OnlyAMarkMakesADuplicateTheSackBase) {
  UetConfig config;
  config.sack_base = SackBase::kTrigger;
  start(config);
  open();
  give(1003);
  hand.psn = 1000;
  hand.flags = wire::kUetAckRequested | wire::kUetRetransmit;
  wire::Packet duplicate = hand.packet();
  const auto said = give(duplicate);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack_congestion.sack_base(said[0].uet.ack.cumulative_psn), 1002U) << "behind the gap";
  EXPECT_EQ(said[0].uet.ack_congestion.sack_bitmap, 0b10U);
  duplicate.mark = wire::CongestionMark::kExperienced;
  const auto marked = give(duplicate);
  ASSERT_EQ(marked.size(), 1U);
  EXPECT_EQ(marked[0].uet.ack_congestion.sack_base(marked[0].uet.ack.cumulative_psn), 1000U);
}

TEST_F(Pds, Uet_3_5_16_ProbeIsAnsweredWithItsOpaqueValue) {
  start();
  open();
  give(1003);
  wire::Packet probe = control_packet(0, UetControlType::kProbe, 0, 0x4001, hand.dpdcid, 1001);
  probe.uet.control.probe_opaque = 0xbeef;
  const auto said = give(probe);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.prologue.type, UetPdsType::kAckCc);
  EXPECT_TRUE(said[0].uet.prologue.answers_probe());
  EXPECT_EQ(said[0].uet.ack.probe_opaque(), 0xbeef);
  EXPECT_EQ(said[0].uet.ack_congestion.sack_bitmap & 7U, 4U);
}

TEST_F(Pds, Uet_3_5_16_NoopWithSynOpensAPdc) {
  start();
  wire::Packet noop = control_packet(0, UetControlType::kNoop, 1000, 0x4001, wire::uet_syn_word(0), 0,
                                     wire::kUetAckRequested | wire::kUetSyn);
  const auto said = give(noop);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 1000U);
  EXPECT_EQ(said[0].uet.prologue.next, wire::UetNextHeader::kNone);
}

TEST_F(Pds, Uet_3_5_16_ClearRequestElicitsAClearCommand) {
  start();
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  world().pass(microseconds(10));
  world().sent.clear();
  world().pair().inject(0, control_packet(1, UetControlType::kClearRequest, 0, 0x8001, 0x4001));
  ASSERT_EQ(world().sent.size(), 1U);
  EXPECT_EQ(world().sent[0].uet.prologue.control, UetControlType::kClearCommand);
}

TEST_F(Pds, Uet_3_5_16_LostClearIsAskedForAgain) {
  UetConfig config;
  config.clear_time = microseconds(50);
  start(config);
  bool lost = false;
  world().lose = [&](const wire::Packet& packet) {
    const bool clear = packet.uet.prologue.type == UetPdsType::kControl &&
                       packet.uet.prologue.control == UetControlType::kClearCommand;
    if (clear && !lost) return lost = true;
    return false;
  };
  ASSERT_EQ(world().post(world().request(Verb::kRead, 8)), engine::PostStatus::kOk);
  world().pass(milliseconds(1));
  EXPECT_EQ(world().counters(1).clear_requests_sent, 1U);
  EXPECT_EQ(world().engine(1).parts().pds.stored_responses(), 0U);
}

TEST_F(Pds, Uet_4_1_TrimmedRequestIsNackedAndChangesNothing) {
  start();
  open();
  hand.psn = 1001;
  wire::Packet packet = hand.packet();
  packet.payload = {};
  packet.trim = wire::TrimState::kTrimmed;
  packet.mark = wire::CongestionMark::kExperienced;
  const auto said = give(packet);
  EXPECT_EQ(code(said), UetNackCode::kTrimmed);
  EXPECT_TRUE(said[0].uet.prologue.marked());
  packet.trim = wire::TrimState::kTrimmedLastHop;
  EXPECT_EQ(code(give(packet)), UetNackCode::kTrimmedLastHop);
  EXPECT_EQ(give(1001).at(0).uet.ack.cumulative_psn, 1001U);
  // What it has, it acknowledges.
  EXPECT_EQ(give(packet).at(0).uet.prologue.type, UetPdsType::kAckCc);
}

TEST_F(Pds, Uet_4_1_TrimmedSynCreatesNoPdc) {
  start();
  hand.psn = 1000;
  wire::Packet packet = hand.packet();
  packet.payload = {};
  packet.trim = wire::TrimState::kTrimmed;
  const auto said = give(packet);
  EXPECT_EQ(code(said), UetNackCode::kTrimmed);
  EXPECT_EQ(said[0].uet.nack.source_pdcid, 0);
  EXPECT_EQ(world().counters(1).pdcs_accepted, 0U);
}

TEST_F(Pds, Uet_4_1_TrimmedPacketIsSentAgainAtOnce) {
  UetConfig config;
  config.payload_mtu = 256;
  test::EnginePairOptions options;
  start(config, options);
  int nth = 0;
  world().pair().wire().options().transform = [&](wire::Packet& packet, bool, RandomStream&,
                                                  wire::PayloadPool& pool) {
    if (packet.uet.prologue.type == UetPdsType::kRudRequest && ++nth == 2) {
      pool.release(packet.payload.buffer);
      packet.payload = {};
      packet.trim = wire::TrimState::kTrimmed;
    }
    return true;
  };
  const auto began = world().now();
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 256 * 4)), engine::PostStatus::kOk);
  world().pass(microseconds(2));
  EXPECT_EQ(world().completions(0).size(), 1U);
  EXPECT_LE(world().now() - began, microseconds(2));
  EXPECT_EQ(world().counters(0).packets_retransmitted, 1U);
  EXPECT_EQ(world().counters(0).timeouts, 0U);
}

TEST_F(Pds, Uet_3_5_20_ReturnedDataIsAcknowledgedWithoutSesHeader) {
  start();
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 5000)).ok());
  int plain = 0;
  for (const wire::Packet& packet : world().sent) {
    if (packet.source.number != 0 || !wire::is_uet_ack(packet.uet.prologue.type)) continue;
    EXPECT_EQ(packet.uet.prologue.next, wire::UetNextHeader::kNone);
    ++plain;
  }
  EXPECT_GT(plain, 0);
  const auto requests = world().sent_of(UetPdsType::kRudRequest);
  EXPECT_EQ(requests[1].source.number, 1U);
  EXPECT_EQ(requests[1].uet.prologue.next, wire::UetNextHeader::kResponseData);
  // The reverse direction begins at the same Start_PSN.
  EXPECT_EQ(requests[1].uet.request.psn, requests[0].uet.request.psn);
}

}  // namespace
}  // namespace wharf::uet
