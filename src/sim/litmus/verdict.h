// SPDX-License-Identifier: Apache-2.0
// A litmus program judged: what was explored against what its file says. Apart from the search, which knows
// no right or wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/litmus/explorer.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

struct LitmusOptions {
  LitmusSteps steps = LitmusSteps::kReduced;
  LitmusLimits limits;
  /// A shortest trace of each outcome that was seen, not only of those that fail.
  bool wants_witness = false;
};

/// One outcome under one design.
struct LitmusRow {
  std::size_t outcome = 0;
  std::optional<LitmusClass> what;  ///< What the file says; nothing if it says nothing of this design.
  bool is_seen = false;
  bool fails = false;
  std::string verdict;               ///< "as stated", "forbidden, but seen", ...
  std::vector<std::string> witness;  ///< Steps to it, or empty.
};

/// One design.
struct LitmusDesignReport {
  LitmusDesign design = LitmusDesign::kBaseline;
  LitmusExploration found;
  std::vector<LitmusRow> rows;
  /// What went wrong beside outcomes: a violated observer, a deadlock; and how it came to it.
  std::vector<std::string> failures;
  std::vector<std::string> failure_trace;

  bool fails() const;
};

/// Explores `program` under `design`, to which it applies, and judges every outcome.
LitmusDesignReport judge_litmus(const LitmusProgram& program, LitmusDesign design,
                                const LitmusOptions& options, const LitmusProgress& progress = {});

}  // namespace wharf::sim
