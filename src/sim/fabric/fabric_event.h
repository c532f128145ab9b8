// SPDX-License-Identifier: Apache-2.0
// The event record of a partition and the rule for equal times.
//
// At equal times the order is: control (failures, samples), arrivals, wake-ups of hosts, service of ports
// under flow control; among these by the number of the link, host or port in the topology. The numbers are
// properties of the topology, so the order depends neither on partitions nor on insertion.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

enum class FabricEventKind : std::uint32_t { kControl, kArrival, kWake, kService };

struct FabricEvent {
  TimePs time;
  std::uint32_t target = 0;  ///< Kind (2 bits), number (29 bits), far half of a link that crosses (1 bit).
  std::uint32_t hint = 0;    ///< The packet head that the event will probably touch. No part of the order.

  static constexpr std::uint32_t kNumberBits = 29;
  FabricEventKind kind() const { return static_cast<FabricEventKind>(target >> 30U); }
  std::uint32_t number() const { return (target >> 1U) & ((1U << kNumberBits) - 1); }
  bool far_half() const { return (target & 1U) != 0; }
  static FabricEvent make(TimePs time, FabricEventKind kind, std::uint32_t number, bool far_half,
                          std::uint32_t hint = 0) {
    return {time, static_cast<std::uint32_t>(kind) << 30U | number << 1U | (far_half ? 1U : 0U), hint};
  }
};
static_assert(sizeof(FabricEvent) == 16);

/// Without a branch: which of two events is earlier cannot be foreseen.
inline bool before(const FabricEvent& a, const FabricEvent& b) {
  const auto rank = [](const FabricEvent& event) {
    return static_cast<unsigned __int128>(event.time.ps) << 64U | event.target;
  };
  return rank(a) < rank(b);
}

}  // namespace wharf::sim
