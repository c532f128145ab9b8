// SPDX-License-Identifier: Apache-2.0
// Read-modify-writes of at most eight bytes, as a core's cache performs them. The operations of devices are
// wider and belong to those who decode them; they write through IoAgent::perform_write().
#pragma once

#include <cstdint>

#include "base/check.h"

namespace wharf::sim {

enum class AtomicKind : std::uint8_t { kSwap, kCompareSwap, kFetchAdd, kFetchAnd, kFetchOr, kFetchXor };

struct AtomicOperation {
  AtomicKind kind = AtomicKind::kFetchAdd;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;  ///< kCompareSwap only.
};

/// What a word that held `old` holds afterwards; the caller cuts it to the width of the word.
constexpr std::uint64_t result_of(const AtomicOperation& operation, std::uint64_t old) {
  switch (operation.kind) {
    case AtomicKind::kSwap:
      return operation.operand;
    case AtomicKind::kCompareSwap:
      return old == operation.compare ? operation.operand : old;
    case AtomicKind::kFetchAdd:
      return old + operation.operand;
    case AtomicKind::kFetchAnd:
      return old & operation.operand;
    case AtomicKind::kFetchOr:
      return old | operation.operand;
    case AtomicKind::kFetchXor:
      return old ^ operation.operand;
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::sim
