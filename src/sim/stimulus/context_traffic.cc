// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/context_traffic.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <vector>

#include "base/lru_index.h"
#include "sim/scenario/assembly.h"
#include "sim/world/engine_of.h"
#include "verbs/task.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, kAccessPatternCount> kNames{"cyclic", "uniform", "zipf"};
constexpr std::uint32_t kFetchBytes = 64;
/// Entries per queue: one fetch is under way at a time.
constexpr std::uint32_t kDepth = 4;

std::uint64_t context_fetches(TwoHosts& two) {
  std::uint64_t fetches = 0;
  for (const std::size_t host : {0U, 1U}) {
    fetches += visit_protocol(protocol_of(two.world().group_of(host).engine.stack),
                              [&]<typename P>(std::type_identity<P>) -> std::uint64_t {
                                const auto* engine = engine_of<P>(two.world(), host);
                                return engine == nullptr ? 0 : P::context_fetches(engine->counters());
                              });
  }
  return fetches;
}

/// What the program does and finds.
struct Visit {
  TwoHosts& two;
  const ContextTraffic& traffic;
  std::vector<verbs::RemoteSegment> segments;  ///< One, or one for each connection.
  std::vector<SimRemote*> connections;
  std::uint64_t local = 0;
  TimePs total;
  std::uint64_t fetches = 0;
  std::uint64_t failed = 0;
};

verbs::Task<void> visit(Visit& state) {
  SimCore& core = state.two.host(0).core();
  ConnectionChooser choose(state.traffic.pattern, state.connections.size());
  std::uint64_t fetches_before = 0;
  for (std::uint64_t i = 0; i < state.traffic.warm_up + state.traffic.operations; ++i) {
    if (i == state.traffic.warm_up) fetches_before = context_fetches(state.two);
    const TimePs begin = core.now();
    const std::uint64_t chosen = choose.next();
    const verbs::RemoteSegment& segment = state.segments[state.segments.size() == 1 ? 0 : chosen];
    const verbs::Completion completion =
        co_await state.connections[chosen]->read(state.local, segment.at(0), kFetchBytes);
    if (!completion.ok()) ++state.failed;
    if (i >= state.traffic.warm_up) state.total += core.now() - begin;
  }
  state.fetches = context_fetches(state.two) - fetches_before;
}

}  // namespace

std::string_view name(AccessPattern pattern) { return kNames[static_cast<std::size_t>(pattern)]; }

ConnectionChooser::ConnectionChooser(AccessPattern pattern, std::uint64_t count)
    : pattern_(pattern), count_(count), random_(1, fmt::format("study.context_traffic.{}", name(pattern))) {
  if (pattern == AccessPattern::kZipf) zipf_.emplace(count, kContextZipfExponent);
}

std::uint64_t ConnectionChooser::next() {
  if (zipf_) return (*zipf_)(random_);
  return pattern_ == AccessPattern::kCyclic ? taken_++ % count_ : random_.below(count_);
}

double lru_miss_rate(AccessPattern pattern, std::uint64_t contexts, std::uint32_t capacity) {
  constexpr std::uint64_t kMeasured = 40'000;
  if (contexts <= capacity) return 0;  // Each is read once, before it has filled.
  const std::uint64_t warm_up = std::uint64_t{10} * capacity;
  LruIndex cache(capacity);
  ConnectionChooser choose(pattern, contexts);
  std::uint64_t misses = 0;
  for (std::uint64_t access = 0; access < warm_up + kMeasured; ++access) {
    const std::uint64_t context = choose.next();
    if (cache.touch(context) != kNoSlot) continue;
    cache.insert(context);
    if (access >= warm_up) ++misses;
  }
  return static_cast<double>(misses) / static_cast<double>(kMeasured);
}

Result<ContextTrafficResult> run_context_traffic(const ScenarioConfig& scenario,
                                                 const ContextTraffic& traffic,
                                                 const std::atomic<bool>* interrupt) {
  RunOptions options;
  options.attribution = false;
  auto made = TwoHosts::create(two_hosts_config(scenario, options));
  if (!made) return made.error();
  TwoHosts& two = **made;
  Visit state{two, traffic, {}, {}, 0, {}, 0, 0};
  for (std::uint32_t i = 0; i < traffic.connections; ++i) {
    if (i == 0 || traffic.segment_each) {
      auto segment = two.expose(1, Bytes{4096});
      if (!segment) return segment.error();
      state.segments.push_back(*segment);
    }
    auto pair = two.connect(state.segments.back(), {}, kDepth);
    if (!pair) return pair.error();
    state.connections.push_back(pair->near);
  }
  state.local = two.host(0).core().allocate(Bytes{kFetchBytes});
  two.host(0).core().spawn(visit(state));
  std::vector<std::string> waiting;
  options.interrupt = interrupt;
  const RunOutcome end =
      run_to_the_end(two.world(), scenario.time_limit, options, {[] { return 0.0; }}, waiting);
  if (end != RunOutcome::kDone || state.failed != 0) {
    return Error{ErrorKind::kStalled,
                 fmt::format("traffic over {} connections of {} did not end: {} failed operations{}",
                             traffic.connections, name(scenario.stack), state.failed,
                             waiting.empty() ? "" : "; " + waiting.front())};
  }
  const auto operations = static_cast<double>(traffic.operations);
  return ContextTrafficResult{as_nanoseconds(state.total) / operations,
                              static_cast<double>(state.fetches) / operations};
}

}  // namespace wharf::sim
