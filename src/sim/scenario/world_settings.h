// SPDX-License-Identifier: Apache-2.0
// The keys of a world of full hosts: which hosts there are ("hosts.*"), and the network between them, by the
// keys of fabrics ("topology.from", "fabric.*").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/binder.h"
#include "sim/fabric/link_config.h"
#include "sim/fabric/topology_file.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/program_settings.h"
#include "sim/scenario/world_roles.h"
#include "sim/world/world.h"

namespace wharf::sim {

struct ScenarioConfig;

/// Where rank 0 of a world's traffic is, the root of an incast.
enum class TrafficRoot : std::uint8_t {
  kThin,    ///< At a thin host, as all ranks.
  kServer,  ///< At the first server.
};

/// Full hosts on a topology. Without any of these keys two hosts stand on a wire.
struct WorldSettings {
  bool given = false;         ///< The scenario has a key of hosts.*.
  std::uint32_t servers = 1;  ///< Hosts that expose memory, the last ones.
  std::uint32_t clients = 0;  ///< Hosts that run the program, the first ones; 0: all that are no servers.
  std::uint32_t threads = 1;
  TrafficRoot traffic_root = TrafficRoot::kThin;
  FabricSettings fabric;  ///< Its traffic is that of thin hosts.
};

/// Whether `document` describes a world by keys of hosts.*.
bool describes_world(const ConfigDocument& document);
/// Lists the keys; `link`, `stack` and `payload` are what the hosts have.
void bind_world(Binder& binder, WorldSettings& world, const LinkConfig& link, Stack stack,
                std::uint32_t payload);

/// What `config` asks for, with everything but what only a run decides (wire mode, attribution).
struct PlannedWorld {
  WorldConfig config;
  WorldRoles roles;
  std::vector<ProgramHosts> programs;  ///< That of "run.*" first.
};
/// Refuses worlds that cannot be, naming the key.
Result<PlannedWorld> plan_world(const ScenarioConfig& config);

}  // namespace wharf::sim
