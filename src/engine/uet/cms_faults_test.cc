// SPDX-License-Identifier: Apache-2.0
// Congestion management under loss, trimming, repetition and reordering: every mode moves all data, in both
// directions, and ends with nothing in flight; without credit, a peer that is gone is noticed.
#include <gtest/gtest.h>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_answers.h"
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

/// Receiver credit for eight packets, time-outs of 100 us and three of them.
UetConfig credited() {
  UetConfig config;
  config.congestion = CongestionControl::kReceiver;
  config.credit = congestion::RcccConfig::for_network(gigabits_per_second(10), microseconds(12), 4208);
  config.credit.max_window = 8 * std::uint64_t{4208};
  config.rto_init = microseconds(100);
  config.max_rto_retries = 3;
  return config;
}

TEST(CreditFaults, Uet_3_6_14_ASourceWithoutCreditGivesUpAPeerThatIsSilent) {
  World world(credited());
  ASSERT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 4096)).ok());
  // What is under way is sent again at most once: then there is no credit, and no RTO either.
  world.watch();
  world.lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 50'000)), engine::PostStatus::kOk);
  world.pass(milliseconds(10));
  ASSERT_EQ(world.completions(0).size(), 2U) << world.pair().waiting_report();
  EXPECT_EQ(world.completions(0).back().status, verbs::CompletionStatus::kRetryExhausted);
}

// The PDC that stands first has been acknowledged meanwhile: the one behind it asks, and its tries end.
TEST(CreditFaults, Uet_3_6_14_APdcWithNothingToSendDoesNotStandInFrontOfOthers) {
  World world(credited());
  world.watch();
  bool silent = false;
  world.lose = [&silent](const wire::Packet& packet) {
    return packet.source.number == 1 && (silent || wire::is_uet_ack(packet.uet.prologue.type));
  };
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 7 * 4096)), engine::PostStatus::kOk);
  const Pdc& first = world.engine(0).parts().pds.pdc(0);
  world.pass(microseconds(60));
  ASSERT_EQ(first.tx.in_flight, 7U);
  silent = true;
  for (int i = 0; i < 300 && first.tx.resend.empty(); ++i) world.pass(microseconds(1));
  ASSERT_FALSE(first.tx.resend.empty());
  verbs::WorkRequest behind = world.request(verbs::Verb::kWrite, 4096);
  behind.delivery = verbs::Delivery::kOrdered;
  ASSERT_EQ(world.post(behind), engine::PostStatus::kOk);
  world.pair().inject(0, acknowledgement_of(world, first.tx.next - 1));
  ASSERT_TRUE(first.tx.resend.empty());
  world.pass(milliseconds(20));
  ASSERT_EQ(world.completions(0).size(), 2U) << world.pair().waiting_report();
  EXPECT_EQ(world.completions(0).back().status, verbs::CompletionStatus::kRetryExhausted);
}

TEST(CreditFaults, Uet_3_6_14_ASourceWithoutCreditLearnsThatItsTargetIsGone) {
  UetConfig source = credited();
  source.max_rto_retries = kRtoRetriesForever;
  source.idle_timeout = kTimeZero;
  UetConfig target = credited();
  target.idle_timeout = microseconds(10);
  target.rto_cap = microseconds(100);
  World world(source, target, {});
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 4096)), engine::PostStatus::kOk);
  world.pass(microseconds(100));
  ASSERT_EQ(world.completions(0).size(), 1U);
  // The target hears nothing and closes; then the source hears no longer that its credit is spent.
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  world.fill(0, World::kLocal, 50'000);
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 50'000)), engine::PostStatus::kOk);
  world.pass(milliseconds(20));
  ASSERT_EQ(world.counters(1).pdcs_failed, 1U);
  world.lose = {};
  world.pass(milliseconds(20));
  ASSERT_EQ(world.completions(0).size(), 2U) << world.pair().waiting_report();
  EXPECT_TRUE(world.completions(0).back().ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 50'000));
  EXPECT_EQ(world.counters(0).pdcs_opened, 2U);
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
