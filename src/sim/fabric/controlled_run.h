// SPDX-License-Identifier: Apache-2.0
// A run of flows that a congestion controller alone holds back (controlled_host.h), and what it shows between
// two instants: the controllers on real queues, for studies and tests.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sim/fabric/controlled_host.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

struct ControlledRun {
  Topology topology;
  FabricConfig fabric;  ///< Loses nothing: queues without limit, or under flow control.
  ControlledTraffic traffic;
  struct Sender {
    NodeId host = 0;
    ControlledFlow flow;
  };
  std::vector<Sender> flows;     ///< Their numbers are set by the run.
  TimePs from{};                 ///< Bytes are counted from here
  TimePs to = milliseconds(10);  ///< to here, where the run ends, or when all flows have finished.
};

struct ControlledReport {
  struct Flow {
    std::uint64_t bytes = 0;  ///< Confirmed between the two instants.
    TimePs end = kNever;
  };
  std::vector<Flow> flows;
  std::vector<std::uint64_t> sent_bytes;  ///< By port, between the two instants, everything on the link.
  std::vector<OccupancySample> samples;   ///< Of the whole run.
  std::uint64_t marked = 0;
  std::uint64_t notifications = 0;
  std::uint64_t pause_frames = 0;
  std::uint64_t dropped = 0;  ///< 0, or the run has stalled.
  TimePs reached;
};

/// Refuses a fabric or a controller outside its ranges.
Result<ControlledReport> run_controlled(const ControlledRun& run);

}  // namespace wharf::sim
