// SPDX-License-Identifier: Apache-2.0
// The engine inside a full host, as what it is: for reports, studies and tests.
#pragma once

#include <cstddef>
#include <vector>

#include "base/check.h"
#include "sim/host/nic/engine_nic.h"
#include "sim/protocols/protocols.h"
#include "sim/world/world.h"

namespace wharf::sim {

/// The engine of a NIC of host `index` if its stack speaks protocol P and it is no hardware, else null. The
/// host is not thin.
template <typename P>
typename P::Engine* engine_of(World& world, std::size_t index, std::size_t nic = 0) {
  if (protocol_of(world.group_of(index).engine.stack) != P::kProtocol) return nullptr;
  if (world.group_of(index).host.nic.implementation == NicImplementation::kRtl) return nullptr;
  return &static_cast<EngineNic<typename P::Engine>&>(world.host(index).nic(nic)).engine();
}

/// What the NIC of host `index` counts as an engine. The host is not thin.
inline std::vector<engine::NamedCounter> engine_counters(World& world, std::size_t index,
                                                         std::size_t nic = 0) {
  return visit_protocol(protocol_of(world.group_of(index).engine.stack), [&]<typename P>(
                                                                             std::type_identity<P>) {
    if (const auto* engine = engine_of<P>(world, index, nic)) return P::counters(engine->counters());
    if constexpr (requires { typename P::Hardware; }) {
      return static_cast<EngineNic<typename P::Hardware>&>(world.host(index).nic(nic)).engine().counters();
    }
    WHARF_UNREACHABLE();
  });
}

}  // namespace wharf::sim
