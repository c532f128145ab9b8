// SPDX-License-Identifier: Apache-2.0
// What a link configuration says of a world, and the smallest of worlds: two hosts on a wire.
#pragma once

#include "sim/world/world.h"

namespace wharf::sim {

/// The link of `world`: how packets cross it, and its faults. `host`: whose clock rounds.
inline void use_link(WorldConfig& world, const LinkConfig& link, const HostConfig& host) {
  world.link = link;
  world.fabric.draws_per_fault = true;
  world.fabric.rounding = host.time.rounding;
  if (link.faults.any()) world.fabric.faults = {link.faults};
}

/// Two hosts, one link.
inline void join_by_wire(WorldConfig& world, const LinkConfig& link) {
  world.topology = back_to_back({.rate = link.rate, .delay = link.delay});
  world.fabric.profiles = {PortProfile::single_queue()};
}

}  // namespace wharf::sim
