// SPDX-License-Identifier: Apache-2.0
// How a switch picks one of several ports on shortest paths.
#pragma once

#include <cstdint>

namespace wharf::sim {

/// The hash by which switches spread packets: Bob Jenkins' 96-bit mix ("A hash function for hash table
/// lookup", Dr. Dobb's Journal 1997) of flow, path (entropy) and switch, with the constants that htsim uses.
[[gnu::always_inline]] inline std::uint32_t path_hash(std::uint32_t flow, std::uint32_t path,
                                                      std::uint32_t salt) {
  std::uint32_t a = 0x9e37'79b9U + flow;
  std::uint32_t b = 0x9e37'79b9U + salt;
  std::uint32_t c = path;
  a -= b, a -= c, a ^= c >> 13U;
  b -= c, b -= a, b ^= a << 8U;
  c -= a, c -= b, c ^= b >> 13U;
  a -= b, a -= c, a ^= c >> 12U;
  b -= c, b -= a, b ^= a << 16U;
  c -= a, c -= b, c ^= b >> 5U;
  a -= b, a -= c, a ^= c >> 3U;
  b -= c, b -= a, b ^= a << 10U;
  c -= a, c -= b, c ^= b >> 15U;
  return c;
}

}  // namespace wharf::sim
