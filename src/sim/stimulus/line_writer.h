// SPDX-License-Identifier: Apache-2.0
// A core of a coherent host that writes to the lines that a device reads, and lines that are warm before it
// does.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/host/coherent_host.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// A core that stores a word to a random line of random items, never to the first line of one, again and
/// again.
class LineWriter final : public Component, public CoreCacheClient {
 public:
  /// At least `interval` from store to store, and never before the one before is done.
  LineWriter(Simulation& simulation, CoreCache& cache, std::uint64_t base, std::uint32_t item_bytes,
             std::uint32_t items, TimePs interval, std::uint64_t seed);

  void start() { simulation_.schedule(simulation_.now(), id(), id(), 0, 0); }
  void handle(const Event& event) override;
  void cache_done(TimePs now, const CacheAnswer& answer) override;
  std::uint64_t writes() const { return writes_; }

 private:
  Simulation& simulation_;
  CoreCache& cache_;
  std::uint64_t base_;
  std::uint32_t item_bytes_;
  std::uint32_t items_;
  TimePs interval_;
  RandomStream random_;
  TimePs begun_;
  std::uint64_t writes_ = 0;
};

/// Leaves every line of [base, base + bytes) modified in the caches of `core`, as far as they have room.
void warm_lines(Simulation& simulation, CoherentHost& host, std::uint32_t core, std::uint64_t base,
                std::uint64_t bytes);

}  // namespace wharf::sim
