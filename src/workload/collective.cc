// SPDX-License-Identifier: Apache-2.0
#include "workload/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"
#include "workload/placement.h"

namespace wharf::workload {
namespace {

constexpr std::size_t kKinds = 9;
constexpr std::array<std::string_view, kKinds> kNames{"ring_all_reduce", "tree_all_reduce", "star_all_reduce",
                                                      "all_gather",      "all_to_all",      "broadcast",
                                                      "incast",          "outcast",         "permutation"};
constexpr std::array<std::string_view, kKinds> kDescriptions{
    "2 (N - 1) steps around the ring, a part of size / N from each rank",
    "up a binary tree and down again, the size on each edge",
    "the size from everybody to rank 0, then from rank 0 to everybody",
    "N - 1 steps around the ring, the size from each rank",
    "the size from each rank to each other, one after another or several at a time",
    "the size from rank 0 along a binomial tree",
    "the size from everybody to rank 0 at once",
    "the size from rank 0 to everybody at once",
    "the size from each rank to one other, along a random cycle"};

class CollectiveBuilder {
 public:
  explicit CollectiveBuilder(const CollectiveConfig& config)
      : config_(config),
        count_(static_cast<std::uint32_t>(config.ranks.size())),
        flows_(std::string(name(config.kind)), 0) {}

  FlowList build() {
    switch (config_.kind) {
      case Collective::kRingAllReduce:
        ring_all_reduce();
        break;
      case Collective::kTreeAllReduce:
        tree_all_reduce();
        break;
      case Collective::kStarAllReduce:
        to_everybody(flows_.when_received(to_root()));
        break;
      case Collective::kAllGather:
        ring(count_ - 1, [&](std::uint32_t, std::uint32_t) { return config_.bytes; });
        break;
      case Collective::kAllToAll:
        all_to_all();
        break;
      case Collective::kBroadcast:
        broadcast();
        break;
      case Collective::kIncast:
        to_root();
        break;
      case Collective::kOutcast:
        to_everybody(kNoTrigger);
        break;
      case Collective::kPermutation: {
        const std::vector<std::uint32_t> next = permutation_cycle(count_, config_.seed);
        for (std::uint32_t rank = 0; rank < count_; ++rank) send(rank, next[rank], config_.bytes, kNoTrigger);
        break;
      }
    }
    return flows_.take();
  }

 private:
  std::uint32_t send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint32_t trigger) {
    Flow flow;
    flow.source = config_.ranks[from];
    flow.destination = config_.ranks[to];
    flow.bytes = bytes;
    flow.trigger = trigger;
    return flows_.add(flow);
  }

  /// In each step every rank sends to its right neighbour, from the second on what came from the left one in
  /// the step before.
  template <typename BytesOf>
  void ring(std::uint32_t steps, BytesOf bytes_of) {
    std::vector<std::uint32_t> before(count_);
    std::vector<std::uint32_t> now(count_);
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::uint32_t rank = 0; rank < count_; ++rank) {
        const std::uint32_t left = (rank + count_ - 1) % count_;
        const std::uint32_t trigger = step == 0 ? kNoTrigger : flows_.when_received({before[left]});
        now[rank] = send(rank, (rank + 1) % count_, bytes_of(step, rank), trigger);
      }
      std::swap(before, now);
    }
  }

  void ring_all_reduce() {
    // Parts differ by a byte at most and make up S. Rank r begins with part r; in every step it sends the
    // part that its left neighbour sent before, reduced for N - 1 steps and complete from then on.
    const auto edge = [&](std::uint64_t part) {
      return static_cast<std::uint64_t>(static_cast<unsigned __int128>(config_.bytes) * part / count_);
    };
    ring(2 * (count_ - 1), [&](std::uint32_t step, std::uint32_t rank) {
      const std::uint32_t part = (rank + 2 * count_ - step) % count_;
      return edge(part + 1) - edge(part);
    });
  }

  void tree_all_reduce() {
    // Children of r are 2r + 1 and 2r + 2. A rank sends up when it has what its children send, and down when
    // it has what its parent sends.
    const auto trigger_of = [&](const std::vector<std::uint32_t>& received) {
      return received.empty() ? kNoTrigger : flows_.when_received(received);
    };
    std::vector<std::vector<std::uint32_t>> received(count_);
    for (std::uint32_t rank = count_ - 1; rank > 0; --rank) {
      const std::uint32_t parent = (rank - 1) / 2;
      received[parent].push_back(send(rank, parent, config_.bytes, trigger_of(received[rank])));
    }
    std::vector<std::uint32_t> told(count_, kNoTrigger);
    told[0] = trigger_of(received[0]);
    for (std::uint32_t rank = 1; rank < count_; ++rank) {
      const std::uint32_t flow = send((rank - 1) / 2, rank, config_.bytes, told[(rank - 1) / 2]);
      if (2 * rank + 1 < count_) told[rank] = flows_.when_received({flow});
    }
  }

  std::vector<std::uint32_t> to_root() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 1; rank < count_; ++rank)
      all.push_back(send(rank, 0, config_.bytes, kNoTrigger));
    return all;
  }

  void to_everybody(std::uint32_t trigger) {
    for (std::uint32_t rank = 1; rank < count_; ++rank) send(0, rank, config_.bytes, trigger);
  }

  /// Each flow of a rank that ends starts the rank's next one, whichever it was; so the last ones go on, too:
  /// they may end before earlier ones.
  void all_to_all() {
    const std::uint32_t window = std::min(config_.window, count_ - 1);
    if (window == count_ - 1) {
      for (std::uint32_t step = 1; step < count_; ++step) {
        for (std::uint32_t rank = 0; rank < count_; ++rank)
          send(rank, (rank + step) % count_, config_.bytes, kNoTrigger);
      }
      return;
    }
    std::vector<std::uint32_t> turns(count_);
    for (std::uint32_t step = 1; step < count_; ++step) {
      for (std::uint32_t rank = 0; rank < count_; ++rank) {
        if (step == 1) turns[rank] = flows_.in_turn();
        const std::uint32_t trigger = step <= window ? kNoTrigger : turns[rank];
        flows_.goes_on(send(rank, (rank + step) % count_, config_.bytes, trigger), turns[rank]);
      }
    }
  }

  /// In round k the ranks below 2^k send to those 2^k above them.
  void broadcast() {
    // What a rank waits for: having been told, then its own flow of the round before.
    std::vector<std::uint32_t> last(count_);
    for (std::uint64_t reach = 1; reach < count_; reach *= 2) {
      for (std::uint32_t rank = 0; rank < reach && rank + reach < count_; ++rank) {
        const auto to = static_cast<std::uint32_t>(rank + reach);
        std::uint32_t trigger = kNoTrigger;
        if (reach > 1) {
          const bool just_told = rank >= reach / 2;
          trigger = just_told ? flows_.when_received({last[rank]}) : flows_.when_finished({last[rank]});
        }
        last[rank] = last[to] = send(rank, to, config_.bytes, trigger);
      }
    }
  }

  const CollectiveConfig& config_;
  std::uint32_t count_;
  FlowListBuilder flows_;
};

std::uint64_t flow_count(Collective kind, std::uint64_t ranks) {
  switch (kind) {
    case Collective::kRingAllReduce:
      return 2 * ranks * (ranks - 1);
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return ranks * (ranks - 1);
    case Collective::kTreeAllReduce:
    case Collective::kStarAllReduce:
      return 2 * (ranks - 1);
    case Collective::kBroadcast:
    case Collective::kIncast:
    case Collective::kOutcast:
      return ranks - 1;
    case Collective::kPermutation:
      return ranks;
  }
  WHARF_CHECK(false);
}

}  // namespace

std::span<const std::string_view> collective_names() { return kNames; }
std::string_view name(Collective kind) { return kNames[static_cast<std::size_t>(kind)]; }
std::string_view describe(Collective kind) { return kDescriptions[static_cast<std::size_t>(kind)]; }

Result<FlowList> collective_flows(const CollectiveConfig& config) {
  const std::uint64_t ranks = config.ranks.size();
  if (ranks < 2)
    return input_error(fmt::format("{}: found {} rank, expected at least 2", name(config.kind), ranks));
  WHARF_CHECK(config.window > 0);
  const std::uint64_t parts = config.kind == Collective::kRingAllReduce ? ranks : 1;
  if (config.bytes < parts || config.bytes > parts * kFlowBytesMax)
    return input_error(fmt::format("{}: found a size of {} bytes, expected {} to {} for {} ranks",
                                   name(config.kind), config.bytes, parts, parts * kFlowBytesMax, ranks));
  if (flow_count(config.kind, ranks) > kFlowsMax)
    return input_error(fmt::format("{}: {} ranks need {} flows, expected at most {}", name(config.kind),
                                   ranks, flow_count(config.kind, ranks), kFlowsMax));
  return CollectiveBuilder(config).build();
}

CollectiveVolume volume_of(Collective kind, std::uint64_t bytes, std::uint32_t ranks) {
  const std::uint64_t others = ranks - 1;
  switch (kind) {
    case Collective::kRingAllReduce:
    case Collective::kTreeAllReduce:
    case Collective::kStarAllReduce:
      return {bytes, static_cast<std::uint64_t>(static_cast<unsigned __int128>(bytes) * 2 * others / ranks)};
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return {ranks * bytes, others * bytes};
    case Collective::kBroadcast:
    case Collective::kPermutation:
      return {bytes, bytes};
    case Collective::kIncast:
    case Collective::kOutcast:
      return {others * bytes, others * bytes};
  }
  WHARF_CHECK(false);
}

}  // namespace wharf::workload
