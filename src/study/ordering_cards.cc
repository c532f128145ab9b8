// SPDX-License-Identifier: Apache-2.0
// Figures 2, 3 and 7: what the paper measured on network cards, here two hosts with RoCE engines behind PCIe
// and a link between them. A card's parts are not published: the profile says which of its values are
// calibrated on one of the measurements; the other measurements are predicted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "sim/scenario/assembly.h"
#include "study/card_thread.h"
#include "study/ordering.h"
#include "study/parallel.h"
#include "study/reference_table.h"
#include "study/runs.h"

namespace wharf::study::ordering {
namespace {

using verbs::Verb;

constexpr std::string_view kCards = "connectx6dx-ordering";
/// The same cards on the machines of Figure 7.
constexpr std::string_view kGetCards = "connectx6dx-ordering-gets";

using Threads = std::vector<std::unique_ptr<CardThread>>;

/// Two hosts with cards, and what they share.
struct Cards {
  sim::TwoHostsConfig config;
  std::unique_ptr<sim::TwoHosts> two;
  Threads threads;
};

Result<sim::TwoHostsConfig> card_config(const StudyContext& context, std::string_view profile,
                                        const std::vector<std::string>& keys) {
  auto scenario = load_request(context, {std::string(profile), "roce_bf", keys});
  if (!scenario) return scenario.error();
  sim::RunOptions options;
  options.attribution = false;
  return sim::two_hosts_config(scenario->config, options);
}

Result<Cards> plug_cards(const StudyContext& context, std::string_view profile,
                         const std::vector<std::string>& keys) {
  Cards cards;
  auto config = card_config(context, profile, keys);
  if (!config) return config.error();
  cards.config = *std::move(config);
  auto two = sim::TwoHosts::create(cards.config);
  if (!two) return two.error();
  cards.two = *std::move(two);
  return cards;
}

/// Memory of host 1. `serial`: its card reads it for a queue pair one READ (of one packet) after the other.
Result<verbs::RemoteSegment> expose(Cards& cards, std::uint64_t bytes, bool serial) {
  sim::Host& host = cards.two->host(1);
  verbs::SegmentConfig segment;
  segment.base = host.memory().allocate(Bytes{bytes});
  segment.length = bytes;
  if (serial) segment.read_order = verbs::AccessOrder::kAcquire;
  return host.expose(segment);
}

/// A request between `bytes` of new memory of host 0 and host 1.
verbs::WorkRequest transfer(Cards& cards, Verb verb, std::uint32_t bytes) {
  verbs::WorkRequest request;
  request.verb = verb;
  request.length = bytes;
  request.local_count = 1;
  request.local[0] = {cards.two->host(0).memory().allocate(Bytes{bytes}), bytes};
  return request;
}

Result<void> add_threads(Cards& cards, const CardLoad& load, std::uint32_t count) {
  for (std::uint32_t number = 0; number < count; ++number) {
    auto thread = CardThread::create(*cards.two, cards.config, load, number);
    if (!thread) return thread.error();
    cards.threads.push_back(*std::move(thread));
  }
  return {};
}

double failures(const Threads& threads) {
  double sum = 0;
  for (const auto& thread : threads) sum += static_cast<double>(thread->failures());
  return sum;
}

// --- Figure 2 ---

struct Submission {
  std::string_view name;
  bool blue_flame;
  bool inline_payload;
  std::uint32_t pieces;       ///< Scatter entries of 64 B.
  std::uint32_t dma_reads;    ///< One after the other.
  std::string_view standing;  ///< Whether the published median went into the profile.
};
constexpr std::array<Submission, 4> kSubmissions{{
    {"All MMIO", true, true, 1, 0, "calibrated"},
    {"One DMA", true, false, 1, 1, "calibrated"},
    {"Two Unordered DMA", true, false, 2, 1, "predicted"},
    {"Two Ordered DMA", false, false, 1, 2, "predicted"},
}};
/// As far apart as the artifact has them.
constexpr std::uint64_t kPieceDistance = 1024;
constexpr std::uint64_t kWrites = 200;

struct Latencies {
  double median_ns = 0;
  double least_ns = 0;
  double most_ns = 0;
  double failed = 0;
};

Result<Latencies> write_latency(const StudyContext& context, const Submission& submission,
                                const std::vector<std::string>& keys) {
  auto cards = plug_cards(context, kCards, keys);
  if (!cards) return cards.error();
  auto segment = expose(*cards, 4096, false);
  if (!segment) return segment.error();
  CardLoad load;
  verbs::WorkRequest write = transfer(*cards, Verb::kWrite, 2 * kPieceDistance);
  write.local_count = static_cast<std::uint8_t>(submission.pieces);
  write.length = 64 * submission.pieces;
  for (std::uint32_t piece = 0; piece < submission.pieces; ++piece)
    write.local[piece] = {write.local[0].address + (piece == 0 ? 0 : kPieceDistance), 64};
  load.steps = {{write}};
  load.batches = kWrites;
  load.blue_flame = submission.blue_flame;
  load.inline_payload = submission.inline_payload;
  load.segment = *segment;
  WHARF_TRY(add_threads(*cards, load, 1));
  WHARF_TRY(run_threads(*cards->two, cards->threads));
  std::vector<TimePs> sorted = cards->threads[0]->latencies();
  std::sort(sorted.begin(), sorted.end());
  return Latencies{as_nanoseconds(sorted[sorted.size() / 2]), as_nanoseconds(sorted.front()),
                   as_nanoseconds(sorted.back()), failures(cards->threads)};
}

// --- Figure 3 ---

/// What limits how many READs overlap.
struct ReadRule {
  std::string_view name;
  std::uint32_t outstanding;  ///< READs of a queue pair.
  bool serial;                ///< Their DMA reads at the other card.
};
/// More than ever overlap: a round trip has room for 41 requests at the rate of WRITEs.
constexpr std::uint32_t kMany = 64;
constexpr std::array<ReadRule, 4> kReadRules{{
    {"16 outstanding", 16, false},
    {"DMA one by one", kMany, true},
    {"both", 16, true},
    {"neither", kMany, false},
}};
constexpr std::uint32_t kPostBatch = 32;
constexpr std::uint64_t kPipelined = 12'800;  ///< Operations of a run.

struct Rate {
  double mops = 0;
  double failed = 0;
};

Result<Rate> pipelined_rate(const StudyContext& context, Verb verb, const ReadRule& rule,
                            std::uint32_t queue_pairs) {
  auto cards = plug_cards(context, kCards, {fmt::format("model.roce.max_read_atomic={}", rule.outstanding)});
  if (!cards) return cards.error();
  auto segment = expose(*cards, 4096, rule.serial);
  if (!segment) return segment.error();
  CardLoad load;
  // A batch is divided by the queue pairs; only its last request is signalled.
  const std::uint32_t batch = kPostBatch / queue_pairs;
  std::vector<verbs::WorkRequest> requests(batch, transfer(*cards, verb, 64));
  for (std::uint32_t i = 0; i + 1 < batch; ++i) requests[i].signaled = false;
  load.steps = {requests};
  load.batches = kPipelined / kPostBatch;
  // Choice: 512 requests in the send queue, of 8,192 in the artifact; more than ever overlap.
  load.batches_ahead = 512 / batch;
  load.segment = *segment;
  WHARF_TRY(add_threads(*cards, load, queue_pairs));
  WHARF_TRY(run_threads(*cards->two, cards->threads));
  Rate rate;
  rate.mops = million_batches_per_second(cards->threads) * batch;
  rate.failed = failures(cards->threads);
  return rate;
}

// --- Figure 7 ---

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

Result<GetRate> get_rate(const StudyContext& context, const GetRun& run, bool serial) {
  auto cards = plug_cards(context, kGetCards, {});
  if (!cards) return cards.error();
  CardLoad load;
  load.item_stride = run.bytes + kPadding;
  load.items = kItems;
  auto segment = expose(*cards, kItemsBegin + kItems * load.item_stride, serial);
  if (!segment) return segment.error();
  load.segment = *segment;
  load.segment.base += kItemsBegin;
  load.steps = steps_of(*cards, run);
  load.calls = run.batch;
  load.batches = kGetsPerThread / run.batch * load.steps.size();
  // The copy misses on every line, and items are as little aligned here as there: n lines lie in n + 1.
  if (run.protocol == kFarm) load.work = cards->config.host.memory.load_latency * (run.bytes / 64 + 1);
  WHARF_TRY(add_threads(*cards, load, run.threads));
  WHARF_TRY(run_threads(*cards->two, cards->threads));
  GetRate rate;
  rate.wrong = failures(cards->threads);
  rate.million_per_second =
      million_batches_per_second(cards->threads) * run.batch / static_cast<double>(load.steps.size());
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

}  // namespace

Result<StudyResult> figure2(const StudyContext& context) {
  auto reference = ReferenceTable::read(context.reference / "ordering" / "fig02_rdma_write_latency.csv");
  if (!reference) return reference.error();
  // Once with the measured read, once with the one of the paper's simulator (6.3: 440 to 500 ns).
  const std::array<std::vector<std::string>, 2> reads{{{}, {"model.pcie.read_round_trip=446ns"}}};
  std::array<Latencies, 2 * kSubmissions.size()> found;
  WHARF_TRY(for_each_in_parallel(context, found.size(), [&](std::size_t i) -> Result<void> {
    auto latency = write_latency(context, kSubmissions[i / 2], reads[i % 2]);
    if (!latency) return latency.error();
    found[i] = *latency;
    return {};
  }));
  StudyResult result;
  result.columns = {{"submission", "submission", 0},
                    {"dma_reads", "serial DMA reads", 0},
                    {"paper_ns", "published ns", 0},
                    {"ns", "ns", 0},
                    {"deviation_percent", "%", 1},
                    {"standing", "", 0},
                    {"slower_read_ns", "with 446 ns reads", 0}};
  Plot plot{"latency", "One RDMA WRITE of 64 B", "ns", "share of the writes", PlotKind::kLines, false, false,
            {}};
  std::array<double, kSubmissions.size()> ns{};
  double failed = 0;
  double spread = 0;
  for (std::size_t i = 0; i < kSubmissions.size(); ++i) {
    const Submission& submission = kSubmissions[i];
    auto published = reference->at(submission.name, "median");
    if (!published) return published.error();
    const Latencies& measured = found[2 * i];
    ns[i] = measured.median_ns;
    spread = std::max(spread, measured.most_ns - measured.least_ns);
    failed += measured.failed;
    result.rows.push_back({{"submission", submission.name},
                           {"dma_reads", submission.dma_reads},
                           {"paper_ns", *published},
                           {"ns", ns[i]},
                           {"deviation_percent", deviation_percent(ns[i], *published)},
                           {"standing", submission.standing},
                           {"slower_read_ns", found[2 * i + 1].median_ns}});
    plot.series.push_back(
        {std::string(submission.name),
         {{measured.least_ns, 0, ""}, {measured.median_ns, 0.5, ""}, {measured.most_ns, 1, ""}}});
  }
  result.plots = {plot};
  auto gap = reference->at("Two Ordered minus One DMA", "median");
  if (!gap) return gap.error();
  result.checks = {between("One DMA over All MMIO, ns", ns[1] - ns[0], 250, 350),
                   between("Two Unordered over One DMA, ns", ns[2] - ns[1], 0, 60),
                   between("Two Ordered over Two Unordered, ns", ns[3] - ns[2], 250, 450),
                   equal("writes that failed", failed, 0)};
  result.sentences = {
      fmt::format("The first two medians set the link's delay and the DMA read; the other two follow. A read "
                  "that must wait for another costs {:.0f} ns (published: {:.0f}), one beside another "
                  "{:.0f}. With the "
                  "446 ns of the paper's simulated reads the step would be {:.0f} ns.",
                  ns[3] - ns[1], *gap, ns[2] - ns[1], found[7].median_ns - found[3].median_ns),
      fmt::format("The published figure is a distribution; here nothing disturbs a write, so that all take "
                  "the same to "
                  "{:.1f} ns: only medians are compared.",
                  spread)};
  return result;
}

Result<StudyResult> figure3(const StudyContext& context) {
  auto reference = ReferenceTable::read(context.reference / "ordering" / "fig03_rdma_bandwidth.csv");
  if (!reference) return reference.error();
  // WRITE under the cards' own rule, then READ under each.
  constexpr std::size_t kRows = 1 + kReadRules.size();
  std::array<Rate, 2 * kRows> found;
  WHARF_TRY(for_each_in_parallel(context, found.size(), [&](std::size_t i) -> Result<void> {
    const std::size_t row = i / 2;
    auto rate = pipelined_rate(context, row == 0 ? Verb::kWrite : Verb::kRead,
                               kReadRules[row == 0 ? 0 : row - 1], i % 2 == 0 ? 1 : 2);
    if (!rate) return rate.error();
    found[i] = *rate;
    return {};
  }));
  auto paper_read = reference->at("READ", "1 QP");
  auto paper_write = reference->at("WRITE", "1 QP");
  if (!paper_read) return paper_read.error();
  if (!paper_write) return paper_write.error();
  StudyResult result;
  result.columns = {
      {"operation", "operation", 0},  {"rule", "READs limited by", 0}, {"paper_mops", "published Mop/s", 1},
      {"mops_1", "1 queue pair", 2},  {"deviation_percent", "%", 1},   {"gibits_1", "Gib/s", 2},
      {"mops_2", "2 queue pairs", 2}, {"gibits_2", "Gib/s", 2},        {"write_over_read", "WRITE/READ", 2}};
  Plot plot{"rate",
            "64 B, pipelined",
            "",
            "million per second",
            PlotKind::kBars,
            false,
            false,
            {{"1 queue pair", {}}, {"2 queue pairs", {}}}};
  const auto gibits = [](double mops) { return mops * 1e6 * 512 / (1 << 30); };
  double failed = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const double one = found[2 * row].mops;
    const double two = found[2 * row + 1].mops;
    const double published = row == 0 ? *paper_write : *paper_read;
    const std::string rule(row == 0 ? "" : kReadRules[row - 1].name);
    const std::string operation = row == 0 ? "WRITE" : "READ";
    failed += found[2 * row].failed + found[2 * row + 1].failed;
    result.rows.push_back({{"operation", operation},
                           {"rule", rule},
                           {"paper_mops", published},
                           {"mops_1", one},
                           {"deviation_percent", deviation_percent(one, published)},
                           {"gibits_1", gibits(one)},
                           {"mops_2", two},
                           {"gibits_2", gibits(two)},
                           {"write_over_read", found[0].mops / one}});
    const std::string label = row == 0 ? operation : "READ, " + rule;
    plot.series[0].points.push_back({static_cast<double>(row), one, label});
    plot.series[1].points.push_back({static_cast<double>(row), two, label});
  }
  result.plots = {plot};
  const auto config = card_config(context, kCards, {});
  if (!config) return config.error();
  const double dma_ns = as_nanoseconds(config->host.pcie.read_round_trip);
  const double round_trip_ns = 2 * as_nanoseconds(config->link.delay) + dma_ns;
  const auto read = [&](std::size_t rule, std::size_t pairs) { return found[2 * (rule + 1) + pairs].mops; };
  result.checks = {
      between("READ with 16 outstanding: WRITE over READ", found[0].mops / read(0, 0), 2.5, 3.5),
      between("READ with 16 outstanding: 2 queue pairs over 1", read(0, 1) / read(0, 0), 1.9, 2.1),
      between("READ one by one: 2 queue pairs over 1", read(1, 1) / read(1, 0), 1.9, 2.1),
      // A READ keeps its place for both ways of the link, the DMA read, and the cards' pipelines.
      between("READ with 16 outstanding: time of each over link and DMA", 16e3 / read(0, 0) / round_trip_ns,
              1, 1.08),
      between("READ one by one: time of each over its DMA", 1e3 / read(1, 0) / dma_ns, 1, 1.03),
      between("READ with neither limit over WRITE", read(3, 0) / found[0].mops, 0.9, 1.1),
      equal("operations that failed", failed, 0)};
  result.sentences = {fmt::format(
      "WRITE is calibrated, READ predicted. 16 outstanding READs over a round trip give {:.1f} million per "
      "second, DMA reads one after the other {:.1f}, both together {:.1f}, and with neither limit READs are "
      "as "
      "fast as WRITEs ({:.1f}): either explains that READ is a third of WRITE and doubles with a second "
      "queue "
      "pair. The published {:.1f} lie between the two, as does the single thread of Figure 7: where both "
      "limits "
      "are in force the DMA binds, and the cards read somewhat less serially than 293 ns at a time.",
      read(0, 0), read(1, 0), read(2, 0), read(3, 0), *paper_read)};
  return result;
}

Result<StudyResult> figure7(const StudyContext& context) {
  auto reference = ReferenceTable::read(context.reference / "ordering" / "fig07_kvs_emulation.csv");
  auto hosts = ReferenceTable::read(context.reference / "ordering" / "table4_hw_emulation.csv");
  if (!reference) return reference.error();
  if (!hosts) return hosts.error();
  // The figure; then what was not plotted: gets one at a time, and fewer threads.
  std::vector<GetRun> runs;
  for (std::size_t protocol = 0; protocol < kProtocols.size(); ++protocol)
    for (const std::uint32_t bytes : kSizes) runs.push_back({protocol, kGetThreads, kGetBatch, bytes});
  for (std::size_t protocol = 0; protocol < kBothReads; ++protocol) {
    for (const std::uint32_t threads : {1U, 4U, 8U}) runs.push_back({protocol, threads, kGetBatch, 64});
    runs.push_back({protocol, kGetThreads, 1, 64});
  }
  std::vector<GetRate> found(2 * runs.size());
  WHARF_TRY(for_each_in_parallel(context, found.size(), [&](std::size_t i) -> Result<void> {
    auto rate = get_rate(context, runs[i / 2], i % 2 == 0);
    if (!rate) return rate.error();
    found[i] = *rate;
    return {};
  }));
  StudyResult result;
  result.columns = {
      {"protocol", "protocol", 0}, {"threads", "threads", 0},       {"batch", "batch", 0},
      {"bytes", "bytes", 0},       {"paper", "published M/s", 2},   {"serial", "READs one by one", 2},
      {"serial_percent", "%", 1},  {"overlapped", "overlapped", 2}, {"overlapped_percent", "%", 1}};
  Plot plot{"gets",
            "Gets of 16 threads, 32 in a batch",
            "bytes",
            "million per second",
            PlotKind::kLines,
            true,
            true,
            {}};
  double wrong = 0;
  std::vector<double> shares;  ///< Single Read over its published rates, in the figure.
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const GetRun& run = runs[i];
    const auto [series, x] = published_place(run);
    const auto published = reference->at(series, x);
    if (!published) return published.error();
    const double serial = found[2 * i].million_per_second;
    const double overlapped = found[2 * i + 1].million_per_second;
    wrong += found[2 * i].wrong + found[2 * i + 1].wrong;
    result.rows.push_back({{"protocol", kProtocols[run.protocol].name},
                           {"threads", run.threads},
                           {"batch", run.batch},
                           {"bytes", run.bytes},
                           {"paper", *published},
                           {"serial", serial},
                           {"serial_percent", deviation_percent(serial, *published)},
                           {"overlapped", overlapped},
                           {"overlapped_percent", deviation_percent(overlapped, *published)}});
    if (i < kProtocols.size() * kSizes.size()) {
      const std::string name(kProtocols[run.protocol].name);
      if (run.bytes == kSizes.front()) {
        plot.series.push_back({name, {}});
        plot.series.push_back({name + ", published", {}});
      }
      const double at = run.bytes;
      plot.series[plot.series.size() - 2].points.push_back({at, serial, ""});
      plot.series.back().points.push_back({at, *published, ""});
      if (run.protocol == kSingleRead) shares.push_back(serial / *published);
    }
  }
  result.plots = {plot};
  const auto config = card_config(context, kGetCards, {});
  if (!config) return config.error();
  const auto cores = hosts->at("CPU cores", "Xeon Silver 4314");
  const auto line = hosts->at("NIC", "ConnectX-6 Dx EN, PCIe 4.0 x16");
  if (!cores) return cores.error();
  if (!line) return line.error();
  const auto rate = [&](std::size_t protocol, std::size_t size) {
    return found[2 * (protocol * kSizes.size() + size)].million_per_second;
  };
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
      equal("the link's Gb/s, as in Table 4", static_cast<double>(config->link.rate.value) / 1e9, *line),
      equal("operations that failed and locks left taken", wrong, 0)};
  // One thread of Single Read, where nothing but its queue pair can bind.
  const auto alone = std::find_if(runs.begin(), runs.end(), [](const GetRun& run) {
    return run.protocol == kSingleRead && run.threads == 1;
  });
  const auto at_alone = static_cast<std::size_t>(alone - runs.begin());
  const auto alone_paper = reference->at(published_place(*alone).first, published_place(*alone).second);
  const auto farm_alone = reference->at("thread scaling at 64 B: FaRM with copy (batch 32)", "1");
  if (!alone_paper) return alone_paper.error();
  if (!farm_alone) return farm_alone.error();
  const auto copy_ns = [](double threads, double with, double without) {
    return 1e3 * threads * (1 / with - 1 / without);
  };
  const auto farm = reference->at("FaRM with copy (batch 32)", "64");
  const auto single = reference->at("Single Read (batch 32)", "64");
  if (!farm) return farm.error();
  if (!single) return single.error();
  result.sentences = {
      fmt::format(
          "Calibrated: gets one at a time (the link's delay) and FaRM's copy at 64 B; all else follows. "
          "READs that a queue pair's card serves one by one give {:.1f} million Single Reads of 64 B per "
          "second with sixteen threads (published {:.1f}) and {:.2f} with one ({:.2f}); overlapped up to "
          "16 they would give {:.1f} and {:.2f}. A limit on the card's messages is not needed: the "
          "published rates grow with the threads.",
          rate(kSingleRead, 0), *single, found[2 * at_alone].million_per_second, *alone_paper,
          found[2 * kSingleRead * kSizes.size() + 1].million_per_second,
          found[2 * at_alone + 1].million_per_second),
      fmt::format(
          "The published data do not bear out a copy that costs a core so much: it takes {:.0f} ns per get "
          "with one thread and {:.0f} with sixteen, so that they share what makes it slow. Beyond 512 B "
          "it is cheaper than a miss for every line.",
          copy_ns(1, *farm_alone, *alone_paper), copy_ns(kGetThreads, *farm, *single))};
  return result;
}

}  // namespace wharf::study::ordering
