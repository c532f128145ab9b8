// SPDX-License-Identifier: Apache-2.0
// Which path the next packet takes: entropy values, chosen obliviously, around paths that were marked, or
// from those that proved good. Apart from the controllers, which say when a packet leaves, not where.
// [UE 1.0 3.6.16; REPS: Bonato et al., "REPS: Recycled Entropy Packet Spraying", 2024]
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace wharf::congestion {

/// What came back about a path. [UE 1.0 3.6.16]
enum class PathFeedback : std::uint8_t {
  kGood,     ///< An answer without a mark; a trim of the last hop, which no other path avoids.
  kMarked,   ///< Congestion experienced.
  kTrimmed,  ///< Trimmed inside the fabric.
  kTimeout,  ///< Nothing came.
};

enum class PathChoice : std::uint8_t {
  kOblivious,  ///< Every path once per round, in an order drawn anew each round.
  kBitmap,     ///< The same walk around paths with a penalty.
  kReps,       ///< Recycles the last eight good paths, each once; a time-out freezes them.
  kRecycle,    ///< The first form of REPS: every path once, then good ones first come, first used.
  kMixed,      ///< kRecycle while it has good paths, else kBitmap.
  kFlow,       ///< One path for all (ECMP).
};

struct PathConfig {
  PathChoice choice = PathChoice::kOblivious;
  std::uint32_t paths = 64;  ///< Entropy values per context: a power of two up to 65536.
  /// The bits of entropy values above those of the path are drawn anew for each round of the walk, instead of
  /// once per context: more ways through the fabric than `paths`. Feedback goes by the lower bits.
  bool draw_upper_bits = false;
  std::uint8_t marked_penalty = 1;  ///< kBitmap and kMixed, up to penalty_most.
  std::uint8_t trimmed_penalty = 4;
  std::uint8_t timeout_penalty = 15;
  std::uint8_t penalty_most = 15;
  TimePs freeze_time = milliseconds(10);  ///< kReps: good paths are used again and again for so long.
  std::uint32_t explored = 16;            ///< kReps: random paths after that.

  constexpr auto operator<=>(const PathConfig&) const = default;
};

/// Refuses a number of paths that is no power of two.
Result<void> check(const PathConfig& config);

/// The paths of one context. Allocates at creation only. Refers to its configuration, which outlives it.
///
/// Choices: kRecycle walks every path once before it recycles, and keeps as many good paths as there are
/// paths, the newest; kReps draws from the context's paths; a time-out while it is frozen or explores changes
/// nothing; when every path has a penalty, kBitmap takes the one where its walk ends.
class PathSelector {
 public:
  /// Draws the upper bits that all entropy values of the context share. `config` has passed check().
  PathSelector(const PathConfig& config, RandomStream& random);

  /// The entropy value of the next packet.
  [[gnu::always_inline]] std::uint16_t next(TimePs now, RandomStream& random) {
    return config_->choice == PathChoice::kOblivious ? value(walk(random)) : next_by_feedback(now, random);
  }
  /// What came back of the packet that left with `entropy`; values of others are ignored.
  void feedback(TimePs now, std::uint16_t entropy, PathFeedback what);

  /// Fetches ahead what the next choice touches.
  [[gnu::always_inline]] void prefetch() const {
    if (!good_.empty()) __builtin_prefetch(&good_[(put_ - count_) & (good_.size() - 1)], 1);
    if (!penalties_.empty()) __builtin_prefetch(&penalties_[(step_ ^ xor_) & mask_], 1);
  }

  // Observation.
  std::uint32_t penalty(std::uint16_t entropy) const {
    return penalties_.empty() ? 0 : penalties_[entropy & mask_];
  }
  bool frozen() const { return frozen_; }
  std::uint32_t recyclable() const { return count_; }

 private:
  static constexpr std::uint32_t kRepsBuffer = 8;

  std::uint16_t value(std::uint32_t path) const {
    return static_cast<std::uint16_t>((base_ & ~mask_) | path);
  }
  [[gnu::always_inline]] std::uint32_t walk(RandomStream& random) {
    if ((step_ & mask_) == 0) begin_round(random);
    return (step_++ ^ xor_) & mask_;
  }
  void begin_round(RandomStream& random);
  /// next() of all choices but kOblivious.
  std::uint16_t next_by_feedback(TimePs now, RandomStream& random);
  std::uint32_t walk_around(RandomStream& random);
  std::uint16_t next_recycled(RandomStream& random);
  std::uint16_t next_recycled_once(TimePs now, RandomStream& random);
  std::uint16_t take_oldest();
  void recycle(std::uint16_t entropy);

  const PathConfig* config_;
  std::uint32_t mask_;
  std::uint32_t step_ = 0;
  std::uint32_t xor_ = 0;
  std::vector<std::uint8_t> penalties_;  ///< kBitmap, kMixed.
  std::vector<std::uint16_t> good_;      ///< A ring: kReps, kRecycle, kMixed. Its size is a power of two.
  std::uint32_t put_ = 0;                ///< Good paths ever put into it.
  std::uint32_t count_ = 0;              ///< Not used yet, the newest of them.
  std::uint32_t reuse_ = 0;
  std::uint32_t explore_ = 0;
  TimePs frozen_until_{};
  std::uint16_t base_;
  bool frozen_ = false;
};

}  // namespace wharf::congestion
