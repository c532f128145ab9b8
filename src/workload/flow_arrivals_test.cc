// SPDX-License-Identifier: Apache-2.0
#include "workload/flow_arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace wharf::workload {
namespace {

ArrivalConfig config_of(ArrivalPattern pattern, std::uint32_t ranks, std::uint64_t flows) {
  ArrivalConfig config{
      .name = "arrivals", .pattern = pattern, .link = gigabits_per_second(100), .flows = flows};
  config.ranks.resize(ranks);
  std::iota(config.ranks.begin(), config.ranks.end(), 0U);
  return config;
}

FlowList make(const ArrivalConfig& config, const SizeDistribution& sizes = SizeDistribution::fixed(4096)) {
  auto list = arriving_flows(config, sizes);
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  return *std::move(list);
}

TEST(FlowArrivals, TheLoadIsWhatWasAskedFor) {
  // 16 hosts at half of 100 Gb/s, 4096 B: a flow every 655.36 ns and host, all together one every 40.96 ns.
  const FlowList list = make(config_of(ArrivalPattern::kUniform, 16, 20'000));
  ASSERT_EQ(list.flows.size(), 20'000U);
  const double mean_ns = as_nanoseconds(list.flows.back().start) / 20'000;
  EXPECT_NEAR(mean_ns, 40.96, 5 * 40.96 / 141.4);  // Five standard deviations of a mean of 20,000.
  std::map<std::uint32_t, int> sent;
  std::map<std::uint32_t, int> received;
  for (std::size_t i = 0; i < list.flows.size(); ++i) {
    const Flow& flow = list.flows[i];
    EXPECT_NE(flow.source, flow.destination);
    ++sent[flow.source];
    ++received[flow.destination];
    if (i > 0) {
      EXPECT_GE(flow.start, list.flows[i - 1].start);
    }
  }
  for (std::uint32_t host = 0; host < 16; ++host) {
    EXPECT_NEAR(sent[host], 1250, 5 * 35);
    EXPECT_NEAR(received[host], 1250, 5 * 35);
  }
}

TEST(FlowArrivals, GapsAreExponential) {
  ArrivalConfig config = config_of(ArrivalPattern::kPermutation, 2, 20'000);
  const FlowList list = make(config);
  TimePs last{};
  int count = 0;
  int short_gaps = 0;
  for (const Flow& flow : list.flows) {
    if (flow.source != 0) continue;
    short_gaps += flow.start - last < picoseconds(655'360) ? 1 : 0;
    last = flow.start;
    ++count;
  }
  // 1 - 1/e of them are shorter than the mean.
  EXPECT_NEAR(static_cast<double>(short_gaps) / count, 0.632, 5 * 0.0048);
}

TEST(FlowArrivals, AnIncastSharesTheReceiversLink) {
  const FlowList list = make(config_of(ArrivalPattern::kIncast, 9, 8000));
  for (const Flow& flow : list.flows) EXPECT_EQ(flow.destination, 0U);
  EXPECT_NEAR(as_nanoseconds(list.flows.back().start) / 8000, 655.36, 5 * 655.36 / 89.4);
}

TEST(FlowArrivals, DurationEndsThemBeforeTheCount) {
  ArrivalConfig config = config_of(ArrivalPattern::kUniform, 16, 0);
  config.duration = microseconds(100);
  const FlowList list = make(config);
  EXPECT_NEAR(static_cast<double>(list.flows.size()), 100'000 / 40.96, 5 * 49.4);
  EXPECT_LT(list.flows.back().start, microseconds(100));
  config.flows = 10;
  EXPECT_EQ(make(config).flows.size(), 10U);
}

TEST(FlowArrivals, OtherRanksLeaveASendersArrivalsAndSizesAlone) {
  const auto of_host_one = [](const FlowList& list) {
    std::vector<std::pair<TimePs, std::uint64_t>> flows;
    for (const Flow& flow : list.flows) {
      if (flow.source == 1 && flow.start < microseconds(2000)) flows.emplace_back(flow.start, flow.bytes);
    }
    return flows;
  };
  ArrivalConfig few = config_of(ArrivalPattern::kUniform, 4, 0);
  few.duration = milliseconds(2);
  ArrivalConfig many = config_of(ArrivalPattern::kPermutation, 7, 0);
  many.duration = milliseconds(2);
  const auto sizes = *published_distribution("hadoop");
  const auto flows = of_host_one(make(few, sizes));
  EXPECT_GT(flows.size(), 50U);
  EXPECT_EQ(of_host_one(make(many, sizes)), flows);
  many.seed = 2;
  EXPECT_NE(of_host_one(make(many, sizes)), flows);
}

TEST(FlowArrivals, Refusals) {
  const auto refused = [](const ArrivalConfig& config, std::uint64_t bytes) {
    return arriving_flows(config, SizeDistribution::fixed(bytes)).error().message;
  };
  EXPECT_EQ(refused(config_of(ArrivalPattern::kUniform, 1, 5), 1),
            "arrivals: found 1 rank, expected at least 2");
  ArrivalConfig slow = config_of(ArrivalPattern::kUniform, 2, 5);
  slow.link = {1000};
  slow.load_ppm = 1;
  EXPECT_THAT(refused(slow, 1'000'000), testing::HasSubstr("more than a day apart"));
  slow.load_ppm = 1000;
  slow.flows = 1'000'000;
  EXPECT_THAT(refused(slow, 1000), testing::HasSubstr("flows have arrived after a day"));
}

}  // namespace
}  // namespace wharf::workload
