// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/machines.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::sim {
namespace {

/// Unanswered requests of an agent; small, because the home keeps places for all of them.
constexpr std::uint32_t kCacheCredits = 4;
constexpr std::uint32_t kRootCredits = 12;

std::uint32_t host_threads(const LitmusProgram& program) {
  return static_cast<std::uint32_t>(std::count_if(program.agents.begin(), program.agents.end(),
                                                  [](const LitmusAgent& agent) { return !agent.is_device; }));
}

}  // namespace

PrivateCacheConfig litmus_cache_config(const LitmusSettings& settings) {
  return {
      .lines = {.level1_sets = 1, .level1_ways = 0, .level2_sets = 1, .level2_ways = settings.cache_lines},
      .misses = 2,
      .targets = 2,
      .evictions = 2,
      .credits = kCacheCredits};
}

HomeConfig litmus_home_config(const LitmusProgram& program) {
  HomeConfig config;
  config.directory_sets = 1;
  config.directory_ways = program.settings.directory_entries;
  config.credits.assign(host_threads(program), kCacheCredits);
  config.credits.insert(config.credits.end(), program.root_complexes(), kRootCredits);
  config.write_back_places = 4;
  return config;
}

RlsqAgent make_litmus_root(const LitmusProgram& program, LitmusDesign design, std::uint32_t number) {
  const LitmusSettings& settings = program.settings;
  ordering::RlsqConfig config;
  config.design = rlsq_design(design, settings);
  config.order = settings.order;
  config.entries = settings.entries;
  config.trackers = settings.trackers;
  config.posted_reserve = settings.posted_reserve;
  auto queue = ordering::Rlsq::create(config);
  WHARF_CHECK(queue.ok());
  const std::uint32_t lines = settings.trackers + settings.posted_reserve + kRootCredits;
  return RlsqAgent(std::move(*queue),
                   IoAgent(static_cast<AgentId>(host_threads(program) + number),
                           IoAgentConfig{.operations = 2 * lines, .lines = lines, .credits = kRootCredits}));
}

}  // namespace wharf::sim
