// SPDX-License-Identifier: Apache-2.0
// What a fabric has to look at so that a run is observed and captured as asked, and what it has seen.
#pragma once

#include <vector>

#include "sim/fabric/fabric_config.h"
#include "sim/flows/observation.h"
#include "sim/flows/port_captures.h"

namespace wharf::sim {

/// Adds to `fabric` what `observation` and `captures` need of it; hosts that are watched come on top.
inline void observe(const Observation& observation, const std::vector<PortCapture>& captures,
                    FabricConfig& fabric) {
  fabric.sample_interval = observation.period;
  fabric.sampled_ports = observation.ports;
  fabric.fullest_ports = observation.fullest_ports;
  fabric.record_pauses = observation.any();
  for (const PortCapture& capture : captures) fabric.captured_ports.push_back(capture.port);
}

/// What every port of `fabric` did so far.
template <typename F>
std::vector<PortTotals> totals_of_ports(const F& fabric) {
  const std::vector<BitsPerSecond> rates =
      mean_rates(fabric.topology(), fabric.config().changes, fabric.now());
  std::vector<PortTotals> totals;
  for (PortId id = 0; id < fabric.topology().ports().size(); ++id) {
    totals.push_back(
        {fabric.port(id).sent_packets, fabric.port(id).sent_bytes, fabric.port_counters(id), rates[id]});
  }
  return totals;
}

/// What was seen so far; flows come on top.
template <typename F>
ObservedRun seen_of(const F& fabric) {
  return {fabric.deliveries(), fabric.samples(), fabric.fullest(), fabric.pauses()};
}

/// Hands what was captured so far on to the files.
template <typename F>
void write_captured(F& fabric, PortCaptures& captures) {
  for (std::uint32_t i = 0; i < fabric.partition_count(); ++i) captures.take(fabric.context(i).captured);
  captures.write_until(fabric.now());
}

}  // namespace wharf::sim
