// SPDX-License-Identifier: Apache-2.0
// What the ordering papers did not measure of the machines themselves: reads that conflict with writers, and
// how many entries the ordering queue and the reorder buffer need.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/config/coherent_keys.h"
#include "sim/host/pcie/mmio_path.h"
#include "sim/stimulus/get_loop.h"
#include "sim/stimulus/line_writer.h"
#include "sim/stimulus/mmio_sender.h"
#include "study/frame/parallel.h"
#include "study/ordering/ordering.h"

namespace wharf::study::ordering {
namespace {

using wharf::ordering::Label;
using wharf::ordering::RlsqDesign;

// ---- Writers

constexpr std::uint32_t kItemBytes = 1024;
constexpr std::uint32_t kHotItems = 8;
constexpr std::uint32_t kHotLines = kHotItems * kItemBytes / 64;

/// Four cores write at random, each of them no sooner than so long after its last write.
constexpr std::uint32_t kWriters = 4;
constexpr std::array<TimePs, 6> kIntervals{nanoseconds(4'000), nanoseconds(1'000), nanoseconds(300),
                                           nanoseconds(100),   nanoseconds(30),    kTimeZero};
constexpr std::size_t kWriterRows = kIntervals.size() + 1;  ///< The first row has no writer.
constexpr std::array<RlsqDesign, 3> kConflictDesigns{RlsqDesign::kSpeculative, RlsqDesign::kThreadSpecific,
                                                     RlsqDesign::kBaseline};

struct Conflict {
  double gets = 0;    ///< Million per second.
  double writes = 0;  ///< The same.
  wharf::ordering::RlsqStatistics queue;
  bool complete = false;
};

/// Headers are in memory, what follows them in the caches of cores, which write there: a value of an
/// ascending read that is there early waits for its header, and a writer can hit it.
Result<Conflict> run_conflict(const StudyContext& context, RlsqDesign design, std::size_t row) {
  auto setup = sim::load_coherent(context.profiles, std::string(kProfile), {});
  if (!setup) return setup.error();
  setup->host.root_complex.queue.design = design;
  sim::Simulation simulation;
  auto host = sim::CoherentHost::create(simulation, setup->host, kWriters + 1, 1, 1);
  if (!host) return host.error();
  const std::uint64_t base = (*host)->contents().allocate(Bytes{kHotLines * 64});
  for (std::uint32_t item = 0; item < kHotItems; ++item)
    sim::warm_lines(simulation, **host, kWriters, base + item * kItemBytes + 64, kItemBytes - 64);
  sim::GetLoopConfig config;
  config.parts = {{0, kItemBytes, Label::kAscending}};
  config.queue_pairs = 4;
  config.outstanding = 8;
  config.items = kHotItems;
  config.item_bytes = kItemBytes;
  config.gets = 3'000;
  sim::GetLoop loop(simulation, {&(*host)->root_complex()}, setup->dma, config, base);
  std::vector<std::unique_ptr<sim::LineWriter>> cores;
  for (std::uint32_t i = 0; row > 0 && i < kWriters; ++i) {
    cores.push_back(std::make_unique<sim::LineWriter>(simulation, (*host)->core_cache(i), base, kItemBytes,
                                                      kHotItems, kIntervals[row - 1], i + 1));
    cores.back()->start();
  }
  loop.start();
  simulation.run_until(simulation.now() + seconds(1));
  Conflict found;
  found.gets = loop.million_gets_per_second();
  for (const auto& core : cores) found.writes += static_cast<double>(core->writes());
  found.writes /= static_cast<double>(loop.elapsed().ps) * 1e-6;
  found.queue = (*host)->root_complex().queue().statistics();
  found.complete = loop.is_complete();
  return found;
}

// ---- Sizes of the queue

constexpr std::array<std::uint32_t, 8> kEntries{2, 4, 8, 16, 32, 64, 128, 256};
/// Where the lines are, and what is small: all of the queue, or its trackers alone.
struct QueueCase {
  RlsqDesign design;
  bool in_cache;
  bool all_entries;
};
constexpr std::array<QueueCase, 4> kQueueCases{{{RlsqDesign::kStrictSpeculative, true, true},
                                                {RlsqDesign::kStrictSpeculative, false, true},
                                                {RlsqDesign::kStrictSpeculative, false, false},
                                                {RlsqDesign::kStrictBlocking, false, true}}};

struct QueueRun {
  double gigabytes = 0;
  bool complete = false;
};

Result<QueueRun> run_queue(const StudyContext& context, const QueueCase& made, std::uint32_t entries) {
  auto setup = sim::load_coherent(context.profiles, std::string(kProfile), {});
  if (!setup) return setup.error();
  setup->host.root_complex.queue.design = made.design;
  setup->host.root_complex.queue.trackers = entries;
  if (made.all_entries) setup->host.root_complex.queue.entries = entries;
  sim::Simulation simulation;
  auto host = sim::CoherentHost::create(simulation, setup->host, 1, 1, 1);
  if (!host) return host.error();
  sim::GetLoopConfig config;
  config.parts = {{0, kItemBytes, Label::kRelaxed}};
  config.queue_pairs = 4;
  config.outstanding = 64;
  config.item_bytes = kItemBytes;
  config.gets = 1'500;
  config.items = made.in_cache ? 64 : 1'500;
  const std::uint64_t base = (*host)->contents().allocate(Bytes{std::uint64_t{config.items} * kItemBytes});
  if (made.in_cache) sim::warm_lines(simulation, **host, 0, base, std::uint64_t{config.items} * kItemBytes);
  sim::GetLoop loop(simulation, {&(*host)->root_complex()}, setup->dma, config, base);
  loop.start();
  simulation.run_until(simulation.now() + seconds(1));
  return QueueRun{loop.gigabytes_per_second(), loop.is_complete()};
}

// ---- Sizes of the reorder buffer

using wharf::ordering::MmioKind;

constexpr std::array<std::uint32_t, 7> kRobEntries{1, 2, 4, 8, 16, 32, 64};
constexpr std::uint64_t kRobBytes = 512 << 10;
constexpr std::uint32_t kMessageLines = 8;
constexpr std::uint64_t kWindow = 256 << 10;  ///< Addresses wrap.
constexpr TimePs kSpread = nanoseconds(20);

/// What a core's device sees of messages of numbered lines, the last of each a release.
class ReleaseDevice final : public sim::MmioSender {
 public:
  using sim::MmioSender::MmioSender;
  void mmio_arrived(TimePs now, const wharf::ordering::MmioOperation& write) override {
    // Stores of a message may pass each other under the refined rule, its release none of them.
    const std::uint64_t message = write.address / (64 * kMessageLines);
    const bool is_release = write.address / 64 % kMessageLines == kMessageLines - 1;
    std::uint64_t& seen = seen_[message % seen_.size()];
    if (is_release) {
      if (seen != kMessageLines - 1) ++early_releases;
      seen = 0;
    } else {
      ++seen;
    }
    bytes += write.length;
    last = now;
  }

  std::uint64_t bytes = 0;
  std::uint64_t early_releases = 0;
  TimePs last;

 private:
  std::array<std::uint64_t, kWindow / (64 * kMessageLines)> seen_{};
};

struct RobRun {
  double gigabits = 0;
  double early = 0;
  double missing = 0;
};

/// `place` 0: at the root complex, strict; 1: there, refined; 2: at the device, strict.
constexpr std::uint32_t kRobPlaces = 3;

Result<RobRun> run_rob(const StudyContext& context, std::uint32_t place, std::uint32_t entries) {
  std::vector<std::string> overrides{fmt::format("mmio.spread={}", format_time(kSpread)),
                                     fmt::format("mmio.reorder_entries={}", entries),
                                     place == 1 ? "mmio.release_rule=refined" : "mmio.release_rule=strict"};
  if (place == 2) {
    overrides.push_back(fmt::format("mmio.link_spread={}", format_time(kSpread)));
    overrides.emplace_back("mmio.order_at=device");
  }
  auto setup = sim::load_coherent(context.profiles, std::string(kProfile), overrides);
  if (!setup) return setup.error();
  const sim::MmioConfig& config = setup->mmio;
  sim::Simulation simulation;
  sim::MmioPath path(simulation, config, 1, "mmio");
  const ReleaseDevice core(simulation, path,
                           {.kind = MmioKind::kStore,
                            .bytes = kRobBytes,
                            .window = kWindow,
                            .message = 64 * kMessageLines,
                            .ends_with_release = true},
                           config.cycle * config.store_cycles, kTimeZero);
  simulation.run_until(seconds(1));
  return RobRun{static_cast<double>(core.bytes) * 8e3 / static_cast<double>(core.last.ps),
                static_cast<double>(core.early_releases), static_cast<double>(kRobBytes - core.bytes)};
}

/// The first size that comes within 3 % of the largest one.
template <typename Sizes, typename Value>
std::uint32_t knee(const Sizes& sizes, Value value) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (value(i) >= 0.97 * value(sizes.size() - 1)) return sizes[i];
  }
  return sizes.back();
}

}  // namespace

Result<StudyResult> writer_conflicts(const StudyContext& context) {
  constexpr std::size_t kDesigns = kConflictDesigns.size();
  std::vector<Conflict> runs(kWriterRows * kDesigns);
  WHARF_TRY(for_each_in_parallel(context, runs.size(), [&](std::size_t i) -> Result<void> {
    auto run = run_conflict(context, kConflictDesigns[i % kDesigns], i / kDesigns);
    if (!run) return run.error();
    runs[i] = *run;
    return {};
  }));
  StudyResult result;
  result.columns = {{"million_writes", "M writes/s", 2},
                    {"squashes_per_thousand", "squashes/1000 lines", 3},
                    {"memory_reads_per_line", "reads/line", 4},
                    {"speculative", "reads ahead", 2},
                    {"blocking", "blocks", 2},
                    {"unordered", "unordered", 2},
                    {"writes_blocking", "M writes/s, blocks", 2},
                    {"writes_unordered", "unordered", 2}};
  Plot squashes{"squashes",
                "Reads ahead that a writer hit",
                "million writes per second",
                "squashes per 1000 lines",
                PlotKind::kLines,
                AxisScale::kFitting,
                AxisScale::kFitting,
                {{"squashes", {}}}};
  Plot throughput{"throughput",
                  "Ordered gets of 1 KiB beside writers",
                  "million writes per second",
                  "million gets per second",
                  PlotKind::kLines,
                  AxisScale::kFitting,
                  AxisScale::kFitting,
                  {{"reads ahead", {}}, {"blocks", {}}, {"unordered", {}}}};
  double incomplete = 0;
  double rate_before = 0;
  double writes_before = 0;
  const Conflict& quiet = runs[0];
  double worst = 0;
  double last_rate = 0;
  for (std::size_t w = 0; w < kWriterRows; ++w) {
    const Conflict* const at = &runs[w * kDesigns];
    const auto lines = static_cast<double>(at[0].queue.reads);
    const double rate = static_cast<double>(at[0].queue.squashed_reads) / lines * 1e3;
    const double asked = static_cast<double>(at[0].queue.memory_reads) / lines;
    result.rows.push_back({{"million_writes", at[0].writes},
                           {"squashes_per_thousand", rate},
                           {"memory_reads_per_line", asked},
                           {"speculative", at[0].gets},
                           {"blocking", at[1].gets},
                           {"unordered", at[2].gets},
                           {"writes_blocking", at[1].writes},
                           {"writes_unordered", at[2].writes}});
    squashes.series[0].points.push_back({at[0].writes, rate, ""});
    for (std::size_t d = 0; d < kDesigns; ++d) {
      throughput.series[d].points.push_back({at[0].writes, at[d].gets, ""});
      incomplete += at[d].complete ? 0 : 1;
    }
    const std::string who = fmt::format("{:.1f} M writes/s", at[0].writes);
    // A squash costs at most one more access of its line.
    result.checks.push_back(
        between(who + ": memory reads over lines and squashes", asked / (1 + rate / 1e3), 0, 1));
    result.checks.push_back(between(who + ": reads ahead over blocking", at[0].gets / at[1].gets, 1, 1000));
    result.checks.push_back(between(who + ": reads ahead over unordered", at[0].gets / at[2].gets, 0, 1.01));
    if (w > 0) {
      result.checks.push_back(
          between(who + ": more writes than in the row before, M/s", at[0].writes - writes_before, 0, 1e3));
      result.checks.push_back(
          between(who + ": more squashes than in the row before", rate - rate_before, 0, 1e3));
    }
    worst = std::max(worst, 1 - at[0].gets / quiet.gets);
    writes_before = at[0].writes;
    rate_before = rate;
    last_rate = rate;
  }
  result.plots = {squashes, throughput};
  const Conflict* const busiest = &runs[runs.size() - kDesigns];
  result.checks.push_back(equal("no writers: squashes", static_cast<double>(quiet.queue.squashed_reads), 0));
  result.checks.push_back(
      between("no writers: reads ahead over unordered", quiet.gets / runs[2].gets, 0.99, 1.01));
  result.checks.push_back(equal("runs that did not finish", incomplete, 0));
  result.sentences = {
      fmt::format("Squashes grow with the writers' rate, to {:.0f} of 1000 lines at {:.0f} million writes "
                  "per second into {} hot "
                  "lines; each is one more access of its line, never more. With them reading ahead still "
                  "serves {:.1f} times the "
                  "gets of the queue that blocks, and {:.0f} % of those without writers. The writers pay as "
                  "well: a line that "
                  "is read ahead is shared, and their next store to it has to ask for it again ({:.0f} "
                  "million against {:.0f} "
                  "beside reads that nobody watches).",
                  last_rate, writes_before, kHotLines, busiest[0].gets / busiest[1].gets, (1 - worst) * 100,
                  busiest[0].writes, busiest[2].writes)};
  return result;
}

Result<StudyResult> queue_size(const StudyContext& context) {
  constexpr std::size_t kCases = kQueueCases.size();
  std::vector<QueueRun> runs(kEntries.size() * kCases);
  WHARF_TRY(for_each_in_parallel(context, runs.size(), [&](std::size_t i) -> Result<void> {
    auto run = run_queue(context, kQueueCases[i % kCases], kEntries[i / kCases]);
    if (!run) return run.error();
    runs[i] = *run;
    return {};
  }));
  StudyResult result;
  result.columns = {{"entries", "entries", 0},
                    {"cache", "from a cache", 2},
                    {"dram", "from DRAM", 2},
                    {"trackers", "trackers alone", 2},
                    {"blocking", "blocks, DRAM", 2}};
  Plot plot{"throughput",
            "Ordered reads of 1 KiB against the size of the queue",
            "entries and trackers",
            "GB/s",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kLogarithmic,
            {{"from a cache", {}}, {"from DRAM", {}}, {"trackers alone, DRAM", {}}, {"blocks, DRAM", {}}}};
  double incomplete = 0;
  for (std::size_t e = 0; e < kEntries.size(); ++e) {
    const QueueRun* const at = &runs[e * kCases];
    result.rows.push_back({{"entries", kEntries[e]},
                           {"cache", at[0].gigabytes},
                           {"dram", at[1].gigabytes},
                           {"trackers", at[2].gigabytes},
                           {"blocking", at[3].gigabytes}});
    for (std::size_t c = 0; c < kCases; ++c) {
      plot.series[c].points.push_back({static_cast<double>(kEntries[e]), at[c].gigabytes, ""});
      incomplete += at[c].complete ? 0 : 1;
      if (e > 0)
        result.checks.push_back(
            between(fmt::format("{}, {} entries: over half as many", plot.series[c].name, kEntries[e]),
                    at[c].gigabytes / runs[(e - 1) * kCases + c].gigabytes, 0.99, 2.05));
    }
  }
  result.plots = {plot};
  const auto knee_of = [&](std::size_t c) {
    return knee(kEntries, [&](std::size_t e) { return runs[e * kCases + c].gigabytes; });
  };
  const double most = runs[(kEntries.size() - 1) * kCases].gigabytes;
  result.checks.push_back(between("256 entries from a cache, GB/s: the link's 38.4", most, 34, 38.5));
  result.checks.push_back(equal("runs that did not finish", incomplete, 0));
  result.sentences = {
      fmt::format("Within 3 % of the most that the link carries, {} entries are enough when lines come from "
                  "a cache and {} when they "
                  "come from DRAM, of the published 256. A queue that blocks has one line under way and "
                  "gains nothing from more "
                  "than {}.",
                  knee_of(0), knee_of(1), knee_of(3))};
  return result;
}

Result<StudyResult> rob_size(const StudyContext& context) {
  std::vector<RobRun> runs(kRobEntries.size() * kRobPlaces);
  WHARF_TRY(for_each_in_parallel(context, runs.size(), [&](std::size_t i) -> Result<void> {
    auto run = run_rob(context, static_cast<std::uint32_t>(i % kRobPlaces), kRobEntries[i / kRobPlaces]);
    if (!run) return run.error();
    runs[i] = *run;
    return {};
  }));
  StudyResult result;
  result.columns = {{"entries", "entries", 0},
                    {"strict", "root complex", 1},
                    {"refined", "refined", 1},
                    {"device", "device", 1}};
  Plot plot{"throughput",
            "Messages of 512 B against the size of the reorder buffer",
            "entries per network",
            "Gb/s",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kLogarithmic,
            {{"root complex, strict", {}}, {"root complex, refined", {}}, {"device, strict", {}}}};
  double early = 0;
  double missing = 0;
  for (std::size_t e = 0; e < kRobEntries.size(); ++e) {
    const RobRun* const at = &runs[e * kRobPlaces];
    result.rows.push_back({{"entries", kRobEntries[e]},
                           {"strict", at[0].gigabits},
                           {"refined", at[1].gigabits},
                           {"device", at[2].gigabits}});
    for (std::size_t p = 0; p < kRobPlaces; ++p) {
      plot.series[p].points.push_back({static_cast<double>(kRobEntries[e]), at[p].gigabits, ""});
      early += at[p].early;
      missing += at[p].missing;
      if (e > 0)
        result.checks.push_back(
            between(fmt::format("{}, {} entries: over half as many", plot.series[p].name, kRobEntries[e]),
                    at[p].gigabits / runs[(e - 1) * kRobPlaces + p].gigabits, 0.99, 2.5));
    }
  }
  result.plots = {plot};
  result.checks.push_back(equal("releases before a store of their message", early, 0));
  result.checks.push_back(equal("bytes that did not arrive", missing, 0));
  const auto knee_of = [&](std::size_t p) {
    return knee(kRobEntries, [&](std::size_t e) { return runs[e * kRobPlaces + p].gigabits; });
  };
  result.sentences = {
      fmt::format("At the root complex {} entries per network carry the full {:.0f} Gb/s although writes are "
                  "scattered by {:.0f} "
                  "ns; at the device a credit takes the link's round trip, and {} entries give {:.0f} Gb/s.",
                  knee_of(0), runs[(kRobEntries.size() - 1) * kRobPlaces].gigabits, as_nanoseconds(kSpread),
                  kRobEntries.back(), runs.back().gigabits)};
  return result;
}

}  // namespace wharf::study::ordering
