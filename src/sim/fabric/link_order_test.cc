// SPDX-License-Identifier: Apache-2.0
// Which packets of a faulty link keep their order: those that are delayed do, those that are held back are
// passed by others, a copy follows its original. The link has 100 Gb/s (80 ps a byte) and 1 us.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fabric/fabric.h"
#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim {
namespace {

constexpr std::uint32_t kPackets = 300;

/// When packet `number` arrives if nothing happens to it.
TimePs usual(std::uint32_t number) {
  return picoseconds((std::int64_t{number} + 1) * 1000 * 80) + microseconds(1);
}

struct Outcome {
  std::vector<ReceivedPacket> received;
  PortCounters counters;
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> out;
    for (const ReceivedPacket& packet : received) out.push_back(packet.number);
    return out;
  }
};

Outcome run(const LinkFaults& faults, bool draws_per_fault) {
  const Topology topology = back_to_back({gigabits_per_second(100), microseconds(1)});
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.faults = {faults};
  config.draws_per_fault = draws_per_fault;
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, kPackets, 1000);
  fabric.run();
  return {fabric.received(1), fabric.port_counters(0)};
}

// However long each is delayed, none passes another.
TEST(LinkOrder, DelayedPacketsDoNotPassEachOther) {
  const Outcome delayed = run({.jitter = microseconds(3)}, true);
  ASSERT_EQ(delayed.received.size(), kPackets);
  std::uint32_t late = 0;
  for (std::uint32_t number = 0; number < kPackets; ++number) {
    EXPECT_EQ(delayed.received[number].number, number);
    EXPECT_GE(delayed.received[number].at, usual(number));
    late += delayed.received[number].at > usual(number) ? 1U : 0U;
  }
  EXPECT_GT(late, kPackets / 2);
}

TEST(LinkOrder, ThePacketIsHeldBackForSomeTimeUpToASecond) {
  const auto taken = [](TimePs delay) {
    return validate(LinkFaults{.reordering = 0.1, .reorder_delay = delay}).ok();
  };
  EXPECT_FALSE(taken(kTimeZero));
  EXPECT_TRUE(taken(picoseconds(1)));
  EXPECT_TRUE(taken(seconds(1)));
  EXPECT_FALSE(taken(seconds(1) + picoseconds(1)));
  EXPECT_TRUE(validate(LinkFaults{.reorder_delay = kTimeZero}).ok()) << "nothing is held back";
}

TEST(LinkOrder, ACopyFollowsItsOriginal) {
  for (const TimePs jitter : {kTimeZero, microseconds(3)}) {
    const Outcome doubled = run({.duplication = 1, .jitter = jitter}, true);
    ASSERT_EQ(doubled.received.size(), 2 * kPackets);
    for (std::uint32_t number = 0; number < kPackets; ++number) {
      EXPECT_EQ(doubled.received[2 * number].number, number);
      EXPECT_EQ(doubled.received[2 * number + 1].number, number);
    }
    EXPECT_EQ(doubled.counters.duplicated, kPackets);
  }
}

// A packet that is held back comes later, by up to the delay; the others come as if it were not there.
TEST(LinkOrder, OthersPassAPacketThatIsHeldBack) {
  for (const bool draws_per_fault : {false, true}) {
    const Outcome held = run({.reordering = 0.2, .reorder_delay = microseconds(5)}, draws_per_fault);
    ASSERT_EQ(held.received.size(), kPackets);
    std::uint32_t late = 0;
    for (const ReceivedPacket& packet : held.received) {
      EXPECT_GE(packet.at, usual(packet.number));
      EXPECT_LE(packet.at, usual(packet.number) + microseconds(5));
      late += packet.at > usual(packet.number) ? 1U : 0U;
    }
    EXPECT_EQ(late, held.counters.reordered);
    EXPECT_GT(late, 0U);
    const std::vector<std::uint32_t> numbers = held.numbers();
    EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  }
}

}  // namespace
}  // namespace wharf::sim
