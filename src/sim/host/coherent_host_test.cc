// SPDX-License-Identifier: Apache-2.0
// What one line costs on its way through a coherent host, to the picosecond: every figure is a sum of the
// profile's, written out.
#include "sim/host/coherent_host.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "sim/host/dma_engine.h"

namespace wharf::sim {
namespace {

/// One device and its completions.
class Rig : public DmaClient, public CoreCacheClient {
 public:
  explicit Rig(CoherentConfig config = {}, std::uint32_t cores = 1, const DmaConfig& dma = {}) {
    Result<std::unique_ptr<CoherentHost>> made = CoherentHost::create(simulation, config, cores, 1, 1);
    WHARF_CHECK(made.ok());
    host = std::move(made.value());
    host->observe_with(&observer);
    engine = std::make_unique<DmaEngine>(simulation, host->root_complex(), dma, "nic");
    engine->connect(*this);
    for (std::uint32_t i = 0; i < cores; ++i) host->core_cache(i).connect(*this);
    base = host->contents().allocate(mebibytes(4));
  }
  ~Rig() override { EXPECT_FALSE(observer.is_violated()) << observer.violation(); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

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
  std::vector<Done> done;
  std::vector<Done> cached;
};

CoherentConfig config_of(ordering::RlsqDesign design) {
  CoherentConfig config;
  config.root_complex.queue.design = design;
  config.ddr.refi = kTimeZero;
  return config;
}

// Link up 602 cycles, lookup 50, bus to memory 8, DRAM of a closed row 10 + 13.75 + 13.75 + 5 + 10 ns, bus
// back 2, answer 50, link down 600, and 4 cycles for the line's data: 1316 cycles of 333 ps and 52.5 ns.
TEST(CoherentHost, ReadOfALineFromAClosedRow) {
  Rig rig(config_of(ordering::RlsqDesign::kBaseline));
  rig.read(rig.engine->add_stream({}, SourceOrdering::kNone), 1, 0, 64);
  rig.run();
  ASSERT_EQ(rig.done.size(), 1U);
  EXPECT_EQ(rig.done[0].at.ps, 1316 * 333 + 52'500);
}

// The second line of the row finds it open: 13.75 ns less. Both lines are asked for at once: the second
// request leaves one cycle after the first (its header) and its data wait for the data bus of the DRAM.
TEST(CoherentHost, ReadOfALineFromAnOpenRow) {
  Rig rig(config_of(ordering::RlsqDesign::kBaseline));
  const std::uint32_t stream = rig.engine->add_stream({}, SourceOrdering::kNone);
  rig.read(stream, 1, 0, 64);
  rig.run();
  const TimePs begin = rig.simulation.now();
  rig.read(stream, 2, 64, 64);
  rig.run();
  ASSERT_EQ(rig.done.size(), 2U);
  EXPECT_EQ((rig.done[1].at - begin).ps, 1316 * 333 + 38'750);
}

// A line that a core has modified: instead of memory, a snoop that both levels and the bus between them
// answer (2 + 1 + 20 cycles) and the way back of 4: 602 + 50 + 27 + 4 + 50 + 600 cycles. The paper's text
// says 440 ns.
TEST(CoherentHost, ReadOfALineThatACoreHasModified) {
  Rig rig(config_of(ordering::RlsqDesign::kStrictBlocking));
  rig.write_line_in_cache(0, 0, 42);
  const TimePs begin = rig.simulation.now();
  std::uint64_t value = 0;
  rig.read(rig.engine->add_stream({}, SourceOrdering::kNone), 1, 0, 8, reinterpret_cast<std::byte*>(&value));
  rig.run();
  ASSERT_EQ(rig.done.size(), 1U);
  EXPECT_EQ(value, 42U);
  // Eight bytes take one cycle of the link, but the line's four on the bus.
  EXPECT_EQ((rig.done[0].at - begin).ps, (602 + 50 + 27 + 4 + 50 + 600) * 333);
}

}  // namespace
}  // namespace wharf::sim
