// SPDX-License-Identifier: Apache-2.0
// What passes what on the timed link and behind the root complex: nothing that may not, and whatever may.
#include "sim/host/pcie/legal_passing.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

using ordering::Kind;
using ordering::Label;
using ordering::Request;
using ordering::RlsqDesign;

constexpr std::array<RlsqDesign, ordering::kRlsqDesignCount> kDesigns{
    RlsqDesign::kBaseline,    RlsqDesign::kReleaseAcquire, RlsqDesign::kThreadSpecific,
    RlsqDesign::kSpeculative, RlsqDesign::kStrictBlocking, RlsqDesign::kStrictSpeculative};

RootComplexConfig config_of(RlsqDesign design) {
  RootComplexConfig config;
  config.passing = LegalPassing::kOn;
  config.passing_share = 0.5;
  config.queue.design = design;
  return config;
}

Request draw(RandomStream& random, std::uint64_t number) {
  Request request;
  request.kind = static_cast<Kind>(random.below(ordering::kKindCount));
  request.label = static_cast<Label>(random.below(ordering::kLabelCount));
  request.domain = {static_cast<std::uint32_t>(random.below(2)), static_cast<std::uint32_t>(random.below(2))};
  request.number = number / 2;  // Of two lines each.
  request.line = random.below(3);
  return request;
}

TEST(LegalPassing, NothingArrivesBeforeWhatItMayNotPass) {
  for (const RlsqDesign design : kDesigns) {
    RandomStream random(3, "requests");
    LinkPassing link(config_of(design), RandomStream(4, "link"));
    struct Sent {
      Request request;
      TimePs arrives;
    };
    std::vector<Sent> all;
    std::set<std::tuple<Kind, Label, Kind, Label>> allowed;
    std::set<std::tuple<Kind, Label, Kind, Label>> seen;
    TimePs now;
    for (std::uint64_t i = 0; i < 60'000; ++i) {
      now = now + nanoseconds(10);
      const Request request = draw(random, i);
      const TimePs arrives = link.arrival(now, now + nanoseconds(200), request);
      ASSERT_GE(arrives, now + nanoseconds(200));
      for (std::size_t back = 1; back <= std::min<std::size_t>(all.size(), 60); ++back) {
        const Sent& earlier = all[all.size() - back];
        const auto pair =
            std::tuple(earlier.request.kind, earlier.request.label, request.kind, request.label);
        const bool may = ordering::may_pass_on_link(design, {}, earlier.request, request);
        if (may) allowed.insert(pair);
        if (arrives >= earlier.arrives) continue;
        ASSERT_TRUE(may) << i << " passed " << i - back << " under " << static_cast<int>(design);
        seen.insert(pair);
      }
      all.push_back({request, arrives});
    }
    EXPECT_EQ(seen, allowed) << "pairs that may pass and never did, under " << static_cast<int>(design);
    EXPECT_GT(link.passed(), 1'000U);
  }
}

TEST(LegalPassing, WhereItIsOffOrOnTheBusTheLinkIsAQueue) {
  RootComplexConfig off = config_of(RlsqDesign::kBaseline);
  off.passing = LegalPassing::kOff;
  RootComplexConfig bus = config_of(RlsqDesign::kBaseline);
  bus.on_bus = true;
  RootComplexConfig undecided = config_of(RlsqDesign::kBaseline);
  undecided.passing = LegalPassing::kWhereJudged;
  for (const RootComplexConfig& config : {off, bus, undecided}) {
    LinkPassing link(config, RandomStream(1, "link"));
    for (int i = 0; i < 1'000; ++i)
      EXPECT_EQ(link.arrival(nanoseconds(i), nanoseconds(i + 200), Request{}), nanoseconds(i + 200));
    EXPECT_EQ(link.passed(), 0U);
  }
}

TEST(LegalPassing, MessagesOfOneLineKeepTheirOrderOnTheWayHome) {
  HomePassing home(config_of(RlsqDesign::kBaseline), RandomStream(1, "home"));
  RandomStream random(2, "lines");
  struct Message {
    LineNumber line;
    TimePs leaves;
  };
  std::vector<Message> waiting;
  std::array<TimePs, 4> last{};
  TimePs now;
  TimePs latest;
  std::uint64_t passed = 0;
  const auto left = [&](const Message& message) {
    EXPECT_GE(message.leaves, last[message.line]) << message.line;
    last[message.line] = message.leaves;
    if (message.leaves < latest) ++passed;
    latest = max(latest, message.leaves);
  };
  for (int i = 0; i < 20'000; ++i) {
    now = now + nanoseconds(7);
    // What is due leaves, the earliest first, those of one time in the order in which they were ready.
    std::stable_sort(waiting.begin(), waiting.end(),
                     [](const Message& a, const Message& b) { return a.leaves < b.leaves; });
    while (!waiting.empty() && waiting.front().leaves <= now) {
      home.left(waiting.front().line);
      waiting.erase(waiting.begin());
    }
    const LineNumber line = random.below(last.size());
    const TimePs leaves = home.departure(now, line);
    ASSERT_GE(leaves, now);
    left({line, leaves});
    if (leaves > now) waiting.push_back({line, leaves});
  }
  EXPECT_GT(passed, 1'000U);
  EXPECT_EQ(home.passed(), passed);
}

}  // namespace
}  // namespace wharf::sim
