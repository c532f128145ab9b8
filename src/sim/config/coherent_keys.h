// SPDX-License-Identifier: Apache-2.0
// Keys of a coherent host and of the device behind its root complex: the single list that profiles fill.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/config/binder.h"
#include "sim/host/config/coherent_setup.h"

namespace wharf::sim {

/// What of the run decides about these keys.
struct CoherentKeyScope {
  bool has_link = true;       ///< The device is behind a link, not on the bus.
  bool judges_order = false;  ///< The run judges in which order accesses took effect.
};
/// Binds all but "mmio" and "dma.order": caches, bus, DRAM, link, root complex and DMA engine.
void bind_coherent_memory(Binder& binder, CoherentSetup& setup, const CoherentKeyScope& scope);
/// Binds every key of a study's host.
void bind_coherent(Binder& binder, CoherentSetup& setup);

/// Reads NAME.toml of `directory` and what it extends, then `overrides` ("key=value"). Refuses unknown keys
/// what cannot be built, and a profile that describes a part without one of its latencies.
Result<CoherentSetup> load_coherent(const std::filesystem::path& directory, const std::string& name,
                                    const std::vector<std::string>& overrides);

}  // namespace wharf::sim
