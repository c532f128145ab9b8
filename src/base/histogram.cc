// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/check.h"
#include "base/statistics.h"

namespace wharf {
namespace {

constexpr unsigned kSubBits = 7;  // 128 buckets per power of two.
constexpr std::uint64_t kSubCount = 1ULL << kSubBits;
constexpr std::size_t kBucketCount = (63 - kSubBits) * kSubCount + kSubCount;

/// Values below 256 have a bucket each; above, the top eight bits of the value choose it.
std::size_t bucket_of(std::uint64_t value) {
  if (value < 2 * kSubCount) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
  return shift * kSubCount + (value >> shift);
}

/// The largest value of a bucket.
std::uint64_t bucket_last(std::size_t bucket) {
  if (bucket < 2 * kSubCount) return bucket;
  const std::size_t shift = bucket / kSubCount - 1;
  return ((bucket - shift * kSubCount + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram() : buckets_(kBucketCount) {}

void Histogram::record(std::int64_t value, std::uint64_t times) {
  WHARF_CHECK(value >= 0);
  if (times == 0) return;
  const auto magnitude = static_cast<std::uint64_t>(value);
  buckets_[bucket_of(magnitude)] += times;
  count_ += times;
  sum_ += static_cast<unsigned __int128>(magnitude) * times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBucketCount; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() { *this = Histogram(); }

double Histogram::mean() const {
  return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::int64_t Histogram::value_at_percentile(double percent) const {
  if (count_ == 0) return 0;
  const std::uint64_t rank = nearest_rank(count_, percent);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBucketCount; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(static_cast<std::int64_t>(bucket_last(i)), max_);
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf
