// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figures 20 and 30: how much a host can fetch. The paper's model waits out each round trip before
// it looks at the next request, so its rates are one over the latency at every depth; here requests overlap.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/openurma.h"

namespace wharf::study::openurma {
namespace {

/// Operations in flight at which a stack is taken to be saturated.
constexpr std::uint32_t kDeep = 64;
constexpr std::uint64_t kDeepOperations = 6000;

const AccountingRule kOneAtATime{
    "run.concurrency", "1", "as the axis says",
    "the published model waits for an operation to end before it takes the next one"};

/// Upper bounds on the rate of 64-byte fetches, in Mops, by operational analysis: no rate exceeds what one
/// core can submit and reap, what one pipeline can accept, or what the permitted operations in flight allow
/// at the latency of one alone. Flits: a request has its headers, a response 64 bytes beside them.
struct Bounds {
  double core = 0;
  double in_flight = 0;
  double rate() const { return std::min(core, in_flight); }
};

Bounds bounds_of(const sim::ScenarioConfig& config, std::string_view stack, double latency_ns) {
  const sim::CoreConfig& core = config.host.core;
  Bounds bounds;
  if (stack == kUbLoadStore) {
    bounds.core = 1e9;
    bounds.in_flight = 1e3 * std::min(core.outstanding_misses, kDeep) / latency_ns;
    return bounds;
  }
  const TimePs poll = is_roce(stack) ? core.poll_host_memory : core.poll_on_chip;
  bounds.core = 1e3 / as_nanoseconds(core.library_post + core.work_request_build + poll + core.library_poll);
  const std::uint32_t allowed =
      is_roce(stack) ? std::get<roce::RoceConfig>(config.protocols).max_read_atomic : kDeep;
  bounds.in_flight = 1e3 * std::min<std::uint32_t>(allowed, kDeep) / latency_ns;
  return bounds;
}

RunRequest deep(std::string_view stack, std::uint32_t concurrency) {
  VerbRun run{kMechanism, stack, fetch_verb(stack)};
  run.concurrency = concurrency;
  run.operations = concurrency == 1 ? 500 : kDeepOperations;
  return request(run);
}

}  // namespace

Result<StudyResult> figure20(const StudyContext& context) {
  constexpr std::array<std::uint32_t, 4> kDepths{1, 4, 16, kDeep};
  // Declared: the measured rate reaches at least this share of the tightest bound and never passes it (but
  // for the ends of the run). Loads: 10 to 16 misses outstanding over the latencies of Table 6 make 18 to 42
  // Mops.
  constexpr double kShareLeast = 0.6;
  constexpr double kShareMost = 1.05;
  constexpr double kLoadLeast = 10.0 / 540 * 1e3;
  constexpr double kLoadMost = 16.0 / 380 * 1e3;
  const auto published = reference(context, "F20_oprate_vs_concurrency.csv");
  if (!published) return published.error();
  const auto parameters = load_request(context, {std::string(kMechanism), "", {}});
  if (!parameters) return parameters.error();

  RunBatch batch(context);
  std::vector<std::size_t> accounting;
  std::vector<std::size_t> mechanism;
  for (const StackName& stack : kStacks) {
    accounting.push_back(batch.add(request({later_accounting(stack.key), stack.key, fetch_verb(stack.key)})));
    for (const std::uint32_t depth : kDepths) mechanism.push_back(batch.add(deep(stack.key, depth)));
    batch.compare(accounting.back(), mechanism.back());
  }
  WHARF_TRY(batch.run());

  StudyResult result;
  result.columns = {{"stack", "stack", 0},
                    {"concurrency", "in flight", 0},
                    {"paper_mops", "published Mops", 3},
                    {"accounting_mops", "accounting Mops", 3},
                    {"mechanism_mops", "mechanism Mops", 2},
                    {"mechanism_mean_ns", "mean ns", 0},
                    {"limit", "limited by", 0}};
  Plot plot{"rate",
            "64 B fetches per second, link 100 ns",
            "operations in flight",
            "million per second",
            PlotKind::kLines,
            true,
            false,
            {}};
  std::vector<double> saturated;
  for (std::size_t s = 0; s < kStacks.size(); ++s) {
    const std::string name(kStacks[s].key);
    const double serial = rate_mops(batch[accounting[s]]);
    const double alone_ns = mean_ns(batch[mechanism[s * kDepths.size()]]);
    const Bounds bounds = bounds_of(parameters->config, name, alone_ns);
    Series paper{"published " + name, {}};
    Series real{"mechanism " + name, {}};
    for (std::size_t d = 0; d < kDepths.size(); ++d) {
      const std::string x = fmt::format("{}", kDepths[d]);
      const auto value = published->at(kStacks[s].artifact, x);
      if (!value) return value.error();
      const sim::RunReport& report = batch[mechanism[s * kDepths.size() + d]];
      const double rate = rate_mops(report);
      const bool limited = kDepths[d] == kDeep;
      result.rows.push_back({{"stack", name},
                             {"concurrency", kDepths[d]},
                             {"paper_mops", *value},
                             {"accounting_mops", serial},
                             {"mechanism_mops", rate},
                             {"mechanism_mean_ns", mean_ns(report)},
                             {"limit", !limited                         ? ""
                                       : bounds.core < bounds.in_flight ? "the core: software per operation"
                                                                        : "operations in flight"}});
      result.checks.push_back(within(name + " at depth " + x + " within 1 %", serial, *value, 0.01));
      paper.points.push_back({static_cast<double>(kDepths[d]), *value, ""});
      real.points.push_back({static_cast<double>(kDepths[d]), rate, ""});
    }
    plot.series.push_back(paper);
    plot.series.push_back(real);
    saturated.push_back(real.points.back().y);
    result.checks.push_back(between(name + " at depth 64, share of its bound",
                                    saturated.back() / bounds.rate(), kShareLeast, kShareMost));
  }
  result.checks.push_back(between("ub_ldst at depth 64, Mops", saturated[0], kLoadLeast, kLoadMost));
  const double alone = rate_mops(batch[mechanism[0]]);
  result.checks.push_back(
      between("ub_ldst: depth 4 over depth 1", rate_mops(batch[mechanism[1]]) / alone, 3.5, 4.1));
  result.plots = {plot};
  result.rules = {kOneAtATime};
  const auto text_rate = published->at("UB LD/ST", "1");
  const auto text_floor = published->at("RoCE DMA", "floor");
  if (!text_rate) return text_rate.error();
  if (!text_floor) return text_floor.error();
  result.sentences = {
      fmt::format("The published curves are flat: one submitter waits out every round trip, so the rate is "
                  "one over the "
                  "latency at every depth ({:.2f} Mops for loads, {:.3f} for RoCE DMA; the text has {:.1f} "
                  "and {:.2f} and calls "
                  "the former linear to 16).",
                  rate_mops(batch[accounting[0]]), rate_mops(batch[accounting[3]]), *text_rate, *text_floor),
      fmt::format("By mechanism loads rise from {:.2f} Mops to {:.1f}, where the core's {} outstanding "
                  "misses are all in use; "
                  "work requests rise to {:.1f} (URMA) and {:.1f} Mops (RoCE DMA), where one core's software "
                  "per operation "
                  "or the reads that a queue pair may have outstanding limit them.",
                  alone, saturated[0], parameters->config.host.core.outstanding_misses, saturated[1],
                  saturated[3])};
  WHARF_TRY(conclude(batch, result));
  return result;
}

namespace {

/// One published point of Figure 30.
struct OfferedPoint {
  std::size_t stack;
  std::string x;  ///< Offered Mops, as published.
  double offered;
  std::size_t run;
};

constexpr std::uint64_t kPublishedOperations = 3000;
constexpr std::array<int, 6> kShares{5, 25, 50, 75, 90, 95};

RunRequest open_loop(std::string_view profile, std::string_view stack, double mops, std::uint32_t concurrency,
                     std::uint64_t operations) {
  VerbRun run{profile, stack, fetch_verb(stack)};
  run.concurrency = concurrency;
  run.operations = operations;
  run.keys = {"run.pacing=open", fmt::format("run.arrivals_per_second={}", std::llround(mops * 1e6))};
  return request(run);
}

}  // namespace

Result<StudyResult> figure30(const StudyContext& context) {
  // Declared: three standard deviations of 3000 Poisson arrivals, below the published server's capacity; at
  // twice the capacity and beyond only its rate is compared, since the published run bounds its queue. The
  // mechanism must carry 95 % of its closed-loop rate with a median below three times that of an idle host.
  constexpr double kRateTolerance = 0.06;
  constexpr double kMedianTolerance = 0.15;
  const auto published = reference(context, "F30_latency_throughput.csv");
  if (!published) return published.error();

  RunBatch batch(context);
  std::vector<OfferedPoint> points;
  for (std::size_t s = 0; s < kStacks.size(); ++s) {
    for (const ReferenceValue& value : published->series(std::string(kStacks[s].artifact) + " oprate_Mops")) {
      const auto offered = published->number_at_x(value);
      if (!offered) return offered.error();
      points.push_back({s, value.x, *offered,
                        batch.add(open_loop(later_accounting(kStacks[s].key), kStacks[s].key, *offered, 1,
                                            kPublishedOperations))});
    }
  }
  std::vector<std::size_t> closed;
  for (const StackName& stack : kStacks) closed.push_back(batch.add(deep(stack.key, kDeep)));
  for (const OfferedPoint& point : points) batch.compare(point.run, closed[point.stack]);
  WHARF_TRY(batch.run());
  std::vector<std::size_t> open;
  for (std::size_t s = 0; s < kStacks.size(); ++s) {
    const double capacity = rate_mops(batch[closed[s]]);
    for (const int share : kShares) {
      open.push_back(
          batch.add(open_loop(kMechanism, kStacks[s].key, capacity * share / 100, 256, kDeepOperations)));
    }
  }
  WHARF_TRY(batch.run());

  StudyResult result;
  result.columns = {{"stack", "stack", 0},
                    {"model", "model", 0},
                    {"offered_mops", "offered Mops", 2},
                    {"paper_mops", "paper Mops", 3},
                    {"carried_mops", "carried Mops", 3},
                    {"paper_p50_ns", "paper p50", 0},
                    {"p50_ns", "p50 ns", 0},
                    {"paper_p99_ns", "paper p99", 0},
                    {"p99_ns", "p99 ns", 0},
                    {"p999_ns", "p99.9 ns", 0}};
  Plot plot{"envelope",
            "p99 latency against load carried",
            "carried, million per second",
            "p99 latency, ns",
            PlotKind::kLines,
            true,
            true,
            {}};
  for (std::size_t s = 0; s < kStacks.size(); ++s) {
    const std::string name(kStacks[s].key);
    const std::string artifact(kStacks[s].artifact);
    Series paper{"published " + name, {}};
    for (const OfferedPoint& point : points) {
      if (point.stack != s) continue;
      const sim::RunReport& report = batch[point.run];
      const auto rate = published->at(artifact + " oprate_Mops", point.x);
      const auto p50 = published->at(artifact + " p50_ns", point.x);
      const auto p99 = published->at(artifact + " p99_ns", point.x);
      if (!rate) return rate.error();
      if (!p50) return p50.error();
      if (!p99) return p99.error();
      result.rows.push_back({{"stack", name},
                             {"model", "accounting"},
                             {"offered_mops", point.offered},
                             {"paper_mops", *rate},
                             {"carried_mops", rate_mops(report)},
                             {"paper_p50_ns", *p50},
                             {"p50_ns", report.program_latency.p50_ns},
                             {"paper_p99_ns", *p99},
                             {"p99_ns", report.program_latency.p99_ns},
                             {"p999_ns", report.program_latency.p999_ns}});
      const std::string what = fmt::format("{} at {} Mops", name, point.x);
      result.checks.push_back(within(what + ": rate", rate_mops(report), *rate, kRateTolerance));
      // Up to half of the capacity the median of an M/D/1 queue is settled within 3000 arrivals.
      if (point.offered < 0.5e3 / mean_ns(batch[closed[s]]) && *p50 < 1e3 * 0.9 / *rate) {
        result.checks.push_back(
            within(what + ": median", report.program_latency.p50_ns, *p50, kMedianTolerance));
      }
      paper.points.push_back({*rate, *p99, ""});
    }
    Series real{"mechanism " + name, {}};
    double idle_p50 = 0;
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      const double offered = rate_mops(batch[closed[s]]) * kShares[i] / 100;
      const sim::RunReport& report = batch[open[s * kShares.size() + i]];
      const sim::LatencySummary& latency = report.program_latency;
      if (i == 0) idle_p50 = latency.p50_ns;
      result.rows.push_back({{"stack", name},
                             {"model", "mechanism"},
                             {"offered_mops", offered},
                             {"paper_mops", nullptr},
                             {"carried_mops", rate_mops(report)},
                             {"paper_p50_ns", nullptr},
                             {"p50_ns", latency.p50_ns},
                             {"paper_p99_ns", nullptr},
                             {"p99_ns", latency.p99_ns},
                             {"p999_ns", latency.p999_ns}});
      real.points.push_back({rate_mops(report), latency.p99_ns, ""});
      if (kShares[i] == 95) {
        result.checks.push_back(between(name + " carries 95 % of its closed-loop rate",
                                        rate_mops(report) / offered, 1 - kRateTolerance, 1 + kRateTolerance));
      }
      if (kShares[i] == 50) {
        result.checks.push_back(between(name + " median at half load over that of an idle host",
                                        latency.p50_ns / idle_p50, 0.9, 3));
      }
    }
    plot.series.push_back(paper);
    plot.series.push_back(real);
  }
  result.plots = {plot};
  result.rules = {kOneAtATime};
  const auto load_knee = published->at("UB LD/ST knee", "");
  const auto dma_knee = published->at("RoCE DMA knee", "");
  const auto dma_file = published->at("roce_dma oprate_Mops", "1.5");
  if (!dma_file) return dma_file.error();
  if (!load_knee) return load_knee.error();
  if (!dma_knee) return dma_knee.error();
  result.sentences = {fmt::format(
      "The published envelope is that of a serial server: it saturates at one over the latency. The text "
      "puts the knees at "
      "{:.2f} Mops (loads) and {:.2f} (RoCE DMA; its result files have {:.3f}). With requests in flight side "
      "by side the "
      "same costs carry {:.1f} Mops of loads and {:.1f} Mops of RoCE DMA READs from one core.",
      *load_knee, *dma_knee, *dma_file, rate_mops(batch[closed[0]]), rate_mops(batch[closed[3]]))};
  WHARF_TRY(conclude(batch, result));
  return result;
}

}  // namespace wharf::study::openurma
