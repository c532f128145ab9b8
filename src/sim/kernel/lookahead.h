// SPDX-License-Identifier: Apache-2.0
// The next few events of a queue, taken out ahead of time so that what they will touch can be fetched from
// memory while earlier ones are executed. A miss costs as much as executing an event; without this, each
// event waits for several in a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "sim/kernel/event_queue.h"

namespace wharf::sim {

/// A queue of records like EventQueue, with the earliest of them in an array. A record pushed is put in its
/// place among these, so the order of execution is that of EventQueue. Every record is shown to `stages` four
/// times on its way to execution: stages.known(record), then fetch_first, fetch_second and fetch_last, kStep
/// records apart, each of which may rely on what the one before has fetched. Records that are pushed late
/// miss the earlier ones.
template <typename Record>
class Lookahead {
 public:
  static constexpr std::size_t kStep = 8;

  bool empty() const { return first_ == last_ && queue_.empty(); }
  std::size_t size() const { return last_ - first_ + queue_.size(); }

  void push(Record record) {
    if (first_ != last_ && before(record, at(last_ - 1))) {
      insert(record);
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
  bool pop_until(TimePs end, Record& out, Stages& stages) {
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

  Record& at(std::size_t index) { return ahead_[index % kCapacity]; }

  /// Takes records out and moves all of them one step on.
  template <typename Stages>
  [[gnu::noinline]] void work(TimePs end, Stages& stages) {
    while (last_ - first_ < 4 * kStep) {
      const Record* record = queue_.pop_until(end);
      if (record == nullptr) break;
      Record& place = at(last_++);
      place = *record;
      stages.known(place);
    }
    last_shown_ = std::max(last_shown_, first_);
    for (; last_shown_ < last_ && last_shown_ < first_ + kStep; ++last_shown_)
      stages.fetch_last(at(last_shown_));
    second_shown_ = std::max(second_shown_, first_);
    for (; second_shown_ < last_ && second_shown_ < first_ + 2 * kStep; ++second_shown_)
      stages.fetch_second(at(second_shown_));
    first_shown_ = std::max(first_shown_, first_);
    for (; first_shown_ < last_ && first_shown_ < first_ + 3 * kStep; ++first_shown_)
      stages.fetch_first(at(first_shown_));
    work_at_ = std::min(first_ + kStep, last_);
  }

  void insert(Record record) {
    if (last_ - first_ == kCapacity) [[unlikely]] {
      queue_.push(at(last_ - 1));
      --last_;
    }
    std::size_t to = last_++;
    for (; to > first_ && before(record, at(to - 1)); --to) at(to) = at(to - 1);
    at(to) = record;
    first_shown_ += to < first_shown_ ? 1U : 0U;
    second_shown_ += to < second_shown_ ? 1U : 0U;
    last_shown_ += to < last_shown_ ? 1U : 0U;
  }

  EventQueue<Record> queue_;
  std::array<Record, kCapacity> ahead_{};
  std::size_t first_ = 0;  ///< Records [first_, last_) are ahead; indices grow for ever.
  std::size_t last_ = 0;
  std::size_t work_at_ = 0;       ///< work() is due when first_ reaches this.
  std::size_t first_shown_ = 0;   ///< The next record for fetch_first().
  std::size_t second_shown_ = 0;  ///< The next record for fetch_second().
  std::size_t last_shown_ = 0;    ///< The next record for fetch_last().
};

}  // namespace wharf::sim
