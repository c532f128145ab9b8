// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/path_selection.h"

#include <algorithm>
#include <bit>
#include <string>

namespace wharf::congestion {

Result<void> check(const PathConfig& config) {
  if (!std::has_single_bit(config.paths) || config.paths > 65536) {
    return input_error("paths is " + std::to_string(config.paths) +
                       ", expected a power of two from 1 to 65536");
  }
  if (config.freeze_time <= kTimeZero) return input_error("freeze_time is not positive, expected a duration");
  return {};
}

PathSelector::PathSelector(const PathConfig& config, RandomStream& random)
    : config_(&config), mask_(config.paths - 1), base_(static_cast<std::uint16_t>(random.next_u32())) {
  switch (config.choice) {
    case PathChoice::kBitmap:
      penalties_.resize(config.paths);
      break;
    case PathChoice::kReps:
      good_.resize(kRepsBuffer);
      break;
    case PathChoice::kRecycle:
      good_.resize(config.paths);
      break;
    case PathChoice::kMixed:
      penalties_.resize(config.paths);
      good_.resize(config.paths);
      break;
    case PathChoice::kOblivious:
    case PathChoice::kFlow:
      break;
  }
}

void PathSelector::begin_round(RandomStream& random) {
  const std::uint32_t bits = random.next_u32();
  xor_ = bits & mask_;
  if (config_->draw_upper_bits) base_ = static_cast<std::uint16_t>(bits);
}

std::uint16_t PathSelector::next_by_feedback(TimePs now, RandomStream& random) {
  switch (config_->choice) {
    case PathChoice::kOblivious:
    case PathChoice::kFlow:
      return base_;
    case PathChoice::kBitmap:
      return value(walk_around(random));
    case PathChoice::kReps:
      return next_recycled_once(now, random);
    case PathChoice::kRecycle:
      return next_recycled(random);
    case PathChoice::kMixed:
      return count_ > 0 ? take_oldest() : value(walk_around(random));
  }
  return base_;
}

std::uint32_t PathSelector::walk_around(RandomStream& random) {
  std::uint32_t path = walk(random);
  if (penalties_[path] == 0) return path;
  // The first one that is passed over comes nearer to its return.
  --penalties_[path];
  for (std::uint32_t passed = 1; passed <= mask_; ++passed) {
    path = walk(random);
    if (penalties_[path] == 0) break;
  }
  return path;
}

std::uint16_t PathSelector::take_oldest() {
  const auto slots = static_cast<std::uint32_t>(good_.size());
  const std::uint16_t oldest = good_[(put_ - count_) & (slots - 1)];
  --count_;
  return oldest;
}

void PathSelector::recycle(std::uint16_t entropy) {
  const auto slots = static_cast<std::uint32_t>(good_.size());
  good_[put_++ & (slots - 1)] = entropy;
  count_ = std::min(count_ + 1, slots);
}

std::uint16_t PathSelector::next_recycled(RandomStream& random) {
  if (step_ <= mask_) return value(walk(random));
  if (count_ > 0) return take_oldest();
  return value(random.next_u32() & mask_);
}

std::uint16_t PathSelector::next_recycled_once(TimePs now, RandomStream& random) {
  if (frozen_ && now >= frozen_until_) {
    frozen_ = false;
    explore_ = config_->explored;
  }
  if (frozen_ && put_ > 0) {
    // Used or not: these were good before something failed.
    const std::uint32_t known = std::min(put_, kRepsBuffer);
    return good_[(put_ - known + reuse_++ % known) & (kRepsBuffer - 1)];
  }
  if (explore_ > 0) {
    --explore_;
  } else if (!frozen_ && count_ > 0) {
    return take_oldest();
  }
  return value(random.next_u32() & mask_);
}

void PathSelector::feedback(TimePs now, std::uint16_t entropy, PathFeedback what) {
  if (!config_->draw_upper_bits && ((entropy ^ base_) & ~mask_ & 0xffffU) != 0) return;
  if (what == PathFeedback::kGood) {
    if (!good_.empty()) recycle(entropy);
    return;
  }
  if (!penalties_.empty()) {
    const std::uint32_t more = what == PathFeedback::kMarked    ? config_->marked_penalty
                               : what == PathFeedback::kTrimmed ? config_->trimmed_penalty
                                                                : config_->timeout_penalty;
    std::uint8_t& penalty = penalties_[entropy & mask_];
    penalty = static_cast<std::uint8_t>(std::min<std::uint32_t>(penalty + more, config_->penalty_most));
  }
  if (config_->choice == PathChoice::kReps && what == PathFeedback::kTimeout && !frozen_ && explore_ == 0) {
    frozen_ = true;
    frozen_until_ = now + config_->freeze_time;
    reuse_ = 0;
  }
}

}  // namespace wharf::congestion
