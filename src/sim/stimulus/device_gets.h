// SPDX-License-Identifier: Apache-2.0
// Gets of items by a device beside a timed coherent host, without a protocol in between: readers behind the
// device, and a core of the host that writes.
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
  TimePs limit = kNever;  ///< A run that has not ended by then says so in `blocked`.
};

/// Refuses what the host refuses.
Result<GetOutcome> run_device_gets(const CoherentSetup& setup, const DeviceGets& asked, std::uint64_t seed);

}  // namespace wharf::sim
