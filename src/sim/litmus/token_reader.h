// SPDX-License-Identifier: Apache-2.0
// Reading tokens one after the other, with the refusals that every part of the grammar uses.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/litmus/tokens.h"

namespace wharf::sim {

class LitmusTokenReader {
 public:
  LitmusTokenReader(std::string_view file, std::string_view text, std::vector<LitmusToken> tokens)
      : file_(file), text_(text), tokens_(std::move(tokens)) {}

  const std::string& file() const { return file_; }
  const LitmusToken& front() const { return tokens_[at_]; }
  /// The last token, the end, is never passed.
  LitmusToken take() { return tokens_[front().kind == LitmusToken::Kind::kEnd ? at_ : at_++]; }
  /// The token behind front(), or the end.
  const LitmusToken& second() const {
    return tokens_[front().kind == LitmusToken::Kind::kEnd ? at_ : at_ + 1];
  }
  std::size_t position() const { return at_; }
  /// What was read since position() was `from`, with `blank` between words and numbers.
  std::string text_since(std::size_t from, std::string_view blank = "") const {
    std::string joined;
    for (std::size_t at = from; at < at_; ++at) {
      const LitmusToken& token = tokens_[at];
      if (token.text == "/\\" || token.text == "\\/") {
        joined += " " + token.text + " ";
        continue;
      }
      if (at > from && !token.is(",") && !tokens_[at - 1].is(",")) joined += blank;
      joined += token.text;
    }
    return joined;
  }

  Result<void> sign(std::string_view sign) {
    if (!front().is(sign)) return unexpected(fmt::format("\"{}\"", sign));
    take();
    return {};
  }
  Result<void> word(std::string_view word) {
    if (!front().is_word(word)) return unexpected(fmt::format("\"{}\"", word));
    take();
    return {};
  }
  /// The next token is not what the grammar wants.
  Error unexpected(std::string_view expected) const {
    return litmus_error(file_, front().place, front().quoted(), expected);
  }
  /// The next token is no name that is known.
  Error unknown(std::string_view expected, const std::vector<std::string_view>& names) const {
    return litmus_error(file_, front().place, front().quoted(), expected, front().text, names);
  }

 private:
  std::string file_;
  std::string text_;
  std::vector<LitmusToken> tokens_;
  std::size_t at_ = 0;
};

}  // namespace wharf::sim
