// SPDX-License-Identifier: Apache-2.0
// Rules of reliable connections that hold alike for several kinds of requests: each kind for itself.
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::RocePair;
using test::RunEnd;
using test::small_packets;
using verbs::Verb;
using wire::AethClass;
using wire::RoceOpcode;

TEST(RoceRules, Ibta_9_7_5_1_3_ADuplicateSendIsAnsweredAndTakesNoReceive) {
  RocePair world(small_packets());
  world.watch();
  for (int count = 0; count < 2; ++count) world.pair.post_receive(1, 0, world.receive(8192, 64));
  world.fill(0, 0, 64, 1);
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(1).size(), 1u);
  wire::Packet duplicate = world.sent_of(RoceOpcode::kRcSendOnly).at(0);
  const std::vector<std::byte> bytes(64, std::byte{7});
  duplicate.payload = wire::bytes_payload(bytes);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64));
  world.pair.run_until_idle();
  world.sent.clear();
  world.pair.inject(1, duplicate);
  world.pair.run_until_idle();
  ASSERT_EQ(world.sent.size(), 1u);
  EXPECT_EQ(world.sent[0].roce.bth.psn, 101u);
  EXPECT_EQ(world.sent[0].roce.ack.aeth.syndrome_class(), AethClass::kAck);
  EXPECT_EQ(world.sent[0].roce.ack.aeth.msn, 2u);
  EXPECT_EQ(world.completions(1).size(), 1u);
  EXPECT_TRUE(world.holds(1, 8192, 64, 1));
  // The second receive is still there for the next one.
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(1).size(), 2u);
}

TEST(RoceRules, Ibta_9_4_4_LimitsOutstandingAtomics) {
  RoceConfig config = small_packets();
  config.max_read_atomic = 2;
  RocePair world(config);
  world.watch();
  for (int count = 0; count < 5; ++count) world.pair.post(0, 0, world.request(Verb::kFetchAdd, 0, 0, 8));
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcFetchAdd).size(), 2u);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 5u);
  // READs and atomics count together.
  world.sent.clear();
  for (const Verb verb : {Verb::kRead, Verb::kFetchAdd, Verb::kRead})
    world.pair.post(0, 0, world.request(verb, 0, 0, 8));
  EXPECT_EQ(world.sent.size(), 2u);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 8u);
}

TEST(RoceRules, Ibta_10_8_3_3_AFenceWaitsForEarlierAtomics) {
  RocePair world;
  world.watch();
  world.pair.post(0, 0, world.request(Verb::kFetchAdd, 0, 0, 8));
  verbs::WorkRequest fenced = world.request(Verb::kWrite, 64, 64, 64);
  fenced.fence = true;
  world.pair.post(0, 0, fenced);
  EXPECT_TRUE(world.sent_of(RoceOpcode::kRcWriteOnly).empty());
  world.pair.run_until_idle();
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteOnly).size(), 1u);
}

// It takes its receive with the Last, which alone is refused and comes again.
TEST(RoceRules, Ibta_9_7_5_2_8_AWriteWithImmediateIsRepeatedFromWhereItWasRefused) {
  RocePair world(small_packets());
  world.watch();
  world.fill(0, 0, 600, 2);
  verbs::WorkRequest write = world.request(Verb::kWriteImm, 0, 8192, 600);
  write.immediate = 77;
  world.pair.post(0, 0, write);
  world.pair.run_to(microseconds(100));
  std::vector<wire::Packet> refusals;
  for (const wire::Packet& packet : world.sent_of(RoceOpcode::kRcAcknowledge)) {
    if (packet.roce.ack.aeth.syndrome_class() == AethClass::kReceiverNotReady) refusals.push_back(packet);
  }
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].roce.bth.psn, 102u);
  world.pair.post_receive(1, 0, world.receive(0, 0));
  EXPECT_EQ(world.pair.run_until([&] { return !world.completions(0).empty(); }), RunEnd::kDone);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteFirst).size(), 1u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteMiddle).size(), 1u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteLastImmediate).size(), 2u);
  ASSERT_EQ(world.completions(1).size(), 1u);
  EXPECT_EQ(world.completions(1)[0].immediate, 77u);
  EXPECT_EQ(world.completions(1)[0].length, 600u);
  EXPECT_TRUE(world.holds(1, 8192, 600, 2));
}

// A message takes one credit whatever its packets; one without credit sends its first packet alone.
TEST(RoceRules, Ibta_9_7_7_2_CreditsCountMessagesOfSeveralPackets) {
  RoceConfig crediting = small_packets();
  crediting.advertise_credits = true;
  RocePair world(small_packets(), crediting, {});
  world.watch();
  for (int count = 0; count < 3; ++count) world.pair.post_receive(1, 0, world.receive(8192, 600));
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_until_idle();
  ASSERT_EQ(credits_of_code(static_cast<std::uint8_t>(world.sent.back().roce.ack.aeth.value())), 2u);
  world.sent.clear();
  for (int count = 0; count < 4; ++count) world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 600));
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcSendLast).size(), 2u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcSendMiddle).size(), 2u);
  ASSERT_EQ(world.sent_of(RoceOpcode::kRcSendFirst).size(), 3u);
  EXPECT_FALSE(world.sent_of(RoceOpcode::kRcSendFirst)[1].roce.bth.acknowledge_request);
  EXPECT_TRUE(world.sent_of(RoceOpcode::kRcSendFirst)[2].roce.bth.acknowledge_request);
  for (int count = 0; count < 2; ++count) world.pair.post_receive(1, 0, world.receive(8192, 600));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 5u);
  EXPECT_EQ(world.completions(1).size(), 5u);
}

}  // namespace
}  // namespace wharf::roce
