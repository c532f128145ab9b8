// SPDX-License-Identifier: Apache-2.0
// The time of something that serves one at a time: a bus lane, the data channels of a memory, a PCIe
// direction. Requesters book it when they know when they will need it, which may lie ahead, so that what
// comes later but is ready earlier must find the time before.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// Stretches of time that are taken, in order. Each request takes the first free stretch that is long enough,
/// from the instant on at which it is ready: nobody waits for a stretch that begins later.
///
/// Choice: the last kKept stretches are known, neighbours counting as one. With more, the oldest is
/// forgotten, which only a request that is ready before its end notices: all time before that counts as
/// taken.
class BookedTime {
 public:
  /// Takes `length` (not negative) from `ready` on or later; returns when the stretch begins.
  TimePs take(TimePs ready, TimePs length) {
    if (length == kTimeZero) return ready;
    Stretch& last = stretches_[newest_];
    // Nearly every request comes behind all others.
    if (ready >= last.begin) [[likely]] {
      if (ready <= last.end) {
        const TimePs begin = last.end;
        last.end = begin + length;
        return begin;
      }
      forget_oldest();
      stretches_[newest_] = {ready, ready + length};
      return ready;
    }
    return take_between(ready, length);
  }

 private:
  static constexpr std::uint32_t kKept = 64;
  struct Stretch {
    TimePs begin;
    TimePs end;
  };

  /// The `back`-th stretch before the newest, below kKept.
  Stretch& before(std::uint32_t back) { return stretches_[(newest_ + kKept - back) % kKept]; }

  /// Moves the ring on by one: its newest place is free to be written.
  void forget_oldest() {
    newest_ = (newest_ + 1) % kKept;
    forgotten_until_ = max(forgotten_until_, stretches_[newest_].end);
  }

  [[gnu::noinline]] TimePs take_between(TimePs ready, TimePs length) {
    ready = max(ready, forgotten_until_);
    if (ready + length <= before(kKept - 1).begin) {
      // Older than all that are known, so that it is forgotten at once.
      forgotten_until_ = ready + length;
      return ready;
    }
    // The newest stretch that begins at or before `ready`, or the oldest that is known.
    std::uint32_t back = 1;
    while (back + 1 < kKept && before(back).begin > ready) ++back;
    TimePs begin = max(ready, before(back).end);
    while (back > 0 && begin + length > before(back - 1).begin) begin = before(--back).end;
    place(begin, begin + length, back);
    return begin;
  }
  /// Adds a stretch between the `back`-th before the newest, and the one after that.
  void place(TimePs begin, TimePs end, std::uint32_t back) {
    Stretch& left = before(back);
    const bool joins_right = back > 0 && before(back - 1).begin == end;
    if (left.end == begin && joins_right) {
      // The gap between the two is gone: they are one, and an empty stretch takes the oldest place.
      left.end = before(back - 1).end;
      for (std::uint32_t to = back - 1; to > 0; --to) before(to) = before(to - 1);
      stretches_[newest_] = {forgotten_until_, forgotten_until_};
      newest_ = (newest_ + kKept - 1) % kKept;
      return;
    }
    if (left.end == begin) {
      left.end = end;
      return;
    }
    if (joins_right) {
      before(back - 1).begin = begin;
      return;
    }
    forget_oldest();
    for (std::uint32_t to = 0; to < back; ++to) before(to) = before(to + 1);
    before(back) = {begin, end};
  }

  std::array<Stretch, kKept> stretches_{};  ///< A ring in order of time; empty ones lie at the beginning.
  std::uint32_t newest_ = 0;
  TimePs forgotten_until_;  ///< End of the last stretch that was forgotten.
};

}  // namespace wharf::sim
