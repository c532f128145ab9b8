// SPDX-License-Identifier: Apache-2.0
// Checks: what a study promised about its own figures before they were computed, and whether they keep it. A
// published number that the mechanism refutes is no check; it is a sentence.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace wharf::study {

enum class CheckKind : unsigned char {
  kAccounting,  ///< The paper's accounting gives the published number, within a tolerance.
  kMechanism,   ///< The mechanism lies in the range declared for it.
  kIdentity,    ///< Parts sum to the whole, runs end with the right bytes: our own arithmetic.
};

constexpr const char* name(CheckKind kind) {
  switch (kind) {
    case CheckKind::kAccounting:
      return "accounting";
    case CheckKind::kMechanism:
      return "mechanism";
    case CheckKind::kIdentity:
      return "identity";
  }
  return "";
}

/// One promise: `value` lies from `least` to `most`, both included.
struct Check {
  CheckKind kind = CheckKind::kIdentity;
  std::string what;  ///< "read: 2186 ns within 1 %"
  double value = 0;
  double least = 0;
  double most = 0;

  /// A value that is no number never holds.
  bool holds() const { return value >= least && value <= most; }
};

/// The accounting's `value` against a published number; `relative` is the tolerance as a share of it.
inline Check within(std::string what, double value, double published, double relative) {
  const double margin = std::abs(published) * relative;
  return {CheckKind::kAccounting, std::move(what), value, published - margin, published + margin};
}

/// The mechanism's `value` against the range declared for it.
inline Check between(std::string what, double value, double least, double most) {
  return {CheckKind::kMechanism, std::move(what), value, least, most};
}

/// A value that must be `expected` but for the rounding of sums of doubles.
inline Check equal(std::string what, double value, double expected) {
  const double margin = 1e-6 * std::max(1.0, std::abs(expected));
  return {CheckKind::kIdentity, std::move(what), value, expected - margin, expected + margin};
}

inline bool all_hold(const std::vector<Check>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.holds(); });
}

/// How far `value` lies from `reference`, in percent of it. `reference` is not zero.
inline double deviation_percent(double value, double reference) {
  return (value - reference) / reference * 100.0;
}

}  // namespace wharf::study
