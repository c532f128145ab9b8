// SPDX-License-Identifier: Apache-2.0
// An interface on an Ethernet that consists of UDP datagrams, one frame each, as QEMU's `-netdev dgram`
// carries the frames of a machine. It has an IPv4 address, answers for it (ARP), and gives the datagrams of
// one UDP port. Unlike a socket it sees IP headers whole: the invariant CRC of a peer that numbers its
// packets can be checked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/random.h"
#include "base/result.h"
#include "live/reactor/datagram_port.h"
#include "live/udp/udp_socket.h"
#include "wire/ethernet.h"

namespace wharf::live {

struct EthernetConfig {
  UdpEndpoint carrier{};      ///< Where the frames of others arrive, on this machine.
  UdpEndpoint other{};        ///< Where frames go. Others' datagrams are ignored.
  std::uint32_t address = 0;  ///< IPv4, of the interface.
  std::uint16_t port = 0;     ///< The UDP port of the datagrams that it gives.
  Probability loss{};         ///< Share of the leaving datagrams that is dropped, with `seed`.
  std::uint64_t seed = 1;
};

struct EthernetCounters {
  std::uint64_t frames_received = 0;
  std::uint64_t foreign = 0;     ///< Frames that are not for this interface, or not what it reads.
  std::uint64_t malformed = 0;   ///< Lengths or checksums of IP that contradict the frame.
  std::uint64_t unresolved = 0;  ///< Datagrams to an address whose MAC address was not known yet: dropped.
  std::uint64_t losses = 0;      ///< Dropped on purpose.
};

class EthernetPort final : public DatagramPort {
 public:
  /// A busy port is an environment error.
  static Result<std::unique_ptr<EthernetPort>> open(const EthernetConfig& config);

  std::size_t receive() override;

  /// Asks who has `address`, unless that is known. The answer comes with receive().
  void resolve(std::uint32_t address);
  bool knows(std::uint32_t address) const { return find(address) != nullptr; }
  const EthernetCounters& counters() const { return counters_; }
  /// Locally administered: 02:00 and the IPv4 address.
  const wire::MacAddress& mac() const { return mac_; }
  /// The carrier's port, which the system may have chosen.
  const UdpEndpoint& carrier() const { return carrier_.local(); }

 private:
  struct Neighbour {
    std::uint32_t address = 0;
    wire::MacAddress mac{};
  };
  /// An Ethernet of one other machine has few; a stranger cannot make this grow.
  static constexpr std::size_t kNeighbours = 16;
  /// Batches of frames that give nothing, in one receive().
  static constexpr std::size_t kBatchesBehind = 64;

  EthernetPort(const EthernetConfig& config, UdpSocket carrier);
  void send_queued(std::size_t count) override;
  void flush_carrier();
  std::optional<Datagram> take(std::span<const std::byte> frame);
  std::optional<Datagram> take_ip(std::span<const std::byte> packet);
  void take_arp(std::span<const std::byte> bytes);
  void send_arp(const wire::MacAddress& to, bool reply, std::uint32_t target);
  void learn(std::uint32_t address, const wire::MacAddress& mac);
  const Neighbour* find(std::uint32_t address) const;

  EthernetConfig config_;
  UdpSocket carrier_;
  wire::MacAddress mac_;
  RandomStream losses_;
  std::array<Neighbour, kNeighbours> neighbours_{};
  std::size_t learned_ = 0;
  EthernetCounters counters_;
  std::uint64_t carrier_dropped_ = 0;  ///< That dropped() has of the carrier.
};

}  // namespace wharf::live
