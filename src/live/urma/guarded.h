// SPDX-License-Identifier: Apache-2.0
// The edge of the C interface: programs in C have no exceptions. The one that the library can meet says that
// the system gave no memory, or no thread.
#pragma once

#include <cerrno>
#include <exception>

namespace wharf::live::urma {

/// What act() gives, or `dry`, with errno ENOMEM, when memory ran out.
template <typename T, typename Act>
T guarded(T dry, Act&& act) noexcept {
  try {
    return act();
  } catch (const std::exception&) {
    errno = ENOMEM;
    return dry;
  }
}

/// The same of what is no call of the program's: false when memory ran out.
template <typename Act>
bool attempted(Act&& act) noexcept {
  try {
    act();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace wharf::live::urma
