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

/// Makes the first `kBytes` bytes of `to` equal to those of `from`, padding included, sixteen at a time.
template <std::size_t kBytes, typename T>
[[gnu::always_inline]] inline void copy_first(T& to, const T& from) {
  static_assert(std::is_trivially_copyable_v<T> && kBytes <= sizeof(T) && kBytes % 4 == 0);
  constexpr std::size_t kChunks = kBytes / 16;
  const auto* source = reinterpret_cast<const std::byte*>(&from);
  auto* target = reinterpret_cast<std::byte*>(&to);
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kChunks; ++i) {
    std::memcpy(target + 16 * i, source + 16 * i, 16);
  }
  std::memcpy(target + 16 * kChunks, source + 16 * kChunks, kBytes % 16);
}

/// Makes `to` equal to `from`, padding included.
template <typename T>
[[gnu::always_inline]] inline void copy_whole(T& to, const T& from) {
  copy_first<sizeof(T)>(to, from);
}

}  // namespace wharf::ub
