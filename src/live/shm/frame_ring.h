// SPDX-License-Identifier: Apache-2.0
// A ring of frames in memory that two processes share: one writes, one reads, neither trusts the other.
//
// The ring is an array of cells of 64 bytes, as many as a power of two. A frame takes cells in a row: 8 bytes
// of head, then its bytes. The head holds a sequence number, the position of its first cell, so a reader
// knows from the place itself whether the next frame is there: it and its data are one access. A frame that
// would pass the end of the array starts at the beginning; a head that says so fills the rest.
//
//   writer   zeroes the head behind the frame, writes the frame, then its head (release)
//   reader   reads the head once, checks the copy, hands the bytes out in place, and says what it has read
//
// There is no lock, and nothing to repair: a writer that dies leaves a frame without a head, which nobody
// sees. A side that lies gets nothing but its own lies back: positions and lengths count only within the
// array, and each is copied before it is checked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "live/reactor/datagram_port.h"

namespace wharf::live {

/// What the two tell each other beside the frames. Lies in shared memory, zero at first.
struct FrameRingControl {
  alignas(64) std::atomic<std::uint64_t> consumed;  ///< Cells that may be written again.
  alignas(64) std::atomic<std::uint32_t> sleeping;  ///< Not 0: the reader wants its doorbell to ring.
  std::atomic<std::uint32_t> waiting;  ///< Not 0: the writer does, when there is room. Said by the writer.
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Where a ring lies. Both ends of this process's view.
struct FrameRing {
  FrameRingControl* control = nullptr;
  std::byte* cells = nullptr;  ///< Zero at first; aligned to a cell.
  std::uint32_t count = 0;     ///< Of cells: a power of two.
};

inline constexpr std::size_t kRingCellBytes = 64;
inline constexpr std::size_t kRingHeadBytes = 8;

/// Cells of a frame of `bytes`.
constexpr std::uint32_t ring_cells(std::size_t bytes) {
  return static_cast<std::uint32_t>((kRingHeadBytes + bytes + kRingCellBytes - 1) / kRingCellBytes);
}

class FrameRingWriter {
 public:
  explicit FrameRingWriter(const FrameRing& ring) : ring_(ring) {}

  /// Writes one frame of 1 to 65,535 bytes, no more than a quarter of the ring: `frame`, and `data` behind
  /// it. False: it has no room.
  bool put(std::span<const std::byte> frame, std::uint8_t service, std::span<const std::byte> data = {});
  /// Whether frames of `cells` in all have room, none of them longer than that, wherever the array ends.
  bool takes(std::uint32_t cells) { return has_room(cells + kLongestSkip + 1); }
  /// Whether half of the ring is empty.
  bool is_half_empty() { return has_room(ring_.count / 2); }
  /// Says that its doorbell shall ring when more was read; false: there is room for `cells` already.
  bool prepare_wait(std::uint32_t cells);
  /// Whether the reader sleeps, which it is then taken not to do any more: ring its doorbell.
  bool wakes_reader();

 private:
  /// Cells that a frame of the longest kind leaves empty at the end of the array.
  static constexpr std::uint32_t kLongestSkip = ring_cells(DatagramPort::kFrameBytes) - 1;

  bool has_room(std::uint32_t cells);

  FrameRing ring_;
  std::uint64_t written_ = 0;   ///< Cells, ever.
  std::uint64_t consumed_ = 0;  ///< What the reader said last, as far as it can be true.
};

class FrameRingReader {
 public:
  /// Takes no frame that is longer than `longest`.
  FrameRingReader(const FrameRing& ring, std::size_t longest) : ring_(ring), longest_(longest) {}

  struct Frame {
    std::span<const std::byte> bytes;  ///< In the ring: a hostile writer can change them at any time.
    std::uint8_t service = 0;
  };
  /// The next frame. It stays where it is until release().
  std::optional<Frame> take();
  /// Gives the room of all frames that were taken back to the writer. True: it waits for that; ring its
  /// doorbell.
  bool release();

  /// Says that its doorbell shall ring; false: a frame is there already.
  bool prepare_sleep();
  void awake() { ring_.control->sleeping.store(0, std::memory_order_relaxed); }
  /// The writer wrote what no honest one does. Nothing more is taken from it.
  bool lied() const { return lied_; }

 private:
  std::optional<Frame> refuse();

  FrameRing ring_;
  std::size_t longest_;
  std::uint64_t read_ = 0;  ///< Cells, ever.
  bool lied_ = false;
};

}  // namespace wharf::live
