// SPDX-License-Identifier: Apache-2.0
// Simulated and real time: a 64-bit count of picoseconds, used both for instants and for durations.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace wharf {

/// Picoseconds. An instant counts from the start of the run (simulator) or of the process (live); a duration
/// is a difference. The range is about 106 days.
struct TimePs {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const TimePs&) const = default;
  constexpr TimePs& operator+=(TimePs other) {
    ps += other.ps;
    return *this;
  }
  constexpr TimePs& operator-=(TimePs other) {
    ps -= other.ps;
    return *this;
  }
  friend constexpr TimePs operator+(TimePs a, TimePs b) { return TimePs{a.ps + b.ps}; }
  friend constexpr TimePs operator-(TimePs a, TimePs b) { return TimePs{a.ps - b.ps}; }
  friend constexpr TimePs operator*(TimePs a, std::int64_t n) { return TimePs{a.ps * n}; }
  friend constexpr TimePs operator*(std::int64_t n, TimePs a) { return TimePs{a.ps * n}; }
  friend constexpr TimePs operator/(TimePs a, std::int64_t n) { return TimePs{a.ps / n}; }
  friend constexpr std::int64_t operator/(TimePs a, TimePs b) { return a.ps / b.ps; }
};

constexpr TimePs picoseconds(std::int64_t n) { return TimePs{n}; }
constexpr TimePs nanoseconds(std::int64_t n) { return TimePs{n * 1'000}; }
constexpr TimePs microseconds(std::int64_t n) { return TimePs{n * 1'000'000}; }
constexpr TimePs milliseconds(std::int64_t n) { return TimePs{n * 1'000'000'000}; }
constexpr TimePs seconds(std::int64_t n) { return TimePs{n * 1'000'000'000'000}; }

/// The start of time.
inline constexpr TimePs kTimeZero{0};
/// "Not scheduled": later than every instant that a run can reach.
inline constexpr TimePs kNever{std::numeric_limits<std::int64_t>::max()};

/// Nanoseconds as a floating-point number, for reports only.
constexpr double as_nanoseconds(TimePs time) { return static_cast<double>(time.ps) / 1e3; }

constexpr TimePs max(TimePs a, TimePs b) { return a < b ? b : a; }
constexpr TimePs min(TimePs a, TimePs b) { return b < a ? b : a; }

}  // namespace wharf
