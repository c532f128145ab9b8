// SPDX-License-Identifier: Apache-2.0
// When the puts of a table were under way, and the reads that met half a value. Only together do they say
// whether a read may have met one: whoever gets does not know the puts of others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace wharf::workload {

/// A put, or a read, of a key: from before it was asked for until its completion was seen.
struct KeyTime {
  TimePs begin;
  TimePs end = kNever;  ///< A put that failed, or has not ended, has no end: it may leave half a value.
  std::uint32_t key = 0;
};

/// How many puts there will be, with room for chance: so many records keep a run from taking memory.
inline std::size_t puts_to_expect(std::uint64_t operations, double put_fraction) {
  if (put_fraction <= 0.0) return 0;
  const double expected = static_cast<double>(std::min<std::uint64_t>(operations, 1U << 24U)) * put_fraction;
  return static_cast<std::size_t>(expected + 6.0 * std::sqrt(expected)) + 16;
}

/// The puts of all parties by key. A key has one writer, whose puts follow one another.
class PutTimes {
 public:
  /// Adds the puts of one party, in the order in which they began.
  void add(std::span<const KeyTime> puts) { puts_.insert(puts_.end(), puts.begin(), puts.end()); }

  /// After the last add(). A put that failed leaves half a value until the next one has ended well.
  void sort() {
    std::stable_sort(puts_.begin(), puts_.end(), [](const KeyTime& a, const KeyTime& b) {
      return a.key != b.key ? a.key < b.key : a.begin < b.begin;
    });
    for (std::size_t at = puts_.size(); at-- > 1;) {
      if (puts_[at - 1].key == puts_[at].key && puts_[at - 1].end == kNever)
        puts_[at - 1].end = puts_[at].end;
    }
  }

  /// Whether a put of its key was under way at any time of `read`.
  bool beside(const KeyTime& read) const {
    const auto after = std::upper_bound(
        puts_.begin(), puts_.end(), read,
        [](const KeyTime& a, const KeyTime& b) { return a.key != b.key ? a.key < b.key : a.end < b.begin; });
    return after != puts_.begin() && (after - 1)->key == read.key && (after - 1)->end >= read.begin;
  }

 private:
  std::vector<KeyTime> puts_;
};

}  // namespace wharf::workload
