// SPDX-License-Identifier: Apache-2.0
// How fast two hosts are simulated: closed loops of one operation each, every picosecond attributed. Items
// are operations; events_per_operation and resident_mib say what they cost.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/memory_room.h"
#include "sim/two_hosts/two_hosts.h"
#include "verbs/task.h"

namespace {

using wharf::sim::RemotePair;
using wharf::sim::Stack;
using wharf::sim::TwoHosts;
using wharf::sim::TwoHostsConfig;
using wharf::verbs::Task;
using wharf::verbs::Verb;

/// Remote memory that the loops walk: larger than every cache.
constexpr std::uint64_t kLines = 1U << 18U;

struct Loop {
  TwoHosts* two;
  wharf::sim::SimRemote* remote;
  std::uint64_t local;
  std::uint64_t left;
};

/// One worker: lines in an order without locality, until the budget of all workers is spent.
Task<void> work(Loop& loop, Verb verb, std::uint64_t at) {
  while (loop.left > 0) {
    --loop.left;
    at = (at * 5 + 12345) % kLines;
    const wharf::verbs::RemoteAddress target = loop.remote->segment().at(at * 64);
    if (verb == Verb::kLoad) {
      benchmark::DoNotOptimize(co_await loop.remote->load(target, 8));
    } else if (verb == Verb::kRead) {
      benchmark::DoNotOptimize(co_await loop.remote->read(loop.local, target, 64));
    } else {
      benchmark::DoNotOptimize(co_await loop.remote->write(loop.local, target, 64));
    }
  }
}

void closed_loop(benchmark::State& state, Stack stack, Verb verb, wharf::sim::WritePolicy policy) {
  constexpr std::uint64_t kBatch = 20'000;
  TwoHostsConfig config;
  config.stack = stack;
  config.host.cache.write_policy = policy;
  config.record_limit = 0;
  auto two = std::move(TwoHosts::create(config)).value();
  const auto segment = two->expose(1, wharf::Bytes{kLines * 64}).value();
  const RemotePair pair = two->connect(segment).value();
  Loop loop{two.get(), pair.near, two->host(0).core().allocate(wharf::Bytes{4096}), 0};
  const auto workers = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t operations = 0;
  std::uint64_t events = 0;
  for (auto _ : state) {
    loop.left = kBatch;
    const std::uint64_t before = two->events_executed();
    for (std::uint64_t worker = 0; worker < workers; ++worker)
      two->host(0).core().spawn(work(loop, verb, worker * 7919));
    two->run();
    operations += kBatch;
    events += two->events_executed() - before;
  }
  if (!two->programs_ended() || two->log().totals(verb).path.unattributed != wharf::kTimeZero)
    state.SkipWithError("an operation did not end or was not accounted for");
  state.SetItemsProcessed(static_cast<std::int64_t>(operations));
  state.counters["events_per_operation"] = static_cast<double>(events) / static_cast<double>(operations);
  state.counters["resident_mib"] = static_cast<double>(wharf::resident_bytes()) / (1024.0 * 1024.0);
  state.counters["simulated_ns"] = wharf::as_nanoseconds(two->log().totals(verb).path.latency) /
                                   static_cast<double>(two->log().totals(verb).count);
}

/// One loop for each way to fetch and to store, over every stack that has it.
void register_loops() {
  using wharf::sim::WritePolicy;
  struct Way {
    std::string_view name;
    Verb verb;
    WritePolicy policy;
    bool load_store;
  };
  constexpr std::array<Way, 4> kWays{{{"load", Verb::kLoad, WritePolicy::kWriteBack, true},
                                      {"load_uncached", Verb::kLoad, WritePolicy::kUncached, true},
                                      {"read", Verb::kRead, WritePolicy::kWriteBack, false},
                                      {"write", Verb::kWrite, WritePolicy::kWriteBack, false}}};
  for (const auto& [stack_name, stack] : wharf::sim::kStacks) {
    for (const Way& way : kWays) {
      if (wharf::sim::traits(stack).load_store != way.load_store) continue;
      benchmark::RegisterBenchmark(
          (std::string(stack_name) + "/" + std::string(way.name)).c_str(),
          [stack, way](benchmark::State& state) { closed_loop(state, stack, way.verb, way.policy); })
          ->Arg(1)
          ->Arg(16);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  register_loops();
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
