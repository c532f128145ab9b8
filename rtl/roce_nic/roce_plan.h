// SPDX-License-Identifier: Apache-2.0
// Sizes of the instance of the RoCE NIC that is tested, and where things stand in the memory of each side.
// Apart because everything around the NIC needs them.
#pragma once

#include <cstdint>

namespace wharf::rtl {

struct RocePlan {
  static constexpr std::uint32_t kPairs = 4, kDepth = 4, kRing = 64, kMtu = 256;
  static constexpr std::uint32_t kEntryBytes = 32;               ///< Of the ring of completions.
  static constexpr std::uint32_t kSlots = 6, kSlotBytes = 1024;  ///< Of each queue pair.
  static constexpr std::uint32_t kLongest = 900;                 ///< Bytes of a request.
  static constexpr std::uint32_t kCounters = 0;                  ///< Region 0: a counter of each queue pair.
  static constexpr std::uint32_t kConstant = 0x1000;             ///< Region 1: may only be read.
  static constexpr std::uint32_t kConstantBytes = 0x1000;
  static constexpr std::uint32_t kTarget = 0x2000;  ///< Region 2: slots that the other side writes.
  static constexpr std::uint32_t kTargetBytes = kPairs * kSlots * kSlotBytes;
  static constexpr std::uint32_t kLocal = kTarget + kTargetBytes;  ///< Where data comes from and goes to.
  static constexpr std::uint32_t kRingAt = kLocal + kTargetBytes;
  static constexpr std::uint32_t kReceives = kRingAt + kRing * kEntryBytes;  ///< Eight places for each.
  static constexpr std::uint32_t kReceivePlaces = 8;
  static constexpr std::uint32_t kBytes = kReceives + kPairs * kReceivePlaces * kSlotBytes;
  static constexpr std::uint32_t kCapacity = 700;    ///< Of a receive.
  static constexpr std::uint32_t kReceiveDepth = 2;  ///< Receives of a queue pair that wait in the NIC.
  static constexpr std::uint32_t kNotReadyRetries = 3, kRetries = 7, kFetches = 2, kWindow = 8;
  static constexpr std::uint32_t kTick = 4, kTimeout = 150;  ///< Cycles, ticks.
  static constexpr std::uint32_t kFirstNumber = kPairs;      ///< Of queue pair 0 of the hardware.

  static constexpr std::uint32_t slot(std::uint32_t pair, std::uint32_t slot) {
    return (pair * kSlots + slot) * kSlotBytes;
  }
  /// R_Key of region i, as the engine makes it: the number of its record and how often it was used.
  static constexpr std::uint32_t key_of(std::uint32_t region) { return (region + 1) << 8U | 1U; }
};

}  // namespace wharf::rtl
