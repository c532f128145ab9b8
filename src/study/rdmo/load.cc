// SPDX-License-Identifier: Apache-2.0
// Other work on the target's core: what it costs a worker and a thread that run there, and that it costs
// nothing where the target's cores have no part.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "study/frame/three_steps.h"
#include "study/rdmo/append_runs.h"
#include "study/rdmo/rdmo.h"

namespace wharf::study::rdmo {
namespace {

constexpr std::array<std::uint32_t, 5> kLoads{0, 20, 40, 60, 80};
constexpr std::array<Way, 2> kBusy{Way::kTargetWorker, Way::kServerThread};  ///< Share the core.
constexpr std::array<Way, 2> kApart{Way::kCardWorker, Way::kTwoStep};

class Load {
 public:
  explicit Load(const StudyContext& context) : runs_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  static Point point(Way way, std::string_view stack, std::uint32_t load) {
    const bool apart = way == kApart[0] || way == kApart[1];
    return {.way = way, .stack = stack, .load_percent = apart ? 0 : load};
  }
  double p99(Way way, std::string_view stack, std::uint32_t load) const {
    return runs_.microseconds(point(way, stack, load), 99);
  }
  double rate(Way way, std::string_view stack, std::uint32_t load) const {
    return runs_.records_per_second(point(way, stack, load));
  }
  Plot plot(const Stack& stack, bool tail) const;

  AppendRuns runs_;
};

Result<void> Load::run() {
  for (const Stack& stack : stacks()) {
    for (const Way way : kBusy)
      for (const std::uint32_t load : kLoads) runs_.add(point(way, stack.key, load));
    for (const Way way : kApart) runs_.add(point(way, stack.key, 0));
  }
  return runs_.run();
}

Plot Load::plot(const Stack& stack, bool tail) const {
  Plot plot{fmt::format("{}_{}", tail ? "p99" : "rate", stack.key),
            fmt::format("Appends of 64 B by 16 clients over {}", stack.name),
            "percent of the target's core that other work takes",
            tail ? "us, 99th percentile" : "million appends per second",
            PlotKind::kLines,
            AxisScale::kFitting,
            AxisScale::kLogarithmic,
            {}};
  for (const Way way : {kBusy[0], kBusy[1], kApart[0], kApart[1]}) {
    Series series{std::string(name(way)), {}};
    for (const std::uint32_t load : kLoads)
      series.points.push_back({static_cast<double>(load),
                               tail ? p99(way, stack.key, load) : rate(way, stack.key, load) / 1e6,
                               {}});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Result<void> Load::judge() {
  result.columns = {{"stack", "stack", 0},         {"way", "way", 0},
                    {"load_percent", "load %", 0}, {"appends_per_second", "appends/s", 0},
                    {"median_us", "median us", 2}, {"p99_us", "p99 us", 2}};
  for (const Point& at : runs_.points()) {
    const bool apart = at.way == kApart[0] || at.way == kApart[1];
    std::string_view stack;
    for (const Stack& each : stacks())
      if (each.key == at.stack) stack = each.name;
    result.rows.push_back({{"stack", stack},
                           {"way", name(at.way)},
                           {"load_percent", apart ? Json(nullptr) : Json(at.load_percent)},
                           {"appends_per_second", runs_.records_per_second(at)},
                           {"median_us", runs_.microseconds(at, 50)},
                           {"p99_us", runs_.microseconds(at, 99)}});
  }
  // Declared: a core that is busy four fifths of the time appends fewer records than an idle one.
  for (const Stack& stack : stacks()) {
    for (const Way way : kBusy)
      result.checks.push_back(between(fmt::format("{}, {}: idle over busy 80 %", stack.name, name(way)),
                                      rate(way, stack.key, 0) / rate(way, stack.key, 80), 1, 1e6));
    result.plots.push_back(plot(stack, false));
    result.plots.push_back(plot(stack, true));
  }
  return {};
}

Result<void> Load::tell() {
  std::vector<std::string> places;
  for (const std::uint32_t load : kLoads) places.push_back(fmt::format("{} %", load));
  const auto ahead = [&](Way first, Way second) {
    std::string text;
    for (const Stack& stack : stacks()) {
      std::vector<double> one;
      std::vector<double> other;
      for (const std::uint32_t load : kLoads) {
        one.push_back(rate(first, stack.key, load));
        other.push_back(rate(second, stack.key, load));
      }
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stack.name, where_ahead(places, one, other));
    }
    return text;
  };
  std::string tails;
  for (const Stack& stack : stacks())
    tails += fmt::format(
        "{}{} {:.1f} us idle and {:.1f} us at 80 % for the thread, {:.1f} us for the worker on the card",
        tails.empty() ? "" : "; ", stack.name, p99(Way::kServerThread, stack.key, 0),
        p99(Way::kServerThread, stack.key, 80), p99(Way::kCardWorker, stack.key, 0));
  result.sentences = {
      fmt::format(
          "The worker on the card appends faster than the server's thread when that core is busy: {}; "
          "than a worker on the same core: {}.",
          ahead(Way::kCardWorker, Way::kServerThread), ahead(Way::kCardWorker, Way::kTargetWorker)),
      fmt::format("99 of 100 appends are answered within: {}.", tails),
      "Honestly: the load comes in bursts of 5 us that nothing interrupts, at random times; a scheduler that "
      "prefers the worker would help it as much as a card does, and one with longer slices would hurt it "
      "more."};
  result.checks.push_back(runs_.integrity());
  return {};
}

}  // namespace

Result<StudyResult> load(const StudyContext& context) { return in_three_steps<Load>(context); }

}  // namespace wharf::study::rdmo
