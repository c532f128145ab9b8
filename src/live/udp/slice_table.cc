// SPDX-License-Identifier: Apache-2.0
#include "live/udp/slice_table.h"

#include <sys/mman.h>

#include "base/check.h"
#include "base/kernel_random.h"

namespace wharf::live {

SliceTable::SliceTable(std::span<std::byte> memory, std::uint32_t count, SliceContent content)
    : memory_(memory), content_(content), slices_(count) {
  WHARF_CHECK(count != 0 && slice_bytes() != 0);
}

std::optional<std::uint32_t> SliceTable::take(std::uint64_t key) {
  for (std::uint32_t index = 0; index < slices_.size(); ++index) {
    Slice& slice = slices_[index];
    if (slice.sessions != 0) continue;
    if (slice.used_before && content_ == SliceContent::kZeros) {
      // Private anonymous pages read as zeros again, without anybody writing them.
      WHARF_CHECK(::madvise(memory_.data() + offset(index), slice_bytes(), MADV_DONTNEED) == 0);
    }
    slice = {.sessions = 1, .used_before = true, .key = key};
    return index;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SliceTable::share(std::uint64_t key) {
  for (std::uint32_t index = 0; index < slices_.size(); ++index) {
    if (slices_[index].sessions == 0 || !same_secret(slices_[index].key, key)) continue;
    ++slices_[index].sessions;
    return index;
  }
  return std::nullopt;
}

void SliceTable::leave(std::uint32_t slice) {
  WHARF_CHECK(slices_[slice].sessions != 0);
  --slices_[slice].sessions;
}

}  // namespace wharf::live
