// SPDX-License-Identifier: Apache-2.0
// Fetching several cache lines ahead of their use. Always inline, as all who call it should be: the compiler
// takes a function that only prefetches for one without effect, and drops the calls.
#pragma once

#include <cstddef>
#include <utility>

namespace wharf {

/// What one prefetch brings: a cache line of the machine that wharf runs on.
inline constexpr std::size_t kFetchedBytes = 64;

/// Asks for the lines of the `kBytes` bytes from `from` on; one instruction each. `kAligned`: it is the start
/// of a line, so there is no last one to reach into.
template <std::size_t kBytes, bool kAligned = false>
[[gnu::always_inline]] inline void prefetch_lines(const void* from) {
  const auto* at = static_cast<const std::byte*>(from);
  [&]<std::size_t... kLine>(std::index_sequence<kLine...>) __attribute__((always_inline)) {
    (__builtin_prefetch(at + kLine * kFetchedBytes, 1), ...);
  }
  (std::make_index_sequence<(kBytes + kFetchedBytes - 1) / kFetchedBytes>());
  if constexpr (!kAligned && kBytes > 1) __builtin_prefetch(at + kBytes - 1, 1);
}

/// All lines of an object.
template <typename T>
[[gnu::always_inline]] inline void prefetch_object(const T* object) {
  prefetch_lines<sizeof(T), alignof(T) % kFetchedBytes == 0>(object);
}

}  // namespace wharf
