// SPDX-License-Identifier: Apache-2.0
// Several neighbouring fields looked at as one word: one comparison where there would be many.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace wharf::ub {

using Bytes = std::array<std::uint8_t, 8>;

constexpr std::uint64_t word_of(const Bytes& bytes) { return std::bit_cast<std::uint64_t>(bytes); }

/// The eight bytes of `object` from `offset` on, as one word.
template <typename T>
std::uint64_t word_at(const T& object, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(&object) + offset, sizeof value);
  return value;
}

/// Whether the eight bytes from `at` on, seen through `mask`, are those of `wanted`.
template <typename T>
bool has_state(const T& object, std::size_t at, const Bytes& mask, const Bytes& wanted) {
  return (word_at(object, at) & word_of(mask)) == word_of(wanted);
}

}  // namespace wharf::ub
