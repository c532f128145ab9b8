// SPDX-License-Identifier: Apache-2.0
// Addresses and ports of hosts with several NICs.
#include "sim/world/nic_map.h"

#include <gtest/gtest.h>

#include <array>

namespace wharf::sim {
namespace {

/// Hosts 0 and 1 have two NICs with two ports each, host 2 one NIC with four ports, host 3 one with one.
NicMap four_hosts() {
  NicMap map;
  map.add_host(2, 4);
  map.add_host(2, 4);
  map.add_host(1, 4);
  map.add_host(1, 1);
  return map;
}

wire::Packet packet_of(std::uint32_t source, std::uint32_t destination, std::uint16_t entropy = 0) {
  wire::Packet packet;
  packet.source = {source};
  packet.destination = {destination};
  packet.entropy = entropy;
  return packet;
}

TEST(NicMap, AddressesOfFirstNicsAreThoseOfTheirHosts) {
  const NicMap map = four_hosts();
  for (std::uint32_t host = 0; host < 4; ++host) {
    for (std::uint32_t nic = 0; nic < 2; ++nic) {
      EXPECT_EQ(map.host_of(map.address_of(host, nic)), host);
      EXPECT_EQ(map.nic_of(map.address_of(host, nic)), nic);
    }
    EXPECT_EQ(map.address_of(host, 0), host);
  }
}

TEST(NicMap, PortsAreDealtOutInTurn) {
  NicMap map;
  map.add_host(2, 5);
  EXPECT_EQ(map.ports_of(0, 0), 3U);
  EXPECT_EQ(map.ports_of(0, 1), 2U);
  EXPECT_EQ(map.port_of_host(0, 0, 2), 4U);
  EXPECT_EQ(map.port_of_host(0, 1, 1), 3U);
}

// Whatever is sent arrives at a port of the NIC that it is for; in its plane where there is one.
TEST(NicMap, PacketsReachTheirNic) {
  const NicMap map = four_hosts();
  const std::array<std::uint32_t, 6> ends{0, 1, 2, 3, 4, 5};  // 4 and 5: second NICs of hosts 0 and 1.
  for (const std::uint32_t from : ends) {
    for (const std::uint32_t to : ends) {
      const std::uint32_t source = map.host_of(from);
      const std::uint32_t target = map.host_of(to);
      if (source == target) continue;
      for (std::uint16_t entropy = 0; entropy < 64; ++entropy) {
        const wire::Packet packet = packet_of(from, to, entropy);
        const std::uint32_t own = map.leaving_port(packet, bond_choice(packet));
        ASSERT_LT(own, map.ports_of(source, map.nic_of(from)));
        const std::uint32_t left = map.port_of_host(source, map.nic_of(from), own);
        const std::uint32_t arrived = map.arrival_port(packet, left);
        const std::uint32_t nics = to == 0 || to == 1 || to >= 4 ? 2 : 1;
        EXPECT_EQ(arrived % nics, map.nic_of(to)) << from << " to " << to;
        // Second NIC to second NIC, or one port of four in each plane.
        if (source != 3 && target != 3 && (nics == 1 || source == 2 || map.nic_of(from) == map.nic_of(to))) {
          EXPECT_EQ(arrived, left) << from << " to " << to;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wharf::sim
