// SPDX-License-Identifier: Apache-2.0
// How text for people is marked where it is shown, such as by colour. What is written here knows meanings
// alone; whoever shows it knows terminals.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace wharf::report {

/// What a piece of text means to who reads it.
enum class Tone : unsigned char {
  kHeading,  ///< Titles of a table.
  kGood,     ///< A verdict that holds.
  kBad,      ///< A verdict that does not.
};

/// Marks a piece of text without changing its columns; none leaves all text as it is.
using Paint = std::function<std::string(Tone, std::string_view)>;

/// `text` as `paint` marks it; as it is without one.
inline std::string painted(const Paint& paint, Tone tone, std::string_view text) {
  return paint ? paint(tone, text) : std::string(text);
}

/// What a verdict says by its first word: "yes", "ok", "pass" and "holds", or "no", "FAILS" and "differs";
/// nothing for any other, such as "not judged".
std::optional<Tone> tone_of(std::string_view verdict);

}  // namespace wharf::report
