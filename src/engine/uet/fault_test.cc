// SPDX-License-Identifier: Apache-2.0
// Stalls that faults once caused, each reduced to its cause: exhausted resources whose holders wait for the
// refused packet, windows filled with lost packets, and order lost to a lack of room. Named after UE 1.0.
#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::Delivery;
using verbs::Verb;
using wire::UetControlType;
using wire::UetNackCode;
using wire::UetOpcode;
using wire::UetPdsType;

class Fault : public ::testing::Test {
 protected:
  void start(UetConfig config = {}, test::EnginePairOptions options = {}, std::uint32_t queues = 1) {
    world_ = std::make_unique<World>(config, options, queues);
    world_->watch();
    hand.start = 1000;
    hand.key = (std::uint64_t{world_->token(1).value} << 32U) | world_->token(1).id;
    hand.address = World::kRemote;
    hand.payload = wire::pattern_payload(1, 0, 64);
  }
  /// Hand-made requests read 8 bytes, which the acknowledgement carries: guaranteed delivery. Host 1 stores
  /// two such responses.
  void start_reads() {
    UetConfig config;
    config.stored_responses = 2;
    start(config);
    hand.opcode = UetOpcode::kRead;
    hand.payload = {};
    hand.request_length = 8;
  }
  /// What host 1 says to the hand-made request `psn`: its NACK code, or nothing for an acknowledgement.
  std::optional<UetNackCode> give(wire::UetPsn psn) {
    hand.psn = psn;
    world_->sent.clear();
    world_->pair().inject(1, hand.packet());
    for (const wire::Packet& packet : world_->sent) {
      if (packet.uet.prologue.type == UetPdsType::kNack) return packet.uet.nack.code;
    }
    EXPECT_FALSE(world_->sent.empty());
    return std::nullopt;
  }
  World& world() { return *world_; }

  HandMade hand;
  std::unique_ptr<World> world_;
};

TEST_F(Fault, Uet_3_5_11_StoredResponsesAboveAGapDoNotShutOutTheGap) {
  start_reads();
  // Nothing can be cleared below PSN 1000.
  EXPECT_EQ(give(1001), std::nullopt);
  EXPECT_EQ(give(1002), std::nullopt);
  EXPECT_EQ(give(1004), UetNackCode::kNoGuaranteedDelivery);
  EXPECT_EQ(give(1000), std::nullopt) << "the only packet after which anything can be cleared";
  // Now the peer can clear three responses: the next in order waits for that.
  hand.clear_offset = -4;
  EXPECT_EQ(give(1003), UetNackCode::kNoGuaranteedDelivery);
  hand.clear_offset = -1;
  EXPECT_EQ(give(1003), std::nullopt);
}

TEST_F(Fault, Uet_3_5_12_ClearMakesRoomAgain) {
  start_reads();
  EXPECT_EQ(give(1000), std::nullopt);
  EXPECT_EQ(give(1001), std::nullopt);
  hand.clear_offset = -2;
  EXPECT_EQ(give(1002), std::nullopt) << "CLEAR 1000 came with it";
  hand.clear_offset = -3;
  EXPECT_EQ(give(1003), UetNackCode::kNoGuaranteedDelivery);
}

TEST_F(Fault, Uet_3_5_12_MessagesAboveAGapDoNotShutOutTheGap) {
  UetConfig config;
  config.inbound_messages = 1;
  start(config);
  // Message 2 is incomplete: PSN 1001 came, 1002 did not.
  hand.ses_flags = wire::kUetSom | wire::kUetRelative;
  hand.request_length = 128;
  hand.message_id = 2;
  EXPECT_EQ(give(1001), std::nullopt);
  hand.message_id = 3;
  EXPECT_EQ(give(1003), UetNackCode::kNoMessage);
  hand.message_id = 1;
  EXPECT_EQ(give(1000), std::nullopt) << "the next in order";
}

TEST_F(Fault, Uet_3_5_12_RecordsOfOthersDoNotShutOutTheGapBelowStoredResponses) {
  // The only record is a message's that waits for a receive; the answer to a read above the gap can be
  // cleared only when the gap has been taken.
  UetConfig config;
  config.inbound_messages = 1;
  start(config);
  hand.opcode = UetOpcode::kSend;
  EXPECT_EQ(give(1000), std::nullopt);
  hand.opcode = UetOpcode::kWrite;
  hand.message_id = 2;
  hand.ses_flags = wire::kUetSom | wire::kUetRelative;
  hand.request_length = 128;
  EXPECT_EQ(give(1002), UetNackCode::kNoMessage);
  hand.opcode = UetOpcode::kRead;
  hand.message_id = 3;
  hand.ses_flags = wire::kUetSom | wire::kUetEom | wire::kUetRelative;
  hand.request_length = 8;
  const wire::Payload data = hand.payload;
  hand.payload = {};
  EXPECT_EQ(give(1002), std::nullopt);
  hand.opcode = UetOpcode::kWrite;
  hand.message_id = 2;
  hand.ses_flags = wire::kUetSom | wire::kUetRelative;
  hand.request_length = 128;
  hand.payload = data;
  EXPECT_EQ(give(1001), std::nullopt);
}

TEST_F(Fault, Uet_3_5_12_HeldPacketsAboveAGapDoNotShutOutTheGap) {
  UetConfig config;
  config.held_packets = 2;
  start(config);
  hand.opcode = UetOpcode::kSend;
  hand.request_length = 192;
  // An unexpected message takes one place; the end of a message whose beginning is missing takes the other.
  hand.message_id = 1;
  hand.ses_flags = wire::kUetSom | wire::kUetRelative;
  EXPECT_EQ(give(1000), std::nullopt);
  hand.ses_flags = wire::kUetEom | wire::kUetRelative;
  hand.message_id = 2;
  hand.message_offset = 128;
  EXPECT_EQ(give(1005), std::nullopt);
  hand.message_id = 1;
  EXPECT_EQ(give(1002), UetNackCode::kNoMessage) << "not in order: it can wait";
  hand.ses_flags = wire::kUetRelative;
  hand.message_offset = 64;
  EXPECT_EQ(give(1001), std::nullopt) << "the next in order cannot";
}

TEST_F(Fault, Uet_3_5_12_LostPacketsOfAFullWindowGoAgainBehindAQueuedOne) {
  // ROD: the answer of a small read is lost, so its request has to go again; the window is full of writes
  // that were lost. Nothing but their own timer takes them out of the window.
  UetConfig config;
  config.controller = congestion::ConstantWindowConfig{.packets = 2};
  config.rto_init = milliseconds(1);
  start(config);
  bool answer_lost = false;
  std::uint32_t writes = 0;
  world().lose = [&](const wire::Packet& packet) {
    if (packet.uet.prologue.next == wire::UetNextHeader::kResponseData && !answer_lost)
      return answer_lost = true;
    const bool write = wire::is_uet_pdc_request(packet.uet.prologue.type) && packet.payload.length > 0;
    if (!write) return false;
    ++writes;
    return writes > 1 && !packet.uet.prologue.retransmitted();
  };
  for (std::uint32_t i = 0; i < 6; ++i) {
    verbs::WorkRequest request = world().request(i == 0 ? Verb::kRead : Verb::kWrite, 8, 64ULL * i);
    request.delivery = Delivery::kOrdered;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
    // The writes that are lost leave so late that their time comes after the read is queued.
    if (i == 1) world().pass(microseconds(900));
  }
  world().pass(milliseconds(50));  // Long before an idle PDC would be given up and everything repeated.
  EXPECT_EQ(world().completions(0).size(), 6U);
  world().run();
}

TEST_F(Fault, Uet_3_5_11_ClearedButUnknownCackDoesNotCloseTheWindowForEver) {
  // 128 small reads fill the window of MPR 1; every answer has to be cleared before CACK moves, the CLEARs
  // are lost, and then CACK moves without an acknowledgement that would tell it.
  UetConfig config;
  config.default_mpr = 1;
  config.controller = congestion::ConstantWindowConfig{.packets = 256};
  config.max_rto_retries = 2;
  start(config, {}, 4);
  const auto is = [](const wire::Packet& packet, UetControlType type) {
    return packet.uet.prologue.type == UetPdsType::kControl && packet.uet.prologue.control == type;
  };
  bool lose_clears = true;
  world().lose = [&](const wire::Packet& packet) {
    return lose_clears &&
           (is(packet, UetControlType::kClearCommand) || is(packet, UetControlType::kClearRequest));
  };
  // More than the window: the 129th packet waits for CACK.
  for (std::uint32_t i = 0; i < 132; ++i) {
    verbs::WorkRequest request = world().request(Verb::kRead, 8, 64);
    request.peer = world().peer(0, i % 4);
    ASSERT_EQ(world().pair().post(0, world().queue(0, i % 4), request), engine::PostStatus::kOk);
  }
  world().pass(microseconds(900));
  EXPECT_EQ(world().completions(0).size(), 128U);
  lose_clears = false;
  world().pass(seconds(1));
  EXPECT_EQ(world().completions(0).size(), 132U);
}

TEST_F(Fault, Uet_3_5_12_SackDoesNotTakeBackTheRepetitionThatAckWithDataAskedFor) {
  // The answer of a small read is lost. Its request has to go again, but the window stays full, and every
  // acknowledgement that arrives while it is queued says that the peer has it.
  UetConfig config;
  config.payload_mtu = 256;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  config.ack_per_packet = true;
  config.rto_init = microseconds(5);
  config.rto_back_off = false;
  config.max_rto_retries = kRtoRetriesForever;
  start(config);
  std::uint32_t answers = 0;
  world().lose = [&](const wire::Packet& packet) {
    return packet.uet.prologue.next == wire::UetNextHeader::kResponseData && ++answers == 1;
  };
  ASSERT_EQ(world().post(world().request(Verb::kRead, 8)), engine::PostStatus::kOk);
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 200000, 64)), engine::PostStatus::kOk);
  world().pass(microseconds(60));
  EXPECT_EQ(world().completions(0).size(), 1U) << "the read, long before the write";
  EXPECT_LE(world().counters(0).ack_requests_sent, 2U);
}

TEST_F(Fault, Uet_3_5_8_CloseAcknowledgesReturnedDataWhoseAcknowledgementWasLost) {
  // The initiator has all of its read data and closes; the target never heard that the data arrived.
  UetConfig config;
  config.idle_timeout = microseconds(30);
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 100;
  start(config);
  // Host 1 reads the remainder over a PDC of its own; its acknowledgements of the data are lost.
  world().lose = [&](const wire::Packet& packet) {
    return packet.source.number == 1 && wire::is_uet_ack(packet.uet.prologue.type) &&
           packet.uet.prologue.next == wire::UetNextHeader::kNone && packet.uet.ack.source_pdcid < 0x8000 &&
           world().now() < microseconds(900);
  };
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 4000)),
            engine::PostStatus::kOk);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 4000)), engine::PostStatus::kOk);
  world().run();
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_EQ(world().counters(0).pdcs_failed, 0U);
  EXPECT_EQ(world().counters(1).pdcs_failed, 0U);
}

TEST_F(Fault, Uet_3_4_RendezvousOutlivesThePdcOfItsRequest) {
  UetConfig config;
  config.idle_timeout = microseconds(30);
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 100;
  start(config);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 4000)), engine::PostStatus::kOk);
  world().pass(milliseconds(10));
  EXPECT_EQ(world().counters(0).pdcs_closed, 1U) << "the request has its answer";
  // Another PDC takes over the record of the closed one, and fails.
  world().pair().host(1).plugged = false;
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  world().pass(seconds(1));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].verb, Verb::kWrite);
  world().pair().host(1).plugged = true;
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 4000)),
            engine::PostStatus::kOk);
  world().run();
  ASSERT_EQ(world().completions(0).size(), 2U);
  EXPECT_TRUE(world().completions(0)[1].ok());
}

TEST_F(Fault, Uet_3_5_12_RendezvousReadIsRepeatedOnANewPdc) {
  // The PDC that the target reads through fails; reading again does no harm.
  UetConfig config;
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 100;
  start(config);
  bool refused = false;
  world().lose = [&](const wire::Packet& packet) {
    const bool request = wire::is_uet_pdc_request(packet.uet.prologue.type) && packet.source.number == 1;
    if (!request || refused) return false;
    refused = true;
    wire::Packet nack = wire::uet_packet();
    nack.source = packet.destination;
    nack.destination = packet.source;
    wire::UetNack& body = wire::use_nack(nack.uet, UetNackCode::kUnexpectedEvent);
    body.psn = packet.uet.request.psn;
    body.destination_pdcid = packet.uet.request.source_pdcid;
    world().pair().wire().send(world().now(), nack);
    return true;
  };
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 4000)),
            engine::PostStatus::kOk);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 4000)), engine::PostStatus::kOk);
  world().run();
  EXPECT_TRUE(refused);
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_TRUE(world().completions(1)[0].ok());
}

TEST_F(Fault, Uet_3_5_12_RodNackWithoutAKnownGapSendsAgainOnce) {
  // A peer that refuses every copy and names no outstanding gap: the copies must not follow one another
  // without time passing.
  start();
  world().lose = [](const wire::Packet&) { return true; };
  verbs::WorkRequest request = world().request(Verb::kWrite, 8);
  request.delivery = Delivery::kOrdered;
  ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  ASSERT_EQ(world().sent.size(), 1U);
  wire::Packet refusal = wire::uet_packet();
  refusal.source = {1};
  refusal.destination = {0};
  wire::UetNack& nack = wire::use_nack(refusal.uet, UetNackCode::kRodOutOfOrder);
  nack.psn = world().sent[0].uet.request.psn;
  nack.payload = nack.psn - 1;
  nack.destination_pdcid = world().sent[0].uet.request.source_pdcid;
  world().pair().inject(0, refusal);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 1U);
  refusal.uet.prologue.flags = wire::kUetRetransmit;
  world().pair().inject(0, refusal);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 1U);
}

TEST_F(Fault, Uet_3_4_RevokedRegionEndsALongReadInTheMiddle) {
  UetConfig config;
  config.payload_mtu = 256;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  start(config);
  ASSERT_EQ(world().post(world().request(Verb::kRead, 64000)), engine::PostStatus::kOk);
  world().pass(microseconds(3));
  ASSERT_TRUE(world().engine(1).deregister_segment(world().now(), world().token(1)).ok());
  const auto reads = world().pair().memory(1).count(engine::AccessKind::kRead);
  EXPECT_GT(reads, 0U);
  world().run();
  EXPECT_LE(world().pair().memory(1).count(engine::AccessKind::kRead), reads + 1);
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, verbs::CompletionStatus::kRemoteAccess);
}

TEST_F(Fault, Uet_3_4_RevokedRegionEndsAtomicsThatWaitAndThoseThatHaveOnlyRead) {
  // The first is being read when the region goes; the others wait for its bytes.
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(5);
  start({}, options);
  for (std::uint32_t i = 0; i < 3; ++i) {
    verbs::WorkRequest request = world().request(Verb::kFetchAdd, 8);
    request.atomic_function = verbs::AtomicFunction::kMax;
    request.atomic_type = verbs::AtomicType::kUint64;
    request.length = 16;
    request.local_count = 1;
    request.local[0] = {World::kLocal, 16};
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  }
  while (world().engine(1).parts().accesses.unanswered() == 0) world().pass(nanoseconds(100));
  ASSERT_TRUE(world().engine(1).deregister_segment(world().now(), world().token(1)).ok());
  world().run();
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kRead), 1U);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 0U);
  ASSERT_EQ(world().completions(0).size(), 3U);
  for (const verbs::Completion& completion : world().completions(0)) {
    EXPECT_EQ(completion.status, verbs::CompletionStatus::kRemoteAccess);
  }
}

TEST_F(Fault, Uet_3_5_8_ARefusedOpeningStaysRefusedThoughItsObstacleGoes) {
  start();
  EXPECT_EQ(give(1000), std::nullopt);
  const std::uint16_t pdc = world().engine(1).parts().pds.pdc(0).local_id;
  // The initiator opens anew under its old name, and hears that nothing of it was taken.
  hand.start = 500'000;
  EXPECT_EQ(give(500'000), UetNackCode::kInvalidSyn);
  world().pair().inject(
      1, control_packet(0, UetControlType::kCloseCommand, 1001, hand.spdcid, pdc, 0, wire::kUetAckRequested));
  ASSERT_EQ(world().counters(1).pdcs_closed, 1U);
  EXPECT_EQ(give(500'001), UetNackCode::kInvalidSyn) << "a late packet of the same burst";
  hand.start = 1'000'000;
  EXPECT_EQ(give(1'000'000), std::nullopt);
}

TEST_F(Fault, Uet_3_5_8_AStaleSynOfAFailedPdcIsNotOneThatNothingWasTakenOf) {
  UetConfig config;
  config.idle_timeout = microseconds(10);
  config.rto_init = config.rto_cap = microseconds(100);
  config.syn_safety_time = milliseconds(50);
  start(config);
  EXPECT_EQ(give(1000), std::nullopt);
  world().pass(milliseconds(2));  // It asks for the close, and hears nothing.
  ASSERT_EQ(world().counters(1).pdcs_failed, 1U);
  EXPECT_EQ(give(1000), UetNackCode::kClosingInError);
}

TEST_F(Fault, Uet_3_4_AnIdIsFreeOnceItsMessageIsAnsweredThoughHeldBytesAreStillBeingWritten) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    test::EnginePairOptions options;
    options.seed = seed;
    options.access_longest = microseconds(10);  // What was held may be written long after the first packet.
    start({}, options);
    for (std::uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(1024ULL * i, 1024)),
                engine::PostStatus::kOk);
    }
    hand.opcode = UetOpcode::kSend;
    const auto send = [&](wire::UetPsn first, std::uint32_t packets) {
      hand.request_length = 64 * packets;
      for (std::uint32_t i = packets; i-- > 0;) {
        hand.psn = first + i;
        hand.message_offset = 64 * i;
        hand.ses_flags = wire::kUetRelative;
        if (i == 0) hand.ses_flags |= wire::kUetSom;
        if (i + 1 == packets) hand.ses_flags |= wire::kUetEom;
        world().pair().inject(1, hand.packet());
      }
    };
    const auto answers = [&] { return world().sent_of(UetPdsType::kAckCc).size(); };
    send(1000, 4);
    while (answers() < 4) world().pass(nanoseconds(10));
    send(1004, 3);
    world().run();
    EXPECT_EQ(world().completions(1).size(), 2U) << "seed " << seed;
    EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
  }
}

TEST_F(Fault, Uet_3_4_RendezvousOfBothSidesEndThoughRecordsAreFewAndTheWindowIsOnePacket) {
  UetConfig config;
  config.payload_mtu = 256;
  config.inbound_messages = 1;
  config.two_sided_delivery = Delivery::kUnordered;  // Reads and sends share a PDC.
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 1000;
  config.eager_bytes = 0;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  config.nack_retransmit_time = microseconds(5);
  config.max_nack_retries = kNackRetriesForever;
  config.max_rto_retries = kRtoRetriesForever;
  test::EnginePairOptions options;
  options.wire.delay = microseconds(5);
  start(config, options);
  constexpr std::uint32_t kSends = 8;
  for (std::uint32_t host = 0; host < 2; ++host) {
    for (std::uint32_t i = 0; i < kSends; ++i) {
      ASSERT_EQ(world().pair().post_receive(host, world().queue(host), world().receive(4096ULL * i, 4096)),
                engine::PostStatus::kOk);
      ASSERT_EQ(world().post(world().request(Verb::kSend, 3000, 0, host), engine::Submission::kInHand, host),
                engine::PostStatus::kOk);
    }
  }
  world().pass(milliseconds(20));
  EXPECT_EQ(world().completions(0).size(), 2U * kSends);
  EXPECT_EQ(world().completions(1).size(), 2U * kSends);
}

TEST_F(Fault, Uet_3_4_AMessageThatADisabledIndexRefusedInPartBeginsAnew) {
  for (const Delivery delivery : {Delivery::kOrdered, Delivery::kUnordered}) {
    UetConfig config;
    config.payload_mtu = 256;
    config.message_retry_time = microseconds(20);
    config.idle_timeout = kTimeZero;  // The end of its PDC would take a left-over record with it.
    test::EnginePairOptions options;
    options.wire.delay = microseconds(10);
    options.packet_interval = microseconds(1);
    start(config, options);
    const engine::QueueId queue = world().queue(1);
    ASSERT_TRUE(world().engine(1).set_enabled(world().now(), queue, false).ok());
    world().fill(0, World::kLocal, 1024);
    verbs::WorkRequest request = world().request(Verb::kSend, 1024);
    request.delivery = delivery;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
    // The first packet is refused; the other three, on their way already, find the index enabled.
    world().pass(nanoseconds(10'500));
    ASSERT_TRUE(world().engine(1).set_enabled(world().now(), queue, true).ok());
    ASSERT_EQ(world().pair().post_receive(1, queue, world().receive(0, 1024)), engine::PostStatus::kOk);
    world().run();
    ASSERT_EQ(world().completions(1).size(), 1U);
    EXPECT_TRUE(world().completions(1)[0].ok());
    ASSERT_EQ(world().completions(0).size(), 1U);
    EXPECT_TRUE(world().completions(0)[0].ok());
    EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 1024));
    EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
    EXPECT_EQ(world().engine(1).parts().held.in_use(), 0U);
  }
}

TEST_F(Fault, Uet_3_4_NoRoomForAnUnexpectedMessageDisablesTheIndexOnRod) {
  // [UE 1.0 3.4] A later message must not pass one that was refused for lack of room.
  UetConfig config;
  config.use_ri_generation = true;
  config.held_packets = 1;
  config.message_retry_time = microseconds(50);
  start(config);
  for (std::uint32_t i = 0; i < 3; ++i) {
    // The last one is empty and needs no room.
    const std::uint32_t length = i == 2 ? 0 : 64;
    verbs::WorkRequest request = world().request(Verb::kSendImm, length);
    request.delivery = Delivery::kOrdered;
    request.immediate = i;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  }
  world().pass(microseconds(20));
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(64ULL * i, 64)),
              engine::PostStatus::kOk);
  }
  world().run();
  ASSERT_EQ(world().completions(1).size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(world().completions(1)[i].immediate, i);
}

TEST_F(Fault, Uet_3_5_RodMatchesInOrderThoughMemoryIsSlow) {
  test::EnginePairOptions options;
  options.access_shortest = nanoseconds(20);
  options.access_longest = microseconds(20);
  start({}, options);
  for (std::uint32_t i = 0; i < 16; ++i) {
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(64ULL * i, 64)),
              engine::PostStatus::kOk);
  }
  for (std::uint32_t i = 0; i < 16; ++i) {
    verbs::WorkRequest request = world().request(Verb::kSendImm, 64);
    request.delivery = Delivery::kOrdered;
    request.immediate = i;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  }
  world().run();
  ASSERT_EQ(world().completions(1).size(), 16U);
  // Entries have the ids 1 to 16: message i takes the i-th, whenever its bytes are in place.
  for (const verbs::Completion& completion : world().completions(1)) {
    EXPECT_EQ(completion.id, completion.immediate + 1);
  }
}

TEST_F(Fault, Uet_3_5_12_AcknowledgedWhileItsPayloadIsFetchedAgainFreesThePlaceAtOnce) {
  // The first packet is being fetched for its repetition when the acknowledgement of the original comes. The
  // second one was waiting for its place among the packets fetched ahead.
  UetConfig config;
  config.payload_mtu = 256;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  config.fetch_ahead_packets = 1;
  config.rto_init = microseconds(40);
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(5);
  start(config, options);
  std::optional<wire::Packet> late;
  world().lose = [&](const wire::Packet& packet) {
    if (late || !wire::is_uet_ack(packet.uet.prologue.type)) return false;
    late = packet;
    return true;
  };
  ASSERT_EQ(world().post(world().request(Verb::kWrite, 512)), engine::PostStatus::kOk);
  while (world().counters(0).timeouts == 0) world().pass(microseconds(1));
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(world().counters(0).packets_retransmitted, 0U) << "still being fetched";
  world().pair().inject(0, *late);
  world().pass(microseconds(30));
  EXPECT_EQ(world().completions(0).size(), 1U) << "no timeout had to come for the second packet";
  world().run();
  EXPECT_EQ(world().counters(0).timeouts, 1U);
}

TEST_F(Fault, Uet_3_5_12_RodGoesBackOncePerRoundTripHoweverManyNacksComeOfIt) {
  // Every packet is lost. NACKs of one round that name its gap, or a trimmed packet behind it, come close
  // together: the first one has made everything go again already.
  start();
  world().lose = [](const wire::Packet&) { return true; };
  for (std::uint64_t i = 0; i < 4; ++i) {
    verbs::WorkRequest request = world().request(Verb::kWrite, 8, 64 * i);
    request.delivery = Delivery::kOrdered;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  }
  ASSERT_EQ(world().sent.size(), 4U);
  const wire::UetRequest first = world().sent[0].uet.request;
  const auto refuse = [&](UetNackCode code, wire::UetPsn behind, bool again) {
    wire::Packet refusal = wire::uet_packet();
    refusal.source = {1};
    refusal.destination = {0};
    wire::UetNack& nack = wire::use_nack(refusal.uet, code);
    nack.psn = first.psn + behind;
    nack.payload = first.psn;
    nack.destination_pdcid = first.source_pdcid;
    if (again) refusal.uet.prologue.flags = wire::kUetRetransmit;
    world().pair().inject(0, refusal);
  };
  world().pass(microseconds(2));
  refuse(UetNackCode::kRodOutOfOrder, 1, false);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 4U);
  world().pass(microseconds(2));
  refuse(UetNackCode::kRodOutOfOrder, 1, true);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 8U) << "a gap in the second round";
  world().pass(nanoseconds(100));
  refuse(UetNackCode::kRodOutOfOrder, 2, true);
  refuse(UetNackCode::kTrimmed, 3, true);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 8U) << "the third round cannot have caused them";
  world().pass(microseconds(2));
  refuse(UetNackCode::kTrimmed, 3, true);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 9U);
  refuse(UetNackCode::kRodOutOfOrder, 1, true);
  EXPECT_EQ(world().counters(0).packets_retransmitted, 13U) << "a gap in the third round";
}

}  // namespace
}  // namespace wharf::uet
