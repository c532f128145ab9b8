// SPDX-License-Identifier: Apache-2.0
// UB engines whose memory answers at once and whose packets a test carries one by one, marking, losing and
// repeating them as it likes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/congestion/caqm_packet.h"
#include "engine/driver/engine_driver.h"
#include "engine/ub/ub_engine.h"
#include "wire/frame.h"
#include "wire/payload_pool.h"

namespace wharf::ub {

/// Of the tests of congestion control.
inline constexpr std::uint32_t kMtu = 1024;

/// Patient timers, so that only what a test does happens.
inline UbConfig patient() {
  UbConfig config;
  config.mtu = kMtu;
  config.retransmission = {.base = seconds(1), .cap = seconds(1)};
  return config;
}

class CarriedHosts {
 public:
  explicit CarriedHosts(const UbConfig& config, std::size_t count = 2)
      : CarriedHosts(std::vector<UbConfig>(count, config)) {}
  /// One host per configuration.
  explicit CarriedHosts(std::vector<UbConfig> configs) : sides_(configs.size()) {
    for (std::uint32_t host = 0; host < configs.size(); ++host) {
      UbConfig& config = configs[host];
      config.host = {host};
      Side& side = sides_[host];
      side.engine = std::make_unique<UbEngine>(std::move(*UbEngine::create(config, pool_, side.arena)));
      side.queue = *side.engine->create_queue(now, {.send_depth = 512, .receive_depth = 4});
      side.token = *side.engine->register_segment(
          now, {.base = kBase, .length = kBytes, .rights = verbs::kFullAccess});
    }
    for (Side& side : sides_) {
      for (Side& other : sides_) {
        side.peers.push_back(
            &side == &other
                ? verbs::kNoPeer
                : *side.engine->connect(now, side.queue, *other.engine->export_queue(other.queue)));
      }
    }
  }
  ~CarriedHosts() {
    for (Side& side : sides_) {
      for (const wire::Packet& packet : side.sent) pool_.release(packet.payload.buffer);
      side.engine.reset();
    }
    EXPECT_EQ(pool_.in_use(), 0u);
  }
  CarriedHosts(const CarriedHosts&) = delete;
  CarriedHosts& operator=(const CarriedHosts&) = delete;

  TimePs now = nanoseconds(1);

  UbEngine& engine(std::uint32_t host) { return *sides_[host].engine; }
  const UbCounters& counters(std::uint32_t host) { return engine(host).counters(); }
  /// What `host` shows of its channel to the other of two.
  congestion::SenderTrace trace(std::uint32_t host = 0) { return engine(host).congestion_trace({1 - host}); }
  /// What `host` has sent and nobody has carried yet, oldest first.
  std::deque<wire::Packet>& sent(std::uint32_t host) { return sides_[host].sent; }
  std::uint32_t completed(std::uint32_t host = 0) const { return sides_[host].done; }

  void write(std::uint32_t length, std::uint32_t from = 0, std::uint32_t to = 1) {
    Side& side = sides_[from];
    verbs::WorkRequest request;
    request.verb = verbs::Verb::kWrite;
    request.peer = side.peers[to];
    request.length = length;
    request.local_count = 1;
    request.local[0] = {kBase, length};
    request.remote = {kBase, sides_[to].token};
    ASSERT_EQ(side.engine->post(now, side.queue, request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
    drain(from);
  }
  /// Takes out the oldest packet of `host`.
  wire::Packet take(std::uint32_t host) {
    EXPECT_FALSE(sent(host).empty());
    if (sent(host).empty()) return {};
    const wire::Packet packet = sent(host).front();
    sent(host).pop_front();
    return packet;
  }
  void lose(std::uint32_t host) { pool_.release(take(host).payload.buffer); }
  /// `packet` arrives. The test keeps its payload.
  void arrive(const wire::Packet& packet) {
    engine(packet.destination.number).receive(now, 0, packet);
    drain(packet.destination.number);
  }
  /// The oldest packet of `host` arrives.
  void carry(std::uint32_t host) {
    const wire::Packet packet = take(host);
    arrive(packet);
    pool_.release(packet.payload.buffer);
  }
  /// The same, marked by a switch.
  void carry_marked(std::uint32_t host) {
    wire::mark_congestion(sent(host).front());
    carry(host);
  }
  /// Lets time pass; whatever is due on the way happens.
  void pass_to(TimePs instant) {
    for (;;) {
      TimePs next = kNever;
      for (Side& side : sides_) next = min(next, side.engine->deadline());
      if (next > instant) break;
      now = max(now, next);
      for (std::uint32_t host = 0; host < sides_.size(); ++host) {
        engine(host).expire(now);
        drain(host);
      }
    }
    now = instant;
  }
  /// Carries everything, and lets time pass, until nothing is left to do. False: it does not end.
  bool finish() {
    for (int turns = 0; turns < 100'000; ++turns) {
      bool any = false;
      TimePs next = kNever;
      for (std::uint32_t host = 0; host < sides_.size(); ++host) {
        for (; !sent(host).empty(); any = true) carry(host);
        next = min(next, engine(host).deadline());
      }
      if (any) continue;
      if (next == kNever) return true;
      pass_to(max(now, next));
    }
    return false;
  }
  void drain(std::uint32_t host) {
    Side& side = sides_[host];
    engine::EngineDriver(*side.engine, side, side, side).settle(now);
  }

 private:
  static constexpr std::uint64_t kBase = 0x10000;
  static constexpr std::uint32_t kBytes = 1U << 22U;

  struct Side {
    // As the driver sees it: memory, wire and user.
    bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
      if (access.kind == engine::AccessKind::kRead) result.data = wire::pattern_payload(7, 0, access.length);
      return true;
    }
    wire::TrafficClassMask open(TimePs) { return wire::kAllTrafficClasses; }
    void send(TimePs, const wire::Packet& packet) { sent.push_back(packet); }
    void completed(TimePs, const verbs::Completion& completion) { done += completion.ok() ? 1U : 1'000'000U; }

    Arena arena;
    std::unique_ptr<UbEngine> engine;
    engine::QueueId queue = 0;
    std::vector<verbs::PeerId> peers;
    verbs::SegmentToken token;
    std::deque<wire::Packet> sent;
    std::uint32_t done = 0;
  };

  wire::PayloadPool pool_;
  std::vector<Side> sides_;
};

/// Bytes [at, at + count) of the frame of `packet`, in hexadecimal.
inline std::string frame_text(const wire::Packet& packet, std::size_t at, std::size_t count) {
  std::vector<std::byte> frame(wire::encoded_bytes(packet));
  wire::encode(packet, frame);
  std::string text;
  for (std::size_t i = at; i < at + count; ++i)
    text += fmt::format("{}{:02x}", i == at ? "" : " ", std::to_integer<unsigned>(frame[i]));
  return text;
}

}  // namespace wharf::ub
