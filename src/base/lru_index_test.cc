// SPDX-License-Identifier: Apache-2.0
#include "base/lru_index.h"

#include <algorithm>
#include <list>
#include <set>

#include "base/random.h"

namespace wharf {
namespace {

TEST(LruIndex, CapacityOneAlwaysEvicts) {
  LruIndex index(1);
  EXPECT_FALSE(index.insert(7).evicted);
  const LruIndex::Insertion second = index.insert(8);
  EXPECT_TRUE(second.evicted);
  EXPECT_EQ(second.evicted_key, 7U);
  EXPECT_EQ(second.slot, 0U);
  EXPECT_EQ(index.find(7), kNoSlot);
  EXPECT_DEATH(index.insert(8), "invariant broken");
}

TEST(LruIndex, EqualsAList) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, "lru");
    const auto capacity = static_cast<std::uint32_t>(1 + random.below(20));
    LruIndex index(capacity);
    std::list<std::uint64_t> model;  // Most recent first.
    for (int step = 0; step < 3'000; ++step) {
      const std::uint64_t key = random.below(30) << (seed % 50);
      const auto at = std::find(model.begin(), model.end(), key);
      if (random.below(5) == 0) {
        ASSERT_EQ(index.erase(key), at != model.end());
        if (at != model.end()) model.erase(at);
      } else if (at != model.end()) {
        ASSERT_NE(index.touch(key), kNoSlot);
        model.splice(model.begin(), model, at);
      } else {
        ASSERT_EQ(index.touch(key), kNoSlot);
        const LruIndex::Insertion insertion = index.insert(key);
        ASSERT_LT(insertion.slot, capacity);
        ASSERT_EQ(index.key_of(insertion.slot), key);
        ASSERT_EQ(insertion.evicted, model.size() == capacity);
        if (insertion.evicted) {
          ASSERT_EQ(insertion.evicted_key, model.back());
          model.pop_back();
        }
        model.push_front(key);
      }
      ASSERT_EQ(index.size(), model.size());
      std::set<std::uint32_t> slots;
      for (const std::uint64_t present : model) slots.insert(index.find(present));
      ASSERT_EQ(slots.size(), model.size());
      ASSERT_FALSE(slots.contains(kNoSlot));
      if (!model.empty()) {
        ASSERT_EQ(index.oldest_key(), model.back());
      }
    }
  }
}

}  // namespace
}  // namespace wharf
