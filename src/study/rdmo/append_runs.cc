// SPDX-License-Identifier: Apache-2.0
#include "study/rdmo/append_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "sim/protocols/protocols.h"
#include "wire/protocol_traits.h"

namespace wharf::study::rdmo {

std::string_view name(Way way) {
  switch (way) {
    case Way::kCardWorker:
      return "worker on the card";
    case Way::kTargetWorker:
      return "worker on a core";
    case Way::kTwoStep:
      return "two-step";
    case Way::kClientLock:
      return "clients' lock";
    case Way::kServerThread:
      return "server's thread";
  }
  return "";
}

std::span<const Stack> stacks() {
  static const std::vector<Stack> all = [] {
    std::vector<Stack> found;
    for (const sim::ProtocolRules& rules : sim::kProtocolRules) {
      const auto stack = std::find_if(rules.stacks.begin(), rules.stacks.end(),
                                      [](const sim::StackTraits& each) { return !each.load_store; });
      if (stack != rules.stacks.end()) found.push_back({stack->name, rules.flows.name});
    }
    return found;
  }();
  return all;
}

void AppendRuns::add(const Point& point) {
  if (std::find(points_.begin(), points_.end(), point) != points_.end()) return;
  // Clients are cores of up to eight hosts. Few of them append more, so that each run has work enough.
  const std::uint32_t hosts = std::min(point.clients, 8U);
  // A lock keeps all of them trying, so many of them take it once.
  const bool lock = point.way == Way::kClientLock;
  const std::uint32_t operations = std::clamp(192 / point.clients, lock ? 1U : 3U, 24U);
  RunRequest asked{
      "connectx7-class",
      std::string(point.stack),
      {"topology.from=" + (context_.reference / "rdmo" / "card.graph").string(), "hosts.servers=2",
       "group.card.hosts=8", "group.card.model.attachment=on_chip_bus",
       "group.card.model.submission=bus_store", "run.workload=rdmo",
       fmt::format("run.clients=0-{}", hosts - 1), fmt::format("run.cores={}", point.clients / hosts),
       fmt::format("run.payload={}B", point.bytes), fmt::format("run.operations={}", operations),
       fmt::format("run.batch={}", point.batch)}};
  std::vector<std::string>& keys = asked.keys;
  // The network of all of them pauses instead of dropping, or of cutting packets.
  keys.emplace_back("fabric.flow_control=pause");
  for (const sim::StackTraits& stack : sim::kStackTraits) {
    if (stack.name == point.stack && wire::tells_trims(stack.protocol))
      keys.emplace_back("fabric.trimming=false");
  }
  const bool card = point.way == Way::kCardWorker;
  if (card || point.request_ns != 0)
    keys.push_back(fmt::format("{}model.rdmo.request={}ns", card ? "group.card." : "",
                               point.request_ns != 0 ? point.request_ns : kCardRequestNs));
  keys.emplace_back(card ? "run.servers=8,9" : "run.servers=9");
  if (card) keys.emplace_back("run.worker_at=beside");
  if (point.way == Way::kTwoStep) keys.emplace_back("run.protocol=two_step");
  if (point.way == Way::kClientLock) keys.emplace_back("run.protocol=client_lock");
  if (point.way == Way::kServerThread) keys.emplace_back("run.protocol=server_thread");
  if (point.load_percent != 0) keys.push_back(fmt::format("run.load_percent={}", point.load_percent));
  points_.push_back(point);
  places_.push_back(batch_.add(std::move(asked)));
}

const sim::RunReport& AppendRuns::report(const Point& point) const {
  const auto found = std::find(points_.begin(), points_.end(), point);
  WHARF_CHECK(found != points_.end());
  return batch_[places_[static_cast<std::size_t>(found - points_.begin())]];
}

double AppendRuns::records_per_second(const Point& point) const {
  return report(point).operations_per_second * point.batch;
}

double AppendRuns::microseconds(const Point& point, double percentile) const {
  return static_cast<double>(report(point).program_latencies.value_at_percentile(percentile)) / 1e6;
}

std::string where_ahead(std::span<const std::string> places, std::span<const double> first,
                        std::span<const double> second) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < places.size();) {
    if (first[i] <= second[i]) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < places.size() && first[i] > second[i]) ++i;
    count += i - begin;
    text += text.empty() ? "at " : " and at ";
    text += i - begin == 1 ? places[begin] : fmt::format("{} to {}", places[begin], places[i - 1]);
  }
  if (count == 0) return "nowhere";
  return count == places.size() ? "everywhere" : text;
}

double crossing(std::span<const double> x, std::span<const double> first, std::span<const double> second) {
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double here = std::log(first[i] / second[i]);
    const double there = std::log(first[i + 1] / second[i + 1]);
    if ((here > 0) == (there > 0)) continue;
    const double part = here / (here - there);
    return std::exp(std::log(x[i]) * (1 - part) + std::log(x[i + 1]) * part);
  }
  return 0;
}

}  // namespace wharf::study::rdmo
