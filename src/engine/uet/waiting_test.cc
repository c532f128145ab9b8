// SPDX-License-Identifier: Apache-2.0
// Messages that wait at the target for a receive, and what of the target waits for room: what comes in
// between neither loses them nor is refused on their account. [UE 1.0 3.4]
#include <gtest/gtest.h>

#include <memory>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Delivery;
using verbs::Verb;
using wire::UetOpcode;

UetConfig deferrable() {
  UetConfig config;
  config.payload_mtu = 256;
  config.default_mpr = 1;
  config.two_sided_delivery = Delivery::kUnordered;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  return config;
}

/// Of the other end: room for one PDC of its own, which goes when it is idle.
UetConfig one_pdc(UetConfig config) {
  config.pdc_limit = 1;
  config.idle_timeout = milliseconds(5);
  return config;
}

class Waiting : public ::testing::Test {
 protected:
  void start(const UetConfig& config0, const UetConfig& config1, std::uint32_t queues = 1) {
    world_ = std::make_unique<World>(config0, config1, test::EnginePairOptions{}, queues);
    world().watch();
  }
  void start(const UetConfig& config, std::uint32_t queues = 1) { start(config, config, queues); }
  World& world() { return *world_; }
  const Endpoint& target(std::size_t i = 0) {
    return *world().engine(1).parts().endpoints.find(world().queue(1, i));
  }
  PostStatus take(const verbs::ReceiveRequest& receive, std::size_t i = 0) {
    return world().pair().post_receive(1, world().queue(1, i), receive);
  }
  /// A send of host 0 that finds no receive and is put off.
  void put_off(std::uint32_t length, std::uint64_t times = 1) {
    ASSERT_EQ(world().post(world().request(Verb::kSend, length)), PostStatus::kOk);
    world().pass(microseconds(100));
    ASSERT_EQ(world().counters(0).messages_deferred, times);
    ASSERT_TRUE(world().completions(0).empty());
  }
  /// The queue of host 0 fails and is reset: its requests have ended.
  void flush_source() {
    ASSERT_TRUE(world().engine(0).fail_queue(world().now(), world().queue(0)).ok());
    ASSERT_TRUE(world().engine(0).reset_queue(world().now(), world().queue(0)).ok());
    world().pair().drain(0);
    world().pass(microseconds(20));
    ASSERT_EQ(world().completions(0).size(), 1U);
    EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kFlushed);
  }
  /// The one PDC that host 1 may open is taken, for some time.
  void take_pdc() {
    verbs::WorkRequest request = world().request(Verb::kWrite, 64, 0, 1);
    request.delivery = Delivery::kOrdered;
    ASSERT_EQ(world().post(request, engine::Submission::kInHand, 1), PostStatus::kOk);
    world().pass(microseconds(50));
    ASSERT_EQ(world().completions(1).size(), 1U);
  }

 private:
  std::unique_ptr<World> world_;
};

// --- Records of sends that were put off

TEST_F(Waiting, ARestartedSendWhoseFirstPacketComesLastIsDelivered) {
  constexpr std::uint32_t kLength = 64 * 1024;
  start(deferrable());
  world().fill(0, World::kLocal, kLength, 4);
  put_off(kLength);
  bool lost = false;
  world().lose = [&](const wire::Packet& packet) {
    if (lost || !wire::is_uet_pdc_request(packet.uet.prologue.type) ||
        packet.uet.prologue.next != wire::UetNextHeader::kRequestStandard) {
      return false;
    }
    const wire::UetSesRequest& request = packet.uet.ses;
    lost = is_deferrable(request.opcode) && request.first() &&
           static_cast<std::uint32_t>(request.buffer_offset) != 0;
    return lost;
  };
  ASSERT_EQ(take(world().receive(0, kLength)), PostStatus::kOk);
  world().run();
  EXPECT_TRUE(lost);
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  ASSERT_EQ(world().completions(1).size(), 1U) << "the sender has heard of success";
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, kLength));
}

TEST_F(Waiting, AWriteUnderTheIdOfASendThatWasPutOffIsDone) {
  start(deferrable());
  put_off(64 * 1024);
  flush_source();
  world().fill(0, World::kLocal, 3 * 256, 5);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 3 * 256)).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 3 * 256));
}

// --- Who may enable an endpoint again

TEST_F(Waiting, AReceiveThatComesBackDoesNotEnableWhatTheProgramDisabled) {
  start(deferrable());
  put_off(64 * 1024);
  flush_source();
  ASSERT_EQ(take(world().receive(0, 64 * 1024)), PostStatus::kOk);
  // It is asked for, and the answer will be that nobody knows it.
  ASSERT_TRUE(target().receives.empty());
  ASSERT_TRUE(world().engine(1).set_enabled(world().now(), world().queue(1), false).ok());
  world().pass(milliseconds(1));
  EXPECT_FALSE(target().receives.empty()) << "the receive has come back";
  EXPECT_FALSE(target().enabled);
}

TEST_F(Waiting, APieceOfATaggedAtomicDisablesNothing) {
  start(UetConfig{});
  ASSERT_EQ(take(world().receive(0, 64)), PostStatus::kOk);
  HandMade hand;
  hand.start = hand.psn = 1000;
  hand.ordered = true;
  hand.opcode = UetOpcode::kTaggedSendAtomic;
  hand.ses_flags = wire::kUetRelative;  // Neither the first nor the last packet.
  hand.payload = wire::pattern_payload(1, 0, 8);
  hand.request_length = 64;
  hand.message_offset = 8;
  world().pair().inject(1, hand.packet());
  EXPECT_TRUE(target().enabled);
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
  EXPECT_EQ(world().counters(1).refused_return_code[static_cast<int>(wire::UetReturnCode::kUnsupportedSize)],
            1U);
}

// --- First posted wins

TEST_F(Waiting, AReceiveThatIsTooShortForADatagramKeepsItsPlace) {
  start(UetConfig{});
  UetEngine& source = world().engine(0);
  EndpointAddress address = source.parts().config.endpoint;
  address.resource_index = static_cast<std::uint16_t>(address.resource_index + 10);
  const engine::QueueId other = source.create_endpoint(world().now(), {}, address, 77).value();
  const auto blob = world().engine(1).export_queue(world().queue(1)).value();
  const verbs::PeerId peer = source.connect(world().now(), other, blob).value();
  verbs::ReceiveRequest of_one = world().receive(0, 64);
  of_one.from_one_sender = true;
  of_one.sender = 77;
  const verbs::ReceiveRequest of_all = world().receive(64, 64);
  ASSERT_EQ(take(of_one), PostStatus::kOk);
  ASSERT_EQ(take(of_all), PostStatus::kOk);
  verbs::WorkRequest datagram = world().request(Verb::kSend, 100);
  datagram.delivery = Delivery::kDatagram;
  EXPECT_TRUE(world().finish(datagram).ok());
  EXPECT_EQ(world().counters(1).dropped_no_room, 1U);
  verbs::WorkRequest send = world().request(Verb::kSend, 10);
  send.peer = peer;
  ASSERT_EQ(world().pair().post(0, other, send), PostStatus::kOk);
  world().run();
  ASSERT_EQ(world().completions(1).size(), 1U);
  EXPECT_EQ(world().completions(1)[0].id, of_one.id) << "it was posted first";
}

TEST_F(Waiting, AnEndpointThatRefusedForWantOfRoomTakesSendsWhenThereIsRoom) {
  UetConfig config;
  config.unexpected_messages = 1;
  config.message_retries = 0;
  start(config, 2);
  verbs::ReceiveRequest tagged = world().receive(0, 64);
  tagged.tagged = true;
  tagged.tag = 1;
  ASSERT_EQ(take(tagged), PostStatus::kOk);
  // The other endpoint's message takes the only place.
  verbs::WorkRequest kept = world().request(Verb::kSend, 64);
  kept.peer = world().peer(0, 1);
  ASSERT_EQ(world().pair().post(0, world().queue(0, 1), kept), PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(world().completions(0).size(), 1U);
  verbs::WorkRequest send = world().request(Verb::kSend, 64);
  send.tagged = true;
  send.tag = 2;
  EXPECT_EQ(world().finish(send).status, CompletionStatus::kReceiverNotReady);
  ASSERT_FALSE(target().enabled);
  ASSERT_EQ(take(world().receive(64, 64), 1), PostStatus::kOk);
  world().pass(microseconds(50));
  send = world().request(Verb::kSend, 64);
  send.tagged = true;
  send.tag = 1;
  EXPECT_TRUE(world().finish(send).ok()) << "its receive has been there all the time";
}

// --- No room to ask for the rest

TEST_F(Waiting, ASendThatWasPutOffIsAskedForWhenThereIsAPdc) {
  start(deferrable(), one_pdc(deferrable()));
  world().fill(0, World::kLocal, 3000, 6);
  take_pdc();
  put_off(3000, 1);
  put_off(3000, 2);
  ASSERT_EQ(take(world().receive(0, 3000)), PostStatus::kOk);
  world().pass(milliseconds(100));
  ASSERT_EQ(world().completions(0).size(), 1U) << "one receive, one send";
  EXPECT_TRUE(world().completions(0)[0].ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 3000));
  // The other has lost nothing.
  ASSERT_EQ(take(world().receive(0, 3000)), PostStatus::kOk);
  world().pass(milliseconds(100));
  ASSERT_EQ(world().completions(0).size(), 2U);
  EXPECT_TRUE(world().completions(0)[1].ok());
}

TEST_F(Waiting, WhatCouldNotBeAskedForGoesWithItsQueue) {
  start(deferrable(), one_pdc(deferrable()));
  take_pdc();
  put_off(3000);
  ASSERT_EQ(take(world().receive(0, 3000)), PostStatus::kOk);
  ASSERT_TRUE(world().engine(1).fail_queue(world().now(), world().queue(1)).ok());
  world().pair().drain(1);
  world().pass(microseconds(20));
  ASSERT_EQ(world().completions(1).size(), 2U);
  EXPECT_EQ(world().completions(1)[1].status, CompletionStatus::kFlushed);
  world().pass(seconds(1));
  EXPECT_EQ(world().completions(1).size(), 2U);
  ASSERT_EQ(world().completions(0).size(), 1U) << "its sender is told";
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kReceiverNotReady);
  EXPECT_EQ(world().engine(1).parts().outbound.in_use(), 0U);
}

TEST_F(Waiting, TheRestOfARendezvousIsReadWhenThereIsAPdc) {
  UetConfig config = deferrable();
  config.large_send = LargeSend::kRendezvous;
  config.eager_bytes = 256;
  config.max_ack_data_bytes = 256;
  start(config, one_pdc(config));
  world().fill(0, World::kLocal, 3000, 6);
  take_pdc();
  ASSERT_EQ(world().post(world().request(Verb::kSend, 3000)), PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(take(world().receive(0, 3000)), PostStatus::kOk);
  world().pass(milliseconds(100));
  ASSERT_EQ(world().completions(1).size(), 2U);
  EXPECT_TRUE(world().completions(1)[1].ok());
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_TRUE(world().completions(0)[0].ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 3000));
}

TEST_F(Waiting, ARendezvousThatCouldNotBeReadGoesWithItsQueue) {
  UetConfig config = deferrable();
  config.large_send = LargeSend::kRendezvous;
  config.eager_bytes = 256;
  config.max_ack_data_bytes = 256;
  start(config, one_pdc(config));
  take_pdc();
  ASSERT_EQ(world().post(world().request(Verb::kSend, 3000)), PostStatus::kOk);
  world().pass(microseconds(50));
  ASSERT_EQ(take(world().receive(0, 3000)), PostStatus::kOk);
  ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
  world().pass(milliseconds(100));
  EXPECT_EQ(world().engine(1).parts().inbound_messages.in_use(), 0U);
}

// --- Its endpoint goes

TEST_F(Waiting, ASendThatWasPutOffEndsWhenItsEndpointIsDestroyed) {
  start(deferrable());
  put_off(64 * 1024);
  ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
  world().run();
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kRemoteOperation);
  EXPECT_EQ(world().engine(0).parts().outbound.in_use(), 0U);
  EXPECT_EQ(world().engine(1).parts().outbound.in_use(), 0U);
}

TEST_F(Waiting, ASendWhoseEndpointGoesBeforeItHasItsAnswersEndsToo) {
  for (const bool asked : {false, true}) {
    start(deferrable());
    ASSERT_EQ(world().post(world().request(Verb::kSend, 64 * 1024)), PostStatus::kOk);
    while (target().deferred.empty()) world().pass(nanoseconds(100));
    ASSERT_EQ(world().counters(0).messages_deferred, 0U) << "its answer is under way";
    if (asked) {
      ASSERT_EQ(take(world().receive(0, 64 * 1024)), PostStatus::kOk);
    }
    ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
    world().pair().drain(1);
    world().run();
    ASSERT_EQ(world().completions(0).size(), 1U) << "asked for before: " << asked;
    EXPECT_FALSE(world().completions(0)[0].ok());
  }
}

TEST_F(Waiting, ASendIsToldOfItsEndpointWhenThereIsAPdc) {
  start(deferrable(), one_pdc(deferrable()));
  take_pdc();
  put_off(3000);
  ASSERT_TRUE(world().engine(1).destroy_queue(world().now(), world().queue(1)).ok());
  world().pass(milliseconds(200));
  ASSERT_EQ(world().completions(0).size(), 1U);
  EXPECT_EQ(world().completions(0)[0].status, CompletionStatus::kRemoteOperation);
}

TEST_F(Waiting, AQueueThatIsResetTakesNoSendForOneThatHasGone) {
  start(deferrable());
  put_off(64 * 1024);
  flush_source();
  ASSERT_TRUE(world().engine(1).fail_queue(world().now(), world().queue(1)).ok());
  ASSERT_TRUE(world().engine(1).reset_queue(world().now(), world().queue(1)).ok());
  ASSERT_EQ(take(world().receive(0, 64)), PostStatus::kOk);
  EXPECT_FALSE(target().receives.empty()) << "nothing waits for it";
  EXPECT_TRUE(world().finish(world().request(Verb::kSend, 64)).ok());
  EXPECT_EQ(world().completions(1).size(), 1U);
}

}  // namespace
}  // namespace wharf::uet
