// SPDX-License-Identifier: Apache-2.0
// The way of a core's stores to a device and of its loads there and back, timed: write-combining buffers, the
// way to the root complex, its buffer (and there or at the device a reorder buffer), the link. What is
// combined and ordered how is the affair of engine/ordering.
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
#include "sim/host/config/mmio_config.h"
#include "sim/host/pcie/device_link.h"
#include "sim/host/pcie/link_order.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// The program, and the device.
class MmioClient {
 public:
  virtual ~MmioClient() = default;
  /// What was refused may be tried again; or, after a fence, it is done.
  virtual void mmio_ready(TimePs now) = 0;
  /// The device has a write.
  virtual void mmio_arrived(TimePs now, const ordering::MmioOperation& write) = 0;
  /// The device answers a load: it fills the load's `data`.
  virtual void mmio_read(TimePs, ordering::MmioOperation&) {}
  /// The core has the answer.
  virtual void mmio_loaded(TimePs, const ordering::MmioOperation&) {}
};

/// What a fence waits for.
enum class MmioFence : std::uint8_t {
  kStores,  ///< sfence: the writes so far.
  kAll,     ///< mfence: the loads so far, too, and what has a number as far as the reorder buffer.
};

/// One core, one device. Numbered operations are numbered at the core, which never combines them, and pass
/// the reorder buffer; stores without numbers pass the write-combining buffers and go as they leave those.
///
/// Uncached accesses are strongly ordered: on the way to the root complex they pass nothing, and an uncached
/// store leaves when the one before has been answered; no later store leaves before it. A load first sends
/// off what the write-combining buffers hold. With an uncached one the core does nothing else until it has
/// the value ("Intel 64 and IA-32 Architectures Software Developer's Manual", volume 3A, 12.3). Below the
/// root complex a strong write passes no other, and a load pushes every write before it ahead of itself [PCIe
/// Base 5.0 2.4.1]. Choice: a load takes none of the entries that the root complex has for writes, or it
/// could block them. Stores of one core to the same bytes never change places between it and the root
/// complex: a thread sees its own stores.
class MmioPath final : public Component, public LinkOrderWaiter {
 public:
  /// Adds itself to the simulation. `seed` draws the spreads.
  MmioPath(Simulation& simulation, const MmioConfig& config, std::uint64_t seed, std::string name);

  void connect(MmioClient& client) { client_ = &client; }

  /// The device's own requests travel on the same link, and answers stay behind writes, both ways. Choice: a
  /// way whose stores pass each other (link_spread) stands for one without order, down which answers pass
  /// stores as well.
  void share_link(LinkOrder& order) {
    order_ = &order;
    order.connect_loads(*this);
  }

  /// A store, within one line. False: no buffer or number is free; mmio_ready() will be called.
  bool store(TimePs now, const ordering::MmioOperation& operation);
  /// A load, within one line. False as for store(). mmio_loaded() brings the answer, with the load's tag.
  bool load(TimePs now, const ordering::MmioOperation& operation);
  /// mmio_ready() when every write so far has been taken by the root complex and it has said so, and with
  /// kAll every load so far has its value and the reorder buffer has handed on what has a number.
  void fence(TimePs now, MmioFence kind = MmioFence::kStores);
  bool fencing() const { return fence_.has_value(); }
  /// An uncached store has not been taken by the root complex: no later store may be seen before it, to host
  /// memory either (volume 3A, 9.2.2).
  bool holds_stores() const { return uncached_awaited_ || combining_.uncached_waiting() > 0; }
  /// The device has room again for one more write; only where there are link credits.
  void write_taken(TimePs now);
  bool is_idle() const { return flying_.in_use() == 0 && combining_.drained() && loads_ == 0; }

  void handle(const Event& event) override;
  void writes_arrived(TimePs now) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t {
    kAtRoot,
    kLeavesRoot,
    kAtDevice,
    kCredit,
    kAnswered,  ///< argument: kNumbered, kCombined or kUncached.
    kTaken,     ///< A credit of the link is back.
    kLoadBack,  ///< An answer is at the root complex.
    kLoaded,
    kWayFree,
  };
  enum Answered : std::uint32_t { kNumbered, kCombined, kUncached };

  bool send_numbered(TimePs now, const ordering::MmioOperation& operation);
  void send_from_core(TimePs now);
  bool may_leave_core(TimePs now);
  void leave_core(TimePs now, const ordering::MmioOperation& operation);
  TimePs behind_own_bytes(TimePs now, TimePs at, const ordering::MmioOperation& operation);
  void take_at_root(TimePs now);
  void enter_root(TimePs now, std::uint32_t slot);
  void reorder_out(TimePs now);
  void leave_root(TimePs now);
  void at_device(TimePs now, std::uint32_t slot);
  void deliver(TimePs now, ordering::MmioOperation operation);
  bool is_held_by_load(std::uint32_t thread) const {
    return uncached_load_ || sequencer_.holds_host_memory(thread);
  }
  bool asks_for(const ordering::MmioOperation& store) const;
  void give_credits(TimePs now);
  void loaded(TimePs now, std::uint32_t slot);
  bool keeps_order_below() const { return config_.link_spread == kTimeZero; }
  bool all_acknowledged() const;
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
  DeviceLink link_;
  RandomStream random_;
  MmioClient* client_ = nullptr;
  SlotPool<ordering::MmioOperation> flying_;
  SlotPool<ordering::MmioCredit> credits_;
  Ring<std::uint32_t> at_root_;   ///< Writes that the root complex has not taken, in order of arrival.
  std::uint32_t on_the_way_ = 0;  ///< Left the core, not taken by the root complex.
  std::uint32_t in_root_ = 0;
  Ring<std::uint32_t> before_link_;  ///< Operations that are through the root complex and lack a credit.
  std::uint32_t on_link_ = 0;        ///< Writes that hold a credit.
  std::uint32_t answers_awaited_ = 0;
  bool uncached_awaited_ = false;                         ///< Of those, one of an uncached store.
  std::uint32_t loads_ = 0;                               ///< Without a value.
  bool uncached_load_ = false;                            ///< One of them is uncached: the core waits.
  std::optional<ordering::MmioOperation> load_to_leave_;  ///< It waits behind stores that have not left.
  bool refused_ = false;
  std::optional<MmioFence> fence_;
  TimePs way_free_;         ///< When the next operation may leave the core.
  bool way_wakes_ = false;  ///< kWayFree is under way.
  /// A store that has not reached the root complex, where ways differ in length.
  struct OnTheWay {
    TimePs at;
    std::uint64_t address;
    std::uint16_t device;
    std::uint8_t length;
  };
  std::vector<OnTheWay> ways_;
  std::vector<OnTheWay> asking_;  ///< Numbered loads that have left and not reached the device, oldest first.
  LinkOrder* order_ = nullptr;    ///< Null: the device sends nothing on this link.
  struct Answer {
    std::uint32_t slot;
    std::uint64_t requests;  ///< Of the device, sent before it.
    bool is_there;           ///< At the core but for the writes among these.
  };
  std::vector<Answer> answers_;     ///< Of loads, on their way to the core; only with order_.
  TimePs last_uncached_at_root_;    ///< Latest arrival there of an uncached store ...
  TimePs last_unnumbered_at_root_;  ///< ... or of any store without a number.
  TimePs last_at_root_;             ///< Latest arrival there of what has left the core.
  TimePs last_at_device_;           ///< Latest arrival there of what has left the root complex.
};

}  // namespace wharf::sim
