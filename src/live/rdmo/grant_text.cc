// SPDX-License-Identifier: Apache-2.0
// A grant as people hand it on: "KEY:CELL:ID", in hexadecimal digits.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "live/rdmo/client.h"
#include "live/rdmo/sealed_memory.h"

namespace wharf::live {
namespace {

/// Three numbers of 16 digits, and room around them. What is longer is no grant.
constexpr std::size_t kFileMost = 256;

/// What a file begins with, up to one byte more than a grant's file has.
Result<std::string> beginning_of(const std::string& file) {
  const auto failed = [&] {
    return input_error(fmt::format("{} cannot be read: {}", file, std::strerror(errno)));
  };
  Descriptor opened;
  if (file != "-") {
    opened = Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.open()) return failed();
  }
  const int number = file == "-" ? STDIN_FILENO : opened.number();
  std::string text(kFileMost + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(number, text.data() + length, text.size() - length);
    if (got < 0) return failed();  // A signal that did not end the program, too: nobody waits any more.
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

}  // namespace

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

Result<RdmoGrant> read_grant(const std::string& file) {
  if (file.empty()) return input_error("found no file's name, expected one, or - for standard input");
  const auto text = beginning_of(file);
  if (!text) return text.error();
  const std::string name = file == "-" ? "standard input" : file;
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text->find_first_not_of(kSpace);
  if (first == std::string::npos)
    return input_error(fmt::format("{} is empty, expected KEY:CELL:ID as the target shows it", name));
  const std::string_view trimmed =
      std::string_view(*text).substr(first, text->find_last_not_of(kSpace) + 1 - first);
  auto grant = parse_grant(trimmed);
  if (!grant || text->size() > kFileMost)
    return input_error(fmt::format("{} holds something else than KEY:CELL:ID as the target shows it", name));
  return grant;
}

}  // namespace wharf::live
