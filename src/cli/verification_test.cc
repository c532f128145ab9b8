// SPDX-License-Identifier: Apache-2.0
#include "cli/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

sim::RunReport report_with(std::uint64_t fingerprint, sim::RunOutcome end = sim::RunOutcome::kDone) {
  sim::RunReport report;
  report.fingerprint = fingerprint;
  report.end = end;
  return report;
}

TEST(Verification, TwoHistoriesAreABugOfOurs) {
  const auto difference = difference_of(report_with(0x1234), report_with(0x1235));
  ASSERT_TRUE(difference.has_value());
  EXPECT_THAT(*difference, testing::HasSubstr("a bug of ours"));
  EXPECT_THAT(*difference, testing::HasSubstr("0x0000000000001234 and 0x0000000000001235"));
}

TEST(Verification, OneHistoryIsNone) { EXPECT_FALSE(difference_of(report_with(7), report_with(7))); }

TEST(Verification, ARunThatStalledOnceOnlyIsADifference) {
  EXPECT_TRUE(difference_of(report_with(7), report_with(7, sim::RunOutcome::kStalled)));
}

TEST(Verification, AnInterruptedRunHasNoWholeHistory) {
  EXPECT_FALSE(difference_of(report_with(7), report_with(8, sim::RunOutcome::kInterrupted)));
}

}  // namespace
}  // namespace wharf::cli
