// SPDX-License-Identifier: Apache-2.0
// Where the time of each operation went: collects the spans that components report and, when the operation
// ends, splits its latency into critical-path time per stage and, apart from it, overlapped time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  std::uint64_t stages = 0;  ///< Bit per stage that may be different from zero.

  OperationPath& operator+=(const OperationPath& other);
};
static_assert(kStageCount <= 64);

/// Collects spans of operations in flight. Allocates only when more operations are in flight, or one has more
/// spans, than ever before.
class Attribution {
 public:
  /// Opens an operation and names it. The tag stays valid until end().
  wire::OperationTag begin(TimePs at);

  /// Adds a span. A tag that has already ended (a late duplicate, say) is ignored.
  void span(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end) {
    Slot* slot = find(operation);
    if (slot == nullptr || end <= begin) return;
    slot->spans.push_back({begin, end, stage, false});
  }

  /// From `at` on, time that no span claims belongs to `stage`: where the operation rests until something
  /// happens to it (behind others in a queue, say). Holds until the next rest(). Calls come with
  /// non-decreasing `at`.
  void rest(wire::OperationTag operation, Stage stage, TimePs at) {
    Slot* slot = find(operation);
    if (slot == nullptr || (!slot->rests.empty() && slot->rests.back().stage == stage)) return;
    slot->rests.push_back({at, stage});
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
  const std::vector<Span>& last_spans() const { return last_spans_; }
  TimePs last_begin() const { return last_begin_; }

  std::size_t in_flight() const { return slots_.size() - free_.size(); }

 private:
  struct Rest {
    TimePs begin;
    Stage stage;
  };
  struct Slot {
    std::uint32_t generation = 0;
    TimePs begin;
    std::vector<Span> spans;
    std::vector<Rest> rests;
  };
  Slot* find(wire::OperationTag operation) {
    const auto slot_index = static_cast<std::uint32_t>(operation.value);
    if (slot_index >= slots_.size()) return nullptr;
    Slot& slot = slots_[slot_index];
    return slot.generation == static_cast<std::uint32_t>(operation.value >> 32U) ? &slot : nullptr;
  }
  /// Forgets the account of the operation before.
  void clear_path();
  /// The span on which an operation waited at `cursor`, or none: the one that ended then, else the latest
  /// that had ended or still lasted. `next`: where the last one was found; usually the answer is just before
  /// it.
  std::size_t find_before(const std::vector<Span>& spans, TimePs begin, TimePs cursor,
                          std::size_t next) const;
  /// Gives the time from `from` to `to`, which no span claims, to the places where the operation rested.
  void claim_gap(const std::vector<Rest>& rests, TimePs from, TimePs to);

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Span> last_spans_;
  TimePs last_begin_;
  OperationPath path_;
};

}  // namespace wharf::trace
