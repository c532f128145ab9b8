// SPDX-License-Identifier: Apache-2.0
// The parsed header stack of one RoCEv2 packet. Which extensions are meant follows from bth.opcode alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "wire/roce_bth.h"
#include "wire/roce_extension.h"

namespace wharf::wire {

/// Headers after UDP and before the payload. Only the union member that roce_headers(bth.opcode) names is
/// valid: RETH (writes, reads, flush, atomic write), AtomicETH, AETH (with the atomic answer) or DETH.
struct RocePacket {
  RocePacket() : atomic() {}
  /// Leaves the union without an active member: who takes it makes the one that the opcode names.
  explicit RocePacket(const Bth& first) : bth(first) {}

  Bth bth;
  std::uint32_t immediate = 0;       ///< ImmDt as a big-endian number; opcodes "with Immediate".
  std::uint32_t invalidate_key = 0;  ///< IETH; opcodes "with Invalidate".
  Feth feth;                         ///< FLUSH, beside reth.
  struct AckExtension {
    std::uint64_t atomic_original = 0;  ///< AtomicAckETH: the value before the atomic.
    Aeth aeth;
  };
  union {
    AtomicEth atomic;
    Reth reth;
    AckExtension ack;
    Deth deth;
  };
};
static_assert(std::is_trivially_copyable_v<RocePacket>);
static_assert(sizeof(RocePacket) <= 72);

}  // namespace wharf::wire
