// SPDX-License-Identifier: Apache-2.0
// A host of a world that makes traffic and runs no programs: an engine whose inside takes no time, as in runs
// of flows (sim/flows), at a port beside full hosts.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "sim/fabric/packet_host.h"
#include "sim/flows/flow_connections.h"
#include "sim/flows/flow_driver.h"
#include "sim/world/host_engine.h"
#include "sim/world/world_endpoint.h"

namespace wharf::sim {

class ThinHost : public WorldEndpoint {
 public:
  /// Host `number` out of `hosts`. `run` and `context` outlive it.
  static Result<std::unique_ptr<ThinHost>> create(const HostEngine& engine, std::uint32_t number,
                                                  std::uint32_t hosts, std::uint64_t seed, FlowRun& run,
                                                  PacketContext& context);
  /// For connecting its flows.
  virtual std::unique_ptr<FlowEnd> end() = 0;
};

}  // namespace wharf::sim
