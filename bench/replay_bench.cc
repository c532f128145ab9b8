// SPDX-License-Identifier: Apache-2.0
// Trace replay beside bare loops over the same file, in the same run. The trace is generated: over 98 % of
// its accesses hit the default caches, and three instructions lie between two accesses, as in the recorded
// traces.
//
//   read     the file's bytes, nothing else
//   parse    the records, nothing else
//   caches   records in memory through the cache hierarchy, no core
//   replay   the whole: parse, caches, clock; misses local, or remote with one event each
//
// "text" is what lackey writes, "binary" wharf's own form with zstd, "raw" the same without. Rates count data
// accesses (accesses_per_second) and, for text, lines too (lines_per_second).
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/fingerprint.h"
#include "base/line.h"
#include "base/random.h"
#include "sim/host/replay/byte_source.h"
#include "sim/host/replay/replaying_core_test_support.h"
#include "sim/host/replay/trace_reader.h"
#include "sim/kernel/simulation.h"

namespace {

using namespace wharf;
using namespace wharf::sim;

constexpr std::uint64_t kAccesses = 1'000'000;
constexpr std::uint64_t kInstructionsPerAccess = 3;
/// Lines that stay in L1, and lines that no cache holds: one access in kOneColdIn goes to these.
constexpr std::uint64_t kHotLines = 256;
constexpr std::uint64_t kColdLines = 1'000'000;
constexpr std::uint64_t kOneColdIn = 60;

/// The generated trace in its three forms, removed at exit.
class TraceFiles {
 public:
  TraceFiles()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("wharf_replay_bench_{}", getpid())) {
    std::filesystem::create_directories(folder_);
    RandomStream random(1, "replay_bench");
    std::string lines;
    for (std::uint64_t i = 0; i < kAccesses; ++i) {
      for (std::uint64_t k = 0; k < kInstructionsPerAccess; ++k) {
        lines += fmt::format("I  {:08x},{}\n", 0x4001000 + random.below(20'000), 2 + random.below(6));
      }
      const bool cold = random.below(kOneColdIn) == 0;
      const std::uint64_t line = cold ? random.below(kColdLines) : random.below(kHotLines);
      const std::uint64_t base = cold ? 0x5000000 : 0x1ffeff0000;
      const std::uint64_t address = base + line * kLineBytes + 8 * random.below(8);
      lines += fmt::format(" {} {:08x},8\n", random.below(10) < 7 ? 'L' : 'S', address);
    }
    std::ofstream(path("text"), std::ios::binary) << lines;
    WHARF_CHECK(import_lackey(path("text"), path("binary")).ok());
    WHARF_CHECK(import_lackey(path("text"), path("raw"), {.compression_level = 0}).ok());
  }
  TraceFiles(const TraceFiles&) = delete;
  TraceFiles& operator=(const TraceFiles&) = delete;
  ~TraceFiles() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& form) const { return (folder_ / form).string(); }

 private:
  std::filesystem::path folder_;
};

const TraceFiles& files() {
  static const TraceFiles made;
  return made;
}

void report(benchmark::State& state, const std::string& form, std::uint64_t hash) {
  const double accesses = static_cast<double>(state.iterations()) * static_cast<double>(kAccesses);
  state.counters["accesses_per_second"] = benchmark::Counter(accesses, benchmark::Counter::kIsRate);
  if (form == "text") {
    state.counters["lines_per_second"] =
        benchmark::Counter(accesses * (1 + kInstructionsPerAccess), benchmark::Counter::kIsRate);
  }
  state.SetLabel(fmt::format("hash {:016x}", hash));
}

void read_bytes(benchmark::State& state, const std::string& form) {
  std::vector<char> buffer(std::size_t{256} * 1024);
  std::uint64_t hash = 0;
  files();
  for (auto _ : state) {
    ByteSource source = ByteSource::open(files().path(form)).value();
    Fingerprint bytes;
    for (;;) {
      const std::size_t got = source.read(buffer).value();
      if (got == 0) break;
      bytes.add(got);
      benchmark::DoNotOptimize(buffer.data());
    }
    hash = bytes.value();
  }
  report(state, form, hash);
}

void parse(benchmark::State& state, const std::string& form) {
  std::vector<TraceRecord> batch(4096);
  std::uint64_t hash = 0;
  files();
  for (auto _ : state) {
    TraceReader reader = TraceReader::open(files().path(form)).value();
    hash = 0;
    for (;;) {
      const std::size_t got = reader.read(batch).value();
      if (got == 0) break;
      for (std::size_t i = 0; i < got; ++i) hash += batch[i].address + batch[i].instructions;
    }
  }
  report(state, form, hash);
}

void caches_only(benchmark::State& state) {
  TraceReader reader = TraceReader::open(files().path("raw")).value();
  std::vector<TraceRecord> records(kAccesses);
  std::size_t count = 0;
  while (count < records.size()) count += reader.read(std::span(records).subspan(count)).value();
  std::uint64_t hash = 0;
  for (auto _ : state) {
    CacheHierarchy caches = CacheHierarchy::create({}).value();
    for (const TraceRecord& record : records) {
      const LineNumber line = line_of(record.address);
      const bool store = record.kind != TraceKind::kLoad;
      if (caches.try_first_level(line, store)) continue;
      WriteBacks out;
      if (caches.access(line, store, out).needs_fill) caches.fill(line, store, out);
    }
    hash = caches.counters().write_backs;
    for (const std::uint64_t answered : caches.counters().answered) hash = hash * 1'000'003 + answered;
  }
  report(state, "memory", hash);
}

void replay_file(benchmark::State& state, const std::string& form, PlacementRule rule) {
  files();
  std::uint64_t hash = 0;
  double hits = 0;
  for (auto _ : state) {
    Simulation simulation;
    ReplayingCore core(simulation);
    core.memory().keeps_log = false;
    core.start({}, {.rule = rule}, TraceReader::open(files().path(form)).value());
    simulation.run_until(seconds(1000));
    const ReplayResult& result = core.replay().result();
    WHARF_CHECK(result.counts.accesses() == kAccesses);
    hash = static_cast<std::uint64_t>(result.time.ps);
    hits = 1 - static_cast<double>(result.cache.answered[3]) / static_cast<double>(kAccesses);
  }
  report(state, form, hash);
  state.counters["hit_share"] = hits;
}

void read_text(benchmark::State& state) { read_bytes(state, "text"); }
void read_binary(benchmark::State& state) { read_bytes(state, "binary"); }
void read_raw(benchmark::State& state) { read_bytes(state, "raw"); }
void parse_text(benchmark::State& state) { parse(state, "text"); }
void parse_binary(benchmark::State& state) { parse(state, "binary"); }
void parse_raw(benchmark::State& state) { parse(state, "raw"); }
void replay_text_local(benchmark::State& state) { replay_file(state, "text", PlacementRule::kNone); }
void replay_text_remote(benchmark::State& state) { replay_file(state, "text", PlacementRule::kAll); }
void replay_binary_local(benchmark::State& state) { replay_file(state, "binary", PlacementRule::kNone); }
void replay_binary_remote(benchmark::State& state) { replay_file(state, "binary", PlacementRule::kAll); }
void replay_raw_remote(benchmark::State& state) { replay_file(state, "raw", PlacementRule::kAll); }

BENCHMARK(read_text)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_text)->Unit(benchmark::kMillisecond);
BENCHMARK(replay_text_local)->Unit(benchmark::kMillisecond);
BENCHMARK(replay_text_remote)->Unit(benchmark::kMillisecond);
BENCHMARK(read_binary)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_binary)->Unit(benchmark::kMillisecond);
BENCHMARK(replay_binary_local)->Unit(benchmark::kMillisecond);
BENCHMARK(replay_binary_remote)->Unit(benchmark::kMillisecond);
BENCHMARK(read_raw)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_raw)->Unit(benchmark::kMillisecond);
BENCHMARK(replay_raw_remote)->Unit(benchmark::kMillisecond);
BENCHMARK(caches_only)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
