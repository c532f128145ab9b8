// SPDX-License-Identifier: Apache-2.0
// A coherent host together with the device behind its root complex: what one profile describes.
#pragma once

#include <cstdint>

#include "sim/host/config/coherent_config.h"
#include "sim/host/config/dma_config.h"
#include "sim/host/config/mmio_config.h"

namespace wharf::sim {

/// Who keeps the order that a device's accesses ask for.
enum class OrderPlace : std::uint8_t {
  kDestination,  ///< The root complex, as far as its queue's design does: requests carry their labels.
  kSource,       ///< The device, which waits for completions; requests ask for no more than PCIe keeps today.
};

struct CoherentSetup {
  CoherentConfig host;
  DmaConfig dma;
  OrderPlace order = OrderPlace::kDestination;  ///< dma.order
  MmioConfig mmio;                              ///< Its link is that of the host.
};

}  // namespace wharf::sim
