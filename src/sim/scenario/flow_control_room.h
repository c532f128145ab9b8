// SPDX-License-Identifier: Apache-2.0
// The room that queues of switches need under flow control, so that nothing is dropped.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/topology.h"
#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {

/// How much slower a slow link is (fabric.slow_links), and how much shorter its queue.
inline constexpr std::uint64_t kSlowLink = 4;

/// Bytes of one queue that may wait at the far end of `link`, at most: what flow control lets in, and under
/// pause also what arrives until the pause frame has stopped the near end.
std::uint64_t room_for_link(const FabricSettings& settings, const FabricDerived& derived,
                            const Topology& topology, PortId link);

/// Refuses queues whose length was given and that cannot hold what all links into their switch may bring.
Result<void> check_queue_room(const FabricSettings& settings, const FabricDerived& derived,
                              const Topology& topology, const FabricConfig& fabric);

}  // namespace wharf::sim
