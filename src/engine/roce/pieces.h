// SPDX-License-Identifier: Apache-2.0
// Where a message lies in local memory: up to four pieces, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "verbs/work_request.h"

namespace wharf::roce {

/// Only the first `count` of each array mean anything; who stores them keeps the count.
struct Pieces {
  std::array<std::uint64_t, verbs::kMaxScatterEntries> address;
  std::array<std::uint32_t, verbs::kMaxScatterEntries> length;  ///< Bytes; pieces of length zero are skipped.

  void set(const std::array<verbs::ScatterEntry, verbs::kMaxScatterEntries>& local, std::uint8_t count) {
    address[0] = local[0].address;
    length[0] = local[0].length;
    for (std::uint8_t at = 1; at < count; ++at) {
      address[at] = local[at].address;
      length[at] = local[at].length;
    }
  }
  std::uint64_t bytes(std::uint8_t count) const {
    std::uint64_t sum = 0;
    for (std::uint8_t at = 0; at < count; ++at) sum += length[at];
    return sum;
  }
  /// Whether the first `count` entries of `local` lie in one address space, and those with a key in what it
  /// names; `space` is that of entries without a key, and becomes the one of all.
  template <typename Keys>
  static bool resolve(const std::array<verbs::ScatterEntry, verbs::kMaxScatterEntries>& local,
                      std::uint8_t count, const Keys& keys, std::uint32_t domain,
                      verbs::AddressSpaceId& space) {
    const verbs::AddressSpaceId own = space;
    for (std::uint8_t at = 0; at < count; ++at) {
      verbs::AddressSpaceId found = own;
      if (local[at].key != 0 &&
          !keys.covers(domain, local[at].key, local[at].address, local[at].length, found)) {
        return false;
      }
      if (at > 0 && found != space) return false;
      space = found;
    }
    return true;
  }
  /// Calls visit(address, done, part) for each part of bytes [offset, offset + wanted) of the message that
  /// lies in one piece; `done` counts from `offset`. The pieces hold so many bytes.
  template <typename Visit>
  void for_parts(std::uint8_t count, std::uint32_t offset, std::uint32_t wanted, Visit visit) const {
    std::uint32_t done = 0;
    std::uint64_t skip = offset;
    for (std::uint8_t piece = 0; done < wanted; ++piece) {
      WHARF_CHECK(piece < count);
      if (skip >= length[piece]) {
        skip -= length[piece];
        continue;
      }
      const auto part =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(length[piece] - skip, wanted - done));
      visit(address[piece] + skip, done, part);
      done += part;
      skip = 0;
    }
  }
};

}  // namespace wharf::roce
