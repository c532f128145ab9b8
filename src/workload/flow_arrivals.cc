// SPDX-License-Identifier: Apache-2.0
#include "workload/flow_arrivals.h"

#include <fmt/format.h>

#include <functional>
#include <queue>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "workload/placement.h"

namespace wharf::workload {
namespace {

constexpr TimePs kLongest = seconds(86'400);

/// One rank's process. Gaps, destinations and sizes have streams of their own, so that a change of pattern or
/// of sizes leaves the others alone.
struct Sender {
  RandomStream gaps;
  RandomStream destinations;
  RandomStream sizes;
};

class Arrivals {
 public:
  Arrivals(const ArrivalConfig& config, const SizeDistribution& sizes, TimePs mean)
      : config_(config), sizes_(sizes), mean_(mean), flows_(config.name, 0) {
    const auto count = static_cast<std::uint32_t>(config.ranks.size());
    if (config.pattern == ArrivalPattern::kPermutation) next_ = permutation_cycle(count, config.seed);
    const RandomStream root(config.seed, "arrivals");
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const RandomStream own = root.substream(config.ranks[rank]);
      senders_.push_back({own.substream(0), own.substream(1), own.substream(2)});
      if (config.pattern != ArrivalPattern::kIncast || rank != 0) arrive_after(kTimeZero, rank);
    }
  }

  Result<FlowList> build() {
    for (;;) {
      const auto [at, rank] = pending_.top();
      if (config_.duration != kTimeZero && at >= config_.duration) break;
      if (config_.flows != 0 && flows_.size() == config_.flows) break;
      if (flows_.size() == kFlowsMax)
        return input_error(fmt::format("{}: more than {} flows arrive by {}, expected fewer", config_.name,
                                       kFlowsMax, format_time(at)));
      if (at > kLongest)
        return input_error(fmt::format("{}: {} flows have arrived after a day, expected all of them by then",
                                       config_.name, flows_.size()));
      pending_.pop();
      add(at, rank);
      arrive_after(at, rank);
    }
    return flows_.take();
  }

 private:
  using Arrival = std::pair<TimePs, std::uint32_t>;

  void arrive_after(TimePs at, std::uint32_t rank) {
    pending_.emplace(at + senders_[rank].gaps.exponential(mean_), rank);
  }

  std::uint32_t destination_of(std::uint32_t rank) {
    switch (config_.pattern) {
      case ArrivalPattern::kUniform: {
        const auto other =
            static_cast<std::uint32_t>(senders_[rank].destinations.below(config_.ranks.size() - 1));
        return other < rank ? other : other + 1;
      }
      case ArrivalPattern::kPermutation:
        return next_[rank];
      case ArrivalPattern::kIncast:
        return 0;
    }
    WHARF_CHECK(false);
  }

  void add(TimePs at, std::uint32_t rank) {
    Flow flow;
    flow.source = config_.ranks[rank];
    flow.destination = config_.ranks[destination_of(rank)];
    flow.bytes = sizes_.draw(senders_[rank].sizes);
    flow.start = at;
    flows_.add(flow);
  }

  const ArrivalConfig& config_;
  const SizeDistribution& sizes_;
  TimePs mean_;
  FlowListBuilder flows_;
  std::vector<std::uint32_t> next_;
  std::vector<Sender> senders_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>>
      pending_;  ///< Earliest first, then by rank.
};

}  // namespace

Result<FlowList> arriving_flows(const ArrivalConfig& config, const SizeDistribution& sizes) {
  WHARF_CHECK(config.flows != 0 || config.duration != kTimeZero);
  const std::size_t ranks = config.ranks.size();
  if (ranks < 2)
    return input_error(fmt::format("{}: found {} rank, expected at least 2", config.name, ranks));
  TimePs mean = sizes.mean_interval(config.link, config.load_ppm);
  const auto sharing = config.pattern == ArrivalPattern::kIncast ? static_cast<std::int64_t>(ranks - 1) : 1;
  if (mean > kLongest / sharing)
    return input_error(
        fmt::format("{}: flows would arrive more than a day apart, expected a higher load or smaller flows",
                    config.name));
  return Arrivals(config, sizes, mean * sharing).build();
}

}  // namespace wharf::workload
