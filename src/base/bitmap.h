// SPDX-License-Identifier: Apache-2.0
// Bits in 64-bit words: a plain bitmap, and a circular one that follows a window of sequence numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/check.h"

namespace wharf {

/// A fixed number of bits, all clear at first.
class Bitmap {
 public:
  /// "No such bit": the answer of the searches.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  explicit Bitmap(std::uint64_t bits) : owned_(words_for(bits)), words_(owned_), bits_(bits) {}
  /// Words from `arena`, which must outlive the bitmap.
  Bitmap(Arena& arena, std::uint64_t bits)
      : words_(arena.make_span<std::uint64_t>(words_for(bits))), bits_(bits) {}
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
  Bitmap(Bitmap&&) = default;
  Bitmap& operator=(Bitmap&&) = default;

  std::uint64_t size() const { return bits_; }

  // Bit numbers are below size().
  bool test(std::uint64_t bit) const { return (words_[bit / 64] >> (bit % 64) & 1U) != 0; }
  void set(std::uint64_t bit) { words_[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  void clear(std::uint64_t bit) { words_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64)); }
  void clear_all() {
    for (std::uint64_t& word : words_) word = 0;
  }

  /// The first set bit at or after `from`, or kNone.
  std::uint64_t first_set(std::uint64_t from = 0) const { return search(from, 0); }
  /// The first clear bit at or after `from`, or kNone.
  std::uint64_t first_clear(std::uint64_t from = 0) const { return search(from, ~std::uint64_t{0}); }
  /// How many bits are set.
  std::uint64_t count() const {
    std::uint64_t total = 0;
    for (const std::uint64_t word : words_) total += static_cast<std::uint64_t>(std::popcount(word));
    return total;
  }

 private:
  static std::size_t words_for(std::uint64_t bits) { return static_cast<std::size_t>((bits + 63) / 64); }

  /// `flip` is all ones to look for clear bits.
  std::uint64_t search(std::uint64_t from, std::uint64_t flip) const {
    if (from >= bits_) return kNone;
    std::size_t at = static_cast<std::size_t>(from / 64);
    std::uint64_t word = (words_[at] ^ flip) & (~std::uint64_t{0} << (from % 64));
    while (word == 0) {
      if (++at == words_.size()) return kNone;
      word = words_[at] ^ flip;
    }
    const std::uint64_t bit = at * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
    return bit < bits_ ? bit : kNone;  // Past the end only among the unused bits of the last word.
  }

  std::vector<std::uint64_t>
      owned_;  ///< Empty when the words are an arena's. A move keeps the words in place.
  std::span<std::uint64_t> words_;
  std::uint64_t bits_;
};

/// One bit for each sequence number of the window [base, base + capacity), as needed by packet-number
/// windows: 64-bit logical numbers that never wrap; bits that the base passes are forgotten.
class SequenceBitmap {
 public:
  /// `capacity` is a power of two and at least 64.
  explicit SequenceBitmap(std::uint64_t capacity, std::uint64_t base = 0)
      : owned_(checked_words(capacity)), words_(owned_), mask_(capacity - 1), base_(base) {}
  /// Words from `arena`, which must outlive the bitmap.
  SequenceBitmap(Arena& arena, std::uint64_t capacity, std::uint64_t base = 0)
      : words_(arena.make_span<std::uint64_t>(checked_words(capacity))), mask_(capacity - 1), base_(base) {}
  SequenceBitmap(const SequenceBitmap&) = delete;
  SequenceBitmap& operator=(const SequenceBitmap&) = delete;
  SequenceBitmap(SequenceBitmap&&) = default;
  SequenceBitmap& operator=(SequenceBitmap&&) = default;

  std::uint64_t base() const { return base_; }
  std::uint64_t capacity() const { return mask_ + 1; }
  /// Whether `sequence` lies in the window.
  bool contains(std::uint64_t sequence) const { return sequence - base_ <= mask_; }

  /// `sequence` lies in the window; outside aborts.
  bool test(std::uint64_t sequence) const {
    WHARF_CHECK(contains(sequence));
    return (word_of(sequence) >> (sequence % 64) & 1U) != 0;
  }
  /// `sequence` lies in the window; outside aborts. Returns whether the bit was clear before.
  bool set(std::uint64_t sequence) {
    WHARF_CHECK(contains(sequence));
    std::uint64_t& word = words_[(sequence & mask_) / 64];
    const std::uint64_t bit = std::uint64_t{1} << (sequence % 64);
    const bool fresh = (word & bit) == 0;
    word |= bit;
    return fresh;
  }
  void clear(std::uint64_t sequence) {
    WHARF_CHECK(contains(sequence));
    words_[(sequence & mask_) / 64] &= ~(std::uint64_t{1} << (sequence % 64));
  }

  /// Moves the base up to `sequence` (not below it); the bits passed are cleared for the numbers that enter.
  void advance_to(std::uint64_t sequence) {
    WHARF_CHECK(sequence >= base_);
    if (sequence - base_ >= capacity()) {
      for (std::uint64_t& word : words_) word = 0;
      base_ = sequence;
      return;
    }
    while (base_ != sequence) {
      const std::uint64_t in_word = 64 - base_ % 64;
      const std::uint64_t step = sequence - base_ < in_word ? sequence - base_ : in_word;
      words_[(base_ & mask_) / 64] &= ~(low_bits(step) << (base_ % 64));
      base_ += step;
    }
  }

  /// The first number at or after `from` (in the window) whose bit is clear; base() + capacity() when none
  /// is.
  std::uint64_t first_clear(std::uint64_t from) const { return search(from, ~std::uint64_t{0}); }
  /// The first number at or after `from` (in the window) whose bit is set; base() + capacity() when none is.
  std::uint64_t first_set(std::uint64_t from) const { return search(from, 0); }

  /// Moves the base over the set bits that begin at it, as a receiver's expected number moves; returns how
  /// many.
  std::uint64_t advance_over_set() {
    const std::uint64_t old_base = base_;
    advance_to(first_clear(base_));
    return base_ - old_base;
  }

  /// The 64 bits from `from` (in the window) on, lowest first; bits past the window are clear. For selective
  /// acknowledgements.
  std::uint64_t window64(std::uint64_t from) const {
    WHARF_CHECK(contains(from));
    const std::uint64_t offset = from % 64;
    std::uint64_t bits = word_of(from) >> offset;
    if (offset != 0) bits |= word_of(from + (64 - offset)) << (64 - offset);
    const std::uint64_t left = base_ + capacity() - from;
    return left < 64 ? bits & low_bits(left) : bits;
  }

 private:
  static std::size_t checked_words(std::uint64_t capacity) {
    WHARF_CHECK(capacity >= 64 && std::has_single_bit(capacity));
    return static_cast<std::size_t>(capacity / 64);
  }
  static std::uint64_t low_bits(std::uint64_t n) {
    return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  }
  std::uint64_t word_of(std::uint64_t sequence) const { return words_[(sequence & mask_) / 64]; }

  std::uint64_t search(std::uint64_t from, std::uint64_t flip) const {
    WHARF_CHECK(contains(from));
    const std::uint64_t end = base_ + capacity();
    while (from < end) {
      const std::uint64_t word = (word_of(from) ^ flip) >> (from % 64);
      if (word != 0) {
        const std::uint64_t found = from + static_cast<std::uint64_t>(std::countr_zero(word));
        return found < end ? found : end;
      }
      from += 64 - from % 64;
    }
    return end;
  }

  std::vector<std::uint64_t>
      owned_;  ///< Empty when the words are an arena's. A move keeps the words in place.
  std::span<std::uint64_t> words_;
  std::uint64_t mask_;
  std::uint64_t base_;
};

}  // namespace wharf
