// SPDX-License-Identifier: Apache-2.0
// A place for an object that somebody else fills. Apart because what a loop asks for again and again, and
// seldom gets, must not be cleared before each question.
#pragma once

#include <type_traits>

namespace wharf {

/// Room for a T without a value. Who fills `value` assigns to it as a whole or member by member; nobody reads
/// it before.
template <typename T>
union Unfilled {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  Unfilled() {}
  T value;
};

}  // namespace wharf
