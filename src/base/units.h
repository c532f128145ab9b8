// SPDX-License-Identifier: Apache-2.0
// Sizes and rates as types, and the reading and printing of quantities with written-out units.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace wharf {

/// A number of bytes.
struct Bytes {
  std::uint64_t count = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return Bytes{a.count * n}; }
};

constexpr Bytes kibibytes(std::uint64_t n) { return Bytes{n << 10U}; }
constexpr Bytes mebibytes(std::uint64_t n) { return Bytes{n << 20U}; }

/// A data rate in bits per second. Zero means "infinitely fast" where a profile allows it.
struct BitsPerSecond {
  std::uint64_t value = 0;

  constexpr auto operator<=>(const BitsPerSecond&) const = default;
};

constexpr BitsPerSecond gigabits_per_second(std::uint64_t n) { return BitsPerSecond{n * 1'000'000'000}; }

/// Time to move `size` at `rate`, rounded up to a whole picosecond; zero for an infinitely fast rate, kNever
/// when it does not fit in TimePs.
TimePs transfer_time(Bytes size, BitsPerSecond rate);

/// Reads "100ns", "1.5us", "3.106ns", "25cycles" is refused: ps, ns, us, ms, s. A bare number is refused, as
/// is a value that is not a whole number of picoseconds or is negative. The error says what was found and
/// expected, without a place.
Result<TimePs> parse_time(std::string_view text);
/// Reads "64B", "64KiB", "4MiB", "1GiB", "2KB" (1000), "2MB", "1GB". Whole bytes only.
Result<Bytes> parse_bytes(std::string_view text);
/// Reads "400Gbps", "82.4Gbps", "10Mbps", "1Tbps", "56kbps", "8bps". Whole bits per second only.
Result<BitsPerSecond> parse_rate(std::string_view text);
/// Reads "0.05", "5%", or "1e-4" as a probability in [0, 1].
Result<double> parse_probability(std::string_view text);

/// The shortest exact form that parse_time() reads back to the same value: "100ns", "3106ps", "1.5us". A
/// negative duration gets a minus sign and kNever is "never"; parse_time() refuses both.
std::string format_time(TimePs time);
/// The largest binary unit that divides exactly: "64KiB", "100B".
std::string format_bytes(Bytes size);
/// The largest decimal unit with an exact short form: "400Gbps".
std::string format_rate(BitsPerSecond rate);

}  // namespace wharf
