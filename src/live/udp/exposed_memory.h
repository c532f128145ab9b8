// SPDX-License-Identifier: Apache-2.0
// The memory that a server exposes.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/units.h"

namespace wharf::live {

/// Zeroed pages for the segment.
class ExposedMemory {
 public:
  static Result<ExposedMemory> create(std::uint64_t length) {
    void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return Error{ErrorKind::kEnvironment, fmt::format("the system gives no {} of memory: {}",
                                                        format_bytes(Bytes{length}), std::strerror(errno))};
    }
    return ExposedMemory({static_cast<std::byte*>(memory), length});
  }
  ExposedMemory(ExposedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  ExposedMemory& operator=(ExposedMemory&&) = delete;
  ~ExposedMemory() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit ExposedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace wharf::live
