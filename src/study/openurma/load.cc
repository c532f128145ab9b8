// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figures 20 and 30: how much a host can fetch. The paper's model waits out each round trip before
// it looks at the next request, so its rates are one over the latency at every depth; here requests overlap.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "study/frame/three_steps.h"
#include "study/openurma/openurma.h"

namespace wharf::study::openurma {
namespace {

/// Operations in flight at which a stack is taken to be saturated.
constexpr std::uint32_t kDeep = 64;
constexpr std::uint64_t kDeepOperations = 6000;

const AccountingRule kOneAtATime{
    "run.concurrency", "1", "as the axis says",
    "the published model waits for an operation to end before it takes the next one"};

/// How much of its time a part of the machine was in use, as a run shows it.
struct Use {
  std::string_view part;
  double share = 0;
};

/// Nanoseconds per operation that `stages` took, on the critical path and beside it.
double stage_ns(const sim::VerbReport& verb, std::initializer_list<trace::Stage> stages) {
  TimePs sum;
  for (const trace::Stage stage : stages) {
    const auto at = static_cast<std::size_t>(stage);
    sum += verb.path.critical[at] + verb.path.overlapped[at];
  }
  return as_nanoseconds(sum) / static_cast<double>(verb.count);
}

/// What packets that left `host` took of a pipeline and of the link, in nanoseconds.
struct PacketTime {
  double pipeline = 0;
  double link = 0;
};
PacketTime packet_time(const sim::RunReport& report, const sim::ScenarioConfig& machine, const char* host) {
  const Json& out = report.counters.at(host).at("link_out");
  const double packets = out.at("packets").get<double>();
  const double bytes = out.at("charged_bytes").get<double>();
  const sim::NicConfig& nic = machine.host.nic;
  return {packets * std::ceil(bytes / packets / nic.bytes_per_cycle) * as_nanoseconds(nic.cycle),
          bytes * 8e9 / static_cast<double>(machine.link.rate.value)};
}

/// Of every part that can be full: the core with its software, what may be outstanding, pipelines and links.
std::vector<Use> uses_of(const sim::RunReport& report, const sim::ScenarioConfig& machine,
                         std::string_view stack) {
  using trace::Stage;
  const sim::VerbReport& verb = report.verbs.front();
  const auto count = static_cast<double>(report.program_operations);
  const double per_operation_ns = 1e9 / report.operations_per_second;
  std::vector<Use> uses;
  if (stack == kUbLoadStore) {
    const double slot = verb.latency.mean_ns - stage_ns(verb, {Stage::kCacheLookup, Stage::kMissSlotWait,
                                                               Stage::kCoreWait, Stage::kMergedMiss});
    uses.push_back({"outstanding misses", slot / machine.host.core.outstanding_misses / per_operation_ns});
  } else {
    uses.push_back({"the core's software", stage_ns(verb, {Stage::kLibraryPost, Stage::kWorkRequestBuild,
                                                           Stage::kCompletionPoll, Stage::kLibraryPoll}) /
                                               per_operation_ns});
  }
  if (is_roce(stack)) {
    const double slot =
        stage_ns(verb, {Stage::kNicTransmit, Stage::kLinkQueue, Stage::kWireForward, Stage::kNicReceive,
                        Stage::kTargetPcieRead, Stage::kTargetMemory, Stage::kNicTransmitResponse,
                        Stage::kWireBack, Stage::kNicReceiveResponse});
    uses.push_back({"READs that a queue pair may have outstanding",
                    slot / std::get<roce::RoceConfig>(machine.protocols).max_read_atomic / per_operation_ns});
  }
  for (const char* host : {"host0", "host1"}) {
    const PacketTime time = packet_time(report, machine, host);
    uses.push_back({"a NIC pipeline", time.pipeline / count / per_operation_ns});
    uses.push_back({"the link", time.link / count / per_operation_ns});
  }
  return uses;
}

Use most_used(const std::vector<Use>& uses) {
  return *std::max_element(uses.begin(), uses.end(),
                           [](const Use& a, const Use& b) { return a.share < b.share; });
}

RunRequest deep(std::string_view stack, std::uint32_t concurrency) {
  VerbRun run{kMechanism, stack, fetch_verb(stack)};
  run.concurrency = concurrency;
  run.operations = concurrency == 1 ? 500 : kDeepOperations;
  return request(run);
}

// Declared: at depth 64 some part of the machine is in use nearly all the time, and none for more than all of
// it (but for the ends of the run). Loads: 10 to 16 misses outstanding over the latencies of Table 6 make 18
// to 42 Mops.
constexpr std::array<std::uint32_t, 4> kDepths{1, 4, 16, kDeep};
constexpr double kUsedLeast = 0.9;
constexpr double kUsedMost = 1.01;
constexpr double kLoadLeast = 10.0 / 540 * 1e3;
constexpr double kLoadMost = 16.0 / 380 * 1e3;

class Figure20 {
 public:
  explicit Figure20(const StudyContext& context) : context_(context), batch_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  Result<void> judge_stack(std::size_t stack);
  const sim::RunReport& mechanism(std::size_t stack, std::size_t depth) const {
    return batch_[mechanism_[stack * kDepths.size() + depth]];
  }

  const StudyContext& context_;
  ReferenceTable published_;
  sim::ScenarioConfig machine_;
  RunBatch batch_;
  std::vector<std::size_t> accounting_;  ///< By stack.
  std::vector<std::size_t> mechanism_;   ///< By stack and depth.
  std::vector<double> saturated_;        ///< Rates of the stacks at kDeep.
  std::vector<Use> limits_;              ///< What is in use most at kDeep.
  double alone_rate_ = 0;                ///< Of loads, one at a time.
  Plot plot_{"rate",
             "64 B fetches per second, link 100 ns",
             "operations in flight",
             "million per second",
             PlotKind::kLines,
             AxisScale::kLogarithmic,
             AxisScale::kFitting,
             {}};
};

Result<void> Figure20::run() {
  auto published = reference(context_, "F20_oprate_vs_concurrency.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  auto machine = load_request(context_, {std::string(kMechanism), "", {}});
  if (!machine) return machine.error();
  machine_ = std::move(machine->config);
  for (const StackName& stack : kStacks) {
    accounting_.push_back(
        batch_.add(request({later_accounting(stack.key), stack.key, fetch_verb(stack.key)})));
    for (const std::uint32_t depth : kDepths) mechanism_.push_back(batch_.add(deep(stack.key, depth)));
    batch_.compare(accounting_.back(), mechanism_.back());
  }
  return batch_.run();
}

Result<void> Figure20::judge() {
  result.columns = {{"stack", "stack", 0},
                    {"concurrency", "in flight", 0},
                    {"paper_mops", "published Mops", 3},
                    {"accounting_mops", "accounting Mops", 3},
                    {"mechanism_mops", "mechanism Mops", 2},
                    {"mechanism_mean_ns", "mean ns", 0},
                    {"used_most", "in use most", 0},
                    {"used_percent", "of the time, %", 0}};
  for (std::size_t stack = 0; stack < kStacks.size(); ++stack) WHARF_TRY(judge_stack(stack));
  result.checks.push_back(between("ub_ldst at depth 64, Mops", saturated_[0], kLoadLeast, kLoadMost));
  alone_rate_ = rate_mops(mechanism(0, 0));
  result.checks.push_back(
      between("ub_ldst: depth 4 over depth 1", rate_mops(mechanism(0, 1)) / alone_rate_, 3.5, 4.1));
  result.plots = {plot_};
  result.rules = {kOneAtATime};
  return {};
}

Result<void> Figure20::judge_stack(std::size_t s) {
  const std::string name(kStacks[s].key);
  const double serial = rate_mops(batch_[accounting_[s]]);
  Series paper = published_series(name);
  Series real = mechanism_series(name);
  for (std::size_t d = 0; d < kDepths.size(); ++d) {
    const std::string x = fmt::format("{}", kDepths[d]);
    const auto value = published_.at(kStacks[s].artifact, x);
    if (!value) return value.error();
    const double rate = rate_mops(mechanism(s, d));
    const Use used = most_used(uses_of(mechanism(s, d), machine_, name));
    result.rows.push_back({{"stack", name},
                           {"concurrency", kDepths[d]},
                           {"paper_mops", *value},
                           {"accounting_mops", serial},
                           {"mechanism_mops", rate},
                           {"mechanism_mean_ns", mean_ns(mechanism(s, d))},
                           {"used_most", used.part},
                           {"used_percent", 100 * used.share}});
    if (kDepths[d] == kDeep)
      result.checks.push_back(between(fmt::format("{} at depth 64, use of {}", name, used.part), used.share,
                                      kUsedLeast, kUsedMost));
    result.checks.push_back(within(name + " at depth " + x + " within 1 %", serial, *value, 0.01));
    paper.points.push_back({static_cast<double>(kDepths[d]), *value, ""});
    real.points.push_back({static_cast<double>(kDepths[d]), rate, ""});
  }
  plot_.series.push_back(paper);
  plot_.series.push_back(real);
  saturated_.push_back(real.points.back().y);
  limits_.push_back(most_used(uses_of(mechanism(s, kDepths.size() - 1), machine_, name)));
  return {};
}

Result<void> Figure20::tell() {
  const auto text_rate = published_.at("UB LD/ST", "1");
  const auto text_floor = published_.at("RoCE DMA", "floor");
  if (!text_rate) return text_rate.error();
  if (!text_floor) return text_floor.error();
  result.sentences = {
      fmt::format("The published curves are flat: one submitter waits out every round trip, so the rate is "
                  "one over the "
                  "latency at every depth ({:.2f} Mops for loads, {:.3f} for RoCE DMA; the text has {:.1f} "
                  "and {:.2f} and calls "
                  "the former linear to 16).",
                  rate_mops(batch_[accounting_[0]]), rate_mops(batch_[accounting_[3]]), *text_rate,
                  *text_floor),
      fmt::format("By mechanism loads rise from {:.2f} Mops to {:.1f}, URMA reads to {:.1f} and RoCE DMA "
                  "READs to {:.1f}. "
                  "What is full then, by the time that the runs had it in use: {} ({:.0f} %); {} ({:.0f} %); "
                  "{} ({:.0f} %).",
                  alone_rate_, saturated_[0], saturated_[1], saturated_[3], limits_[0].part,
                  100 * limits_[0].share, limits_[1].part, 100 * limits_[1].share, limits_[3].part,
                  100 * limits_[3].share)};
  return conclude(batch_, result);
}

}  // namespace

Result<StudyResult> figure20(const StudyContext& context) { return in_three_steps<Figure20>(context); }

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

// Declared: three standard deviations of 3000 Poisson arrivals, below the published server's capacity; at
// twice the capacity and beyond only its rate is compared, since the published run bounds its queue. The
// mechanism must carry 95 % of its closed-loop rate with a median below three times that of an idle host.
constexpr double kRateTolerance = 0.06;
constexpr double kMedianTolerance = 0.15;

class Figure30 {
 public:
  explicit Figure30(const StudyContext& context) : context_(context), batch_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  Result<void> add_published_points();
  Result<void> judge_accounting(std::size_t stack);
  Result<void> judge_point(const OfferedPoint& point, Series& paper);
  void judge_mechanism(std::size_t stack);
  /// Of a stack's closed loop, in Mops.
  double capacity(std::size_t stack) const { return rate_mops(batch_[closed_[stack]]); }

  const StudyContext& context_;
  ReferenceTable published_;
  RunBatch batch_;
  std::vector<OfferedPoint> points_;
  std::vector<std::size_t> closed_;  ///< By stack.
  std::vector<std::size_t> open_;    ///< By stack and share.
  Plot plot_{"envelope",
             "p99 latency against load carried",
             "carried, million per second",
             "p99 latency, ns",
             PlotKind::kLines,
             AxisScale::kLogarithmic,
             AxisScale::kLogarithmic,
             {}};
};

Result<void> Figure30::add_published_points() {
  for (std::size_t s = 0; s < kStacks.size(); ++s) {
    for (const ReferenceValue& value : published_.series(std::string(kStacks[s].artifact) + " oprate_Mops")) {
      const auto offered = published_.number_at_x(value);
      if (!offered) return offered.error();
      points_.push_back({s, value.x, *offered,
                         batch_.add(open_loop(later_accounting(kStacks[s].key), kStacks[s].key, *offered, 1,
                                              kPublishedOperations))});
    }
  }
  return {};
}

Result<void> Figure30::run() {
  auto published = reference(context_, "F30_latency_throughput.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  WHARF_TRY(add_published_points());
  for (const StackName& stack : kStacks) closed_.push_back(batch_.add(deep(stack.key, kDeep)));
  for (const OfferedPoint& point : points_) batch_.compare(point.run, closed_[point.stack]);
  WHARF_TRY(batch_.run());
  for (std::size_t s = 0; s < kStacks.size(); ++s) {
    for (const int share : kShares) {
      open_.push_back(
          batch_.add(open_loop(kMechanism, kStacks[s].key, capacity(s) * share / 100, 256, kDeepOperations)));
    }
  }
  return batch_.run();
}

Result<void> Figure30::judge() {
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
  for (std::size_t stack = 0; stack < kStacks.size(); ++stack) {
    WHARF_TRY(judge_accounting(stack));
    judge_mechanism(stack);
  }
  result.plots = {plot_};
  result.rules = {kOneAtATime};
  return {};
}

Result<void> Figure30::judge_accounting(std::size_t stack) {
  Series paper = published_series(kStacks[stack].key);
  for (const OfferedPoint& point : points_) {
    if (point.stack == stack) WHARF_TRY(judge_point(point, paper));
  }
  plot_.series.push_back(paper);
  return {};
}

Result<void> Figure30::judge_point(const OfferedPoint& point, Series& paper) {
  const StackName& stack = kStacks[point.stack];
  const sim::RunReport& report = batch_[point.run];
  const std::string artifact(stack.artifact);
  const auto rate = published_.at(artifact + " oprate_Mops", point.x);
  const auto p50 = published_.at(artifact + " p50_ns", point.x);
  const auto p99 = published_.at(artifact + " p99_ns", point.x);
  if (!rate) return rate.error();
  if (!p50) return p50.error();
  if (!p99) return p99.error();
  result.rows.push_back({{"stack", stack.key},
                         {"model", "accounting"},
                         {"offered_mops", point.offered},
                         {"paper_mops", *rate},
                         {"carried_mops", rate_mops(report)},
                         {"paper_p50_ns", *p50},
                         {"p50_ns", report.program_latency.p50_ns},
                         {"paper_p99_ns", *p99},
                         {"p99_ns", report.program_latency.p99_ns},
                         {"p999_ns", report.program_latency.p999_ns}});
  const std::string what = fmt::format("{} at {} Mops", stack.key, point.x);
  result.checks.push_back(within(what + ": rate", rate_mops(report), *rate, kRateTolerance));
  // Up to half of the capacity the median of an M/D/1 queue is settled within 3000 arrivals.
  if (point.offered < 0.5e3 / mean_ns(batch_[closed_[point.stack]]) && *p50 < 1e3 * 0.9 / *rate) {
    result.checks.push_back(within(what + ": median", report.program_latency.p50_ns, *p50, kMedianTolerance));
  }
  paper.points.push_back({*rate, *p99, ""});
  return {};
}

void Figure30::judge_mechanism(std::size_t s) {
  const std::string name(kStacks[s].key);
  Series real = mechanism_series(name);
  double idle_p50 = 0;
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    const double offered = capacity(s) * kShares[i] / 100;
    const sim::RunReport& report = batch_[open_[s * kShares.size() + i]];
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
  plot_.series.push_back(real);
}

Result<void> Figure30::tell() {
  const auto load_knee = published_.at("UB LD/ST knee", "");
  const auto dma_knee = published_.at("RoCE DMA knee", "");
  const auto dma_file = published_.at("roce_dma oprate_Mops", "1.5");
  if (!dma_file) return dma_file.error();
  if (!load_knee) return load_knee.error();
  if (!dma_knee) return dma_knee.error();
  result.sentences = {fmt::format(
      "The published envelope is that of a serial server: it saturates at one over the latency. The text "
      "puts the knees at "
      "{:.2f} Mops (loads) and {:.2f} (RoCE DMA; its result files have {:.3f}). With requests in flight side "
      "by side the "
      "same costs carry {:.1f} Mops of loads and {:.1f} Mops of RoCE DMA READs from one core.",
      *load_knee, *dma_knee, *dma_file, rate_mops(batch_[closed_[0]]), rate_mops(batch_[closed_[3]]))};
  return conclude(batch_, result);
}

}  // namespace

Result<StudyResult> figure30(const StudyContext& context) { return in_three_steps<Figure30>(context); }

}  // namespace wharf::study::openurma
