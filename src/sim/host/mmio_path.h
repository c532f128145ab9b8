// SPDX-License-Identifier: Apache-2.0
// The way of a core's stores to a device, timed: write-combining buffers, the way to the root complex, its
// buffer (and there or at the device a reorder buffer), the link. What is combined and ordered how is the
// affair of engine/ordering.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/ordering/mmio_rob.h"
#include "engine/ordering/mmio_sequencer.h"
#include "engine/ordering/write_combining.h"
#include "sim/host/coherent_config.h"
#include "sim/host/message_lane.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// Where numbered stores are put in order.
enum class MmioOrderPlace : std::uint8_t { kRootComplex, kDevice };

/// Keys mmio.*. Defaults: "Efficient Remote Memory Ordering for Non-Coherent Interconnects", Table 3.
struct MmioConfig {
  TimePs cycle = picoseconds(333);
  std::uint32_t store_cycles = 8;  ///< A line of stores, eight bytes each; it leaves with the last of them.
  std::uint32_t fence_cycles =
      6;  ///< sfence itself, beside what it waits for (Agner Fog, Instruction tables).
  std::uint32_t down_cycles = 31;  ///< Core to root complex: level 1, bus, level 2, memory bus.
  std::uint32_t up_cycles = 25;    ///< The way back of the root complex's response.
  TimePs spread = kTimeZero;       ///< A write may take up to so much longer: the way has many paths.
  std::uint32_t way_entries =
      16;  ///< Writes that have left the core and that the root complex has not taken.
  TimePs root_complex = nanoseconds(60);
  std::uint32_t root_complex_entries = 16;  ///< Writes inside the root complex.
  TimePs device = nanoseconds(10);          ///< From the link until the device has a write.
  TimePs link_spread = kTimeZero;           ///< As `spread`, for the link: its writes may pass each other.
  MmioOrderPlace place = MmioOrderPlace::kRootComplex;
  ordering::WriteCombiningConfig combining;
  ordering::MmioSequencerConfig sequencer;
  ordering::MmioRobConfig reorder;
  IoLinkConfig link;
};

/// The program, and the device.
class MmioClient {
 public:
  virtual ~MmioClient() = default;
  /// What was refused may be tried again; or, after a fence, it is done.
  virtual void mmio_ready(TimePs now) = 0;
  /// The device has a write.
  virtual void mmio_arrived(TimePs now, const ordering::MmioOperation& write) = 0;
};

/// One core, one device, writes only. Numbered stores (kStore, kRelease) are numbered at the core, which
/// never combines them, and pass the reorder buffer; all others pass the write-combining buffers and go as
/// they leave those.
class MmioPath final : public Component {
 public:
  /// Adds itself to the simulation. `seed` draws the spreads.
  MmioPath(Simulation& simulation, const MmioConfig& config, std::uint64_t seed, std::string name);

  void connect(MmioClient& client) { client_ = &client; }

  /// A store, within one line. False: no buffer or number is free; mmio_ready() will be called.
  bool store(TimePs now, const ordering::MmioOperation& operation);
  /// sfence: mmio_ready() when every write so far has been taken by the root complex and it has said so.
  void fence(TimePs now);
  bool fencing() const { return fencing_; }
  bool is_idle() const { return flying_.in_use() == 0 && combining_.drained(); }

  void handle(const Event& event) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kAtRoot, kLeavesRoot, kAtDevice, kCredit, kAnswered };

  void send_from_core(TimePs now);
  void leave_core(TimePs now, const ordering::MmioOperation& write);
  void take_at_root(TimePs now);
  void enter_root(TimePs now, std::uint32_t slot);
  void reorder_out(TimePs now);
  void leave_root(TimePs now, std::uint32_t slot);
  void deliver(TimePs now, const ordering::MmioOperation& write);
  void give_credits(TimePs now);
  void look_ready(TimePs now);
  TimePs draw(TimePs most) {
    return most == kTimeZero
               ? kTimeZero
               : TimePs{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.ps) + 1))};
  }
  TimePs cycles(std::uint32_t count) const { return config_.cycle * count; }
  bool reorders_at(MmioOrderPlace place, ordering::MmioKind kind) const {
    return config_.place == place && ordering::is_numbered(kind);
  }

  Simulation& simulation_;
  MmioConfig config_;
  ordering::WriteCombining combining_;
  ordering::MmioSequencer sequencer_;
  ordering::MmioRob reorder_;
  MessageLane link_;
  RandomStream random_;
  MmioClient* client_ = nullptr;
  SlotPool<ordering::MmioOperation> flying_;
  SlotPool<ordering::MmioCredit> credits_;
  Ring<std::uint32_t> at_root_;   ///< Writes that the root complex has not taken, in order of arrival.
  std::uint32_t on_the_way_ = 0;  ///< Left the core, not taken by the root complex.
  std::uint32_t in_root_ = 0;
  std::uint32_t answers_awaited_ = 0;
  bool refused_ = false;
  bool fencing_ = false;
  TimePs last_in_order_;  ///< Arrival of the newest write at the device, when the link keeps its order.
};

}  // namespace wharf::sim
