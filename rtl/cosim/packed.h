// SPDX-License-Identifier: Apache-2.0
// Packed structures and bytes on wide ports. Apart because Verilator shows them as words, the lowest first,
// while the elements count bytes from the highest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wharf::rtl {

/// The bits of a packed structure or of bytes, the first of them highest.
template <std::uint32_t Bits>
class Packed {
 public:
  static constexpr std::uint32_t kWords = (Bits + 31) / 32;

  void put(std::uint64_t value, std::uint32_t width) {
    for (std::uint32_t i = width; i > 0; --i) {
      --at_;
      if ((value >> (i - 1)) % 2 == 1) words_[at_ / 32] |= 1U << (at_ % 32);
    }
  }
  void put(const std::byte* bytes, std::uint32_t count, std::uint32_t room) {
    for (std::uint32_t i = 0; i < room; ++i) put(i < count ? std::to_integer<std::uint64_t>(bytes[i]) : 0, 8);
  }
  bool is_full() const { return at_ == 0; }
  const std::array<std::uint32_t, kWords>& words() const { return words_; }

 private:
  std::uint32_t at_ = Bits;
  std::array<std::uint32_t, kWords> words_{};
};

/// A flit or line of 64 bytes.
using Flit = std::array<std::byte, 64>;

/// The 64 bytes that stand in `words`, sixteen of them, byte 0 highest.
inline Flit flit_of(const std::uint32_t* words) {
  Flit flit;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint32_t word = __builtin_bswap32(words[15 - i]);
    std::memcpy(&flit[4 * i], &word, 4);
  }
  return flit;
}
inline void put_flit(const Flit& flit, std::uint32_t* words) {
  for (std::size_t i = 0; i < 16; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &flit[4 * i], 4);
    words[15 - i] = __builtin_bswap32(word);
  }
}

}  // namespace wharf::rtl
