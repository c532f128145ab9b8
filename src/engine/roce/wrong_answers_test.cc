// SPDX-License-Identifier: Apache-2.0
// Answers of another form than what was asked for, and what a time-out leaves behind when the peer is heard
// again.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::RocePair;
using test::RunEnd;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

RoceConfig small_packets() {
  RoceConfig config;
  config.path_mtu = 256;
  config.ack_timeout = 4;
  config.starting_psn = 100;
  return config;
}

/// The answer to a READ of `length` bytes, packet by packet; the world has none of it yet.
std::vector<wire::Packet> answer_to_read(RocePair& world, std::uint32_t length) {
  world.watch();
  world.lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  world.fill(1, 4096, length, 5);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, length));
  world.pair.run_to(microseconds(10));
  std::vector<wire::Packet> answers;
  for (const wire::Packet& packet : world.sent) {
    if (packet.source.number == 1) answers.push_back(packet);
  }
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const auto offset = static_cast<std::uint32_t>(at * 256);
    answers[at].payload = wire::pattern_payload(5, offset, std::min(256U, length - offset));
  }
  return answers;
}

// [IBTA vol 1 9.9.2.4] A response that does not have the form of the one that is due is bad: the request ends
// with an error, and nothing of that packet is taken.
TEST(RoceWrongAnswers, ReadDataOfAnotherFormIsBad) {
  struct Change {
    std::uint32_t length;
    std::size_t packet;
    RoceOpcode opcode;
    std::uint32_t bytes;
  };
  constexpr RoceOpcode kFirst = RoceOpcode::kRcReadResponseFirst;
  constexpr RoceOpcode kMiddle = RoceOpcode::kRcReadResponseMiddle;
  constexpr RoceOpcode kLast = RoceOpcode::kRcReadResponseLast;
  constexpr RoceOpcode kOnly = RoceOpcode::kRcReadResponseOnly;
  constexpr RoceOpcode kAtomic = RoceOpcode::kRcAtomicAcknowledge;
  for (const Change& change :
       {Change{600, 0, kFirst, 255}, Change{600, 0, kFirst, 248}, Change{600, 0, kOnly, 256},
        Change{600, 1, kMiddle, 255}, Change{600, 1, kMiddle, 0}, Change{600, 1, kLast, 256},
        Change{600, 2, kLast, 87}, Change{600, 2, kLast, 89}, Change{600, 2, kMiddle, 88},
        Change{600, 2, kAtomic, 88}, Change{64, 0, kOnly, 63}, Change{64, 0, kOnly, 65},
        Change{64, 0, kOnly, 0}, Change{64, 0, kFirst, 64}, Change{64, 0, kAtomic, 64},
        Change{64, 0, kAtomic, 0}}) {
    RocePair world(small_packets());
    std::vector<wire::Packet> answers = answer_to_read(world, change.length);
    ASSERT_EQ(answers.size(), (change.length + 255) / 256);
    for (std::size_t at = 0; at < change.packet; ++at) world.pair.inject(0, answers[at]);
    ASSERT_TRUE(world.completions(0).empty());
    wire::Packet wrong = answers[change.packet];
    wrong.roce.bth.opcode = change.opcode;
    wrong.payload = wire::pattern_payload(9, 0, change.bytes);
    world.pair.inject(0, wrong);
    world.pair.run_to(microseconds(20));
    const auto say = [&] {
      return ::testing::Message() << change.length << " " << change.packet << " " << change.bytes;
    };
    ASSERT_EQ(world.completions(0).size(), 1u) << say();
    EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kResponseLength) << say();
    EXPECT_FALSE(change.bytes > 0 && world.holds(0, change.packet * 256, change.bytes, 9)) << say();
  }
}

// The same answers as they came are good.
TEST(RoceWrongAnswers, ReadDataOfItsFormIsTaken) {
  for (const std::uint32_t length : {1U, 64U, 256U, 257U, 600U}) {
    RocePair world(small_packets());
    for (const wire::Packet& packet : answer_to_read(world, length)) world.pair.inject(0, packet);
    ASSERT_EQ(world.completions(0).size(), 1u) << length;
    EXPECT_TRUE(world.completions(0)[0].ok()) << length;
    EXPECT_TRUE(world.holds(0, 0, length, 5)) << length;
  }
}

// [IBTA vol 1 9.9.2.4] An atomic is answered by an atomic acknowledge alone.
TEST(RoceWrongAnswers, AnAtomicIsNotAnsweredByReadData) {
  RocePair world(small_packets());
  world.watch();
  world.lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  world.pair.post(0, 0, world.request(Verb::kFetchAdd, 0, 0, 8));
  world.pair.run_to(microseconds(10));
  wire::Packet wrong = world.sent_of(RoceOpcode::kRcAtomicAcknowledge).at(0);
  wrong.roce.bth.opcode = RoceOpcode::kRcReadResponseOnly;
  wrong.payload = wire::pattern_payload(9, 0, 8);
  world.pair.inject(0, wrong);
  world.pair.run_to(microseconds(20));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kResponseLength);
}

// [IBTA vol 1 9.7.6.1.3] Time-outs double while nothing is heard; a peer that answers is waited for as
// briefly as at the beginning, and is granted all retries again.
TEST(RoceWrongAnswers, AnAnswerBringsTheFirstTimeOutBack) {
  RoceConfig config = small_packets();
  config.retry_count = 3;
  config.backoff_limit = 4;
  RocePair world(config);
  const TimePs once = ack_timeout_duration(config.ack_timeout);
  for (int outage = 0; outage < 3; ++outage) {
    const std::uint64_t before = world.pair.engine(0).counters().timeouts;
    const TimePs begun = world.pair.now();
    world.pair.host(1).plugged = false;
    world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
    const auto timed_out = [&] { return world.pair.engine(0).counters().timeouts == before + 2; };
    ASSERT_EQ(world.pair.run_until(timed_out), RunEnd::kDone);
    EXPECT_EQ(world.pair.now() - begun, once * 3) << outage;  // Once, and twice as long.
    world.pair.host(1).plugged = true;
    ASSERT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
    EXPECT_TRUE(world.completions(0).back().ok()) << outage;
  }
}

}  // namespace
}  // namespace wharf::roce
