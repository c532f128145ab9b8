// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet. Apart from the other tests because it replaces the
// allocator of its program.

#include "tests/support/counting_allocator.h"
#include "tests/support/uet_back_to_back.h"

namespace wharf::uet {
namespace {

using test::allocations;

TEST(UetSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::UetBackToBack world(bytes);
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

TEST(UetSteadyState, NeitherDoesCongestionManagement) {
  UetConfig config;
  config.congestion = CongestionControl::kBoth;
  config.controller =
      congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4208, true);
  for (const congestion::PathChoice choice :
       {congestion::PathChoice::kMixed, congestion::PathChoice::kReps, congestion::PathChoice::kBitmap}) {
    config.path_choice = choice;
    test::UetBackToBack world(false, config);
    world.step = nanoseconds(500);
    world.run(verbs::Verb::kWrite, 20'000);
    const std::uint64_t before = allocations;
    world.run(verbs::Verb::kWrite, 20'000);
    EXPECT_EQ(allocations, before);
  }
}

}  // namespace
}  // namespace wharf::uet
