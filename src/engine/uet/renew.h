// SPDX-License-Identifier: Apache-2.0
// Making a pooled record new where it lies.
#pragma once

#include <new>
#include <type_traits>

namespace wharf::uet {

/// Gives every member with an initialiser its first value again; what has none keeps its last one. Unlike
/// assignment there is no temporary to copy, and unlike T{} nothing is written twice.
template <typename T>
[[gnu::always_inline]] inline void renew(T& object) {
  static_assert(std::is_trivially_destructible_v<T>);
  ::new (static_cast<void*>(&object)) T;
}

}  // namespace wharf::uet
