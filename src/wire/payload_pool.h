// SPDX-License-Identifier: Apache-2.0
// Reference-counted buffers for payload bytes, in a few size classes. Grows in slabs while a run warms up; in
// steady state a packet takes and returns buffers without touching the heap. One pool per thread: no locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/payload.h"

namespace wharf::wire {

class PayloadPool {
 public:
  /// Capacity of a buffer of each class, in bytes. The largest holds a jumbo frame.
  static constexpr std::array<std::uint32_t, 5> kClassBytes{64, 256, 1024, 4096, 16384};
  /// The longest buffer that acquire() gives.
  static constexpr std::uint32_t kLargestBytes = kClassBytes.back();
  /// Buffers of one class are made so many bytes at a time.
  static constexpr std::uint32_t kSlabBytes = 256 * 1024;

  PayloadPool() = default;
  /// Buffers lie in `memory`, which the caller chose (huge pages, a shared mapping) and which outlives the
  /// pool, as long as it lasts: it is handed out in slabs of kSlabBytes, begins at a multiple of 64, and what
  /// is left of it beyond whole slabs is not used. Then the heap serves: who hands buffers to a
  /// device or another process asks has_room() first.
  explicit PayloadPool(std::span<std::byte> memory) : given_(memory) {}
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;
  PayloadPool(PayloadPool&&) = default;
  PayloadPool& operator=(PayloadPool&&) = default;

  /// A buffer of at least `length` bytes (at most kLargestBytes) with one reference. Its content is
  /// undefined.
  BufferId acquire(std::uint32_t length);
  /// Whether acquire() takes nothing from the heap for a buffer of `length` bytes.
  bool has_room(std::uint32_t length) const;

  /// The bytes of a buffer in use. The address stays the same until its last release().
  std::byte* data(BufferId id);
  const std::byte* data(BufferId id) const;

  /// Adds one reference. kNoBuffer is allowed and does nothing, so callers need not ask who owns a payload.
  void retain(BufferId id) {
    if (id != kNoBuffer) retain_counted(id);
  }

  /// Drops one reference; the last one returns the buffer. kNoBuffer is allowed and does nothing.
  void release(BufferId id) {
    if (id != kNoBuffer) release_counted(id);
  }

  /// Buffers with at least one reference; 0 after a run that leaked nothing.
  std::uint32_t in_use() const { return in_use_; }

  /// Bytes taken from the heap for buffers so far.
  std::uint64_t reserved_bytes() const;

 private:
  // A BufferId is the class in the top three bits and the index within the class below.
  static constexpr std::uint32_t kIndexBits = 29;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;

  struct SizeClass {
    std::vector<std::byte*> slabs;
    std::vector<std::uint32_t> references;  // one per buffer
    std::vector<std::uint32_t> free;  // indices; capacity covers every buffer, so release() never allocates
  };

  /// Logarithm of kClassBytes.
  static constexpr std::uint32_t class_shift(std::uint32_t size_class) { return 6 + 2 * size_class; }
  void retain_counted(BufferId id);
  void release_counted(BufferId id);
  void grow(std::uint32_t size_class);
  bool has_given() const { return given_.size() >= kSlabBytes; }

  std::span<std::byte> given_;  ///< What is left of the caller's memory.
  std::vector<std::unique_ptr<std::byte[]>> heap_slabs_;
  std::array<SizeClass, kClassBytes.size()> classes_;
  std::uint32_t in_use_ = 0;
};

}  // namespace wharf::wire
