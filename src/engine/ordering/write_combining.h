// SPDX-License-Identifier: Apache-2.0
// The write-combining buffers of one hardware thread, and its uncached stores. Apart from the store buffer
// for host memory, because what leaves here leaves in any order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "engine/ordering/mmio_operation.h"

namespace wharf::ordering {

inline constexpr std::uint32_t kCombiningBuffersMax = 64;

/// Which line makes room when one more line is touched than there are buffers.
enum class CombiningVictim : std::uint8_t { kOldest, kRandom };

struct WriteCombiningConfig {
  std::uint32_t buffers =
      8;  ///< Lines, 1 to kCombiningBuffersMax. Eight on today's Intel cores, by the MMIO paper's account.
  CombiningVictim victim = CombiningVictim::kOldest;
  /// Largest write, in bytes, that a line which is not full leaves as: a power of two, 1 to 32.
  /// Choice: 8, the pieces in which x86 processors write a partial line ("Intel 64 and IA-32 Architectures
  /// Software Developer's Manual", volume 3A, 12.3.1).
  std::uint32_t partial_bytes_max = 8;
  std::uint32_t uncached_entries = 4;  ///< Uncached stores that wait to leave.
};

/// Merges stores to the same line, and lets lines leave in any order. A line is open while it takes stores
/// and closes when it is full, at a fence, when its room is needed, at an uncached store, or when close()
/// says so (a time-out); a closed line leaves whole, or in naturally aligned pieces when it is not full.
///
/// A numbered operation (MmioKind::kStore, kRelease) takes a buffer of its own, merges with nothing and is
/// closed at once: its number stands for one write. Stores without numbers are covered by no release, only by
/// a fence. Uncached stores leave in order, after every line that was touched before; a later store of
/// another kind is refused until they have left, for x86 commits stores in program order ("Intel 64 and IA-32
/// Architectures Software Developer's Manual", volume 3A, 9.2.2). Choice: a store to a line that is leaving
/// waits until it has left, and so does one of another kind to bytes that are here, so that stores to one
/// address never change places here.
///
/// No time, no memory after construction. Source: "Stop Taking the Scenic Route" (HotOS '25), 2.1 and 3.4.
class WriteCombining {
 public:
  explicit WriteCombining(const WriteCombiningConfig& config);

  // Inputs.
  /// Takes a store of kind kWriteCombiningStore, kUncachedStore, kStore or kRelease. False: no room yet; try
  /// again after something has left, or, after a fence, once it is done. `random` is drawn from for a random
  /// victim only.
  bool store(const MmioOperation& operation, RandomStream* random = nullptr);
  /// sfence: closes every line. Stores are refused until drained().
  void fence();
  /// Closes every line, without a fence: an uncached load sends off what is here before it leaves (volume 3A,
  /// 12.3).
  void send_off_unnumbered();
  /// Closes the line that holds bytes of a numbered `operation`, which must not leave before them. False: it
  /// has not left yet.
  bool send_off_line_of(const MmioOperation& operation);
  /// Closes the `index`-th open line, counted from the oldest; below open_lines(). For time-outs, and for
  /// lines that leave early for no reason that a program can see.
  void close(std::uint32_t index);
  /// One write that left has reached the root complex.
  void arrived();

  // Outputs.
  /// The next write to leave: lines in the order in which they were opened, lowest piece first. False: none.
  bool next_leaving(MmioOperation& out);
  /// How many writes could leave next, for whoever wants to try each.
  std::uint32_t leaving_choices() const;
  /// Takes the `choice`-th of them, below leaving_choices().
  MmioOperation take_leaving(std::uint32_t choice);

  // Observation.
  std::uint32_t open_lines() const;
  /// Uncached stores that have not left; the oldest is the last of leaving_choices().
  std::uint32_t uncached_waiting() const { return static_cast<std::uint32_t>(uncached_.size()); }
  /// Nothing without a number is here: a load of the device may leave. Not so: send_off_unnumbered() first.
  bool unnumbered_left() const;
  /// Nothing is here or on its way to the root complex: a fence is done.
  bool drained() const;
  std::uint32_t on_the_way() const { return on_the_way_; }
  std::uint64_t capacity_bytes() const { return std::uint64_t{config_.buffers} * kLineBytes; }
  /// Appends the canonical state. `base(thread, device)` is the number that the reorder buffer waits for in
  /// that domain and `mask` 2^width - 1; they matter for numbered operations only.
  template <typename Base>
  void append_state(std::vector<std::byte>& out, const Base& base, std::uint32_t mask) const {
    MmioStateWriter writer(out);
    writer.put(static_cast<std::uint8_t>(fencing_ && !drained()));
    writer.put(on_the_way_);
    writer.put(static_cast<std::uint32_t>(uncached_.size()));
    for (std::size_t i = 0; i < uncached_.size(); ++i) ordering::append_state(out, uncached_[i], 0, mask);
    writer.put(in_use_);
    for (const std::uint8_t index : in_age_order()) {
      const Line& line = lines_[index];
      writer.put(static_cast<std::uint8_t>(line.closed));
      writer.put(line.valid);
      ordering::append_state(out, line.content, base(line.content.thread, line.content.device), mask);
    }
  }
  void append_state(std::vector<std::byte>& out) const {
    append_state(
        out, [](std::uint32_t, std::uint32_t) { return 0U; }, 0);
  }

 private:
  /// A buffer. Its content starts at the line's first byte and is 64 long; bytes that are not valid are zero.
  struct Line {
    MmioOperation content{};
    ByteMask valid = 0;  ///< Bytes stored and not yet gone.
    bool closed = false;
  };

  std::span<const std::uint8_t> in_age_order() const { return std::span(by_age_).first(in_use_); }
  bool store_uncached(const MmioOperation& operation);
  void make_room(RandomStream* random);
  std::uint32_t piece_bytes(ByteMask valid) const;
  MmioOperation take_piece(std::uint32_t age, std::uint32_t offset, std::uint32_t bytes);

  WriteCombiningConfig config_;
  std::vector<Line> lines_;
  std::array<std::uint8_t, kCombiningBuffersMax>
      by_age_{};  ///< The first `in_use_`: buffers, the one opened first in front.
  std::uint32_t in_use_ = 0;
  std::uint64_t used_ = 0;  ///< One bit per buffer.
  Ring<MmioOperation> uncached_;
  std::uint32_t on_the_way_ = 0;
  bool fencing_ = false;
};

}  // namespace wharf::ordering
