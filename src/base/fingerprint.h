// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash of a history, to see whether two runs did the same. Cheap (a few cycles per word); not
// cryptographic.
#pragma once

#include <cstdint>
#include <string>

namespace wharf {

/// Accumulates words; the value depends on all of them and on their order.
class Fingerprint {
 public:
  void add(std::uint64_t word) {
    // The shift brings differences in the top bits down, where the next multiplication spreads them.
    state_ = (state_ ^ word) * 0x9FB21C651E98DF25ULL;
    state_ ^= state_ >> 29U;
  }
  std::uint64_t value() const {
    const std::uint64_t mixed = (state_ ^ (state_ >> 32U)) * 0xD6E8FEB86659FD93ULL;
    return mixed ^ (mixed >> 32U);
  }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3ULL;  // Digits of pi: any value but zero serves.
};

/// Joins two fingerprints so that neither order nor grouping matters.
inline std::uint64_t combine_unordered(std::uint64_t a, std::uint64_t b) { return a + b; }

/// Sixteen lower-case hexadecimal digits.
inline std::string fingerprint_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[(value >> (4 * i)) & 0xFU];
  return text;
}

}  // namespace wharf
