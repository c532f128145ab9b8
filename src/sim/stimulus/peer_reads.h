// SPDX-License-Identifier: Apache-2.0
// A device with two flows of reads: one gets from the host in batches, the other from a peer device as fast
// as that answers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/host/pcie/dma_engine.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

struct PeerReadsConfig {
  std::uint64_t reads = 1'000;  ///< Of the host, in all.
  std::uint64_t batch = 100;    ///< Of the host at once, and of the peer under way.
  TimePs pause;                 ///< Between the last answer of a batch and the next batch.
  std::uint32_t bytes = 64;     ///< Of each read.
  std::uint64_t host_address = 0;
  std::uint64_t peer_address = 0;
};

/// Stops the simulation with the last answer of the host.
class PeerReads final : public Component, public DmaClient {
 public:
  /// Without `peer_stream` the peer is left alone.
  PeerReads(Simulation& simulation, DmaEngine& engine, std::uint32_t host_stream,
            std::optional<std::uint32_t> peer_stream, const PeerReadsConfig& config)
      : simulation_(simulation),
        engine_(engine),
        host_stream_(host_stream),
        peer_stream_(peer_stream),
        config_(config) {
    simulation.add(*this, "flows");
    engine.connect(*this);
  }

  void start(TimePs now);
  void dma_done(TimePs now, std::uint32_t stream, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override;
  void handle(const Event& event) override { batch(event.time); }

  std::uint64_t host_reads() const { return host_reads_; }
  std::uint64_t peer_reads() const { return peer_reads_; }
  std::uint32_t bytes() const { return config_.bytes; }
  /// Until the last answer of the host.
  TimePs elapsed() const { return last_ - begin_; }

 private:
  void batch(TimePs now);
  void read(TimePs now, std::uint32_t stream, std::uint64_t address);

  Simulation& simulation_;
  DmaEngine& engine_;
  std::uint32_t host_stream_;
  std::optional<std::uint32_t> peer_stream_;
  PeerReadsConfig config_;
  std::uint64_t issued_ = 0;
  std::uint64_t host_reads_ = 0;
  std::uint64_t peer_reads_ = 0;
  TimePs begin_;
  TimePs last_;
};

}  // namespace wharf::sim
