// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace wharf::report {
namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_line(std::string& out, std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  out += line;
  out += '\n';
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  WHARF_CHECK(!cells.empty() && cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() { rows_.emplace_back(); }

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    for (std::size_t index = 0; index < row.size(); ++index)
      widths[index] = std::max(widths[index], width_of(row[index]));
  }
  const auto line_of = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t index = 0; index < columns_.size(); ++index) {
      if (index != 0) line += "  ";
      const std::string& cell = cell_at(index);
      const std::string blanks(widths[index] - width_of(cell), ' ');
      line += columns_[index].align == Align::kRight ? blanks + cell : cell + blanks;
    }
    return line;
  };
  std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;

  std::string out;
  append_line(out, line_of([&](std::size_t index) -> const std::string& { return columns_[index].title; }));
  append_line(out, std::string(total, '-'));
  for (const auto& row : rows_) {
    append_line(out, row.empty()
                         ? std::string(total, '-')
                         : line_of([&](std::size_t index) -> const std::string& { return row[index]; }));
  }
  return out;
}

}  // namespace wharf::report
