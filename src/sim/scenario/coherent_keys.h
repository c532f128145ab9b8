// SPDX-License-Identifier: Apache-2.0
// Keys of a coherent host and of the device behind its root complex: the single list that profiles fill.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/host/coherent_config.h"
#include "sim/host/dma_engine.h"
#include "sim/host/mmio_path.h"
#include "sim/scenario/binder.h"

namespace wharf::sim {

/// A coherent host with one device.
struct CoherentSetup {
  CoherentConfig host;
  DmaConfig dma;
  MmioConfig mmio;  ///< Its link is that of the host.
};

/// Binds every key of `setup`.
void bind_coherent(Binder& binder, CoherentSetup& setup);

/// Reads NAME.toml of `directory` and what it extends, then `overrides` ("key=value"). Refuses unknown keys
/// and what cannot be built.
Result<CoherentSetup> load_coherent(const std::filesystem::path& directory, const std::string& name,
                                    const std::vector<std::string>& overrides);

}  // namespace wharf::sim
