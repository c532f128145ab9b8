// SPDX-License-Identifier: Apache-2.0
// A grant as people hand it on: "KEY:CELL:ID", in hexadecimal digits.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "live/rdmo/client.h"

namespace wharf::live {

std::string format_grant(const RdmoGrant& grant) {
  return fmt::format("{:016x}:{:x}:{:x}", grant.key, grant.cell, grant.client);
}

Result<RdmoGrant> parse_grant(std::string_view text) {
  std::array<std::uint64_t, 3> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool whole = true;
  for (std::size_t i = 0; whole && i < numbers.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i], 16);
    const bool last = i + 1 == numbers.size();
    whole = error == std::errc() && (last ? next == end : next != end && *next == ':');
    at = next + 1;
  }
  if (!whole) return input_error(fmt::format("found {}, expected KEY:CELL:ID as the target shows it", text));
  RdmoGrant grant;
  grant.key = numbers[0];
  grant.cell = numbers[1];
  grant.client = numbers[2];
  return grant;
}

}  // namespace wharf::live
