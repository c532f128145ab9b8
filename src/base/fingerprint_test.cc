// SPDX-License-Identifier: Apache-2.0
#include "base/fingerprint.h"

#include <set>

namespace wharf {
namespace {

std::uint64_t of(std::initializer_list<std::uint64_t> words) {
  Fingerprint fingerprint;
  for (const std::uint64_t word : words) fingerprint.add(word);
  return fingerprint.value();
}

TEST(Fingerprint, DependsOnEveryBitAndOnTheOrder) {
  std::set<std::uint64_t> seen{of({0, 0}), of({0}), of({1, 2}), of({2, 1}), of({})};
  EXPECT_EQ(seen.size(), 5U);
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_TRUE(seen.insert(of({std::uint64_t{1} << bit, 0, 0})).second) << bit;
    EXPECT_TRUE(seen.insert(of({0, std::uint64_t{1} << bit, 0})).second) << bit;
  }
  EXPECT_EQ(of({3, 4}), of({3, 4}));
}

TEST(Fingerprint, UnorderedCombinationForgetsTheOrder) {
  const std::uint64_t a = of({1});
  const std::uint64_t b = of({2});
  const std::uint64_t c = of({3});
  EXPECT_EQ(combine_unordered(combine_unordered(a, b), c), combine_unordered(a, combine_unordered(c, b)));
  EXPECT_NE(combine_unordered(a, b), combine_unordered(a, c));
}

TEST(Fingerprint, PrintsSixteenDigits) {
  EXPECT_EQ(fingerprint_hex(0x1f), "000000000000001f");
  EXPECT_EQ(fingerprint_hex(0xfedcba9876543210ULL), "fedcba9876543210");
}

}  // namespace
}  // namespace wharf
