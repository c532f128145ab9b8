// SPDX-License-Identifier: Apache-2.0
// The receiving side of a numbered channel: which packets have arrived, and which of them may be delivered in
// order.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/check.h"
#include "wire/psn.h"

namespace wharf::reliability {

/// Logical numbers of a channel's packets begin 2^24 above its first PSN, so that unwrapping a PSN near the
/// start never reaches below zero.
inline constexpr std::uint64_t kLogicalOrigin = std::uint64_t{1} << wire::kPsnBits;

/// The logical number of the first packet of a channel whose first PSN is `psn`.
constexpr std::uint64_t first_logical(wire::Psn psn) { return kLogicalOrigin + psn; }

/// What an arriving packet number means to a receiver.
enum class Arrival : std::uint8_t {
  kNext,       ///< The expected one.
  kAhead,      ///< Inside the window, behind a gap, not seen before.
  kDuplicate,  ///< Seen before.
  kTooFar,     ///< Beyond the window.
};

/// Expected number, highest number and a bitmap of what arrived ahead. Numbers are 64-bit logical counters
/// that never wrap; PSNs of 24 bits are unwrapped around the expected one.
class ReceiveWindow {
 public:
  /// What a hardware context stores; everything else is the bitmap.
  struct Counters {
    std::uint64_t next = kLogicalOrigin;  ///< The expected number.
    std::uint64_t end = kLogicalOrigin;   ///< One past the highest number that arrived.
    bool operator==(const Counters&) const = default;
  };

  ReceiveWindow() = default;
  /// `capacity` numbers may be ahead: a power of two from 64 to 2^22. The bitmap lives in `arena`.
  ReceiveWindow(Arena& arena, std::uint32_t capacity, std::uint64_t first)
      : words_(arena.make_span<std::uint64_t>(capacity / 64)), mask_(capacity - 1), counters_{first, first} {
    WHARF_CHECK(capacity >= 64 && capacity <= (1U << 22U) && std::has_single_bit(capacity));
  }

  std::uint64_t next() const { return counters_.next; }
  /// One past the highest number that arrived; equal to next() when nothing is ahead.
  std::uint64_t end() const { return counters_.end; }
  bool has_gap() const { return counters_.end > counters_.next; }
  std::uint32_t capacity() const { return mask_ + 1; }

  /// Classifies a PSN and gives its logical number; changes nothing.
  Arrival classify(wire::Psn psn, std::uint64_t& logical) const {
    logical = wire::psn_unwrap(counters_.next, psn);
    if (logical == counters_.next) return Arrival::kNext;
    if (logical < counters_.next) return Arrival::kDuplicate;
    if (logical - counters_.next > mask_) return Arrival::kTooFar;
    return received_ahead(logical) ? Arrival::kDuplicate : Arrival::kAhead;
  }

  /// Takes a number that classify() called kNext or kAhead; returns how many numbers are now in order, from
  /// the former next() on.
  std::uint32_t accept(std::uint64_t logical) {
    if (logical != counters_.next) {
      word(logical) |= bit(logical);
      if (logical >= counters_.end) counters_.end = logical + 1;
      return 0;
    }
    std::uint32_t advanced = 1;
    ++counters_.next;
    while (counters_.next < counters_.end && (word(counters_.next) & bit(counters_.next)) != 0) {
      word(counters_.next) &= ~bit(counters_.next);
      ++counters_.next;
      ++advanced;
    }
    if (counters_.end < counters_.next) counters_.end = counters_.next;
    return advanced;
  }

  /// Whether `logical`, from next() to next() + capacity() - 1, has arrived.
  bool received_ahead(std::uint64_t logical) const { return (word(logical) & bit(logical)) != 0; }

  /// Whether each of the 64 numbers from next() on has arrived, lowest first: what a context record holds of
  /// the bitmap.
  std::uint64_t first_bits() const {
    const std::uint64_t shift = counters_.next % 64;
    std::uint64_t bits = word(counters_.next) >> shift;
    if (shift != 0) bits |= word(counters_.next + 64) << (64 - shift) & ~std::uint64_t{0} << (64 - shift);
    return bits;
  }
  /// Overwrites those 64 bits. With a capacity of 64 the bitmap is nothing else.
  void set_first_bits(std::uint64_t bits) {
    for (std::uint64_t i = 0; i < 64; ++i) {
      const std::uint64_t logical = counters_.next + i;
      word(logical) = (word(logical) & ~bit(logical)) | ((bits >> i & 1U) != 0 ? bit(logical) : 0);
    }
  }

  /// Starts over at `first` with nothing received.
  void reset(std::uint64_t first) {
    for (std::uint64_t& bits : words_) bits = 0;
    counters_ = {first, first};
  }

  const Counters& counters() const { return counters_; }
  /// Puts back what counters() gave, after the counters were kept elsewhere.
  void restore(const Counters& counters) { counters_ = counters; }

 private:
  std::uint64_t& word(std::uint64_t logical) const { return words_[(logical & mask_) / 64]; }
  static std::uint64_t bit(std::uint64_t logical) { return std::uint64_t{1} << (logical % 64); }

  std::span<std::uint64_t> words_;
  std::uint32_t mask_ = 0;
  Counters counters_;
};

}  // namespace wharf::reliability
