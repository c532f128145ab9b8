// SPDX-License-Identifier: Apache-2.0
// Parameters of the way of a core's stores to a device.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/ordering/mmio_rob.h"
#include "engine/ordering/mmio_sequencer.h"
#include "engine/ordering/write_combining.h"
#include "sim/host/config/coherent_config.h"

namespace wharf::sim {

/// Where numbered stores are put in order.
enum class MmioOrderPlace : std::uint8_t { kRootComplex, kDevice };

/// Keys mmio.*. Defaults: "Efficient Remote Memory Ordering for Non-Coherent Interconnects", Table 3.
struct MmioConfig {
  TimePs cycle = picoseconds(333);
  std::uint32_t store_cycles = 8;  ///< A line of stores, eight bytes each; it leaves with the last of them.
  std::uint32_t fence_cycles =
      6;  ///< sfence itself, beside what it waits for (Agner Fog, Instruction tables).
  std::uint32_t down_cycles = 31;  ///< Core to root complex: level 1, bus, level 2, memory bus.
  std::uint32_t up_cycles = 25;    ///< The way back of the root complex's response.
  TimePs spread = kTimeZero;       ///< A write may take up to so much longer: the way has many paths.
  TimePs way_gap = kTimeZero;      ///< Between two operations that leave the core; 0 is unlimited.
  std::uint32_t way_entries =
      16;  ///< Writes that have left the core and that the root complex has not taken.
  TimePs root_complex = nanoseconds(60);
  std::uint32_t root_complex_entries = 16;       ///< Writes inside the root complex.
  TimePs root_complex_answer = nanoseconds(60);  ///< What a load's answer takes there.
  TimePs device = nanoseconds(10);  ///< From the link until the device has a write, or answers a load.
  /// Writes on the link that the device has not taken (MmioPath::write_taken); 0 is unlimited.
  std::uint32_t link_credits = 0;
  TimePs link_spread = kTimeZero;  ///< As `spread`, for the link: its writes may pass each other.
  MmioOrderPlace place = MmioOrderPlace::kRootComplex;
  ordering::WriteCombiningConfig combining;
  ordering::MmioSequencerConfig sequencer;
  ordering::MmioRobConfig reorder;
  IoLinkConfig link;
};

}  // namespace wharf::sim
