// SPDX-License-Identifier: Apache-2.0
// Packed structures and lines of 64 bytes on wide ports, of the hardware NIC and of its elements in
// co-simulation. Apart because Verilator shows them as words, the lowest first, while the elements count bits
// and bytes from the highest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"

namespace wharf::hardware {

/// A packed structure of `Bits` bits, the first field highest.
template <std::uint32_t Bits>
class PortBits {
 public:
  static constexpr std::size_t kWords = (Bits + 31) / 32;

  PortBits& put(std::uint64_t value, std::uint32_t width) {
    for (std::uint32_t bit = width; bit > 0; --bit) {
      --at_;
      if ((value >> (bit - 1) & 1U) != 0) words_[at_ / 32] |= 1U << (at_ % 32);
    }
    return *this;
  }
  /// `count` bytes, and zeros up to `room` of them.
  PortBits& put(const std::byte* bytes, std::uint32_t count, std::uint32_t room) {
    for (std::uint32_t i = 0; i < room; ++i) put(i < count ? std::to_integer<std::uint64_t>(bytes[i]) : 0, 8);
    return *this;
  }
  bool is_full() const { return at_ == 0; }
  /// All of them have been put.
  const std::array<std::uint32_t, kWords>& words() const {
    WHARF_CHECK(is_full());
    return words_;
  }

 private:
  std::uint32_t at_ = Bits;
  std::array<std::uint32_t, kWords> words_{};
};

using Line = std::array<std::byte, 64>;

/// Sixteen words, byte 0 highest.
inline Line line_of(const std::uint32_t* words) {
  Line line;
  for (std::size_t i = 0; i < 16; ++i) store_be32(&line[4 * i], words[15 - i]);
  return line;
}
inline void put_line(const Line& line, std::uint32_t* words) {
  for (std::size_t i = 0; i < 16; ++i) words[15 - i] = load_be32(&line[4 * i]);
}

}  // namespace wharf::hardware
