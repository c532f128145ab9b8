// SPDX-License-Identifier: Apache-2.0
// What a run has shown of its network, as files; and captures of its ports, as they are asked for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/port_names.h"
#include "sim/fabric/topology.h"
#include "sim/flows/observation.h"
#include "sim/flows/port_captures.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// A port by its name, or several with *, and the file for what leaves them.
struct NamedCapture {
  std::string ports;
  std::string file;
};
/// Refuses ports that do not exist, with the nearest that does.
Result<std::vector<PortCapture>> resolve(const std::vector<NamedCapture>& captures, const PortNames& names);
/// What leaves each host, all in one file.
std::vector<PortCapture> captures_of_hosts(const Topology& topology, const std::string& file);

struct ObservedNetwork {
  Topology topology;
  PortNames names;
  Observation asked;
  bool pauses = false;  ///< Queues can be held by pause frames.
  TimePs simulated{};   ///< How long the run took.
  std::vector<PortTotals> ports;
  ObservedRun seen;
};

/// A file under --out.
struct ObservedFile {
  std::string name;
  std::string text;
};
/// ports.csv always; the series of `observe.*` where they were asked for. Flows that were followed are those
/// of `flows`.
std::vector<ObservedFile> files_of(const ObservedNetwork& network, const workload::FlowList& flows);

}  // namespace wharf::sim
