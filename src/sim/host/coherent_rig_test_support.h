// SPDX-License-Identifier: Apache-2.0
// A coherent host with one device and an observer of its memory, for tests of what accesses cost.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "sim/coherence/coherence_observer.h"
#include "sim/host/coherent_host.h"
#include "sim/host/pcie/dma_engine.h"

namespace wharf::sim {

/// One device and its completions. The test fails if a wrong value was ever read.
class CoherentRig : public DmaClient, public CoreCacheClient {
 public:
  explicit CoherentRig(CoherentConfig config = {}, std::uint32_t cores = 1, const DmaConfig& dma = {}) {
    Result<std::unique_ptr<CoherentHost>> made = CoherentHost::create(simulation, config, cores, 1, 1);
    WHARF_CHECK(made.ok());
    host = std::move(made.value());
    host->observe_with(&observer);
    engine = std::make_unique<DmaEngine>(simulation, host->root_complex(), dma, "nic");
    engine->connect(*this);
    for (std::uint32_t i = 0; i < cores; ++i) host->core_cache(i).connect(*this);
    base = host->contents().allocate(mebibytes(4));
  }
  ~CoherentRig() override { EXPECT_FALSE(observer.is_violated()) << observer.violation(); }
  CoherentRig(const CoherentRig&) = delete;
  CoherentRig& operator=(const CoherentRig&) = delete;

  void dma_done(TimePs now, std::uint32_t, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>&) override {
    done.push_back({ticket, now});
  }
  void cache_done(TimePs now, const CacheAnswer& answer) override { cached.push_back({answer.ticket, now}); }
  void run() { simulation.run_until(kNever - picoseconds(1)); }
  void read(std::uint32_t stream, std::uint64_t ticket, std::uint64_t offset, std::uint32_t length,
            std::byte* bytes = nullptr) {
    DmaAccess access;
    access.ticket = ticket;
    access.address = base + offset;
    access.length = length;
    access.bytes = bytes;
    engine->start(simulation.now(), stream, access);
  }
  /// A core stores 8 bytes and has the line modified.
  void write_line_in_cache(std::uint32_t core, std::uint64_t offset, std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    std::memcpy(bytes.data(), &value, 8);
    host->core_cache(core).store(simulation.now(), 0, base + offset, bytes);
    run();
  }

  struct Done {
    std::uint64_t ticket;
    TimePs at;
  };
  Simulation simulation;
  CoherenceObserver observer;
  std::unique_ptr<CoherentHost> host;
  std::unique_ptr<DmaEngine> engine;
  std::uint64_t base = 0;
  std::vector<Done> done;    ///< Of the device.
  std::vector<Done> cached;  ///< Of the cores.
};

/// The published host with another ordering queue, and without refresh, which comes when it wants.
inline CoherentConfig config_of(ordering::RlsqDesign design) {
  CoherentConfig config;
  config.root_complex.queue.design = design;
  config.ddr.refi = kTimeZero;
  return config;
}

}  // namespace wharf::sim
