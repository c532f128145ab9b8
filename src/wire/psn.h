// SPDX-License-Identifier: Apache-2.0
// Packet sequence numbers: 24-bit counters that wrap, as both UB (PSN, TPMSN) and RoCE (PSN, MSN) use them.
// [IBTA vol 1 9.7.1, UB-Base 2.0.1 6.4] Comparison is by half range: 2^23 separates "after" from "before".
#pragma once

#include <cstdint>

namespace wharf::wire {

/// A 24-bit sequence number; the top eight bits are zero.
using Psn = std::uint32_t;

inline constexpr std::uint32_t kPsnBits = 24;
inline constexpr Psn kPsnMask = 0x00ff'ffff;
inline constexpr std::uint32_t kPsnHalfRange = 1U << 23U;

/// `psn` moved forward by `count` (modulo 2^24).
constexpr Psn psn_add(Psn psn, std::uint32_t count) { return (psn + count) & kPsnMask; }

/// `psn` moved back by `count` (modulo 2^24).
constexpr Psn psn_subtract(Psn psn, std::uint32_t count) { return (psn - count) & kPsnMask; }

/// The signed distance from `b` to `a`: -2^23 .. 2^23-1. Positive when `a` comes after `b`.
constexpr std::int32_t psn_difference(Psn a, Psn b) { return static_cast<std::int32_t>((a - b) << 8U) >> 8; }

/// Whether `a` comes strictly after `b`. Exactly half the range apart counts as before.
constexpr bool psn_after(Psn a, Psn b) { return psn_difference(a, b) > 0; }

/// Whether `a` comes strictly before `b`.
constexpr bool psn_before(Psn a, Psn b) { return psn_difference(a, b) < 0; }

/// The 24 bits of a 64-bit logical counter that travel on the wire.
constexpr Psn psn_wrap(std::uint64_t counter) { return static_cast<Psn>(counter) & kPsnMask; }

/// The logical counter nearest to `expected` whose low 24 bits are `psn`. Near zero, where the nearest would
/// be negative, the result is 2^24 above it.
constexpr std::uint64_t psn_unwrap(std::uint64_t expected, Psn psn) {
  const std::int64_t nearest = static_cast<std::int64_t>(expected) + psn_difference(psn, psn_wrap(expected));
  return static_cast<std::uint64_t>(nearest < 0 ? nearest + (std::int64_t{1} << 24) : nearest);
}

}  // namespace wharf::wire
