// SPDX-License-Identifier: Apache-2.0
// What a thread sleeps on while another may delete the object that wakes it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace wharf::live::urma {

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
