// SPDX-License-Identifier: Apache-2.0
// Memory that a target and a worker of one machine share: a file in memory that nobody can make shorter, so
// that who writes it in place never meets a page that has gone (decision 0087).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"

namespace wharf::live {

/// Mapped for reading and writing as long as this lives.
class SealedMemory {
 public:
  /// New memory, all zeros.
  static Result<SealedMemory> create(std::uint64_t bytes);
  /// Somebody else's. Refuses what could shrink, is no ordinary memory, or cannot be written.
  static Result<SealedMemory> map(const Descriptor& file);

  SealedMemory() = default;
  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;
  ~SealedMemory();

  std::span<std::byte> bytes() const { return bytes_; }
  /// To be handed to others; of memory that was made here.
  const Descriptor& file() const { return file_; }

 private:
  Descriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace wharf::live
