// SPDX-License-Identifier: Apache-2.0
// The unit of a NIC that finds complete messages in writes which arrive in any order, by address alone. Apart
// from the reorder buffer of sequence numbers: it needs no new instruction, but a contiguous layout and a
// length in each message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ring.h"
#include "engine/ordering/request.h"

namespace wharf::ordering {

/// What a length of zero means.
enum class ZeroLength : std::uint8_t {
  kError,           ///< The queue fails.
  kSkipToNextLine,  ///< Nothing more in this line: the next message starts at the next multiple of 64.
};

struct ReorderUnitConfig {
  std::uint32_t queues = 1;
  /// Data buffers with their valid vectors, shared by the queues: one for each queue that holds an incomplete
  /// message.
  std::uint32_t active_buffers = 1;
  /// Bytes of one data buffer, a power of two from 64. It covers the largest message plus the largest
  /// distance by which writes change places.
  std::uint32_t buffer_bytes = 512;
  std::uint32_t window_bytes =
      256 * 1024;  ///< Addresses of one queue, a power of two from 128 and from buffer_bytes.
  std::uint32_t length_offset = 0;  ///< Place p of the length field in each message, 0 to 4095.
  std::uint32_t length_bytes = 1;   ///< Width of the length field, 1 to 4, least significant byte first.
  std::uint32_t alignment = 1;      ///< Messages start at multiples of this, a power of two from 1 to 64.
  ZeroLength zero_length = ZeroLength::kError;
  /// The length's highest bit says that the next message continues this one: how to send more than a buffer
  /// holds.
  bool continuation_bit = false;
  std::uint32_t memory_bytes = 64 * 1024;  ///< NIC memory for messages until they are sent, a multiple of 64.
};

/// What became of a write.
enum class ReorderedWrite : std::uint8_t {
  kTaken,
  kStale,  ///< Every byte belongs to a message that was handed on: nothing to do.
  /// No data buffer is free, or complete messages of the queue wait for next_message() and NIC memory: the
  /// caller keeps the write and tries again after a message left.
  kHeld,
  kTooFar,  ///< Error: farther ahead of the oldest message than the data buffer reaches. Dropped and counted.
  kOutside,  ///< Error: unknown queue or not in its window. Dropped and counted.
  kFailed,   ///< The queue has failed: dropped.
};

/// Why a queue failed: what its length field says can never become a message.
enum class ReorderFault : std::uint8_t {
  kNone,
  kTooShort,  ///< The message would end before its own length field does.
  kTooLong,   ///< It is longer than the data buffer reaches.
};

/// A complete message, handed on once and in the order of its queue's addresses.
struct ReorderedMessage {
  std::uint32_t queue = 0;
  std::uint32_t offset = 0;  ///< Of its first byte in the window.
  std::uint32_t length = 0;  ///< Bytes, header and length field included.
  bool continued = false;    ///< The next message of the queue belongs to it.
};

/// Wrong writes so far, for observation only.
struct ReorderUnitErrors {
  std::uint64_t too_far = 0;
  std::uint64_t outside = 0;
};

/// Many transmit queues over shared data buffers and NIC memory. The state of a queue is one address: that of
/// the length field of its oldest incomplete message. All arithmetic on addresses is modulo the window, all
/// indices modulo the data buffer, so a message may wrap around the end of both.
///
/// What the paper leaves open is decided so:
///  1. A length that arrives last completes its message in the same step.
///  2. A message that wraps around the end of the buffer or the window is one message.
///  3. Every byte of a wide length field must be valid before it is read; they may come in different writes.
///  4. A length of zero fails the queue or skips to the next line (a key); one that ends before the field
///  fails it.
///  5. A length beyond reach() fails the queue; with continuation_bit, software sends fragments instead.
///  6. Bytes below the start of the oldest message are ignored, so a line that is sent twice sets no stale
///  valid bit.
///  7. Padding is counted in the length, or skipped by alignment; skipped bytes may arrive before, after or
///  never.
///  8. A byte that is written again before its message is complete takes the last value.
///  9. Two cores that write one queue are one stream: software keeps them apart.
/// 10. Only the enabled bytes of a write count.
/// 11. A message whose tail is missing holds up its own queue only; first_missing() names the byte.
/// 12. A read of the window has no effect. It returns what the data buffer holds, and zero elsewhere.
///
/// No time, no memory after construction. Source: "Stop Taking the Scenic Route: the Shortest Distance
/// Between the CPU and the NIC is MMIO" (HotOS '25), 3.1 to 3.4.
class ReorderUnit {
 public:
  /// The hardware needs two cycles per message ("Stop Taking the Scenic Route", 3.2): f / 2 messages a second
  /// at f.
  static constexpr std::uint32_t kCyclesPerMessage = 2;

  /// `config` within the ranges of its fields.
  explicit ReorderUnit(const ReorderUnitConfig& config);

  // Inputs.
  /// A write of `bytes` (1 to 64, within a line) at `offset` of the window of `queue`. Bit i of `enabled`
  /// says whether byte i counts.
  ReorderedWrite write(std::uint32_t queue, std::uint32_t offset, std::span<const std::byte> bytes,
                       ByteMask enabled = kWholeLine);
  /// A message of `length` bytes has been sent: its NIC memory is free again.
  void transmitted(std::uint32_t length);

  // Outputs.
  /// The next complete message; its bytes go to the front of `into`, which holds at least reach(). False when
  /// there is none or NIC memory has no room for it.
  bool next_message(ReorderedMessage& out, std::span<std::byte> into);

  // Observation.
  /// Bytes ahead of the start of the oldest message that a write may touch; no message is longer.
  /// Choice: at most one line less than the window. Of what the window has beyond it, the half behind the
  /// start is taken for late copies and the half ahead for an error; a window of twice the data buffer or
  /// more leaves room for both.
  std::uint32_t reach() const { return reach_; }
  /// The address register: offset of the length field of the oldest incomplete message.
  std::uint32_t length_address(std::uint32_t queue) const;
  ReorderFault fault(std::uint32_t queue) const { return queues_[queue].fault; }
  /// The first byte that the oldest message of `queue` lacks, if the queue holds anything at all.
  std::optional<std::uint32_t> first_missing(std::uint32_t queue) const;
  /// A read of the window, for `out.size()` bytes at `offset`.
  void read(std::uint32_t queue, std::uint32_t offset, std::span<std::byte> out) const;
  std::uint32_t active_buffers_used() const { return config_.active_buffers - free_count_; }
  std::uint32_t memory_free() const { return memory_free_; }
  /// Cycles that the messages handed on so far have taken.
  std::uint64_t cycles() const { return messages_ * kCyclesPerMessage; }
  const ReorderUnitErrors& errors() const { return errors_; }
  /// Appends the canonical state. The start of each queue's oldest message is part of it: later writes are
  /// addresses.
  void append_state(std::vector<std::byte>& out) const;

 private:
  static constexpr std::uint32_t kNoBuffer = ~0U;

  struct Queue {
    std::uint32_t start = 0;  ///< Of the oldest incomplete message.
    std::uint32_t buffer = kNoBuffer;
    ReorderFault fault = ReorderFault::kNone;
    bool pending = false;  ///< Its oldest message may be complete.
  };
  /// What the length field of the oldest message says.
  struct Length {
    bool valid = false;
    bool continued = false;
    std::uint32_t bytes = 0;
  };

  bool valid(std::uint32_t buffer, std::uint32_t offset) const;
  bool all_valid(std::uint32_t buffer, std::uint32_t offset, std::uint32_t count) const;
  std::byte byte_at(std::uint32_t buffer, std::uint32_t offset) const;
  /// Which bytes of a write lie ahead of the start, and whether any is out of reach.
  ByteMask ahead(const Queue& queue, std::uint32_t offset, ByteMask enabled, bool& too_far) const;
  Length read_length(const Queue& queue) const;
  bool complete(Queue& queue, ReorderedMessage& out);
  void advance(Queue& queue, std::uint32_t start, std::uint32_t from, std::span<std::byte> into);
  void release_if_empty(Queue& queue);
  std::span<std::uint64_t> valid_words(std::uint32_t buffer);
  std::span<const std::uint64_t> valid_words(std::uint32_t buffer) const;

  ReorderUnitConfig config_;
  std::uint32_t reach_;
  std::uint32_t stale_span_;  ///< Bytes behind the start that are taken for late ones.
  std::vector<Queue> queues_;
  std::vector<std::byte> data_;       ///< By data buffer.
  std::vector<std::uint64_t> valid_;  ///< Valid vectors, one bit per byte, by data buffer.
  std::vector<std::uint32_t> free_;   ///< The first `free_count_`: data buffers that no queue uses.
  std::uint32_t free_count_;
  Ring<std::uint32_t> pending_;  ///< Queues to look at.
  std::uint32_t memory_free_;
  std::uint64_t messages_ = 0;
  ReorderUnitErrors errors_;
};

}  // namespace wharf::ordering
