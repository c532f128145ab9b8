// SPDX-License-Identifier: Apache-2.0
#include "live/ethernet/ethernet_port.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "live/ethernet/arp.h"
#include "live/udp/network_headers.h"
#include "wire/ipv4.h"
#include "wire/udp.h"

namespace wharf::live {
namespace {

constexpr wire::MacAddress kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

wire::MacAddress mac_of(std::uint32_t address) {
  return {0x02,
          0x00,
          static_cast<std::uint8_t>(address >> 24U),
          static_cast<std::uint8_t>(address >> 16U),
          static_cast<std::uint8_t>(address >> 8U),
          static_cast<std::uint8_t>(address)};
}

}  // namespace

Result<std::unique_ptr<EthernetPort>> EthernetPort::open(const EthernetConfig& config) {
  auto carrier = UdpSocket::open(config.carrier);
  if (!carrier) return carrier.error();
  return std::unique_ptr<EthernetPort>(new EthernetPort(config, *std::move(carrier)));
}

EthernetPort::EthernetPort(const EthernetConfig& config, UdpSocket carrier)
    : DatagramPort(carrier.descriptor(), {config.address, config.port}),
      config_(config),
      carrier_(std::move(carrier)),
      mac_(mac_of(config.address)),
      losses_(config.seed, "live.ethernet_losses") {}

// Nothing given means that nothing is there: timers are due then. So it goes on behind frames that give
// nothing, but not for ever.
std::size_t EthernetPort::receive() {
  std::size_t given = 0;
  std::size_t count = kBatch;
  for (std::size_t batches = 0; given == 0 && count != 0 && batches < kBatchesBehind; ++batches) {
    count = carrier_.receive();
    for (std::size_t index = 0; index < count; ++index) {
      const Datagram& carried = carrier_.datagram(index);
      if (carried.source != config_.other) {
        ++counters_.foreign;
        continue;
      }
      ++counters_.frames_received;
      if (const auto datagram = take(carried.bytes)) datagrams_[given++] = *datagram;
    }
    flush_carrier();  // Answers to those who asked for the address.
  }
  return given;
}

void EthernetPort::flush_carrier() {
  carrier_.flush();
  const std::uint64_t before = std::exchange(carrier_dropped_, carrier_.dropped());
  dropped_ += carrier_dropped_ - before;
}

std::optional<DatagramPort::Datagram> EthernetPort::take(std::span<const std::byte> frame) {
  if (frame.size() < wire::kEthernetBytes) {
    ++counters_.malformed;
    return std::nullopt;
  }
  const wire::EthernetHeader ethernet = wire::decode_ethernet(frame.data());
  const std::span<const std::byte> rest = frame.subspan(wire::kEthernetBytes);
  if (ethernet.destination == mac_ && ethernet.type == wire::EtherType::kIpv4) {
    auto datagram = take_ip(rest);
    if (datagram) learn(datagram->source.address, ethernet.source);
    return datagram;
  }
  if ((ethernet.destination == mac_ || ethernet.destination == kBroadcast) &&
      ethernet.type == wire::EtherType::kArp) {
    take_arp(rest);
  } else {
    ++counters_.foreign;
  }
  return std::nullopt;
}

// Lengths come from the headers: short frames are padded. [IEEE 802.3 3.2.8]
std::optional<DatagramPort::Datagram> EthernetPort::take_ip(std::span<const std::byte> packet) {
  constexpr std::size_t kHeaders = wire::kIpv4Bytes + wire::kUdpBytes;
  if (packet.size() < kHeaders || packet[0] != std::byte{0x45} || wire::ipv4_checksum(packet.data()) != 0) {
    ++counters_.malformed;
    return std::nullopt;
  }
  const wire::Ipv4Header ip = wire::decode_ipv4(packet.data());
  if (ip.destination != config_.address || ip.protocol != wire::kIpProtocolUdp || ip.more_fragments ||
      ip.fragment_offset != 0) {
    ++counters_.foreign;
    return std::nullopt;
  }
  const wire::UdpHeader udp = wire::decode_udp(packet.data() + wire::kIpv4Bytes);
  if (udp.destination_port != config_.port) {
    ++counters_.foreign;
    return std::nullopt;
  }
  if (udp.length < wire::kUdpBytes || ip.total_length != wire::kIpv4Bytes + udp.length ||
      ip.total_length > packet.size()) {
    ++counters_.malformed;
    return std::nullopt;
  }
  Datagram datagram;
  datagram.source = {ip.source, udp.source_port};
  datagram.bytes = packet.subspan(kHeaders, udp.length - wire::kUdpBytes);
  datagram.service = ip.type_of_service;
  datagram.ip = {ip.identification, ip.do_not_fragment};
  return datagram;
}

void EthernetPort::take_arp(std::span<const std::byte> bytes) {
  const auto message = decode_arp(bytes);
  if (!message) {
    ++counters_.malformed;
    return;
  }
  if (message->target != config_.address) {
    ++counters_.foreign;
    return;
  }
  learn(message->sender, message->sender_mac);
  if (message->operation == ArpOperation::kRequest) send_arp(message->sender_mac, true, message->sender);
}

void EthernetPort::send_arp(const wire::MacAddress& to, bool reply, std::uint32_t target) {
  const std::span<std::byte> room = carrier_.queue(config_.other);
  wire::encode(wire::EthernetHeader{to, mac_, wire::EtherType::kArp}, room.data());
  ArpMessage message;
  message.operation = reply ? ArpOperation::kReply : ArpOperation::kRequest;
  message.sender_mac = mac_;
  message.sender = config_.address;
  if (reply) message.target_mac = to;
  message.target = target;
  encode(message, room.data() + wire::kEthernetBytes);
  // No shorter than a frame may be; its check sequence is not carried.
  constexpr std::size_t kFrame = wire::kEthernetFrameBytesMin - wire::kFcsBytes;
  std::fill(room.begin() + wire::kEthernetBytes + kArpBytes, room.begin() + kFrame, std::byte{0});
  carrier_.set_queued_length(kFrame);
}

void EthernetPort::resolve(std::uint32_t address) {
  if (knows(address)) return;
  send_arp(kBroadcast, false, address);
  flush_carrier();
}

void EthernetPort::send_queued(std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    const Outgoing& datagram = outgoing(index);
    const std::span<const std::byte> frame = outgoing_frame(index);
    if (losses_.chance(config_.loss)) {
      ++counters_.losses;
      continue;
    }
    const Neighbour* const neighbour = find(datagram.to.address);
    if (neighbour == nullptr) {
      ++counters_.unresolved;
      ++dropped_;
      send_arp(kBroadcast, false, datagram.to.address);
      continue;
    }
    const NetworkHeaders headers = network_headers(local(), datagram.to, datagram.service, datagram.bytes());
    const std::size_t length = wire::kEthernetBytes + headers.size() + datagram.bytes();
    const std::span<std::byte> room = carrier_.queue(config_.other);
    if (length > room.size()) {
      carrier_.set_queued_length(0);
      ++dropped_;
      continue;
    }
    wire::encode(wire::EthernetHeader{neighbour->mac, mac_, wire::EtherType::kIpv4}, room.data());
    auto at = std::copy(headers.begin(), headers.end(), room.begin() + wire::kEthernetBytes);
    std::copy(datagram.data.begin(), datagram.data.end(), std::copy(frame.begin(), frame.end(), at));
    carrier_.set_queued_length(length);
  }
  flush_carrier();
}

void EthernetPort::learn(std::uint32_t address, const wire::MacAddress& mac) {
  const auto known = std::find_if(neighbours_.begin(), neighbours_.end(),
                                  [address](const Neighbour& each) { return each.address == address; });
  if (known != neighbours_.end()) {
    known->mac = mac;
  } else {
    neighbours_[learned_++ % kNeighbours] = {address, mac};
  }
}

const EthernetPort::Neighbour* EthernetPort::find(std::uint32_t address) const {
  const auto known = std::find_if(neighbours_.begin(), neighbours_.end(),
                                  [address](const Neighbour& each) { return each.address == address; });
  return known == neighbours_.end() || address == 0 ? nullptr : &*known;
}

}  // namespace wharf::live
