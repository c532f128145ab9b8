// SPDX-License-Identifier: Apache-2.0
// UET engines with their memories joined by a lossy wire, one endpoint and one region each: where tests of
// the UET engine begin.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/engine_pair.h"

namespace wharf::uet {

/// For WireOptions::transform: `percent` per hundred of the data packets lose their payload on the way, as a
/// trimming switch does it, half of them at the last hop.
inline void trim_at(test::WireOptions& wire, double percent) {
  const Probability chance = Probability::from(percent / 100);
  wire.transform = [chance](wire::Packet& packet, bool damaged, RandomStream& random,
                            wire::PayloadPool& pool) {
    if (damaged) return false;
    const bool trimmable = packet.protocol == wire::Protocol::kUet &&
                           packet.traffic_class == wire::TrafficClass::kData && packet.payload.length > 0;
    if (!trimmable || !random.chance(chance)) return true;
    pool.release(packet.payload.buffer);
    packet.payload = {};
    packet.trim = random.below(2) == 0 ? wire::TrimState::kTrimmed : wire::TrimState::kTrimmedLastHop;
    packet.traffic_class = wire::TrafficClass::kControl;
    return true;
  };
}

/// Options with all wire faults at `percent` per hundred.
inline test::EnginePairOptions faulty(std::uint64_t seed, double percent) {
  test::EnginePairOptions options;
  options.seed = seed;
  options.wire.loss = Probability::from(percent / 100);
  options.wire.duplicate = Probability::from(percent / 100);
  options.wire.reorder = Probability::from(percent / 100);
  options.wire.corrupt = Probability::from(percent / 100);
  return options;
}

class World {
 public:
  static constexpr std::uint64_t kBase = 0x10000;
  static constexpr std::uint64_t kSize = 1U << 20U;
  static constexpr std::uint64_t kLocal = kBase + 0x1000;
  static constexpr std::uint64_t kRemote = kBase + kSize / 2;

  explicit World(UetConfig config = {}, test::EnginePairOptions options = {}, std::uint32_t queues = 1)
      : World(config, config, std::move(options), queues) {}

  World(const UetConfig& config0, const UetConfig& config1, test::EnginePairOptions options,
        std::uint32_t queues = 1)
      : pair_(prepared(std::move(options)), [&](std::uint32_t host, wire::PayloadPool& pool) {
          UetConfig own = host == 0 ? config0 : config1;
          own.host = {host};
          arenas_.emplace_back();
          return std::make_unique<UetEngine>(std::move(UetEngine::create(own, pool, arenas_.back()).value()));
        }) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t i = 0; i < queues; ++i) {
        queues_[host].push_back(pair_.engine(host).create_queue(now(), engine::QueueConfig{}).value());
      }
      tokens_[host] = pair_.engine(host).register_segment(now(), {.base = kBase, .length = kSize}).value();
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t i = 0; i < queues; ++i) {
        const auto blob = pair_.engine(1 - host).export_queue(queues_[1 - host][i]).value();
        peers_[host].push_back(pair_.engine(host).connect(now(), queues_[host][i], blob).value());
      }
    }
    for (std::uint32_t host = 0; host < 2; ++host) pair_.drain(host);
  }

  auto& pair() { return pair_; }
  UetEngine& engine(std::uint32_t host) { return pair_.engine(host); }
  TimePs now() const { return pair_.now(); }
  engine::QueueId queue(std::uint32_t host, std::size_t i = 0) const { return queues_[host][i]; }
  verbs::PeerId peer(std::uint32_t host, std::size_t i = 0) const { return peers_[host][i]; }
  verbs::SegmentToken token(std::uint32_t host) const { return tokens_[host]; }
  const UetCounters& counters(std::uint32_t host) { return engine(host).counters(); }

  /// A request of host `from` from or to kLocal, aimed at `offset` in the upper half of the other's memory.
  verbs::WorkRequest request(verbs::Verb verb, std::uint32_t length, std::uint64_t offset = 0,
                             std::uint32_t from = 0) {
    verbs::WorkRequest made;
    made.id = next_id_++;
    made.verb = verb;
    made.peer = peer(from);
    made.remote = {kRemote + offset, token(1 - from)};
    if (!verbs::is_atomic(verb)) {
      made.length = length;
      made.local_count = 1;
      made.local[0] = {kLocal, length};
    } else {
      made.width = static_cast<std::uint8_t>(length);
    }
    return made;
  }
  verbs::ReceiveRequest receive(std::uint64_t offset, std::uint32_t length) {
    verbs::ReceiveRequest made;
    made.id = next_id_++;
    made.local_count = 1;
    made.local[0] = {kRemote + offset, length};
    return made;
  }
  engine::PostStatus post(const verbs::WorkRequest& request,
                          engine::Submission submission = engine::Submission::kInHand,
                          std::uint32_t host = 0) {
    return pair_.post(host, queue(host), request, submission);
  }
  /// Posts on host 0's first queue, runs until nothing is under way, and gives the last completion of host 0.
  verbs::Completion finish(const verbs::WorkRequest& request) {
    EXPECT_EQ(post(request), engine::PostStatus::kOk);
    run();
    if (pair_.host(0).completions.empty()) {
      ADD_FAILURE() << "no completion; " << pair_.waiting_report();
      return {};
    }
    return pair_.host(0).completions.back();
  }
  void run() {
    EXPECT_EQ(pair_.run_until_idle(now() + seconds(1000)), test::RunEnd::kDone) << pair_.waiting_report();
  }
  /// Lets `time` pass.
  void pass(TimePs time) { pair_.run_to(now() + time); }

  const std::vector<verbs::Completion>& completions(std::uint32_t host) {
    return pair_.host(host).completions;
  }

  /// Packets that left a host, as seen on the wire. Starts with the first call of watch().
  void watch() {
    pair_.wire().options().drop_if = [this](const wire::Packet& packet) {
      sent.push_back(packet);
      return lose && lose(packet);
    };
  }
  std::vector<wire::Packet> sent;
  std::function<bool(const wire::Packet&)> lose;  ///< Which packets to lose, once watch() was called.
  std::vector<wire::Packet> sent_of(wire::UetPdsType type) const {
    std::vector<wire::Packet> some;
    for (const wire::Packet& packet : sent) {
      if (packet.uet.prologue.type == type) some.push_back(packet);
    }
    return some;
  }

  /// Bytes i -> (i * 7 + salt) mod 256 at `address`.
  void fill(std::uint32_t host, std::uint64_t address, std::uint32_t length, std::uint32_t salt = 1) {
    auto bytes = pair_.memory(host).at(address, length);
    for (std::uint32_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + salt + i / 251);
  }
  bool same(std::uint64_t host0_address, std::uint64_t host1_address, std::uint32_t length) {
    return std::memcmp(pair_.memory(0).at(host0_address, length).data(),
                       pair_.memory(1).at(host1_address, length).data(), length) == 0;
  }

 private:
  static test::EnginePairOptions prepared(test::EnginePairOptions options) {
    options.memory_base = kBase;
    options.memory_bytes = kSize;
    return options;
  }

  std::deque<Arena> arenas_;
  test::EnginePair<UetEngine> pair_;
  std::vector<engine::QueueId> queues_[2];
  std::vector<verbs::PeerId> peers_[2];
  verbs::SegmentToken tokens_[2];
  std::uint64_t next_id_ = 1;
};

}  // namespace wharf::uet
