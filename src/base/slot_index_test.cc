// SPDX-License-Identifier: Apache-2.0
#include "base/slot_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace wharf {
namespace {

TEST(SlotIndex, DoesAsAMapDoes) {
  constexpr std::uint32_t kSlots = 64;
  SlotIndex index(kSlots, kSlots / 4);
  std::map<std::uint64_t, std::uint32_t> truth;
  std::vector<std::uint32_t> free;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) free.push_back(slot);
  std::mt19937_64 random(1);
  for (int step = 0; step < 200'000; ++step) {
    // Few keys, close together, far apart, and of all sizes.
    const std::uint64_t key = (random() % 40) << (random() % 3 * 28U);
    const auto known = truth.find(key);
    ASSERT_EQ(index.find(key), known == truth.end() ? kNoSlot : known->second);
    ASSERT_EQ(index.contains(key), known != truth.end());
    const std::size_t at = free.empty() ? 0 : random() % free.size();
    switch (random() % 3) {
      case 0:
        if (known != truth.end() || free.empty()) break;
        index.insert(key, free[at]);
        truth[key] = free[at];
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        ASSERT_EQ(index.erase(key), known != truth.end());
        if (known == truth.end()) break;
        free.push_back(known->second);
        truth.erase(known);
        break;
      default:
        if (known == truth.end() || free.empty()) break;
        index.move(key, free[at]);
        std::swap(known->second, free[at]);
        break;
    }
  }
  EXPECT_FALSE(truth.empty());
}

TEST(SlotIndex, CopiesAreIndependent) {
  SlotIndex one(4, 4);
  one.insert(7, 2);
  SlotIndex other = one;
  other.erase(7);
  EXPECT_EQ(one.find(7), 2U);
  EXPECT_EQ(other.find(7), kNoSlot);
}

TEST(SlotIndex, OneSlotIsEnough) {
  SlotIndex index(1, 1);
  EXPECT_EQ(index.find(0), kNoSlot);
  index.insert(~std::uint64_t{0}, 0);
  EXPECT_EQ(index.find(~std::uint64_t{0}), 0U);
  EXPECT_TRUE(index.erase(~std::uint64_t{0}));
  EXPECT_FALSE(index.erase(~std::uint64_t{0}));
}

}  // namespace
}  // namespace wharf
