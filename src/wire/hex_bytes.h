// SPDX-License-Identifier: Apache-2.0
// Bytes written as hex digits, for tests that quote documents.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::wire {

/// The bytes of "45 02 0044": blanks are ignored, digits come in pairs.
inline std::vector<std::byte> hex_bytes(std::string_view hex) {
  std::vector<std::byte> bytes;
  unsigned value = 0;
  bool half = false;
  for (const char c : hex) {
    if (c == ' ') continue;
    const char lower = static_cast<char>(c | ' ');
    const int digit = c <= '9' ? c - '0' : lower - 'a' + 10;
    value = value * 16 + static_cast<unsigned>(digit);
    half = !half;
    if (half) continue;
    bytes.push_back(static_cast<std::byte>(value));
    value = 0;
  }
  return bytes;
}

/// The other way, without blanks.
inline std::string hex_text(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace wharf::wire
