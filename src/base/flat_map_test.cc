// SPDX-License-Identifier: Apache-2.0
#include "base/flat_map.h"

#include <map>

#include "base/random.h"

namespace wharf {
namespace {

TEST(FlatMap, EmptyMapFindsNothing) {
  FlatMap map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_FALSE(map.erase(0));
  EXPECT_TRUE(map.insert(0, 5));
  EXPECT_FALSE(map.insert(0, 6));
  EXPECT_EQ(*map.find(0), 5U);
}

TEST(FlatMap, ReservedRoomNeverGrows) {
  FlatMap map(1'000);
  const std::size_t bytes = map.bytes_held();
  for (std::uint64_t key = 0; key < 1'000; ++key) map.insert(key << 40U, 1);
  EXPECT_EQ(map.bytes_held(), bytes);
}

// Few distinct keys and much deletion, so that runs collide, wrap around the end and shift back.
TEST(FlatMap, EqualsAnOrderedMap) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, "flat_map");
    FlatMap map;
    std::map<std::uint64_t, std::uint32_t> model;
    const std::uint64_t key_range = 1 + random.below(200);
    for (int step = 0; step < 4'000; ++step) {
      const std::uint64_t key = random.below(key_range) * (seed % 2 == 0 ? 1 : 0x100000001ULL);
      const auto value = static_cast<std::uint32_t>(step);
      switch (random.below(4)) {
        case 0:
        case 1:
          ASSERT_EQ(map.insert(key, value), model.emplace(key, value).second);
          break;
        case 2:
          ASSERT_EQ(map.erase(key), model.erase(key) == 1);
          break;
        default: {
          const auto expected = model.find(key);
          const std::uint32_t* found = map.find(key);
          ASSERT_EQ(found != nullptr, expected != model.end());
          if (found != nullptr) {
            ASSERT_EQ(*found, expected->second);
          }
        }
      }
      ASSERT_EQ(map.size(), model.size());
    }
    for (const auto& [key, value] : model) ASSERT_EQ(*map.find(key), value);
    map.clear();
    ASSERT_TRUE(map.empty());
    for (const auto& [key, value] : model) ASSERT_FALSE(map.contains(key));
  }
}

}  // namespace
}  // namespace wharf
