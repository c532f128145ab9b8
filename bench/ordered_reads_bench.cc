// SPDX-License-Identifier: Apache-2.0
// Lines read by a device through the whole coherent host (link, ordering queue, directory, caches or DRAM),
// beside the kernel alone: as many events, through the same virtual call, that do nothing.
//
//   reads   `lines` per second of processor time; `events_per_line` and `of_kernel`, the share of the time
//   that
//           the kernel alone would have taken for these events
#include <benchmark/benchmark.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "sim/host/coherent_host.h"
#include "sim/host/pcie/dma_engine.h"

namespace {

using namespace wharf;
using namespace wharf::sim;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

constexpr std::uint64_t kReads = 20'000;
constexpr std::uint32_t kLinesPerRead = 8;

class Counter final : public DmaClient {
 public:
  void dma_done(TimePs, std::uint32_t, std::uint64_t, const std::array<std::uint64_t, 2>&) override {
    ++done;
  }
  std::uint64_t done = 0;
};

/// Events that do nothing but schedule the next, `width` of them pending.
class Idle final : public Component {
 public:
  explicit Idle(Simulation& simulation) : simulation_(simulation) { simulation.add(*this, "idle"); }
  void handle(const Event& event) override {
    if (left-- > 0) simulation_.schedule(event.time + nanoseconds(200), id(), id(), 0, event.argument);
  }
  std::int64_t left = 0;

 private:
  Simulation& simulation_;
};

/// A function of its own also in a profile, so that its instructions are not taken for those of the reads.
[[gnu::noinline]] double kernel_seconds(std::uint64_t events) {
  Simulation simulation;
  Idle idle(simulation);
  constexpr std::uint32_t kWidth = 128;
  idle.left = static_cast<std::int64_t>(events) - kWidth;
  for (std::uint32_t i = 0; i < kWidth; ++i) simulation.schedule(nanoseconds(i), idle.id(), idle.id(), 0, i);
  const double begin = processor_seconds();
  simulation.run_until(seconds(100));
  return processor_seconds() - begin;
}

void reads(benchmark::State& state, ordering::RlsqDesign design, bool in_cache) {
  double elapsed = 0;
  double kernel = 0;
  std::uint64_t lines = 0;
  std::uint64_t events = 0;
  for (auto _ : state) {
    CoherentConfig config;
    config.root_complex.queue.design = design;
    Simulation simulation;
    auto host = CoherentHost::create(simulation, config, 1, 1, 1);
    WHARF_CHECK(host.ok());
    const std::uint64_t span = in_cache ? 128 : kReads * kLinesPerRead;
    const std::uint64_t base = (*host)->contents().allocate(Bytes{span * 64});
    for (std::uint64_t i = 0; in_cache && i < span; ++i) {
      const std::array<std::byte, 8> zero{};
      (*host)->core_cache(0).store(simulation.now(), i, base + i * 64, zero);
    }
    simulation.run_until(microseconds(100));
    DmaEngine engine(simulation, (*host)->root_complex(), {}, "nic");
    Counter counter;
    engine.connect(counter);
    const std::uint32_t stream = engine.add_stream({0, 1}, SourceOrdering::kNone);
    for (std::uint64_t i = 0; i < kReads; ++i) {
      DmaAccess access;
      access.address = base + i * kLinesPerRead % span * 64;
      access.length = kLinesPerRead * 64;
      engine.start(simulation.now(), stream, access);
    }
    const std::uint64_t before = simulation.events_executed();
    const double begin = processor_seconds();
    simulation.run_until(seconds(1));
    elapsed += processor_seconds() - begin;
    WHARF_CHECK(counter.done == kReads);
    events += simulation.events_executed() - before;
    lines += kReads * kLinesPerRead;
    kernel += kernel_seconds(simulation.events_executed() - before);
  }
  state.counters["lines"] = static_cast<double>(lines) / elapsed;
  state.counters["events_per_line"] = static_cast<double>(events) / static_cast<double>(lines);
  state.counters["of_kernel"] = kernel / elapsed;
}

BENCHMARK_CAPTURE(reads, unordered_dram, ordering::RlsqDesign::kBaseline, false);
BENCHMARK_CAPTURE(reads, unordered_cache, ordering::RlsqDesign::kBaseline, true);
BENCHMARK_CAPTURE(reads, speculative_dram, ordering::RlsqDesign::kStrictSpeculative, false);
BENCHMARK_CAPTURE(reads, speculative_cache, ordering::RlsqDesign::kStrictSpeculative, true);
BENCHMARK_CAPTURE(reads, waiting_cache, ordering::RlsqDesign::kStrictBlocking, true);

}  // namespace

BENCHMARK_MAIN();
