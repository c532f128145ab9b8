// SPDX-License-Identifier: Apache-2.0
// Interfaces with hardly any room for what peers send, on a wire that loses packets: slow, but everything
// ends.
#include <gtest/gtest.h>

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

struct Room {
  std::uint32_t inbound_messages;
  std::uint32_t parked_packets;
  LossRecovery recovery;
};

TEST(UbTinyRoom, LongMessagesGetThroughWithRoomForOne) {
  constexpr std::uint32_t kWrites = 24;
  for (const Room& room : {Room{1, 1, LossRecovery::kSelective}, Room{2, 1, LossRecovery::kSelective},
                           Room{1, 2048, LossRecovery::kSelective}, Room{1, 1, LossRecovery::kGoBackN}}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << room.inbound_messages << " messages, " << room.parked_packets << " packets, recovery "
                   << static_cast<int>(room.recovery) << ", seed " << seed);
      UbConfig config;
      config.mtu = 1024;
      config.inbound_messages = room.inbound_messages;
      config.parked_packets = room.parked_packets;
      config.recovery = room.recovery;
      config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
      test::EnginePairOptions options;
      options.seed = seed;
      options.wire.loss = Probability::from(0.02);
      options.wire.reorder = Probability::from(0.02);
      World world(config, options);
      for (std::uint32_t each = 0; each < kWrites; ++each) {
        // Sends, which need their entry, among writes and reads.
        const verbs::Verb verb = each % 3 == 0   ? verbs::Verb::kWrite
                                 : each % 3 == 1 ? verbs::Verb::kRead
                                                 : verbs::Verb::kSend;
        if (verb == verbs::Verb::kSend) {
          verbs::ReceiveRequest receive;
          receive.local_count = 1;
          receive.local[0] = {World::kRemote + 0x10000, 10'240};
          ASSERT_EQ(world.pair().post_receive(1, world.queue(1), receive), engine::PostStatus::kOk);
        }
        ASSERT_EQ(world.pair().post(0, world.queue(0), world.request(verb, 10'240)), engine::PostStatus::kOk);
      }
      const auto sent_all = [&] { return world.pair().host(0).completions.size() == kWrites; };
      EXPECT_EQ(world.pair().run_until(sent_all, seconds(1)), test::RunEnd::kDone)
          << world.pair().waiting_report();
      for (const verbs::Completion& completion : world.pair().host(0).completions)
        EXPECT_TRUE(completion.ok());
    }
  }
}

}  // namespace
}  // namespace wharf::ub
