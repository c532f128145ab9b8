// SPDX-License-Identifier: Apache-2.0
// Hosts that send what a test tells them and keep what arrives, and a fabric of them.
#pragma once

#include <deque>
#include <vector>

#include "sim/fabric/fabric.h"

namespace wharf::sim {

struct ScriptPacket {
  std::uint32_t to = 0;
  std::uint16_t bytes = 1000;
  std::uint8_t traffic_class = 4;
  std::uint8_t flags = kHeadEcnCapable | kHeadTrimmable;
  std::uint32_t number = 0;
  std::uint16_t entropy = 0;
  TimePs not_before{};
};

struct ReceivedPacket {
  TimePs at;
  PacketHead head;
  std::uint32_t from = 0;
  std::uint32_t number = 0;
};

class ScriptHost {
 public:
  struct Body {
    std::uint32_t from = 0;
    std::uint32_t number = 0;
  };

  explicit ScriptHost(std::uint32_t host) : host_(host) {}

  bool transmit(TimePs now, std::uint32_t /*port*/, ClassMask allowed, Body& body, PacketHead& head) {
    for (auto packet = to_send.begin(); packet != to_send.end(); ++packet) {
      if ((allowed & (1U << packet->traffic_class)) == 0) continue;
      if (packet->not_before > now) {
        next_ = packet->not_before;
        return false;
      }
      body = {host_, packet->number};
      head.destination = packet->to;
      head.flow = host_;
      head.bytes = packet->bytes;
      head.entropy = packet->entropy;
      head.traffic_class = packet->traffic_class;
      head.flags = packet->flags;
      to_send.erase(packet);
      return true;
    }
    return false;
  }
  void receive(TimePs now, std::uint32_t /*port*/, Body& body, const PacketHead& head) {
    received.push_back({now, head, body.from, body.number});
  }
  void expire(TimePs now) {
    if (next_ <= now) next_ = kNever;
  }
  TimePs deadline() const { return next_; }

  std::deque<ScriptPacket> to_send;
  std::vector<ReceivedPacket> received;

 private:
  std::uint32_t host_;
  TimePs next_{};
};

class ScriptFabric : public Fabric<ScriptHost> {
 public:
  ScriptFabric(const Topology& topology, const FabricConfig& config, std::uint32_t threads = 1)
      : Fabric(
            topology, checked(config, topology), [](NodeId host) { return ScriptHost(host); }, threads) {}

  void send(NodeId from, const ScriptPacket& packet) { host(from).to_send.push_back(packet); }
  void send_burst(NodeId from, NodeId to, std::uint32_t count, std::uint16_t bytes,
                  std::uint8_t traffic_class = 4) {
    for (std::uint32_t i = 0; i < count; ++i)
      send(from, {.to = to,
                  .bytes = bytes,
                  .traffic_class = traffic_class,
                  .number = i,
                  .entropy = static_cast<std::uint16_t>(i)});
  }
  FabricEnd run(TimePs end = seconds(1)) { return run_until(end); }

  const std::vector<ReceivedPacket>& received(NodeId at) { return host(at).received; }
  /// The port of the switch toward a host.
  PortId port_to(NodeId to) const { return topology().port(topology().node(to).ports[0]).reverse; }
  PortCounters counters_to(NodeId to) const { return port_counters(port_to(to)); }

 private:
  static const FabricConfig& checked(const FabricConfig& config, const Topology& topology) {
    WHARF_CHECK(validate(config, topology).ok());
    return config;
  }
};

}  // namespace wharf::sim
