// SPDX-License-Identifier: Apache-2.0
// A result in the order in which people read it: tables, and text between them. One list serves the terminal
// and the page.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/text_table.h"

namespace wharf::report {

/// A table, or text in lines that each end with a newline. Text of blanks alone is distance for terminals.
using Part = std::variant<TextTable, std::string>;

/// The parts one after another, as a terminal shows them; `paint` marks what tables mark.
inline std::string text_of(const std::vector<Part>& parts, const Paint& paint = {}) {
  std::string text;
  for (const Part& part : parts) {
    const TextTable* const table = std::get_if<TextTable>(&part);
    text += table != nullptr ? table->text(kTerminalColumns, paint) : std::get<std::string>(part);
  }
  return text;
}

}  // namespace wharf::report
