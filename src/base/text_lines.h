// SPDX-License-Identifier: Apache-2.0
// Lines and tokens of small text formats in which one space separates tokens, and refusals that name
// file, line and column. Apart from the readers because each of them speaks to users in the same form.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf {

/// A piece of a line between separators.
struct TextToken {
  std::string_view text;
  std::uint32_t column = 1;  ///< Of its first byte, from 1.
};

/// Goes through a text line by line and splits each at every `separator`: two separators in a row give an
/// empty token; one at the end of a line gives none. `text` outlives it and its tokens.
class TextLines {
 public:
  TextLines(std::string_view text, std::string name, char separator = ' ');

  /// The next line, if any; a carriage return before the line feed is not part of it.
  bool next();
  std::string_view line() const { return line_; }
  std::uint32_t number() const { return number_; }  ///< From 1; 0 before the first line.
  const std::string& name() const { return name_; }
  const std::vector<TextToken>& tokens() const { return tokens_; }
  std::size_t size() const { return tokens_.size(); }
  const TextToken& operator[](std::size_t i) const { return tokens_[i]; }
  /// Nothing but spaces and tabs.
  bool blank() const;

  /// "FILE:LINE:COLUMN: MESSAGE" as an error about the current line.
  Error refuse(const TextToken& at, std::string_view message) const;
  /// The same for a line that ends too early: the place is behind its last character.
  Error refuse_end(std::string_view message) const;
  /// "FILE:LINE:COLUMN: found "TOKEN", expected EXPECTED", with the nearest of `names` when one is near.
  Error refuse_token(const TextToken& at, std::string_view expected,
                     std::initializer_list<std::string_view> names = {}) const;
  /// An integer from `low` to `high`; `what` names it in the refusal.
  Result<std::uint64_t> integer(const TextToken& at, std::string_view what, std::uint64_t low,
                                std::uint64_t high) const;

 private:
  std::string_view rest_;
  std::string name_;
  char separator_;
  bool ended_ = false;
  std::string_view line_;
  std::uint32_t number_ = 0;
  std::vector<TextToken> tokens_;
};

/// A token as it appears in a message: quoted, unprintable bytes as \xNN, at most 40 characters, and in words
/// when it is empty.
std::string quoted_token(std::string_view token);

}  // namespace wharf
