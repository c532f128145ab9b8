// SPDX-License-Identifier: Apache-2.0
// Text in lines of a given width, for tables, sentences and help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::report {

/// Columns of a terminal that text for people keeps to.
inline constexpr std::size_t kTerminalColumns = 80;

/// Characters of UTF-8 text, each taken as one column.
std::size_t columns_of(std::string_view text);

/// `text` broken at blanks into lines of at most `width` columns, without blanks at their ends; a word that
/// is longer stands alone. At least one line, which may be empty.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// `text`, a sentence without newlines, as lines of at most `columns`, each ended by a newline; those after
/// the first are indented by two blanks.
std::string in_lines(std::string_view text, std::size_t columns = kTerminalColumns);

}  // namespace wharf::report
