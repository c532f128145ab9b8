// SPDX-License-Identifier: Apache-2.0
// The device of the ordered-read experiments (ASPLOS '26, 6.3 and 6.5): queue pairs that get one item over
// and over, in batches with a pause between them, by DMA alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/host/coherent_host.h"
#include "sim/host/pcie/dma_engine.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// What the queue pairs do.
/// The network link on which a device answers READs. What has been read waits for it; a device that holds
/// more than its buffer reads no further.
struct AnswerLink {
  BitsPerSecond rate{0};                ///< 0: answers take no time.
  std::uint32_t packet_payload = 4096;  ///< Bytes.
  std::uint32_t packet_overhead = 86;   ///< Ethernet with preamble and gap, IPv4, UDP, BTH, AETH, ICRC.
  Bytes buffer{16384};
};

struct GetLoad {
  SourceOrdering ordering = SourceOrdering::kNone;
  std::uint32_t queue_pairs = 1;
  std::uint32_t item_bytes = 64;  ///< A multiple of 64.
  bool rereads_header = true;     ///< Validation; otherwise Single Read.
  std::uint32_t batch = 100;      ///< Gets between pauses, over all queue pairs.
  TimePs pause = microseconds(1);
  std::uint64_t gets = 10'000;  ///< In all.
  AnswerLink link{};
};

/// The load, from its first get to its last. Without order at the source, the gets of a batch are asked for
/// at once, and the next batch a pause after its last get is complete. A source that orders asks for a get
/// when the one before on its queue pair is complete; whoever completes a batch pauses, the others go on.
class GetDevice final : public Component, public DmaClient {
 public:
  GetDevice(Simulation& simulation, DmaEngine& engine, const GetLoad& load, std::uint64_t item, TimePs issue);

  void start();
  void dma_done(TimePs now, std::uint32_t stream, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override;
  void handle(const Event& event) override;

  std::uint64_t completed() const { return completed_; }
  TimePs last_completion() const { return last_completion_; }

 private:
  void get(TimePs now, std::uint32_t stream);
  void start_batch(TimePs now);
  /// An answer of so many bytes enters the link; returns when the device may go on.
  TimePs send(TimePs now, std::uint32_t bytes);

  Simulation& simulation_;
  DmaEngine& engine_;
  GetLoad load_;
  std::uint64_t item_;
  TimePs issue_;
  std::uint64_t issued_ = 0;
  std::uint64_t completed_ = 0;
  TimePs last_completion_;
  TimePs link_free_;
};

}  // namespace wharf::sim
