// SPDX-License-Identifier: Apache-2.0
// Interfaces with hardly any room for what peers send, on a wire that loses packets: slow, but everything
// ends.
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

TEST(RoceTinyRoom, LongMessagesGetThroughWithRoomForOneAnswer) {
  constexpr std::uint32_t kMessages = 24;
  for (const std::uint32_t answers : {1U, 2U}) {
    for (const TimePs memory : {kTimeZero, microseconds(1)}) {
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(testing::Message()
                     << answers << " answers, memory takes " << memory.ps << " ps, seed " << seed);
        RoceConfig config;
        config.path_mtu = 1024;
        config.responses_ahead = answers;
        config.transmit_ahead = answers;
        config.ack_timeout = 4;
        config.unlimited_retries = true;
        test::EnginePairOptions options;
        options.seed = seed;
        options.access_longest = memory;
        options.wire.loss = Probability::from(0.02);
        test::RocePair world(config, options);
        for (std::uint32_t each = 0; each < kMessages; ++each) {
          const verbs::Verb verb = each % 3 == 0   ? verbs::Verb::kWrite
                                   : each % 3 == 1 ? verbs::Verb::kRead
                                                   : verbs::Verb::kSend;
          if (verb == verbs::Verb::kSend) {
            ASSERT_EQ(world.pair.post_receive(1, 0, world.receive(0x80000, 10'240)), engine::PostStatus::kOk);
          }
          ASSERT_EQ(world.pair.post(0, 0, world.request(verb, 0, 0x40000, 10'240)), engine::PostStatus::kOk);
        }
        const auto sent_all = [&] { return world.completions(0).size() == kMessages; };
        EXPECT_EQ(world.pair.run_until(sent_all, seconds(1)), test::RunEnd::kDone)
            << world.pair.waiting_report();
        for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
      }
    }
  }
}

// The exchange promises no more READs than answers can be prepared for: a slow memory then makes the peer
// wait, and nothing is dropped that only a time-out would bring back.
TEST(RoceTinyRoom, PromisesNoMoreReadsThanItCanAnswer) {
  constexpr std::uint32_t kReads = 96;
  RoceConfig config;
  config.max_read_atomic = 128;
  config.responses_ahead = 8;
  test::EnginePairOptions options;
  options.access_longest = microseconds(20);
  test::RocePair world(config, options);
  for (std::uint32_t i = 0; i < kReads; ++i)
    ASSERT_EQ(world.pair.post(0, 0, world.request(verbs::Verb::kRead, 0, 0x40000, 64)),
              engine::PostStatus::kOk);
  const auto sent_all = [&] { return world.completions(0).size() == kReads; };
  EXPECT_EQ(world.pair.run_until(sent_all, seconds(1)), test::RunEnd::kDone) << world.pair.waiting_report();
  EXPECT_EQ(world.pair.engine(1).counters().dropped_no_resources, 0U);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0U);
}

}  // namespace
}  // namespace wharf::roce
