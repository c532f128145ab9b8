// SPDX-License-Identifier: Apache-2.0
// One random life of a small coherent memory. Apart because the sound machines and those with deliberate
// mistakes both live it.
#pragma once

#include <string>

#include "base/random.h"
#include "sim/coherence/coherence_world_test_support.h"

namespace wharf::sim {

/// What many lives have met, so that a test can tell that they were worth living.
struct CoherenceTotals {
  std::uint64_t recalls = 0;
  std::uint64_t way_waits = 0;
  std::uint64_t overtaken_data = 0;
  std::uint64_t deferred_snoops = 0;
  std::uint64_t lost_upgrades = 0;
  std::uint64_t write_backs = 0;
  std::uint64_t cache_supplies = 0;
  std::uint64_t stale_puts = 0;
  std::uint64_t drops = 0;
  std::uint64_t late_drops = 0;
  std::uint64_t spurious_invalidations = 0;
  std::uint64_t flight_invalidations = 0;
  std::uint64_t stolen_ownerships = 0;
  std::uint64_t device_writes = 0;
  std::uint64_t deliveries = 0;
};

inline CoherenceStep random_core_step(RandomStream& random, std::uint32_t lines, std::uint64_t value) {
  using Kind = CoherenceStep::Kind;
  static constexpr std::array kKinds = {Kind::kLoad,  Kind::kLoad, Kind::kLoad,         Kind::kStore,
                                        Kind::kStore, Kind::kAdd,  Kind::kLoadUncached, Kind::kFlush};
  return CoherenceStep{.kind = kKinds[random.below(kKinds.size())],
                       .line = random.below(lines),
                       .word = static_cast<std::uint32_t>(random.below(7)),
                       .value = value};
}

inline CoherenceStep random_device_step(RandomStream& random, std::uint32_t lines, std::uint64_t value) {
  using Kind = CoherenceStep::Kind;
  static constexpr std::array kKinds = {Kind::kRead,      Kind::kReadPair,  Kind::kReadPair, Kind::kWrite,
                                        Kind::kHeldWrite, Kind::kHeldWrite, Kind::kAdd};
  CoherenceStep step{.kind = kKinds[random.below(kKinds.size())],
                     .line = random.below(lines),
                     .word = static_cast<std::uint32_t>(random.below(7)),
                     .value = value};
  step.other = (step.line + 1 + random.below(lines - 1)) % lines;
  // Whole-line writes would undo additions: they have a line of their own.
  if (random.below(4) == 0) {
    step.kind = Kind::kWriteLine;
    step.line = lines - 1;
  }
  return step;
}

/// `steps` accesses from three cores and a device on 4 to 8 lines, then rest. What went wrong, or empty.
inline std::string run_random_coherence(std::uint64_t seed, std::uint32_t steps, CoherenceTotals& totals) {
  RandomStream random(seed, "coherence");
  CoherenceWorldConfig config;
  config.drops = static_cast<DropNotice>(seed % kDropNoticeCount);
  config.caches = 3;
  config.devices = 1;
  config.lines = 4 + static_cast<std::uint32_t>(random.below(5));
  config.directory_sets = 1U << random.below(2);
  config.directory_ways = 1 + static_cast<std::uint32_t>(random.below(3));
  config.write_back_places = static_cast<std::uint32_t>(random.below(3));
  config.credits = 1 + static_cast<std::uint32_t>(random.below(4));
  config.caches_supply = random.below(2) == 0;
  config.cache.lines.level2_ways = 1 + static_cast<std::uint32_t>(random.below(4));
  config.cache.lines.level1_ways = static_cast<std::uint32_t>(random.below(2));
  config.order_per_line = random.below(2) == 0;
  CoherenceWorld world(config);
  std::uint64_t value = 1;
  std::uint32_t done = 0;
  std::uint32_t deliveries = 0;
  // How often a core acts before messages move decides how much is under way at a time.
  const std::uint64_t eagerness = 1 + random.below(4);
  // One channel is slower than the others, so that they overtake it.
  const auto slow_channel =
      static_cast<std::uint32_t>(random.below((config.caches + config.devices) * 4 + 2));
  while ((done < steps || !world.is_quiet() || world.device_holds(0)) && world.fault().empty()) {
    const bool may_act = done < steps;
    if (may_act && (world.is_quiet() || random.below(8) < eagerness)) {
      const auto agent = static_cast<std::uint32_t>(random.below(config.caches + config.devices));
      ++value;
      if (agent < config.caches) {
        CoherenceStep step = random_core_step(random, config.lines, value);
        if (step.kind == CoherenceStep::Kind::kAdd && step.line == config.lines - 1) step.line = 0;
        done += world.core_step(agent, value, step) ? 1 : 0;
      } else if (world.device_is_idle(agent - config.caches)) {
        CoherenceStep step = random_device_step(random, config.lines, value);
        if (step.kind == CoherenceStep::Kind::kAdd && step.line == config.lines - 1) step.line = 0;
        world.device_step(agent - config.caches, step);
        ++done;
      } else if (world.device_holds(agent - config.caches)) {
        world.device_write(agent - config.caches);
      }
      if (world.is_quiet() && !world.is_finished() && !world.device_holds(0))
        return "stuck while accesses wait";
      continue;
    }
    if (world.is_quiet() && world.device_holds(0)) world.device_write(0);
    if (!world.is_quiet()) {
      auto choice = static_cast<std::uint32_t>(random.below(world.choices()));
      if (world.channel_of(choice) == slow_channel)
        choice = static_cast<std::uint32_t>(random.below(world.choices()));
      if (world.channel_of(choice) == slow_channel)
        choice = static_cast<std::uint32_t>(random.below(world.choices()));
      world.deliver(choice);
    }
    if (++deliveries > 200 * steps) return "accesses go on for ever";
  }
  if (!world.fault().empty()) return world.fault();
  if (!world.is_finished()) return "stuck at the end while accesses wait";
  world.check_at_rest();
  const HomeStatistics& home = world.home().statistics();
  totals.recalls += home.recalls;
  totals.way_waits += home.way_waits;
  totals.lost_upgrades += home.lost_upgrades;
  totals.cache_supplies += home.cache_supplies;
  totals.stale_puts += home.stale_puts;
  totals.drops += home.drops;
  totals.late_drops += home.late_drops;
  totals.spurious_invalidations += world.io_agent(0).statistics().spurious_invalidations;
  totals.deliveries += deliveries;
  for (std::uint32_t i = 0; i < config.caches; ++i) {
    totals.overtaken_data += world.cache(i).statistics().overtaken_data;
    totals.deferred_snoops += world.cache(i).statistics().deferred_snoops;
    totals.write_backs += world.cache(i).statistics().write_backs;
  }
  totals.flight_invalidations += world.io_agent(0).statistics().flight_invalidations;
  totals.stolen_ownerships += world.io_agent(0).statistics().stolen_ownerships;
  totals.device_writes += world.io_agent(0).statistics().writes;
  return world.fault();
}

}  // namespace wharf::sim
