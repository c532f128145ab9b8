// SPDX-License-Identifier: Apache-2.0
// Fresh objects in used places. Apart because a compiler that sees an object of a hundred bytes cleared or
// copied, and parts of it written behind that, trims the copy to an odd length and makes it with string
// instructions, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace wharf::ub {

/// Makes `to` equal to `from`, padding included, sixteen bytes at a time.
template <typename T>
[[gnu::always_inline]] inline void copy_whole(T& to, const T& from) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  constexpr std::size_t kChunks = sizeof(T) / 16;
  const auto* source = reinterpret_cast<const std::byte*>(&from);
  auto* target = reinterpret_cast<std::byte*>(&to);
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kChunks; ++i) {
    std::memcpy(target + 16 * i, source + 16 * i, 16);
  }
  std::memcpy(target + 16 * kChunks, source + 16 * kChunks, sizeof(T) % 16);
}

}  // namespace wharf::ub
