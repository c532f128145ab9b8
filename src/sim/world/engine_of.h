// SPDX-License-Identifier: Apache-2.0
// The engine inside a full host, as what it is: for reports, studies and tests.
#pragma once

#include <cstddef>

#include "sim/host/nic/engine_nic.h"
#include "sim/protocols/protocols.h"
#include "sim/world/world.h"

namespace wharf::sim {

/// The engine of a NIC of host `index` if its stack speaks protocol P, else null. The host is not thin.
template <typename P>
typename P::Engine* engine_of(World& world, std::size_t index, std::size_t nic = 0) {
  if (protocol_of(world.group_of(index).engine.stack) != P::kProtocol) return nullptr;
  return &static_cast<EngineNic<typename P::Engine>&>(world.host(index).nic(nic)).engine();
}

}  // namespace wharf::sim
