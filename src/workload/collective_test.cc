// SPDX-License-Identifier: Apache-2.0
#include "workload/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace wharf::workload {
namespace {

using testing::Each;
using testing::HasSubstr;

std::vector<std::uint32_t> first_hosts(std::uint32_t count) {
  std::vector<std::uint32_t> hosts(count);
  std::iota(hosts.begin(), hosts.end(), 0U);
  return hosts;
}

FlowList make(Collective kind, std::uint32_t ranks, std::uint64_t bytes = 1000) {
  auto list = collective_flows({.kind = kind, .bytes = bytes, .ranks = first_hosts(ranks)});
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  EXPECT_TRUE(check_startable(*list).ok());
  return *std::move(list);
}

/// The flows of each round when every flow takes one round.
std::vector<std::vector<std::uint32_t>> rounds(const FlowList& list) {
  FlowTriggers triggers(list);
  std::vector<std::vector<std::uint32_t>> all(1);
  for (std::uint32_t i = 0; i < list.flows.size(); ++i) {
    if (list.flows[i].trigger == kNoTrigger) all[0].push_back(i);
  }
  std::size_t ran = 0;
  for (; !all.back().empty();) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t flow : all.back()) {
      triggers.received(flow, next);
      triggers.finished(flow, next);
    }
    ran += all.back().size();
    all.push_back(std::move(next));
  }
  all.pop_back();
  EXPECT_EQ(ran, list.flows.size());
  return all;
}

std::vector<std::uint64_t> sent_by_host(const FlowList& list) {
  std::vector<std::uint64_t> sent(list.largest_host() + 1, 0);
  for (const Flow& flow : list.flows) sent[flow.source] += flow.bytes;
  return sent;
}

std::vector<std::uint64_t> received_by_host(const FlowList& list) {
  std::vector<std::uint64_t> received(list.largest_host() + 1, 0);
  for (const Flow& flow : list.flows) received[flow.destination] += flow.bytes;
  return received;
}

TEST(Collective, ARingAllReduceIsTwiceNLessOneStepsOfItsNthPart) {
  const FlowList list = make(Collective::kRingAllReduce, 8);
  ASSERT_EQ(list.flows.size(), 8U * 14);
  for (const Flow& flow : list.flows) {
    EXPECT_EQ(flow.bytes, 125U);
    EXPECT_EQ(flow.destination, (flow.source + 1) % 8);
  }
  EXPECT_THAT(sent_by_host(list), Each(1750U));  // 14 x 125.
  const auto steps = rounds(list);
  ASSERT_EQ(steps.size(), 14U);
  for (const auto& step : steps) EXPECT_EQ(step.size(), 8U);
}

TEST(Collective, PartsOfARingThatDoNotDivideMakeUpTheSize) {
  // 11 bytes in 4 parts: 0-2, 2-5, 5-8, 8-11. Each part crosses 6 of the 24 flows.
  const FlowList list = make(Collective::kRingAllReduce, 4, 11);
  std::uint64_t total = 0;
  for (const Flow& flow : list.flows) total += flow.bytes;
  EXPECT_EQ(total, 66U);
  // What a rank sends in a step is what its left neighbour sent in the step before.
  for (std::size_t i = 4; i < list.flows.size(); ++i)
    EXPECT_EQ(list.flows[i].bytes, list.flows[i - i % 4 - 4 + (i + 3) % 4].bytes) << i;
}

TEST(Collective, ATreeGoesUpLevelByLevelAndDownAgain) {
  const FlowList list = make(Collective::kTreeAllReduce, 15);
  EXPECT_EQ(list.flows.size(), 28U);
  const auto levels = rounds(list);
  ASSERT_EQ(levels.size(), 6U);
  for (std::size_t level = 0; level < 6; ++level)
    EXPECT_EQ(levels[level].size(), (std::array<std::size_t, 6>{8, 4, 2, 2, 4, 8})[level]) << level;
  EXPECT_EQ(sent_by_host(list)[0], 2000U);   // To two children.
  EXPECT_EQ(sent_by_host(list)[1], 3000U);   // To its parent and two children.
  EXPECT_EQ(sent_by_host(list)[14], 1000U);  // A leaf, to its parent.
  EXPECT_EQ(received_by_host(list)[0], 2000U);
  // With ranks missing in the last level, 0 has children 1 and 2, and 1 has 3.
  EXPECT_EQ(rounds(make(Collective::kTreeAllReduce, 4)).size(), 4U);
}

TEST(Collective, AStarGathersThenSpreads) {
  const FlowList list = make(Collective::kStarAllReduce, 8);
  const auto steps = rounds(list);
  ASSERT_EQ(steps.size(), 2U);
  for (const std::uint32_t flow : steps[0]) EXPECT_EQ(list.flows[flow].destination, 0U);
  for (const std::uint32_t flow : steps[1]) EXPECT_EQ(list.flows[flow].source, 0U);
  EXPECT_EQ(steps[0].size(), 7U);
  EXPECT_EQ(steps[1].size(), 7U);
  EXPECT_EQ(list.triggers.size(), 1U);
  EXPECT_EQ(list.activations.size(), 7U);
}

TEST(Collective, AllGatherAndAllToAllMoveNLessOneTimesTheSizeEachWay) {
  for (const Collective kind : {Collective::kAllGather, Collective::kAllToAll}) {
    const FlowList list = make(kind, 8);
    EXPECT_EQ(list.flows.size(), 56U);
    EXPECT_THAT(sent_by_host(list), Each(7000U));
    EXPECT_THAT(received_by_host(list), Each(7000U));
    EXPECT_EQ(rounds(list).size(), 7U);
  }
  const FlowList all = make(Collective::kAllToAll, 8);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Flow& flow : all.flows) pairs.emplace(flow.source, flow.destination);
  EXPECT_EQ(pairs.size(), 56U);
}

// Each flow of a rank that ends starts its next one, in whatever order they end.
TEST(Collective, AnAllToAllKeepsItsWindowUnderWay) {
  for (const std::uint32_t window : {1U, 2U, 3U, 6U, 7U, 100U}) {
    const auto list = collective_flows(
        {.kind = Collective::kAllToAll, .bytes = 10, .ranks = first_hosts(8), .window = window});
    ASSERT_TRUE(list.ok() && check_startable(*list).ok()) << window;
    EXPECT_EQ(list->flows.size(), 56U);
    FlowTriggers triggers(*list);
    EXPECT_TRUE(triggers.stays_on_hosts()) << window;
    std::vector<std::uint32_t> under_way;
    for (std::uint32_t i = 0; i < list->flows.size(); ++i) {
      if (list->flows[i].trigger == kNoTrigger && list->flows[i].source == 3) under_way.push_back(i);
    }
    std::vector<std::uint32_t> to;
    const auto note = [&](std::size_t from) {
      for (std::size_t i = from; i < under_way.size(); ++i)
        to.push_back(list->flows[under_way[i]].destination);
    };
    note(0);
    for (std::uint32_t left = 7; left > 0; --left) {
      EXPECT_EQ(under_way.size(), std::min(window, left)) << window;
      const std::uint32_t last = under_way.back();  // The youngest ends first.
      under_way.pop_back();
      const std::size_t before = under_way.size();
      triggers.finished(last, under_way);
      note(before);
    }
    EXPECT_THAT(to, testing::ElementsAre(4, 5, 6, 7, 0, 1, 2)) << window;
  }
}

TEST(Collective, NoRankWaitsForWhatHappensAtAnother) {
  for (std::size_t kind = 0; kind < collective_names().size(); ++kind) {
    for (const std::uint32_t ranks : {2U, 3U, 11U, 16U})
      EXPECT_TRUE(FlowTriggers(make(static_cast<Collective>(kind), ranks)).stays_on_hosts())
          << collective_names()[kind] << " of " << ranks;
  }
}

TEST(Collective, ABroadcastDoublesWhoHasItInEachRound) {
  const FlowList list = make(Collective::kBroadcast, 11);
  const auto steps = rounds(list);
  ASSERT_EQ(steps.size(), 4U);
  std::set<std::uint32_t> has{0};
  for (std::size_t step = 0; step < 4; ++step) {
    EXPECT_EQ(steps[step].size(), (std::array<std::size_t, 4>{1, 2, 4, 3})[step]);
    std::set<std::uint32_t> senders;
    std::set<std::uint32_t> after = has;
    for (const std::uint32_t flow : steps[step]) {
      EXPECT_TRUE(has.contains(list.flows[flow].source));
      EXPECT_TRUE(senders.insert(list.flows[flow].source).second);
      after.insert(list.flows[flow].destination);
    }
    has = after;
  }
  EXPECT_EQ(has.size(), 11U);
}

TEST(Collective, IncastOutcastAndPermutationStartAtOnce) {
  for (const Collective kind : {Collective::kIncast, Collective::kOutcast, Collective::kPermutation}) {
    const FlowList list = make(kind, 9);
    EXPECT_EQ(rounds(list).size(), 1U);
    EXPECT_EQ(list.flows.size(), kind == Collective::kPermutation ? 9U : 8U);
  }
  EXPECT_EQ(received_by_host(make(Collective::kIncast, 9))[0], 8000U);
  EXPECT_EQ(sent_by_host(make(Collective::kOutcast, 9))[0], 8000U);
  const FlowList list = make(Collective::kPermutation, 32);
  EXPECT_THAT(sent_by_host(list), Each(1000U));
  EXPECT_THAT(received_by_host(list), Each(1000U));
  for (const Flow& flow : list.flows) EXPECT_NE(flow.source, flow.destination);
}

TEST(Collective, RanksAreWhereTheyWerePlaced) {
  const auto list = collective_flows({.kind = Collective::kBroadcast, .bytes = 1, .ranks = {7, 3}});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->flows[0].source, 7U);
  EXPECT_EQ(list->flows[0].destination, 3U);
}

TEST(Collective, VolumesAreThoseOfCollectiveBenchmarks) {
  const auto buffer = [](Collective kind) { return volume_of(kind, 1000, 8).buffer_bytes; };
  const auto link = [](Collective kind) { return volume_of(kind, 1000, 8).link_bytes; };
  EXPECT_EQ(buffer(Collective::kTreeAllReduce), 1000U);
  EXPECT_EQ(link(Collective::kTreeAllReduce), 1750U);
  EXPECT_EQ(buffer(Collective::kAllToAll), 8000U);
  EXPECT_EQ(link(Collective::kAllToAll), 7000U);
  EXPECT_EQ(link(Collective::kBroadcast), 1000U);
  EXPECT_EQ(buffer(Collective::kIncast), 7000U);
}

TEST(Collective, Refusals) {
  const auto refused = [](Collective kind, std::uint32_t ranks, std::uint64_t bytes) {
    return collective_flows({.kind = kind, .bytes = bytes, .ranks = first_hosts(ranks)}).error().message;
  };
  EXPECT_EQ(refused(Collective::kIncast, 1, 1), "incast: found 1 rank, expected at least 2");
  EXPECT_EQ(refused(Collective::kIncast, 2, 0),
            "incast: found a size of 0 bytes, expected 1 to 2147483648 for 2 ranks");
  EXPECT_EQ(refused(Collective::kRingAllReduce, 4, 3),
            "ring_all_reduce: found a size of 3 bytes, expected 4 to 8589934592 for 4 ranks");
  EXPECT_THAT(refused(Collective::kAllToAll, 5000, 1), HasSubstr("5000 ranks need 24995000 flows"));
}

}  // namespace
}  // namespace wharf::workload
