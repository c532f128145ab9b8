// SPDX-License-Identifier: Apache-2.0
// Bytes written as hex digits, for tests that quote documents.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "wire/hex_text.h"

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

}  // namespace wharf::wire
