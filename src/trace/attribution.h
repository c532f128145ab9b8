// SPDX-License-Identifier: Apache-2.0
// Where the time of each operation went: collects the spans that components report and, when the operation
// ends, splits its latency into critical-path time per stage and, apart from it, overlapped time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "trace/stage.h"
#include "wire/packet.h"

namespace wharf::trace {

/// The finished account of one operation, or the sum of many. Per stage, `critical` sums to `latency` exactly
/// unless some of it is `unattributed`, which a correct model never has.
struct OperationPath {
  TimePs latency;
  TimePs unattributed;
  std::array<TimePs, kStageCount> critical{};
  std::array<TimePs, kStageCount> overlapped{};
  std::uint64_t stages = 0;             ///< Bit per stage that may be different from zero.
  std::uint64_t overlapped_stages = 0;  ///< Those of them that may be in `overlapped`: mostly none.

  OperationPath& operator+=(const OperationPath& other);
};
static_assert(kStageCount <= 64);

/// Where a span was spent, for waterfalls: 0 is nowhere in particular.
using Place = std::uint32_t;

/// A span, or a rest, of an operation that another host has opened: it is handed over when the hosts meet.
struct ForeignSpan {
  wire::OperationTag operation;
  TimePs begin;
  TimePs end;       ///< kNever: a rest that begins at `begin`.
  TimePs reported;  ///< When it became known.
  Stage stage = Stage::kLinkQueue;
  Place place = 0;
};

/// Collects spans of the operations that one host has in flight. Allocates only when more operations are in
/// flight, or one has more spans, than ever before.
///
/// The hosts of a run meet at instants that the topology alone decides (sim/fabric/fabric.h). Until then what
/// one has to say of another's operation waits; so an operation is first finished, when its program sees it
/// end, and then, after a meeting, ended, which makes its account.
class Attribution {
 public:
  /// Tags name `owner`, a number below 2^16.
  explicit Attribution(std::uint32_t owner = 0);

  /// The host that has opened the operation of `tag`.
  static std::uint32_t owner_of(wire::OperationTag tag) {
    return static_cast<std::uint32_t>(tag.value >> kSlotBits) & 0xffffU;
  }
  // For texts: which of the operations that are in flight at a time, and how many came before it there.
  static std::uint64_t number_of(wire::OperationTag tag) {
    return tag.value & ((std::uint64_t{1} << kGenerationShift) - 1);
  }
  static std::uint64_t generation_of(wire::OperationTag tag) { return tag.value >> kGenerationShift; }
  /// Whether begin() has made the tag; fabrics use small numbers for flows.
  static bool is_tag(wire::OperationTag tag) { return (tag.value >> kGenerationShift) != 0; }

  /// Opens an operation and names it. The tag stays valid until end().
  wire::OperationTag begin(TimePs at);

  /// Adds a span that becomes known at `reported`, which never decreases. A tag that has already ended (a
  /// late duplicate, say) is ignored.
  void span(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end,
            TimePs reported = kTimeZero) {
    Slot* slot = find(operation);
    if (slot == nullptr || end <= begin || slot->finished != kNever) return;
    // Not push_back(): reported a dozen times per operation, and a call that returns here costs registers.
    if (slot->span_count == slot->span_room) [[unlikely]] {
      span_with_growth(operation, stage, begin, end, reported);
      return;
    }
    slot->spans[slot->span_count++] = {begin, end, reported, stage, false, 0};
  }

  /// Adds what another host has reported. After all that was reported before the operation ended has been
  /// added, in any order, the account is the same.
  void add(const ForeignSpan& foreign);

  /// The program sees the operation end at `at`: nothing that is reported later belongs to it.
  void finish(wire::OperationTag operation, TimePs at) {
    if (Slot* slot = find(operation)) slot->finished = at;
  }

  /// From `at` on, time that no span claims belongs to `stage`: where the operation rests until something
  /// happens to it (behind others in a queue, say). Holds until the next rest(). Calls come with
  /// non-decreasing `at`.
  void rest(wire::OperationTag operation, Stage stage, TimePs at) {
    Slot* slot = find(operation);
    if (slot == nullptr) return;
    if (slot->finished != kNever) return;
    const std::uint32_t count = slot->rest_count;
    if (count == slot->rest_room) [[unlikely]] {
      rest_with_growth(operation, stage, at);
      return;
    }
    slot->rests[count] = {at, stage};
    slot->rest_count = count + 1;
  }

  /// Closes the operation. The critical path is found backwards from `at`: at each instant the span that
  /// ended then is what the operation was waiting for; the one reported last wins a tie. The reference stays
  /// valid until the next end().
  const OperationPath& end(wire::OperationTag operation, TimePs at);

  /// One span of the operation closed last, in the order reported; for waterfalls.
  struct Span {
    TimePs begin;
    TimePs end;
    TimePs reported;
    Stage stage;
    bool critical;  ///< Some of it lies on the critical path.
    Place place;
  };
  std::span<const Span> last_spans() const { return {last_spans_.get(), last_span_count_}; }
  /// Where it rested on its critical path, latest first.
  std::span<const Span> last_rests() const { return last_rests_; }
  TimePs last_begin() const { return last_begin_; }

  std::size_t in_flight() const { return slots_.size() - free_.size(); }

 private:
  // A tag: generation (28 bits), owner (16), slot (20).
  static constexpr unsigned kSlotBits = 20;
  static constexpr unsigned kGenerationShift = kSlotBits + 16;

  struct Rest {
    TimePs begin;
    Stage stage;
  };
  /// One operation in flight. A power of two in size, and lists whose lengths are read, not divided out.
  struct alignas(64) Slot {
    std::uint32_t generation = 0;
    std::uint32_t span_count = 0;
    std::uint32_t span_room = 0;
    std::uint32_t rest_count = 0;
    std::uint32_t rest_room = 0;
    TimePs begin;
    TimePs finished = kNever;
    std::unique_ptr<Span[]> spans;
    std::unique_ptr<Rest[]> rests;
  };
  /// Null: it has ended. No look at the length of the table: a tag that is none of its own meets a slot of
  /// another generation.
  Slot* find(wire::OperationTag operation) {
    Slot& slot = table_[operation.value & slot_mask_];
    return slot.generation == static_cast<std::uint32_t>(operation.value >> kGenerationShift) ? &slot
                                                                                              : nullptr;
  }
  /// Doubles the table of slots.
  void enlarge_table();
  /// What span() and rest() do when their list is full.
  void span_with_growth(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end, TimePs reported);
  void rest_with_growth(wire::OperationTag operation, Stage stage, TimePs at);
  /// Forgets the account of the operation before.
  void clear_path();
  /// The span on which an operation waited at `cursor`, or none: the one that ended then, else the latest
  /// that had ended or still lasted. `next`: where the last one was found; usually the answer is just before
  /// it.
  std::size_t find_before(std::span<const Span> spans, TimePs begin, TimePs cursor, std::size_t next) const;
  /// Gives the time from `from` to `to`, which no span claims, to the places where the operation rested.
  void claim_gap(std::span<const Rest> rests, TimePs from, TimePs to);

  std::vector<Slot> slots_;  ///< A power of two of them.
  Slot* table_ = nullptr;    ///< Their first.
  std::uint32_t slot_mask_ = 0;
  std::uint32_t owner_ = 0;
  std::vector<std::uint32_t> free_;
  std::unique_ptr<Span[]> last_spans_;
  std::uint32_t last_span_count_ = 0;
  std::uint32_t last_span_room_ = 0;
  TimePs last_begin_;
  std::vector<Span> last_rests_;
  OperationPath path_;
};

}  // namespace wharf::trace
