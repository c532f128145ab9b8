// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figure 14: what happens when all-to-all traffic needs more connection contexts than a NIC holds.
// The paper adds a constant when the number of contexts exceeds the capacity, and counts the queue pairs of
// the whole cluster against each NIC. The accounting does the same; by mechanism a NIC has those of its own
// host, two hosts have that many connections, their NICs hold an LRU of context records, and accesses are
// cyclic, uniform or Zipf-distributed.
#include <fmt/format.h>

#include <algorithm>

#include "sim/stimulus/context_traffic.h"
#include "study/frame/parallel.h"
#include "study/frame/three_steps.h"
#include "study/openurma/openurma.h"

namespace wharf::study::openurma {
namespace {

constexpr std::array<std::uint32_t, 18> kNodes{1,  2,   4,   8,   16,   22,   23,   32,   48,
                                               64, 128, 256, 512, 1024, 1500, 2048, 3000, 4096};
/// Latencies of the patterns, in the order of AccessPattern.
using PerPattern = std::array<double, sim::kAccessPatternCount>;

/// The profiles whose NICs hold a limited number of contexts.
constexpr std::string_view kContextsMechanism = "openurma-contexts";
constexpr std::string_view contexts_accounting(std::string_view stack) {
  return is_roce(stack) ? "openurma-contexts-serial-later" : "openurma-contexts-serial";
}

/// How a stack's contexts are counted and cached.
struct ContextRules {
  std::string_view stack;
  bool cached;  ///< False: the path needs no connection context.
  /// Hosts for which the connections are built; for the others an LRU tells the miss rate. By the paper's
  /// count,
  std::array<std::uint32_t, 4> built_accounting;
  /// and by that of one NIC.
  std::array<std::uint32_t, 4> built;
  std::uint32_t capacity = 0;  ///< Records that the NIC holds; from the profiles.
};
constexpr std::array<ContextRules, 4> kStackRules{{
    {kUbLoadStore, false, {}, {}},
    {kUbUrma, true, {1, 64, 1024, 1024}, {1, 64, 2048, 3000}},
    {kRoceBlueFlame, true, {1, 22, 23, 32}, {1, 512, 1024, 1500}},
    {kRoceDma, true, {1, 22, 23, 32}, {1, 512, 1024, 1500}},
}};

/// Contexts that all-to-all traffic of `nodes` hosts with one endpoint each touches at one NIC, as the paper
/// counts: a queue pair per pair of endpoints; or a TP channel and a jetty per host, and a segment.
std::uint64_t published_contexts(std::string_view stack, std::uint64_t nodes) {
  return is_roce(stack) ? nodes * nodes : 2 * nodes + 1;
}
/// Those that one NIC really has: a queue pair per other host; or a TP channel per other host, its own jetty
/// and its own segment. One host alone talks to itself.
std::uint64_t own_contexts(std::string_view stack, std::uint64_t nodes) {
  const std::uint64_t others = std::max<std::uint64_t>(nodes - 1, 1);
  return is_roce(stack) ? others : others + 2;
}

/// One point: measured with real connections, or computed from an LRU's miss rate and measured refills.
struct Point {
  const ContextRules* rules;
  std::uint32_t nodes;
  std::uint64_t published_contexts;
  std::uint64_t contexts;
  bool built_accounting = false;
  bool built = false;
  double accounting_ns = 0;  ///< Of cyclic access, by the serial rules and the published count.
  PerPattern latency_ns{};
  PerPattern fetches{};

  bool fits() const { return contexts <= rules->capacity; }
  bool fits_as_published() const { return published_contexts <= rules->capacity; }
};

/// Profile and stack; no program runs.
RunRequest machine_of(const Point& point, bool accounting) {
  const std::string_view stack = point.rules->stack;
  return {std::string(accounting ? contexts_accounting(stack) : kContextsMechanism), std::string(stack), {}};
}

sim::ContextTraffic traffic_of(const Point& point, bool accounting, sim::AccessPattern pattern) {
  sim::ContextTraffic traffic;
  // Between two UB hosts there is one channel; the initiator's other contexts are jetties.
  const std::uint64_t others = is_roce(point.rules->stack) ? 0 : 1;
  const std::uint64_t contexts = accounting ? point.published_contexts : point.contexts;
  traffic.connections = static_cast<std::uint32_t>(contexts - others);
  traffic.pattern = pattern;
  traffic.segment_each = accounting;
  traffic.warm_up = std::uint64_t{3} * std::min<std::uint64_t>(contexts, 2 * point.rules->capacity);
  traffic.operations = 2000;
  return traffic;
}

/// Measures every point that can be built, by the accounting and by the mechanism; where all contexts fit,
/// one pattern stands for all.
Result<void> measure(const StudyContext& context, std::vector<Point>& points) {
  struct Piece {
    std::size_t point;
    bool accounting;
    sim::AccessPattern pattern;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].built_accounting) pieces.push_back({i, true, sim::AccessPattern::kCyclic});
    if (!points[i].built) continue;
    for (int p = 0; p < (points[i].fits() ? 1 : sim::kAccessPatternCount); ++p) {
      pieces.push_back({i, false, static_cast<sim::AccessPattern>(p)});
    }
  }
  std::vector<sim::ContextTrafficResult> results(pieces.size());
  WHARF_TRY(for_each_in_parallel(context, pieces.size(), [&](std::size_t i) -> Result<void> {
    const Point& point = points[pieces[i].point];
    const auto scenario = load_request(context, machine_of(point, pieces[i].accounting));
    if (!scenario) return scenario.error();
    auto result = sim::run_context_traffic(
        scenario->config, traffic_of(point, pieces[i].accounting, pieces[i].pattern), context.interrupt);
    if (!result) return result.error();
    results[i] = *result;
    return {};
  }));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Point& point = points[pieces[i].point];
    if (pieces[i].accounting) {
      point.accounting_ns = results[i].mean_ns;
      continue;
    }
    const auto p = static_cast<std::size_t>(pieces[i].pattern);
    point.latency_ns[p] = results[i].mean_ns;
    point.fetches[p] = results[i].fetches_per_operation;
    if (!point.fits()) continue;
    point.latency_ns.fill(results[i].mean_ns);
    point.fetches.fill(results[i].fetches_per_operation);
  }
  return {};
}

/// The first and the last point of a stack that is built.
struct Ends {
  const Point* base = nullptr;
  const Point* largest = nullptr;
};
Ends ends_of(const std::vector<Point>& points, const ContextRules& rules, bool Point::*built) {
  Ends ends;
  for (const Point& point : points) {
    if (point.rules != &rules || !(point.*built)) continue;
    if (ends.base == nullptr) ends.base = &point;
    ends.largest = &point;
  }
  return ends;
}

/// Where connections are not built: the miss rate of an LRU times what misses were measured to cost at the
/// largest point that was built. Cyclic access misses every time at both points.
void extrapolate(std::vector<Point>& points, const ContextRules& rules) {
  const Ends accounting = ends_of(points, rules, &Point::built_accounting);
  const Ends mechanism = ends_of(points, rules, &Point::built);
  if (accounting.base == nullptr || mechanism.base == nullptr) return;
  for (Point& point : points) {
    if (point.rules != &rules) continue;
    if (!point.built_accounting) {
      const double misses =
          sim::lru_miss_rate(sim::AccessPattern::kCyclic, point.published_contexts, rules.capacity);
      point.accounting_ns = accounting.base->accounting_ns +
                            misses * (accounting.largest->accounting_ns - accounting.base->accounting_ns);
    }
    for (std::size_t p = 0; !point.built && p < point.latency_ns.size(); ++p) {
      const double misses =
          sim::lru_miss_rate(static_cast<sim::AccessPattern>(p), point.contexts, rules.capacity);
      point.latency_ns[p] = mechanism.base->latency_ns[0] +
                            misses * (mechanism.largest->latency_ns[0] - mechanism.base->latency_ns[0]);
      point.fetches[p] = misses * mechanism.largest->fetches[0];
    }
  }
}

// Declared: cyclic access to more contexts than fit misses every time; an LRU of C of N contexts misses 1 -
// C/N of uniform accesses, so uniform access pays that share of the cyclic step (within 8 % of the step);
// Zipf pays less than uniform. The step itself is that of both ends on RoCE, 0.8 to 1.3 us, and 60 to 200
// ns on UB.
constexpr double kTolerance = 0.01;
constexpr double kShareMargin = 0.08;

/// Hosts at which RoCE falls off the published cliff; and above that of its own queue pairs.
constexpr std::uint32_t kPublishedCliff = 23;
constexpr std::uint32_t kAboveCliff = 1024;

/// What one stack's points are measured by.
struct Step {
  double base_ns = 0;
  double ns = 0;  ///< Of cyclic access at the largest number of contexts that was built.
};

class Figure14 {
 public:
  explicit Figure14(const StudyContext& context) : context_(context), batch_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  Result<void> read_capacities();
  Step step_of(const ContextRules& rules) const;
  Result<void> judge_stack(std::size_t stack);
  void judge_point(const Point& point, const Step& step, double published);
  void add_row(const Point& point, double published);

  const StudyContext& context_;
  ReferenceTable published_;
  std::array<ContextRules, kStackRules.size()> rules_ = kStackRules;
  RunBatch batch_;
  std::vector<Point> points_;
  Plot plot_{"cliff",
             "64 B fetch against hosts in all-to-all traffic",
             "hosts",
             "mean latency, ns",
             PlotKind::kLines,
             AxisScale::kLogarithmic,
             AxisScale::kFitting,
             {}};
  // For the sentences.
  PerPattern at_published_cliff_{};
  PerPattern above_cliff_{};
  double load_step_ = 0;
};

Result<void> Figure14::read_capacities() {
  const auto parameters = load_request(context_, {std::string(kContextsMechanism), "", {}});
  if (!parameters) return parameters.error();
  const auto& protocols = parameters->config.protocols;
  for (ContextRules& rules : rules_) {
    rules.capacity = is_roce(rules.stack) ? std::get<roce::RoceConfig>(protocols).queue_cache_entries
                                          : std::get<ub::UbConfig>(protocols).context_cache_entries;
  }
  return {};
}

Result<void> Figure14::run() {
  auto published = reference(context_, "F14_sram_spill.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  WHARF_TRY(read_capacities());
  // Loads, which carry no context; and every stack once more, so that the rules are those of what ran.
  for (const StackName& stack : kStacks) {
    batch_.compare(batch_.add(request({contexts_accounting(stack.key), stack.key, fetch_verb(stack.key)})),
                   batch_.add(request({kContextsMechanism, stack.key, fetch_verb(stack.key)})));
  }
  const std::size_t serial_load =
      batch_.add(request({contexts_accounting(kUbLoadStore), kUbLoadStore, "load"}));
  const std::size_t load = batch_.add(request({kContextsMechanism, kUbLoadStore, "load"}));
  WHARF_TRY(batch_.run());

  for (const ContextRules& rules : rules_) {
    for (const std::uint32_t nodes : kNodes) {
      Point point{&rules, nodes, published_contexts(rules.stack, nodes), own_contexts(rules.stack, nodes)};
      const auto lists = [nodes](const auto& built) {
        return std::find(built.begin(), built.end(), nodes) != built.end();
      };
      point.built_accounting = lists(rules.built_accounting);
      point.built = lists(rules.built);
      if (!rules.cached) {
        point.accounting_ns = mean_ns(batch_[serial_load]);
        point.latency_ns.fill(mean_ns(batch_[load]));
      }
      points_.push_back(point);
    }
  }
  WHARF_TRY(measure(context_, points_));
  for (const ContextRules& rules : rules_) extrapolate(points_, rules);
  return {};
}

Result<void> Figure14::judge() {
  result.columns = {{"stack", "stack", 0},
                    {"nodes", "nodes", 0},
                    {"published_contexts", "paper contexts", 0},
                    {"contexts", "of one NIC", 0},
                    {"paper_ns", "paper ns", 0},
                    {"accounting_ns", "accounting ns", 0},
                    {"mechanism_cyclic_ns", "cyclic ns", 0},
                    {"mechanism_uniform_ns", "uniform ns", 0},
                    {"mechanism_zipf_ns", "zipf ns", 0},
                    {"uniform_fetches", "fetches/op, uniform", 2},
                    {"accounting_is", "accounting is", 0},
                    {"mechanism_is", "mechanism is", 0}};
  for (std::size_t stack = 0; stack < kStacks.size(); ++stack) WHARF_TRY(judge_stack(stack));
  result.plots = {plot_};
  return {};
}

Step Figure14::step_of(const ContextRules& rules) const {
  Step step;
  for (const Point& point : points_) {
    if (point.rules != &rules || !point.built) continue;
    if (step.base_ns == 0) step.base_ns = point.latency_ns[0];
    step.ns = point.latency_ns[0] - step.base_ns;
  }
  return step;
}

Result<void> Figure14::judge_stack(std::size_t s) {
  const std::string name(kStacks[s].key);
  const ContextRules& rules = rules_[s];
  const Step step = step_of(rules);
  // Published is a cyclic access, and has its colour.
  std::array<Series, 4> lines{published_series(name), Series{"cyclic " + name, {}, name},
                              Series{"uniform " + name, {}}, Series{"zipf " + name, {}}};
  for (const Point& point : points_) {
    if (point.rules != &rules) continue;
    const auto value = published_.at(kStacks[s].artifact, fmt::format("{}", point.nodes));
    if (!value) return value.error();
    judge_point(point, step, *value);
    add_row(point, *value);
    const auto x = static_cast<double>(point.nodes);
    lines[0].points.push_back({x, *value, ""});
    for (std::size_t p = 0; p < 3; ++p) lines[p + 1].points.push_back({x, point.latency_ns[p], ""});
    for (std::size_t p = 0; p < 3 && name == kRoceDma; ++p) {
      if (point.nodes == kPublishedCliff) at_published_cliff_[p] = point.latency_ns[p] - step.base_ns;
      if (point.nodes == kAboveCliff) above_cliff_[p] = point.latency_ns[p] - step.base_ns;
    }
  }
  if (rules.cached) {
    result.checks.push_back(between(name + ": step of cyclic access", step.ns, is_roce(name) ? 800 : 60,
                                    is_roce(name) ? 1300 : 200));
  }
  if (name == kUbUrma || name == kRoceDma)
    plot_.series.insert(plot_.series.end(), lines.begin(), lines.end());
  return {};
}

/// No rule makes a load fetch a context, so nothing here can account for its published step.
bool is_accounted(const Point& point) { return point.rules->cached || point.fits_as_published(); }

void Figure14::judge_point(const Point& point, const Step& step, double published) {
  const std::string what = fmt::format("{} with {} nodes", point.rules->stack, point.nodes);
  if (is_accounted(point)) {
    result.checks.push_back(within(what, point.accounting_ns, published, kTolerance));
  } else {
    load_step_ = std::max(load_step_, published - point.accounting_ns);
  }
  if (!point.built || point.fits()) return;
  const double share = 1 - static_cast<double>(point.rules->capacity) / static_cast<double>(point.contexts);
  result.checks.push_back(between(what + ": uniform share of the step",
                                  (point.latency_ns[1] - step.base_ns) / step.ns, share - kShareMargin,
                                  share + kShareMargin));
  result.checks.push_back(between(what + ": zipf share of the step",
                                  (point.latency_ns[2] - step.base_ns) / step.ns, -kShareMargin,
                                  share + kShareMargin));
}

void Figure14::add_row(const Point& point, double published) {
  result.rows.push_back({{"stack", point.rules->stack},
                         {"nodes", point.nodes},
                         {"published_contexts", point.published_contexts},
                         {"contexts", point.contexts},
                         {"paper_ns", published},
                         {"accounting_ns", is_accounted(point) ? Json(point.accounting_ns) : Json(nullptr)},
                         {"mechanism_cyclic_ns", point.latency_ns[0]},
                         {"mechanism_uniform_ns", point.latency_ns[1]},
                         {"mechanism_zipf_ns", point.latency_ns[2]},
                         {"uniform_fetches", point.fetches[1]},
                         {"accounting_is", !is_accounted(point)                             ? ""
                                           : point.built_accounting || !point.rules->cached ? "a run"
                                                                                            : "a formula"},
                         {"mechanism_is", point.built || !point.rules->cached ? "a run" : "a formula"}});
}

Result<void> Figure14::tell() {
  const auto paper_step = published_.at("RoCE step", "N=23");
  if (!paper_step) return paper_step.error();
  std::uint64_t roce_capacity = 0;
  for (const ContextRules& rules : rules_) {
    if (is_roce(rules.stack)) roce_capacity = rules.capacity;
  }
  result.sentences = {
      fmt::format("The published cliff of {:.0f} ns at {} hosts is two refills added to every operation once "
                  "the queue pairs of "
                  "the whole cluster, hosts times hosts, are more than the places of one NIC. A NIC has "
                  "those of its own host: "
                  "with {} places it holds all of them up to {} hosts, and at {} hosts nothing is refilled "
                  "({:.0f} ns).",
                  *paper_step, kPublishedCliff, roce_capacity, roce_capacity + 1, kPublishedCliff,
                  at_published_cliff_[0]),
      fmt::format("Beyond, a real cache pays the whole step for one pattern only: with {} hosts cyclic "
                  "access pays {:.0f} ns, "
                  "uniform access {:.0f} ns, Zipf access {:.0f} ns.",
                  kAboveCliff, above_cliff_[0], above_cliff_[1], above_cliff_[2]),
      fmt::format(
          "UB loads and stores carry no transport context, so no rule accounts for their published step of "
          "{:.0f} ns. Rows whose connections are not built are a formula: the miss rate of an LRU and the "
          "cost of a "
          "miss as measured, by accounting and by mechanism, at the largest size that is.",
          load_step_)};
  result.rules = {
      {"roce.queue_cache", "nodes x nodes queue pairs share it", "a NIC holds the pairs of its own host",
       "the published count of queue pairs is that of the whole cluster, charged to each NIC"},
      {"segments", "one per connection", "one",
       "the published step refills a record at both ends, so the target has to need another one for "
       "every operation too"}};
  return conclude(batch_, result);
}

}  // namespace

Result<StudyResult> figure14(const StudyContext& context) { return in_three_steps<Figure14>(context); }

}  // namespace wharf::study::openurma
