// SPDX-License-Identifier: Apache-2.0
// The sending side of a numbered channel: which packets are outstanding, confirmed out of order, or waiting
// to be sent again. Go-Back-N and selective repeat are two ways of marking the same window.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/check.h"
#include "wire/psn.h"

namespace wharf::reliability {

/// A ring of packet descriptors between the oldest unconfirmed number (una) and the next fresh one. `Slot` is
/// the transport's own description of a packet (trivially destructible); numbers are 64-bit logical counters.
template <typename Slot>
class SendWindow {
 public:
  /// What a hardware context stores; everything else is slots and flags.
  struct Counters {
    std::uint64_t una = 0;   ///< Oldest number that is not confirmed.
    std::uint64_t next = 0;  ///< Number of the next new packet.
    bool operator==(const Counters&) const = default;
  };

  SendWindow() = default;
  /// At most `capacity` packets outstanding: a power of two up to 2^22. Slots live in `arena`.
  SendWindow(Arena& arena, std::uint32_t capacity, std::uint64_t first)
      : slots_(arena.make_span<Slot>(capacity)),
        flags_(arena.make_span<std::uint8_t>(capacity)),
        mask_(capacity - 1),
        limit_(capacity),
        counters_{first, first} {
    WHARF_CHECK(capacity >= 1 && capacity <= (1U << 22U) && std::has_single_bit(capacity));
  }

  std::uint64_t una() const { return counters_.una; }
  std::uint64_t next() const { return counters_.next; }
  std::uint32_t outstanding() const { return static_cast<std::uint32_t>(counters_.next - counters_.una); }
  bool full() const { return outstanding() >= limit_; }
  std::uint32_t capacity() const { return mask_ + 1; }
  /// Packets that may be outstanding, at most capacity(); a peer with a smaller window sets it.
  std::uint32_t limit() const { return limit_; }
  void set_limit(std::uint32_t limit) { limit_ = limit < capacity() ? limit : capacity(); }
  /// Whether `logical` is outstanding in the sense of una <= logical < next.
  bool contains(std::uint64_t logical) const { return logical >= counters_.una && logical < counters_.next; }

  /// The logical number of an acknowledged PSN.
  std::uint64_t unwrap(wire::Psn psn) const { return wire::psn_unwrap(counters_.una, psn); }

  /// Numbers a new packet; the window is not full. The slot keeps what it held before.
  Slot& push() {
    WHARF_CHECK(!full());
    flags_[counters_.next & mask_] = 0;
    return slots_[counters_.next++ & mask_];
  }

  Slot& slot(std::uint64_t logical) { return slots_[logical & mask_]; }
  const Slot& slot(std::uint64_t logical) const { return slots_[logical & mask_]; }

  /// Confirms every packet before `end` (una <= end <= next) and then every packet that was confirmed
  /// selectively right behind them. `released(slot)` is called once for each packet that was not confirmed
  /// before. Returns whether una moved.
  template <typename Released>
  bool acknowledge_before(std::uint64_t end, Released&& released) {
    WHARF_CHECK(end >= counters_.una && end <= counters_.next);
    const std::uint64_t before = counters_.una;
    while (counters_.una < end) {
      confirm(counters_.una, released);
      ++counters_.una;
    }
    advance_over_confirmed();
    return counters_.una != before;
  }

  /// Confirms one packet out of order (una <= logical < next) and keeps a tombstone until una passes it.
  /// Returns whether it was not confirmed before. una itself moves in advance_over_confirmed().
  template <typename Released>
  bool acknowledge_one(std::uint64_t logical, Released&& released) {
    return confirm(logical, released);
  }

  /// Moves una over packets that are confirmed already; returns whether it moved.
  bool advance_over_confirmed() {
    const std::uint64_t before = counters_.una;
    while (counters_.una < counters_.next && (flags(counters_.una) & kConfirmed) != 0) ++counters_.una;
    if (resend_low_ < counters_.una) resend_low_ = counters_.una;
    return counters_.una != before;
  }

  bool confirmed(std::uint64_t logical) const { return (flags(logical) & kConfirmed) != 0; }

  /// Queues one packet for retransmission unless it is confirmed or queued already; returns whether it was
  /// queued now.
  bool queue_retransmission(std::uint64_t logical) {
    std::uint8_t& state = flags(logical);
    if ((state & (kConfirmed | kQueued)) != 0) return false;
    state |= kQueued;
    if (resend_count_ == 0 || logical < resend_low_) resend_low_ = logical;
    ++resend_count_;
    return true;
  }

  /// Go-Back-N: queues every packet of [from, end) that is not confirmed, in order; returns how many were
  /// queued now.
  std::uint32_t rewind(std::uint64_t from, std::uint64_t end) {
    std::uint32_t queued = 0;
    for (std::uint64_t logical = from; logical < end; ++logical)
      queued += queue_retransmission(logical) ? 1U : 0U;
    return queued;
  }

  std::uint32_t retransmissions_queued() const { return resend_count_; }
  /// The lowest queued number; there is one.
  std::uint64_t first_retransmission() {
    WHARF_CHECK(resend_count_ > 0);
    while ((flags(resend_low_) & kQueued) == 0) ++resend_low_;
    return resend_low_;
  }
  /// The lowest queued number of [from, end), or `end` when there is none.
  std::uint64_t retransmission_from(std::uint64_t from, std::uint64_t end) const {
    while (from < end && (flags(from) & kQueued) == 0) ++from;
    return from;
  }
  bool retransmission_queued(std::uint64_t logical) const { return (flags(logical) & kQueued) != 0; }
  /// The packet was sent again: it leaves the queue.
  void retransmitted(std::uint64_t logical) { unqueue(flags(logical)); }

  /// Forgets every outstanding packet; `released(slot)` is called for each that was not confirmed.
  template <typename Released>
  void clear(Released&& released) {
    acknowledge_before(counters_.next, released);
  }

  /// Starts over at `first`; nothing is outstanding.
  void reset(std::uint64_t first) {
    WHARF_CHECK(outstanding() == 0 && resend_count_ == 0);
    counters_ = {first, first};
  }

  const Counters& counters() const { return counters_; }
  /// Puts back what counters() gave, after the counters were kept elsewhere.
  void restore(const Counters& counters) { counters_ = counters; }

  /// Bytes that a window of `capacity` packets takes.
  static constexpr std::uint64_t bytes(std::uint32_t capacity) { return capacity * (sizeof(Slot) + 1ULL); }

 private:
  static constexpr std::uint8_t kConfirmed = 1;
  static constexpr std::uint8_t kQueued = 2;

  std::uint8_t& flags(std::uint64_t logical) { return flags_[logical & mask_]; }
  std::uint8_t flags(std::uint64_t logical) const { return flags_[logical & mask_]; }

  void unqueue(std::uint8_t& state) {
    if ((state & kQueued) == 0) return;
    state = static_cast<std::uint8_t>(state & ~kQueued);
    --resend_count_;
  }
  template <typename Released>
  bool confirm(std::uint64_t logical, Released& released) {
    std::uint8_t& state = flags(logical);
    if ((state & kConfirmed) != 0) return false;
    unqueue(state);
    state |= kConfirmed;
    released(slots_[logical & mask_]);
    return true;
  }

  std::span<Slot> slots_;
  std::span<std::uint8_t> flags_;
  std::uint32_t mask_ = 0;
  std::uint32_t limit_ = 0;
  std::uint32_t resend_count_ = 0;
  std::uint64_t resend_low_ = 0;
  Counters counters_;
};

}  // namespace wharf::reliability
