// SPDX-License-Identifier: Apache-2.0
// What a mapping asks of the kernel, where a refusal is nobody's mistake. Tests stand in its place, to refuse
// and to store to a page in the middle of things.
#pragma once

#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstddef>

namespace wharf::live {

/// As the system calls of these names: -1 or MAP_FAILED, and errno says why.
class KernelCalls {
 public:
  virtual ~KernelCalls() = default;
  virtual int ioctl(int descriptor, unsigned long request, void* argument) {
    return ::ioctl(descriptor, request, argument);
  }
  virtual int madvise(void* at, std::size_t bytes, int advice) { return ::madvise(at, bytes, advice); }
  virtual int mprotect(void* at, std::size_t bytes, int access) { return ::mprotect(at, bytes, access); }
  virtual int munlock(void* at, std::size_t bytes) { return ::munlock(at, bytes); }
  /// Over what is mapped at `at`.
  virtual void* map_over(void* at, std::size_t bytes, int access, int flags, int descriptor) {
    return ::mmap(at, bytes, access, MAP_FIXED | flags, descriptor, 0);
  }
  /// Moves pages to where the kernel finds room, and leaves their range as if nobody had touched it. Not to a
  /// place of ours: when that fails the place may be gone, and another thread's by the next time.
  /// [mremap(2): MREMAP_DONTUNMAP]
  virtual void* move_away(void* at, std::size_t bytes) {
    return ::mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
  }

  static KernelCalls& system() {
    static KernelCalls calls;
    return calls;
  }
};

}  // namespace wharf::live
