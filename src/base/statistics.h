// SPDX-License-Identifier: Apache-2.0
// Exact statistics over values kept in full, for reports. Streaming statistics are in histogram.h.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"

namespace wharf {

/// The nearest rank of a percentile among `count` sorted values, from 1 to `count`: the smallest rank that at
/// least `percent` of the values do not exceed. `percent` from 0 to 100, taken to a thousandth; `count` is
/// positive. Integer arithmetic, so that 99.9 % of 1000 values is rank 999 and not 1000.
inline std::uint64_t nearest_rank(std::uint64_t count, double percent) {
  WHARF_CHECK(count > 0 && percent >= 0.0 && percent <= 100.0);
  const auto thousandths = static_cast<std::uint64_t>(percent * 1'000.0 + 0.5);
  const auto rank =
      static_cast<std::uint64_t>((static_cast<unsigned __int128>(count) * thousandths + 99'999) / 100'000);
  return rank == 0 ? 1 : rank;
}

/// The value at a percentile (0 to 100) of values sorted ascending, by nearest rank: always one of the
/// values. `sorted` is not empty.
template <typename T>
T exact_percentile(std::span<const T> sorted, double percent) {
  return sorted[nearest_rank(sorted.size(), percent) - 1];
}

/// Arithmetic mean; 0 for no values.
template <typename T>
double mean(std::span<const T> values) {
  double sum = 0.0;
  for (const T& value : values) sum += static_cast<double>(value);
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

}  // namespace wharf
