// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/world_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/statistics.h"
#include "sim/scenario/fabric_summary.h"
#include "sim/scenario/input_file.h"
#include "sim/scenario/rank_results.h"
#include "sim/scenario/read_again.h"
#include "sim/scenario/traffic_results.h"

namespace wharf::sim {
namespace {

/// The places of the ranks, as a list of hosts of the topology.
Result<workload::Placement> place_on_thin_hosts(const TrafficSettings& traffic, TrafficRoot root,
                                                const WorldRoles& roles, std::uint64_t seed) {
  workload::Placement placed;
  placed.kind = workload::PlacementKind::kListed;
  TrafficSettings among = traffic;
  if (root == TrafficRoot::kServer) {
    placed.hosts.push_back(roles.first_server());
    if (among.ranks == 1 || among.ranks > roles.between() + 1) {
      return input_error(
          fmt::format("traffic.ranks: found {}, expected 2 to {}: the server and hosts that are neither "
                      "client nor server",
                      among.ranks, roles.between() + 1));
    }
    if (among.ranks != 0) --among.ranks;
  }
  auto ranks = place(among, roles.between(), seed);
  if (!ranks) return ranks.error();
  for (const std::uint32_t rank : *ranks) placed.hosts.push_back(roles.clients + rank);
  return placed;
}

Result<workload::FlowList> flows_of_file(const TrafficSettings& traffic) {
  const TrafficFile& given = *traffic_file(traffic);
  const std::string& file = traffic.*given.file;
  WHARF_TRY(require_readable_again(given.key, file));
  auto text = read_text(file);
  if (!text) return Error{text.error().kind, fmt::format("{}: {}", given.key, text.error().message)};
  return read_traffic_file(traffic, *text, file, false);
}

Result<std::optional<workload::SizeDistribution>> sizes_of_file(const TrafficSettings& traffic) {
  if (!traffic.sizes_from_file()) return std::optional<workload::SizeDistribution>{};
  WHARF_TRY(require_readable_again("traffic.arrivals", traffic.sizes_file));
  const auto text = read_text(traffic.sizes_file);
  if (!text) return Error{text.error().kind, "traffic.arrivals: " + text.error().message};
  auto read = workload::read_size_distribution(*text, traffic.sizes_file);
  if (!read) return read.error();
  return std::optional<workload::SizeDistribution>(*std::move(read));
}

/// Three decimals are a picosecond.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

constexpr std::array<std::string_view, 6> kCounts{"flows",  "started", "finished",
                                                  "failed", "bytes",   "retransmitted"};
constexpr std::array<std::string_view, 5> kTimes{"min", "mean", "p50", "p99", "max"};

}  // namespace

Result<workload::FlowList> world_flows(const TrafficSettings& traffic, TrafficRoot root,
                                       const WorldRoles& roles, const Topology& topology,
                                       std::uint64_t seed) {
  if (roles.between() == 0) {
    return input_error(
        fmt::format("traffic.* leaves hosts.clients {} of {} hosts and {} the servers, expected some that "
                    "make traffic alone: hosts.clients from 1 to {}",
                    roles.clients, roles.hosts, roles.servers, roles.hosts - roles.servers - 1));
  }
  if (!traffic.given()) {
    auto list = flows_of_file(traffic);
    if (!list || list->ranks.empty()) return list;
    WHARF_TRY(place_program(traffic, roles.clients, roles.between(), seed, *list));
    return list;
  }
  auto sizes = sizes_of_file(traffic);
  if (!sizes) return sizes.error();
  TrafficSettings own = traffic;
  if (own.placement.kind != workload::PlacementKind::kListed) {
    auto placed = place_on_thin_hosts(traffic, root, roles, seed);
    if (!placed) return placed.error();
    own.placement = *std::move(placed);
    own.ranks = 0;
  }
  return generate_flows(own, topology, seed, *sizes);
}

nlohmann::ordered_json background_report(const World& world, const TrafficSettings& traffic) {
  const workload::FlowList& list = world.background();
  const std::vector<FlowRecord>& records = world.background_records();
  std::uint64_t started = 0, finished = 0, failed = 0, bytes = 0, retransmitted = 0;
  std::vector<std::int64_t> times;
  TimePs begin = kNever;
  TimePs end;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const FlowRecord& record = records[i];
    retransmitted += record.retransmissions();
    if (record.start != kNever) ++started;
    if (record.end == kNever) continue;
    if (record.status != verbs::CompletionStatus::kSuccess) {
      ++failed;
      continue;
    }
    ++finished;
    if (!counts(record, traffic.warm_up)) continue;
    bytes += list.flows[i].bytes;
    times.push_back((record.end - record.start).ps);
    begin = min(begin, record.start);
    end = max(end, record.end);
  }
  nlohmann::ordered_json out{{"flows", records.size()}, {"started", started},
                             {"finished", finished},    {"failed", failed},
                             {"bytes", bytes},          {"retransmitted", retransmitted}};
  if (traffic.warm_up > kTimeZero) out["left_out"] = left_out(traffic, list);
  if (!list.ranks.empty()) out["ranks"] = rank_summary(list.ranks, world.background_ranks());
  if (times.empty()) return out;
  std::sort(times.begin(), times.end());
  const std::span<const std::int64_t> sorted(times);
  const auto at = [&](double percent) {
    return rounded(static_cast<double>(exact_percentile(sorted, percent)) / 1e3);
  };
  out["completion_ns"] = {{"min", at(0)},
                          {"mean", rounded(mean(sorted) / 1e3)},
                          {"p50", at(50)},
                          {"p99", at(99)},
                          {"max", at(100)}};
  if (end > begin)
    out["goodput_gbps"] = rounded(static_cast<double>(bytes) * 8e3 / static_cast<double>((end - begin).ps));
  return out;
}

std::vector<std::string> background_paths(const TrafficSettings& traffic) {
  std::vector<std::string> paths;
  for (const std::string_view count : kCounts) paths.push_back(fmt::format("background.{}", count));
  for (const std::string_view time : kTimes)
    paths.push_back(fmt::format("background.completion_ns.{}", time));
  paths.emplace_back("background.goodput_gbps");
  if (traffic.warm_up > kTimeZero) paths.emplace_back("background.left_out");
  if (traffic.goal.empty()) return paths;
  for (const std::string& path : rank_summary_paths()) paths.push_back("background." + path);
  return paths;
}

}  // namespace wharf::sim
