// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/link_faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace wharf::sim {
namespace {

Result<void> require_probability(const char* key, double found) {
  if (found >= 0.0 && found <= 1.0) return {};
  return input_error(fmt::format("{} is {}, expected 0 to 1", key, found));
}

}  // namespace

Result<void> validate(const LinkFaults& faults) {
  WHARF_TRY(require_probability("faults.loss", faults.loss));
  WHARF_TRY(require_probability("faults.corruption", faults.damage));
  WHARF_TRY(require_probability("faults.duplication", faults.duplication));
  WHARF_TRY(require_probability("faults.reordering", faults.reordering));
  WHARF_TRY(require_probability("faults.corruption_past_check", faults.damage_past_check));
  if (faults.reordering > 0 && (faults.reorder_delay < picoseconds(1) || faults.reorder_delay > seconds(1)))
    return input_error(
        fmt::format("faults.reorder_delay is {}, expected 1ps to 1s", format_time(faults.reorder_delay)));
  // A link that retries keeps frames in order; a second copy would be dropped by its number.
  if (faults.retry && (faults.reordering > 0 || faults.duplication > 0))
    return input_error(fmt::format(
        "{} is {}, expected 0 with link-level retry, which keeps frames in order and drops copies",
        faults.reordering > 0 ? "faults.reordering" : "faults.duplication",
        faults.reordering > 0 ? faults.reordering : faults.duplication));
  const LinkRetryConfig& rules = faults.retry_rules;
  constexpr double kMostLoss = 0.999;
  const bool for_ever =
      faults.retry_limit == 0 || (rules.re_init_on_flush && rules.flush_frame_action == FrameAction::kBlock);
  if (faults.retry && for_ever && std::max(faults.loss, faults.damage) > kMostLoss)
    return input_error(fmt::format("{} is {}, expected at most {} with link-level retry that never gives up",
                                   faults.loss > kMostLoss ? "faults.loss" : "faults.corruption",
                                   std::max(faults.loss, faults.damage), kMostLoss));
  if (rules.outstanding_frames_max == 0 || rules.outstanding_frames_max > kMostOutstandingFrames)
    return input_error(fmt::format("llr_outstanding_frames_max is {}, expected 1 to {}",
                                   rules.outstanding_frames_max, kMostOutstandingFrames));
  if (rules.replay_timer_max < kTimeZero || rules.replay_timer_max > seconds(1))
    return input_error(
        fmt::format("llr_replay_timer_max is {}, expected 0 to 1s", format_time(rules.replay_timer_max)));
  if (faults.jitter < kTimeZero || faults.jitter > seconds(1))
    return input_error(fmt::format("faults.jitter is {}, expected 0 to 1s", format_time(faults.jitter)));
  return {};
}

}  // namespace wharf::sim
