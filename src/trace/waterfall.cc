// SPDX-License-Identifier: Apache-2.0
#include "trace/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace wharf::trace {
namespace {

using Row = WaterfallRow;
using Interval = WaterfallRow::Interval;

std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }

/// The part of each critical span that lies on the path: up to where the next critical span begins.
std::vector<Interval> critical_parts(std::span<const Attribution::Span> spans, TimePs begin, TimePs end,
                                     std::vector<std::size_t>& order) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].critical) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&spans](std::size_t a, std::size_t b) { return spans[a].begin < spans[b].begin; });
  std::vector<Interval> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TimePs limit = i + 1 < order.size() ? spans[order[i + 1]].begin : end;
    parts.push_back({max(spans[order[i]].begin, begin), min(spans[order[i]].end, limit)});
  }
  return parts;
}

void add_beside(Row& row, TimePs begin, TimePs end) {
  if (begin >= end) return;
  row.beside.push_back({begin, end});
  row.overlapped += end - begin;
}

/// Times in nanoseconds with one decimal, or in microseconds when the operation is long.
class Scale {
 public:
  explicit Scale(TimePs latency) : unit_(latency > microseconds(1000) ? microseconds(1) : nanoseconds(1)) {}
  std::string_view unit() const { return unit_ == nanoseconds(1) ? "ns" : "us"; }
  std::string text(TimePs time) const {
    const std::int64_t tenths = (time.ps * 10 + unit_.ps / 2) / unit_.ps;
    return fmt::format("{}.{}", tenths / 10, tenths % 10);
  }

 private:
  TimePs unit_;
};

/// Marks the cells of a bar of `cells` that `part` covers by at least half, or at least the one where it
/// begins.
void mark(std::vector<char>& cells, const Interval& part, const WaterfallInput& operation, char mark) {
  const auto count = static_cast<std::int64_t>(cells.size());
  const std::int64_t latency = std::max<std::int64_t>(operation.latency.ps, 1);
  const std::int64_t from = (part.begin - operation.begin).ps;
  const std::int64_t to = (part.end - operation.begin).ps;
  // 128 bits: a run may last days, in picoseconds.
  const auto cell = [count, latency](std::int64_t at) {
    return static_cast<std::int64_t>((static_cast<__int128>(at) * count * 2 + latency) /
                                     (static_cast<__int128>(latency) * 2));
  };
  const std::int64_t first = std::min(cell(from), count - 1);
  const std::int64_t last = std::max(std::min(cell(to), count), first + 1);
  for (std::int64_t i = first; i < last; ++i) cells[static_cast<std::size_t>(i)] = mark;
}

constexpr std::size_t kNameColumns = 24;      ///< At least,
constexpr std::size_t kNameColumnsMost = 40;  ///< and at most, for names with a place.
constexpr std::size_t kTimeColumns = 9;

constexpr char kEmpty = ' ';
constexpr char kOnPath = '#';
constexpr char kBeside = '.';
constexpr char kHole = '?';

void append_bar(std::string& line, const Row& row, const WaterfallInput& operation, std::size_t cells,
                Glyphs glyphs) {
  std::vector<char> bar(cells, kEmpty);
  for (const Interval& part : row.beside) mark(bar, part, operation, kBeside);
  const bool hole = row.name == "UNATTRIBUTED";
  for (const Interval& part : row.on_path) mark(bar, part, operation, hole ? kHole : kOnPath);
  while (!bar.empty() && bar.back() == kEmpty) bar.pop_back();
  for (const char cell : bar) {
    if (glyphs == Glyphs::kAscii || cell == kEmpty || cell == kHole) {
      line += cell;
    } else {
      line += cell == kOnPath ? "█" : "░";
    }
  }
}

}  // namespace

std::vector<WaterfallPiece> waterfall_pieces(const WaterfallInput& operation) {
  const TimePs begin = operation.begin;
  const TimePs end = begin + operation.latency;
  std::vector<std::size_t> path;
  const std::vector<Interval> parts = critical_parts(operation.spans, begin, end, path);
  std::vector<WaterfallPiece> pieces;
  for (std::size_t i = 0; i < operation.spans.size(); ++i) {
    const Attribution::Span& span = operation.spans[i];
    const auto add = [&pieces, &span](TimePs from, TimePs to, bool critical) {
      if (from < to) pieces.push_back({from, to, span.stage, critical, span.place});
    };
    const TimePs from = max(span.begin, begin);
    const TimePs to = min(span.end, end);
    const auto on_path = std::find(path.begin(), path.end(), i);
    if (on_path == path.end()) {
      add(from, to, false);
      continue;
    }
    const Interval part = parts[static_cast<std::size_t>(on_path - path.begin())];
    add(from, part.begin, false);
    add(part.begin, part.end, true);
    add(part.end, to, false);
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const WaterfallPiece& a, const WaterfallPiece& b) { return a.begin < b.begin; });
  return pieces;
}

std::vector<WaterfallRow> waterfall_rows(const WaterfallInput& operation) {
  const TimePs begin = operation.begin;
  const TimePs end = begin + operation.latency;
  std::vector<std::size_t> path;
  const std::vector<Interval> parts = critical_parts(operation.spans, begin, end, path);

  std::map<std::pair<std::size_t, Place>, Row> by_stage;
  for (std::size_t i = 0; i < operation.spans.size(); ++i) {
    const Attribution::Span& span = operation.spans[i];
    const TimePs from = max(span.begin, begin);
    const TimePs to = min(span.end, end);
    if (from >= to) continue;
    const bool named = span.place != 0 && span.place <= operation.places.size();
    Row& row = by_stage[{index(span.stage), named ? span.place : 0}];
    if (row.spans++ == 0 || from - begin < row.start) row.start = from - begin;
    const auto on_path = std::find(path.begin(), path.end(), i);
    if (on_path == path.end()) {
      add_beside(row, from, to);
      continue;
    }
    const Interval part = parts[static_cast<std::size_t>(on_path - path.begin())];
    row.on_path.push_back(part);
    row.critical += part.end - part.begin;
    add_beside(row, from, part.begin);
    add_beside(row, part.end, to);
  }

  std::vector<Row> rows;
  for (auto& [what, row] : by_stage) {
    row.name = name(static_cast<Stage>(what.first));
    row.meaning = describe(static_cast<Stage>(what.first));
    if (what.second != 0) row.name += " " + operation.places[what.second - 1];
    if (row.spans > 1) row.name += fmt::format(" x{}", row.spans);
    rows.push_back(std::move(row));
  }
  Row holes;
  holes.name = "UNATTRIBUTED";
  holes.meaning = "time that no stage claims";
  TimePs reached = begin;
  for (std::size_t i = 0; i <= parts.size(); ++i) {
    const Interval next = i < parts.size() ? parts[i] : Interval{end, end};
    if (next.begin > reached) {
      if (holes.spans++ == 0) holes.start = reached - begin;
      holes.on_path.push_back({reached, next.begin});
      holes.critical += next.begin - reached;
    }
    reached = max(reached, next.end);
  }
  if (holes.spans > 0) rows.push_back(std::move(holes));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.critical + a.overlapped < b.critical + b.overlapped;
  });
  return rows;
}

std::string draw_waterfall(std::string_view title, const WaterfallInput& operation,
                           const WaterfallOptions& options) {
  WHARF_CHECK(options.columns >= 60);
  const Scale scale(operation.latency);
  const std::vector<Row> rows = waterfall_rows(operation);
  std::size_t names = kNameColumns;
  for (const Row& row : rows) names = std::clamp(row.name.size() + 1, names, kNameColumnsMost);
  const std::size_t cells = static_cast<std::size_t>(options.columns) - names - 2 * kTimeColumns - 2;

  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}: {} {}\n\n", title, scale.text(operation.latency), scale.unit());
  const std::string end_label = fmt::format("{} {}", scale.text(operation.latency), scale.unit());
  fmt::format_to(out, "{:<{}}{:>{}}{:>{}}  0{:>{}}\n", "stage", names, "start", kTimeColumns, "length",
                 kTimeColumns, end_label, cells - 1);
  TimePs critical;
  TimePs overlapped;
  TimePs holes;
  for (const Row& row : rows) {
    fmt::format_to(out, "{:<{}}{:>{}}{:>{}}  ", row.name, names, scale.text(row.start), kTimeColumns,
                   scale.text(row.critical + row.overlapped), kTimeColumns);
    append_bar(text, row, operation, cells, options.glyphs);
    while (text.back() == ' ') text.pop_back();
    text += '\n';
    (row.name == "UNATTRIBUTED" ? holes : critical) += row.critical;
    overlapped += row.overlapped;
  }
  const std::string_view on_path = options.glyphs == Glyphs::kAscii ? "#" : "█";
  const std::string_view beside = options.glyphs == Glyphs::kAscii ? "." : "░";
  const auto sum = [out, &scale, names](std::string_view glyph, std::string_view what, TimePs time) {
    fmt::format_to(out, "{} {:<{}}{:>{}} {}\n", glyph, what, names + kTimeColumns - 2, scale.text(time),
                   kTimeColumns, scale.unit());
  };
  text += '\n';
  sum(on_path, "on the critical path", critical);
  sum(beside, "overlapped, beside it", overlapped);
  if (holes > kTimeZero) sum("?", "unattributed", holes);
  return text;
}

}  // namespace wharf::trace
