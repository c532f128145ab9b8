// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/tokens.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/nearest_name.h"

namespace wharf::sim {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Walks over the characters and knows where it is.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ == text_.size(); }
  char front() const { return at_end() ? '\0' : text_[at_]; }
  char second() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  LitmusPlace place() const { return place_; }
  char take() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++place_.line;
      place_.column = 1;
    } else {
      ++place_.column;
    }
    return c;
  }
  /// A whole character in UTF-8 between quotes; what is none, or cannot be seen, as a byte in hexadecimal.
  std::string quoted_character() const {
    const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(text_[at_ + at]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    bool is_character = length > 0 && first >= 0x20 && first != 0x7F && at_ + length <= text_.size();
    for (std::size_t at = 1; is_character && at < length; ++at) is_character = (byte(at) & 0xC0U) == 0x80U;
    if (!is_character) return fmt::format("byte 0x{:02x}", first);
    return fmt::format("\"{}\"", text_.substr(at_, length));
  }
  void skip(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) take();
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  LitmusPlace place_;
};

}  // namespace

std::string LitmusToken::quoted() const {
  return kind == Kind::kEnd ? std::string("the end of the file") : fmt::format("\"{}\"", text);
}

Error litmus_error(std::string_view file, LitmusPlace place, std::string_view found,
                   std::string_view expected, std::string_view wrong,
                   const std::vector<std::string_view>& names) {
  const auto nearest = names.empty() ? std::nullopt : nearest_name(wrong, names);
  return input_error(fmt::format("{}:{}:{}: found {}, expected {}{}", file, place.line, place.column, found,
                                 expected, nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

Result<std::vector<LitmusToken>> cut_litmus_tokens(std::string_view file, std::string_view text) {
  constexpr std::array<std::string_view, 15> kSigns{"/\\", "\\/", "{", "}", "(", ")", "[", "]",
                                                    "=",   ";",   ":", ",", "|", "~", "@"};
  std::vector<LitmusToken> tokens;
  Cursor cursor(text);
  while (!cursor.at_end()) {
    const char c = cursor.front();
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      cursor.take();
      continue;
    }
    if (c == '#') {
      while (!cursor.at_end() && cursor.front() != '\n') cursor.take();
      continue;
    }
    LitmusToken token;
    token.place = cursor.place();
    if (cursor.starts("(*")) {
      while (!cursor.at_end() && !cursor.starts("*)")) cursor.take();
      if (cursor.at_end()) return litmus_error(file, token.place, "a comment without end", "\"*)\"");
      cursor.skip(2);
      continue;
    }
    if (c == '"') {
      token.kind = LitmusToken::Kind::kText;
      cursor.take();
      while (!cursor.at_end() && cursor.front() != '"') token.text += cursor.take();
      if (cursor.at_end()) return litmus_error(file, token.place, "a text without end", "a closing quote");
      cursor.take();
    } else if (is_letter(c)) {
      token.kind = LitmusToken::Kind::kWord;
      while (is_letter(cursor.front()) || is_digit(cursor.front()) || cursor.front() == '.' ||
             cursor.front() == '-') {
        token.text += cursor.take();
      }
    } else if (is_digit(c) || (c == '-' && is_digit(cursor.second()))) {
      token.kind = LitmusToken::Kind::kNumber;
      if (c == '-') token.text += cursor.take();
      while (is_digit(cursor.front()) || is_letter(cursor.front())) {
        const char digit = cursor.take();
        token.text += digit;
        const auto value = static_cast<std::uint64_t>(digit - '0');
        if (!is_digit(digit) || token.number > (std::numeric_limits<std::uint64_t>::max() - value) / 10) {
          return litmus_error(file, token.place, fmt::format("\"{}\"", token.text),
                              "a decimal number below 2^64");
        }
        token.number = token.number * 10 + value;
      }
      if (c == '-') token.number = 0 - token.number;
    } else {
      token.kind = LitmusToken::Kind::kSign;
      for (const std::string_view sign : kSigns) {
        if (token.text.empty() && cursor.starts(sign)) token.text = sign;
      }
      if (token.text.empty()) {
        return litmus_error(file, token.place, cursor.quoted_character(),
                            "a word, a number, a sign or a text");
      }
      cursor.skip(token.text.size());
    }
    tokens.push_back(std::move(token));
  }
  LitmusToken end;
  end.place = cursor.place();
  tokens.push_back(end);
  return tokens;
}

}  // namespace wharf::sim
