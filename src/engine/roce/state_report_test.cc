// SPDX-License-Identifier: Apache-2.0
// The published formula must come out of the sizes of the real records.
#include "engine/roce/state_report.h"

#include <gtest/gtest.h>

namespace wharf::roce {
namespace {

// OpenURMA 5.4: 512 bytes per queue pair, 32 per memory region.
TEST(RoceStateReport, MatchesThePublishedFormula) {
  EXPECT_EQ(state_report(1, 1).roce_bytes, 544u);
  EXPECT_EQ(state_report(64, 64).roce_bytes, 2'099'200u);
  EXPECT_EQ(state_report(1024, 1024).roce_bytes, 536'903'680u);
}

TEST(RoceStateReport, ListsTheWindowApart) {
  RoceConfig config;
  config.transmit_ahead = 16;
  const StateReport small = state_report(1, 1, config);
  config.transmit_ahead = 64;
  const StateReport large = state_report(1, 1, config);
  EXPECT_EQ(small.roce_bytes, large.roce_bytes);
  EXPECT_GT(large.beyond_bytes, small.beyond_bytes);
}

// A controller, and a place for each packet of the window, beside the context record.
TEST(RoceStateReport, ListsCongestionControlWhenThereIsSome) {
  RoceConfig config;
  const StateReport without = state_report(1, 1, config);
  config.congestion = congestion::DcqcnConfig{};
  const StateReport with = state_report(1, 1, config);
  EXPECT_EQ(with.roce_bytes, without.roce_bytes);
  EXPECT_EQ(with.beyond.size(), without.beyond.size() + 1);
  EXPECT_EQ(with.beyond.back().record, "congestion_control");
  EXPECT_GT(with.beyond_bytes, without.beyond_bytes + 16 * config.window_packets);
}

}  // namespace
}  // namespace wharf::roce
