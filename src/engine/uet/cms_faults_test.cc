// SPDX-License-Identifier: Apache-2.0
// Congestion management under loss, trimming, repetition and reordering: every mode moves all data, in both
// directions, and ends with nothing in flight.
#include <gtest/gtest.h>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

struct Case {
  CongestionControl control;
  congestion::PathChoice paths;
  bool infer_loss;
};

void PrintTo(const Case& which, std::ostream* out) {
  *out << "control " << static_cast<int>(which.control) << ", paths " << static_cast<int>(which.paths)
       << (which.infer_loss ? ", inferred loss" : "");
}

class CmsFaults : public ::testing::TestWithParam<Case> {};

TEST_P(CmsFaults, EverythingArrivesAndNothingStaysInFlight) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    UetConfig config;
    config.payload_mtu = 1024;
    config.congestion = GetParam().control;
    config.path_choice = GetParam().paths;
    config.infer_loss = GetParam().infer_loss;
    const std::uint32_t mtu = 1024 + 112;
    config.controller =
        congestion::NsccConfig::for_network(gigabits_per_second(10), microseconds(12), mtu, true);
    config.credit = congestion::RcccConfig::for_network(gigabits_per_second(10), microseconds(12), mtu);
    config.rto_init = microseconds(100);
    config.nack_retransmit_time = microseconds(50);
    config.rto_back_off = false;
    config.max_rto_retries = kRtoRetriesForever;
    config.seed = seed;
    auto options = faulty(seed, 4);
    options.wire.delay = microseconds(4);
    options.wire.jitter = microseconds(2);
    trim_at(options.wire, 5);
    World world(config, options);
    world.fill(0, World::kLocal, 60'000, 3);
    // Writes on RUD and ROD, and reads, whose data comes the other way.
    for (std::uint32_t i = 0; i < 4; ++i) {
      verbs::WorkRequest write = world.request(verbs::Verb::kWrite, 15'000, i * 15'000U);
      if (i % 2 == 0) write.delivery = verbs::Delivery::kOrdered;
      ASSERT_EQ(world.post(write), engine::PostStatus::kOk);
      ASSERT_EQ(world.post(world.request(verbs::Verb::kRead, 9'000, 100'000)), engine::PostStatus::kOk);
    }
    ASSERT_EQ(world.pair().run_until([&] { return world.completions(0).size() == 8; }, seconds(1)),
              test::RunEnd::kDone)
        << "seed " << seed << ": " << world.pair().waiting_report();
    for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
    world.pass(milliseconds(2));
    for (std::uint32_t host = 0; host < 2; ++host) {
      const Cms& cms = world.engine(host).parts().cms;
      for (std::uint32_t ccc = 0; ccc < cms.count(); ++ccc) {
        EXPECT_EQ(cms[ccc].in_flight, 0U);
        EXPECT_EQ(cms[ccc].backlog + cms[ccc].resend_backlog, 0U);
        EXPECT_EQ(cms[ccc].controller.as<congestion::NsccSender>()->in_flight(), 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CmsFaults,
    ::testing::Values(Case{CongestionControl::kNone, congestion::PathChoice::kOblivious, false},
                      Case{CongestionControl::kSender, congestion::PathChoice::kMixed, false},
                      Case{CongestionControl::kSender, congestion::PathChoice::kReps, true},
                      Case{CongestionControl::kReceiver, congestion::PathChoice::kBitmap, false},
                      Case{CongestionControl::kBoth, congestion::PathChoice::kRecycle, false},
                      Case{CongestionControl::kBoth, congestion::PathChoice::kFlow, true}));

}  // namespace
}  // namespace wharf::uet
