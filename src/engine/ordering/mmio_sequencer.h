// SPDX-License-Identifier: Apache-2.0
// Gives the MMIO operations of a core's threads their numbers and keeps them within what the reorder buffer
// can hold. Apart from the reorder buffer, because it stands at the core.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "engine/ordering/mmio_fence.h"
#include "engine/ordering/mmio_numbering.h"
#include "engine/ordering/mmio_operation.h"
#include "engine/ordering/mmio_rob.h"

namespace wharf::ordering {

/// What a release or fence covers when every device has a counter of its own.
enum class OrderReach : std::uint8_t {
  kOneDevice,   ///< Earlier operations to the same device.
  kAllDevices,  ///< Every earlier operation: those to other devices are waited for at the core.
};

struct MmioSequencerConfig {
  MmioNumbering numbering;
  /// Numbers ahead of the last credit up to which a store, a release, a load may be sent. With windows no
  /// larger than the buffer's entries_per_network nothing ever overflows.
  std::array<std::uint32_t, kMmioNetworks> windows{16, 16, 16};
  OrderReach reach = OrderReach::kAllDevices;
};

/// Why an operation cannot be sent now.
enum class IssueBlock : std::uint8_t {
  kNone,
  kAcquire,      ///< An MMIO-Acquire of the thread is outstanding.
  kHostStores,   ///< A release waits for the thread's host stores.
  kOtherDevice,  ///< A release waits for credits of operations to another device.
  kWindow,       ///< The reorder buffer has promised no more room.
};

/// The counters of one core, for all of its hardware threads. They belong to the hardware: a program that is
/// moved to another core, or given way to another program, first waits for all_acknowledged(), as at a fence
/// of everything.
/// The core goes on after each operation; it waits only where host memory is involved or credits run out. No
/// time, no memory after construction. Source: "Efficient Remote Memory Ordering for Non-Coherent
/// Interconnects" (ASPLOS '26), 4.2 and 5.2. Choice: the window and its credits; the paper leaves them open.
/// Choice: an operation on bytes that an earlier one in flight touches comes after that one, because a thread
/// sees its own stores in every instruction set. In the epoch scheme, where credits do not say which
/// operation has left, a fence or a release is needed for that.
class MmioSequencer {
 public:
  /// Windows from 1 to half of all numbers, a quarter in the epoch scheme.
  explicit MmioSequencer(const MmioSequencerConfig& config);

  // Inputs.
  /// Numbers `operation` (kind, thread and device are set) and counts it as sent. Only when blocked_by() says
  /// kNone.
  void stamp(MmioOperation& operation);
  /// The reorder buffer has handed on everything below the credit's number. Old and repeated credits do
  /// nothing.
  void acknowledge(const MmioCredit& credit);
  /// The value of the thread's outstanding MMIO-Acquire has arrived.
  void acquire_done(std::uint32_t thread);
  /// A RISC-V fence of `thread`: marks the epoch, and says what the core has to wait for.
  FenceEffect fence(std::uint32_t thread, const FenceSet& predecessors, const FenceSet& successors);

  // Observation.
  /// Why an operation of `kind` cannot be sent; `host_stores_drained` tells whether the thread's store buffer
  /// is empty.
  IssueBlock blocked_by(std::uint32_t thread, std::uint32_t device, MmioKind kind,
                        bool host_stores_drained) const;
  /// True while a host memory operation of `thread` has to wait for an MMIO-Acquire.
  bool holds_host_memory(std::uint32_t thread) const { return acquire_outstanding_[thread] != 0; }
  /// True when everything that `thread` sent has been handed on.
  bool all_acknowledged(std::uint32_t thread) const;
  /// The number that the next operation of `domain` gets.
  std::uint32_t counter(std::uint32_t domain) const { return domains_[domain].counter; }
  /// Operations of `domain` sent and not yet covered by a credit.
  std::uint32_t in_flight(std::uint32_t domain) const;
  /// Appends the canonical state: distances from the last credit.
  void append_state(std::vector<std::byte>& out) const;

 private:
  /// What an operation in flight touches.
  struct Sent {
    std::uint64_t address = 0;
    std::uint16_t device = 0;
    std::uint8_t length = 0;
  };
  struct Domain {
    explicit Domain(std::size_t window) : sent(window) {}
    std::uint32_t counter = 0;       ///< Of the next operation.
    std::uint32_t acknowledged = 0;  ///< Everything below has been handed on.
    std::uint32_t fence = 0;         ///< Counter at the last fence (in the epoch scheme: start of the epoch).
    Ring<Sent> sent;                 ///< In flight, oldest first; not in the epoch scheme.
  };

  /// Where `operation` comes after the youngest one in flight that touches its bytes; `otherwise` when none
  /// does.
  std::uint32_t after_own_bytes(const Domain& domain, const MmioOperation& operation,
                                std::uint32_t otherwise) const;
  template <typename Visit>
  void visit_thread(std::uint32_t thread, const Visit& visit) const;

  MmioSequencerConfig config_;
  std::vector<Domain> domains_;
  std::vector<std::uint8_t> acquire_outstanding_;  ///< By thread.
};

}  // namespace wharf::ordering
