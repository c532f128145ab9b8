// SPDX-License-Identifier: Apache-2.0
// What a link loses it reports: each packet once, with its link, the cause and the time. The link has 100
// Gb/s (80 ps a byte) and 1 us.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "sim/fabric/fabric.h"
#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim {
namespace {

constexpr std::int64_t kPacketPs = 1000 * 80;
constexpr std::int64_t kDelayPs = 1'000'000;

struct Loss {
  std::int64_t at_ps;
  std::uint32_t link;
  std::uint32_t number;  ///< Of the packet.
  LinkLoss why;
  bool operator==(const Loss&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Loss& loss) {
  return out << loss.at_ps << " ps, link " << loss.link << ", packet " << loss.number << ", cause "
             << static_cast<int>(loss.why);
}

class ReportingHost : public ScriptHost {
 public:
  struct Context : PartitionContext {
    std::vector<Loss> losses;
  };
  using ScriptHost::ScriptHost;
  static void lost(TimePs at, std::uint32_t link, const Body& body, Context& context, LinkLoss why) {
    context.losses.push_back({at.ps, link, body.number, why});
  }
  /// A decoder that refuses odd packets.
  static wire::DropReason damage(Body& body, PacketHead& /*head*/, Context& /*context*/, std::uint64_t) {
    return body.number % 2 == 1 ? wire::DropReason::kTruncated : wire::DropReason::kNone;
  }
};
static_assert(FabricHost<ReportingHost>);

/// Sends packets 0, 1 and 2 over a link with these faults.
std::vector<Loss> losses(const LinkFaults& faults, std::size_t arrive) {
  const Topology topology = back_to_back({gigabits_per_second(100), microseconds(1)});
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.faults = {faults};
  Fabric<ReportingHost> fabric(topology, config, [](NodeId host) { return ReportingHost(host); });
  for (std::uint32_t number = 0; number < 3; ++number) {
    fabric.host(0).to_send.push_back({.to = 1, .number = number});
  }
  fabric.run_until(seconds(1));
  EXPECT_EQ(fabric.host(1).received.size(), arrive);
  return fabric.context(0).losses;
}

TEST(LossReport, NothingIsReportedWhereNothingIsLost) { EXPECT_EQ(losses({}, 3), std::vector<Loss>{}); }

TEST(LossReport, APacketThatIsLostOnTheWay) {
  EXPECT_THAT(losses({.loss = 1}, 0),
              testing::ElementsAre(Loss{0, 0, 0, LinkLoss::kLost}, Loss{kPacketPs, 0, 1, LinkLoss::kLost},
                                   Loss{2 * kPacketPs, 0, 2, LinkLoss::kLost}));
}

TEST(LossReport, AFrameThatFailsItsCheck) {
  EXPECT_THAT(
      losses({.damage = 1}, 0),
      testing::ElementsAre(Loss{0, 0, 0, LinkLoss::kFrameCheck}, Loss{kPacketPs, 0, 1, LinkLoss::kFrameCheck},
                           Loss{2 * kPacketPs, 0, 2, LinkLoss::kFrameCheck}));
}

// Three frames are in the replay buffer when the second replay has failed. The replay timer runs from the end
// of the first frame, and what is given up is given up together.
TEST(LossReport, FramesThatFailTooOften) {
  LinkFaults faults{.damage = 1, .retry = true, .retry_limit = 2};
  faults.retry_rules.replay_timer_max = microseconds(5);
  const std::int64_t at = 3 * (kPacketPs + 5'000'000);
  EXPECT_THAT(losses(faults, 0),
              testing::ElementsAre(Loss{at, 0, 0, LinkLoss::kLost}, Loss{at, 0, 1, LinkLoss::kLost},
                                   Loss{at, 0, 2, LinkLoss::kLost}));
}

TEST(LossReport, APacketThatTheDecoderRefuses) {
  EXPECT_THAT(losses({.damage_past_check = 1}, 2),
              testing::ElementsAre(Loss{2 * kPacketPs + kDelayPs, 0, 1, LinkLoss::kDecoder}));
}

}  // namespace
}  // namespace wharf::sim
