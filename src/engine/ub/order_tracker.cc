// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/order_tracker.h"

#include <bit>

namespace wharf::ub {

using verbs::OrderTag;

OrderTracker::Arrival OrderTracker::arrive(std::uint16_t tassn, OrderTag tag) {
  const std::uint16_t distance = ahead(tassn);
  if (distance >= 0x8000U) {
    // Below the window lies only what has been settled. An unordered request may come again from there: it
    // was settled when it first arrived, and may have been answered with "not ready" then.
    return tag == OrderTag::kNone ? Arrival::kExecute : Arrival::kSeen;
  }
  if (distance >= kWindow) return Arrival::kTooFar;
  if (tag == OrderTag::kNone) {
    if (has(arrived_, tassn) && !has(settled_, tassn)) return Arrival::kSeen;
    set(arrived_, tassn);
    set(settled_, tassn);
    advance();
    return Arrival::kExecute;
  }
  if (has(arrived_, tassn)) return Arrival::kSeen;
  set(arrived_, tassn);
  if (tag != OrderTag::kStrong || tassn == next_) return Arrival::kExecute;
  set(waiting_, tassn);
  return Arrival::kWait;
}

void OrderTracker::executed(std::uint16_t tassn) {
  if (ahead(tassn) >= kWindow) return;
  set(settled_, tassn);
  advance();
}

void OrderTracker::retracted(std::uint16_t tassn) {
  if (ahead(tassn) >= kWindow || has(settled_, tassn)) return;
  clear(arrived_, tassn);
  clear(waiting_, tassn);
}

std::optional<std::uint16_t> OrderTracker::next_turn() {
  if (!has(waiting_, next_)) return std::nullopt;
  clear(waiting_, next_);
  return next_;
}

std::uint32_t OrderTracker::waiting() const {
  std::uint32_t count = 0;
  for (const std::uint64_t word : waiting_) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}

}  // namespace wharf::ub
