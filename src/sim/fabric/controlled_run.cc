// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/controlled_run.h"

#include "sim/fabric/fabric.h"

namespace wharf::sim {

Result<ControlledReport> run_controlled(const ControlledRun& run) {
  WHARF_TRY(validate(run.fabric, run.topology));
  const auto tried = congestion::AnyController::create(run.traffic.controller);
  if (!tried) return tried.error();
  Fabric<ControlledHost> fabric(run.topology, run.fabric, [&run](NodeId host, PartitionContext& context) {
    ControlledHost made(host, run.traffic, context);
    for (std::uint32_t i = 0; i < run.flows.size(); ++i) {
      if (run.flows[i].host != host) continue;
      ControlledFlow flow = run.flows[i].flow;
      flow.number = i;
      made.add(flow);
    }
    return made;
  });
  ControlledReport report;
  report.flows.resize(run.flows.size());
  report.sent_bytes.resize(run.topology.ports().size());
  // What has been confirmed and sent so far is taken off at the first instant and added at the second.
  const auto count = [&](bool add) {
    for (NodeId host = 0; host < run.topology.host_count(); ++host) {
      const ControlledHost& at = fabric.host(host);
      for (std::uint32_t place = 0; place < at.flow_count(); ++place) {
        ControlledReport::Flow& flow = report.flows[at.flow(place).number];
        flow.bytes = add ? at.confirmed(place) - flow.bytes : at.confirmed(place);
        flow.end = at.end(place);
      }
      if (add) report.notifications += at.notifications();
    }
    for (PortId port = 0; port < run.topology.ports().size(); ++port) {
      const std::uint64_t sent = fabric.port(port).sent_bytes;
      report.sent_bytes[port] = add ? sent - report.sent_bytes[port] : sent;
    }
  };
  if (run.from > kTimeZero) {
    fabric.run_until(run.from);
    count(false);
  }
  fabric.run_until(run.to, run.flows.size());
  count(true);
  for (PortId port = 0; port < run.topology.ports().size(); ++port) {
    const PortCounters& counters = fabric.port_counters(port);
    report.marked += counters.marked;
    report.pause_frames += counters.pause_frames;
    report.dropped += counters.dropped_full + counters.dropped_no_route + counters.lost + counters.damaged;
  }
  report.samples = fabric.samples();
  report.reached = fabric.now();
  return report;
}

}  // namespace wharf::sim
