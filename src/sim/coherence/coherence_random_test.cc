// SPDX-License-Identifier: Apache-2.0
// Random programs of several cores and a device on a few lines, over networks that delay and reorder, with a
// directory so small that lines are recalled all the time.
#include <gtest/gtest.h>

#include "sim/coherence/coherence_random_test_support.h"

namespace wharf::sim {
namespace {

TEST(CoherenceRandom, NothingIsEverWrong) {
  CoherenceTotals totals;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const std::string fault = run_random_coherence(seed, 150, totals);
    ASSERT_EQ(fault, "") << "seed " << seed;
  }
  // The programs reach what they are meant to reach.
  EXPECT_GT(totals.recalls, 5000u);
  EXPECT_GT(totals.way_waits, 2000u);
  EXPECT_GT(totals.overtaken_data, 300u);
  EXPECT_GT(totals.deferred_snoops, 2000u);
  EXPECT_GT(totals.lost_upgrades, 300u);
  EXPECT_GT(totals.write_backs, 2000u);
  EXPECT_GT(totals.cache_supplies, 5000u);
  EXPECT_GT(totals.stale_puts, 2000u);
  EXPECT_GT(totals.drops, 300u);
  EXPECT_GT(totals.late_drops, 200u);
  EXPECT_GT(totals.spurious_invalidations, 300u);
  EXPECT_GT(totals.flight_invalidations, 1000u);
  EXPECT_GT(totals.stolen_ownerships, 1000u);
  EXPECT_GT(totals.device_writes, 2000u);
}

}  // namespace
}  // namespace wharf::sim
