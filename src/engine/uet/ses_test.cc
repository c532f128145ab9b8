// SPDX-License-Identifier: Apache-2.0
// The semantic sublayer rule by rule: lookup order, codes, matching, rendezvous, deferred sends, generations,
// header forms, delivery without a PDC. Each test is named after the section of UE 1.0 that it shows.
#include "engine/uet/engine_parts.h"
#include "engine/uet/exchange.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::CompletionStatus;
using verbs::Delivery;
using verbs::Verb;
using wire::UetNextHeader;
using wire::UetOpcode;
using wire::UetPdsType;
using wire::UetReturnCode;

class Ses : public ::testing::Test {
 protected:
  void start(UetConfig config = {}, test::EnginePairOptions options = {}, std::uint32_t queues = 1) {
    config.message_retry_time = microseconds(50);
    world_ = std::make_unique<World>(config, options, queues);
    world_->watch();
    hand.start = hand.psn = 1000;
    hand.key = key(world_->token(1));
    hand.address = World::kRemote;
    hand.payload = wire::pattern_payload(1, 0, 64);
  }
  static std::uint64_t key(verbs::SegmentToken token) {
    return (std::uint64_t{token.value} << 32U) | token.id;
  }
  /// The code with which host 1 answers the hand-made request.
  UetReturnCode answer() {
    world_->sent.clear();
    world_->pair().inject(1, hand.packet());
    EXPECT_EQ(world_->sent.size(), 1U);
    if (world_->sent.size() != 1 || !wire::is_uet_ack(world_->sent[0].uet.prologue.type))
      return UetReturnCode::kExtended;
    return world_->sent[0].uet.response.return_code;
  }
  World& world() { return *world_; }

  HandMade hand;
  std::unique_ptr<World> world_;
};

TEST_F(Ses, Uet_3_4_UnknownJob) {
  start();
  hand.job_id = 9;
  EXPECT_EQ(answer(), UetReturnCode::kBadJobId);
}

TEST_F(Ses, Uet_3_4_UnknownProcess) {
  start();
  hand.pid = 3;
  EXPECT_EQ(answer(), UetReturnCode::kBadPid);
}

TEST_F(Ses, Uet_3_4_UnknownIndex) {
  start();
  hand.index = 99;
  EXPECT_EQ(answer(), UetReturnCode::kBadIndex);
}

TEST_F(Ses, Uet_3_4_StaleGenerationIsToldTheCurrentOne) {
  UetConfig config;
  config.use_ri_generation = true;
  start(config);
  hand.generation = 7;
  EXPECT_EQ(answer(), UetReturnCode::kBadGeneration);
  EXPECT_EQ(world().sent[0].uet.response.ri_generation, 1);
}

TEST_F(Ses, Uet_3_4_DisabledIndexComesBeforeTheMatch) {
  start();
  ASSERT_TRUE(world().engine(1).set_enabled(world().now(), world().queue(1), false).ok());
  hand.opcode = UetOpcode::kSend;
  EXPECT_EQ(answer(), UetReturnCode::kDisabled);
}

TEST_F(Ses, Uet_3_4_AbsoluteAddressingAuthorisesByJob) {
  start();
  const EndpointAddress server{7, 5, 20, false};
  ASSERT_TRUE(world().engine(1).create_endpoint(world().now(), {}, server, 1).ok());
  const auto token = world().engine(1).register_region(
      world().now(), {.base = World::kBase, .length = World::kSize}, 7, 0x123, false);
  hand.job_id = 7;
  hand.pid = 5;
  hand.index = 20;
  hand.ses_flags = wire::kUetSom | wire::kUetEom;
  hand.key = 0x123;
  EXPECT_EQ(answer(), UetReturnCode::kOk);
  hand.dpdcid = world().sent[0].uet.ack.source_pdcid;
  hand.psn = 1001;
  hand.job_id = 1;
  EXPECT_EQ(answer(), UetReturnCode::kBadJobId);
}

TEST_F(Ses, Uet_3_4_WrongKey) {
  start();
  hand.key ^= 0x100;
  EXPECT_EQ(answer(), UetReturnCode::kBadMemoryKey);
}

TEST_F(Ses, Uet_3_4_KeyOfAnotherJob) {
  start();
  const auto token = world().engine(1).register_region(world().now(), {.base = World::kBase, .length = 64}, 2,
                                                       std::nullopt, false);
  hand.key = key(*token);
  EXPECT_EQ(answer(), UetReturnCode::kBadMemoryKey);
}

TEST_F(Ses, Uet_3_4_PermissionIsChecked) {
  start();
  const auto token = world().engine(1).register_segment(
      world().now(), {.base = World::kRemote, .length = 64, .rights = verbs::kReadOnly});
  hand.key = key(*token);
  EXPECT_EQ(answer(), UetReturnCode::kPermissionViolation);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 0U);
}

TEST_F(Ses, Uet_3_4_BoundsAreChecked) {
  start();
  hand.address = World::kBase + World::kSize - 63;
  EXPECT_EQ(answer(), UetReturnCode::kBadAddress);
  hand.dpdcid = world().sent[0].uet.ack.source_pdcid;
  hand.psn = 1001;
  hand.address = World::kBase + World::kSize - 64;
  EXPECT_EQ(answer(), UetReturnCode::kOk);
}

TEST_F(Ses, Uet_3_4_ReservedOpcode) {
  start();
  hand.opcode = static_cast<UetOpcode>(0x11);
  EXPECT_EQ(answer(), UetReturnCode::kUnsupportedOperation);
}

TEST_F(Ses, Uet_3_4_InitiatorErrorTouchesNoMemory) {
  start();
  hand.ses_flags |= wire::kUetInitiatorError;
  EXPECT_EQ(answer(), UetReturnCode::kInitiatorError);
  EXPECT_EQ(world().pair().memory(1).count(engine::AccessKind::kWrite), 0U);
}

TEST_F(Ses, Uet_3_4_OffsetsCountFromTheRegionUnlessVirtual) {
  UetConfig config;
  config.virtual_addresses = false;
  start(config);
  hand.address = 16;
  EXPECT_EQ(answer(), UetReturnCode::kOk);
  EXPECT_TRUE(wire::payload_equal(hand.payload,
                                  wire::bytes_payload(world().pair().memory(1).at(World::kBase + 16, 64))));
}

TEST_F(Ses, Uet_3_4_FailuresReachTheInitiatorAsStatus) {
  start();
  auto request = world().request(Verb::kWrite, 9000);
  request.remote.token.id ^= 0x40;
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
  request = world().request(Verb::kRead, 9000);
  request.remote.address = World::kBase + World::kSize - 100;
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 100)).ok());
}

TEST_F(Ses, Uet_3_4_AbandonedMessageIsEndedByMsgError) {
  UetConfig config;
  config.payload_mtu = 256;
  config.controller = congestion::ConstantWindowConfig{.packets = 1};
  start(config);
  auto request = world().request(Verb::kWrite, 256 * 20);
  request.remote.token.id ^= 0x40;
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
  int errors = 0;
  for (const wire::Packet& packet : world().sent_of(UetPdsType::kRudRequest)) {
    errors += packet.uet.ses.opcode == UetOpcode::kMessageError ? 1 : 0;
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
}

TEST_F(Ses, Uet_3_4_SegmentsCarryOffsetsAndOneId) {
  start();
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 12288)).ok());
  const auto requests = world().sent_of(UetPdsType::kRudRequest);
  ASSERT_EQ(requests.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const wire::UetSesRequest& ses = requests[i].uet.ses;
    EXPECT_EQ(ses.first(), i == 0);
    EXPECT_EQ(ses.last(), i == 2);
    EXPECT_EQ(ses.message_id, requests[0].uet.ses.message_id);
    EXPECT_EQ(ses.request_length, 12288U);
    EXPECT_EQ(ses.message_offset, 4096 * i);
    EXPECT_EQ(requests[i].uet.request.psn, requests[0].uet.request.psn + i);
  }
}

TEST_F(Ses, Uet_3_4_SmallReadTravelsOnTheAcknowledgement) {
  start();
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 16)).ok());
  EXPECT_EQ(world().sent_of(UetPdsType::kRudRequest).size(), 1U);
  world().sent.clear();
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 17)).ok());
  EXPECT_EQ(world().sent_of(UetPdsType::kRudRequest).size(), 2U);
}

TEST_F(Ses, Uet_3_4_MediumAndSmallHeaders) {
  UetConfig config;
  config.medium_headers = true;
  start(config);
  world().fill(1, World::kRemote, 4096, 5);
  EXPECT_TRUE(world().finish(world().request(Verb::kRead, 4096)).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 4096));
  auto requests = world().sent_of(UetPdsType::kRudRequest);
  EXPECT_EQ(requests[0].uet.prologue.next, UetNextHeader::kRequestMedium);
  EXPECT_EQ(requests[1].uet.prologue.next, UetNextHeader::kResponseDataSmall);
  EXPECT_EQ(requests[1].uet.response.original_request_psn, requests[0].uet.request.psn);
  config.small_headers = true;
  start(config);
  world().fill(0, World::kLocal, 100, 8);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 100)).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 100));
  requests = world().sent_of(UetPdsType::kRudRequest);
  EXPECT_EQ(requests[0].uet.prologue.next, UetNextHeader::kRequestSmall);
  // More than one packet needs the standard header.
  world().sent.clear();
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 5000)).ok());
  EXPECT_EQ(world().sent_of(UetPdsType::kRudRequest)[0].uet.prologue.next, UetNextHeader::kRequestStandard);
}

TEST_F(Ses, Uet_3_4_TagsMatchWithIgnoreBitsAndFirstPostedWins) {
  start();
  const auto receive = [&](std::uint64_t tag, std::uint64_t ignore, std::uint64_t at) {
    verbs::ReceiveRequest made = world().receive(at, 64);
    made.id = at;
    made.tagged = true;
    made.tag = tag;
    made.ignore = ignore;
    EXPECT_EQ(world().pair().post_receive(1, world().queue(1), made), engine::PostStatus::kOk);
  };
  receive(0xa000, 0, 1000);
  receive(0xb000, 0xff, 2000);
  receive(0xb001, 0, 3000);
  const auto send = [&](std::uint64_t tag) {
    verbs::WorkRequest request = world().request(Verb::kSend, 8);
    request.tagged = true;
    request.tag = tag;
    EXPECT_TRUE(world().finish(request).ok());
    return world().completions(1).back();
  };
  EXPECT_EQ(send(0xb001).id, 2000U);
  EXPECT_EQ(world().completions(1).back().tag, 0xb001U);
  EXPECT_EQ(send(0xb001).id, 3000U);
  EXPECT_EQ(send(0xa000).id, 1000U);
}

TEST_F(Ses, Uet_3_4_TaggedAndUntaggedReceivesAreApart) {
  start();
  auto tagged = world().receive(0, 64);
  tagged.tagged = true;
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), tagged), engine::PostStatus::kOk);
  const auto untagged = world().receive(64, 64);
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), untagged), engine::PostStatus::kOk);
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 8)).ok());
  EXPECT_EQ(world().completions(1).at(0).id, untagged.id);
}

TEST_F(Ses, Uet_3_4_ReceiveFromOneSenderOnly) {
  start();
  auto other = world().receive(0, 64);
  other.from_one_sender = true;
  other.sender = 99;
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), other), engine::PostStatus::kOk);
  const auto any = world().receive(64, 64);
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), any), engine::PostStatus::kOk);
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 8)).ok());
  EXPECT_EQ(world().completions(1).at(0).id, any.id);
}

TEST_F(Ses, Uet_3_4_UnexpectedMessageIsKeptAndMatchedLater) {
  start();
  world().fill(0, World::kLocal, 9000, 4);
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 9000)).ok());
  bool overflow = false;
  for (const wire::Packet& packet : world().sent) {
    overflow |= wire::is_uet_ack(packet.uet.prologue.type) &&
                packet.uet.response.list == wire::UetListCode::kOverflow;
  }
  EXPECT_TRUE(overflow);
  EXPECT_TRUE(world().completions(1).empty());
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 9000)),
            engine::PostStatus::kOk);
  world().run();
  EXPECT_EQ(world().completions(1).size(), 1U);
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 9000));
  EXPECT_EQ(world().pair().pool().in_use(), 0U);
}

TEST_F(Ses, Uet_3_4_TruncatedReceive) {
  start();
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 100)),
            engine::PostStatus::kOk);
  world().fill(0, World::kLocal, 200, 4);
  EXPECT_EQ(world().finish(world().request(Verb::kSend, 200)).status,
            CompletionStatus::kRemoteUnsupportedRequest);
  EXPECT_EQ(world().completions(1).at(0).status, CompletionStatus::kLocalLength);
  EXPECT_EQ(world().completions(1).at(0).length, 100U);
  // As much as modified_length says has been delivered, and nothing behind it.
  const wire::Packet answer = world().sent_of(UetPdsType::kAckCc).at(0);
  EXPECT_EQ(answer.uet.response.return_code, UetReturnCode::kTooLong);
  EXPECT_EQ(answer.uet.response.modified_length, 100U);
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 100));
  EXPECT_EQ(world().pair().memory(1).at(World::kRemote + 100, 1)[0], std::byte{0});
}

TEST_F(Ses, Uet_3_4_NoMatchIsRetriedAndThenReported) {
  UetConfig config;
  config.unexpected = UnexpectedSend::kRefuse;
  config.two_sided_delivery = Delivery::kUnordered;
  config.message_retries = 2;
  start(config);
  EXPECT_EQ(world().finish(world().request(Verb::kSend, 8)).status, CompletionStatus::kReceiverNotReady);
  EXPECT_EQ(world().counters(0).messages_retried, 2U);
  EXPECT_EQ(world().counters(1).refused_return_code[static_cast<int>(UetReturnCode::kNoMatch)], 3U);
}

TEST_F(Ses, Uet_3_4_OrderSurvivesADisabledIndex) {
  UetConfig config;
  config.unexpected = UnexpectedSend::kRefuse;
  config.use_ri_generation = true;
  config.message_retries = kMessageRetriesForever;
  start(config);
  for (std::uint32_t i = 0; i < 6; ++i) {
    auto request = world().request(Verb::kSendImm, 8);
    request.immediate = i;
    ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  }
  world().pass(microseconds(20));
  EXPECT_GT(world().counters(1).refused_return_code[static_cast<int>(UetReturnCode::kDisabledGeneration)],
            0U);
  for (std::uint32_t i = 0; i < 6; ++i) {
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(i * 64, 64)),
              engine::PostStatus::kOk);
    world().pass(microseconds(7));
  }
  world().run();
  ASSERT_EQ(world().completions(1).size(), 6U);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(world().completions(1)[i].immediate, i);
  EXPECT_EQ(world().completions(0).size(), 6U);
}

TEST_F(Ses, Uet_3_4_RendezvousReadsTheRemainder) {
  UetConfig config;
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 1000;
  config.eager_bytes = 512;
  start(config);
  world().fill(0, World::kLocal, 30000, 6);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 30000)), engine::PostStatus::kOk);
  world().pass(microseconds(50));
  EXPECT_TRUE(world().completions(0).empty());
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 30000)),
            engine::PostStatus::kOk);
  world().run();
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  EXPECT_TRUE(world().completions(1).at(0).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 30000));
  const auto requests = world().sent_of(UetPdsType::kRodRequest);
  EXPECT_EQ(requests[0].uet.ses.opcode, UetOpcode::kRendezvousSend);
  EXPECT_EQ(requests[0].payload.length, 512U);
  EXPECT_EQ(requests[0].uet.rendezvous.eager_length, 512U);
}

TEST_F(Ses, ASendThatLeavesNothingToReadNeedsNoRendezvous) {
  UetConfig config;
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 0;
  config.eager_bytes = 4096;
  start(config);
  world().fill(0, World::kLocal, 16);
  for (const std::uint32_t length : {1U, 16U}) {
    ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, length)),
              engine::PostStatus::kOk);
    EXPECT_TRUE(world().finish(world().request(Verb::kSend, length)).ok());
    EXPECT_EQ(world().completions(1).back().length, length);
    EXPECT_TRUE(world().same(World::kLocal, World::kRemote, length));
  }
}

TEST_F(Ses, Uet_3_4_DeferredSendStartsAgainWhenAsked) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  start(config);
  world().fill(0, World::kLocal, 30000, 6);
  ASSERT_EQ(world().post(world().request(Verb::kSend, 30000)), engine::PostStatus::kOk);
  world().pass(microseconds(50));
  EXPECT_TRUE(world().completions(0).empty());
  EXPECT_EQ(world().counters(0).messages_deferred, 1U);
  world().sent.clear();
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 30000)),
            engine::PostStatus::kOk);
  world().run();
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 30000));
  // The target asked on its own; the restarted message carries both tokens.
  EXPECT_EQ(world().sent_of(UetPdsType::kRudRequest).at(0).uet.ses.opcode,
            UetOpcode::kDeferrableReadyToRestart);
  EXPECT_NE(static_cast<std::uint32_t>(world().sent_of(UetPdsType::kRodRequest).at(0).uet.ses.buffer_offset),
            0U);
}

TEST_F(Ses, Uet_3_4_MatchedDeferrableSendIsAnOrdinaryOne) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  start(config);
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 30000)),
            engine::PostStatus::kOk);
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 30000)).ok());
  EXPECT_EQ(world().counters(0).messages_deferred, 0U);
}

TEST_F(Ses, Uet_3_4_TypedAtomicsOnArrays) {
  start();
  const std::array<float, 4> initial{1.5F, -2.0F, 8.0F, 0.25F};
  const std::array<float, 4> operand{2.0F, -3.0F, 4.0F, 1.0F};
  std::memcpy(world().pair().memory(1).at(World::kRemote, 16).data(), initial.data(), 16);
  std::memcpy(world().pair().memory(0).at(World::kLocal, 16).data(), operand.data(), 16);
  auto request = world().request(Verb::kFetchAdd, 8);
  request.atomic_function = verbs::AtomicFunction::kMax;
  request.atomic_type = verbs::AtomicType::kFloat;
  request.length = 16;
  request.local_count = 1;
  request.local[0] = {World::kLocal, 16};
  EXPECT_TRUE(world().finish(request).ok());
  std::array<float, 4> result{};
  std::memcpy(result.data(), world().pair().memory(1).at(World::kRemote, 16).data(), 16);
  EXPECT_EQ(result, (std::array<float, 4>{2.0F, -2.0F, 8.0F, 1.0F}));
  std::memcpy(result.data(), world().pair().memory(0).at(World::kLocal, 16).data(), 16);
  EXPECT_EQ(result, initial);
}

TEST_F(Ses, Uet_3_4_AtomicCodes) {
  start();
  auto request = world().request(Verb::kFetchAdd, 8, 4);
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteUnsupportedRequest);
  EXPECT_EQ(world().counters(1).refused_return_code[static_cast<int>(UetReturnCode::kAtomicUnaligned)], 1U);
  request = world().request(Verb::kAtomicStore, 8);
  request.atomic_function = verbs::AtomicFunction::kBitOr;
  request.atomic_type = verbs::AtomicType::kDouble;
  request.length = 8;
  request.local_count = 1;
  request.local[0] = {World::kLocal, 8};
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteUnsupportedRequest);
  EXPECT_EQ(
      world().counters(1).refused_return_code[static_cast<int>(UetReturnCode::kAtomicUnsupportedOperation)],
      1U);
}

TEST_F(Ses, Uet_3_5_RudiNeedsAnIdempotentRegionAndNoPdc) {
  UetConfig config;
  config.payload_mtu = 1024;
  start(config);
  const auto region = world().engine(1).register_region(
      world().now(), {.base = World::kRemote, .length = 100000}, 1, std::nullopt, true);
  world().fill(0, World::kLocal, 10000, 3);
  auto request = world().request(Verb::kWrite, 10000);
  request.delivery = Delivery::kIdempotent;
  EXPECT_EQ(world().finish(request).status, CompletionStatus::kRemoteAccess);
  request.remote.token = *region;
  EXPECT_TRUE(world().finish(request).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 10000));
  world().fill(1, World::kRemote, 10000, 9);
  request.verb = Verb::kRead;
  EXPECT_TRUE(world().finish(request).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 10000));
  EXPECT_EQ(world().counters(0).pdcs_opened, 0U);
  for (const wire::Packet& packet : world().sent) {
    EXPECT_TRUE(packet.uet.prologue.type == UetPdsType::kRudiRequest ||
                packet.uet.prologue.type == UetPdsType::kRudiResponse);
  }
}

TEST_F(Ses, Uet_3_5_RudiSurvivesLoss) {
  UetConfig config;
  config.payload_mtu = 256;
  config.max_rto_retries = kRtoRetriesForever;
  auto options = faulty(5, 10);
  start(config, options);
  world().pair().wire().options().drop_if = nullptr;
  const auto region = world().engine(1).register_region(
      world().now(), {.base = World::kRemote, .length = 100000}, 1, std::nullopt, true);
  for (const Verb verb : {Verb::kWrite, Verb::kRead}) {
    world().fill(verb == Verb::kWrite ? 0 : 1, verb == Verb::kWrite ? World::kLocal : World::kRemote, 20000,
                 3);
    auto request = world().request(verb, 20000);
    request.delivery = Delivery::kIdempotent;
    request.remote.token = *region;
    EXPECT_TRUE(world().finish(request).ok());
    EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 20000));
  }
  EXPECT_GT(world().counters(0).packets_retransmitted, 0U);
}

TEST_F(Ses, Uet_3_5_DatagramsAreBestEffort) {
  start();
  auto request = world().request(Verb::kSend, 100);
  request.delivery = Delivery::kDatagram;
  EXPECT_TRUE(world().finish(request).ok());
  EXPECT_EQ(world().counters(1).dropped_no_room, 1U);
  ASSERT_EQ(world().pair().post_receive(1, world().queue(1), world().receive(0, 100)),
            engine::PostStatus::kOk);
  world().fill(0, World::kLocal, 100, 3);
  EXPECT_TRUE(world().finish(request).ok());
  EXPECT_EQ(world().completions(1).size(), 1U);
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 100));
  for (const wire::Packet& packet : world().sent)
    EXPECT_EQ(packet.uet.prologue.type, UetPdsType::kUudRequest);
  EXPECT_EQ(world().sent[0].uet.ses.message_id, 0);
  request.length = request.local[0].length = 5000;
  EXPECT_EQ(world().post(request), engine::PostStatus::kUnsupported);
}

TEST_F(Ses, Uet_3_4_AddressesTravelAsFixedLengthBlobs) {
  EndpointBlob blob;
  blob.host = {77};
  blob.address = {101, 2, 0x00a, false};
  blob.initiator_id = 5;
  blob.generation = 3;
  const auto bytes = encode(blob);
  EXPECT_EQ(bytes.size(), 40U);
  const EndpointBlob read = decode_endpoint_blob(bytes).value();
  EXPECT_EQ(read.host.number, 77U);
  EXPECT_EQ(read.address, blob.address);
  EXPECT_EQ(read.initiator_id, 5U);
  EXPECT_EQ(read.generation, 3);
  auto wrong = bytes;
  wrong[0] = std::byte{9};
  EXPECT_FALSE(decode_endpoint_blob(wrong).ok());
  EXPECT_FALSE(decode_endpoint_blob({bytes.data(), 31}).ok());
}

TEST_F(Ses, Uet_3_4_FencedRequestWaitsForReads) {
  test::EnginePairOptions options;
  options.access_shortest = microseconds(3);
  options.access_longest = microseconds(3);
  start({}, options);
  ASSERT_EQ(world().post(world().request(Verb::kRead, 5000)), engine::PostStatus::kOk);
  auto request = world().request(Verb::kWrite, 8);
  request.fence = true;
  ASSERT_EQ(world().post(request), engine::PostStatus::kOk);
  world().run();
  ASSERT_EQ(world().completions(0).size(), 2U);
  EXPECT_EQ(world().completions(0)[0].verb, Verb::kRead);
}

TEST_F(Ses, Uet_3_4_ConfigurationIsRefusedByName) {
  wire::PayloadPool pool;
  Arena arena;
  UetConfig config;
  config.payload_mtu = 100;
  const auto refused = UetEngine::create(config, pool, arena);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("uet.payload_mtu: found 100"), std::string::npos);
}

TEST(SesConfig, RefusesMoreRestartsThanAreCounted) {
  UetConfig config;
  config.message_retries = 65536;
  EXPECT_EQ(validate(config).error().message, "uet.message_retries: found 65536, expected 0 to 65535");
  config.message_retries = kMessageRetriesForever;
  EXPECT_TRUE(validate(config).ok());
}

}  // namespace
}  // namespace wharf::uet
