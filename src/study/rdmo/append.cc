// SPDX-License-Identifier: Apache-2.0
// Appends of 64 B by 1 to 256 clients: by a worker on the card or on a core of the target, against what
// clients do on the target's memory without one, and against a thread of the target's program.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "study/frame/three_steps.h"
#include "study/rdmo/append_runs.h"
#include "study/rdmo/rdmo.h"

namespace wharf::study::rdmo {
namespace {

constexpr std::array<std::uint32_t, 5> kClients{1, 4, 16, 64, 256};

class Append {
 public:
  explicit Append(const StudyContext& context) : runs_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  static Point point(Way way, std::string_view stack, std::uint32_t clients) {
    return {.way = way, .stack = stack, .clients = clients};
  }
  double rate(Way way, std::string_view stack, std::uint32_t clients) const {
    return runs_.records_per_second(point(way, stack, clients));
  }
  std::vector<double> rates(Way way, std::string_view stack) const {
    std::vector<double> all;
    for (const std::uint32_t clients : kClients) all.push_back(rate(way, stack, clients));
    return all;
  }
  /// "A at 16 to 256, B nowhere" for stacks A and B.
  std::string ahead(Way first, Way second) const;

  AppendRuns runs_;
};

Result<void> Append::run() {
  for (const Stack& stack : stacks())
    for (const std::uint32_t clients : kClients)
      for (const Way way : kWays) runs_.add(point(way, stack.key, clients));
  return runs_.run();
}

std::string Append::ahead(Way first, Way second) const {
  std::vector<std::string> places;
  for (const std::uint32_t clients : kClients) places.push_back(std::to_string(clients));
  std::string text;
  for (const Stack& stack : stacks())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stack.name,
                        where_ahead(places, rates(first, stack.key), rates(second, stack.key)));
  return text;
}

Result<void> Append::judge() {
  result.columns = {{"stack", "stack", 0},
                    {"clients", "clients", 0},
                    {"way", "way", 0},
                    {"appends_per_second", "appends/s", 0},
                    {"median_us", "median us", 2},
                    {"p99_us", "p99 us", 2}};
  for (const Stack& stack : stacks()) {
    Plot plot{fmt::format("rate_{}", stack.key),
              fmt::format("Appends of 64 B to one log over {}", stack.name),
              "clients",
              "million appends per second",
              PlotKind::kLines,
              AxisScale::kLogarithmic,
              AxisScale::kLogarithmic,
              {}};
    for (const Way way : kWays) {
      Series series{std::string(name(way)), {}};
      for (const std::uint32_t clients : kClients) {
        const Point at = point(way, stack.key, clients);
        result.rows.push_back({{"stack", stack.name},
                               {"clients", clients},
                               {"way", name(way)},
                               {"appends_per_second", runs_.records_per_second(at)},
                               {"median_us", runs_.microseconds(at, 50)},
                               {"p99_us", runs_.microseconds(at, 99)}});
        series.points.push_back({static_cast<double>(clients), runs_.records_per_second(at) / 1e6, {}});
      }
      plot.series.push_back(std::move(series));
    }
    result.plots.push_back(std::move(plot));
    // Declared: one lock has one holder, who makes at least three round trips while all others wait; a
    // worker's core computes for each message, and cannot append more often than that allows. Who is ahead
    // of whom besides is a result, not a promise.
    constexpr double kAny = 1e12;
    for (const std::uint32_t clients : {16U, 64U, 256U})
      result.checks.push_back(between(
          fmt::format("{}, {} clients: two-step over clients' lock", stack.name, clients),
          rate(Way::kTwoStep, stack.key, clients) / rate(Way::kClientLock, stack.key, clients), 1, kAny));
    result.checks.push_back(
        between(fmt::format("{}, 256 clients: worker on the card over one message in {} ns", stack.name,
                            kCardRequestNs),
                rate(Way::kCardWorker, stack.key, 256) * kCardRequestNs / 1e9, 0, 1));
  }
  return {};
}

Result<void> Append::tell() {
  std::string alone;
  for (const Stack& stack : stacks()) {
    const auto median = [&](Way way) { return runs_.microseconds(point(way, stack.key, 1), 50); };
    alone += fmt::format(
        "{}over {} {:.2f} us through the worker on the card, {:.2f} us through that on a core, "
        "{:.2f} us by the two-step, {:.2f} us under a lock",
        alone.empty() ? "" : "; ", stack.name, median(Way::kCardWorker), median(Way::kTargetWorker),
        median(Way::kTwoStep), median(Way::kClientLock));
  }
  result.sentences = {
      fmt::format("A client that is alone waits for 64 B {}.", alone),
      fmt::format(
          "More appends a second than by the two-step, by number of clients: through the worker on the "
          "card over {}; through the worker on a core over {}.",
          ahead(Way::kCardWorker, Way::kTwoStep), ahead(Way::kTargetWorker, Way::kTwoStep)),
      fmt::format("Honestly: a worker is one core between all clients, and the card's is assumed to take {} "
                  "ns for each "
                  "message (rdmo/worker-time varies it). With 256 clients over {} it appends {:.2f} "
                  "million records a "
                  "second, a core of the target {:.2f} million, and the two-step, whose fetch-and-add the "
                  "NIC does, {:.2f} "
                  "million. A worker saves one round trip, which counts while few append; and its tail never "
                  "shows a place "
                  "before its data, which the two-step's does.",
                  kCardRequestNs, stacks().front().name,
                  rate(Way::kCardWorker, stacks().front().key, 256) / 1e6,
                  rate(Way::kTargetWorker, stacks().front().key, 256) / 1e6,
                  rate(Way::kTwoStep, stacks().front().key, 256) / 1e6)};
  result.checks.push_back(runs_.integrity());
  return {};
}

}  // namespace

Result<StudyResult> append(const StudyContext& context) { return in_three_steps<Append>(context); }

}  // namespace wharf::study::rdmo
