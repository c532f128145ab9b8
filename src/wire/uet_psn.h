// SPDX-License-Identifier: Apache-2.0
// Packet sequence numbers of Ultra Ethernet: 32-bit counters that wrap, and signed 16-bit distances to them.
// Apart from psn.h, whose numbers have 24 bits. [UE 1.0 3.5.11] Comparison is by half range.
#pragma once

#include <cstdint>

namespace wharf::wire {

/// A 32-bit sequence number of one direction of a packet delivery context (PDC).
using UetPsn = std::uint32_t;

/// `psn` moved forward by `count` (modulo 2^32); a negative count moves it back.
constexpr UetPsn uet_psn_add(UetPsn psn, std::int64_t count) {
  return psn + static_cast<std::uint32_t>(count);
}

/// The signed distance from `b` to `a`: -2^31 .. 2^31-1. Positive when `a` comes after `b`.
constexpr std::int32_t uet_psn_difference(UetPsn a, UetPsn b) { return static_cast<std::int32_t>(a - b); }

/// Whether `a` comes strictly after `b`. Exactly half the range apart counts as before.
constexpr bool uet_psn_after(UetPsn a, UetPsn b) { return uet_psn_difference(a, b) > 0; }

/// Whether `a` comes strictly before `b`.
constexpr bool uet_psn_before(UetPsn a, UetPsn b) { return uet_psn_difference(a, b) < 0; }

/// Whether the distance from `base` to `psn` fits the signed 16 bits of the offset fields.
constexpr bool uet_psn_offset_fits(UetPsn psn, UetPsn base) {
  const std::int32_t distance = uet_psn_difference(psn, base);
  return distance >= INT16_MIN && distance <= INT16_MAX;
}
/// The offset field that names `psn` from `base`; the distance fits (see above).
constexpr std::int16_t uet_psn_offset(UetPsn psn, UetPsn base) {
  return static_cast<std::int16_t>(uet_psn_difference(psn, base));
}

/// The 32 bits of a 64-bit logical counter that travel on the wire.
constexpr UetPsn uet_psn_wrap(std::uint64_t counter) { return static_cast<UetPsn>(counter); }

/// The logical counter nearest to `expected` whose low 32 bits are `psn`. Near zero, where the nearest would
/// be negative, the result is 2^32 above it.
constexpr std::uint64_t uet_psn_unwrap(std::uint64_t expected, UetPsn psn) {
  const std::int64_t nearest =
      static_cast<std::int64_t>(expected) + uet_psn_difference(psn, uet_psn_wrap(expected));
  return static_cast<std::uint64_t>(nearest < 0 ? nearest + (std::int64_t{1} << 32) : nearest);
}

}  // namespace wharf::wire
