// SPDX-License-Identifier: Apache-2.0
// Gets of items by a device beside a timed coherent host, without a protocol in between: readers behind the
// device, a core of the host that writes, and a third party that makes one line late.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "sim/host/config/coherent_setup.h"
#include "sim/host/pcie/dma_engine.h"
#include "sim/stimulus/dma_remote.h"
#include "sim/stimulus/get_outcome.h"
#include "workload/item_gets.h"

namespace wharf::sim {

struct DeviceGets {
  std::string name;                  ///< For messages.
  workload::ItemGetsConfig program;  ///< Of one queue pair; judged with the others.
  GetAnnotation annotation = GetAnnotation::kNone;
  SourceOrdering source = SourceOrdering::kNone;
  std::uint32_t queue_pairs = 1;
  /// Parties that keep one line of the item busy: half fetch and add zero, half read. The first change no
  /// word, but each takes the line to the device and leaves it in memory, and reads of the line wait for
  /// those before them: the line misses and is late while the others hit in the writer's cache.
  std::uint32_t third_parties = 0;
  std::uint32_t busy_line = 0;
  TimePs limit = kNever;  ///< A run that has not ended by then says so in `blocked`.
};

/// Refuses what the host refuses.
Result<GetOutcome> run_device_gets(const CoherentSetup& setup, const DeviceGets& asked, std::uint64_t seed);

}  // namespace wharf::sim
