// SPDX-License-Identifier: Apache-2.0
// What the ordering machines talk about: requests of a device on single cache lines, the ordering that each
// one asks for, and the domain in which it asks. Labels are meanings, never bits: legacy RO=1 means weaker, a
// proposed release bit means stronger, and the mapping from wire to label is elsewhere, in one place.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/line.h"
#include "verbs/access_order.h"
#include "verbs/verb.h"

namespace wharf::ordering {

/// Bit i stands for byte i of a line: which of its LineBytes count.
using ByteMask = std::uint64_t;

inline constexpr ByteMask kWholeLine = ~ByteMask{0};

/// Bytes [offset, offset + length) of a line; length 1 to 64, the range inside the line.
constexpr ByteMask byte_mask(std::uint32_t offset, std::uint32_t length) {
  return (length >= kLineBytes ? kWholeLine : (ByteMask{1} << length) - 1) << offset;
}
/// The lowest byte of `mask`, which is not empty.
constexpr std::uint32_t first_byte(ByteMask mask) {
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}
constexpr std::uint32_t byte_count(ByteMask mask) {
  // Most lines are whole, and the base of our processors cannot count bits.
  return mask == kWholeLine ? kLineBytes : static_cast<std::uint32_t>(std::popcount(mask));
}

/// How a request uses the link: a write is posted, the others are non-posted and get an answer.
enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };
inline constexpr int kKindCount = 3;

/// What order a request asks for. The first three are today's PCIe attributes, the next three the proposal of
/// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" 4.1, the last two what get protocols
/// need beyond it. Choice: acquire and release mean the same on every kind of request, so that an atomic can
/// carry them.
enum class Label : std::uint8_t {
  kStrong,  ///< Legacy, RO=0 and IDO=0: a write after all earlier writes, a read after all earlier writes.
  kRelaxedOrdering,  ///< Legacy, RO=1: a write may pass earlier writes. A read is ordered as a strong one.
  kIdBased,          ///< Legacy, IDO=1: as strong, but only among requests of its own requester.
  kRelaxed,          ///< May take effect in any order.
  kAcquire,          ///< Every later request of the domain takes effect after it.
  kRelease,          ///< Takes effect after every earlier request of the domain is complete.
  kAscending,        ///< Relaxed, but its own lines take effect from the lowest address upward.
  kReadRelease,      ///< A read that takes effect after every earlier read (and atomic) of the domain.
};
inline constexpr int kLabelCount = static_cast<int>(Label::kReadRelease) + 1;

constexpr bool is_legacy(Label label) { return label <= Label::kIdBased; }

/// The label of an access of an engine, whose vocabulary has no legacy attributes.
constexpr Label label_of(verbs::AccessOrder order) {
  switch (order) {
    case verbs::AccessOrder::kRelaxed:
      return Label::kRelaxed;
    case verbs::AccessOrder::kAcquire:
      return Label::kAcquire;
    case verbs::AccessOrder::kRelease:
      return Label::kRelease;
    case verbs::AccessOrder::kAscending:
      return Label::kAscending;
    case verbs::AccessOrder::kReadRelease:
      return Label::kReadRelease;
  }
  return Label::kStrong;
}

/// Who asks: requests of different domains are never ordered by a design that knows domains, except that
/// those on one line keep their order.
struct Domain {
  std::uint32_t requester = 0;  ///< The device's function (bus, device, function).
  std::uint32_t thread = 0;     ///< Its stream, for example a queue pair; 0 for devices that know none.

  constexpr std::uint64_t key() const { return (std::uint64_t{requester} << 32U) | thread; }
  friend constexpr bool operator==(const Domain&, const Domain&) = default;
};

/// One request on one line. A longer one is cut by LineCutter into several that share `number`, the lowest
/// address first; the lines of a request follow each other without another request of their domain in between
/// (otherwise order is kept, but more is ordered than need be).
struct Request {
  Kind kind = Kind::kRead;
  Label label = Label::kStrong;
  bool is_first = true;  ///< The lowest line of its request.
  bool is_last = true;   ///< The highest one.
  Domain domain;
  std::uint64_t number =
      0;  ///< Of the whole request; unequal among the requests of one domain that are under way.
  std::uint32_t tag = 0;  ///< The sender's own, handed back with the answer.
  LineNumber line = 0;
  ByteMask mask = kWholeLine;  ///< The bytes read or written. Atomics: 4, 8 or 16 bytes, aligned.
  LineBytes bytes{};           ///< Writes: the new bytes, each at its place in the line.
  // Atomics: kCompareSwap, kSwap, kFetchAdd and so on (verbs::is_atomic); low word first.
  verbs::Verb atomic = verbs::Verb::kFetchAdd;
  std::array<std::uint64_t, 2> operand{};
  std::array<std::uint64_t, 2> compare{};

  constexpr bool is_posted() const { return kind == Kind::kWrite; }
};

/// A part of an access that lies in one line.
struct LinePart {
  LineNumber line = 0;
  std::uint64_t offset = 0;  ///< Of its first byte, from the start of the access.
  std::uint32_t length = 0;
  ByteMask mask = 0;
  bool is_first = false;
  bool is_last = false;
};

/// Cuts [address, address + length) at line boundaries, lowest address first.
class LineCutter {
 public:
  constexpr LineCutter(std::uint64_t address, std::uint64_t length) : address_(address), length_(length) {}

  /// Takes the next part; false when there is none. An empty access has none.
  constexpr bool next(LinePart& part) {
    if (done_ == length_) return false;
    const std::uint64_t at = address_ + done_;
    const auto in_line = static_cast<std::uint32_t>(at % kLineBytes);
    const std::uint64_t left = length_ - done_;
    const std::uint32_t room = kLineBytes - in_line;
    const std::uint32_t length = left < room ? static_cast<std::uint32_t>(left) : room;
    part = LinePart{.line = at / kLineBytes,
                    .offset = done_,
                    .length = length,
                    .mask = byte_mask(in_line, length),
                    .is_first = done_ == 0,
                    .is_last = length == left};
    done_ += length;
    return true;
  }

 private:
  std::uint64_t address_;
  std::uint64_t length_;
  std::uint64_t done_ = 0;
};

}  // namespace wharf::ordering
