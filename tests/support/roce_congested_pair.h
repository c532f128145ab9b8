// SPDX-License-Identifier: Apache-2.0
// Two RoCE interfaces whose wire can mark congestion, and a record of what left when.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::test {

/// Small packets and PSNs from 100; time-outs after 67 ms. Host 0 is the sender of most tests.
inline roce::RoceConfig paced_config() {
  roce::RoceConfig config;
  config.path_mtu = 1024;
  config.starting_psn = 100;
  config.congestion = congestion::DcqcnConfig{};
  config.min_time_between_cnps = microseconds(50);
  return config;
}

struct CongestedPair : RocePair {
  explicit CongestedPair(const roce::RoceConfig& config = paced_config(), EnginePairOptions options = {},
                         std::uint32_t queues = 1)
      : RocePair(config, std::move(options), queues) {
    pair.wire().options().drop_if = [this](const wire::Packet& packet) {
      left.push_back({pair.now(), packet});
      return lose && lose(packet);
    };
    pair.wire().options().transform = [this](wire::Packet& packet, bool damaged, RandomStream&,
                                             wire::PayloadPool&) {
      if (mark && mark(packet)) packet.mark = wire::CongestionMark::kExperienced;
      return !damaged;
    };
  }

  struct Departure {
    TimePs at;
    wire::Packet packet;
  };
  std::vector<Departure> left;                    ///< What the hosts sent, in order.
  std::function<bool(const wire::Packet&)> mark;  ///< Which packets a switch marks.

  std::vector<Departure> left_from(std::uint32_t host, wire::RoceOpcode opcode) const {
    std::vector<Departure> some;
    for (const Departure& each : left) {
      if (each.packet.source.number == host && each.packet.roce.bth.opcode == opcode) some.push_back(each);
    }
    return some;
  }

  /// A CNP for queue pair `queue` of `host`, as its peer sends it.
  static wire::Packet notification(std::uint32_t host, engine::QueueId queue = 0) {
    wire::Packet packet = wire::roce_packet();
    packet.source = {1 - host};
    packet.destination = {host};
    packet.roce.bth.opcode = wire::RoceOpcode::kCnp;
    packet.roce.bth.backward_congestion = true;
    packet.roce.bth.destination_queue_pair = roce::kFirstQueueNumber + queue;
    return packet;
  }
  void notify(std::uint32_t host, engine::QueueId queue = 0, int times = 1) {
    for (; times > 0; --times) pair.inject(host, notification(host, queue));
  }

  congestion::SenderTrace trace(std::uint32_t host) { return pair.engine(host).congestion_trace({1 - host}); }
  std::uint64_t rate(std::uint32_t host) { return trace(host).rate.value; }
  const roce::Counters& counters(std::uint32_t host) { return pair.engine(host).counters(); }
};

}  // namespace wharf::test
