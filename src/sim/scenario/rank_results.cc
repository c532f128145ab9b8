// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/rank_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/statistics.h"

namespace wharf::sim {
namespace {

constexpr std::uint32_t kEachShown = 64;
constexpr std::array<std::string_view, 6> kSpread{"min", "mean", "p50", "p95", "p99", "max"};

TimeSpread spread_of(std::vector<std::int64_t> times) {
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const std::span<const std::int64_t> sorted(times);
  const auto at = [&](double percent) { return picoseconds(exact_percentile(sorted, percent)); };
  return {.min = picoseconds(times.front()),
          .mean = picoseconds(static_cast<std::int64_t>(mean(sorted))),
          .p50 = at(50),
          .p95 = at(95),
          .p99 = at(99),
          .max = picoseconds(times.back())};
}

nlohmann::ordered_json json_of(const TimeSpread& spread) {
  return {{"min", as_nanoseconds(spread.min)}, {"mean", as_nanoseconds(spread.mean)},
          {"p50", as_nanoseconds(spread.p50)}, {"p95", as_nanoseconds(spread.p95)},
          {"p99", as_nanoseconds(spread.p99)}, {"max", as_nanoseconds(spread.max)}};
}

}  // namespace

RankStatistics statistics_of(const std::vector<RankRecord>& ranks) {
  RankStatistics statistics;
  std::vector<std::int64_t> finish;
  std::vector<std::int64_t> computed;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].finish == kNever) continue;
    finish.push_back(ranks[rank].finish.ps);
    computed.push_back(ranks[rank].computed.ps);
    statistics.slowest.push_back(rank);
  }
  statistics.finished = static_cast<std::uint32_t>(finish.size());
  statistics.finish = spread_of(std::move(finish));
  statistics.computed = spread_of(std::move(computed));
  std::stable_sort(statistics.slowest.begin(), statistics.slowest.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return ranks[a].finish > ranks[b].finish; });
  if (statistics.slowest.size() > kSlowestShown) statistics.slowest.resize(kSlowestShown);
  return statistics;
}

nlohmann::ordered_json rank_summary(const workload::RankProgram& program,
                                    const std::vector<RankRecord>& ranks) {
  const RankStatistics statistics = statistics_of(ranks);
  nlohmann::ordered_json json{{"count", program.ranks()},
                              {"finished", statistics.finished},
                              {"operations", program.ops.size()},
                              {"messages", program.messages.size()},
                              {"finish_ns", json_of(statistics.finish)},
                              {"computed_ns", json_of(statistics.computed)}};
  if (program.ranks() > kEachShown) return json;
  auto& each = json["each"] = nlohmann::ordered_json::array();
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    nlohmann::ordered_json one{{"rank", rank}, {"host", program.hosts[rank]}};
    if (ranks[rank].finish != kNever) one["finish_ns"] = as_nanoseconds(ranks[rank].finish);
    one["computed_ns"] = as_nanoseconds(ranks[rank].computed);
    each.push_back(std::move(one));
  }
  return json;
}

std::vector<std::string> rank_summary_paths() {
  std::vector<std::string> paths{"ranks.count", "ranks.finished", "ranks.operations", "ranks.messages"};
  for (const std::string_view time : {"finish_ns", "computed_ns"}) {
    for (const std::string_view each : kSpread) paths.push_back(fmt::format("ranks.{}.{}", time, each));
  }
  return paths;
}

std::string ranks_csv(const workload::FlowList& list, const std::vector<RankRecord>& ranks) {
  const workload::RankProgram& program = list.ranks;
  struct Messages {
    std::uint64_t sent = 0, received = 0, bytes_sent = 0, bytes_received = 0;
  };
  std::vector<Messages> messages(ranks.size());
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    Messages& from = messages[program.rank_of(program.messages[i].send)];
    Messages& to = messages[program.rank_of(program.messages[i].receive)];
    ++from.sent;
    from.bytes_sent += list.flows[i].bytes;
    ++to.received;
    to.bytes_received += list.flows[i].bytes;
  }
  std::string out = "rank,host,operations,sent,received,bytes_sent,bytes_received,computed_ns,finish_ns\n";
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const Messages& own = messages[rank];
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{:.3f},{}\n", rank, program.hosts[rank],
                   program.first[rank + 1] - program.first[rank], own.sent, own.received, own.bytes_sent,
                   own.bytes_received, as_nanoseconds(ranks[rank].computed),
                   ranks[rank].finish == kNever ? std::string()
                                                : fmt::format("{:.3f}", as_nanoseconds(ranks[rank].finish)));
  }
  return out;
}

}  // namespace wharf::sim
