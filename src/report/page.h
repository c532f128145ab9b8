// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page: text, tables, bars of time, and plots whose values a reader can look at.
// Nothing is loaded from elsewhere; a browser that follows the page's own policy could not.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/part.h"
#include "report/plot.h"

namespace wharf::report {

/// `text` with the characters that HTML reserves replaced.
std::string html_text(std::string_view text);

/// A row of Page::bars(): where one thing happened in the time that the row's line stands for.
struct Bar {
  double begin = 0;  ///< In the unit of the whole, as `end`.
  double end = 0;
  bool strong = true;  ///< What counts; others are drawn pale.
};
struct BarRow {
  std::string name;
  std::string meaning;  ///< Shown for a pointer that rests on the row.
  std::string value;    ///< Right of the bars.
  std::vector<Bar> bars;
};

/// A page that is filled from top to bottom. Whatever is handed in is text, and is escaped, except drawings.
class Page {
 public:
  explicit Page(std::string_view title);

  /// A heading, with the word of `code` behind it. Links lead to `anchor`.
  void section(std::string_view title, std::string_view anchor = {}, std::string_view code = {});
  /// A smaller heading.
  void subsection(std::string_view title);
  void sentence(std::string_view text);
  /// In a quieter colour.
  void remark(std::string_view text);
  /// Good or bad, and in one sentence why.
  void verdict(bool good, std::string_view word, std::string_view why = {});
  /// Names and their values, one below the other.
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  /// With `verdicts`, the cells of that column are coloured: "pass", "yes" and "holds" are good.
  void table(const TextTable& table, std::optional<std::size_t> verdicts = {});
  void parts(const std::vector<Part>& parts);
  /// Text that keeps its lines: a command, a file.
  void lines(std::string_view text);
  /// What follows until end_details() is shown on demand.
  void begin_details(std::string_view summary, bool open = false);
  void end_details();
  /// Links to sections: title, anchor and whether it is good.
  struct Link {
    std::string title;
    std::string anchor;
    bool good = true;
  };
  void links(const std::vector<Link>& links);
  /// Bars along a line from 0 to `whole`.
  void bars(const std::vector<BarRow>& rows, double whole, std::string_view unit);
  /// `drawing` is the SVG element that draw_svg() gave; where it is empty the page draws the plot by itself
  /// and says so. Its ids become the page's own: gnuplot gives all drawings the same ones.
  void plot(const Plot& plot, std::string_view drawing);

  /// The whole page. `made_by` says what program made it.
  std::string html(std::string_view made_by) const;

 private:
  std::string title_;
  std::string body_;
  std::size_t plots_ = 0;  ///< Drawn so far.
};

/// An SVG element whose ids, and the references to them, begin with `prefix`.
std::string with_ids_of(std::string_view svg, std::string_view prefix);

}  // namespace wharf::report
