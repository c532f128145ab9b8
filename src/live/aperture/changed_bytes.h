// SPDX-License-Identifier: Apache-2.0
// Which bytes of a page differ from a copy that was taken before: what a publish writes. (The twins and diffs
// of Keleher, Cox, Dwarkadas, Zwaenepoel: TreadMarks, 1994.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace wharf::live {

struct ChangedRun {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  bool operator==(const ChangedRun&) const = default;
};

/// The runs of [from, to) in which `now` differs from `before`, ascending. A unit of `grain` bytes (a power
/// of two; units begin at multiples of it) is in a run when one of its bytes differs and lies in [from, to).
inline std::vector<ChangedRun> changed_runs(std::span<const std::byte> now, std::span<const std::byte> before,
                                            std::uint32_t from, std::uint32_t to, std::uint32_t grain) {
  std::vector<ChangedRun> runs;
  constexpr std::uint32_t kStride = 64;
  for (std::uint32_t at = from; at < to;) {
    const std::uint32_t stride_end = std::min(to, (at / kStride + 1) * kStride);
    if (std::memcmp(now.data() + at, before.data() + at, stride_end - at) == 0) {
      at = stride_end;
      continue;
    }
    for (; at < stride_end;) {
      const std::uint32_t unit = at / grain * grain;
      const std::uint32_t unit_end = unit + grain;
      const std::uint32_t end = std::min(unit_end, to);
      if (std::memcmp(now.data() + at, before.data() + at, end - at) != 0) {
        if (!runs.empty() && runs.back().offset + runs.back().length == unit) {
          runs.back().length += grain;
        } else {
          runs.push_back({unit, grain});
        }
      }
      at = end;
    }
  }
  return runs;
}

}  // namespace wharf::live
