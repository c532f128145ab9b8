// SPDX-License-Identifier: Apache-2.0
// Big- and little-endian integers to and from unaligned bytes. Straight-line code; the caller has checked the
// length.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wharf {

inline std::uint8_t load_u8(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }

inline std::uint16_t load_be16(const std::byte* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap16(value);
}
inline std::uint32_t load_be24(const std::byte* at) {
  return (std::uint32_t{load_u8(at)} << 16U) | load_be16(at + 1);
}
inline std::uint32_t load_be32(const std::byte* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}
inline std::uint64_t load_be64(const std::byte* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap64(value);
}
inline std::uint32_t load_le32(const std::byte* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline std::uint64_t load_le64(const std::byte* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline void store_u8(std::byte* at, std::uint8_t value) { *at = std::byte{value}; }
inline void store_be16(std::byte* at, std::uint16_t value) {
  value = __builtin_bswap16(value);
  std::memcpy(at, &value, sizeof value);
}
inline void store_be24(std::byte* at, std::uint32_t value) {
  store_u8(at, static_cast<std::uint8_t>(value >> 16U));
  store_be16(at + 1, static_cast<std::uint16_t>(value));
}
inline void store_be32(std::byte* at, std::uint32_t value) {
  value = __builtin_bswap32(value);
  std::memcpy(at, &value, sizeof value);
}
inline void store_be64(std::byte* at, std::uint64_t value) {
  value = __builtin_bswap64(value);
  std::memcpy(at, &value, sizeof value);
}
inline void store_le32(std::byte* at, std::uint32_t value) { std::memcpy(at, &value, sizeof value); }
inline void store_le64(std::byte* at, std::uint64_t value) { std::memcpy(at, &value, sizeof value); }

static_assert(std::endian::native == std::endian::little, "Choice: little-endian hosts only.");

}  // namespace wharf
