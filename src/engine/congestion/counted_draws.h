// SPDX-License-Identifier: Apache-2.0
// Random draws that are named by a key and counted: the n-th depends on nothing else, so that plain records
// (a switch port, a context) can draw without a stream of their own.
#pragma once

#include <cstdint>

namespace wharf::congestion {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct CountedDraws {
  std::uint64_t key = 0;
  std::uint32_t drawn = 0;

  std::uint32_t next() {
    std::uint64_t mixed = key + 0x9e37'79b9'7f4a'7c15U * ++drawn;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d0'49bb'1331'11ebU;
    return static_cast<std::uint32_t>((mixed ^ (mixed >> 31U)) >> 32U);
  }
  /// 0 .. n-1, with a bias below n / 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((std::uint64_t{next()} * n) >> 32U);
  }
};

}  // namespace wharf::congestion
