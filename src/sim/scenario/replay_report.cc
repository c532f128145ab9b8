// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/replay_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wharf::sim {
namespace {

using Json = nlohmann::ordered_json;

/// More clients than this are told of by their extremes and the median alone.
constexpr std::size_t kClientsToldApart = 16;

struct NamedPagingCount {
  const char* name;
  std::uint64_t PagingCounters::*value;
};
constexpr std::array<NamedPagingCount, 9> kPaging{{
    {"hits", &PagingCounters::hits},
    {"faults", &PagingCounters::faults},
    {"prefetch_waits", &PagingCounters::prefetch_waits},
    {"pages_read", &PagingCounters::pages_read},
    {"pages_prefetched", &PagingCounters::pages_prefetched},
    {"prefetches_used", &PagingCounters::prefetches_used},
    {"evictions", &PagingCounters::evictions},
    {"pages_written", &PagingCounters::pages_written},
    {"reclaimed", &PagingCounters::reclaimed},
}};
// None is forgotten.
static_assert(sizeof(PagingCounters) == kPaging.size() * sizeof(std::uint64_t));
static_assert(sizeof(TraceCounts) == 4 * sizeof(std::uint64_t));
static_assert(sizeof(CacheCounters) == (kCacheLevels + 3) * sizeof(std::uint64_t));

void add_counts(ReplayResult& sum, const ReplayResult& more) {
  sum.counts.loads += more.counts.loads;
  sum.counts.stores += more.counts.stores;
  sum.counts.modifies += more.counts.modifies;
  sum.counts.instructions += more.counts.instructions;
  for (std::size_t level = 0; level < kCacheLevels; ++level)
    sum.cache.answered[level] += more.cache.answered[level];
  sum.cache.fills += more.cache.fills;
  sum.cache.write_backs += more.cache.write_backs;
  sum.cache.stores_to_memory += more.cache.stores_to_memory;
  sum.split_accesses += more.split_accesses;
  sum.local_misses += more.local_misses;
  sum.remote_loads += more.remote_loads;
  sum.remote_stores += more.remote_stores;
  for (const NamedPagingCount& each : kPaging) sum.paging.*each.value += more.paging.*each.value;
  sum.miss_latency.merge(more.miss_latency);
}

/// With `all`, also what only some replays have.
Json counts_json(const ReplayResult& result, bool all) {
  const auto level = [&](CacheLevel at) { return result.cache.answered[static_cast<std::size_t>(at)]; };
  const std::uint64_t lookups =
      level(CacheLevel::kL1) + level(CacheLevel::kL2) + level(CacheLevel::kLlc) + level(CacheLevel::kMemory);
  Json out;
  out["accesses"] = result.counts.accesses();
  out["loads"] = result.counts.loads;
  out["stores"] = result.counts.stores;
  out["modifies"] = result.counts.modifies;
  out["instructions"] = result.counts.instructions;
  out["l1_hits"] = level(CacheLevel::kL1);
  out["l2_hits"] = level(CacheLevel::kL2);
  out["llc_hits"] = level(CacheLevel::kLlc);
  out["misses"] = level(CacheLevel::kMemory);
  out["hit_fraction"] =
      lookups == 0 ? 0.0
                   : 1.0 - static_cast<double>(level(CacheLevel::kMemory)) / static_cast<double>(lookups);
  out["local_misses"] = result.local_misses;
  out["remote_loads"] = result.remote_loads;
  out["remote_stores"] = result.remote_stores;
  out["time_ns"] = as_nanoseconds(result.time);
  out["all_local_time_ns"] = as_nanoseconds(result.all_local_time);
  out["slow_down"] = result.slow_down();
  if (all || result.miss_latency.count() != 0) {
    const auto at = [&](double percent) {
      return static_cast<double>(result.miss_latency.value_at_percentile(percent)) / 1e3;
    };
    out["miss_latency_ns"] = {{"mean", result.miss_latency.mean() / 1e3},
                              {"p50", at(50)},
                              {"p99", at(99)},
                              {"max", static_cast<double>(result.miss_latency.max()) / 1e3}};
  }
  if (all || result.paging.faults + result.paging.hits != 0) {
    for (const NamedPagingCount& each : kPaging) out["paging"][each.name] = result.paging.*each.value;
  }
  return out;
}

/// The ends of `values` and what lies in their middle, the lower one of two.
Json spread_json(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {{"min", values.front()}, {"median", values[(values.size() - 1) / 2]}, {"max", values.back()}};
}

Json clients_json(const std::vector<ClientReplay>& clients) {
  std::vector<double> times;
  std::vector<double> slow_downs;
  for (const ClientReplay& client : clients) {
    times.push_back(as_nanoseconds(client.result->time));
    slow_downs.push_back(client.result->slow_down());
  }
  Json out{
      {"count", clients.size()}, {"time_ns", spread_json(times)}, {"slow_down", spread_json(slow_downs)}};
  if (clients.size() > kClientsToldApart) return out;
  for (std::size_t i = 0; i < clients.size(); ++i)
    out["each"].push_back({{"host", clients[i].host}, {"time_ns", times[i]}, {"slow_down", slow_downs[i]}});
  return out;
}

void add_numbers(const Json& value, const std::string& path, std::vector<std::string>& out) {
  if (value.is_number()) out.push_back(path);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items())
    add_numbers(member, path.empty() ? key : fmt::format("{}.{}", path, key), out);
}

}  // namespace

ReplayResult together(const std::vector<ClientReplay>& clients) {
  ReplayResult sum;
  const ClientReplay* slowest = &clients.front();
  for (const ClientReplay& client : clients) {
    add_counts(sum, *client.result);
    if (client.result->time > slowest->result->time) slowest = &client;
  }
  sum.time = slowest->result->time;
  sum.all_local_time = slowest->result->all_local_time;
  return sum;
}

Json replay_report(const std::vector<ClientReplay>& clients, bool world) {
  Json out = counts_json(together(clients), false);
  if (world) out["clients"] = clients_json(clients);
  return out;
}

std::vector<std::string> replay_numbers(bool world) {
  const ReplayResult none;
  Json document = counts_json(none, true);
  if (world) document["clients"] = clients_json({{0, &none}});
  std::vector<std::string> names;
  add_numbers(document, "", names);
  return names;
}

}  // namespace wharf::sim
