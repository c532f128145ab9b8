// SPDX-License-Identifier: Apache-2.0
// Two connected RoCE interfaces with a segment each, for unit tests of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/roce/roce_engine.h"
#include "tests/support/engine_pair.h"

namespace wharf::test {

/// Packets of 256 bytes, and a time-out that tests can wait for.
inline roce::RoceConfig small_packets() {
  roce::RoceConfig config;
  config.path_mtu = 256;
  config.ack_timeout = 4;  // 65.5 us.
  config.starting_psn = 100;
  return config;
}

/// Hosts 0 and 1 with `queues` connected queue pairs each; all of their memory is one segment.
class RocePair {
 public:
  static constexpr std::uint64_t kBase = 0x10000;

  explicit RocePair(const roce::RoceConfig& config = {}, EnginePairOptions options = {},
                    std::uint32_t queues = 1, engine::QueueConfig queue_config = {})
      : RocePair(config, config, std::move(options), queues, queue_config) {}

  RocePair(const roce::RoceConfig& config0, const roce::RoceConfig& config1, EnginePairOptions options,
           std::uint32_t queues = 1, engine::QueueConfig queue_config = {})
      : pair(std::move(options), [&](std::uint32_t host, wire::PayloadPool& pool) {
          roce::RoceConfig config = host == 0 ? config0 : config1;
          config.host = {host};
          return std::make_unique<roce::RoceEngine>(roce::RoceEngine::create(config, pool, arena).value());
        }) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      token[host] = pair.engine(host)
                        .register_segment(pair.now(), {.base = kBase, .length = pair.memory(host).size()})
                        .value();
      for (std::uint32_t queue = 0; queue < queues; ++queue) {
        queue_id = pair.engine(host).create_queue(pair.now(), queue_config).value();
      }
    }
    queue_id = 0;
    for (std::uint32_t queue = 0; queue < queues; ++queue) connect(queue);
  }

  void connect(engine::QueueId queue) {
    const auto blob0 = pair.engine(0).export_queue(queue).value();
    const auto blob1 = pair.engine(1).export_queue(queue).value();
    WHARF_CHECK(pair.engine(0).connect(pair.now(), queue, blob1).ok());
    WHARF_CHECK(pair.engine(1).connect(pair.now(), queue, blob0).ok());
  }

  /// A one-sided request from local address kBase + local to the peer's kBase + remote.
  verbs::WorkRequest request(verbs::Verb verb, std::uint64_t local, std::uint64_t remote,
                             std::uint32_t length, std::uint32_t from = 0) {
    verbs::WorkRequest work;
    work.id = ++last_id;
    work.verb = verb;
    work.local_count = 1;
    work.local[0] = {kBase + local, length};
    work.length = length;
    work.remote = {kBase + remote, token[1 - from]};
    return work;
  }

  verbs::ReceiveRequest receive(std::uint64_t local, std::uint32_t length) {
    verbs::ReceiveRequest request;
    request.id = ++last_id;
    request.local_count = 1;
    request.local[0] = {kBase + local, length};
    return request;
  }

  /// Fills `length` bytes of a host's memory with a recognisable pattern.
  void fill(std::uint32_t host, std::uint64_t offset, std::uint32_t length, std::uint32_t pattern) {
    wire::fill(wire::pattern_payload(pattern, 0, length), pair.memory(host).at(kBase + offset, length));
  }
  bool holds(std::uint32_t host, std::uint64_t offset, std::uint32_t length, std::uint32_t pattern) {
    return wire::payload_equal(wire::pattern_payload(pattern, 0, length),
                               wire::bytes_payload(pair.memory(host).at(kBase + offset, length)));
  }

  /// Packets that left a host, as seen on the wire. Starts with the first call of watch().
  void watch() {
    pair.wire().options().drop_if = [this](const wire::Packet& packet) {
      sent.push_back(packet);
      return lose && lose(packet);
    };
  }
  std::vector<wire::Packet> sent;
  std::function<bool(const wire::Packet&)> lose;  ///< Which packets to lose, once watch() was called.

  /// The packets of `opcode` that were sent, in order.
  std::vector<wire::Packet> sent_of(wire::RoceOpcode opcode) const {
    std::vector<wire::Packet> some;
    for (const wire::Packet& packet : sent) {
      if (packet.roce.bth.opcode == opcode) some.push_back(packet);
    }
    return some;
  }

  const std::vector<verbs::Completion>& completions(std::uint32_t host) {
    return pair.host(host).completions;
  }

  Arena arena;  ///< Outlives the engines.
  EnginePair<roce::RoceEngine> pair;
  verbs::SegmentToken token[2];
  engine::QueueId queue_id = 0;
  std::uint64_t last_id = 0;
};

}  // namespace wharf::test
