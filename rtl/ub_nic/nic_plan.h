// SPDX-License-Identifier: Apache-2.0
// Sizes of the instance of the NIC that is tested, and where things stand in the memory of each side. Apart
// because everything around the NIC needs them.
#pragma once

#include <cstdint>

namespace wharf::rtl {

struct NicPlan {
  static constexpr std::uint32_t kJetties = 8, kDepth = 2, kSegments = 4, kRing = 64;
  static constexpr std::uint32_t kEntryBytes = 32;              ///< Of the ring of completions.
  static constexpr std::uint32_t kSlots = 4, kSlotBytes = 512;  ///< Of each jetty.
  static constexpr std::uint32_t kCounters = 0;                 ///< Segment 0: eight counters.
  static constexpr std::uint32_t kConstant = 0x1000;            ///< Segment 1: may only be read.
  static constexpr std::uint32_t kConstantBytes = 0x1000;
  static constexpr std::uint32_t kTarget = 0x2000;  ///< Segment 2: slots that the other side writes.
  static constexpr std::uint32_t kLocal = 0x6000;   ///< Where this side's data comes from and goes to.
  static constexpr std::uint32_t kRingAt = 0xa000;
  static constexpr std::uint32_t kReceives = 0xb000;  ///< Where Sends go: eight places for each jetty.
  static constexpr std::uint32_t kReceivePlaces = 8;
  static constexpr std::uint32_t kBytes = kReceives + kJetties * kReceivePlaces * kSlotBytes;
  static constexpr std::uint32_t kCapacity = 300;            ///< Of a receive.
  static constexpr std::uint32_t kReceiveDepth = 2;          ///< Receives of a jetty that wait in the NIC.
  static constexpr std::uint32_t kNotReadyAttempts = 3;      ///< So often a request is asked again.
  static constexpr std::uint32_t kToken = 0x1234'5670;       ///< Of segment i: kToken + i.
  static constexpr std::uint32_t kJettyToken = 0x6543'2100;  ///< Of every second jetty i: kJettyToken + i.
  static std::uint32_t slot(std::uint32_t jetty, std::uint32_t slot) {
    return (jetty * kSlots + slot) * kSlotBytes;
  }
  /// What a Send to the jetty must show; 0: anything.
  static std::uint32_t token_of(std::uint32_t jetty) { return jetty % 2 == 0 ? 0 : kJettyToken + jetty; }
};

}  // namespace wharf::rtl
