// SPDX-License-Identifier: Apache-2.0
// The reorder buffer that puts numbered MMIO operations back into the order of their thread. Apart from the
// sequencer that numbers them, because one stands at the core and the other at the root complex or in the
// device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ordering/mmio_numbering.h"
#include "engine/ordering/mmio_operation.h"

namespace wharf::ordering {

/// Which operations wait for lower numbers.
enum class ReleaseRule : std::uint8_t {
  kStrict,   ///< Every operation waits until all lower numbers have left.
  kRefined,  ///< Only what `ordered_after` says: a release waits, a relaxed store or load does not.
};

/// What happens to an operation that the buffer has no room for.
enum class RobOverflow : std::uint8_t {
  kReport,  ///< The core keeps to its window, so it is an error.
  kHold,    ///< It waits on its virtual network, and everything behind it on that network waits too.
};

/// Virtual networks. Loads have one of their own without payload: a posted write must never stand behind a
/// read.
enum class MmioNetwork : std::uint8_t { kStores, kReleases, kLoads };
inline constexpr std::uint32_t kMmioNetworks = 3;

struct MmioRobConfig {
  MmioNumbering numbering;
  ReleaseRule rule = ReleaseRule::kStrict;
  RobOverflow overflow = RobOverflow::kReport;
  /// Entries of each network of each domain, a power of two, 1 to 64 and at most half of all numbers. The
  /// published buffer has 16 of 64 bytes for stores and 16 for releases. Choice: every domain has slots of
  /// its own. Were a slot shared, the waiting number of one thread could keep out the number that another
  /// thread waits for.
  std::uint32_t entries_per_network = 16;
  /// Stores and releases share one network and its entries, to show why the paper has two.
  bool shared_network = false;
};

/// What became of an operation that arrived.
enum class MmioArrival : std::uint8_t {
  kAccepted,   ///< It is in the buffer, and leaves by next_dispatch().
  kHeld,       ///< No room: the caller keeps it at the head of its network and tries again after a dispatch.
  kDuplicate,  ///< Error: its number was seen before.
  kTooFar,     ///< Error: its number lies beyond what the buffer promised to the core.
  kMalformed,  ///< Error: not a numbered kind, or ordered after a later number.
};

/// What the link below can take now.
struct MmioLinkRoom {
  bool posted = true;
  bool non_posted = true;
};

/// Everything below `next` has left in this domain: the core may send up to its window ahead of it.
struct MmioCredit {
  std::uint32_t domain = 0;
  std::uint32_t next = 0;
};

/// Errors reported so far, for observation only.
struct MmioRobErrors {
  std::uint64_t duplicates = 0;
  std::uint64_t too_far = 0;
  std::uint64_t malformed = 0;
};

/// One reorder buffer, at the root complex or in the device: it cannot tell. Where it stands at the root
/// complex, the path below must keep posted writes in order; where it stands in the device, nothing needs to.
/// Different devices behind one root complex see one thread's operations leave in order, and that is all: no
/// acknowledgement is awaited.
///
/// A slot is found by the number itself, modulo the entries of the network. A posted operation may pass a
/// load that has arrived but cannot leave, under both rules: PCIe does not order a write after a read, and
/// needs writes to pass blocked reads against deadlock. A load never passes a store that its rule puts before
/// it.
///
/// No time, no memory after construction. Source: "Efficient Remote Memory Ordering for Non-Coherent
/// Interconnects" (ASPLOS '26), 4.2, 5.2 and 6.8.
class MmioRob {
 public:
  /// `config` within the ranges of its fields.
  explicit MmioRob(const MmioRobConfig& config);

  // Inputs.
  /// An operation has come over its virtual network. Errors are counted and the operation is dropped.
  MmioArrival accept(const MmioOperation& operation);

  // Outputs.
  /// Hands on one operation that may leave: domains in turn, lowest number first. False when there is none.
  bool next_dispatch(MmioOperation& out, MmioLinkRoom room = {});
  /// How many operations may leave now, for whoever wants to try each.
  std::uint32_t dispatch_choices(MmioLinkRoom room = {}) const;
  /// Hands on the `choice`-th of them, below dispatch_choices(), counted by domain, then by number.
  MmioOperation take_dispatch(std::uint32_t choice, MmioLinkRoom room = {});
  /// One credit per domain that moved on since its last one. False when there is none.
  bool next_credit(MmioCredit& out);

  // Observation.
  /// The network that carries operations of `kind`.
  MmioNetwork network(MmioKind kind) const;
  /// The lowest number of `domain` that has not left; in the epoch scheme, how many have left.
  std::uint32_t next_number(std::uint32_t domain) const { return domains_[domain].next; }
  /// The number that what waits in `domain` is waiting for, if anything waits. Not in the epoch scheme.
  std::optional<std::uint32_t> missing_number(std::uint32_t domain) const;
  /// Operations in the buffer.
  std::uint32_t waiting() const { return waiting_; }
  /// Operations of `domain` in the buffer.
  std::uint32_t waiting(std::uint32_t domain) const;
  /// Payload bytes that the slots can hold.
  std::uint64_t storage_bytes() const;
  const MmioRobErrors& errors() const { return errors_; }
  const MmioRobConfig& config() const { return config_; }
  /// Appends the canonical state. Numbers are distances from next_number(); operations on their way must be
  /// written so too, or states that differ in what is missing look alike.
  void append_state(std::vector<std::byte>& out) const;

 private:
  struct Domain {
    std::uint32_t next = 0;
    std::uint32_t settled = 0;  ///< What credits say.
    bool owes_credit = false;
    std::array<std::uint64_t, kMmioNetworks> used{};  ///< One bit per slot.
  };
  struct Place {
    std::uint32_t domain;
    std::uint32_t network;
    std::uint32_t slot;
  };

  MmioOperation& at(Place place);
  const MmioOperation& at(Place place) const;
  bool sent(std::uint32_t domain, std::uint32_t number) const;
  void set_sent(std::uint32_t domain, std::uint32_t number, bool value);
  std::optional<Place> find(std::uint32_t domain, std::uint32_t number) const;
  bool everything_left_below(std::uint32_t domain, std::uint32_t number, bool posted) const;
  bool epochs_left_before(std::uint32_t domain, std::uint32_t count, bool posted) const;
  bool may_leave(std::uint32_t domain, const MmioOperation& operation) const;
  MmioArrival refuse(MmioArrival why);
  MmioArrival accept_numbered(std::uint32_t domain, const MmioOperation& operation);
  MmioArrival accept_counted(std::uint32_t domain, const MmioOperation& operation);
  MmioArrival store(Place place, const MmioOperation& operation);
  template <typename Visit>
  bool visit_domain(std::uint32_t domain, const Visit& visit) const;
  std::optional<Place> choose(std::uint32_t first_domain, std::uint32_t domains, std::uint32_t choice,
                              MmioLinkRoom room) const;
  MmioOperation remove(Place place);

  MmioRobConfig config_;
  std::uint32_t reach_;  ///< Numbers ahead of `next` that can be remembered as gone.
  std::vector<Domain> domains_;
  std::vector<MmioOperation> slots_;  ///< By domain, network, slot.
  std::vector<std::uint64_t> sent_;   ///< One bit per number ahead of `next`, by domain.
  std::uint32_t waiting_ = 0;
  std::uint32_t turn_ = 0;  ///< The domain that next_dispatch() looks at first.
  MmioRobErrors errors_;
};

}  // namespace wharf::ordering
