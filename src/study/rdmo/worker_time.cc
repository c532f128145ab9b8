// SPDX-License-Identifier: Apache-2.0
// How fast a card's core must be: the worker's time for one message, from that of an accelerator to that of a
// slow core, with one record in a message and with sixteen.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "study/frame/three_steps.h"
#include "study/rdmo/append_runs.h"
#include "study/rdmo/rdmo.h"

namespace wharf::study::rdmo {
namespace {

constexpr std::array<std::uint32_t, 6> kRequestNs{50, 100, 200, 400, 800, 1600};

/// How much is asked of the worker at a time.
struct Demand {
  std::uint32_t clients = 1;
  std::uint32_t batch = 1;  ///< Records of one append; the two-step writes as many behind one fetch-and-add.
};
constexpr std::array<Demand, 4> kDemands{{{4, 1}, {16, 1}, {64, 1}, {64, 16}}};

std::string words(const Demand& demand) {
  return demand.batch == 1 ? fmt::format("{} clients", demand.clients)
                           : fmt::format("{} clients, {} records at a time", demand.clients, demand.batch);
}

class WorkerTime {
 public:
  explicit WorkerTime(const StudyContext& context) : runs_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  static Point worker(std::string_view stack, std::uint32_t request_ns, const Demand& demand) {
    return {.way = Way::kCardWorker,
            .stack = stack,
            .clients = demand.clients,
            .batch = demand.batch,
            .request_ns = request_ns};
  }
  static Point two_step(std::string_view stack, const Demand& demand) {
    return {.way = Way::kTwoStep, .stack = stack, .clients = demand.clients, .batch = demand.batch};
  }
  std::vector<double> rates(std::string_view stack, const Demand& demand, bool of_worker) const {
    std::vector<double> all;
    for (const std::uint32_t request : kRequestNs)
      all.push_back(
          runs_.records_per_second(of_worker ? worker(stack, request, demand) : two_step(stack, demand)));
    return all;
  }

  AppendRuns runs_;
};

Result<void> WorkerTime::run() {
  for (const Stack& stack : stacks()) {
    for (const Demand& demand : kDemands) {
      for (const std::uint32_t request : kRequestNs) runs_.add(worker(stack.key, request, demand));
      runs_.add(two_step(stack.key, demand));
    }
  }
  return runs_.run();
}

Result<void> WorkerTime::judge() {
  result.columns = {{"stack", "stack", 0},
                    {"clients", "clients", 0},
                    {"batch", "records", 0},
                    {"request_ns", "worker ns", 0},
                    {"worker_per_second", "worker: records/s", 0},
                    {"two_step_per_second", "two-step: records/s", 0}};
  for (const Stack& stack : stacks()) {
    Plot plot{fmt::format("ahead_{}", stack.key),
              fmt::format("Records of 64 B over {}: worker on the card over two-step", stack.name),
              "ns that the card's worker computes for one message",
              "worker's records per second over the two-step's",
              PlotKind::kLines,
              AxisScale::kLogarithmic,
              AxisScale::kLogarithmic,
              {}};
    for (const Demand& demand : kDemands) {
      const std::vector<double> with = rates(stack.key, demand, true);
      const std::vector<double> without = rates(stack.key, demand, false);
      Series series{words(demand), {}};
      for (std::size_t i = 0; i < kRequestNs.size(); ++i) {
        result.rows.push_back({{"stack", stack.name},
                               {"clients", demand.clients},
                               {"batch", demand.batch},
                               {"request_ns", kRequestNs[i]},
                               {"worker_per_second", with[i]},
                               {"two_step_per_second", without[i]}});
        series.points.push_back({static_cast<double>(kRequestNs[i]), with[i] / without[i], {}});
      }
      plot.series.push_back(std::move(series));
      // Declared: a worker cannot end more messages than it computes for, and a slower one ends fewer.
      const std::string what = fmt::format("{}, {}", stack.name, words(demand));
      result.checks.push_back(between(what + ": worker of 1600 ns over one message in 1600 ns",
                                      with.back() / demand.batch * 1600e-9, 0, 1));
      result.checks.push_back(
          between(what + ": worker of 50 ns over one of 1600 ns", with.front() / with.back(), 1, 1e6));
    }
    result.plots.push_back(std::move(plot));
  }
  return {};
}

Result<void> WorkerTime::tell() {
  std::vector<double> x;
  for (const std::uint32_t request : kRequestNs) x.push_back(request);
  std::string text;
  for (const Demand& demand : kDemands) {
    std::string over;
    for (const Stack& stack : stacks()) {
      const std::vector<double> with = rates(stack.key, demand, true);
      const std::vector<double> without = rates(stack.key, demand, false);
      const double at = crossing(x, with, without);
      const std::string when = at > 0                 ? fmt::format("below {:.0f} ns", at)
                               : with[0] > without[0] ? fmt::format("up to {} ns and more", kRequestNs.back())
                                                      : fmt::format("not even at {} ns", kRequestNs.front());
      over += fmt::format("{}{} over {}", over.empty() ? "" : ", ", when, stack.name);
    }
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", words(demand), over);
  }
  const Demand& many = kDemands.back();
  result.sentences = {
      fmt::format("More records a second by the worker on the card than by the two-step: {}.", text),
      fmt::format(
          "Honestly: no public source times one request on a card's core, so the {} ns of the other "
          "studies are an assumption: three times the 130 ns that this worker was measured to take for "
          "an append on a core of a server. With {} over {} it appends {:.1f} million a second, and "
          "one at a time {:.1f} million; batches help the two-step as well, which has no core in its way.",
          kCardRequestNs, words(many), stacks().front().name,
          runs_.records_per_second(worker(stacks().front().key, kCardRequestNs, many)) / 1e6,
          runs_.records_per_second(worker(stacks().front().key, kCardRequestNs, {many.clients, 1})) / 1e6)};
  result.checks.push_back(runs_.integrity());
  return {};
}

}  // namespace

Result<StudyResult> worker_time(const StudyContext& context) { return in_three_steps<WorkerTime>(context); }

}  // namespace wharf::study::rdmo
