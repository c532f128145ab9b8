// SPDX-License-Identifier: Apache-2.0
// Two UB engines back to back: 64-byte writes and reads per second, with packets as structs and as bytes.
// `bare_loop` of the engines with queue pairs is what to compare with.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "tests/support/ub_back_to_back.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

void operations(benchmark::State& state, verbs::Verb verb, bool bytes) {
  test::UbBackToBack world(bytes);
  constexpr std::uint64_t kBatch = 4096;
  for (auto _ : state) world.run(verb, kBatch);
  benchmark::DoNotOptimize(world.checksum());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

void write_structs(benchmark::State& state) { operations(state, verbs::Verb::kWrite, false); }
void write_bytes(benchmark::State& state) { operations(state, verbs::Verb::kWrite, true); }
void read_structs(benchmark::State& state) { operations(state, verbs::Verb::kRead, false); }
void read_bytes(benchmark::State& state) { operations(state, verbs::Verb::kRead, true); }
BENCHMARK(write_structs);
BENCHMARK(read_structs);
BENCHMARK(write_bytes);
BENCHMARK(read_bytes);

}  // namespace

BENCHMARK_MAIN();
