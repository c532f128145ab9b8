// SPDX-License-Identifier: Apache-2.0
// Timing of PCIe between a NIC and the root complex: what a DMA read, a posted DMA write and an MMIO write
// cost, and in which order they become visible. [PCIe Base 5.0 2.4.1: posted requests pass in order, reads do
// not pass them.]
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/host/host_config.h"

namespace wharf::sim {

/// One PCIe link with its tags. Next-free-time arithmetic; calls come with non-decreasing `at`.
///
///   upstream    posted writes (header and data) and read requests (header), one after the other
///   downstream  completions with data, one after the other
/// MMIO writes are small and rare; they are ordered among themselves and take no room from completions.
class Pcie {
 public:
  Pcie(const PcieConfig& config, StageRounding rounding);

  /// DMA read of `bytes`, ready at `at`; returns when the last byte has reached the NIC. Each of its read
  /// requests waits for a tag. Reads complete in the order in which they were asked for.
  TimePs read(TimePs at, std::uint32_t bytes);

  /// A posted DMA write.
  struct Posted {
    TimePs accepted;  ///< The NIC may forget it.
    TimePs visible;   ///< Readers of host memory see it, and every write posted before it.
    TimePs begun;     ///< Later than asked for when a blocking NIC waits for the write before.
  };
  /// `landing` is what the destination adds before the write is visible (DRAM at a target; zero in the
  /// last-level cache).
  Posted write(TimePs at, std::uint32_t bytes, TimePs landing);

  /// MMIO write of the core, begun at `at`; returns when the NIC has it. The core does not wait.
  TimePs mmio_write(TimePs at);

 private:
  PcieConfig config_;
  StageRounding rounding_;
  TimePs upstream_free_;
  TimePs completions_free_;
  TimePs last_visible_;
  TimePs last_mmio_;
  std::vector<TimePs> tag_free_;  ///< When each tag was or will be given back; used in turn.
  std::size_t next_tag_ = 0;
};

}  // namespace wharf::sim
