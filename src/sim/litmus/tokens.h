// SPDX-License-Identifier: Apache-2.0
// The words of a litmus file, each with its place. Apart from the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

struct LitmusToken {
  enum class Kind : std::uint8_t { kWord, kNumber, kText, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;          ///< A text without its quotes.
  std::uint64_t number = 0;  ///< Modulo 2^64: "-1" is the word that an addition of 1 makes 0.
  LitmusPlace place;

  bool is(std::string_view sign) const { return kind == Kind::kSign && text == sign; }
  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
  /// For messages: the token between quotes, or "the end of the file".
  std::string quoted() const;
};

/// Cuts `text` into tokens, the last one of kind kEnd. `#` and `(* ... *)` are comments. `file` is for
/// messages.
Result<std::vector<LitmusToken>> cut_litmus_tokens(std::string_view file, std::string_view text);

/// "FILE:LINE:COLUMN: found X, expected Y" and, if a name of `names` is near, "; did you mean Z?".
Error litmus_error(std::string_view file, LitmusPlace place, std::string_view found,
                   std::string_view expected, std::string_view wrong = {},
                   const std::vector<std::string_view>& names = {});

}  // namespace wharf::sim
