// SPDX-License-Identifier: Apache-2.0
// Ways that are not minimal: the switch at the source decides whether a packet goes over another group. While
// it does, PacketHead::leaf is the end of its detour; from there on it is its destination's leaf again.
#pragma once

#include "sim/fabric/load_balancing.h"
#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
[[gnu::noinline]] void Partition<Host>::steer(TimePs now, PortId link, SwitchState& sw, PacketHead& head) {
  if (!state_.topology->is_host(state_.topology->port(link).node)) {
    // The detour ends here, or a failure has cut its end off.
    if (head.leaf == sw.routes.own_leaf || routes_->lookup(sw.routes, head.leaf).none())
      head.leaf = routes_->leaf(head.destination);
    return;
  }
  // With ECMP, packets of a flow and entropy go over the same group, and Valiant's ways keep them in order.
  const bool hashed = state_.config.load_balancing == LoadBalancing::kEcmpHash;
  const std::uint64_t drawn =
      mix_bits(state_.draw_key + (std::uint64_t{~sw.salt} << 32U) + (std::uint64_t{head.flow} << 16U) +
               static_cast<std::uint64_t>(now.ps));
  const std::uint32_t bits =
      hashed ? path_hash(head.flow, head.entropy, ~sw.salt) : static_cast<std::uint32_t>(drawn >> 32U);
  const std::uint32_t over = detours_->pick(sw.routes.own_leaf, head.leaf, bits);
  if (over == Detours::kNone) return;
  PacketHead there = head;
  there.leaf = static_cast<std::uint16_t>(over);
  const PortId detour = route(now, sw, there);
  if (detour == kNoPort || (ports_[detour].flags & kPortDown) != 0) return;
  if (state_.config.routing == Routing::kUgal && !is_worth(now, sw, head, detour, over)) return;
  head.leaf = there.leaf;
}

/// UGAL-L: queues of this switch, each for the links that its way has from here.
template <FabricHost Host>
bool Partition<Host>::is_worth(TimePs now, SwitchState& sw, const PacketHead& head, PortId detour,
                               std::uint32_t over) {
  const PortId minimal = route(now, sw, head);
  if (minimal == kNoPort || (ports_[minimal].flags & kPortDown) != 0) return true;
  const std::uint32_t own = sw.routes.own_leaf;
  const std::uint64_t minimal_links = detours_->links(own, head.leaf);
  const std::uint64_t detour_links = detours_->links(own, over) + detours_->links(over, head.leaf);
  return queued_bytes(now, minimal) * minimal_links >
         queued_bytes(now, detour) * detour_links + state_.config.ugal_bias_bytes;
}

}  // namespace wharf::sim
