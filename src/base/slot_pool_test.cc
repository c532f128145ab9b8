// SPDX-License-Identifier: Apache-2.0
#include "base/slot_pool.h"

#include <set>

namespace wharf {
namespace {

TEST(SlotPool, ExhaustsAndRecovers) {
  SlotPool<int> pool(2);
  EXPECT_EQ(pool.acquire(), 0U);
  EXPECT_EQ(pool.acquire(), 1U);
  EXPECT_EQ(pool.acquire(), kNoSlot);
  pool[1] = 7;
  pool.release(0);
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(pool.acquire(), 0U);
  EXPECT_EQ(pool[1], 7);
}

TEST(SlotPool, GrowthKeepsIndicesAndFreeOrder) {
  SlotPool<int> pool(2);
  pool[pool.acquire()] = 5;
  pool.reserve(4);
  EXPECT_EQ(pool[0], 5);
  EXPECT_EQ(pool.acquire(), 1U);
  EXPECT_EQ(pool.acquire(), 2U);
  EXPECT_EQ(pool.acquire(), 3U);
  EXPECT_EQ(pool.acquire(), kNoSlot);
  EXPECT_GE(pool.bytes_held(), 4 * (sizeof(int) + sizeof(std::uint32_t)));
}

TEST(SlotPool, DoubleReleaseAborts) {
  SlotPool<int> pool(2);
  const std::uint32_t index = pool.acquire();
  pool.release(index);
  EXPECT_DEATH(pool.release(index), "invariant broken");
  EXPECT_DEATH(pool.release(9), "invariant broken");
}

RC_GTEST_PROP(SlotPool, NeverHandsOutASlotTwice, (const std::vector<std::uint8_t>& steps)) {
  SlotPool<int> pool(8);
  std::set<std::uint32_t> used;
  for (const std::uint8_t step : steps) {
    if (step % 2 == 0) {
      const std::uint32_t index = pool.acquire();
      if (index == kNoSlot) {
        RC_ASSERT(used.size() == pool.capacity());
      } else {
        RC_ASSERT(used.insert(index).second);
      }
    } else if (!used.empty()) {
      const auto victim = std::next(used.begin(), step % static_cast<int>(used.size()));
      pool.release(*victim);
      used.erase(victim);
    }
    if (step == 77) pool.reserve(pool.capacity() + 3);
    RC_ASSERT(pool.in_use() == used.size());
  }
}

}  // namespace
}  // namespace wharf
