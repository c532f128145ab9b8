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

 private:
  std::unique_ptr<World> world_;
};

// --- Records of sends that were put off

TEST_F(Waiting, Uet_3_4_ARestartedSendWhoseFirstPacketComesLastIsDelivered) {
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

TEST_F(Waiting, Uet_3_4_AWriteUnderTheIdOfASendThatWasPutOffIsDone) {
  start(deferrable());
  put_off(64 * 1024);
  flush_source();
  world().fill(0, World::kLocal, 3 * 256, 5);
  EXPECT_TRUE(world().finish(world().request(Verb::kWrite, 3 * 256)).ok());
  EXPECT_TRUE(world().same(World::kLocal, World::kRemote, 3 * 256));
}

// --- Who may enable an endpoint again

TEST_F(Waiting, Uet_3_4_AReceiveThatComesBackDoesNotEnableWhatTheProgramDisabled) {
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

}  // namespace
}  // namespace wharf::uet
