// SPDX-License-Identifier: Apache-2.0
// Log-linear histogram (in the manner of HdrHistogram) of non-negative 64-bit values: every power of two is
// split into 128 equal buckets, so a percentile is known to 1/128 over the whole range, in constant memory
// (57 KiB).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace wharf {

class Histogram {
 public:
  Histogram();

  /// Adds `value` (not negative) `times` times. Constant time, no allocation.
  void record(std::int64_t value, std::uint64_t times = 1);
  /// Adds everything that `other` recorded.
  void merge(const Histogram& other);
  void clear();

  std::uint64_t count() const { return count_; }
  /// Exact; 0 when nothing was recorded.
  std::int64_t min() const { return count_ == 0 ? 0 : min_; }
  /// Exact; 0 when nothing was recorded.
  std::int64_t max() const { return max_; }
  /// Exact up to the rounding of the division; 0 when nothing was recorded.
  double mean() const;
  /// The value at a percentile (0 to 100, nearest rank): not below the exact one and above it by at most
  /// 1/128 of it; exact below 256. 0 when nothing was recorded.
  std::int64_t value_at_percentile(double percent) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  unsigned __int128 sum_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = 0;
};

}  // namespace wharf
