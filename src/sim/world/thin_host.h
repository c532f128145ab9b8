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
  /// Host `number` out of `hosts`, with so many engines: one, or one for each port. `run` and `context`
  /// outlive it.
  static Result<std::unique_ptr<ThinHost>> create(const HostEngine& engine, std::uint32_t number,
                                                  std::uint32_t hosts, std::uint32_t engines,
                                                  std::uint64_t seed, FlowRun& run, PacketContext& context);
  /// For connecting the flows of its engine `port`.
  virtual std::unique_ptr<FlowEnd> end(std::uint32_t port) = 0;
};

/// Whether flows of `list` that start at a host of such engines keep to one of its ports.
bool keeps_port(const HostEngine& engine, const workload::FlowList& list);

}  // namespace wharf::sim
