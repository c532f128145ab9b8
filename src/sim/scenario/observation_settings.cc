// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/observation_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "base/nearest_name.h"

namespace wharf::sim {
namespace {

Result<std::vector<std::uint32_t>> flows_named(std::string_view list, const workload::FlowList& flows) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_id;
  for (std::uint32_t i = 0; !list.empty() && i < flows.flows.size(); ++i)
    by_id[flows.flows[i].id].push_back(i);
  std::vector<std::uint32_t> found;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    std::uint32_t id = 0;
    const auto parsed = std::from_chars(one.data(), one.data() + one.size(), id);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == one.data() + one.size();
    const auto at = whole ? by_id.find(id) : by_id.end();
    if (at == by_id.end()) {
      std::vector<std::string> ids;
      for (const auto& entry : by_id) ids.push_back(std::to_string(entry.first));
      const std::vector<std::string_view> names(ids.begin(), ids.end());
      const auto near = nearest_name(one, names);
      return input_error(fmt::format(
          "observe.flows: found \"{}\", expected the id of a flow of {}, such as {}{}", one, flows.name,
          ids.empty() ? "" : ids.front(), near ? fmt::format("; did you mean {}?", *near) : std::string()));
    }
    found.insert(found.end(), at->second.begin(), at->second.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

void bind_observation(Binder& binder, ObservationSettings& settings, bool flows) {
  const Binder::Section observe(binder, "observe");
  binder.time("period", settings.period,
              "simulated time between two looks at flows and ports, at least 10ns; 0ns: the run is not "
              "observed (files series_*.csv under --out)");
  const Binder::Section observed(binder, "", settings.period > kTimeZero, "only with observe.period");
  if (flows)
    binder.text(
        "flows", settings.flows,
        "ids of flows whose goodput, window, round trips and paths are followed, separated by commas");
  binder.text("ports", settings.ports,
              "ports whose queue and load are followed, separated by commas, * for any characters, such as "
              "leaf0-host*");
  binder.integer("fullest_ports", settings.fullest_ports,
                 "switch ports with the longest queues that are noted at each look", 0, 1024);
}

Result<Observation> resolve(const ObservationSettings& settings, const workload::FlowList& list,
                            const PortNames& names) {
  Observation observation;
  if (settings.period == kTimeZero) return observation;
  if (settings.period < kObservationPeriodLeast) {
    return input_error(fmt::format("observe.period: found {}, expected 0ns or at least {}",
                                   format_time(settings.period), format_time(kObservationPeriodLeast)));
  }
  observation.period = settings.period;
  observation.fullest_ports = settings.fullest_ports;
  auto ports = names.find(settings.ports);
  if (!ports) return input_error("observe.ports: " + ports.error().message);
  observation.ports = *std::move(ports);
  auto flows = flows_named(settings.flows, list);
  if (!flows) return flows.error();
  observation.flows = *std::move(flows);
  return observation;
}

}  // namespace wharf::sim
