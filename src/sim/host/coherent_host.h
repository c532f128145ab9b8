// SPDX-License-Identifier: Apache-2.0
// A host whose memory is coherent down to the line: private caches of its cores, home and DRAM, a root
// complex with its ordering queue, put together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/host/coherent/coherent_memory.h"
#include "sim/host/coherent/core_cache.h"
#include "sim/host/config/coherent_config.h"
#include "sim/host/memory/host_memory.h"
#include "sim/host/pcie/root_complex.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// Agents are numbered: the caches of the cores, then the root complexes.
class CoherentHost {
 public:
  /// `cores` and `root_complexes` together at most kMaxAgents; at least one root complex. Adds all parts to
  /// the simulation, which outlives the host, and names them behind `prefix`. The bytes are those of
  /// `contents`, which outlives it too; without, they are its own.
  static Result<std::unique_ptr<CoherentHost>> create(Simulation& simulation, const CoherentConfig& config,
                                                      std::uint32_t cores, std::uint32_t root_complexes,
                                                      std::uint64_t seed, HostMemory* contents = nullptr,
                                                      const std::string& prefix = "");

  HostMemory& contents() { return contents_; }
  CoherentMemory& memory() { return memory_; }
  CoreCache& core_cache(std::uint32_t core) { return *caches_[core]; }
  RootComplex& root_complex(std::uint32_t number = 0) { return *root_complexes_[number]; }
  std::uint32_t cores() const { return static_cast<std::uint32_t>(caches_.size()); }
  /// Every agent reports to it from now on.
  void observe_with(CoherenceObserver* observer);

 private:
  CoherentHost(Simulation& simulation, const CoherentConfig& config,
               const std::vector<CoherentMemory::AgentConfig>& agents, std::uint64_t seed,
               HostMemory* contents, const std::string& prefix)
      : contents_(contents != nullptr ? *contents : own_contents_),
        memory_(simulation, config, agents, contents_, seed, prefix + "memory") {}

  HostMemory own_contents_;
  HostMemory& contents_;
  CoherentMemory memory_;
  std::vector<std::unique_ptr<CoreCache>> caches_;
  std::vector<std::unique_ptr<RootComplex>> root_complexes_;
};

}  // namespace wharf::sim
