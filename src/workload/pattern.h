// SPDX-License-Identifier: Apache-2.0
// The words that programs put into memory so that every word read back proves where and when it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace wharf::workload {

/// A well-mixed 64-bit word for (seed, a, b): the same everywhere, different for any other triple with high
/// probability.
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t word = seed ^ (a + 1) * 0x9e37'79b9'7f4a'7c15U;
  word = (word ^ (word >> 32U)) * 0xd6e8'feb8'6659'fd93U;
  word ^= (b + 1) * 0xbf58'476d'1ce4'e5b9U;
  word = (word ^ (word >> 29U)) * 0x94d0'49bb'1331'11ebU;
  return word ^ (word >> 32U);
}

/// `value` in the high half, 32 bits that prove (seed, place, value) in the low half: one self-checking word.
constexpr std::uint64_t sealed(std::uint64_t seed, std::uint64_t place, std::uint32_t value) {
  return (std::uint64_t{value} << 32U) | (mix(seed, place, value) & 0xffff'ffffU);
}
constexpr std::uint32_t sealed_value(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); }
/// Whether `word` is sealed() of `place` for the value that it holds.
constexpr bool seal_holds(std::uint64_t seed, std::uint64_t place, std::uint64_t word) {
  return word == sealed(seed, place, sealed_value(word));
}

/// Fills `out` with the words mix(seed, first), mix(seed, first + 1), ...; a last part-word is cut.
inline void fill_words(std::span<std::byte> out, std::uint64_t seed, std::uint64_t first) {
  std::size_t at = 0;
  for (; at + 8 <= out.size(); at += 8) store_le64(out.data() + at, mix(seed, first + at / 8, 0));
  if (at == out.size()) return;
  std::byte word[8];
  store_le64(word, mix(seed, first + at / 8, 0));
  std::memcpy(out.data() + at, word, out.size() - at);
}

/// The offset of the first byte of `bytes` that fill_words() would not have put there; bytes.size() if none.
inline std::size_t first_wrong_byte(std::span<const std::byte> bytes, std::uint64_t seed,
                                    std::uint64_t first) {
  std::size_t at = 0;
  while (at + 8 <= bytes.size() && load_le64(bytes.data() + at) == mix(seed, first + at / 8, 0)) at += 8;
  if (at == bytes.size()) return at;
  std::byte word[8];
  store_le64(word, mix(seed, first + at / 8, 0));
  for (std::size_t i = 0; at < bytes.size() && i < 8; ++i, ++at) {
    if (bytes[at] != word[i]) return at;
  }
  return at;
}

/// The same for bytes that begin `offset` bytes behind the place of word 0, which need not be whole words.
inline std::size_t first_wrong_byte_at(std::span<const std::byte> bytes, std::uint64_t seed,
                                       std::uint64_t offset) {
  std::size_t at = 0;
  for (; at < bytes.size() && (offset + at) % 8 != 0; ++at) {
    const std::uint64_t word = mix(seed, (offset + at) / 8, 0);
    if (bytes[at] != static_cast<std::byte>(word >> (8 * ((offset + at) % 8)))) return at;
  }
  return at + first_wrong_byte(bytes.subspan(at), seed, (offset + at) / 8);
}

}  // namespace wharf::workload
