// SPDX-License-Identifier: Apache-2.0
// Which pieces of a message's scattered local memory some bytes of it cover.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "verbs/work_request.h"

namespace wharf::uet {

/// Calls `act(address, at, length, space)` for each piece of memory that bytes `offset` .. `offset + size -
/// 1` of the message touch; `at` counts from `offset`. Pieces of length zero are skipped.
template <typename Act>
void for_each_piece(const std::array<verbs::ScatterEntry, verbs::kMaxScatterEntries>& local,
                    std::uint32_t count, std::uint32_t offset, std::uint32_t size, Act&& act) {
  const std::uint32_t end_of_data = offset + size;
  std::uint32_t begin = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t end = begin + local[i].length;
    if (end > offset && begin < end_of_data) {
      const std::uint32_t low = std::max(begin, offset);
      // The key was replaced by the address space, see MemoryRegionTable::resolve().
      act(local[i].address + (low - begin), low - offset, std::min(end, end_of_data) - low, local[i].key);
    }
    begin = end;
  }
}

}  // namespace wharf::uet
