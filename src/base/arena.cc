// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace wharf {
namespace {

std::size_t gap_before(const std::byte* at, std::size_t align) {
  return (align - reinterpret_cast<std::uintptr_t>(at) % align) % align;
}

}  // namespace

void* Arena::allocate(std::size_t bytes, std::size_t align) {
  WHARF_CHECK(std::has_single_bit(align) && align <= 4096);
  std::size_t gap = gap_before(next_, align);
  if (next_ == nullptr || gap + bytes > static_cast<std::size_t>(end_ - next_)) {
    const std::size_t needed = bytes + align;
    const std::size_t block_bytes = needed > block_bytes_ ? needed : block_bytes_;
    blocks_.push_back(std::make_unique<std::byte[]>(block_bytes));
    bytes_held_ += block_bytes;
    std::byte* const block = blocks_.back().get();
    gap = gap_before(block, align);
    if (needed > block_bytes_) {  // A block of its own; the current one goes on serving small requests.
      bytes_used_ += gap + bytes;
      return block + gap;
    }
    next_ = block;
    end_ = block + block_bytes;
  }
  std::byte* const result = next_ + gap;
  next_ = result + bytes;
  bytes_used_ += gap + bytes;
  return result;
}

}  // namespace wharf
