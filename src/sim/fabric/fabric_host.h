// SPDX-License-Identifier: Apache-2.0
// What stands at the edge of a fabric: the concept of a host, which partitions are templates over.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/time.h"
#include "sim/fabric/packet_head.h"

namespace wharf::sim {

/// A set of traffic classes, one bit each.
using ClassMask = std::uint8_t;
inline constexpr ClassMask kAllClasses = 0xff;

/// One host with its network interface. `now` never decreases over all calls together; it may lie behind the
/// clock of the simulation, because a host is only advanced when something needs it.
template <typename H>
concept FabricHost = requires(H& host, const H& observed, TimePs now, std::uint32_t port, ClassMask allowed,
                              typename H::Body& body, PacketHead& head, const PacketHead& arrived) {
  /// What a packet carries from end to end.
  typename H::Body;
  /// The next packet for `port` whose class is allowed, if any: fills `body` and of `head` destination (a
  /// host number), flow, bytes, entropy, traffic_class and the flags kHeadEcnCapable and kHeadTrimmable. The
  /// port is free; it will be asked again when it has sent the packet. False: ask after the next input.
  { host.transmit(now, port, allowed, body, head) } -> std::same_as<bool>;
  /// A packet's last byte has arrived at `port`. Its marks and trims are in `arrived`; `body` may be used and
  /// changed during the call.
  host.receive(now, port, body, arrived);
  /// To be called at deadline(); earlier calls do nothing.
  host.expire(now);
  { observed.deadline() } -> std::same_as<TimePs>;
};

}  // namespace wharf::sim
