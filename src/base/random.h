// SPDX-License-Identifier: Apache-2.0
// Named, counter-based random streams: what one consumer draws never depends on which other consumers exist.
// Generator: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/time.h"

namespace wharf {

/// One block of Philox4x32-10: 128 random bits for a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key);

/// A probability as an integer threshold, so that a decision is one exact integer compare.
struct Probability {
  std::uint64_t threshold = 0;  ///< In 1 / 2^64; the largest value means "always".

  /// `p` from 0 to 1 inclusive; aborts outside. A positive p below 2^-64 becomes 2^-64.
  static Probability from(double p);

  constexpr auto operator<=>(const Probability&) const = default;
  constexpr bool never() const { return threshold == 0; }
  constexpr bool always() const { return threshold == std::numeric_limits<std::uint64_t>::max(); }
};

/// A stream of random numbers named by (seed, name, substream index...). Trivially copyable; a copy repeats
/// what the original would draw. No two names share numbers, and no draw depends on another stream.
class RandomStream {
 public:
  /// The stream `name` of the run with `seed`.
  RandomStream(std::uint64_t seed, std::string_view name);

  /// The `index`-th stream under this one. Depends on this stream's name only, not on what has been drawn
  /// from it.
  RandomStream substream(std::uint64_t index) const;

  std::uint32_t next_u32() {
    if (used_ == 4) refill();
    return buffer_[used_++];
  }
  std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | (std::uint64_t{next_u32()} << 32U);
  }
  /// Uniform in 0 .. n-1 without bias; n must be positive.
  std::uint64_t below(std::uint64_t n);
  /// True with probability p. A probability of 0 or 1 draws no random number.
  bool chance(Probability p) {
    if (p.never()) return false;
    return p.always() || next_u64() < p.threshold;
  }
  /// Exponentially distributed duration with the given mean (from 0 to about a day), rounded to a picosecond.
  /// The logarithm is the deterministic one: the same on every machine.
  TimePs exponential(TimePs mean);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform01() { return static_cast<double>(next_u64() >> 11U) * 0x1.0p-53; }

 private:
  RandomStream(std::uint64_t key, std::uint64_t stream) : key_(key), stream_(stream) {}
  void refill();

  std::uint64_t key_;
  std::uint64_t stream_;     ///< High half of the counter.
  std::uint64_t block_ = 0;  ///< Low half of the counter: blocks drawn so far.
  std::array<std::uint32_t, 4> buffer_{};
  std::uint32_t used_ = 4;
};

static_assert(std::is_trivially_copyable_v<RandomStream>);

}  // namespace wharf
