// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/replay_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/line.h"
#include "sim/scenario/assembly.h"
#include "sim/scenario/replay_port.h"

namespace wharf::sim {
namespace {

/// Far memory that holds no data: a trace has none either.
constexpr Bytes kFarMemory{std::uint64_t{1} << 34U};
constexpr std::uint32_t kPattern = 1;
constexpr std::uint32_t kMissSlotsMost = 64;
constexpr std::uint32_t kQueueDepth = 4096;

/// The hosts below the replay: its caches are its own, so the load/store port has none and adds no lookup.
TwoHostsConfig hosts_for(const ScenarioConfig& config, const RunOptions& options) {
  TwoHostsConfig out = two_hosts_config(config, options);
  out.host.cache.write_policy = WritePolicy::kUncached;
  out.host.cache.miss_detection = kTimeZero;
  out.host.core.outstanding_misses = std::min<std::uint32_t>(
      1024, std::min(config.host.core.outstanding_misses, kMissSlotsMost) + config.replay.core.write_slots);
  return out;
}

TraceReplayConfig replay_config(const ScenarioConfig& config) {
  TraceReplayConfig out = config.replay.core;
  out.cache = config.host.cache;
  out.local_memory = config.host.memory.load_latency;
  out.miss_slots = std::min(config.host.core.outstanding_misses, kMissSlotsMost);
  if (config.replay.far_memory == FarMemory::kPaged) out.paging = config.replay.paging;
  return out;
}

/// Calls the replay when its clock is reached or an answer has come, until the trace is over.
verbs::Task<void> drive(SimCore& core, TraceReplay<ReplayPort>& replay, ReplayPort& port) {
  replay.advance(core.now());
  while (!replay.finished()) {
    if (replay.deadline() == kNever) {
      co_await port.answered().wait();
    } else {
      co_await core.resume_at(max(replay.deadline(), core.now()));
      if (replay.deadline() <= core.now()) replay.advance(core.now());
    }
  }
  port.stop();
}

/// With `all`, also what only some replays have.
nlohmann::ordered_json replay_json(const ReplayResult& result, bool all = false) {
  const auto ns = [](TimePs time) { return as_nanoseconds(time); };
  const auto level = [&](CacheLevel at) { return result.cache.answered[static_cast<std::size_t>(at)]; };
  const std::uint64_t lookups =
      level(CacheLevel::kL1) + level(CacheLevel::kL2) + level(CacheLevel::kLlc) + level(CacheLevel::kMemory);
  nlohmann::ordered_json out;
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
  out["time_ns"] = ns(result.time);
  out["all_local_time_ns"] = ns(result.all_local_time);
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
  const PagingCounters& paging = result.paging;
  if (all || paging.faults + paging.hits != 0) {
    out["paging"] = {{"hits", paging.hits},
                     {"faults", paging.faults},
                     {"prefetch_waits", paging.prefetch_waits},
                     {"pages_read", paging.pages_read},
                     {"pages_prefetched", paging.pages_prefetched},
                     {"prefetches_used", paging.prefetches_used},
                     {"evictions", paging.evictions},
                     {"pages_written", paging.pages_written},
                     {"reclaimed", paging.reclaimed}};
  }
  return out;
}

/// The share of the trace that has been replayed; zero for text, whose length nobody knows.
double fraction_of(std::uint64_t replayed, std::uint64_t total) {
  return total == 0 ? 0.0 : static_cast<double>(replayed) / static_cast<double>(total);
}

}  // namespace

Result<void> check_replay(const ScenarioConfig& config) {
  return validate_trace_replay(replay_config(config));
}

std::vector<std::string> replay_numbers() {
  std::vector<std::string> names;
  const nlohmann::ordered_json document = replay_json(ReplayResult{}, true);
  for (const auto& [key, value] : document.items()) {
    if (!value.is_object()) names.push_back(key);
    if (!value.is_object()) continue;
    for (const auto& [member, number] : value.items()) names.push_back(fmt::format("{}.{}", key, member));
  }
  return names;
}

Result<RunReport> run_replay(const Scenario& scenario, const RunOptions& options) {
  const ScenarioConfig& config = scenario.config;
  auto reader = TraceReader::open(config.replay.trace);
  if (!reader) return reader.error();
  TraceReplayConfig replay_settings = replay_config(config);
  if (config.replay.warm_up_fraction > 0) {
    auto warm_up = warm_up_of(*reader, config.replay.warm_up_fraction);
    if (!warm_up) return warm_up.error();
    replay_settings.warm_up_accesses = std::max(replay_settings.warm_up_accesses, *warm_up);
  }
  const std::uint64_t total = reader->binary() != nullptr ? reader->binary()->counts().accesses() : 0;
  auto placement =
      MemoryPlacement::create(config.replay.placement, RandomStream(config.seed, "replay.placement"));
  if (!placement) return placement.error();

  auto made = TwoHosts::create(hosts_for(config, options));
  if (!made) return made.error();
  TwoHosts& two = **made;
  two.world().keep_spans_of(0, options.waterfall_operation);
  if (options.sink != nullptr) two.world().attach(*options.sink, options.sink_mask);
  auto near_segment = two.expose_pattern(1, kFarMemory, kPattern);
  if (!near_segment) return near_segment.error();
  auto pair = two.connect(*near_segment, {}, kQueueDepth);
  if (!pair) return pair.error();

  SimCore& core = two.host(0).core();
  ReplayPort port(core, *pair->near, traits(config.stack).load_store);
  auto replay = TraceReplay<ReplayPort>::create(replay_settings, *std::move(placement), *std::move(reader),
                                                port, config.host.memory.rate);
  if (!replay) return replay.error();
  const bool paged = replay_settings.paging.has_value();
  const std::uint32_t workers =
      paged ? replay_settings.paging->outstanding_writes + replay_settings.paging->window_pages
            : replay_settings.miss_slots + replay_settings.write_slots;
  const std::uint64_t buffer = paged ? replay_settings.paging->window_pages * kPageBytes : kLineBytes;
  port.start(*replay, workers, buffer);
  core.spawn(drive(core, *replay, port));

  RunReport report;
  report.end = run_to_the_end(
      two.world(), config.time_limit, options,
      [&] { return fraction_of(replay->accesses_replayed(), total); }, report.waiting);
  fill_from(two.world(), config, report);
  if (!replay->status().ok()) return replay->status().error();
  if (port.failure() != verbs::CompletionStatus::kSuccess) {
    return Error{ErrorKind::kStalled, fmt::format("{}: far memory could not be reached: {}",
                                                  config.replay.trace, verbs::name(port.failure()))};
  }
  const ReplayResult& result = replay->result();
  report.replay = replay_json(result);
  report.program_operations = result.counts.accesses();
  if (result.time > kTimeZero) {
    report.operations_per_second =
        static_cast<double>(result.counts.accesses()) * 1e12 / static_cast<double>(result.time.ps);
  }
  report.log = two.log();
  return report;
}

}  // namespace wharf::sim
