// SPDX-License-Identifier: Apache-2.0
// The form of a study that is too long for one function: run, judge, tell.
#pragma once

#include <utility>

#include "base/result.h"
#include "study/frame/study.h"

namespace wharf::study {

/// Runs the study S, which is made from a context:
/// - `run()` reads what was published and makes the figures,
/// - `judge()` puts them beside each other: rows, plots, and the checks that were declared before,
/// - `tell()` says where they differ, and adds what every study ends with.
/// Each returns Result<void>; `result` is what the study found.
template <typename S>
Result<StudyResult> in_three_steps(const StudyContext& context) {
  S study(context);
  WHARF_TRY(study.run());
  WHARF_TRY(study.judge());
  WHARF_TRY(study.tell());
  return std::move(study.result);
}

}  // namespace wharf::study
