// SPDX-License-Identifier: Apache-2.0
// Hosts with several NICs: their addresses, and the ports by which packets leave one and reach another. NIC n
// of a host has the address n * hosts + host, and every port p of the host with p modulo the number of NICs =
// n.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/packet.h"

namespace wharf::sim {

/// NICs that a host may have.
inline constexpr std::uint32_t kMostNics = 16;

/// Which NICs the queues between two hosts use, where a host has several. A NIC is counted modulo the number
/// that its host has.
enum class NicSpread : std::uint8_t {
  kQueue,  ///< The k-th queue between hosts a and b: NIC a + b + k.
  kPeer,   ///< All queues between hosts a and b: NIC a + b.
};

/// The NICs of a host, all alike; each has ports of its own.
struct NicSet {
  std::uint32_t count = 1;
  NicSpread spread = NicSpread::kQueue;
};

class NicMap {
 public:
  void add_host(std::uint32_t nics, std::uint32_t ports) { hosts_.push_back({nics, ports}); }

  std::uint32_t hosts() const { return static_cast<std::uint32_t>(hosts_.size()); }
  std::uint32_t address_of(std::uint32_t host, std::uint32_t nic) const { return nic * hosts() + host; }
  std::uint32_t host_of(std::uint32_t address) const { return address % hosts(); }
  std::uint32_t nic_of(std::uint32_t address) const { return address / hosts(); }

  /// Ports of one NIC.
  std::uint32_t ports_of(std::uint32_t host, std::uint32_t nic) const {
    const Host& one = hosts_[host];
    return (one.ports - nic + one.nics - 1) / one.nics;
  }
  /// The number of a NIC's own port `port` within its host.
  std::uint32_t port_of_host(std::uint32_t host, std::uint32_t nic, std::uint32_t port) const {
    return nic + port * hosts_[host].nics;
  }

  /// Which of its own ports a NIC sends `packet` by: one whose plane leads to the NIC that it is for, if
  /// there is one, chosen among those by `choice`.
  std::uint32_t leaving_port(const wire::Packet& packet, std::uint64_t choice) const;

  /// The port by which `packet`, sent by port `port` of its host, reaches the NIC that it is for: that of the
  /// same plane if it is one of that NIC's.
  std::uint32_t arrival_port(const wire::Packet& packet, std::uint32_t port) const;

 private:
  struct Host {
    std::uint32_t nics = 1;
    std::uint32_t ports = 1;
  };
  /// Whether a packet that leaves by `port` keeps to its plane.
  bool keeps_plane(const wire::Packet& packet, std::uint32_t port) const {
    const Host& target = hosts_[host_of(packet.destination.number)];
    return port % target.ports % target.nics == nic_of(packet.destination.number);
  }

  std::vector<Host> hosts_;
};

/// What spreads packets over the links of bonded ports: addresses, and what spreads them over paths.
std::uint64_t bond_choice(const wire::Packet& packet);

}  // namespace wharf::sim
