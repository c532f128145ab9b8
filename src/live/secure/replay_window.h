// SPDX-License-Identifier: Apache-2.0
// Which of the numbers of one direction have been seen: a window that slides behind the highest, as in RFC
// 6479. What is older than the window counts as seen.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace wharf::live {

class ReplayWindow {
 public:
  /// So far behind the highest a number may come.
  static constexpr std::uint64_t kWidth = 1024;

  /// Whether `number` came before, or may have.
  bool seen(std::uint64_t number) const {
    if (number >= next_) return false;
    if (next_ - number > kWidth) return true;
    return (words_[word_of(number)] & bit_of(number)) != 0;
  }
  /// `number`, which was not seen(), has come.
  void accept(std::uint64_t number) {
    if (number >= next_) {
      // Places between the old end and the new one are those of numbers that have left the window.
      const std::uint64_t last = next_ == 0 ? 0 : (next_ - 1) / 64;
      const std::uint64_t words = std::min<std::uint64_t>(number / 64 - last, words_.size());
      for (std::uint64_t word = 1; word <= words; ++word) words_[(last + word) % words_.size()] = 0;
      next_ = number + 1;
    }
    words_[word_of(number)] |= bit_of(number);
  }
  /// One more than the highest number that has come.
  std::uint64_t next() const { return next_; }

 private:
  /// One word more than the window has: the newest is never wholly used.
  static constexpr std::size_t kWords = kWidth / 64 + 1;
  static std::size_t word_of(std::uint64_t number) { return (number / 64) % kWords; }
  static std::uint64_t bit_of(std::uint64_t number) { return std::uint64_t{1} << (number % 64); }

  std::array<std::uint64_t, kWords> words_{};
  std::uint64_t next_ = 0;
};

}  // namespace wharf::live
