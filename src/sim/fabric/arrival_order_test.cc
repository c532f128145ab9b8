// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/arrival_order.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace wharf::sim {
namespace {

/// Few and many, spread evenly, crowded at one end, all at one instant, far apart: always by time, then link.
TEST(ArrivalOrder, IsByTimeThenLink) {
  RandomStream random(1, "arrivals");
  ArrivalOrder order;
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t count = random.below(round % 4 == 0 ? 20 : 9000);
    const std::uint64_t range = std::uint64_t{1} << random.below(40);
    const std::uint64_t from = random.below(std::uint64_t{1} << 50U);
    std::vector<Arrival> expected;
    order.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t after = random.below(8) == 0 ? random.below(range) : random.below(range / 64 + 1);
      const Arrival arrival{picoseconds(static_cast<std::int64_t>(from + after)),
                            static_cast<std::uint32_t>(random.below(1U << 20U)), i};
      expected.push_back(arrival);
      order.add(arrival);
    }
    std::stable_sort(expected.begin(), expected.end(), [](const Arrival& a, const Arrival& b) {
      return a.time != b.time ? a.time < b.time : a.link < b.link;
    });
    const std::span<const Arrival> sorted = order.sort();
    ASSERT_EQ(sorted.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(sorted[i].time, expected[i].time);
      ASSERT_EQ(sorted[i].link, expected[i].link);
    }
  }
}

}  // namespace
}  // namespace wharf::sim
