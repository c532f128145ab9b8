// SPDX-License-Identifier: Apache-2.0
// The data of a packet or of an access: real bytes, or a description of bytes for runs that need none.
// Apart from the packets because engines, memories and checkers slice and compare payloads without any
// header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace wharf::wire {

enum class PayloadKind : std::uint8_t {
  kNone,     ///< No data; length is 0.
  kBytes,    ///< `bytes` points at `length` bytes.
  kPattern,  ///< `length` bytes of pattern number `pattern`, from `pattern_offset` on.
};

/// Names one buffer of a PayloadPool.
using BufferId = std::uint32_t;
/// The bytes belong to somebody else, who keeps them alive (a memory, a received frame).
inline constexpr BufferId kNoBuffer = 0xffff'ffff;

/// A slice of data. Copying it copies no data and counts no reference; whoever stores a slice of a pool
/// buffer retains `buffer` in the pool.
struct Payload {
  const std::byte* bytes = nullptr;
  std::uint64_t pattern_offset = 0;
  std::uint32_t length = 0;  ///< Bytes.
  BufferId buffer = kNoBuffer;
  std::uint32_t pattern = 0;
  PayloadKind kind = PayloadKind::kNone;
};
static_assert(sizeof(Payload) == 32);

/// `length` bytes at `bytes`, which the caller keeps alive (or the pool buffer `buffer` does).
inline Payload bytes_payload(const std::byte* bytes, std::uint32_t length, BufferId buffer = kNoBuffer) {
  return Payload{bytes, 0, length, buffer, 0, length == 0 ? PayloadKind::kNone : PayloadKind::kBytes};
}
inline Payload bytes_payload(std::span<const std::byte> bytes) {
  return bytes_payload(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
}

/// `length` bytes of pattern `pattern`, beginning at byte `offset` of the endless pattern.
inline Payload pattern_payload(std::uint32_t pattern, std::uint64_t offset, std::uint32_t length) {
  return Payload{nullptr,   offset,  length,
                 kNoBuffer, pattern, length == 0 ? PayloadKind::kNone : PayloadKind::kPattern};
}

/// Bytes 8*index .. 8*index+7 of a pattern, least significant first. One multiplication and two shifts:
/// cheap, yet neighbouring words, and the same word of other patterns, differ in every byte with high
/// probability.
constexpr std::uint64_t pattern_word(std::uint32_t pattern, std::uint64_t index) {
  std::uint64_t word = (index + 1) * 0x9e37'79b9'7f4a'7c15U + (std::uint64_t{pattern} << 32U);
  word = (word ^ (word >> 31U)) * 0xd6e8'feb8'6659'fd93U;
  return word ^ (word >> 29U);
}

/// Byte `offset` of pattern `pattern`.
constexpr std::byte pattern_byte(std::uint32_t pattern, std::uint64_t offset) {
  return static_cast<std::byte>(pattern_word(pattern, offset / 8) >> (8 * (offset % 8)));
}

/// Bytes `offset` .. `offset + length - 1` of `payload`, sharing its storage. They must lie inside it.
inline Payload slice(const Payload& payload, std::uint32_t offset, std::uint32_t length) {
  WHARF_CHECK(offset <= payload.length && length <= payload.length - offset);
  if (length == 0) return Payload{};
  Payload part = payload;
  part.length = length;
  if (part.bytes != nullptr) part.bytes += offset;
  part.pattern_offset += offset;
  return part;
}

/// Writes the bytes of `payload` to `out`, which holds at least `payload.length` bytes.
void fill(const Payload& payload, std::span<std::byte> out);

/// Byte `offset` (below `length`) of a payload.
inline std::byte payload_byte(const Payload& payload, std::uint32_t offset) {
  return payload.kind == PayloadKind::kBytes ? payload.bytes[offset]
                                             : pattern_byte(payload.pattern, payload.pattern_offset + offset);
}

/// Whether both stand for the same bytes, however they are described.
bool payload_equal(const Payload& a, const Payload& b);

}  // namespace wharf::wire
