// SPDX-License-Identifier: Apache-2.0
// The next few events of a queue, taken out ahead of time so that what they will touch can be fetched from
// memory while earlier ones are executed. A miss costs as much as executing an event; without this, each
// event waits for several in a row.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "sim/kernel/event_queue.h"

namespace wharf::sim {

/// A queue of records like EventQueue, with the earliest of them in an array, where each may carry more than
/// the record (Ahead: derived from it, or itself). A record pushed is put in its place among these, so the
/// order of execution is that of EventQueue. Every record is shown to `stages` three times on its way
/// to execution: stages.known(ahead), then fetch_first and fetch_second, kStep records apart, each of which
/// may rely on what the one before has fetched. Records that are pushed late miss some of the fetches.
template <typename Record, std::derived_from<Record> Ahead = Record>
class Lookahead {
 public:
  static constexpr std::size_t kStep = 8;

  bool empty() const { return first_ == last_ && queue_.empty(); }
  std::size_t size() const { return last_ - first_ + queue_.size(); }

  template <typename Stages>
  void push(Record record, Stages& stages) {
    if (first_ != last_ && before(record, at(last_ - 1))) [[unlikely]] {
      insert(record, stages);
    } else {
      queue_.push(record);
    }
  }

  /// The time of the earliest record; kNever when there is none.
  TimePs next_time() {
    if (first_ != last_) return at(first_).time;
    return queue_.empty() ? kNever : queue_.peek().time;
  }

  /// Removes the earliest record if its time is `end` or earlier and copies it to `out`. All calls with one
  /// `end` until false; then records may be pushed that are later than `end`.
  template <typename Stages>
  bool pop_until(TimePs end, Ahead& out, Stages& stages) {
    if (first_ >= work_at_) work(end, stages);
    if (first_ == last_) return false;
    out = at(first_++);
    return true;
  }

  /// Calls `visit` for every record that has been taken out ahead of time.
  template <typename Visit>
  void for_each_ahead(Visit&& visit) {
    for (std::size_t i = first_; i < last_; ++i) visit(at(i));
  }

 private:
  static constexpr std::size_t kCapacity = 64;

  Ahead& at(std::size_t index) { return ahead_[index % kCapacity]; }

  /// Takes records out and moves all of them one step on.
  template <typename Stages>
  [[gnu::noinline]] void work(TimePs end, Stages& stages) {
    const std::size_t first = first_;
    const std::size_t wanted = first + 3 * kStep;
    std::size_t last = last_;
    while (last < wanted) {
      const std::size_t taken = queue_.take_until(end, wanted - last, [&](const Record& record) {
        Ahead& place = at(last++);
        static_cast<Record&>(place) = record;
        stages.known(place);
      });
      if (taken == 0) break;
    }
    last_ = last;
    second_shown_ = show<2>(second_shown_, first + kStep, stages);
    first_shown_ = show<1>(first_shown_, first + 2 * kStep, stages);
    work_at_ = std::min(first + kStep, last);
  }

  /// Shows the records from `shown`, or the first, to `until`, or the last, to one of the stages; returns
  /// where it ended. Without a lambda in between: the compiler drops the call of one that does nothing but
  /// prefetch.
  template <int kStage, typename Stages>
  [[gnu::always_inline]] std::size_t show(std::size_t shown, std::size_t until, Stages& stages) {
    std::size_t next = std::max(shown, first_);
    const std::size_t stop = std::min(last_, until);
    for (; next < stop; ++next) {
      if constexpr (kStage == 1) stages.fetch_first(at(next));
      if constexpr (kStage == 2) stages.fetch_second(at(next));
    }
    return next;
  }

  template <typename Stages>
  [[gnu::noinline]] void insert(Record record, Stages& stages) {
    if (last_ - first_ == kCapacity) [[unlikely]] {
      queue_.push(at(last_ - 1));
      --last_;
    }
    std::size_t to = last_++;
    for (; to > first_ && before(record, at(to - 1)); --to) at(to) = at(to - 1);
    static_cast<Record&>(at(to)) = record;
    stages.known(at(to));
    first_shown_ += to < first_shown_ ? 1U : 0U;
    second_shown_ += to < second_shown_ ? 1U : 0U;
  }

  EventQueue<Record> queue_;
  std::array<Ahead, kCapacity> ahead_{};
  std::size_t first_ = 0;  ///< Records [first_, last_) are ahead; indices grow for ever.
  std::size_t last_ = 0;
  std::size_t work_at_ = 0;       ///< work() is due when first_ reaches this.
  std::size_t first_shown_ = 0;   ///< The next record for fetch_first().
  std::size_t second_shown_ = 0;  ///< The next record for fetch_second().
};

}  // namespace wharf::sim
