// SPDX-License-Identifier: Apache-2.0
// Draws where the time of one operation went as text: a row per stage, with the time on the critical path and
// the time beside it drawn apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/attribution.h"

namespace wharf::trace {

enum class Glyphs : std::uint8_t { kUtf8, kAscii };

struct WaterfallOptions {
  Glyphs glyphs = Glyphs::kUtf8;
  int columns = 80;  ///< Width of every line, at least 60.
};

/// One operation, as Attribution gives it after end(): last_spans(), last_begin() and the path's latency.
struct WaterfallInput {
  std::span<const Attribution::Span> spans;
  TimePs begin;
  TimePs latency;
  /// Name of each place, by its number less 1; spans of a place that has one get a row for each stage there.
  std::span<const std::string> places{};
};

/// Everything that one row shows: a stage, at a place if that has a name.
struct WaterfallRow {
  struct Interval {
    TimePs begin;
    TimePs end;
  };
  std::string name;
  std::string_view meaning;  ///< Of the stage, one sentence.
  TimePs start;              ///< Of the first span, from the operation's begin.
  TimePs critical;
  TimePs overlapped;
  int spans = 0;
  std::vector<Interval> on_path;  ///< In simulated time, as `beside`.
  std::vector<Interval> beside;
};

/// A part of a span: on the critical path, or beside it.
struct WaterfallPiece {
  TimePs begin;
  TimePs end;
  Stage stage;
  bool critical;
  Place place;
};

/// Every span of the operation, cut where the critical path enters or leaves it, by begin. The critical
/// pieces follow one another without a gap from the operation's begin to its end, where the model is right.
std::vector<WaterfallPiece> waterfall_pieces(const WaterfallInput& operation);

/// The rows in the order in which they begin. Time that no span claims has a row of its own.
std::vector<WaterfallRow> waterfall_rows(const WaterfallInput& operation);

/// Lines of text, each ended by a line feed. Spans of one stage (at one place) share a row; time that no span
/// claims gets a row of its own, named "UNATTRIBUTED".
std::string draw_waterfall(std::string_view title, const WaterfallInput& operation,
                           const WaterfallOptions& options = {});

}  // namespace wharf::trace
