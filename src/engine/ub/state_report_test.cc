// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/state_report.h"

namespace wharf::ub {
namespace {

// [OpenURMA 5.4] 108 bytes for one jetty, one peer and one segment; N + M records, not N * M.
TEST(StateReport, GivesThePublishedTotals) {
  EXPECT_EQ(state_report(1, 1).ub_bytes, 108u);
  EXPECT_EQ(state_report(1024, 1024).ub_bytes, 110'592u);
  EXPECT_EQ(state_report(1024, 1024).ub_full_bytes, 139'264u);
}

TEST(StateReport, RowsSumToTheirTotals) {
  const StateReport report = state_report(10, 3);
  std::uint64_t sum = 0;
  for (const StateRow& row : report.beyond) {
    EXPECT_EQ(row.bytes, row.bytes_each * row.count);
    sum += row.bytes;
  }
  EXPECT_EQ(sum, report.beyond_bytes);
  EXPECT_GT(report.beyond_bytes, report.ub_bytes);
}

}  // namespace
}  // namespace wharf::ub
