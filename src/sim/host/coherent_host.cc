// SPDX-License-Identifier: Apache-2.0
#include "sim/host/coherent_host.h"

#include <utility>

#include <fmt/format.h>

#include "base/random.h"

namespace wharf::sim {

Result<std::unique_ptr<CoherentHost>> CoherentHost::create(Simulation& simulation,
                                                           const CoherentConfig& config, std::uint32_t cores,
                                                           std::uint32_t root_complexes, std::uint64_t seed,
                                                           HostMemory* contents, const std::string& prefix) {
  WHARF_TRY(validate(config));
  if (root_complexes == 0 || cores + root_complexes > kMaxAgents)
    return input_error(
        fmt::format("{} cores and {} root complexes, expected at least one root complex and {} together",
                    cores, root_complexes, kMaxAgents));
  std::vector<CoherentMemory::AgentConfig> agents;
  for (std::uint32_t i = 0; i < cores; ++i) agents.push_back({config.core_cache.cache.credits, true, false});
  for (std::uint32_t i = 0; i < root_complexes; ++i)
    agents.push_back({RootComplex::agent_credits(config.root_complex), false, true});
  std::unique_ptr<CoherentHost> host(new CoherentHost(simulation, config, agents, seed, contents, prefix));
  for (std::uint32_t i = 0; i < cores; ++i) {
    host->caches_.push_back(std::make_unique<CoreCache>(simulation, host->memory_, static_cast<AgentId>(i),
                                                        config.core_cache,
                                                        fmt::format("{}cache{}", prefix, i)));
    host->caches_.back()->mirror_to(&host->memory_);
  }
  for (std::uint32_t i = 0; i < root_complexes; ++i) {
    Result<std::unique_ptr<RootComplex>> made = RootComplex::create(
        simulation, host->memory_, static_cast<AgentId>(cores + i), config,
        RandomStream(seed, "root_complex.passing").substream(i), fmt::format("{}root_complex{}", prefix, i));
    if (!made.ok()) return made.error();
    made.value()->mirror_to(&host->memory_);
    host->root_complexes_.push_back(std::move(made.value()));
  }
  return host;
}

void CoherentHost::observe_with(CoherenceObserver* observer) {
  for (const std::unique_ptr<CoreCache>& cache : caches_) cache->observe_with(observer);
  for (const std::unique_ptr<RootComplex>& complex : root_complexes_) complex->observe_with(observer);
}

}  // namespace wharf::sim
