// SPDX-License-Identifier: Apache-2.0
// Plain text tables for terminals: columns as wide as their longest cell, numbers to the right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/paint.h"
#include "report/wrapped_text.h"

namespace wharf::report {

enum class Align : unsigned char { kLeft, kRight };

/// A table that is filled row by row and printed once.
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool judged = false;  ///< Cells are verdicts, which tone_of() understands.
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Missing cells print empty; surplus cells are our bug.
  void add_row(std::vector<std::string> cells);
  /// A line across the table.
  void add_rule();

  /// The table, each line ended by a newline and without trailing blanks. Widths count UTF-8 code points. A
  /// table that is wider than `columns_limit` breaks its titles at blanks, and then the cells of its columns
  /// of text, the widest first; numbers and words are never broken, so a table of many numbers may stay
  /// wider. `paint` marks titles and verdicts.
  std::string text(std::size_t columns_limit = kTerminalColumns, const Paint& paint = {}) const;

  const std::vector<Column>& columns() const { return columns_; }
  /// An empty row is a rule.
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

 private:
  struct Layout {
    std::vector<std::size_t> widths;
    std::size_t gap = 2;  ///< Blanks between columns.
  };
  Layout layout_within(std::size_t columns_limit) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace wharf::report
