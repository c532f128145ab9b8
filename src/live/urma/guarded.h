// SPDX-License-Identifier: Apache-2.0
// The edge of the C interface: programs in C have no exceptions. The one that the library can meet says that
// the system gave no memory, or no thread.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <exception>

namespace wharf::live::urma {

/// No cancellation of this thread for its life: what is under way inside a call has no place to stop at.
class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = 0;
};

/// What act() gives, or `dry`, with errno ENOMEM, when memory ran out.
template <typename T, typename Act>
T guarded(T dry, Act&& act) noexcept {
  const Uncancelled uncancelled;
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
