// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace wharf::sim {
namespace {

/// `has_finals`: some order of steps came to an end.
void judge(LitmusRow& row, bool is_complete, bool has_finals) {
  if (!row.is_seen && !has_finals) {
    row.verdict = "not judged";
    return;
  }
  const std::string_view bound = is_complete ? "" : " within the bound";
  const LitmusClass what = row.what.value_or(LitmusClass::kAllowed);
  if (row.is_seen) {
    row.fails = what == LitmusClass::kForbidden;
    row.verdict = row.fails ? "FAILS: forbidden, but seen" : "ok: seen";
  } else {
    row.fails = what == LitmusClass::kRequired;
    row.verdict = fmt::format("{}not seen{}", row.fails ? "FAILS: required, but " : "ok: ", bound);
  }
}

}  // namespace

bool LitmusDesignReport::fails() const {
  return !failures.empty() ||
         std::any_of(rows.begin(), rows.end(), [](const LitmusRow& row) { return row.fails; });
}

LitmusDesignReport judge_litmus(const LitmusProgram& program, LitmusDesign design,
                                const LitmusOptions& options, const LitmusProgress& progress) {
  LitmusDesignReport report;
  report.design = design;
  report.found = explore(program, design, options.steps, options.limits, progress);
  const auto trace = [&](LitmusTarget target) {
    return shortest_trace(program, design, options.steps, target, options.limits, progress);
  };
  for (std::size_t outcome = 0; outcome < program.outcomes.size(); ++outcome) {
    LitmusRow row;
    row.outcome = outcome;
    row.is_seen = report.found.seen[outcome];
    if (const LitmusJudgement* said = program.outcomes[outcome].judgement(design)) row.what = said->what;
    judge(row, report.found.is_complete, !report.found.finals.empty());
    if (row.is_seen && (row.fails || options.wants_witness))
      row.witness = trace({LitmusTarget::Kind::kOutcome, outcome});
    report.rows.push_back(std::move(row));
  }
  const bool has_failed = !report.found.violation.empty() || !report.found.deadlock.empty();
  if (report.found.finals.empty() && !has_failed && !report.found.is_too_large) {
    report.failures.push_back(
        report.found.is_complete
            ? std::string("no order of steps came to an end")
            : fmt::format(
                  "no order of steps came to an end within the bound of {} states; nothing was judged",
                  options.limits.states));
  }
  if (report.found.is_too_large) {
    report.failures.push_back(
        fmt::format("the question is too large: after {} states the worlds still to be followed take {} GiB, "
                    "expected fewer lines, agents or instructions, or --states below that",
                    report.found.states, options.limits.bytes >> 30U));
  }
  if (!report.found.violation.empty()) {
    report.failures.push_back("the observer of coherence: " + report.found.violation);
    report.failure_trace = trace({LitmusTarget::Kind::kViolation, 0});
  }
  if (!report.found.deadlock.empty()) {
    report.failures.push_back(fmt::format("deadlock: {}", fmt::join(report.found.deadlock, "; ")));
    if (report.failure_trace.empty()) report.failure_trace = trace({LitmusTarget::Kind::kDeadlock, 0});
  }
  return report;
}

}  // namespace wharf::sim
