// SPDX-License-Identifier: Apache-2.0
// Appends of 16 B to 64 KiB by 16 clients: what travels in its message up to 8 KiB, and is fetched by the
// worker beyond.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "base/units.h"
#include "study/frame/three_steps.h"
#include "study/rdmo/append_runs.h"
#include "study/rdmo/rdmo.h"

namespace wharf::study::rdmo {
namespace {

constexpr std::array<std::uint32_t, 5> kSizes{16, 256, 4096, 16384, 65536};

class Size {
 public:
  explicit Size(const StudyContext& context) : runs_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  static Point point(Way way, std::string_view stack, std::uint32_t bytes) {
    return {.way = way, .stack = stack, .bytes = bytes};
  }
  double gigabits(Way way, std::string_view stack, std::uint32_t bytes) const {
    return runs_.records_per_second(point(way, stack, bytes)) * bytes * 8 / 1e9;
  }
  std::vector<double> gigabits(Way way, std::string_view stack) const {
    std::vector<double> all;
    for (const std::uint32_t bytes : kSizes) all.push_back(gigabits(way, stack, bytes));
    return all;
  }

  AppendRuns runs_;
};

Result<void> Size::run() {
  for (const Stack& stack : stacks())
    for (const std::uint32_t bytes : kSizes)
      for (const Way way : kWays) runs_.add(point(way, stack.key, bytes));
  return runs_.run();
}

Result<void> Size::judge() {
  result.columns = {{"stack", "stack", 0}, {"bytes", "bytes", 0},         {"way", "way", 0},
                    {"gbps", "Gb/s", 3},   {"median_us", "median us", 2}, {"p99_us", "p99 us", 2}};
  // The target's cable, and the card's own towards the target, which appends cross once more.
  constexpr double kCableGbps = 100;
  for (const Stack& stack : stacks()) {
    Plot plot{fmt::format("goodput_{}", stack.key),
              fmt::format("Appends by 16 clients over {}", stack.name),
              "bytes of a record",
              "Gb/s of records",
              PlotKind::kLines,
              AxisScale::kLogarithmic,
              AxisScale::kLogarithmic,
              {}};
    for (const Way way : kWays) {
      Series series{std::string(name(way)), {}};
      for (const std::uint32_t bytes : kSizes) {
        const Point at = point(way, stack.key, bytes);
        const double here = gigabits(way, stack.key, bytes);
        result.rows.push_back({{"stack", stack.name},
                               {"bytes", bytes},
                               {"way", name(way)},
                               {"gbps", here},
                               {"median_us", runs_.microseconds(at, 50)},
                               {"p99_us", runs_.microseconds(at, 99)}});
        series.points.push_back({static_cast<double>(bytes), here, {}});
      }
      plot.series.push_back(std::move(series));
      // Declared: no way carries more than the target's cable, and a longer record never carries fewer bytes.
      const std::vector<double> all = gigabits(way, stack.key);
      result.checks.push_back(
          between(fmt::format("{}, {}: Gb/s of 64 KiB within the cable", stack.name, name(way)), all.back(),
                  0, kCableGbps));
      result.checks.push_back(between(fmt::format("{}, {}: 64 KiB over 16 B", stack.name, name(way)),
                                      all.back() / all.front(), 1, 1e6));
    }
    result.plots.push_back(std::move(plot));
  }
  return {};
}

Result<void> Size::tell() {
  std::vector<std::string> places;
  for (const std::uint32_t bytes : kSizes) places.push_back(format_bytes(Bytes{bytes}));
  const auto ahead = [&](Way first, Way second) {
    std::string text;
    for (const Stack& stack : stacks())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stack.name,
                          where_ahead(places, gigabits(first, stack.key), gigabits(second, stack.key)));
    return text;
  };
  std::string long_records;
  for (const Stack& stack : stacks())
    long_records += fmt::format(
        "{}over {} {:.1f} Gb/s by the two-step, {:.1f} through the worker on the card, {:.1f} through that "
        "on a "
        "core, {:.1f} through the thread",
        long_records.empty() ? "" : "; ", stack.name, gigabits(Way::kTwoStep, stack.key, 65536),
        gigabits(Way::kCardWorker, stack.key, 65536), gigabits(Way::kTargetWorker, stack.key, 65536),
        gigabits(Way::kServerThread, stack.key, 65536));
  result.sentences = {
      fmt::format("The worker on the card is ahead of the two-step: {}; of the server's thread: {}.",
                  ahead(Way::kCardWorker, Way::kTwoStep), ahead(Way::kCardWorker, Way::kServerThread)),
      fmt::format("Records of 64 KiB: {}.", long_records),
      "Honestly: beyond 8 KiB the worker fetches a record from its client. On a core it reads straight to "
      "the "
      "record's place; on the card the data stops there and crosses the card's switch once more, a whole "
      "record "
      "behind its fetch."};
  result.checks.push_back(runs_.integrity());
  return {};
}

}  // namespace

Result<StudyResult> size(const StudyContext& context) { return in_three_steps<Size>(context); }

}  // namespace wharf::study::rdmo
