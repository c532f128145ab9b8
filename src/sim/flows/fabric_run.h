// SPDX-License-Identifier: Apache-2.0
// A run of many hosts: a list of flows over one protocol's engines on a fabric.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/packet_host.h"
#include "sim/fabric/topology.h"
#include "sim/flows/flow_driver.h"
#include "sim/flows/observation.h"
#include "sim/flows/port_captures.h"
#include "sim/protocols/protocols.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// Everything that decides the run beside topology and flows.
struct FabricRunConfig {
  wire::Protocol protocol = kFabricProtocol;
  EngineConfigs engines;  ///< Of `protocol` alone matters.
  /// Each flow keeps to one port of its host (keeps_port() of its protocol), where hosts have several.
  bool flows_keep_ports = false;
  PacketCharge charge;
  FabricConfig fabric;
  TimePs end = kNever;              ///< kNever: when all flows have finished.
  TimePs time_limit = seconds(10);  ///< Unfinished by then: stalled.
  /// Stalled, too, when nothing arrives and no flow ends for so long, unless a flow is still to start or a
  /// link to change; kNever: that is not looked at. Runs with an `end` go on to it.
  TimePs stall_after = kNever;
  bool stall_learns = false;  ///< See StallWatch: no user has said how long is too long.
  std::uint32_t threads = 1;  ///< At most; see Fabric.
  WireMode wire = WireMode::kStructs;
  std::vector<std::string> switch_names{};  ///< As a file gave them, for reports; empty: by tier.
  Observation observation;
  std::vector<PortCapture> captures{};
};

struct FabricProgress {
  std::uint64_t finished = 0;
  std::uint64_t flows = 0;
  std::uint64_t delivered_bytes = 0;
  std::uint64_t bytes = 0;  ///< Of all flows.
  TimePs simulated{};
  std::uint64_t hops = 0;  ///< Packet-hops.
};

struct FabricRunOptions {
  const std::atomic<bool>* interrupt = nullptr;
  /// Called first when everything is built, with nothing simulated; then now and then.
  void (*progress)(void* context, const FabricProgress& progress) = nullptr;
  void* progress_context = nullptr;
};

enum class FabricOutcome : std::uint8_t {
  kFinished,     ///< All flows.
  kTimeReached,  ///< FabricRunConfig::end.
  kStalled,      ///< Nothing happens any more, or the time limit has passed.
  kInterrupted,
};

struct FabricReport {
  FabricOutcome outcome = FabricOutcome::kFinished;
  std::string waiting;  ///< Stalled: one sentence, who waits for what.
  std::vector<FlowRecord> records;
  std::vector<RankRecord> ranks;  ///< Of the list's program, if it has one.
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t delivered_bytes = 0;   ///< Payload that has arrived, of flows that have not ended, too.
  std::uint64_t refused_by_hosts = 0;  ///< Packets that arrived faster than a host takes them in.
  FabricTotals totals;
  TimePs simulated;
  std::uint64_t hops = 0;
  std::uint64_t events = 0;
  std::uint64_t history = 0;  ///< Fingerprint of what arrived where and when.
  std::uint32_t threads = 1;  ///< That ran.
  std::vector<PortTotals> ports;
  ObservedRun seen;
};

/// Refuses flows that name hosts beyond the topology or that can never start, and fabrics that cannot be
/// built.
Result<void> check_flows(const Topology& topology, const workload::FlowList& flows,
                         const FabricRunConfig& config);
/// Runs. Captures are written as it goes on, and closed. Refuses what check_flows() does, flows that the
/// protocol cannot do, and engine configurations outside their ranges.
Result<FabricReport> run_flows(const Topology& topology, const workload::FlowList& flows,
                               const FabricRunConfig& config, const FabricRunOptions& options);

}  // namespace wharf::sim
