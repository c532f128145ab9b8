// SPDX-License-Identifier: Apache-2.0
// What a thread sleeps on while another may delete the object that wakes it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace wharf::live::urma {

/// A time-out as poll() takes it, in milliseconds: negative is for ever.
class TimeLeft {
 public:
  explicit TimeLeft(int timeout)
      : forever_(timeout < 0), end_(Clock::now() + std::chrono::milliseconds(timeout)) {}
  int left() const {
    if (forever_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool forever_;
  Clock::time_point end_;
};

/// A descriptor of its own for the file of another one. That may be closed, and its number be given to
/// another file; whoever polls this one is woken by the last signal all the same.
class Watch {
 public:
  Watch() = default;
  ~Watch() { end(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// False, with errno, when the system gives no descriptor.
  bool on(int watched) {
    end();
    descriptor_ = ::fcntl(watched, F_DUPFD_CLOEXEC, 0);
    return descriptor_ >= 0;
  }
  int descriptor() const { return descriptor_; }

 private:
  void end() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  int descriptor_ = -1;
};

}  // namespace wharf::live::urma
