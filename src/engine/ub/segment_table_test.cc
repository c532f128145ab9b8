// SPDX-License-Identifier: Apache-2.0
// TokenIDs over many registrations.
#include "engine/ub/segment_table.h"

#include <gtest/gtest.h>

#include "engine/ub/config.h"

namespace wharf::ub {
namespace {

verbs::SegmentConfig some_segment() {
  verbs::SegmentConfig config;
  config.base = 0x1000;
  config.length = 64;
  return config;
}

TEST(SegmentTable, ATokenIdReturnsAfterAllTheOthers) {
  SegmentTable table;
  const std::uint32_t kept = table.record(table.add(some_segment()).value()).token_id;
  const std::uint32_t second = table.record(table.add(some_segment()).value()).token_id;
  ASSERT_TRUE(table.remove(second));
  for (std::uint32_t turn = 0; turn < kTokenIds - 3; ++turn) {
    const auto number = table.add(some_segment());
    ASSERT_TRUE(number.ok()) << number.error().message;
    const std::uint32_t id = table.record(*number).token_id;
    ASSERT_TRUE(id != kept && id != second && id != 0 && id < kTokenIds) << id;
    ASSERT_TRUE(table.remove(id));
  }
  EXPECT_EQ(table.record(table.add(some_segment()).value()).token_id, second);
}

}  // namespace
}  // namespace wharf::ub
