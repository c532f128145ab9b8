// SPDX-License-Identifier: Apache-2.0
// The target's order of one initiator context (service modes ROT and ROL): which of its requests may be
// executed now, and which wait for earlier ones. A machine without packets, memory or time.
// [UB-Base 2.0.1 7.4]
//
// There are two reorder buffers on purpose, with contracts that do not meet. The receive window of a TP
// channel (engine/reliability/receive_window.h) belongs to a pair of hosts and numbers packets (PSN): it
// takes what comes late, twice or never, and delivers each packet once. The tracker belongs to one initiator
// context and numbers requests (TASSN): it is given each request once, in any order, perhaps over several
// channels, and decides when it is executed. Neither knows the other's numbers, so that the loss of one
// packet holds no other context's requests back, and a request that waits for its turn holds no packet back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "verbs/work_request.h"

namespace wharf::ub {

/// Rule: a strong request is executed when every relaxed or strong one with a lower TASSN has been. The
/// initiator numbers all its requests without gaps, unordered ones too, because what has not arrived might be
/// of any tag: an unordered request that has not arrived holds a strong one back, and one that has arrived
/// does not. Relaxed and unordered requests are executed when they arrive.
class OrderTracker {
 public:
  /// Requests beyond the oldest one that is open. An initiator keeps fewer outstanding.
  static constexpr std::uint32_t kWindow = 2048;

  enum class Arrival : std::uint8_t {
    kExecute,  ///< At once.
    kWait,     ///< Keep it until next_turn() gives its number.
    kSeen,     ///< Nothing that this context sent: the number is open or has been executed.
    kTooFar,   ///< Beyond the window.
  };

  /// A request has arrived whole or in part; it is told once.
  Arrival arrive(std::uint16_t tassn, verbs::OrderTag tag);
  /// Takes a request without a tag if it is the next one and the first to come; what arrive() would say is
  /// kExecute then.
  bool passes(std::uint16_t tassn) {
    if (tassn != next_ || has(arrived_, tassn)) return false;
    ++next_;
    advance();
    return true;
  }
  /// It has been executed, or refused for good.
  void executed(std::uint16_t tassn);
  /// It was not executed, and arrives again: the target was not ready for it.
  void retracted(std::uint16_t tassn);
  /// The waiting request whose turn has come, once; nothing when there is none.
  std::optional<std::uint16_t> next_turn();
  /// Whether every request with a lower number has arrived.
  bool arrived_before(std::uint16_t tassn) const {
    for (std::uint16_t at = next_; at != tassn; ++at) {
      if (!has(arrived_, at)) return false;
    }
    return true;
  }
  /// A waiting request is given up: it is not told by next_turn() any more, and still has to be executed or
  /// retracted.
  void give_up_turn(std::uint16_t tassn) { clear(waiting_, tassn); }

  /// The lowest number that is not known to have been executed.
  std::uint16_t next() const { return next_; }
  /// Requests that wait for their turn.
  std::uint32_t waiting() const;

 private:
  using Bits = std::array<std::uint64_t, kWindow / 64>;

  std::uint16_t ahead(std::uint16_t tassn) const { return static_cast<std::uint16_t>(tassn - next_); }
  static bool has(const Bits& bits, std::uint16_t tassn) {
    return (bits[tassn % kWindow / 64] >> tassn % 64 & 1U) != 0;
  }
  static void set(Bits& bits, std::uint16_t tassn) {
    bits[tassn % kWindow / 64] |= std::uint64_t{1} << tassn % 64;
  }
  static void clear(Bits& bits, std::uint16_t tassn) {
    bits[tassn % kWindow / 64] &= ~(std::uint64_t{1} << tassn % 64);
  }
  void advance() {
    while (has(settled_, next_)) {
      clear(settled_, next_);
      clear(arrived_, next_);
      ++next_;
    }
  }

  Bits arrived_{};  ///< From next_ on: told, and not retracted.
  Bits settled_{};  ///< Executed, or nobody waits for it.
  Bits waiting_{};
  std::uint16_t next_ = 0;
};

}  // namespace wharf::ub
