// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <array>

namespace wharf {
namespace {

constexpr std::array<std::string_view, 5> kNames{"latency", "bandwidth", "link_delay", "seed", "ns"};

TEST(NearestName, FindsTypingMistakes) {
  EXPECT_EQ(nearest_name("latnecy", kNames), "latency");     // swapped neighbours
  EXPECT_EQ(nearest_name("bandwith", kNames), "bandwidth");  // missing letter
  EXPECT_EQ(nearest_name("link-delay", kNames), "link_delay");
  EXPECT_EQ(nearest_name("SEED", kNames), "seed");
  EXPECT_EQ(nearest_name("nss", kNames), "ns");
}

TEST(NearestName, StaysSilentWhenNothingIsClose) {
  EXPECT_EQ(nearest_name("cycles", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
}

TEST(NearestName, EarlierNameWinsATie) {
  constexpr std::array<std::string_view, 2> names{"read", "real"};
  EXPECT_EQ(nearest_name("reaf", names), "read");
}

TEST(NearestName, SwapCountsOnce) {
  // "abcd" to "badc" is two swaps: over the limit of one for four letters.
  constexpr std::array<std::string_view, 1> names{"badc"};
  EXPECT_EQ(nearest_name("abcd", names), std::nullopt);
  EXPECT_EQ(nearest_name("bacd", names), "badc");
}

TEST(NearestName, AWordCutShortIsTheOneThatItBegins) {
  constexpr std::array<std::string_view, 3> names{"ring_all_reduce", "tree_all_reduce", "tree_of_life"};
  EXPECT_EQ(nearest_name("ring", names), "ring_all_reduce");
  EXPECT_EQ(nearest_name("ri", names), std::nullopt);
  EXPECT_EQ(nearest_name("tree", names), std::nullopt) << "two begin with it";
}

}  // namespace
}  // namespace wharf
