// SPDX-License-Identifier: Apache-2.0
// The entries of rings in host memory: work requests, receives and completions as bytes that a driver writes
// and reads while hardware, or an engine, does the other half. One layout serves UB and RoCE. Integers are
// little-endian, as the hosts are; docs/engine-contract.md draws the tables.
//
// Choice: neither protocol's public documents lay such entries out; vendors do, each their own way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wharf::wire {

/// Bytes of an entry, and of a work entry with its second half.
inline constexpr std::uint32_t kRingEntryBytes = 64;
inline constexpr std::uint32_t kLongWorkEntryBytes = 128;
/// Inline data that the second half holds at most.
inline constexpr std::uint32_t kRingInlineBytes = 64;
/// Pieces of local memory: of a short work entry, of a long one, of a receive entry.
inline constexpr std::uint32_t kShortWorkPieces = 1;
inline constexpr std::uint32_t kLongWorkPieces = 4;
inline constexpr std::uint32_t kReceivePieces = 3;

/// What a work entry asks for. Zero is no opcode, so that memory that nobody wrote is no entry.
enum class RingOpcode : std::uint8_t {
  kRead = 2,
  kWrite = 3,
  kWriteImm = 4,
  kWriteNotify = 5,
  kSend = 6,
  kSendImm = 7,
  kSendInvalidate = 8,
  kCompareSwap = 9,
  kSwap = 10,
  kAtomicStore = 11,
  kAtomicLoad = 12,
  kFetchAdd = 13,
  kFetchSub = 14,
  kFetchAnd = 15,
  kFetchOr = 16,
  kFetchXor = 17,
};
constexpr bool is_atomic(RingOpcode opcode) { return opcode >= RingOpcode::kCompareSwap; }
constexpr bool carries_payload(RingOpcode opcode) {
  return opcode >= RingOpcode::kWrite && opcode <= RingOpcode::kSendInvalidate;
}

/// A piece of local memory.
struct RingPiece {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t key = 0;
  bool operator==(const RingPiece&) const = default;
};

/// A name of remote memory: UB TokenID and TokenValue; RoCE R_Key and zero.
struct RingToken {
  std::uint32_t id = 0;
  std::uint32_t value = 0;
  bool operator==(const RingToken&) const = default;
};

/// One work request. The first 64 bytes say everything of a request with one piece of local memory, atomics
/// of up to 8 bytes included; a long entry adds three pieces, inline data, the address of a notification, or
/// operands of 16 bytes.
struct WorkEntry {
  std::uint64_t id = 0;
  RingOpcode opcode = RingOpcode::kRead;
  bool signaled = true;
  bool fence = false;
  bool solicited = false;
  bool completion_in_order = true;
  bool is_inline = false;  ///< The data is in `inline_data`; there are no pieces.
  bool is_long = false;    ///< The second half is in use.
  std::uint8_t order = 0;  ///< 0 none, 1 relaxed, 2 strong.
  std::uint8_t width = 0;  ///< Atomics: 4, 8 or 16 bytes; others 0.
  std::uint8_t piece_count = 0;
  std::uint8_t hint = 0;
  std::uint32_t length = 0;  ///< Of the message; atomics: 0, the width says it.
  std::uint32_t peer = 0;
  /// The first piece is as long as the others leave of `length`, or the width of an atomic: that is not in
  /// the bytes.
  std::array<RingPiece, kLongWorkPieces> pieces{};
  std::uint64_t remote_address = 0;
  RingToken remote;
  std::uint64_t immediate = 0;             ///< All but atomics.
  RingToken invalidate;                    ///< All but atomics.
  std::array<std::uint64_t, 2> operand{};  ///< Atomics. The upper halves are in long entries only.
  std::array<std::uint64_t, 2> compare{};
  std::uint64_t notify_address = 0;  ///< Long entries of all but atomics, without inline data.
  RingToken notify;
  std::array<std::byte, kRingInlineBytes> inline_data{};
  bool operator==(const WorkEntry&) const = default;
};

struct ReceiveEntry {
  std::uint64_t id = 0;
  std::uint8_t piece_count = 0;
  std::array<RingPiece, kReceivePieces> pieces{};
  bool operator==(const ReceiveEntry&) const = default;
};

/// `lap` tells a new entry from the one that was in its place a lap ago: true in the first lap, false in the
/// second, and so on. It is in the last byte, which memory shows last.
struct CompletionEntry {
  std::uint64_t id = 0;
  std::uint8_t status = 0;  ///< verbs::CompletionStatus.
  bool is_receive = false;
  bool has_immediate = false;
  bool solicited = false;
  RingOpcode opcode = RingOpcode::kRead;
  std::uint32_t length = 0;
  std::uint32_t queue = 0;
  std::uint32_t remote_host = 0;
  std::uint32_t remote_queue = 0;
  std::uint64_t immediate = 0;
  std::array<std::uint64_t, 2> atomic_result{};
  bool lap = true;
  bool operator==(const CompletionEntry&) const = default;
};

/// Why bytes are no entry.
enum class RingEntryError : std::uint8_t {
  kNone,
  kTooShort,  ///< Fewer bytes than the entry says it has, or than it needs.
  kOpcode,
  kReserved,  ///< Bits that are zero are not.
  kWidth,     ///< No width of an atomic, or one that needs a long entry.
  kPieces,    ///< More pieces than the entry has room for, or longer ones than the message.
  kInline,    ///< Inline data that is too long, or of a request that sends none.
};
std::string_view name(RingEntryError error);

/// Whether the entry needs its second half.
bool needs_long_entry(const WorkEntry& entry);
/// Bytes that encode() writes.
constexpr std::uint32_t encoded_bytes(const WorkEntry& entry) {
  return entry.is_long ? kLongWorkEntryBytes : kRingEntryBytes;
}

/// `out` has encoded_bytes(entry), or kRingEntryBytes; is_long is set where it is needed.
void encode(const WorkEntry& entry, std::span<std::byte> out);
void encode(const ReceiveEntry& entry, std::span<std::byte, kRingEntryBytes> out);
void encode(const CompletionEntry& entry, std::span<std::byte, kRingEntryBytes> out);

/// Reads what encode() wrote; every accepted entry encodes to the bytes it was read from. `bytes` may be
/// longer than the entry.
RingEntryError decode(std::span<const std::byte> bytes, WorkEntry& out);
RingEntryError decode(std::span<const std::byte> bytes, ReceiveEntry& out);
RingEntryError decode(std::span<const std::byte> bytes, CompletionEntry& out);

}  // namespace wharf::wire
