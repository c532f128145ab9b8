// SPDX-License-Identifier: Apache-2.0
#include "workload/pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "workload/value_format.h"

namespace wharf::workload {
namespace {

RC_GTEST_PROP(Pattern, TheFirstWrongByteIsFoundAtAnyLength, ()) {
  const std::size_t length = *rc::gen::inRange<std::size_t>(0, 70);
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  std::vector<std::byte> bytes(length);
  fill_words(bytes, seed, 5);
  RC_ASSERT(first_wrong_byte(bytes, seed, 5) == length);
  if (length == 0) return;
  const std::size_t first = *rc::gen::inRange<std::size_t>(0, length);
  const std::size_t later = *rc::gen::inRange<std::size_t>(first, length);
  bytes[later] = ~bytes[later];
  if (later != first) bytes[first] = ~bytes[first];
  RC_ASSERT(first_wrong_byte(bytes, seed, 5) == first);
}

TEST(Pattern, SealsHoldOnlyForTheirPlace) {
  const std::uint64_t word = sealed(1, 7, 42);
  EXPECT_EQ(sealed_value(word), 42U);
  EXPECT_TRUE(seal_holds(1, 7, word));
  EXPECT_FALSE(seal_holds(1, 8, word));
  EXPECT_FALSE(seal_holds(2, 7, word));
  for (unsigned bit = 0; bit < 64; ++bit)
    EXPECT_FALSE(seal_holds(1, 7, word ^ (std::uint64_t{1} << bit))) << bit;
}

RC_GTEST_PROP(ValueFormat, AnyMixOfTwoVersionsOrKeysIsRefused, ()) {
  const std::size_t words = *rc::gen::inRange<std::size_t>(2, 17);
  std::vector<std::byte> old_value(words * 8);
  std::vector<std::byte> new_value(words * 8);
  write_value(old_value, 3, 11, 4);
  write_value(new_value, 3, 11, 5);
  RC_ASSERT(read_value(old_value, 3, 11) == 4U);
  RC_ASSERT(read_value(new_value, 3, 11) == 5U);
  RC_ASSERT(read_value(new_value, 3, 12) == std::nullopt);
  const std::size_t cut = *rc::gen::inRange<std::size_t>(1, words) * 8;
  std::copy(new_value.begin(), new_value.begin() + static_cast<std::ptrdiff_t>(cut), old_value.begin());
  RC_ASSERT(read_value(old_value, 3, 11) == std::nullopt);
}

}  // namespace
}  // namespace wharf::workload
