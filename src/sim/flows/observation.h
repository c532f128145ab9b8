// SPDX-License-Identifier: Apache-2.0
// What people want to see of a fabric run beside its flows' times, and what the run has seen of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/fabric/fabric_state.h"
#include "sim/fabric/port_names.h"
#include "sim/flows/flow_watch.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// What is looked at. Nothing, and nothing is paid, while `period` is 0.
struct Observation {
  TimePs period{};
  std::vector<std::uint32_t> flows{};  ///< Indices in the list, ascending.
  std::vector<PortId> ports{};         ///< Ascending.
  std::uint32_t fullest_ports = 0;

  bool any() const { return period > kTimeZero; }
};

/// What a port did in the whole run.
struct PortTotals {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  PortCounters counters;
  BitsPerSecond rate{};  ///< Of the link, the mean over the run.
};
/// The mean rate of every port up to `until`, by the rates of `topology` and the `changes` before.
std::vector<BitsPerSecond> mean_rates(const Topology& topology, const std::vector<LinkChange>& changes,
                                      TimePs until);

/// What was seen. Samples are ordered by time, then port or flow.
struct ObservedRun {
  std::vector<DeliverySample> deliveries{};
  std::vector<OccupancySample> ports{};
  std::vector<OccupancySample> fullest{};  ///< Of one instant: fullest first.
  std::vector<PauseRecord> pauses{};
  std::vector<FlowSample> flows{};
  std::vector<PathUse> paths{};
};

// The files; times in nanoseconds from the start of the run.
/// series_goodput.csv: what all hosts together took in, since the look before.
std::string goodput_csv(const ObservedRun& seen);
/// series_ports.csv and series_fullest.csv. The former has what each port sent since the look before.
std::string port_series_csv(const std::vector<OccupancySample>& samples, const PortNames& names);
std::string fullest_csv(const std::vector<OccupancySample>& samples, const PortNames& names);
/// series_pauses.csv: from when to when a queue of a port was held; no end when it still is.
std::string pauses_csv(const std::vector<PauseRecord>& pauses, const PortNames& names);
/// series_flows.csv: chosen flows; empty fields where a protocol has no such thing.
std::string flow_series_csv(const std::vector<FlowSample>& samples, const workload::FlowList& list);
/// paths.csv: what chosen flows sent with each entropy value.
std::string paths_csv(const std::vector<PathUse>& paths, const workload::FlowList& list);
/// ports.csv: every port of the run; `simulated` is its length, for the load.
std::string ports_csv(const std::vector<PortTotals>& totals, const PortNames& names, TimePs simulated);

}  // namespace wharf::sim
