// SPDX-License-Identifier: Apache-2.0
// Bytes as hex digits, for people.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>

namespace wharf::wire {

/// Two lower-case digits for each byte, without blanks.
inline std::string hex_text(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace wharf::wire
