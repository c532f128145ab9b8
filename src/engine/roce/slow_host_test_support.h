// SPDX-License-Identifier: Apache-2.0
// One RoCE interface between a peer made of single packets and a host that answers memory accesses only when
// it is told to, for unit tests of what happens in between.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"

namespace wharf::roce::test {

using engine::AccessKind;
using wire::RoceOpcode;

inline constexpr std::uint64_t kBase = 0x10000;
inline constexpr std::uint64_t kBytes = 4096;
inline constexpr Psn kTheirPsn = 5000;

/// One engine, a peer made of single packets, and a host that answers only what it is told to answer.
class SlowHost {
 public:
  explicit SlowHost(RoceConfig config) {
    config.host = {1};
    config.path_mtu = 256;
    config.access_slots = 64;
    engine = std::make_unique<RoceEngine>(RoceEngine::create(config, pool, arena).value());
  }
  ~SlowHost() {
    engine.reset();
    EXPECT_EQ(pool.in_use(), 0u);
  }

  verbs::SegmentToken add_segment() {
    return engine->register_segment(kTimeZero, {.base = kBase, .length = kBytes}).value();
  }
  engine::QueueId add_queue(const engine::QueueConfig& config = {}) {
    const engine::QueueId queue = engine->create_queue(kTimeZero, config).value();
    psn.push_back(kTheirPsn);
    connect(queue);
    return queue;
  }
  void connect(engine::QueueId queue) {
    ExchangeRecord peer;
    peer.host = {0};
    peer.queue_number = kFirstQueueNumber + queue;
    peer.starting_psn = kTheirPsn;
    peer.path_mtu = 256;
    peer.responder_resources = 4;
    psn[queue] = kTheirPsn;
    ASSERT_TRUE(engine->connect(kTimeZero, queue, encode(peer)).ok());
  }
  void reset(engine::QueueId queue) {
    ASSERT_TRUE(engine->reset(kTimeZero, queue).ok());
    connect(queue);
  }

  /// The next packet of the peer of `queue`.
  wire::Packet packet(engine::QueueId queue, RoceOpcode opcode) {
    wire::Packet out = wire::roce_packet();
    out.source = {0};
    out.destination = {1};
    out.roce.bth.opcode = opcode;
    out.roce.bth.destination_queue_pair = kFirstQueueNumber + queue;
    out.roce.bth.psn = psn[queue]++;
    return out;
  }
  void receive(const wire::Packet& arrived) {
    engine->receive(kTimeZero, 0, arrived);
    drain();
  }
  /// A READ of no bytes: it needs the record of its key, and no memory.
  void read_nothing(engine::QueueId queue, verbs::SegmentToken token) {
    wire::Packet read = packet(queue, RoceOpcode::kRcReadRequest);
    read.roce.reth = {kBase, token.id, 0};
    receive(read);
  }
  void write(engine::QueueId queue, verbs::SegmentToken token) {
    wire::Packet out = packet(queue, RoceOpcode::kRcWriteOnly);
    out.roce.reth = {kBase, token.id, 64};
    out.payload = wire::pattern_payload(1, 0, 64);
    receive(out);
  }
  void send(engine::QueueId queue, std::uint32_t length) {
    wire::Packet out = packet(queue, RoceOpcode::kRcSendOnly);
    out.payload = wire::pattern_payload(1, 0, length);
    receive(out);
  }

  /// Takes what the engine wants of memory and of the network, and answers nothing.
  void drain() {
    engine::Access access;
    while (engine->next_access(access)) pending.push_back(access);
    wire::Packet packet;
    while (engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet)) {
      ++sent;
      pool.release(packet.payload.buffer);
    }
  }
  std::size_t count(AccessKind kind) const {
    return static_cast<std::size_t>(std::count_if(pending.begin(), pending.end(),
                                                  [&](const auto& access) { return access.kind == kind; }));
  }
  /// Answers the oldest access of `kind`, data with `missing` bytes less than was asked for; false when there
  /// is none.
  bool answer(AccessKind kind, engine::AccessStatus status = engine::AccessStatus::kDone,
              std::uint32_t missing = 0) {
    const auto at = std::find_if(pending.begin(), pending.end(),
                                 [&](const engine::Access& access) { return access.kind == kind; });
    if (at == pending.end()) return false;
    const engine::Access access = *at;
    pending.erase(at);
    engine::AccessResult result;
    result.status = status;
    wire::BufferId buffer = wire::kNoBuffer;
    if (status != engine::AccessStatus::kDone) {
      // Nothing is written or read.
    } else if (kind == AccessKind::kWriteContext) {
      records[access.address].resize(access.length);
      wire::fill(access.data, records[access.address]);
    } else if (kind == AccessKind::kFetchContext || kind == AccessKind::kRead) {
      buffer = pool.acquire(access.length);
      std::fill_n(pool.data(buffer), access.length, std::byte{0});
      if (const auto record = records.find(access.address);
          kind == AccessKind::kFetchContext && record != records.end())
        std::copy_n(record->second.begin(), access.length, pool.data(buffer));
      result.data = wire::bytes_payload(pool.data(buffer), access.length - missing, buffer);
    }
    engine->access_done(kTimeZero, access.id, result);
    pool.release(buffer);
    drain();
    return true;
  }
  void answer_all() {
    drain();
    while (!pending.empty()) answer(pending.front().kind);
  }

  wire::PayloadPool pool;
  Arena arena;
  std::unique_ptr<RoceEngine> engine;
  std::deque<engine::Access> pending;
  std::map<std::uint64_t, std::vector<std::byte>> records;
  std::vector<Psn> psn;
  std::size_t sent = 0;
};

/// Of the records that `queue` shows.
inline std::vector<verbs::CompletionStatus> statuses(SlowHost& host, engine::QueueId queue) {
  std::vector<verbs::CompletionStatus> some;
  verbs::Completion completion;
  while (host.engine->poll(queue, completion)) some.push_back(completion.status);
  return some;
}

}  // namespace wharf::roce::test
