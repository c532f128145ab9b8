// SPDX-License-Identifier: Apache-2.0
#include "live/shm/frame_ring.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::live {
namespace {

/// A head: the sequence number in the low half, then 16 bits of length, 8 of service, 8 of kind. 0 is none.
enum class Kind : std::uint8_t { kFrame = 1, kToTheBeginning = 2 };

struct Head {
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;
  std::uint8_t service = 0;
  std::uint8_t kind = 0;
};

constexpr std::uint32_t sequence_of(std::uint64_t position) {
  return static_cast<std::uint32_t>(position) | 0x80000000U;  // Never 0.
}
constexpr std::uint64_t encode(std::uint64_t position, std::size_t length, std::uint8_t service, Kind kind) {
  return std::uint64_t{sequence_of(position)} | std::uint64_t{length} << 32U | std::uint64_t{service} << 48U |
         std::uint64_t{static_cast<std::uint8_t>(kind)} << 56U;
}
constexpr Head decode(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32U) & 0xffffU,
          static_cast<std::uint8_t>(word >> 48U), static_cast<std::uint8_t>(word >> 56U)};
}

std::atomic_ref<std::uint64_t> head_at(const FrameRing& ring, std::uint32_t cell) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(ring.cells + cell * kRingCellBytes));
}
std::byte* bytes_at(const FrameRing& ring, std::uint32_t cell) {
  return ring.cells + cell * kRingCellBytes + kRingHeadBytes;
}
std::uint32_t cell_of(const FrameRing& ring, std::uint64_t position) {
  return static_cast<std::uint32_t>(position) & (ring.count - 1);
}

}  // namespace

bool FrameRingWriter::put(std::span<const std::byte> frame, std::uint8_t service,
                          std::span<const std::byte> data) {
  const std::size_t length = frame.size() + data.size();
  const std::uint32_t cells = ring_cells(length);
  WHARF_CHECK(length != 0 && length <= 0xffff && cells <= ring_.count / 4);
  std::uint32_t at = cell_of(ring_, written_);
  const std::uint32_t skipped = cells > ring_.count - at ? ring_.count - at : 0;
  if (!has_room(skipped + cells + 1)) return false;  // And the head behind it.
  if (skipped != 0) {
    head_at(ring_, 0).store(0, std::memory_order_relaxed);
    head_at(ring_, at).store(encode(written_, 0, 0, Kind::kToTheBeginning), std::memory_order_release);
    written_ += skipped;
    at = 0;
  }
  head_at(ring_, cell_of(ring_, written_ + cells)).store(0, std::memory_order_relaxed);
  std::copy(data.begin(), data.end(), std::copy(frame.begin(), frame.end(), bytes_at(ring_, at)));
  // Before wakes_reader() in the one order of all: either it sees the reader asleep, or the reader the frame.
  head_at(ring_, at).store(encode(written_, length, service, Kind::kFrame), std::memory_order_seq_cst);
  written_ += cells;
  return true;
}

bool FrameRingWriter::has_room(std::uint32_t cells) {
  if (written_ + cells - consumed_ <= ring_.count) return true;
  const std::uint64_t said = ring_.control->consumed.load(std::memory_order_seq_cst);
  // It can have read neither less than before nor more than was written.
  if (said - consumed_ > written_ - consumed_) return false;
  consumed_ = said;
  return written_ + cells - consumed_ <= ring_.count;
}

bool FrameRingWriter::prepare_wait(std::uint32_t cells) {
  ring_.control->waiting.store(1, std::memory_order_seq_cst);
  return !takes(cells);
}

bool FrameRingWriter::wakes_reader() {
  if (ring_.control->sleeping.load(std::memory_order_seq_cst) == 0) return false;
  ring_.control->sleeping.store(0, std::memory_order_relaxed);
  return true;
}

std::optional<FrameRingReader::Frame> FrameRingReader::take() {
  if (lied_) return std::nullopt;
  for (;;) {
    const std::uint32_t at = cell_of(ring_, read_);
    const std::uint64_t word = head_at(ring_, at).load(std::memory_order_acquire);
    if (word == 0) return std::nullopt;
    const Head head = decode(word);
    if (head.sequence != sequence_of(read_)) return refuse();
    if (head.kind == static_cast<std::uint8_t>(Kind::kToTheBeginning) && at != 0) {
      read_ += ring_.count - at;  // Not twice in a row: the next is at 0.
      continue;
    }
    const std::uint32_t cells = ring_cells(head.length);
    if (head.kind != static_cast<std::uint8_t>(Kind::kFrame) || head.length == 0 || head.length > longest_ ||
        cells > ring_.count - at) {
      return refuse();
    }
    read_ += cells;
    return Frame{{bytes_at(ring_, at), head.length}, head.service};
  }
}

std::optional<FrameRingReader::Frame> FrameRingReader::refuse() {
  lied_ = true;
  return std::nullopt;
}

bool FrameRingReader::release() {
  // Before the look at `waiting` in the one order of all: either it sees the writer wait, or the writer this.
  ring_.control->consumed.store(read_, std::memory_order_seq_cst);
  if (ring_.control->waiting.load(std::memory_order_seq_cst) == 0) return false;
  ring_.control->waiting.store(0, std::memory_order_relaxed);
  return true;
}

bool FrameRingReader::prepare_sleep() {
  if (lied_) return true;
  ring_.control->sleeping.store(1, std::memory_order_seq_cst);
  return head_at(ring_, cell_of(ring_, read_)).load(std::memory_order_seq_cst) == 0;
}

}  // namespace wharf::live
