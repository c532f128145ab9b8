// SPDX-License-Identifier: Apache-2.0
// Traffic beside the programs of a world: which flows its keys give, and what became of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/traffic.h"
#include "sim/scenario/world_settings.h"
#include "sim/world/world.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// The flows of `traffic`, which has some. Ranks are the thin hosts in their order, those between clients and
/// servers, unless the placement lists hosts; files name hosts themselves. Refuses worlds without thin hosts.
Result<workload::FlowList> world_flows(const TrafficSettings& traffic, TrafficRoot root,
                                       const WorldRoles& roles, const Topology& topology, std::uint64_t seed);

/// What became of the flows by now: their number, how many have started, finished and failed, bytes,
/// completion times, rate. Of the latter three the flows that start during the warm-up of `traffic` are no
/// part.
nlohmann::ordered_json background_report(const World& world, const TrafficSettings& traffic);
/// The path of every number of it.
std::vector<std::string> background_paths(const TrafficSettings& traffic);

}  // namespace wharf::sim
