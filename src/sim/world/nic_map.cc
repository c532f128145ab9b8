// SPDX-License-Identifier: Apache-2.0
#include "sim/world/nic_map.h"

#include "sim/fabric/port.h"

namespace wharf::sim {

std::uint64_t bond_choice(const wire::Packet& packet) {
  const std::uint64_t ends = std::uint64_t{packet.source.number} << 32U | packet.destination.number;
  return mix_bits(mix_bits(ends) + packet.entropy);
}

std::uint32_t NicMap::leaving_port(const wire::Packet& packet, std::uint64_t choice) const {
  const std::uint32_t host = host_of(packet.source.number);
  const std::uint32_t nic = nic_of(packet.source.number);
  const std::uint32_t ports = ports_of(host, nic);
  std::uint32_t straight = 0;
  for (std::uint32_t port = 0; port < ports; ++port)
    straight += keeps_plane(packet, port_of_host(host, nic, port)) ? 1U : 0U;
  if (straight == 0 || straight == ports) return static_cast<std::uint32_t>(choice % ports);
  auto left = static_cast<std::uint32_t>(choice % straight);
  std::uint32_t port = 0;
  for (; !keeps_plane(packet, port_of_host(host, nic, port)) || left > 0; ++port)
    left -= keeps_plane(packet, port_of_host(host, nic, port)) ? 1U : 0U;
  return port;
}

std::uint32_t NicMap::arrival_port(const wire::Packet& packet, std::uint32_t port) const {
  const std::uint32_t host = host_of(packet.destination.number);
  if (keeps_plane(packet, port)) return port % hosts_[host].ports;
  const std::uint32_t nic = nic_of(packet.destination.number);
  return port_of_host(host, nic, static_cast<std::uint32_t>(bond_choice(packet) % ports_of(host, nic)));
}

}  // namespace wharf::sim
