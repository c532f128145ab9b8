// SPDX-License-Identifier: Apache-2.0
// How far the requests of a fused channel have been executed: what its acknowledgements say, because they are
// the answers. [UB-Base 2.0.1 7.4, service mode ROL]
#pragma once

#include <cstdint>
#include <span>

#include "base/arena.h"

namespace wharf::ub {

/// A request is open from when its last packet was delivered until it has been executed, or its refusal, a
/// packet of its own, has been confirmed. Reads and atomics are never open here: their data is their answer.
class FusedWindow {
 public:
  FusedWindow() = default;
  /// `capacity`, a power of two from 64, numbers at most lie between an open request and the newest delivered
  /// one.
  FusedWindow(Arena& arena, std::uint32_t capacity, std::uint64_t first)
      : words_(arena.make_span<std::uint64_t>(capacity / 64)),
        mask_(capacity - 1),
        delivered_(first),
        through_(first),
        told_(first) {}

  void reset(std::uint64_t first) {
    for (std::uint64_t& bits : words_) bits = 0;
    delivered_ = through_ = told_ = first;
    any = heard = false;
  }
  /// Whether a packet with that number may be delivered.
  bool has_room(std::uint64_t number) const { return number - through_ <= mask_; }
  /// The request whose last packet has this number was delivered.
  void open(std::uint64_t number) { word(number) |= bit(number); }
  void close(std::uint64_t number) { word(number) &= ~bit(number); }
  /// The packet with that number, the next one, has been delivered, and its request opened.
  void deliver(std::uint64_t number) { delivered_ = number + 1; }
  std::uint64_t delivered() const { return delivered_; }
  /// Every request before this number has been executed.
  std::uint64_t through() {
    while (through_ < delivered_ && (word(through_) & bit(through_)) == 0) ++through_;
    return through_;
  }
  /// The same as close() and tell() while all moves of through() have been told, as they are when an input
  /// begins: then an open request is there, if there is any, and the end of no other moves it.
  bool close_and_tell(std::uint32_t low_bits) {
    word(low_bits) &= ~bit(low_bits);
    if (low_bits != static_cast<std::uint32_t>(through_)) return false;
    do {
      ++through_;
    } while (through_ < delivered_ && (word(through_) & bit(through_)) == 0);
    told_ = through_;
    return true;
  }
  std::uint64_t told() const { return told_; }
  /// Whether through() has moved since it was last told.
  bool tell() {
    const bool moved = through() != told_;
    told_ = through_;
    return moved;
  }

  // Of the request that was executed last: the transaction header of the next acknowledgement.
  std::uint32_t requester_id = 0;
  std::uint16_t tassn = 0;
  bool any = false;  ///< There was one.

  /// What the receive window expected when an acknowledgement with a bitmap was asked for.
  std::uint64_t asked_at = 0;

  /// Of the sender at this end: the peer has acknowledged something since the present tries began.
  bool heard = false;

 private:
  std::uint64_t& word(std::uint64_t number) const { return words_[(number & mask_) / 64]; }
  static std::uint64_t bit(std::uint64_t number) { return std::uint64_t{1} << number % 64; }

  std::span<std::uint64_t> words_;
  std::uint64_t mask_ = 0;
  std::uint64_t delivered_ = 0;  ///< The next number that will be.
  std::uint64_t through_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace wharf::ub
