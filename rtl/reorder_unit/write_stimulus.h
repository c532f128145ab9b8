// SPDX-License-Identifier: Apache-2.0
// What a core writes to the window of a reorder unit: messages one behind another, cut into pieces that leave
// in any order, with late copies, padding, holes and mistakes. Apart from the comparison, which must not know
// what was meant.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.h"
#include "engine/ordering/reorder_unit.h"

namespace wharf::rtl {

/// One write: a line of the window and the bytes of it that count.
struct LineWrite {
  std::uint32_t line = 0;
  ordering::ByteMask enabled = 0;
  std::array<std::byte, kLineBytes> data{};
};

/// Draws writes for a unit of `config`. What it may send follows from how far the reference has come.
class WriteStimulus {
 public:
  WriteStimulus(const ordering::ReorderUnitConfig& config, RandomStream random)
      : config_(config), random_(random), window_(config.window_bytes) {}

  /// The next write, with the oldest incomplete message at `start`. `may_err`: a write that is too far, too.
  LineWrite next(std::uint32_t start, bool may_err) {
    forget_gone(start);
    if (again_ && again_in_ > 0 && !sent_.empty()) {
      --again_in_;
      return sent_[random_.below(sent_.size())];
    }
    if (again_) {
      const LineWrite write = *again_;
      again_.reset();
      remember(write);
      return write;
    }
    if (late_ && random_.below(4) == 0) {
      const LineWrite write = *late_;
      late_.reset();
      late_place_ = write.line * kLineBytes + ordering::first_byte(write.enabled);
      return write;
    }
    const std::uint64_t kind = random_.below(64);
    if (kind == 0 && may_err) return too_far(start);
    if (kind < 6 && !sent_.empty()) return sent_[random_.below(sent_.size())];  // A late copy.
    while (count_within(start) < 6 && !broken_ && ahead(start) < config_.buffer_bytes) add_message();
    std::vector<std::size_t> choices;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (within(pieces_[i], start)) choices.push_back(i);
    }
    if (choices.empty()) return sent_.empty() ? too_far(start) : sent_[random_.below(sent_.size())];
    // Mostly in order, as cores write.
    const std::size_t choice = choices[random_.below(2) == 0 ? 0 : random_.below(choices.size())];
    const Piece piece = pieces_[choice];
    LineWrite write = filled(piece);
    if (random_.below(16) == 0 && lacks_length(piece.message, choice)) {
      // Written with other bytes first. Only copies come before it is written once more, so its message is
      // not complete.
      again_ = write;
      again_in_ = static_cast<std::uint32_t>(random_.below(5));
      for (std::byte& byte : write.data) byte ^= std::byte{0x5a};
    } else {
      remember(write);
    }
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(choice));
    return write;
  }
  /// A length that cannot be was written: nothing follows.
  bool broken() const { return broken_; }

 private:
  struct Piece {
    std::uint32_t line = 0;
    ordering::ByteMask enabled = 0;
    std::uint64_t message = 0;
    bool has_length = false;  ///< A byte of the length field is in it.
  };

  std::uint32_t mask() const { return config_.window_bytes - 1U; }
  /// Bytes from `start` to where the next message begins.
  std::uint32_t ahead(std::uint32_t start) const { return (next_ - start) & mask(); }
  /// Whether every byte of a piece lies in what the unit reaches from `start`.
  bool within(const Piece& piece, std::uint32_t start) const {
    for (ordering::ByteMask left = piece.enabled; left != 0; left &= left - 1U) {
      const std::uint32_t byte = piece.line * kLineBytes + ordering::first_byte(left);
      if (((byte - start) & mask()) >= config_.buffer_bytes) return false;
    }
    return true;
  }
  std::size_t count_within(std::uint32_t start) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(pieces_, [&](const Piece& piece) { return within(piece, start); }));
  }
  /// Whether another piece than `but` that has not been written holds a byte of the length of `message`.
  bool lacks_length(std::uint64_t message, std::size_t but) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (i != but && pieces_[i].message == message && pieces_[i].has_length) return true;
    }
    return false;
  }
  LineWrite filled(const Piece& piece) {
    LineWrite write{piece.line, piece.enabled, {}};
    for (std::uint32_t i = 0; i < kLineBytes; ++i) {
      const bool enabled = ((piece.enabled >> i) & 1U) != 0;
      write.data[i] =
          enabled ? window_[piece.line * kLineBytes + i] : static_cast<std::byte>(random_.below(256));
    }
    return write;
  }
  void remember(const LineWrite& write) {
    sent_.push_back(write);
    if (sent_.size() > 8) sent_.pop_front();
  }
  /// Copies stay copies only while nothing new has been written to their addresses. Padding that its message
  /// did not wait for may still come late.
  void forget_gone(std::uint32_t start) {
    std::erase_if(pieces_, [&](const Piece& piece) {
      const std::uint32_t byte = piece.line * kLineBytes + ordering::first_byte(piece.enabled);
      const bool is_behind = ((byte - start) & mask()) > config_.window_bytes / 2;
      if (is_behind) {
        late_ = filled(piece);
        remember(*late_);
      }
      return is_behind;
    });
    const auto is_gone = [&](const LineWrite& write) {
      const std::uint32_t behind = (start - write.line * kLineBytes) & mask();
      return behind > config_.buffer_bytes &&
             behind < config_.window_bytes - config_.buffer_bytes - kLineBytes;
    };
    std::erase_if(sent_, is_gone);
    if (late_ && is_gone(*late_)) late_.reset();
  }
  LineWrite too_far(std::uint32_t start) {
    const auto distance =
        static_cast<std::uint32_t>(config_.buffer_bytes + random_.below(config_.buffer_bytes));
    const std::uint32_t byte = (start + distance) & mask();
    LineWrite write{byte / kLineBytes, ordering::ByteMask{1} << (byte % kLineBytes), {}};
    return write;
  }

  std::uint32_t drawn_length() {
    const std::uint32_t header = config_.length_offset + config_.length_bytes;
    std::uint32_t most = config_.buffer_bytes;
    const std::uint32_t bits = 8U * config_.length_bytes - (config_.continuation_bit ? 1U : 0U);
    if (bits < 16) most = std::min(most, (1U << bits) - 1U);
    switch (random_.below(8)) {
      case 0:
        return most;
      case 1:
        return header;
      case 2:
      case 3:
        return std::max(header, 64U);
      default:
        return header + static_cast<std::uint32_t>(random_.below(std::min(most, 200U) - header + 1U));
    }
  }
  void put(std::uint32_t offset, std::byte value) { window_[(next_ + offset) & mask()] = value; }
  void put_length(std::uint32_t value) {
    for (std::uint32_t i = 0; i < config_.length_bytes; ++i)
      put(config_.length_offset + i, static_cast<std::byte>((value >> (8U * i)) & 0xffU));
  }

  /// Appends a message, or a length of zero, or one that cannot be.
  void add_message() {
    const std::uint32_t header = config_.length_offset + config_.length_bytes;
    ++messages_;
    if (random_.below(600) == 0) {
      // Too short, or longer than the buffer reaches.
      put_length(random_.below(2) == 0 ? header - 1U : config_.buffer_bytes + 1U);
      cut(config_.length_offset, config_.length_bytes);
      broken_ = true;
      return;
    }
    const bool skips = config_.zero_length == ordering::ZeroLength::kSkipToNextLine;
    // Not where the field reaches into the line that it skips to.
    if (skips && next_ % kLineBytes + header <= kLineBytes && random_.below(8) == 0) {
      put_length(0);
      cut(config_.length_offset, config_.length_bytes);
      next_ = ((next_ / kLineBytes + 1U) * kLineBytes) & mask();
      return;
    }
    const std::uint32_t length = drawn_length();
    for (std::uint32_t i = 0; i < length; ++i) put(i, static_cast<std::byte>(random_.below(256)));
    const bool continued = config_.continuation_bit && random_.below(4) == 0;
    put_length(length | (continued ? 1U << (8U * config_.length_bytes - 1U) : 0U));
    const std::uint32_t end =
        (length + next_ + config_.alignment - 1U) / config_.alignment * config_.alignment - next_;
    // Padding is written with the message, by itself and in part, or never.
    const std::uint64_t padding = random_.below(3);
    cut(0, padding == 0 ? end : length);
    if (padding == 1 && end > length) {
      const std::uint32_t byte = (next_ + length) & mask();
      const ordering::ByteMask some =
          ordering::byte_mask(byte % kLineBytes, end - length) & random_.next_u64();
      if (some != 0) pieces_.push_back({byte / kLineBytes, some, messages_, false});
    }
    next_ = (next_ + end) & mask();
  }
  /// Cuts `length` bytes from `offset` of the message at next_ into pieces: by line, some of them once more.
  void cut(std::uint32_t offset, std::uint32_t length) {
    for (std::uint32_t done = 0; done < length;) {
      const std::uint32_t byte = (next_ + offset + done) & mask();
      const std::uint32_t here = std::min(length - done, kLineBytes - byte % kLineBytes);
      const ordering::ByteMask all = ordering::byte_mask(byte % kLineBytes, here);
      const std::uint64_t how = random_.below(4);
      // The byte that has the place of late padding a lap later by itself: a valid bit left behind shows.
      const std::uint32_t place = (late_place_ - byte) & (config_.buffer_bytes - 1U);
      const auto one = ordering::ByteMask{1}
                       << (place < here ? byte % kLineBytes + place : random_.below(kLineBytes));
      const ordering::ByteMask some = how == 0 ? all & random_.next_u64() : (how == 1 ? all & one : 0);
      for (const ordering::ByteMask part : {some, all & ~some}) {
        if (part != 0)
          pieces_.push_back({byte / kLineBytes, part, messages_, has_length(byte / kLineBytes, part)});
      }
      done += here;
    }
  }

  /// Whether bytes `part` of a line hold a byte of the length of the message at next_.
  bool has_length(std::uint32_t line, ordering::ByteMask part) const {
    for (std::uint32_t i = 0; i < config_.length_bytes; ++i) {
      const std::uint32_t byte = (next_ + config_.length_offset + i) & mask();
      if (byte / kLineBytes == line && ((part >> (byte % kLineBytes)) & 1U) != 0) return true;
    }
    return false;
  }

  ordering::ReorderUnitConfig config_;
  RandomStream random_;
  std::vector<std::byte> window_;  ///< What the core means to be there.
  std::vector<Piece> pieces_;      ///< Not yet written, in program order.
  std::deque<LineWrite> sent_;
  std::optional<LineWrite> again_;  ///< Was written with other bytes,
  std::uint32_t again_in_ = 0;      ///< and is written once more after so many copies.
  std::optional<LineWrite> late_;   ///< Padding that its message did not wait for, and that comes soon after.
  std::uint32_t late_place_ = 0;    ///< Its first byte in the window.
  std::uint64_t messages_ = 0;
  std::uint32_t next_ = 0;  ///< Where the next message begins.
  bool broken_ = false;
};

}  // namespace wharf::rtl
