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

TEST(SegmentTable, ASegmentMayEndWithTheLastAddress) {
  SegmentTable table;
  verbs::SegmentConfig config = some_segment();
  config.base = ~std::uint64_t{0} - 63;
  config.rights = verbs::kFullAccess;
  const auto number = table.add(config);
  ASSERT_TRUE(number.ok()) << number.error().message;
  const MrRecord& record = table.record(*number);
  const auto granted = [&](std::uint64_t address, std::uint64_t length) {
    return SegmentTable::check(record, record.token_id, 0, Right::kRead, address, length) == Grant::kGranted;
  };
  EXPECT_TRUE(granted(~std::uint64_t{0}, 1));
  EXPECT_FALSE(granted(~std::uint64_t{0}, 2));
  EXPECT_FALSE(granted(0, 1));
  config.length = 65;
  EXPECT_FALSE(table.add(config).ok());
}

}  // namespace
}  // namespace wharf::ub
