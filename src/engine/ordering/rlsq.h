// SPDX-License-Identifier: Apache-2.0
// The Remote Load-Store Queue of a root complex (or of a home agent on an on-chip bus): where the order of a
// device's accesses to host memory is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "base/slot_index.h"
#include "base/slot_pool.h"
#include "engine/ordering/order_lists.h"
#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_design.h"
#include "engine/ordering/rlsq_port.h"

namespace wharf::ordering {

struct RlsqConfig {
  RlsqDesign design = RlsqDesign::kBaseline;
  OrderOptions order;
  std::uint32_t entries = 256;   ///< Lines at once, of every kind.
  std::uint32_t trackers = 256;  ///< Different lines at once.
  /// Entries and trackers beyond those, for posted writes only: they always get past reads that wait.
  std::uint32_t posted_reserve = 16;
  /// Answers leave in the order in which the requests came, as in the paper's simulator; otherwise as they
  /// complete. An entry is occupied until its answer is taken.
  bool answers_in_order = false;
};

/// One queue. It knows no time, no coherence protocol and no link; it takes memory when it is made and none
/// later. Copies are independent. After every input, drain next_memory_request(), next_perform() and
/// next_response() until each is empty; draining later is legal and only delays.
///
/// How values are bound: a read of a non-speculative design is sent when it may take effect and its value is
/// final when it arrives. A speculative design sends reads at once, asks to be snooped for those that may not
/// take effect yet, and discards what a snoop hits. Requests on one line: reads of a run share one memory
/// read where that is sound; writes and atomics wait for older reads of the line and reads for older writes
/// (Choice: no forwarding out of the queue, so that every value read was in coherent memory).
class Rlsq {
 public:
  /// Refuses sizes of zero or above 16,384 entries and trackers, naming the value.
  static Result<Rlsq> create(const RlsqConfig& config);

  // Device side in.
  /// Whether accept() would take it now. Posted writes have entries of their own.
  bool can_accept(const Request& request) const;
  /// Takes a request; false (and no change) when there is no room: the link holds it.
  bool accept(const Request& request);

  // Memory side out.
  bool next_memory_request(MemoryRequest& out);
  /// There is one; false saves the call.
  bool has_memory_request() const { return !requests_.empty(); }
  bool next_perform(Perform& out);
  /// There may be one; false saves the call.
  bool has_perform() const { return !performs_.empty(); }

  // Memory side in. An answer that was not asked for is our bug and aborts.
  /// The bytes of the line of a kRead or kReadTracked.
  void read_done(LineNumber line, const LineBytes& bytes);
  /// The line is owned, until it is performed without keeps_ownership or lost. A snoop that was ordered after
  /// this grant but overtook it is held by the agent until the grant is here.
  void owned(LineNumber line);
  /// The Perform of the line has happened; `old_value` for atomics.
  void performed(LineNumber line, const std::array<std::uint64_t, 2>& old_value = {});
  /// Another agent writes the line, or its home forgets who shares it: call when the invalidation arrives,
  /// before it is acknowledged. Any line, at any time, but see owned() and Perform. One that overtakes the
  /// data of a tracked read belongs here at once: that is what the queue must see.
  SnoopResult snoop_invalidate(LineNumber line);
  /// Another agent reads the line: an ownership not yet used is lost, values that were read stay good.
  SnoopResult snoop_share(LineNumber line);

  // Device side out.
  bool next_response(Response& out);
  /// There may be one; false saves the call.
  bool has_response() const { return !written_.empty() || !answers_.empty(); }

  // Observation.
  const RlsqConfig& config() const { return config_; }
  const RlsqStatistics& statistics() const { return statistics_; }
  /// Nothing inside: no entry, no request or answer to be taken.
  bool is_idle() const;
  /// Appends what decides the queue's future, and nothing else: equal bytes, equal futures. Tags count,
  /// numbers of requests only as far as they are equal.
  void append_state(std::vector<std::byte>& state) const;
  /// Appends one line of text for each entry that is not complete: what it waits for.
  void who_waits(std::vector<std::string>& lines) const;

 private:
  using Index = OrderLists::Index;
  static constexpr Index kNone = OrderLists::kNone;

  enum class EntryState : std::uint8_t {
    kHeld,   ///< Nothing was asked for it: not its turn, or its line is in use. Writes: until they are
             ///< performed.
    kSent,   ///< It shares the read of its line that is under way.
    kAgain,  ///< That read was hit by a snoop before this entry's turn came: its value must be read again.
    kValue,  ///< It has its value; its turn has not come.
    kDone,   ///< Complete; the answer waits to be taken.
  };
  struct alignas(64) Entry {
    Kind kind = Kind::kRead;
    EntryState state = EntryState::kHeld;
    bool asks_early = false;  ///< Reads, ownership: asked for before its turn.
    bool is_last = true;
    Label label = Label::kStrong;
    verbs::Verb atomic = verbs::Verb::kFetchAdd;
    // Neighbours among the entries on its line, in order of arrival.
    Index earlier = kNone;
    Index later = kNone;
    std::uint32_t tracker = 0;
    std::uint32_t tag = 0;
    Domain domain;
    std::uint64_t number = 0;
    std::uint64_t arrival = 0;  ///< For reports and states: orders the entries.
    LineNumber line = 0;
    ByteMask mask = 0;
  };
  struct alignas(64) KeptBytes {
    LineBytes line{};
  };
  struct AtomicOperands {
    std::array<std::uint64_t, 2> operand{};  ///< Later the old value.
    std::array<std::uint64_t, 2> compare{};
  };

  /// Where a line's one memory transaction is.
  enum class LineRead : std::uint8_t { kNone, kQueued, kUnderWay };
  enum class LineOwnership : std::uint8_t { kNone, kQueued, kUnderWay, kOwned, kPerforming };
  /// One line that entries are about. The entries at the head of its list, either all reads or all writes and
  /// atomics, are active; what stands behind them waits.
  struct Tracker {
    LineNumber line = 0;
    Index first = kNone;
    Index last = kNone;
    std::uint16_t writers = 0;  ///< Writes and atomics in the list.
    std::uint16_t values = 0;   ///< Entries in state kValue: all have the same one.
    LineRead read = LineRead::kNone;
    LineOwnership ownership = LineOwnership::kNone;
    bool is_tracked = false;  ///< Of the read under way, or of the value held: the home knows of it.
    bool is_stale = false;    ///< A snoop came while a tracked read was under way.
    bool was_robbed =
        false;  ///< An ownership was lost before the turn of its write: not asked for ahead again.
    bool is_to_perform = false;    ///< Stands in performs_.
    bool keeps_ownership = false;  ///< What the Perform under way has promised.
  };

  /// A request not yet taken; the tracker counts unless the operation is kDrop.
  struct QueuedRequest {
    MemoryOperation operation;
    std::uint32_t tracker;
    LineNumber line;
  };

  explicit Rlsq(const RlsqConfig& config);

  std::uint32_t limit(Kind kind, std::uint32_t size) const {
    return size + (kind == Kind::kWrite ? config_.posted_reserve : 0);
  }
  bool is_turn_of(Index entry) const { return order_.waiting(entry) == 0; }
  bool is_writer(Index entry) const { return entries_[entry].kind != Kind::kRead; }
  bool is_active_read(Index entry) const;
  Index earlier_held_read(const Tracker& tracker, const Request& request) const;
  Index make_entry(const Request& request, std::uint32_t slot);
  Index entry_with_value(const Tracker& tracker) const;
  void fill_response(Index entry, Response& out) const;
  std::vector<Index> entries_by_arrival() const;
  std::string reason(Index entry) const;
  std::uint32_t tracker_of(LineNumber line) const;

  // The machine, one step each.
  void try_read(Index entry);
  void send_read(std::uint32_t slot);
  void advance_writer(std::uint32_t slot);
  void advance_line(std::uint32_t slot);
  void turn_came(Index entry);
  void complete(Index entry);
  void settle();
  SnoopResult lose_values(std::uint32_t slot);
  SnoopResult lose_ownership(std::uint32_t slot);

  RlsqConfig config_;
  RlsqStatistics statistics_;
  std::uint64_t arrivals_ = 0;
  SlotPool<Entry> entries_;
  std::vector<KeptBytes> bytes_;  ///< Of each entry: what to write, its value or the answer.
  std::vector<AtomicOperands> operands_;
  std::array<std::array<OrderNeeds, kLabelCount>, kKindCount> needs_;  ///< By kind and label.
  OrderLists order_;
  SlotPool<Tracker> trackers_;
  SlotIndex lines_;  ///< Line number to tracker.
  Ring<QueuedRequest> requests_;
  Ring<std::uint32_t> performs_;  ///< Trackers whose first entry may be performed.
  Ring<Index> answers_;           ///< Reads and atomics, as they came or as they completed.
  Ring<Index> written_;           ///< Posted writes that were performed.
  Ring<Index> turns_;             ///< Entries whose turn has come, to be looked at by settle().
};

}  // namespace wharf::ordering
