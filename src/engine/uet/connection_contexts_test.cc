// SPDX-License-Identifier: Apache-2.0
// Connections with contexts of their own: one PDC and one CCC each, which go together. [UE 1.0 3.6.12]
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_answers.h"
#include "tests/support/uet_star.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::Verb;

/// World(): host 0 has two connections to host 1, of two queues.
UetConfig apart(bool own = true) {
  UetConfig config;
  config.contexts_per_connection = own;
  config.base_rtt_probe = false;
  return config;
}

std::uint32_t contexts_in_use(const UetEngine& engine) {
  const Cms& cms = const_cast<UetEngine&>(engine).parts().cms;
  std::uint32_t used = 0;
  for (std::uint32_t ccc = 0; ccc < cms.count(); ++ccc) used += cms[ccc].used ? 1U : 0U;
  return used;
}

void write_both(World& world, std::uint32_t length) {
  for (std::size_t i = 0; i < 2; ++i) {
    verbs::WorkRequest request = world.request(Verb::kWrite, length);
    request.peer = world.peer(0, i);
    ASSERT_EQ(world.pair().post(0, world.queue(0, i), request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
  }
}

TEST(UetConnectionContexts, EachConnectionHasAPdcAndACccOfItsOwn) {
  for (const bool own : {false, true}) {
    World world(apart(own), {}, 2);
    write_both(world, 8);
    world.pass(microseconds(20));
    EXPECT_EQ(world.completions(0).size(), 2U);
    EXPECT_EQ(world.counters(0).pdcs_opened, own ? 2U : 1U);
    EXPECT_EQ(contexts_in_use(world.engine(0)), own ? 2U : 1U);
    EXPECT_EQ(contexts_in_use(world.engine(1)), own ? 2U : 1U);
  }
}

TEST(UetConnectionContexts, AClosedWindowOfOneHoldsNoOther) {
  UetConfig config = apart();
  auto nscc = congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4204, true);
  nscc.initial_window = 4204;
  config.controller = nscc;
  test::EnginePairOptions far;
  far.wire.delay = microseconds(50);
  World world(config, far, 2);
  write_both(world, 64 * 4096);
  world.pass(microseconds(10));
  // One packet of each.
  EXPECT_EQ(world.engine(0).congestion_trace(world.queue(0, 0), world.peer(0, 0)).in_flight, 1U);
  EXPECT_EQ(world.engine(0).congestion_trace(world.queue(0, 1), world.peer(0, 1)).in_flight, 1U);
  EXPECT_EQ(world.engine(0).congestion_trace(wire::HostAddress{1}).in_flight, 2U);
}

TEST(UetConnectionContexts, TheContextGoesWithItsPdcAndServesTheNext) {
  UetConfig config = apart();
  config.idle_timeout = microseconds(100);
  World world(config, {}, 2);
  for (int round = 0; round < 3; ++round) {
    write_both(world, 8);
    world.pass(milliseconds(1));
    EXPECT_EQ(contexts_in_use(world.engine(0)), 0U) << round;
    EXPECT_EQ(contexts_in_use(world.engine(1)), 0U) << round;
    EXPECT_EQ(world.engine(0).parts().cms.active(), 0U);
    EXPECT_EQ(world.engine(0).parts().cms.ready_count(), 0U);
  }
  EXPECT_EQ(world.completions(0).size(), 6U);
  EXPECT_EQ(world.engine(0).parts().cms.count(), 2U);
}

// What was granted to a PDC that is gone is nothing to the next one of the record.
// Payload is fetched ahead for a PDC that is refused. The next PDC takes its context in the same input.
TEST(UetConnectionContexts, TheNextPdcFetchesForItselfAlone) {
  UetConfig config = apart();
  config.controller = congestion::ConstantWindowConfig{.packets = 4};
  World world(config, {}, 1);
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 64 * 4096)), engine::PostStatus::kOk);
  world.pass(microseconds(1));
  ASSERT_FALSE(world.sent.empty());
  world.lose = nullptr;
  world.pair().inject(0, refusal_of(world, wire::UetNackCode::kInvalidSyn, world.sent[0].uet.request.psn));
  world.run();
  ASSERT_EQ(world.completions(0).size(), 1U);
  EXPECT_TRUE(world.completions(0)[0].ok());
}

TEST(UetConnectionContexts, CreditBeginsAnewWithEachPdc) {
  UetConfig config = apart();
  config.congestion = CongestionControl::kReceiver;
  config.credit = congestion::RcccConfig::for_network(gigabits_per_second(100), microseconds(12), 4208);
  config.idle_timeout = microseconds(100);
  World world(config, {}, 2);
  for (int round = 0; round < 3; ++round) {
    write_both(world, 64 * 4096);
    world.pass(milliseconds(2));
    EXPECT_EQ(world.completions(0).size(), 2U * static_cast<unsigned>(round + 1));
    EXPECT_EQ(contexts_in_use(world.engine(1)), 0U) << round;
  }
}

// The host at the other end forgets it: contexts of its connections go, too.
TEST(UetConnectionContexts, AHostThatIsForgottenLeavesNone) {
  World world(apart(), {}, 2);
  write_both(world, 8);
  world.pass(microseconds(20));
  ASSERT_TRUE(world.engine(0).forget_host(world.now(), {1}).ok());
  EXPECT_EQ(contexts_in_use(world.engine(0)), 0U);
}

}  // namespace
}  // namespace wharf::uet
