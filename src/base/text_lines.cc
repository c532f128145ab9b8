// SPDX-License-Identifier: Apache-2.0
#include "base/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "base/nearest_name.h"

namespace wharf {

TextLines::TextLines(std::string_view text, std::string name, char separator)
    : rest_(text), name_(std::move(name)), separator_(separator), ended_(text.empty()) {}

bool TextLines::next() {
  if (ended_) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  if (end == std::string_view::npos) {
    ended_ = true;
  } else {
    rest_.remove_prefix(end + 1);
    ended_ = rest_.empty();
  }
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  ++number_;
  tokens_.clear();
  std::size_t first = 0;
  while (first < line_.size()) {
    const std::size_t last = std::min(line_.find(separator_, first), line_.size());
    tokens_.push_back({line_.substr(first, last - first), static_cast<std::uint32_t>(first + 1)});
    first = last + 1;
  }
  return true;
}

bool TextLines::blank() const { return line_.find_first_not_of(" \t") == std::string_view::npos; }

Error TextLines::refuse(const TextToken& at, std::string_view message) const {
  return input_error(fmt::format("{}:{}:{}: {}", name_, number_, at.column, message));
}

Error TextLines::refuse_end(std::string_view message) const {
  return refuse({{}, static_cast<std::uint32_t>(line_.size() + 1)}, message);
}

Error TextLines::refuse_token(const TextToken& at, std::string_view expected,
                              std::initializer_list<std::string_view> names) const {
  std::string message = fmt::format("found {}, expected {}", quoted_token(at.text), expected);
  const auto nearest = nearest_name(at.text, std::span(names.begin(), names.size()));
  if (nearest) message += fmt::format("; did you mean {}?", *nearest);
  return refuse(at, message);
}

Result<std::uint64_t> TextLines::integer(const TextToken& at, std::string_view what, std::uint64_t low,
                                         std::uint64_t high) const {
  std::uint64_t value = 0;
  const char* end = at.text.data() + at.text.size();
  const auto parsed = std::from_chars(at.text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high) {
    return refuse(at, fmt::format("found {}, expected {}, an integer from {} to {}", quoted_token(at.text),
                                  what, low, high));
  }
  return value;
}

std::string quoted_token(std::string_view token) {
  if (token.empty()) return "nothing (two separators in a row)";
  std::string out = "\"";
  for (const char c : token.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (token.size() > 40 ? "...\"" : "\"");
}

}  // namespace wharf
