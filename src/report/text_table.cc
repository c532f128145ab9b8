// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace wharf::report {
namespace {

/// A column of text is not made narrower than this, unless its words allow no other choice.
constexpr std::size_t kNarrowestText = 14;

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string& word : wrap(text, 0)) longest = std::max(longest, columns_of(word));
  return longest;
}

std::size_t total_of(const std::vector<std::size_t>& widths, std::size_t gap) {
  return std::accumulate(widths.begin(), widths.end(), widths.empty() ? 0 : gap * (widths.size() - 1));
}

std::string without_trailing_blanks(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  WHARF_CHECK(!cells.empty() && cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() { rows_.emplace_back(); }

TextTable::Layout TextTable::layout_within(std::size_t columns_limit) const {
  std::vector<std::size_t> cells(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) cells[i] = std::max(cells[i], columns_of(row[i]));
  }
  Layout layout{cells};
  std::vector<std::size_t>& widths = layout.widths;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    widths[i] = std::max(widths[i], columns_of(columns_[i].title));
  if (total_of(widths, layout.gap) <= columns_limit) return layout;

  for (std::size_t i = 0; i < columns_.size(); ++i)
    widths[i] = std::max(cells[i], longest_word(columns_[i].title));
  if (total_of(widths, layout.gap) > columns_limit) layout.gap = 1;
  std::vector<std::size_t> texts;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].align == Align::kLeft) texts.push_back(i);
  }
  std::stable_sort(texts.begin(), texts.end(),
                   [&](std::size_t a, std::size_t b) { return widths[a] > widths[b]; });
  for (const std::size_t i : texts) {
    const std::size_t total = total_of(widths, layout.gap);
    if (total <= columns_limit) break;
    std::size_t least = std::max(kNarrowestText, longest_word(columns_[i].title));
    for (const auto& row : rows_) {
      if (!row.empty()) least = std::max(least, longest_word(row[i]));
    }
    const std::size_t excess = total - columns_limit;
    widths[i] = std::min(widths[i], std::max(least, widths[i] > excess ? widths[i] - excess : 0));
  }
  return layout;
}

std::string TextTable::text(std::size_t columns_limit, const Paint& paint) const {
  const Layout layout = layout_within(columns_limit);
  const std::vector<std::size_t>& widths = layout.widths;
  std::string out;
  /// One row of cells; titles stand on the rule below them, cells at the top of their row.
  const auto append_cells = [&](const std::function<const std::string&(std::size_t)>& cell_at, bool titles) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      // A number keeps its blanks, such as those of "1 000".
      const bool whole = columns_of(cell_at(i)) <= widths[i];
      cells.push_back(whole ? std::vector<std::string>{cell_at(i)} : wrap(cell_at(i), widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t at = 0; at < height; ++at) {
      // Blanks at the end go before anything is marked.
      std::size_t last = 0;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::size_t above = titles ? height - cells[i].size() : 0;
        if (at >= above && at - above < cells[i].size() && !cells[i][at - above].empty()) last = i;
      }
      std::string line;
      for (std::size_t i = 0; i <= last; ++i) {
        if (i != 0) line.append(layout.gap, ' ');
        const std::size_t above = titles ? height - cells[i].size() : 0;
        const std::string cell =
            at < above || at - above >= cells[i].size() ? std::string() : cells[i][at - above];
        const std::string blanks(widths[i] - columns_of(cell), ' ');
        const std::optional<Tone> tone =
            !titles && columns_[i].judged ? tone_of(cell_at(i)) : std::optional<Tone>();
        const std::string shown = tone && !cell.empty() ? painted(paint, *tone, cell) : cell;
        line += columns_[i].align == Align::kRight ? blanks + shown : shown;
        if (columns_[i].align == Align::kLeft && i != last) line += blanks;
      }
      line = without_trailing_blanks(std::move(line));
      out += titles && !line.empty() ? painted(paint, Tone::kHeading, line) : line;
      out += '\n';
    }
  };
  const std::string rule(total_of(widths, layout.gap), '-');
  append_cells([&](std::size_t i) -> const std::string& { return columns_[i].title; }, true);
  out += rule + "\n";
  for (const auto& row : rows_) {
    if (row.empty()) {
      out += rule + "\n";
    } else {
      append_cells([&](std::size_t i) -> const std::string& { return row[i]; }, false);
    }
  }
  return out;
}

}  // namespace wharf::report
