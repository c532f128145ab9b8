// SPDX-License-Identifier: Apache-2.0
#include "wire/payload.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace wharf::wire {
namespace {

void fill_pattern(std::uint32_t pattern, std::uint64_t offset, std::byte* out, std::size_t length) {
  while (length > 0 && offset % 8 != 0) {
    *out++ = pattern_byte(pattern, offset++);
    --length;
  }
  for (; length >= 8; length -= 8, out += 8, offset += 8) store_le64(out, pattern_word(pattern, offset / 8));
  for (; length > 0; --length) *out++ = pattern_byte(pattern, offset++);
}

bool pattern_matches(const Payload& pattern, const std::byte* bytes) {
  std::byte expected[256];
  for (std::uint32_t at = 0; at < pattern.length;) {
    const std::uint32_t part = std::min<std::uint32_t>(sizeof expected, pattern.length - at);
    fill_pattern(pattern.pattern, pattern.pattern_offset + at, expected, part);
    if (std::memcmp(expected, bytes + at, part) != 0) return false;
    at += part;
  }
  return true;
}

}  // namespace

void fill(const Payload& payload, std::span<std::byte> out) {
  WHARF_CHECK(out.size() >= payload.length);
  switch (payload.kind) {
    case PayloadKind::kNone:
      return;
    case PayloadKind::kBytes:
      std::memcpy(out.data(), payload.bytes, payload.length);
      return;
    case PayloadKind::kPattern:
      fill_pattern(payload.pattern, payload.pattern_offset, out.data(), payload.length);
      return;
  }
}

bool payload_equal(const Payload& a, const Payload& b) {
  if (a.length != b.length) return false;
  if (a.length == 0) return true;
  if (a.kind == PayloadKind::kBytes && b.kind == PayloadKind::kBytes)
    return a.bytes == b.bytes || std::memcmp(a.bytes, b.bytes, a.length) == 0;
  if (a.kind == PayloadKind::kBytes) return pattern_matches(b, a.bytes);
  if (b.kind == PayloadKind::kBytes) return pattern_matches(a, b.bytes);
  if (a.pattern == b.pattern && a.pattern_offset == b.pattern_offset) return true;
  for (std::uint32_t at = 0; at < a.length; ++at)
    if (payload_byte(a, at) != payload_byte(b, at)) return false;
  return true;
}

}  // namespace wharf::wire
