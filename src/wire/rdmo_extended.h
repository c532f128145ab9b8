// SPDX-License-Identifier: Apache-2.0
// wharf's extended form of remote direct memory operations, an active message 1 in both directions. It adds
// what the published forms lack: an answer with a status to every request, the place of an append, credits,
// appends on condition, queues with a consumer, records in batches. Integers are little-endian.
//
//   request   0 version | 1 operation | 2-3 flags | 4-7 sequence | 8-15 client | 16-23 cookie
//
//     FLUSH     nothing more
//
//     APPEND    24-31 cell | 32-39 cell key | 40-47 data key | 48-55 expected tail | 56-57 records |
//               58-63 zero
//
//     SCATTER   24-31 count; the payload is that of the published forms
//
//     HELLO     nothing more: asks for credits
//
//   answer    0 version | 1 operation | 2-3 status | 4-7 sequence | 8-15 cookie | 16-23 place |
//             24-27 credit limit | 28-31 zero
//
// Choice: no public document has this form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "wire/rdmo_message.h"

namespace wharf::wire {

inline constexpr std::uint8_t kRdmoExtendedVersion = 1;
inline constexpr std::uint32_t kRdmoExtendedFixedBytes = 24;
inline constexpr std::uint32_t kRdmoExtendedAppendBytes = 64;
inline constexpr std::uint32_t kRdmoExtendedScatterBytes = 32;
inline constexpr std::uint32_t kRdmoAnswerBytes = 32;

/// A queue with a consumer: 32 bytes of target memory where a plain append has an 8-byte cell.
///   0-7 tail: bytes ever appended | 8-15 head: bytes ever consumed | 16-23 first byte | 24-31 capacity
/// Byte n of the queue lies at first + n mod capacity. The worker alone writes the tail, the consumer alone
/// the head.
inline constexpr std::uint32_t kRdmoQueueBytes = 32;

enum class RdmoExtendedOperation : std::uint8_t {
  kFlush = 0,
  kAppend = 1,
  kScatter = 2,
  kHello = 3,
  kCredit = 4,  ///< Answers only: news about credits.
};

struct RdmoFlag {
  static constexpr std::uint16_t kFence =
      1;  ///< Starts when all earlier requests of the connection have ended.
  static constexpr std::uint16_t kQuiet = 2;    ///< Answered only if it fails.
  static constexpr std::uint16_t kCompare = 4;  ///< APPEND: only if the tail is `expected`.
  static constexpr std::uint16_t kQueue = 8;    ///< APPEND: `cell` is a queue with a consumer.
  static constexpr std::uint16_t kAll = 15;
};

/// How a request ended.
enum class RdmoStatus : std::uint16_t {
  kDone = 0,
  kMalformed = 1,        ///< The message makes no sense; nothing was done.
  kUnknownClient = 2,    ///< No such target, or this connection is not one of its.
  kBadKey = 3,           ///< A key that names no memory of the target, or no longer.
  kBadAddress = 4,       ///< Outside its memory, or a cell that is not at a multiple of 8.
  kNoRoom = 5,           ///< The append would pass the end; the place is the tail.
  kTailMoved = 6,        ///< The tail is not the expected one; the place is the tail.
  kMemoryFailed = 7,     ///< The target's memory refused, or lost what was written.
  kTargetLost = 8,       ///< The target is gone, or did not answer in time.
  kSenderLost = 9,       ///< The data did not come.
  kTooLong = 10,         ///< Longer than the worker takes.
  kNoCredit = 11,        ///< Sent without credit.
  kBadSequence = 12,     ///< A number was left out or repeated.
  kDamaged = 13,         ///< An earlier failure left the queue without a trustworthy tail.
  kEarlierFailed = 14,   ///< Flush: a request before it failed; the place is how many.
  kStopped = 15,         ///< The worker stops.
  kTimedOut = 16,        ///< The client's library: no answer in time.
  kConnectionLost = 17,  ///< The client's library: the worker is gone.
};
inline constexpr std::uint16_t kRdmoStatusLast = 17;

/// "no room", "bad key", ...: for messages. "unknown status" for other values.
std::string_view name(RdmoStatus status);

struct RdmoExtendedRequest {
  RdmoExtendedOperation operation = RdmoExtendedOperation::kHello;
  std::uint16_t flags = 0;
  std::uint32_t sequence = 0;  ///< Counts the requests of the connection, from 0.
  std::uint64_t client = 0;
  std::uint64_t cookie = 0;  ///< Comes back in the answer.
  std::uint64_t cell = 0;
  std::uint64_t cell_key = 0;
  std::uint64_t data_key = 0;
  std::uint64_t expected = 0;  ///< kCompare: the tail that the append is meant for.
  std::uint16_t records = 0;   ///< APPEND: how many records the payload holds; the worker only counts them.
  std::uint64_t count = 0;     ///< SCATTER: entries.
  bool operator==(const RdmoExtendedRequest&) const = default;
};

struct RdmoAnswer {
  RdmoExtendedOperation operation = RdmoExtendedOperation::kCredit;
  RdmoStatus status = RdmoStatus::kDone;
  std::uint32_t sequence = 0;
  std::uint64_t cookie = 0;
  std::uint64_t place = 0;  ///< APPEND: address of the first byte, in a queue its number; see RdmoStatus.
  std::uint32_t credit_limit = 0;  ///< Requests with a sequence below may be sent. Never moves back.
  bool operator==(const RdmoAnswer&) const = default;
};

/// Flags that an operation may have.
constexpr std::uint16_t flags_of(RdmoExtendedOperation operation) {
  return operation == RdmoExtendedOperation::kAppend
             ? RdmoFlag::kAll
             : static_cast<std::uint16_t>(RdmoFlag::kFence | RdmoFlag::kQuiet);
}

/// Writes the header (kRdmoHeaderBytesMax bytes of room) and returns its length.
inline std::uint32_t encode(const RdmoExtendedRequest& request, std::byte* out) {
  store_u8(out, kRdmoExtendedVersion);
  store_u8(out + 1, static_cast<std::uint8_t>(request.operation));
  std::memcpy(out + 2, &request.flags, 2);
  store_le32(out + 4, request.sequence);
  store_le64(out + 8, request.client);
  store_le64(out + 16, request.cookie);
  if (request.operation == RdmoExtendedOperation::kAppend) {
    store_le64(out + 24, request.cell);
    store_le64(out + 32, request.cell_key);
    store_le64(out + 40, request.data_key);
    store_le64(out + 48, request.expected);
    store_le64(out + 56, request.records);
    return kRdmoExtendedAppendBytes;
  }
  if (request.operation != RdmoExtendedOperation::kScatter) return kRdmoExtendedFixedBytes;
  store_le64(out + 24, request.count);
  return kRdmoExtendedScatterBytes;
}

/// Reads one. Exact: a length, version or flag that this form does not have is refused. With kShort and
/// kLong, `out` is untouched unless the fixed part is there, whose sequence and cookie an answer can name.
inline RdmoError decode(std::span<const std::byte> header, RdmoExtendedRequest& out) {
  if (header.size() > kRdmoHeaderBytesMax) return RdmoError::kLong;
  if (header.size() < kRdmoExtendedFixedBytes) return RdmoError::kShort;
  const std::byte* at = header.data();
  out = {};
  const std::uint32_t first = load_le32(at);
  out.flags = static_cast<std::uint16_t>(first >> 16U);
  out.sequence = load_le32(at + 4);
  out.client = load_le64(at + 8);
  out.cookie = load_le64(at + 16);
  if ((first & 0xffU) != kRdmoExtendedVersion) return RdmoError::kVersion;
  const std::uint32_t operation = first >> 8U & 0xffU;
  if (operation > static_cast<std::uint32_t>(RdmoExtendedOperation::kHello)) return RdmoError::kOperation;
  out.operation = static_cast<RdmoExtendedOperation>(operation);
  if ((out.flags & ~flags_of(out.operation)) != 0) return RdmoError::kFlags;
  const std::size_t size = out.operation == RdmoExtendedOperation::kAppend    ? kRdmoExtendedAppendBytes
                           : out.operation == RdmoExtendedOperation::kScatter ? kRdmoExtendedScatterBytes
                                                                              : kRdmoExtendedFixedBytes;
  if (header.size() != size) return header.size() < size ? RdmoError::kShort : RdmoError::kLong;
  if (out.operation == RdmoExtendedOperation::kAppend) {
    out.cell = load_le64(at + 24);
    out.cell_key = load_le64(at + 32);
    out.data_key = load_le64(at + 40);
    out.expected = load_le64(at + 48);
    const std::uint64_t last = load_le64(at + 56);
    if (last > 0xffffU) return RdmoError::kFlags;
    out.records = static_cast<std::uint16_t>(last);
  } else if (out.operation == RdmoExtendedOperation::kScatter) {
    out.count = load_le64(at + 24);
  }
  return RdmoError::kNone;
}

/// Writes the kRdmoAnswerBytes of an answer.
inline std::uint32_t encode(const RdmoAnswer& answer, std::byte* out) {
  store_u8(out, kRdmoExtendedVersion);
  store_u8(out + 1, static_cast<std::uint8_t>(answer.operation));
  std::memcpy(out + 2, &answer.status, 2);
  store_le32(out + 4, answer.sequence);
  store_le64(out + 8, answer.cookie);
  store_le64(out + 16, answer.place);
  store_le64(out + 24, answer.credit_limit);
  return kRdmoAnswerBytes;
}

/// Reads one; exact, as requests are.
inline RdmoError decode(std::span<const std::byte> header, RdmoAnswer& out) {
  if (header.size() > kRdmoAnswerBytes) return RdmoError::kLong;
  if (header.size() < kRdmoAnswerBytes) return RdmoError::kShort;
  const std::byte* at = header.data();
  const std::uint32_t first = load_le32(at);
  if ((first & 0xffU) != kRdmoExtendedVersion) return RdmoError::kVersion;
  const std::uint32_t operation = first >> 8U & 0xffU;
  if (operation > static_cast<std::uint32_t>(RdmoExtendedOperation::kCredit)) return RdmoError::kOperation;
  const std::uint64_t last = load_le64(at + 24);
  if (first >> 16U > kRdmoStatusLast || last > 0xffff'ffffU) return RdmoError::kFlags;
  out = {static_cast<RdmoExtendedOperation>(operation),
         static_cast<RdmoStatus>(first >> 16U),
         load_le32(at + 4),
         load_le64(at + 8),
         load_le64(at + 16),
         static_cast<std::uint32_t>(last)};
  return RdmoError::kNone;
}

}  // namespace wharf::wire
