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

/// Collects spans of operations in flight. Allocates only when more operations are in flight, or one has more
/// spans, than ever before.
class Attribution {
 public:
  Attribution();

  /// Opens an operation and names it. The tag stays valid until end().
  wire::OperationTag begin(TimePs at);

  /// Adds a span. A tag that has already ended (a late duplicate, say) is ignored.
  void span(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end) {
    Slot* slot = find(operation);
    if (slot == nullptr || end <= begin) return;
    // Not push_back(): reported a dozen times per operation, and a call that returns here costs registers.
    if (slot->span_count == slot->span_room) [[unlikely]] {
      span_with_growth(operation, stage, begin, end);
      return;
    }
    slot->spans[slot->span_count++] = {begin, end, stage, false};
  }

  /// From `at` on, time that no span claims belongs to `stage`: where the operation rests until something
  /// happens to it (behind others in a queue, say). Holds until the next rest(). Calls come with
  /// non-decreasing `at`.
  void rest(wire::OperationTag operation, Stage stage, TimePs at) {
    Slot* slot = find(operation);
    if (slot == nullptr) return;
    const std::uint32_t count = slot->rest_count;
    if (count > 0 && slot->rests[count - 1].stage == stage) return;
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
    Stage stage;
    bool critical;  ///< Some of it lies on the critical path.
  };
  std::span<const Span> last_spans() const { return {last_spans_.get(), last_span_count_}; }
  TimePs last_begin() const { return last_begin_; }

  std::size_t in_flight() const { return slots_.size() - free_.size(); }

 private:
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
    std::unique_ptr<Span[]> spans;
    std::unique_ptr<Rest[]> rests;
  };
  /// Null: it has ended. No look at the length of the table: a tag that is none of its own meets a slot of
  /// another generation.
  Slot* find(wire::OperationTag operation) {
    Slot& slot = table_[operation.value & slot_mask_];
    return slot.generation == static_cast<std::uint32_t>(operation.value >> 32U) ? &slot : nullptr;
  }
  /// Doubles the table of slots.
  void enlarge_table();
  /// What span() and rest() do when their list is full.
  void span_with_growth(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end);
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
  std::vector<std::uint32_t> free_;
  std::unique_ptr<Span[]> last_spans_;
  std::uint32_t last_span_count_ = 0;
  std::uint32_t last_span_room_ = 0;
  TimePs last_begin_;
  OperationPath path_;
};

}  // namespace wharf::trace
