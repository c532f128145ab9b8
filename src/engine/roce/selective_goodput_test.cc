// SPDX-License-Identifier: Apache-2.0
// What 1 % of loss, both ways, leaves of a stream of messages of 4 KiB: by simulated time, which a seed
// fixes.
#include <algorithm>

#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::RocePair;
using test::RunEnd;

constexpr std::uint32_t kMessage = 4096;
constexpr std::uint32_t kMessages = 6000;
constexpr std::uint32_t kOutstanding = 128;  ///< More than three bandwidth-delay products.
constexpr TimePs kPacketTime = nanoseconds(330);
constexpr TimePs kOneWay = microseconds(5);
constexpr double kLoss = 0.01;

/// How fast the interface fetches payload: at once, or eight packets in 4 us, slower than the link.
enum class Nic : std::uint8_t { kFaster, kSlower };

/// Time for the stream, in packet times.
double packet_times(LossRecovery recovery, Nic nic, double loss) {
  RoceConfig config;
  config.recovery = recovery;
  config.ack_timeout = 3;  // 32.8 us.
  config.unlimited_retries = true;
  test::EnginePairOptions options;
  options.packet_interval = kPacketTime;
  options.wire.delay = kOneWay;
  options.wire.loss = Probability::from(loss);
  if (nic == Nic::kSlower) {
    config.transmit_ahead = 8;
    options.access_shortest = options.access_longest = microseconds(4);
  }
  RocePair world(config, options);
  std::uint32_t posted = 0;
  std::uint32_t told = 0;
  const auto post = [&] {
    world.pair.post(0, 0, world.request(verbs::Verb::kWrite, 0, 8192 + posted % 64 * kMessage, kMessage));
    ++posted;
  };
  world.pair.on_completion = [&](std::uint32_t, const verbs::Completion& completion) {
    EXPECT_TRUE(completion.ok());
    ++told;
    if (posted < kMessages) post();
  };
  while (posted < kOutstanding) post();
  EXPECT_EQ(world.pair.run_until([&] { return told == kMessages; }), RunEnd::kDone);
  return static_cast<double>(world.pair.now().ps) / static_cast<double>(kPacketTime.ps);
}

TEST(RoceSelectiveGoodput, OnePercentOfLossCostsLessThanFive) {
  for (const Nic nic : {Nic::kFaster, Nic::kSlower}) {
    const double whole = packet_times(LossRecovery::kSelective, nic, 0);
    const double lossy = packet_times(LossRecovery::kSelective, nic, kLoss);
    EXPECT_GE(whole / lossy, 0.95) << static_cast<int>(nic);
  }
}

// Go-Back-N sends everything again that left since the lost packet: what a round trip holds.
TEST(RoceSelectiveGoodput, GoBackNLosesARoundTripWithEachPacket) {
  const double whole = packet_times(LossRecovery::kGoBackN, Nic::kFaster, 0);
  const double lossy = packet_times(LossRecovery::kGoBackN, Nic::kFaster, kLoss);
  const double in_flight =
      static_cast<double>((kOneWay + kOneWay).ps) / static_cast<double>(kPacketTime.ps) + 1;
  const double formula = (1 - kLoss) / (1 + kLoss * (in_flight - 1));
  EXPECT_NEAR(whole / lossy / formula, 1, 0.05);
}

}  // namespace
}  // namespace wharf::roce
