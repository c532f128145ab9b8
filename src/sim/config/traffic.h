// SPDX-License-Identifier: Apache-2.0
// The keys of traffic ("traffic.*"): files of flows, or a collective by name or random arrivals, its sizes
// and which hosts take part; and the flows that the latter give on a topology.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/config/binder.h"
#include "sim/fabric/topology.h"
#include "workload/collective.h"
#include "workload/flow_arrivals.h"
#include "workload/placement.h"

namespace wharf::sim {

/// At most one of `matrix`, `table`, `goal`, `collective` and `arrivals` is set.
struct TrafficSettings {
  std::string matrix{};  ///< A connection matrix of htsim; empty: none.
  std::string table{};   ///< A table of flows; empty: none.
  std::string goal{};    ///< A trace of ranks that compute and send; empty: none.
  double calc_scale = 1;
  std::optional<workload::Collective> collective{};
  std::string arrivals{};    ///< A published distribution of sizes, "fixed" or a file; empty: none.
  std::string sizes_file{};  ///< The file of `arrivals`, where it was found.
  std::uint64_t size = std::uint64_t{1} << 20U;
  std::uint32_t ranks = 0;  ///< 0: every host, or as many as the placement lists.
  workload::Placement placement{};
  workload::ArrivalPattern pattern = workload::ArrivalPattern::kUniform;
  double load = 0.5;
  std::uint64_t flows = 0;  ///< 0: kArrivingFlows, or all that arrive in `duration`.
  TimePs duration{};
  TimePs warm_up{};          ///< Flows that start before it are not judged.
  std::uint32_t window = 1;  ///< Of all_to_all.

  /// Whether there are any flows.
  bool any() const { return given() || !matrix.empty() || !table.empty() || !goal.empty(); }
  /// Whether flows are generated.
  bool given() const { return collective || !arrivals.empty(); }
  /// Whether `arrivals` names a file.
  bool sizes_from_file() const;
  /// Hosts that a topology has at least; 0: any number will do.
  std::uint32_t hosts_needed() const;
};

inline constexpr std::uint64_t kArrivingFlows = 1000;

/// Leaves the source of flows of the highest layer that gives one, and says which lower ones it replaces.
/// Refuses two of one layer.
Result<std::vector<std::string>> keep_one_traffic(ConfigDocument& document);
/// The keys that name a file of flows: of them one has it.
struct TrafficFile {
  std::string_view key;
  std::string_view option;
  std::string TrafficSettings::*file;
};
std::span<const TrafficFile> traffic_files();
/// The one that is given, or null.
const TrafficFile* traffic_file(const TrafficSettings& traffic);
/// The flows of a file of `traffic`, which names one. `name`: what messages call it.
Result<workload::FlowList> read_traffic_file(const TrafficSettings& traffic, std::string_view text,
                                             const std::string& name, bool connection_reuse);
/// Lists every key.
void bind_traffic(Binder& binder, TrafficSettings& traffic);
std::string_view name(workload::ArrivalPattern pattern);

/// Where the ranks are on `hosts` hosts.
Result<std::vector<std::uint32_t>> place(const TrafficSettings& traffic, std::uint32_t hosts,
                                         std::uint64_t seed);
/// Scales the computations of a trace and puts its ranks at hosts, of which there are `count` from `first`
/// on.
Result<void> place_program(const TrafficSettings& traffic, std::uint32_t first, std::uint32_t count,
                           std::uint64_t seed, workload::FlowList& list);
/// What hosts can send: the slowest one's ports together.
BitsPerSecond host_rate(const Topology& topology);
/// The flows of `traffic`, which is given. `table`: what the file of arrivals holds, if they name one.
Result<workload::FlowList> generate_flows(const TrafficSettings& traffic, const Topology& topology,
                                          std::uint64_t seed,
                                          const std::optional<workload::SizeDistribution>& table);

}  // namespace wharf::sim
