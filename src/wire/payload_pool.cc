// SPDX-License-Identifier: Apache-2.0
#include "wire/payload_pool.h"

#include "base/check.h"

namespace wharf::wire {
namespace {

std::uint32_t class_for(std::uint32_t length) {
  std::uint32_t size_class = 0;
  while (PayloadPool::kClassBytes[size_class] < length) ++size_class;
  return size_class;
}

/// Apart, so that dropping a reference that is not the last one saves no registers.
[[gnu::noinline]] void give_back(std::vector<std::uint32_t>& free, std::uint32_t index) {
  free.push_back(index);
}

}  // namespace

void PayloadPool::grow(std::uint32_t size_class) {
  SizeClass& buffers = classes_[size_class];
  const std::uint32_t per_slab = kSlabBytes / kClassBytes[size_class];
  const auto first = static_cast<std::uint32_t>(buffers.references.size());
  WHARF_CHECK(first + per_slab <= kIndexMask);
  if (has_given()) {
    buffers.slabs.push_back(given_.data());
    given_ = given_.subspan(kSlabBytes);
  } else {
    heap_slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kSlabBytes));
    buffers.slabs.push_back(heap_slabs_.back().get());
  }
  buffers.references.resize(first + per_slab, 0);
  buffers.free.reserve(first + per_slab);
  // Pushed in descending order so that buffers are first handed out in ascending order.
  for (std::uint32_t index = first + per_slab; index-- > first;) buffers.free.push_back(index);
}

BufferId PayloadPool::acquire(std::uint32_t length) {
  WHARF_CHECK(length <= kLargestBytes);
  const std::uint32_t size_class = class_for(length);
  SizeClass& buffers = classes_[size_class];
  if (buffers.free.empty()) [[unlikely]]
    grow(size_class);
  const std::uint32_t index = buffers.free.back();
  buffers.free.pop_back();
  buffers.references[index] = 1;
  ++in_use_;
  return (size_class << kIndexBits) | index;
}

const std::byte* PayloadPool::data(BufferId id) const {
  const std::uint32_t size_class = id >> kIndexBits;
  const std::uint32_t index = id & kIndexMask;
  WHARF_CHECK(size_class < kClassBytes.size());
  const SizeClass& buffers = classes_[size_class];
  WHARF_CHECK(index < buffers.references.size() && buffers.references[index] > 0);
  // Classes and slabs are powers of two: shifts, where divisions would cost more than all the rest.
  static_assert(kClassBytes.front() == 1U << class_shift(0) && kClassBytes.back() == 1U << class_shift(4));
  const std::uint64_t at = std::uint64_t{index} << class_shift(size_class);
  return buffers.slabs[at / kSlabBytes] + at % kSlabBytes;
}

std::byte* PayloadPool::data(BufferId id) {
  return const_cast<std::byte*>(static_cast<const PayloadPool*>(this)->data(id));
}

void PayloadPool::retain_counted(BufferId id) {
  std::uint32_t& references = classes_[id >> kIndexBits].references[id & kIndexMask];
  WHARF_CHECK(references > 0);
  ++references;
}

void PayloadPool::release_counted(BufferId id) {
  SizeClass& buffers = classes_[id >> kIndexBits];
  std::uint32_t& references = buffers.references[id & kIndexMask];
  WHARF_CHECK(references > 0);
  if (--references > 0) return;
  --in_use_;
  give_back(buffers.free, id & kIndexMask);
}

bool PayloadPool::has_room(std::uint32_t length) const {
  return length <= kLargestBytes && (has_given() || !classes_[class_for(length)].free.empty());
}

std::uint64_t PayloadPool::reserved_bytes() const { return std::uint64_t{heap_slabs_.size()} * kSlabBytes; }

}  // namespace wharf::wire
