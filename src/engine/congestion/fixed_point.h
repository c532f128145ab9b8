// SPDX-License-Identifier: Apache-2.0
// Whole-number arithmetic that controllers share: products that need more than 64 bits, and counters that
// stop at their largest value. Apart because no controller may decide with floating point.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/time.h"
#include "base/units.h"

namespace wharf::congestion {

/// Parts per million: how configurations write factors.
inline constexpr std::uint64_t kMillion = 1'000'000;
/// Bits times picoseconds per second in a byte: rate * time / this = bytes.
inline constexpr std::uint64_t kByteTimePerSecond = 8'000'000'000'000;

/// a * b / c rounded to the nearest whole number; the exact quotient must fit in 64 bits, c is positive.
constexpr std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a) * b + c / 2) / c);
}

/// a * b / c rounded down, likewise.
constexpr std::uint64_t scaled_down(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b / c);
}

/// Bytes that `rate` moves in `time`, rounded to the nearest.
constexpr std::uint64_t bytes_in(BitsPerSecond rate, TimePs time) {
  return scaled(rate.value, static_cast<std::uint64_t>(time.ps), kByteTimePerSecond);
}

/// Adds and stays at the largest value instead of wrapping.
constexpr void add_saturating(std::uint32_t& counter, std::uint64_t amount) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  counter = static_cast<std::uint32_t>(amount >= kMost - counter ? kMost : counter + amount);
}

}  // namespace wharf::congestion
