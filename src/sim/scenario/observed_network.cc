// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/observed_network.h"

namespace wharf::sim {

Result<std::vector<PortCapture>> resolve(const std::vector<NamedCapture>& captures, const PortNames& names) {
  std::vector<PortCapture> found;
  for (const NamedCapture& capture : captures) {
    const auto ports = names.find(capture.ports);
    if (!ports) return input_error("--capture: " + ports.error().message);
    for (const PortId port : *ports) found.push_back({port, capture.file});
  }
  return found;
}

std::vector<PortCapture> captures_of_hosts(const Topology& topology, const std::string& file) {
  std::vector<PortCapture> captures;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    for (const PortId port : topology.node(host).ports) captures.push_back({port, file});
  }
  return captures;
}

std::vector<ObservedFile> files_of(const ObservedNetwork& network, const workload::FlowList& flows) {
  const PortNames& names = network.names;
  const ObservedRun& seen = network.seen;
  std::vector<ObservedFile> files;
  files.push_back({"ports.csv", ports_csv(network.ports, names, network.simulated)});
  if (!network.asked.any()) return files;
  files.push_back({"series_goodput.csv", goodput_csv(seen)});
  if (!network.asked.ports.empty()) files.push_back({"series_ports.csv", port_series_csv(seen.ports, names)});
  if (network.asked.fullest_ports != 0)
    files.push_back({"series_fullest.csv", fullest_csv(seen.fullest, names)});
  if (network.pauses) files.push_back({"series_pauses.csv", pauses_csv(seen.pauses, names)});
  if (!network.asked.flows.empty()) {
    files.push_back({"series_flows.csv", flow_series_csv(seen.flows, flows)});
    files.push_back({"paths.csv", paths_csv(seen.paths, flows)});
  }
  return files;
}

}  // namespace wharf::sim
