// SPDX-License-Identifier: Apache-2.0
#include "workload/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace wharf::workload {
namespace {

using testing::ElementsAre;

std::vector<std::uint32_t> placed(std::string_view text, std::uint32_t ranks, std::uint32_t hosts,
                                  std::uint64_t seed = 1) {
  const auto placement = parse_placement(text);
  EXPECT_TRUE(placement) << text;
  auto hosts_of = place_ranks(*placement, ranks, hosts, seed);
  EXPECT_TRUE(hosts_of.ok()) << (hosts_of.ok() ? "" : hosts_of.error().message);
  return *std::move(hosts_of);
}

TEST(Placement, EachKind) {
  EXPECT_THAT(placed("linear", 3, 8), ElementsAre(0U, 1U, 2U));
  EXPECT_EQ(placed("linear", 0, 8).size(), 8U);
  EXPECT_THAT(placed("stride:4", 8, 8), ElementsAre(0U, 4U, 1U, 5U, 2U, 6U, 3U, 7U));
  EXPECT_THAT(placed("stride:3", 5, 7), ElementsAre(0U, 3U, 6U, 1U, 4U));
  EXPECT_THAT(placed("5,0,7", 0, 8), ElementsAre(5U, 0U, 7U));
}

TEST(Placement, RandomOnesFollowTheSeedAndTakeEveryHostOnce) {
  const auto all = placed("random", 0, 64, 3);
  EXPECT_EQ(std::set<std::uint32_t>(all.begin(), all.end()).size(), 64U);
  EXPECT_EQ(placed("random", 0, 64, 3), all);
  EXPECT_NE(placed("random", 0, 64, 4), all);
  // Fewer ranks take the first of them.
  EXPECT_THAT(placed("random", 2, 64, 3), ElementsAre(all[0], all[1]));
}

TEST(Placement, CyclesReachEverybodyOnce) {
  const auto next = permutation_cycle(9, 5);
  std::uint32_t at = 0;
  std::set<std::uint32_t> seen;
  for (int step = 0; step < 9; ++step) {
    EXPECT_NE(next[at], at);
    at = next[at];
    seen.insert(at);
  }
  EXPECT_EQ(at, 0U);
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_THAT(permutation_cycle(2, 1), ElementsAre(1U, 0U));
}

TEST(Placement, Refusals) {
  for (const char* wrong : {"", "lineer", "stride", "stride:0", "stride:x", "0,,1", "1,", "131072", "-1"})
    EXPECT_FALSE(parse_placement(wrong)) << wrong;
  const auto refused = [](std::string_view text, std::uint32_t ranks) {
    return place_ranks(*parse_placement(text), ranks, 8, 1).error().message;
  };
  EXPECT_EQ(refused("linear", 9), "ranks: found 9, expected at most the 8 hosts");
  EXPECT_EQ(refused("1,2", 3), "ranks: found 3, expected the 2 of the placement");
  EXPECT_EQ(refused("1,8", 0), "placement: found host 8, expected hosts from 0 to 7");
  EXPECT_EQ(refused("1,1", 0), "placement: found host 1 twice, expected it once");
  EXPECT_EQ(refused("stride:8", 0), "placement: found a stride of 8, expected less than the 8 hosts");
}

}  // namespace
}  // namespace wharf::workload
