// SPDX-License-Identifier: Apache-2.0
// A device that keeps so many gets under way, each of them accesses in phases with labels of their own. Apart
// from GetDevice, which has the batches and pauses of a paper.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/host/pcie/dma_engine.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

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
  SourceOrdering source = SourceOrdering::kNone;
  std::uint32_t queue_pairs = 1;
  std::uint32_t outstanding = 1;  ///< Gets under way, over all queue pairs.
  std::uint32_t items = 1;        ///< Taken in turn.
  std::uint32_t item_bytes = 64;  ///< From one item to the next.
  std::uint64_t gets = 1'000;     ///< In all.
};

/// Gets item after item; stops the simulation after the last.
class GetLoop final : public DmaClient {
 public:
  /// `sinks` are the ports, at least one; items begin at `base`.
  GetLoop(Simulation& simulation, const std::vector<RequestSink*>& sinks, const DmaConfig& dma,
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

  Simulation& simulation_;
  GetLoopConfig config_;
  std::uint64_t base_;
  std::uint32_t ports_;
  DmaEngine engine_;
  std::vector<Get> gets_;  ///< By slot; a slot is on one queue pair.
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  TimePs begin_;
  TimePs last_;
};

}  // namespace wharf::sim
