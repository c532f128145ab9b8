// SPDX-License-Identifier: Apache-2.0
// Hosts of one protocol whose packets fly at once, for rules that hold for every engine. What memory holds is
// only what rings of bytes and payloads of real bytes need.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/contract.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/ub_engine.h"
#include "engine/uet/uet_engine.h"
#include "wire/payload_pool.h"

namespace wharf::contract {

/// One context record of each kind fits into the cache, when it is small.
template <typename E>
auto config_of(bool small_cache = false);
template <>
inline auto config_of<ub::UbEngine>(bool small_cache) {
  ub::UbConfig config;
  config.context_cache_entries = small_cache ? 1 : 0;
  return config;
}
template <>
inline auto config_of<roce::RoceEngine>(bool small_cache) {
  roce::RoceConfig config;
  config.queue_cache_entries = small_cache ? 1 : 0;
  config.key_cache_entries = config.queue_cache_entries;
  config.ack_timeout = 14;
  return config;
}
template <>
inline auto config_of<uet::UetEngine>(bool) {
  uet::UetConfig config;
  config.protection = wire::UetProtection::kCrc;
  return config;
}

inline constexpr std::uint64_t kBase = 0x10000;
inline constexpr std::uint32_t kBytes = 0x10000;

template <typename E>
class World {
 public:
  struct Host {
    Arena arena;
    std::unique_ptr<E> engine;
    verbs::SegmentToken token;
    std::vector<verbs::Completion> completions;
    std::vector<engine::QueueId> from;  ///< Which queue gave each of them.
    std::vector<engine::AsyncEvent> events;
    std::vector<engine::Access> accesses;  ///< All that were asked for.
    std::map<std::uint64_t, std::byte> memory;
    std::deque<engine::Access> unanswered;  ///< While `answers` is false.
    std::deque<wire::Packet> arrived;       ///< While `flies` is false.
  };

  explicit World(std::uint32_t count = 2, bool small_cache = false) : hosts(count) {
    for (std::uint32_t at = 0; at < count; ++at) {
      auto config = config_of<E>(small_cache);
      config.host = {at};
      Host& host = hosts[at];
      host.engine = std::make_unique<E>(E::create(config, pool, host.arena).value());
      host.token =
          host.engine->register_segment(now, {.base = kBase, .length = kBytes, .space = 40 + at}).value();
    }
  }
  ~World() {
    for (Host& host : hosts) {
      for (const wire::Packet& packet : host.arrived) pool.release(packet.payload.buffer);
      host.engine.reset();
    }
    EXPECT_EQ(pool.in_use(), 0U);
  }
  E& engine(std::uint32_t host) { return *hosts[host].engine; }

  engine::QueueId create_queue(std::uint32_t host, engine::QueueConfig config) {
    return engine(host).create_queue(now, config).value();
  }
  static engine::QueueConfig plain() { return {.send_depth = 16, .receive_depth = 16}; }
  static engine::QueueConfig into(engine::QueueId completions) {
    engine::QueueConfig config = plain();
    config.send_completions = config.receive_completions = completions;
    return config;
  }
  /// Both ends know each other; the peers are those of `a` and of `b`.
  std::pair<verbs::PeerId, verbs::PeerId> connect(std::uint32_t host_a, engine::QueueId a,
                                                  std::uint32_t host_b, engine::QueueId b) {
    const auto blob_a = engine(host_a).export_queue(a).value();
    const auto blob_b = engine(host_b).export_queue(b).value();
    const verbs::PeerId peer_a = engine(host_a).connect(now, a, blob_b).value();
    const verbs::PeerId peer_b = engine(host_b).connect(now, b, blob_a).value();
    return {peer_a, peer_b};
  }

  verbs::WorkRequest request(std::uint64_t id, verbs::Verb verb, verbs::PeerId peer, std::uint32_t to,
                             std::uint32_t length = 64) {
    verbs::WorkRequest made;
    made.id = id;
    made.verb = verb;
    made.peer = peer;
    if (verbs::is_atomic(verb)) {
      made.length = made.width = 8;
    } else {
      made.length = length;
    }
    made.local_count = 1;
    made.local[0] = {kBase, made.length};
    if (!verbs::is_send(verb)) {
      made.remote = {kBase + 0x1000, hosts[to].token};
      made.notify = {kBase + 0x2000, hosts[to].token};
    }
    return made;
  }
  engine::PostStatus post(std::uint32_t host, engine::QueueId queue, const verbs::WorkRequest& request) {
    return engine(host).post(now, queue, request, engine::Submission::kInHand);
  }
  engine::PostStatus post_receive(std::uint32_t host, engine::QueueId queue, std::uint64_t id) {
    verbs::ReceiveRequest receive;
    receive.id = id;
    receive.local_count = 1;
    receive.local[0] = {kBase + 0x4000, 0x1000};
    return engine(host).post_receive(now, queue, receive);
  }

  engine::AccessResult perform(Host& host, const engine::Access& access) {
    engine::AccessResult result;
    const bool fetches = access.kind == engine::AccessKind::kFetchWorkRequest ||
                         access.kind == engine::AccessKind::kFetchReceiveEntry;
    if (access.kind == engine::AccessKind::kRead) {
      result.data = wire::pattern_payload(1, 0, access.length);
    } else if (fetches) {
      scratch.assign(access.length, std::byte{0});
      for (std::uint32_t i = 0; i < access.length; ++i) {
        const auto found = host.memory.find(access.address + i);
        if (found != host.memory.end()) scratch[i] = found->second;
      }
      result.data = wire::bytes_payload(scratch);
    } else if (access.kind == engine::AccessKind::kWriteCompletion) {
      for (std::uint32_t i = 0; i < access.data.length; ++i) {
        host.memory[access.address + i] = wire::payload_byte(access.data, i);
      }
    }
    return result;
  }
  void write_memory(std::uint32_t host, std::uint64_t address, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) hosts[host].memory[address + i] = bytes[i];
  }
  std::vector<std::byte> read_memory(std::uint32_t host, std::uint64_t address, std::uint32_t length) {
    std::vector<std::byte> bytes(length);
    for (std::uint32_t i = 0; i < length; ++i) bytes[i] = hosts[host].memory[address + i];
    return bytes;
  }

  /// Everything happens, time-outs included, until all engines are at rest.
  void run() {
    for (int round = 0; round < 100'000; ++round) {
      bool progress = false;
      for (std::uint32_t host = 0; host < hosts.size(); ++host) progress |= drain(host);
      if (progress) continue;
      TimePs next = kNever;
      for (Host& host : hosts) next = min(next, host.engine->deadline());
      if (next == kNever || next > now + seconds(10)) return;
      now = max(now, next);
      for (Host& host : hosts) host.engine->expire(now);
    }
    FAIL() << "the engines never come to rest";
  }
  /// What follows now, without waiting for any time-out.
  void settle() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t host = 0; host < hosts.size(); ++host) progress |= drain(host);
    }
  }
  bool drain(std::uint32_t at) {
    Host& host = hosts[at];
    bool progress = false;
    engine::Access access;
    while (host.engine->next_access(access)) {
      progress = true;
      host.accesses.push_back(access);
      if (answers) {
        host.engine->access_done(now, access.id, perform(host, access));
      } else {
        host.unanswered.push_back(access);
      }
    }
    wire::Packet packet;
    while (host.engine->transmit(now, 0, wire::kAllTrafficClasses, packet)) {
      progress = true;
      hosts[packet.destination.number].arrived.push_back(packet);
    }
    while (flies && !host.arrived.empty()) {
      progress = true;
      const wire::Packet next = host.arrived.front();
      host.arrived.pop_front();
      host.engine->receive(now, 0, next);
      pool.release(next.payload.buffer);
    }
    engine::QueueId queue = 0;
    verbs::Completion completion;
    while (host.engine->next_completed_queue(queue)) {
      while (host.engine->poll(queue, completion)) {
        progress = true;
        host.completions.push_back(completion);
        host.from.push_back(queue);
      }
    }
    verbs::LoadStoreResult load;
    while (host.engine->poll_load_store(load)) pool.release(load.data.buffer);
    engine::AsyncEvent event;
    while (host.engine->poll_event(event)) host.events.push_back(event);
    return progress;
  }
  /// Memory answers everything that it was asked meanwhile.
  void answer_all(std::uint32_t at) {
    Host& host = hosts[at];
    while (!host.unanswered.empty()) {
      const engine::Access access = host.unanswered.front();
      host.unanswered.pop_front();
      host.engine->access_done(now, access.id, perform(host, access));
    }
  }

  std::size_t count(std::uint32_t host, verbs::CompletionStatus status, verbs::CompletionKind kind) const {
    const auto& all = hosts[host].completions;
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& completion) {
      return completion.status == status && completion.kind == kind;
    }));
  }
  std::size_t count(std::uint32_t host, engine::AsyncEventKind kind) const {
    const auto& all = hosts[host].events;
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const auto& event) { return event.kind == kind; }));
  }

  TimePs now = nanoseconds(1);
  wire::PayloadPool pool;
  std::vector<Host> hosts;
  bool flies = true;    ///< Packets are received; else they wait in `arrived`.
  bool answers = true;  ///< Memory answers; else its accesses wait in `unanswered`.
  std::vector<std::byte> scratch;
};

}  // namespace wharf::contract
