// SPDX-License-Identifier: Apache-2.0
// Two UB engines back to back, connected both ways with one queue and one segment each: where tests of
// the UB engine begin.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "tests/support/engine_pair.h"

namespace wharf::ub {

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
  /// Where tests put data: local buffers in the lower half, remote targets in the upper half.
  static constexpr std::uint64_t kLocal = kBase + 0x1000;
  static constexpr std::uint64_t kRemote = kBase + kSize / 2;

  explicit World(UbConfig config = {}, test::EnginePairOptions options = {}, std::uint32_t queues = 1)
      : pair_(prepared(config, std::move(options)), [&](std::uint32_t host, wire::PayloadPool& pool) {
          UbConfig own = config;
          own.host = {host};
          own.context_region = kContextRegion;
          arenas_.emplace_back();
          return std::make_unique<UbEngine>(std::move(*UbEngine::create(own, pool, arenas_.back())));
        }) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t i = 0; i < queues; ++i) {
        queues_[host].push_back(*pair_.engine(host).create_queue(now(), engine::QueueConfig{}));
      }
      tokens_[host] = *pair_.engine(host).register_segment(
          now(), {.base = kBase, .length = kSize, .rights = verbs::kFullAccess, .token_value = 77 + host});
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (std::uint32_t i = 0; i < queues; ++i) {
        const auto blob = *pair_.engine(1 - host).export_queue(queues_[1 - host][i]);
        peers_[host].push_back(*pair_.engine(host).connect(now(), queues_[host][i], blob));
      }
    }
    for (std::uint32_t host = 0; host < 2; ++host) pair_.drain(host);
  }

  auto& pair() { return pair_; }
  UbEngine& engine(std::uint32_t host) { return pair_.engine(host); }
  TimePs now() const { return pair_.now(); }
  engine::QueueId queue(std::uint32_t host, std::size_t i = 0) const { return queues_[host][i]; }
  verbs::PeerId peer(std::uint32_t host, std::size_t i = 0) const { return peers_[host][i]; }
  verbs::SegmentToken token(std::uint32_t host) const { return tokens_[host]; }
  const UbCounters& counters(std::uint32_t host) { return engine(host).counters(); }

  /// A request of host 0 from or to kLocal, aimed at `offset` in the upper half of host 1's memory.
  verbs::WorkRequest request(verbs::Verb verb, std::uint32_t length, std::uint64_t offset = 0) {
    verbs::WorkRequest made;
    made.id = next_id_++;
    made.verb = verb;
    made.peer = peer(0);
    made.remote = {kRemote + offset, token(1)};
    if (!verbs::is_atomic(verb)) {
      made.length = length;
      made.local_count = 1;
      made.local[0] = {kLocal, length};
    } else {
      made.width = static_cast<std::uint8_t>(length);
    }
    return made;
  }
  /// Posts on host 0's first queue.
  engine::PostStatus post(const verbs::WorkRequest& request,
                          engine::Submission submission = engine::Submission::kInHand) {
    return pair_.post(0, queue(0), request, submission);
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
    EXPECT_EQ(pair_.run_until_idle(now() + seconds(100)), test::RunEnd::kDone) << pair_.waiting_report();
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
  static constexpr std::uint64_t kContextRegion = 0x4000'0000;

  static test::EnginePairOptions prepared(const UbConfig&, test::EnginePairOptions options) {
    options.memory_base = kBase;
    options.memory_bytes = kSize;
    return options;
  }

  std::deque<Arena> arenas_;
  test::EnginePair<UbEngine> pair_;
  std::vector<engine::QueueId> queues_[2];
  std::vector<verbs::PeerId> peers_[2];
  verbs::SegmentToken tokens_[2];
  std::uint64_t next_id_ = 1;
};

/// A jetty of host 1 whose receive queue and completions are shared.
struct SharedJetty {
  explicit SharedJetty(World& world) {
    UbEngine& engine = world.engine(1);
    receives = *engine.create_receive_queue(world.now(), {});
    engine::QueueConfig config;
    config.receive_queue = receives;
    config.receive_completions = *engine.create_completion_queue(world.now(), {});
    jetty = *engine.create_queue(world.now(), config);
  }
  engine::QueueId receives = 0;
  engine::QueueId jetty = 0;
};

}  // namespace wharf::ub
