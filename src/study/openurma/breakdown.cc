// SPDX-License-Identifier: Apache-2.0
// OpenURMA Table 7 and Figure 22: one 64-byte fetch, cut into its costs. The accounting's parts come from the
// stages of its run and the parameters of its profile and sum to Table 6; beside them stand the stages of the
// mechanism.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "study/openurma/decomposition.h"
#include "study/openurma/openurma.h"
#include "verbs/verb.h"

namespace wharf::study::openurma {
namespace {

struct StackBreakdown {
  StackName stack;
  std::vector<Part> accounting;
  double accounting_total = 0;  ///< Measured latency, not a sum of parts.
  double rounding_max = 0;
  std::vector<Part> mechanism;
  std::vector<Part> overlapped;
  double mechanism_total = 0;
  double unattributed = 0;
  std::optional<double> paper_total;
};

struct Breakdown {
  std::vector<StackBreakdown> stacks;
  RunBatch batch;

  explicit Breakdown(const StudyContext& context) : batch(context) {}
};

/// Means per operation of one verb's stages.
StageTimes stage_means(const sim::VerbReport& verb, const std::array<TimePs, trace::kStageCount>& sums) {
  StageTimes means{};
  for (std::size_t i = 0; i < means.size(); ++i) {
    means[i] = as_nanoseconds(sums[i]) / static_cast<double>(verb.count);
  }
  return means;
}

PathCosts costs_of(const sim::ScenarioConfig& config, std::string_view stack) {
  const sim::NicConfig& nic = config.host.nic;
  PathCosts costs;
  costs.nic_cycle = nic.cycle;
  costs.nic_cycles = is_roce(stack)          ? nic.queue_cycles[wire::index_of(wire::Protocol::kRoce)]
                     : stack == kUbLoadStore ? nic.load_store_cycles
                                             : nic.queue_cycles[wire::index_of(wire::Protocol::kUb)];
  costs.bytes_per_cycle = nic.bytes_per_cycle;
  costs.link_delay = config.link.delay;
  costs.link_rate = config.link.rate;
  costs.request_bytes = nic.nominal_request_bytes;
  costs.response_bytes = 64;  // The line or block that is fetched.
  return costs;
}

Result<Breakdown> run_breakdown(const StudyContext& context) {
  const auto headline = reference(context, "T6_F19_F23_headline_latency.csv");
  if (!headline) return headline.error();
  Breakdown breakdown(context);
  RunBatch& batch = breakdown.batch;
  std::vector<std::size_t> accounting;
  std::vector<std::size_t> mechanism;
  std::vector<PathCosts> costs;
  for (const StackName& stack : kStacks) {
    VerbRun run{kAccounting, stack.key, fetch_verb(stack.key)};
    const auto scenario = load_request(context, request(run));
    if (!scenario) return scenario.error();
    costs.push_back(costs_of(scenario->config, stack.key));
    accounting.push_back(batch.add(request(run)));
    run.profile = kMechanism;
    mechanism.push_back(batch.add(request(run)));
    batch.compare(accounting.back(), mechanism.back());
  }
  WHARF_TRY(batch.run());
  for (std::size_t i = 0; i < kStacks.size(); ++i) {
    const auto verb = verbs::parse_verb(fetch_verb(kStacks[i].key));
    WHARF_CHECK(verb.has_value());
    const sim::VerbReport* serial = batch[accounting[i]].find(*verb);
    const sim::VerbReport* real = batch[mechanism[i]].find(*verb);
    WHARF_CHECK(serial != nullptr && real != nullptr);
    StackBreakdown each;
    each.stack = kStacks[i];
    const StageTimes stages = stage_means(*serial, serial->path.critical);
    each.accounting = decompose(stages, costs[i]);
    each.rounding_max = rounding_max_ns(stages, costs[i]);
    each.accounting_total = mean_ns(batch[accounting[i]]);
    each.mechanism = group_stages(stage_means(*real, real->path.critical));
    each.overlapped = group_stages(stage_means(*real, real->path.overlapped));
    each.mechanism_total = mean_ns(batch[mechanism[i]]);
    each.unattributed = as_nanoseconds(serial->path.unattributed + real->path.unattributed);
    const auto paper_total =
        headline->at(kStacks[i].artifact, kStacks[i].key == kUbLoadStore ? "LOAD" : "READ");
    if (!paper_total) return paper_total.error();
    each.paper_total = *paper_total;
    breakdown.stacks.push_back(std::move(each));
  }
  return breakdown;
}

std::optional<double> part_ns(const std::vector<Part>& parts, std::string_view name) {
  for (const Part& part : parts) {
    if (part.name == name) return part.ns;
  }
  return std::nullopt;
}

/// Names of all parts: those of the accounting in order, then what only the mechanism has.
std::vector<std::pair<std::string, PartOrigin>> part_names(const StackBreakdown& stack) {
  std::vector<std::pair<std::string, PartOrigin>> names;
  for (const std::vector<Part>* parts : {&stack.accounting, &stack.mechanism, &stack.overlapped}) {
    for (const Part& part : *parts) {
      const auto same = [&part](const auto& name) { return name.first == part.name; };
      if (std::none_of(names.begin(), names.end(), same)) names.emplace_back(part.name, part.origin);
    }
  }
  return names;
}

void judge(const StackBreakdown& stack, StudyResult& result) {
  const std::string name(stack.stack.key);
  result.checks.push_back(equal(name + ": parts of the accounting sum to its latency", sum(stack.accounting),
                                stack.accounting_total));
  result.checks.push_back(equal(name + ": parts of the mechanism sum to its latency", sum(stack.mechanism),
                                stack.mechanism_total));
  result.checks.push_back(equal(name + ": time that no stage claims", stack.unattributed, 0));
  if (stack.paper_total) {
    result.checks.push_back(
        equal(name + ": parts sum to the published total", sum(stack.accounting), *stack.paper_total));
  }
  Check rounding{CheckKind::kIdentity, name + ": rounding of one visit is below 1 ns", stack.rounding_max, 0,
                 1};
  result.checks.push_back(rounding);
}

/// Adds `ns` to the bar `label` of a series.
void add_to(Series& series, const std::string& label, double ns) {
  for (Series::Point& point : series.points) {
    if (point.label == label) {
      point.y += ns;
      return;
    }
  }
  series.points.push_back({0, ns, label});
}

/// Which of a few colours a part has in the stacked plot.
std::string_view group_of(std::string_view part) {
  if (part.starts_with("Verb library") || part == "WQE construct" || part == "CQE poll") return "software";
  if (part == "Doorbell MMIO" || part == "DMA WQE fetch" || part == "Submit (membus)") return "submission";
  if (part.starts_with("NIC") || part == "extra flits") return "NIC pipelines";
  if (part.starts_with("Wire") || part == "serialisation") return "wire";
  if (part.starts_with("Target")) return "target memory";
  if (part == "Initiator resp DMA" || part == "DMA CQE write" || part == "Complete (membus)")
    return "response and completion";
  if (part == "rounding") return "NIC pipelines";  // Negative: it takes away from the visits that it rounds.
  if (part == trace::name(trace::Stage::kMissDetection) || part == trace::name(trace::Stage::kCacheLookup))
    return "finding the miss";
  return part;  // A stage that the published table has no place for stands for itself.
}

/// The published table's own modeled total: its rows without what it leaves out.
double published_rows_ns(const StackBreakdown& stack) {
  double total = 0;
  for (const Part& part : stack.accounting) total += part.origin == PartOrigin::kPublishedRow ? part.ns : 0;
  return total;
}

std::string sentence(const StackBreakdown& stack) {
  std::string left_out;
  for (const Part& part : stack.accounting) {
    if (part.origin == PartOrigin::kPublishedRow) continue;
    left_out += fmt::format("{}{} {:.2f}", left_out.empty() ? "" : ", ", part.name, part.ns);
  }
  return fmt::format(
      "{}: the published rows come to {:.1f} of {:.0f} ns; the rest is named here (ns): {}. By mechanism "
      "{:.1f} ns lie on "
      "the critical path and {:.1f} ns beside it.",
      stack.stack.key, published_rows_ns(stack), stack.accounting_total, left_out, stack.mechanism_total,
      sum(stack.overlapped));
}

}  // namespace

Result<StudyResult> table7(const StudyContext& context) {
  const auto published = reference(context, "T7_F22_latency_decomposition.csv");
  if (!published) return published.error();
  auto breakdown = run_breakdown(context);
  if (!breakdown) return breakdown.error();
  StudyResult result;
  result.columns = {{"stack", "stack", 0},
                    {"component", "component", 0},
                    {"kind", "kind", 0},
                    {"paper_ns", "paper ns", 0},
                    {"accounting_ns", "accounting ns", 3},
                    {"mechanism_ns", "mechanism ns", 3},
                    {"mechanism_overlapped_ns", "overlap ns", 3}};
  for (const StackBreakdown& stack : breakdown->stacks) {
    for (const auto& [name, origin] : part_names(stack)) {
      const bool row = origin == PartOrigin::kPublishedRow;
      const auto paper = row ? published->find(stack.stack.artifact, name) : std::nullopt;
      const double accounting = part_ns(stack.accounting, name).value_or(0);
      result.rows.push_back({{"stack", stack.stack.key},
                             {"component", name},
                             {"kind", row ? "published row" : "left out"},
                             {"paper_ns", json_or_null(paper)},
                             {"accounting_ns", accounting},
                             {"mechanism_ns", part_ns(stack.mechanism, name).value_or(0)},
                             {"mechanism_overlapped_ns", part_ns(stack.overlapped, name).value_or(0)}});
      // The paper prints whole nanoseconds.
      if (paper) {
        const std::string what = fmt::format("{} {} within half a nanosecond", stack.stack.key, name);
        result.checks.push_back({CheckKind::kAccounting, what, accounting, *paper - 0.5, *paper + 0.5});
      }
    }
    result.rows.push_back({{"stack", stack.stack.key},
                           {"component", "total"},
                           {"kind", "total"},
                           {"paper_ns", json_or_null(stack.paper_total)},
                           {"accounting_ns", stack.accounting_total},
                           {"mechanism_ns", stack.mechanism_total},
                           {"mechanism_overlapped_ns", sum(stack.overlapped)}});
    judge(stack, result);
    result.sentences.push_back(sentence(stack));
  }
  WHARF_TRY(conclude(breakdown->batch, result));
  return result;
}

Result<StudyResult> figure22(const StudyContext& context) {
  auto breakdown = run_breakdown(context);
  if (!breakdown) return breakdown.error();
  StudyResult result;
  result.columns = {{"stack", "stack", 0},
                    {"component", "component", 0},
                    {"accounting_ns", "accounting ns", 1},
                    {"mechanism_ns", "mechanism ns", 1}};
  Plot plot;
  plot.name = "stack";
  plot.title = "One 64 B fetch, link 100 ns: left as accounted, right as it happens";
  plot.x_title = "stack";
  plot.y_title = "ns on the critical path";
  plot.kind = PlotKind::kStackedBars;
  for (const StackBreakdown& stack : breakdown->stacks) {
    for (const auto& [name, origin] : part_names(stack)) {
      const double accounting = part_ns(stack.accounting, name).value_or(0);
      const double mechanism = part_ns(stack.mechanism, name).value_or(0);
      if (accounting == 0 && mechanism == 0) continue;
      result.rows.push_back({{"stack", stack.stack.key},
                             {"component", name},
                             {"accounting_ns", accounting},
                             {"mechanism_ns", mechanism}});
      const std::string_view group = group_of(name);
      auto series = std::find_if(plot.series.begin(), plot.series.end(),
                                 [group](const Series& each) { return each.name == group; });
      if (series == plot.series.end())
        series = plot.series.insert(plot.series.end(), Series{std::string(group), {}});
      add_to(*series, fmt::format("{} accounting", stack.stack.key), accounting);
      add_to(*series, fmt::format("{} mechanism", stack.stack.key), mechanism);
    }
    judge(stack, result);
    result.sentences.push_back(sentence(stack));
  }
  result.plots = {plot};
  WHARF_TRY(conclude(breakdown->batch, result));
  return result;
}

}  // namespace wharf::study::openurma
