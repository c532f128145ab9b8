// SPDX-License-Identifier: Apache-2.0
// Figure 7: key-value gets between network cards, as the artifact emulates them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "study/frame/parallel.h"
#include "study/frame/reference_table.h"
#include "study/frame/three_steps.h"
#include "study/ordering/cards.h"
#include "study/ordering/ordering.h"

namespace wharf::study::ordering {
namespace {

using verbs::Verb;

/// The cards of Figures 2 and 3 on the machines of Figure 7.
constexpr std::string_view kGetCards = "connectx6dx-ordering-gets";

/// A get protocol as the artifact emulates it: batched, without checks and retries. Validation waits for its
/// first READ (of 32 gets) before it posts the second; what it gains by not waiting was measured, not
/// plotted.
struct GetProtocol {
  std::string_view name;
  std::string_view series;  ///< In the published data.
};
constexpr std::array<GetProtocol, 5> kProtocols{{
    {"Pessimistic", "Pessimistic (batch 32)"},
    {"Validation", "Validation (batch 32)"},
    {"FaRM", "FaRM with copy (batch 32)"},
    {"Single Read", "Single Read (batch 32)"},
    {"Validation, no wait", "not plotted: pipelined two-read (rc) batch 32"},
}};
enum : std::size_t { kPessimistic, kValidation, kFarm, kSingleRead, kBothReads };

struct GetRun {
  std::size_t protocol;
  std::uint32_t threads;
  std::uint32_t batch;
  std::uint32_t bytes;
};
constexpr std::uint64_t kItems = 2000;
/// Before the items and between them: these are not aligned to lines.
constexpr std::uint64_t kItemsBegin = 64;
constexpr std::uint64_t kPadding = 8;
constexpr std::uint32_t kGetBatch = 32;
constexpr std::uint32_t kGetThreads = 16;
constexpr std::uint32_t kGetsPerThread = 192;

/// Items are as little aligned to lines where they are copied from as where they are read: n lines lie in n
/// + 1.
constexpr std::uint32_t lines_of(std::uint32_t bytes) { return bytes / 64 + 1; }

struct GetRate {
  double million_per_second = 0;
  double wrong = 0;  ///< Operations that failed, and locks that are not free in the end.
};

std::vector<std::vector<verbs::WorkRequest>> steps_of(Cards& cards, const GetRun& run) {
  verbs::WorkRequest read = transfer(cards, Verb::kRead, run.bytes);
  switch (run.protocol) {
    case kPessimistic: {
      verbs::WorkRequest enter;
      enter.verb = Verb::kFetchAdd;
      enter.length = 8;
      enter.operand[0] = 1;
      enter.signaled = false;
      verbs::WorkRequest leave = enter;
      leave.operand[0] = ~std::uint64_t{0};
      leave.fence = true;
      return {{enter, read, leave}};
    }
    case kValidation:
      return {{read}, {transfer(cards, Verb::kRead, 8)}};
    case kBothReads:
      read.signaled = false;
      return {{read, transfer(cards, Verb::kRead, 8)}};
    default:
      return {{read}};
  }
}

/// Where FaRM's copy finds the lines of an item.
enum class CopyFrom : std::uint8_t { kMemory, kCache };

Result<GetRate> get_rate(const StudyContext& context, const GetRun& run, bool serial,
                         CopyFrom copy = CopyFrom::kMemory) {
  auto cards = plug_cards(context, kGetCards, {});
  if (!cards) return cards.error();
  sim::CardLoad load;
  load.item_stride = run.bytes + kPadding;
  load.items = kItems;
  auto segment = expose(*cards, kItemsBegin + kItems * load.item_stride, serial);
  if (!segment) return segment.error();
  load.segment = *segment;
  load.segment.base += kItemsBegin;
  load.steps = steps_of(*cards, run);
  load.calls = run.batch;
  load.batches = kGetsPerThread / run.batch * load.steps.size();
  const TimePs line = copy == CopyFrom::kMemory ? cards->config.host.memory.load_latency
                                                : cards->config.host.cache.llc.latency;
  if (run.protocol == kFarm) load.work = line * lines_of(run.bytes);
  WHARF_TRY(add_threads(*cards, load, run.threads));
  WHARF_TRY(sim::run_threads(*cards->two, cards->threads));
  GetRate rate;
  rate.wrong = failures(cards->threads);
  rate.million_per_second =
      sim::million_batches_per_second(cards->threads) * run.batch / static_cast<double>(load.steps.size());
  const auto items = cards->two->host(1).memory().bytes(load.segment.base, Bytes{kItems * load.item_stride});
  if (run.protocol == kPessimistic) {
    for (std::uint64_t item = 0; item < kItems; ++item) {
      const auto lock = items.subspan(item * load.item_stride, 8);
      if (std::any_of(lock.begin(), lock.end(), [](std::byte value) { return value != std::byte{0}; }))
        ++rate.wrong;
    }
  }
  return rate;
}

/// The series and place of a run in the published data.
std::pair<std::string, std::string> published_place(const GetRun& run) {
  std::string series(kProtocols[run.protocol].series);
  if (run.batch == 1) {
    series = fmt::format("not plotted: {}", series.substr(0, series.find('('))) + "batch 1";
  } else if (run.threads != kGetThreads) {
    return {"thread scaling at 64 B: " + series, fmt::format("{}", run.threads)};
  }
  return {series, fmt::format("{}", run.bytes)};
}

/// What the sentences quote of the published rates, in million gets per second.
struct Quoted {
  double single_alone, farm_alone;  ///< One thread.
  double farm, single, farm_of_8, single_of_8, farm_2k, farm_4k, locked, locked_4k, unbatched, unbatched_4k;
};

Result<Quoted> quoted(const ReferenceTable& published) {
  Quoted quoted{};
  const auto take = [&](double& value, std::string_view series, std::string_view x) -> Result<void> {
    const auto found = published.at(series, x);
    if (!found) return found.error();
    value = *found;
    return {};
  };
  WHARF_TRY(take(quoted.single_alone, "thread scaling at 64 B: Single Read (batch 32)", "1"));
  WHARF_TRY(take(quoted.farm_alone, "thread scaling at 64 B: FaRM with copy (batch 32)", "1"));
  WHARF_TRY(take(quoted.farm, "FaRM with copy (batch 32)", "64"));
  WHARF_TRY(take(quoted.single, "Single Read (batch 32)", "64"));
  WHARF_TRY(take(quoted.farm_of_8, "thread scaling at 64 B: FaRM with copy (batch 32)", "8"));
  WHARF_TRY(take(quoted.single_of_8, "thread scaling at 64 B: Single Read (batch 32)", "8"));
  WHARF_TRY(take(quoted.farm_2k, "FaRM with copy (batch 32)", "2048"));
  WHARF_TRY(take(quoted.farm_4k, "FaRM with copy (batch 32)", "4096"));
  WHARF_TRY(take(quoted.locked, "Pessimistic (batch 32)", "64"));
  WHARF_TRY(take(quoted.locked_4k, "Pessimistic (batch 32)", "4096"));
  WHARF_TRY(take(quoted.unbatched, "not plotted: Single Read batch 1", "64"));
  WHARF_TRY(take(quoted.unbatched_4k, "not plotted: Single Read batch 1", "4096"));
  return quoted;
}

/// The figure; then what was not plotted: gets one at a time, and fewer threads.
std::vector<GetRun> all_runs() {
  std::vector<GetRun> runs;
  for (std::size_t protocol = 0; protocol < kProtocols.size(); ++protocol)
    for (const std::uint32_t bytes : kSizes) runs.push_back({protocol, kGetThreads, kGetBatch, bytes});
  for (std::size_t protocol = 0; protocol < kBothReads; ++protocol) {
    for (const std::uint32_t threads : {1U, 4U, 8U}) runs.push_back({protocol, threads, kGetBatch, 64});
    runs.push_back({protocol, kGetThreads, 1, 64});
  }
  return runs;
}

class Figure7 {
 public:
  explicit Figure7(const StudyContext& context) : context_(context), runs_(all_runs()) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  double serial_rate(std::size_t run) const { return found_[2 * run].million_per_second; }
  double overlapped_rate(std::size_t run) const { return found_[2 * run + 1].million_per_second; }
  /// In the figure, READs one by one.
  double rate(std::size_t protocol, std::size_t size) const {
    return serial_rate(protocol * kSizes.size() + size);
  }
  bool is_plotted(std::size_t run) const { return run < kProtocols.size() * kSizes.size(); }
  std::size_t run_of(std::size_t protocol, std::uint32_t threads) const;
  void add_row(std::size_t run, double published);
  void draw(Plot& plot, std::size_t run, double published) const;
  Result<void> add_checks(const std::vector<double>& shares, double wrong);

  const StudyContext& context_;
  ReferenceTable published_;
  std::vector<GetRun> runs_;
  std::vector<GetRate> found_;      ///< By run: READs one by one, overlapped.
  std::vector<double> from_cache_;  ///< FaRM, whose copy finds the lines in the last-level cache.
  sim::TwoHostsConfig config_;
};

std::size_t Figure7::run_of(std::size_t protocol, std::uint32_t threads) const {
  const auto at = std::find_if(runs_.begin(), runs_.end(), [&](const GetRun& run) {
    return run.protocol == protocol && run.threads == threads;
  });
  return static_cast<std::size_t>(at - runs_.begin());
}

Result<void> Figure7::run() {
  auto published = ReferenceTable::read(context_.reference / "ordering" / "fig07_kvs_emulation.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  auto config = card_config(context_, kGetCards, {});
  if (!config) return config.error();
  config_ = *std::move(config);
  found_.resize(2 * runs_.size());
  from_cache_.resize(runs_.size());
  return for_each_in_parallel(context_, found_.size(), [this](std::size_t i) -> Result<void> {
    const GetRun& run = runs_[i / 2];
    auto rate = get_rate(context_, run, i % 2 == 0);
    if (!rate) return rate.error();
    found_[i] = *rate;
    if (run.protocol != kFarm || i % 2 != 0) return {};
    rate = get_rate(context_, run, true, CopyFrom::kCache);
    if (!rate) return rate.error();
    from_cache_[i / 2] = rate->million_per_second;
    return {};
  });
}

Result<void> Figure7::judge() {
  result.columns = {{"protocol", "protocol", 0},    {"threads", "threads", 0},
                    {"batch", "batch", 0},          {"bytes", "bytes", 0},
                    {"paper", "published M/s", 2},  {"serial", "READs one by one", 2},
                    {"serial_percent", "%", 1},     {"overlapped", "overlapped", 2},
                    {"overlapped_percent", "%", 1}, {"from_cache", "copy from cache", 2},
                    {"from_cache_percent", "%", 1}};
  Plot plot{"gets",
            "Gets of 16 threads, 32 in a batch",
            "bytes",
            "million per second",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kLogarithmic,
            {}};
  double wrong = 0;
  std::vector<double> shares;  // Single Read over its published rates, in the figure.
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto [series, x] = published_place(runs_[i]);
    const auto published = published_.at(series, x);
    if (!published) return published.error();
    wrong += found_[2 * i].wrong + found_[2 * i + 1].wrong;
    add_row(i, *published);
    if (!is_plotted(i)) continue;
    draw(plot, i, *published);
    if (runs_[i].protocol == kSingleRead) shares.push_back(serial_rate(i) / *published);
  }
  result.plots = {plot};
  return add_checks(shares, wrong);
}

void Figure7::add_row(std::size_t i, double published) {
  const GetRun& run = runs_[i];
  result.rows.push_back({{"protocol", kProtocols[run.protocol].name},
                         {"threads", run.threads},
                         {"batch", run.batch},
                         {"bytes", run.bytes},
                         {"paper", published},
                         {"serial", serial_rate(i)},
                         {"serial_percent", deviation_percent(serial_rate(i), published)},
                         {"overlapped", overlapped_rate(i)},
                         {"overlapped_percent", deviation_percent(overlapped_rate(i), published)}});
  if (run.protocol != kFarm) return;
  result.rows.back()["from_cache"] = from_cache_[i];
  result.rows.back()["from_cache_percent"] = deviation_percent(from_cache_[i], published);
}

void Figure7::draw(Plot& plot, std::size_t i, double published) const {
  const GetRun& run = runs_[i];
  const std::string name(kProtocols[run.protocol].name);
  if (run.bytes == kSizes.front()) {
    plot.series.push_back({name, {}, name});
    plot.series.push_back({name + ", published", {}, name, true});
  }
  const double at = run.bytes;
  plot.series[plot.series.size() - 2].points.push_back({at, serial_rate(i), ""});
  plot.series.back().points.push_back({at, published, ""});
}

Result<void> Figure7::add_checks(const std::vector<double>& shares, double wrong) {
  const auto hosts = ReferenceTable::read(context_.reference / "ordering" / "table4_hw_emulation.csv");
  if (!hosts) return hosts.error();
  const auto cores = hosts->at("CPU cores", "Xeon Silver 4314");
  const auto line = hosts->at("NIC", "ConnectX-6 Dx EN, PCIe 4.0 x16");
  if (!cores) return cores.error();
  if (!line) return line.error();
  double pessimistic_least = rate(kPessimistic, 0);
  double pessimistic_most = pessimistic_least;
  for (std::size_t size = 0; kSizes[size] <= 2048; ++size) {
    pessimistic_least = std::min(pessimistic_least, rate(kPessimistic, size));
    pessimistic_most = std::max(pessimistic_most, rate(kPessimistic, size));
  }
  result.checks = {
      between("64 B: Single Read over FaRM", rate(kSingleRead, 0) / rate(kFarm, 0), 1.4, 1.8),
      between("64 B: Single Read over Validation", rate(kSingleRead, 0) / rate(kValidation, 0), 1.8, 2.1),
      between("8 KiB: Single Read over Validation", rate(kSingleRead, 7) / rate(kValidation, 7), 0.95, 1.1),
      between("128 B: FaRM over Validation", rate(kFarm, 1) / rate(kValidation, 1), 1, 1.5),
      between("256 B: FaRM over Validation", rate(kFarm, 2) / rate(kValidation, 2), 0.5, 1),
      between("64 B to 2 KiB: Pessimistic, least of most", pessimistic_least / pessimistic_most, 0.75, 1),
      between("Pessimistic at 64 B, million per second", rate(kPessimistic, 0), 2, 4),
      between("Single Read over cards, least of all sizes", *std::min_element(shares.begin(), shares.end()),
              0.9, 1.1),
      between("Single Read over cards, most of all sizes", *std::max_element(shares.begin(), shares.end()),
              0.9, 1.1),
      equal("threads, one for each core of Table 4", kGetThreads, *cores),
      equal("the link's Gb/s, as in Table 4", static_cast<double>(config_.link.rate.value) / 1e9, *line),
      equal("operations that failed and locks left taken", wrong, 0)};
  return {};
}

Result<void> Figure7::tell() {
  const auto published = quoted(published_);
  if (!published) return published.error();
  const Quoted& paper = *published;
  // One thread of Single Read, where nothing but its queue pair can bind.
  const std::size_t alone = run_of(kSingleRead, 1);
  const std::size_t farm_eight = run_of(kFarm, 8);
  const auto copy_ns = [](double threads, double with, double without) {
    return 1e3 * threads * (1 / with - 1 / without);
  };
  const auto longer_ns = [](double small, double large) {
    return 1e3 * kGetThreads * (1 / large - 1 / small);
  };
  constexpr std::size_t kAt4K = 6;
  static_assert(kSizes[kAt4K] == 4096);
  const double miss_ns = as_nanoseconds(config_.host.memory.load_latency);
  result.sentences = {
      fmt::format(
          "Calibrated: gets one at a time (the link's delay) and FaRM's copy at 64 B; all else follows. "
          "READs that a queue pair's card serves one by one give {:.1f} million Single Reads of 64 B per "
          "second with sixteen threads (published {:.1f}) and {:.2f} with one ({:.2f}); overlapped up to "
          "16 they would give {:.1f} and {:.2f}. A limit on the card's messages is not needed: the "
          "published rates grow with the threads.",
          rate(kSingleRead, 0), paper.single, serial_rate(alone), paper.single_alone,
          overlapped_rate(kSingleRead * kSizes.size()), overlapped_rate(alone)),
      fmt::format(
          "FaRM is too slow here from 1 KiB on, since its copy, which begins when a batch has been polled, "
          "is "
          "charged a whole miss of {:.0f} ns for every line, as 64 B with sixteen threads have it. The "
          "published data do not bear out a copy that costs a core so much: a get of 2 KiB takes its thread "
          "{:.0f} ns in all, less than {} such misses, and at 64 B the copy takes {:.0f} ns per get with one "
          "thread, {:.0f} with eight and {:.0f} with sixteen, so that they share what makes it slow. From "
          "the last-level cache, {:.0f} ns a line, FaRM is near the published rates with eight threads "
          "({:.1f} million per second, published {:.1f}) and at 4 KiB with sixteen ({:.2f}, {:.2f}), and far "
          "too fast where sixteen copy less. What they share was not published; nothing was fitted to it.",
          miss_ns, 1e3 * kGetThreads / paper.farm_2k, lines_of(2048),
          copy_ns(1, paper.farm_alone, paper.single_alone), copy_ns(8, paper.farm_of_8, paper.single_of_8),
          copy_ns(kGetThreads, paper.farm, paper.single), as_nanoseconds(config_.host.cache.llc.latency),
          from_cache_[farm_eight], paper.farm_of_8, from_cache_[kFarm * kSizes.size() + kAt4K],
          paper.farm_4k),
      fmt::format(
          "Pessimistic gets of 64 B follow from link and fence for any number of threads; they become too "
          "fast with the size: from 64 B to 4 KiB they take {:.0f} ns longer here, {:.0f} in the published "
          "data, where READs alone, one at a time, take {:.0f} ns longer too: not the lock, but what long "
          "READs of sixteen threads do to each other in the cards, of which nothing is published.",
          longer_ns(rate(kPessimistic, 0), rate(kPessimistic, kAt4K)),
          longer_ns(paper.locked, paper.locked_4k), longer_ns(paper.unbatched, paper.unbatched_4k))};
  return {};
}

}  // namespace

Result<StudyResult> figure7(const StudyContext& context) { return in_three_steps<Figure7>(context); }

}  // namespace wharf::study::ordering
