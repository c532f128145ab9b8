// SPDX-License-Identifier: Apache-2.0
// How the duration of one stage becomes time: the one place where a profile may round. Mechanisms never
// round; the accounting of OpenURMA 5.2 adds whole nanoseconds.
#pragma once

#include "base/time.h"

namespace wharf::sim {

/// Key time.rounding: "none" or "whole_nanoseconds".
enum class StageRounding : unsigned char {
  kNone,
  kWholeNanoseconds,  ///< The duration of every stage is floored to whole nanoseconds.
};

/// The duration that a stage takes under `rounding`.
constexpr TimePs stage_time(TimePs exact, StageRounding rounding) {
  if (rounding == StageRounding::kNone) return exact;
  constexpr std::int64_t kPicosecondsPerNanosecond = 1'000;
  return picoseconds(exact.ps - exact.ps % kPicosecondsPerNanosecond);
}

}  // namespace wharf::sim
