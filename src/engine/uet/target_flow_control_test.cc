// SPDX-License-Identifier: Apache-2.0
// Target flow control: a target that is behind in placing what arrived makes its sources' windows smaller,
// and gives them back. [UE 1.0 3.6.13, 3.6.15] And DCQCN, whose notifications are acknowledgements here.
#include <gtest/gtest.h>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

/// A full packet counts 4096 + 44 + 12 + 4 + 8 + 40.
constexpr std::uint32_t kPacket = 4204;
constexpr std::uint64_t kWindow = 20 * kPacket;

UetConfig configured(bool on) {
  UetConfig config;
  congestion::NsccConfig nscc =
      congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), kPacket, true);
  nscc.initial_window = kWindow;
  config.controller = nscc;
  config.base_rtt_probe = false;
  config.ack_per_packet = true;
  config.target_flow_control = on;
  config.backlog_low_bytes = 10'000;
  config.backlog_high_bytes = 20'000;
  return config;
}

class TargetFlowControl : public ::testing::Test {
 protected:
  void start(const UetConfig& config, const test::EnginePairOptions& options = {}) {
    world_ = std::make_unique<World>(config, options);
    world_->watch();
  }
  World& world() { return *world_; }
  std::uint64_t window() {
    return world().engine(0).parts().cms[0].controller.as<congestion::NsccSender>()->window();
  }
  /// What the latest acknowledgement asks for when a write of one packet has been answered.
  wire::UetAckCongestion asked() {
    world().sent.clear();
    EXPECT_EQ(world().post(world().request(verbs::Verb::kWrite, 4096)), engine::PostStatus::kOk);
    world().pass(microseconds(5));
    const auto answers = world().sent_of(wire::UetPdsType::kAckCc);
    EXPECT_EQ(answers.size(), 1U);
    return answers.empty() ? wire::UetAckCongestion{} : answers.back().uet.ack_congestion;
  }

  std::unique_ptr<World> world_;
};

TEST_F(TargetFlowControl, Uet_3_6_15_ThePenaltyRisesWithWhatWaitsForMemory) {
  start(configured(true));
  EXPECT_EQ(asked().receiver_penalty, 0U);
  for (const auto& [behind, penalty] :
       {std::pair{10'000U, 0U}, std::pair{10'001U, 1U}, std::pair{15'000U, 63U}, std::pair{20'000U, 127U},
        std::pair{1'000'000U, 127U}}) {
    world().engine(1).note_backlog(behind);
    const wire::UetAckCongestion told = asked();
    EXPECT_EQ(told.receiver_penalty, penalty) << behind;
    EXPECT_FALSE(told.restore_window) << behind;
  }
  world().engine(1).note_backlog(2501);
  EXPECT_FALSE(asked().restore_window);
  world().engine(1).note_backlog(2500);
  EXPECT_TRUE(asked().restore_window);
}

TEST_F(TargetFlowControl, Uet_3_6_15_TheSourceObeysAndItsWindowComesBack) {
  start(configured(true));
  ASSERT_TRUE(asked().restore_window);
  const std::uint64_t before = window();
  world().engine(1).note_backlog(20'000);
  // Nothing else is in flight: what the penalty leaves is one packet.
  EXPECT_EQ(asked().receiver_penalty, 127U);
  EXPECT_LT(window(), 2 * kPacket);
  world().engine(1).note_backlog(5000);
  asked();
  EXPECT_LT(window(), 4 * kPacket) << "less is waiting, but it has not caught up";
  world().engine(1).note_backlog(0);
  asked();
  EXPECT_GE(window(), before);
}

/// Else what is under way could be more than the window, and nothing of it would be answered before the RTO.
TEST_F(TargetFlowControl, Uet_3_6_15_EachPacketIsAnsweredMeanwhile) {
  UetConfig config = configured(true);
  config.ack_per_packet = false;
  config.backlog_low_bytes = 100'000;  // Above what is in execution here.
  config.backlog_high_bytes = 200'000;
  test::EnginePairOptions options;
  options.wire.delay = microseconds(2);  // A window of a few packets asks for each answer by itself.
  start(config, options);
  asked();
  const auto answers = [this] {
    world().sent.clear();
    EXPECT_EQ(world().post(world().request(verbs::Verb::kWrite, 3 * 4096)), engine::PostStatus::kOk);
    world().pass(microseconds(10));
    return world().sent_of(wire::UetPdsType::kAckCc).size();
  };
  EXPECT_EQ(answers(), 1U) << "the last packet asks for it";
  world().engine(1).note_backlog(150'000);
  EXPECT_EQ(answers(), 3U);
}

TEST_F(TargetFlowControl, Uet_3_6_15_WithoutTheKeyNothingIsAsked) {
  start(configured(false));
  world().engine(1).note_backlog(20'000);
  const wire::UetAckCongestion told = asked();
  EXPECT_EQ(told.receiver_penalty, 0U);
  EXPECT_FALSE(told.restore_window);
}

/// Where nobody counts what waits behind the interface, packets whose accesses are not answered do.
TEST_F(TargetFlowControl, Uet_3_6_15_PacketsInExecutionCountAsWhole) {
  test::EnginePairOptions options;
  options.access_shortest = microseconds(1);
  options.access_longest = microseconds(20);
  start(configured(true), options);
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(world().post(world().request(verbs::Verb::kWrite, 4096)), engine::PostStatus::kOk);
  world().run();
  std::uint32_t most = 0;
  for (const wire::Packet& answer : world().sent_of(wire::UetPdsType::kAckCc))
    most = std::max<std::uint32_t>(most, answer.uet.ack_congestion.receiver_penalty);
  EXPECT_GT(most, 63U) << "four packets of 4096 are more than half way to the upper limit";
}

TEST_F(TargetFlowControl, Uet_3_6_15_NeedsNscc) {
  UetConfig config = configured(true);
  config.congestion = CongestionControl::kReceiver;
  EXPECT_NE(validate(config).error().message.find("uet.target_flow_control"), std::string::npos);
  config = configured(true);
  config.controller = congestion::ConstantWindowConfig{};
  EXPECT_NE(validate(config).error().message.find("uet.target_flow_control"), std::string::npos);
  config = configured(true);
  config.backlog_high_bytes = config.backlog_low_bytes;
  EXPECT_NE(validate(config).error().message.find("uet.backlog_high_bytes"), std::string::npos);
}

/// Every acknowledgement is marked; one in 50 us counts.
TEST_F(TargetFlowControl, DcqcnCountsOneMarkInTheTimeBetweenNotifications) {
  UetConfig config;
  config.controller = congestion::DcqcnConfig{};
  config.ack_per_packet = true;
  test::EnginePairOptions options;
  options.wire.transform = [](wire::Packet& packet, bool damaged, RandomStream&, wire::PayloadPool&) {
    if (packet.traffic_class == wire::TrafficClass::kData) packet.mark = wire::CongestionMark::kExperienced;
    return !damaged;
  };
  start(config, options);
  ASSERT_EQ(world().post(world().request(verbs::Verb::kWrite, 120 * 4096)), engine::PostStatus::kOk);
  world().pass(microseconds(40));
  EXPECT_GT(world().counters(0).acknowledgements_received, 8U);
  EXPECT_EQ(world().engine(0).congestion_trace(wire::HostAddress{1}).rate.value, 50'000'000'000U);
  world().pass(microseconds(40));
  // The second one: half of what the first left, and less by what time has added.
  const std::uint64_t rate = world().engine(0).congestion_trace(wire::HostAddress{1}).rate.value;
  EXPECT_GE(rate, 25'000'000'000U);
  EXPECT_LT(rate, 40'000'000'000U);
}

TEST_F(TargetFlowControl, AnswersServeTheOperationTheyAnswer) {
  start(configured(false));
  verbs::WorkRequest request = world().request(verbs::Verb::kWrite, 64);
  request.operation = {77};
  ASSERT_TRUE(world().finish(request).ok());
  const auto answers = world().sent_of(wire::UetPdsType::kAckCc);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.front().operation.value, 77U);
}

}  // namespace
}  // namespace wharf::uet
