// SPDX-License-Identifier: Apache-2.0
// The next few events of a queue, taken out ahead of time so that what they will touch can be fetched from
// memory while earlier ones are executed. A miss costs as much as executing an event; without this, each
// event waits for several in a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "sim/kernel/event_queue.h"

namespace wharf::sim {

/// A queue of records like EventQueue, with the earliest of them in an array. A record pushed is put in its
/// place among these, so the order of execution is that of EventQueue. `Stage` is asked to prepare each
/// record in two steps: stage.near(record) when it is some kNearDistance records from execution, after
/// stage.far(record) as soon as it is known. Records that are pushed late get neither.
template <typename Record>
class Lookahead {
 public:
  static constexpr std::size_t kNearDistance = 5;
  static constexpr std::size_t kMiddleDistance = 10;

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
    if (last_ - first_ < kAhead) fill(end, stages);
    if (first_ == last_) return false;
    if (middle_ < first_) middle_ = first_;
    while (middle_ < last_ && middle_ <= first_ + kMiddleDistance) stages.middle(at(middle_++));
    if (near_ < first_) near_ = first_;
    while (near_ < middle_ && near_ <= first_ + kNearDistance) stages.near(at(near_++));
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
  /// Records wanted ahead, and how many are taken out at once: few, so that the fetches do not crowd.
  static constexpr std::size_t kAhead = 32;
  static constexpr std::size_t kFill = 2;

  Record& at(std::size_t index) { return ahead_[index % kCapacity]; }

  template <typename Stages>
  void fill(TimePs end, Stages& stages) {
    for (std::size_t i = 0; i < kFill; ++i) {
      const Record* record = queue_.pop_until(end);
      if (record == nullptr) return;
      Record& place = at(last_++);
      place = *record;
      stages.far(place);
    }
  }

  void insert(Record record) {
    if (last_ - first_ == kCapacity) [[unlikely]] {
      queue_.push(at(last_ - 1));
      --last_;
    }
    std::size_t to = last_++;
    for (; to > first_ && before(record, at(to - 1)); --to) at(to) = at(to - 1);
    at(to) = record;
    if (to < middle_) ++middle_;
    if (to < near_) ++near_;
  }

  EventQueue<Record> queue_;
  std::array<Record, kCapacity> ahead_{};
  std::size_t first_ = 0;  ///< Records [first_, last_) are ahead; indices grow for ever.
  std::size_t last_ = 0;
  std::size_t middle_ = 0;  ///< The next record for stages.middle().
  std::size_t near_ = 0;    ///< The next record for stages.near().
};

}  // namespace wharf::sim
