// SPDX-License-Identifier: Apache-2.0
// The remotes of a party by rank: for programs whose parties reach each other's memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "verbs/remote_memory.h"

namespace wharf::workload {

/// One party's table. It has the ranks that neighbours() names; others are null.
template <verbs::RemoteMemory R>
struct Peers {
  std::span<R* const> by_rank;
  /// Address, on this party's own host, of the part of its memory that the others reach.
  std::uint64_t own = 0;
  /// The program's memory, where it is not that of the party's first remote.
  R* memory = nullptr;

  R& operator[](std::uint32_t rank) const {
    WHARF_CHECK(rank < by_rank.size() && by_rank[rank] != nullptr);
    return *by_rank[rank];
  }
};

}  // namespace wharf::workload
