// SPDX-License-Identifier: Apache-2.0
// How a NIC reaches coherent memory: the accesses of an engine as requests on lines, through a DMA engine, a
// link and a root complex. The other way, memory_port.h, knows what a whole access costs; this one does not,
// it is told when it is done.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/ring.h"
#include "base/time.h"
#include "engine/contract.h"
#include "sim/host/config/coherent_setup.h"
#include "sim/host/memory/host_memory.h"
#include "sim/host/pcie/dma_engine.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// The NIC. Called from events of the port, which must not be called back from there.
class LinePortClient {
 public:
  virtual ~LinePortClient() = default;
  /// A write has left: the engine may forget it.
  virtual void line_access_sent(TimePs now, std::uint32_t slot) = 0;
  /// An access is complete; a write: performed. take() has the result.
  virtual void line_access_done(TimePs now, std::uint32_t slot) = 0;
};

/// Accesses of one stream of the engine are a stream of the DMA engine and an ordering domain of the queue.
///
/// With OrderPlace::kSource the port waits as the labels say: an acquire until it is complete, a release for
/// every earlier read, a read-release likewise, the lines of an ascending read for each other. Writes it
/// leaves to PCIe, which keeps them in order: a release among them is a strong write, and what an acquire
/// that is a write holds back is only what follows its performance.
class LinePort final : public DmaClient {
 public:
  /// Adds the DMA engine to the simulation under `name`. `requester` is that of the domains.
  LinePort(Simulation& simulation, RequestSink& sink, const CoherentSetup& setup, std::uint32_t requester,
           LinePortClient& client, HostMemory& memory, wire::PayloadPool& payloads, std::string name);

  /// Whether the range of `access`, which takes real bytes, can be accessed so.
  bool is_mapped(const engine::Access& access) const;
  /// Begins `access`, or lets it wait for its order. `slot` is free. The data of a write stay until it has
  /// left.
  void begin(TimePs now, std::uint32_t slot, const engine::Access& access);
  /// When the access of `slot`, which has begun, did.
  TimePs begun(std::uint32_t slot) const { return under_way_[slot].begun; }
  /// The result of an access that is done, and frees its slot. The data hold a reference that the caller
  /// releases.
  engine::AccessResult take(std::uint32_t slot);

  void dma_done(TimePs now, std::uint32_t stream, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override;
  void dma_sent(TimePs now, std::uint32_t stream, std::uint64_t ticket) override;

 private:
  struct UnderWay {
    engine::Access access;
    TimePs begun;
    std::uint32_t stream = 0;
    wire::BufferId buffer = wire::kNoBuffer;
    std::array<std::uint64_t, 2> old_value{};
  };
  struct Stream {
    std::uint32_t dma = 0;
    std::uint32_t dma_by_line =
        kNoSlot;                      ///< Its lines wait for each other; made when the first one needs it.
    std::uint32_t reads = 0;          ///< Under way: all that have an answer.
    std::uint32_t acquires = 0;       ///< Under way.
    std::uint64_t ascending_end = 0;  ///< Where the newest access ended, if it was an ascending read.
    Ring<std::uint32_t> waiting;      ///< Slots, in order.
  };

  Stream& find(std::uint64_t stream, std::uint32_t& index);
  bool order_allows(const Stream& stream, const engine::Access& access) const;
  void start(TimePs now, std::uint32_t slot);
  /// Where `access` goes: an entry that has no address lies in the scratch page.
  std::uint64_t address_of(const engine::Access& access) const;

  DmaEngine dma_;
  OrderPlace order_;
  std::uint32_t requester_;
  LinePortClient& client_;
  HostMemory& memory_;
  wire::PayloadPool& payloads_;
  std::uint64_t scratch_;  ///< A page for entries without an address.
  FlatMap index_;
  std::vector<Stream> streams_;
  std::vector<UnderWay> under_way_;  ///< By slot.
};

}  // namespace wharf::sim
