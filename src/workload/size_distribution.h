// SPDX-License-Identifier: Apache-2.0
// How large flows are: distributions that are published, one size for all, or a table from a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/units.h"

namespace wharf::workload {

/// A cumulative distribution of sizes: straight lines between its points, so that sizes between two of them
/// are equally likely. Integers throughout.
class SizeDistribution {
 public:
  static constexpr std::uint64_t kAll = 1'000'000'000;

  struct Point {
    std::uint64_t bytes = 0;
    std::uint64_t cumulative = 0;  ///< In billionths of the flows: how many are not larger.
  };

  static SizeDistribution fixed(std::uint64_t bytes) { return SizeDistribution({{bytes, kAll}}); }
  /// `points` with sizes that rise from point to point and to kFlowBytesMax at most, shares that do not fall,
  /// the last kAll, and none for a size of 0.
  explicit SizeDistribution(std::vector<Point> points);

  /// A size of at least 1: the smallest whose cumulative share reaches a number from 1 to kAll, all equally
  /// likely.
  std::uint64_t draw(RandomStream& random) const;
  /// Rounded down.
  std::uint64_t mean_bytes() const { return twice_mean_ / 2 / kAll; }
  /// Between two flows that on the average take `load_ppm` millionths of `rate`, by their bytes alone; kNever
  /// when it does not fit. Both are positive.
  TimePs mean_interval(BitsPerSecond rate, std::uint32_t load_ppm) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  std::uint64_t twice_mean_ = 0;  ///< Times kAll.
};

/// A distribution by name, with where it was published.
struct PublishedSizes {
  std::string_view name;
  std::string_view source;
};
std::span<const PublishedSizes> published_sizes();
std::optional<SizeDistribution> published_distribution(std::string_view name);

/// A table of two columns; its first line is "size_bytes,cumulative". Sizes rise from row to row; cumulative
/// shares go from 0 to 1 with at most nine decimals, do not fall, and end with 1. A share above 0 in the
/// first row is that of flows of just this size. Refusals name file, line and column.
Result<SizeDistribution> read_size_distribution(std::string_view text, const std::string& name);

}  // namespace wharf::workload
