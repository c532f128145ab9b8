// SPDX-License-Identifier: Apache-2.0
// A world: full hosts at the ports of a topology, and programs on them; thin hosts may make traffic beside.
// Two hosts on a wire are the world whose topology is back_to_back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/link_config.h"
#include "sim/fabric/port.h"
#include "sim/fabric/topology.h"
#include "sim/flows/flow_driver.h"
#include "sim/flows/observation.h"
#include "sim/flows/port_captures.h"
#include "sim/host/core/operation_log.h"
#include "sim/host/host.h"
#include "sim/kernel/simulation.h"
#include "sim/world/host_engine.h"
#include "sim/world/nic_map.h"
#include "trace/attribution.h"
#include "trace/tracer.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// Hosts that are alike.
struct HostGroup {
  std::uint32_t count = 1;
  HostConfig host;
  HostEngine engine;
  NicSet nics;
  bool thin = false;  ///< They run no programs and have no inside: their engines alone make traffic.
};

/// What to build.
struct WorldConfig {
  std::vector<HostGroup> groups;  ///< Hosts are numbered through; together as many as the topology has.
  /// Flows beside the programs. They start at thin hosts, and end anywhere; no program waits for them.
  workload::FlowList background;
  Topology topology;
  std::vector<std::string> switch_names{};  ///< As a file gave them, for reports; empty: by tier.
  FabricConfig fabric;
  LinkConfig
      link;  ///< How packets become load, and how they travel; rate, delay and faults are the fabric's.
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  /// Hosts act event by event in the order of time, on one thread. Results are the same, the run is slower:
  /// for comparing both ways.
  bool in_time_order = false;
  std::vector<std::uint32_t> cores;    ///< By host; empty: one each.
  bool attribution = true;             ///< Account for the time of every operation.
  std::size_t record_limit = 100'000;  ///< Records of the operation log, of each host.
  std::size_t record_reserve = 0;      ///< Room for records that is taken at once.
  Observation observation{};           ///< Of ports; flows are not followed one by one.
  std::vector<PortCapture> captures{};
};

/// Refuses more NICs than ports, and NICs of hosts that no path joins. The refusal begins with "nics".
Result<void> check_nics(const WorldConfig& config);

/// Refuses flows of the background that no host of theirs can send or take.
Result<void> check_background(const WorldConfig& config);

/// Both ends of a connected pair of queues.
struct RemotePair {
  SimRemote* near = nullptr;  ///< On the first host, toward the memory of the second.
  SimRemote* far = nullptr;   ///< On the second host, toward the memory of the first.
};

/// One direction of a link, from the start of the run.
struct LinkReport {
  std::uint64_t packets = 0;  ///< Handed to the link.
  std::uint64_t charged_bytes = 0;
  std::uint64_t delivered = 0;  ///< Duplicates included.
  PortCounters counters;
};

/// The object graph of one run. Programs are spawned on the cores of the hosts; run() returns when the last
/// has ended.
class World {
 public:
  /// Refuses what cannot be built, naming the key.
  static Result<std::unique_ptr<World>> create(WorldConfig config);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  std::uint32_t host_count() const;
  bool is_thin(std::size_t index) const { return group_of(index).thin; }
  /// Host `index`, which is not thin; so below.
  Host& host(std::size_t index);
  const HostGroup& group_of(std::size_t index) const;
  /// For components that a study adds to a host.
  Simulation& simulation(std::size_t index);
  wire::PayloadPool& payloads(std::size_t index);

  /// Zeroed memory of host `index` that its peers may use as `rights` say. An Error of kind kEnvironment when
  /// the machine that simulates does not give that much at once.
  Result<verbs::RemoteSegment> expose(std::size_t index, Bytes length,
                                      verbs::AccessRights rights = verbs::kFullAccess,
                                      verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed);
  /// The same without real bytes: it always reads as pattern number `pattern`.
  Result<verbs::RemoteSegment> expose_pattern(std::size_t index, Bytes length, std::uint32_t pattern,
                                              verbs::AccessRights rights = verbs::kFullAccess);
  /// Connects a new queue of host `near` with a new queue of host `far`, `depth` entries each (a power of
  /// two). `near_segment` is what `far` exposes to `near`, `far_segment` the reverse (may be empty). `cores`:
  /// whose programs use the two ends.
  Result<RemotePair> connect(std::size_t near, std::size_t far, const verbs::RemoteSegment& near_segment,
                             const verbs::RemoteSegment& far_segment = {}, std::uint32_t depth = 128,
                             std::array<std::uint32_t, 2> cores = {0, 0});

  /// Runs until every program has ended (kStopped), `limit` is reached, or nothing is left to happen (a
  /// stall). Without programs it goes on until what they left behind has settled.
  RunResult run(TimePs limit = kNever);
  RunResult settle() { return run(kNever); }
  bool programs_ended() const;
  /// Flows of the background that have not started never will.
  void stop_background();
  /// What became of the flows of the background, in the order of WorldConfig::background.
  const std::vector<FlowRecord>& background_records() const;
  const workload::FlowList& background() const;
  /// What became of its ranks, if they have a program.
  std::vector<RankRecord> background_ranks() const;

  /// Where the run stands: at the end of the last program, at the limit, or at the last event.
  TimePs now() const;
  std::uint64_t events_executed() const;
  /// Hash of the history of all hosts, and of what crossed the links.
  std::uint64_t fingerprint() const;
  std::uint32_t threads() const;

  /// To be called before the run: events of the kinds in `mask`, of all hosts, in the order of time. The run
  /// then takes one thread.
  void attach(trace::Sink& sink, std::uint32_t mask);
  /// Keeps the spans of the operation of host `index` that ends as its number `operation`, counted from 0.
  void keep_spans_of(std::size_t index, std::uint64_t operation);
  const std::vector<trace::Attribution::Span>& kept_spans() const;
  const OperationEntry& kept_entry() const;

  /// The operations of all hosts, in the order in which they ended; of one instant by host.
  const OperationLog& log();
  const OperationLog& log_of(std::size_t index);
  LinkReport link(PortId direction) const;
  /// What WorldConfig::observation asked for, up to now.
  ObservedRun seen() const;
  /// What every port did so far.
  std::vector<PortTotals> port_totals() const;
  /// After the last run: writes the rest of the captures and closes them.
  Result<void> close_captures();
  const Topology& topology() const;
  const std::vector<std::string>& switch_names() const;
  const Observation& observation() const;
  /// Whether pause frames hold queues.
  bool pauses() const;

  /// Who waits for what: the operations of programs first, then the components.
  std::vector<std::string> describe_waiting();

 private:
  struct Parts;
  friend class HostMaker;
  explicit World(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace wharf::sim
