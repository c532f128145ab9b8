// SPDX-License-Identifier: Apache-2.0
// What a party notes of its gets and puts of items: when each began and ended, and the version that was seen
// or made visible. Each party has records of its own; an ItemJudge merges them.
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"

namespace wharf::workload {

struct ItemRecord {
  enum class What : std::uint8_t { kGetBegins, kGetEnds, kPutBegins, kPutEnds };

  TimePs at{};
  std::uint64_t version = 0;  ///< kGetEnds: what the get returned; kPutEnds: what is visible from now on.
  std::uint32_t item = 0;
  std::uint32_t worker = 0;  ///< Of the party.
  What what = What::kGetBegins;
  bool accepted = false;    ///< kGetEnds: the protocol's own check passed.
  bool torn = false;        ///< kGetEnds: accepted, with words of two versions.
  std::uint64_t other = 0;  ///< Torn: the version of the first word that is not of `version`.
};

/// In the order in which they were made.
using ItemRecords = std::deque<ItemRecord>;

}  // namespace wharf::workload
