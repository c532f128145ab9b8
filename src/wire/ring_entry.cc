// SPDX-License-Identifier: Apache-2.0
#include "wire/ring_entry.h"

#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"

namespace wharf::wire {
namespace {

// Byte 9 of a work entry.
constexpr unsigned kSignaled = 1;
constexpr unsigned kFence = 2;
constexpr unsigned kSolicited = 4;
constexpr unsigned kInOrder = 8;
constexpr unsigned kOrderShift = 4;  // Two bits.
constexpr unsigned kInline = 0x40;
constexpr unsigned kLong = 0x80;
// Byte 11 of a completion entry.
constexpr unsigned kHasImmediate = 1;
constexpr unsigned kWasSolicited = 2;

bool is_opcode(unsigned value) {
  return value >= static_cast<unsigned>(RingOpcode::kRead) &&
         value <= static_cast<unsigned>(RingOpcode::kFetchXor);
}

void store_piece(std::byte* at, const RingPiece& piece) {
  store_le64(at, piece.address);
  store_le32(at + 8, piece.length);
  store_le32(at + 12, piece.key);
}
RingPiece load_piece(const std::byte* at) { return {load_le64(at), load_le32(at + 8), load_le32(at + 12)}; }

void store_token(std::byte* at, RingToken token) {
  store_le32(at, token.id);
  store_le32(at + 4, token.value);
}
RingToken load_token(const std::byte* at) { return {load_le32(at), load_le32(at + 4)}; }

/// The second half of a long entry.
void encode_rest(const WorkEntry& entry, std::byte* at) {
  if (entry.is_inline) {
    std::memcpy(at, entry.inline_data.data(), kRingInlineBytes);
    return;
  }
  if (is_atomic(entry.opcode)) {
    store_le64(at, entry.operand[1]);
    store_le64(at + 8, entry.compare[1]);
  } else {
    store_le64(at, entry.notify_address);
    store_token(at + 8, entry.notify);
  }
  for (std::size_t i = 1; i < kLongWorkPieces; ++i) store_piece(at + 16 * i, entry.pieces[i]);
}

void decode_rest(const std::byte* at, WorkEntry& out) {
  if (out.is_inline) {
    std::memcpy(out.inline_data.data(), at, kRingInlineBytes);
    return;
  }
  if (is_atomic(out.opcode)) {
    out.operand[1] = load_le64(at);
    out.compare[1] = load_le64(at + 8);
  } else {
    out.notify_address = load_le64(at);
    out.notify = load_token(at + 8);
  }
  for (std::size_t i = 1; i < kLongWorkPieces; ++i) out.pieces[i] = load_piece(at + 16 * i);
}

/// The fields of an entry that must fit one another; sets the length of the first piece.
RingEntryError check(WorkEntry& entry) {
  const bool atomic = is_atomic(entry.opcode);
  if (atomic != (entry.width != 0) || (entry.width == 16 && !entry.is_long)) return RingEntryError::kWidth;
  if (atomic && entry.length != 0) return RingEntryError::kReserved;
  if (entry.opcode == RingOpcode::kWriteNotify && !entry.is_long) return RingEntryError::kTooShort;
  if (entry.is_inline) {
    const bool fits = entry.is_long && entry.piece_count == 0 && entry.length <= kRingInlineBytes;
    return fits && carries_payload(entry.opcode) && entry.opcode != RingOpcode::kWriteNotify
               ? RingEntryError::kNone
               : RingEntryError::kInline;
  }
  if (entry.piece_count > (entry.is_long ? kLongWorkPieces : kShortWorkPieces))
    return RingEntryError::kPieces;
  std::uint64_t rest = 0;
  for (std::size_t i = 1; i < entry.piece_count; ++i) rest += entry.pieces[i].length;
  const std::uint32_t length = atomic ? entry.width : entry.length;
  if (rest > length) return RingEntryError::kPieces;
  entry.pieces[0].length = entry.piece_count == 0 ? 0 : length - static_cast<std::uint32_t>(rest);
  return RingEntryError::kNone;
}

}  // namespace

std::string_view name(RingEntryError error) {
  switch (error) {
    case RingEntryError::kNone:
      return "none";
    case RingEntryError::kTooShort:
      return "too_short";
    case RingEntryError::kOpcode:
      return "opcode";
    case RingEntryError::kReserved:
      return "reserved";
    case RingEntryError::kWidth:
      return "width";
    case RingEntryError::kPieces:
      return "pieces";
    case RingEntryError::kInline:
      return "inline";
  }
  WHARF_UNREACHABLE();
}

bool needs_long_entry(const WorkEntry& entry) {
  return entry.piece_count > kShortWorkPieces || entry.is_inline || entry.width == 16 ||
         entry.opcode == RingOpcode::kWriteNotify;
}

void encode(const WorkEntry& entry, std::span<std::byte> out) {
  WHARF_CHECK(entry.is_long || !needs_long_entry(entry));
  WHARF_CHECK(out.size() >= encoded_bytes(entry));
  std::byte* at = out.data();
  const bool atomic = is_atomic(entry.opcode);
  store_le64(at, entry.id);
  store_u8(at + 8, static_cast<std::uint8_t>(entry.opcode));
  store_u8(at + 9, static_cast<std::uint8_t>(
                       (entry.signaled ? kSignaled : 0U) | (entry.fence ? kFence : 0U) |
                       (entry.solicited ? kSolicited : 0U) | (entry.completion_in_order ? kInOrder : 0U) |
                       (unsigned{entry.order} & 3U) << kOrderShift | (entry.is_inline ? kInline : 0U) |
                       (entry.is_long ? kLong : 0U)));
  const unsigned width = entry.width == 0 ? 0U : static_cast<unsigned>(std::countr_zero(entry.width));
  store_u8(at + 10, static_cast<std::uint8_t>(entry.piece_count | width << 4U));
  store_u8(at + 11, entry.hint);
  store_le32(at + 12, entry.length);
  store_le32(at + 16, entry.peer);
  store_le32(at + 20, entry.pieces[0].key);
  store_le64(at + 24, entry.pieces[0].address);
  store_le64(at + 32, entry.remote_address);
  store_token(at + 40, entry.remote);
  if (atomic) {
    store_le64(at + 48, entry.operand[0]);
    store_le64(at + 56, entry.compare[0]);
  } else {
    store_le64(at + 48, entry.immediate);
    store_token(at + 56, entry.invalidate);
  }
  if (entry.is_long) encode_rest(entry, at + kRingEntryBytes);
}

RingEntryError decode(std::span<const std::byte> bytes, WorkEntry& out) {
  if (bytes.size() < kRingEntryBytes) return RingEntryError::kTooShort;
  const std::byte* at = bytes.data();
  const unsigned opcode = load_u8(at + 8);
  const unsigned flags = load_u8(at + 9);
  const unsigned counts = load_u8(at + 10);
  if (!is_opcode(opcode)) return RingEntryError::kOpcode;
  if ((flags >> kOrderShift & 3U) == 3) return RingEntryError::kReserved;
  const unsigned width = counts >> 4U;
  if (width != 0 && (width < 2 || width > 4)) return RingEntryError::kWidth;
  out = WorkEntry{};
  out.id = load_le64(at);
  out.opcode = static_cast<RingOpcode>(opcode);
  out.signaled = (flags & kSignaled) != 0;
  out.fence = (flags & kFence) != 0;
  out.solicited = (flags & kSolicited) != 0;
  out.completion_in_order = (flags & kInOrder) != 0;
  out.order = static_cast<std::uint8_t>(flags >> kOrderShift & 3U);
  out.is_inline = (flags & kInline) != 0;
  out.is_long = (flags & kLong) != 0;
  out.piece_count = static_cast<std::uint8_t>(counts & 15U);
  out.width = static_cast<std::uint8_t>(width == 0 ? 0U : 1U << width);
  out.hint = load_u8(at + 11);
  out.length = load_le32(at + 12);
  out.peer = load_le32(at + 16);
  out.pieces[0].key = load_le32(at + 20);
  out.pieces[0].address = load_le64(at + 24);
  out.remote_address = load_le64(at + 32);
  out.remote = load_token(at + 40);
  if (is_atomic(out.opcode)) {
    out.operand[0] = load_le64(at + 48);
    out.compare[0] = load_le64(at + 56);
  } else {
    out.immediate = load_le64(at + 48);
    out.invalidate = load_token(at + 56);
  }
  if (out.is_long) {
    if (bytes.size() < kLongWorkEntryBytes) return RingEntryError::kTooShort;
    decode_rest(at + kRingEntryBytes, out);
  }
  return check(out);
}

void encode(const ReceiveEntry& entry, std::span<std::byte, kRingEntryBytes> out) {
  std::byte* at = out.data();
  store_le64(at, entry.id);
  store_le64(at + 8, entry.piece_count);
  for (std::size_t i = 0; i < kReceivePieces; ++i) store_piece(at + 16 + 16 * i, entry.pieces[i]);
}

RingEntryError decode(std::span<const std::byte> bytes, ReceiveEntry& out) {
  if (bytes.size() < kRingEntryBytes) return RingEntryError::kTooShort;
  const std::byte* at = bytes.data();
  const std::uint64_t count = load_le64(at + 8);
  if (count > 0xff) return RingEntryError::kReserved;
  if (count > kReceivePieces) return RingEntryError::kPieces;
  out.id = load_le64(at);
  out.piece_count = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < kReceivePieces; ++i) out.pieces[i] = load_piece(at + 16 + 16 * i);
  return RingEntryError::kNone;
}

void encode(const CompletionEntry& entry, std::span<std::byte, kRingEntryBytes> out) {
  std::byte* at = out.data();
  store_le64(at, entry.id);
  store_u8(at + 8, entry.status);
  store_u8(at + 9, entry.is_receive ? 1 : 0);
  store_u8(at + 10, static_cast<std::uint8_t>(entry.opcode));
  store_u8(at + 11, static_cast<std::uint8_t>((entry.has_immediate ? kHasImmediate : 0U) |
                                              (entry.solicited ? kWasSolicited : 0U)));
  store_le32(at + 12, entry.length);
  store_le32(at + 16, entry.queue);
  store_le32(at + 20, entry.remote_host);
  store_le32(at + 24, entry.remote_queue);
  store_le32(at + 28, 0);
  store_le64(at + 32, entry.immediate);
  store_le64(at + 40, entry.atomic_result[0]);
  store_le64(at + 48, entry.atomic_result[1]);
  store_le64(at + 56, 0);
  store_u8(at + 63, entry.lap ? 1 : 0);
}

RingEntryError decode(std::span<const std::byte> bytes, CompletionEntry& out) {
  if (bytes.size() < kRingEntryBytes) return RingEntryError::kTooShort;
  const std::byte* at = bytes.data();
  const unsigned flags = load_u8(at + 11);
  if (!is_opcode(load_u8(at + 10))) return RingEntryError::kOpcode;
  if (load_u8(at + 9) > 1 || flags > (kHasImmediate | kWasSolicited) || load_le32(at + 28) != 0 ||
      (load_le64(at + 56) & ~(std::uint64_t{1} << 56U)) != 0) {
    return RingEntryError::kReserved;
  }
  out.id = load_le64(at);
  out.status = load_u8(at + 8);
  out.is_receive = load_u8(at + 9) != 0;
  out.opcode = static_cast<RingOpcode>(load_u8(at + 10));
  out.has_immediate = (flags & kHasImmediate) != 0;
  out.solicited = (flags & kWasSolicited) != 0;
  out.length = load_le32(at + 12);
  out.queue = load_le32(at + 16);
  out.remote_host = load_le32(at + 20);
  out.remote_queue = load_le32(at + 24);
  out.immediate = load_le64(at + 32);
  out.atomic_result = {load_le64(at + 40), load_le64(at + 48)};
  out.lap = load_u8(at + 63) != 0;
  return RingEntryError::kNone;
}

}  // namespace wharf::wire
