// SPDX-License-Identifier: Apache-2.0
// A device that keeps so many gets under way, each of them accesses in phases with labels of their own, and a
// core that writes to what it reads. Apart from GetDevice, which has the batches and pauses of the paper.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "sim/host/coherent_host.h"
#include "sim/host/pcie/dma_engine.h"
#include "sim/kernel/simulation.h"

namespace wharf::study {

/// One access of a get.
struct GetPart {
  std::uint32_t offset = 0;  ///< Bytes from the begin of the item.
  std::uint32_t length = 64;
  wharf::ordering::Label label = wharf::ordering::Label::kRelaxed;
  std::uint32_t phase = 0;  ///< Sent when all parts of the phase before are answered. Ascending.
  std::uint32_t port = 0;   ///< Which of the loop's sinks.
  bool is_atomic = false;   ///< A fetch-and-add of 0, of 8 bytes.
};

struct GetLoopConfig {
  std::vector<GetPart> parts;
  sim::SourceOrdering source = sim::SourceOrdering::kNone;
  std::uint32_t queue_pairs = 1;
  std::uint32_t outstanding = 1;  ///< Gets under way, over all queue pairs.
  std::uint32_t items = 1;        ///< Taken in turn.
  std::uint32_t item_bytes = 64;  ///< From one item to the next.
  std::uint64_t gets = 1'000;     ///< In all.
};

/// Gets item after item; stops the simulation after the last.
class GetLoop final : public sim::DmaClient {
 public:
  /// `sinks` are the ports, at least one; items begin at `base`.
  GetLoop(sim::Simulation& simulation, const std::vector<sim::RequestSink*>& sinks, const sim::DmaConfig& dma,
          const GetLoopConfig& config, std::uint64_t base);

  void start();
  void dma_done(TimePs now, std::uint32_t stream, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override;

  bool is_complete() const { return done_ == config_.gets; }
  TimePs elapsed() const { return last_ - begin_; }
  double million_gets_per_second() const;
  double gigabytes_per_second() const { return million_gets_per_second() * config_.item_bytes * 1e-3; }

 private:
  struct Get {
    std::uint64_t item = 0;
    std::uint32_t next = 0;  ///< Part.
    std::uint32_t pending = 0;
  };

  void begin_get(TimePs now, std::uint32_t slot);
  void send_phase(TimePs now, std::uint32_t slot);

  sim::Simulation& simulation_;
  GetLoopConfig config_;
  std::uint64_t base_;
  std::uint32_t ports_;
  sim::DmaEngine engine_;
  std::vector<Get> gets_;  ///< By slot; a slot is on one queue pair.
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  TimePs begin_;
  TimePs last_;
};

/// A core that stores a word to a random line of random items, never to the first line of one, again and
/// again.
class LineWriter final : public sim::Component, public sim::CoreCacheClient {
 public:
  /// At least `interval` from store to store, and never before the one before is done.
  LineWriter(sim::Simulation& simulation, sim::CoreCache& cache, std::uint64_t base, std::uint32_t item_bytes,
             std::uint32_t items, TimePs interval, std::uint64_t seed);

  void start() { simulation_.schedule(simulation_.now(), id(), id(), 0, 0); }
  void handle(const sim::Event& event) override;
  void cache_done(TimePs now, const sim::CacheAnswer& answer) override;
  std::uint64_t writes() const { return writes_; }

 private:
  sim::Simulation& simulation_;
  sim::CoreCache& cache_;
  std::uint64_t base_;
  std::uint32_t item_bytes_;
  std::uint32_t items_;
  TimePs interval_;
  RandomStream random_;
  TimePs begun_;
  std::uint64_t writes_ = 0;
};

/// Leaves every line of [base, base + bytes) modified in the caches of `core`, as far as they have room.
void warm_lines(sim::Simulation& simulation, sim::CoherentHost& host, std::uint32_t core, std::uint64_t base,
                std::uint64_t bytes);

}  // namespace wharf::study
