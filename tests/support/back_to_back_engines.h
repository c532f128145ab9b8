// SPDX-License-Identifier: Apache-2.0
// Two engines of one kind joined by function calls: memory answers at once, the wire takes no time, nothing
// here allocates in steady state. For benchmarks and for counting allocations.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/contract.h"
#include "wire/frame.h"

namespace wharf::test {

/// Two hosts whose memory answers at once and whose wire has no delay.
template <engine::Engine E>
class BackToBackEngines {
 public:
  static constexpr std::uint64_t kBase = 0x10000;
  /// Operations outstanding.
  static constexpr std::uint32_t kDepth = 64;
  /// Time between two turns. Other than 1 ns: timers run, too.
  TimePs step = nanoseconds(1);

  /// `bytes`: every packet is encoded and decoded, checksum included. `make` makes the engine of a host.
  using Make = std::function<std::unique_ptr<E>(std::uint32_t host, wire::PayloadPool& pool)>;
  BackToBackEngines(bool bytes, const Make& make)
      : bytes_(bytes), memory_{std::vector<std::byte>(65536), std::vector<std::byte>(65536)} {
    engine::ExchangeBlob blob[2];
    for (std::uint32_t host = 0; host < 2; ++host) {
      engine_[host] = make(host, pool_);
      queue_[host] = engine_[host]->create_queue(now_, {}).value();
      token_[host] = engine_[host]->register_segment(now_, {.base = kBase, .length = 65536}).value();
      blob[host] = engine_[host]->export_queue(queue_[host]).value();
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      const verbs::PeerId peer = engine_[host]->connect(now_, queue_[host], blob[1 - host]).value();
      if (host == 0) peer_ = peer;
    }
  }

  /// Runs `count` operations, `kDepth` at a time.
  void run(verbs::Verb verb, std::uint64_t count) {
    verbs::WorkRequest request;
    request.peer = peer_;
    request.verb = verb;
    request.local_count = 1;
    request.local[0] = {kBase, 64};
    request.length = verbs::is_atomic(verb) ? 8 : 64;
    request.remote = {kBase + 4096, token_[1]};
    std::uint64_t posted = 0;
    completed_ = 0;
    while (completed_ < count) {
      while (posted < count && posted - completed_ < kDepth) {
        request.id = posted++;
        engine_[0]->post(now_, queue_[0], request, engine::Submission::kInHand);
      }
      now_ += step;
      drain(0);
      drain(1);
      if (step == nanoseconds(1)) continue;
      for (auto& engine : engine_) {
        if (engine->deadline() <= now_) engine->expire(now_);
      }
    }
  }

  /// Lets the pool of payload buffers, which is not the engines', have `count` buffers of `bytes` in stock.
  void stock_pool(std::uint32_t count, std::uint32_t bytes) {
    std::vector<wire::BufferId> held;
    for (std::uint32_t i = 0; i < count; ++i) held.push_back(pool_.acquire(bytes));
    for (const wire::BufferId buffer : held) pool_.release(buffer);
  }

  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    std::memcpy(&sum, memory_[1].data() + 4096, 8);
    return sum;
  }

 private:
  void drain(std::uint32_t host) {
    E& engine = *engine_[host];
    bool progress = true;
    while (progress) {
      progress = false;
      engine::Access access;
      while (engine.next_access(access)) {
        progress = true;
        engine::AccessResult result;
        std::byte* at = memory_[host].data() + (access.address - kBase);
        if (access.kind == engine::AccessKind::kRead) {
          result.data = wire::bytes_payload(at, access.length);
        } else if (access.kind == engine::AccessKind::kWrite) {
          std::memcpy(at, access.data.bytes, access.length);
        }
        engine.access_done(now_, access.id, result);
      }
      wire::Packet packet;
      while (engine.transmit(now_, 0, wire::kAllTrafficClasses, packet)) {
        progress = true;
        deliver(1 - host, packet);
      }
      engine::QueueId queue = 0;
      verbs::Completion completion;
      while (engine.next_completed_queue(queue)) {
        while (engine.poll(queue, completion)) {
          if (!completion.ok()) std::abort();
          ++completed_;
        }
      }
    }
  }

  void deliver(std::uint32_t host, const wire::Packet& packet) {
    if (!bytes_) {
      engine_[host]->receive(now_, 0, packet);
      return;
    }
    std::byte frame[512];
    const std::size_t length = wire::encode(packet, frame);
    wire::Packet decoded;
    if (wire::decode({frame, length}, wire::link_type(packet), decoded) != wire::DropReason::kNone)
      std::abort();
    engine_[host]->receive(now_, 0, decoded);
    drain(host);  // The payload lies in `frame`.
  }

  bool bytes_;
  wire::PayloadPool pool_;
  std::unique_ptr<E> engine_[2];
  engine::QueueId queue_[2] = {};
  verbs::PeerId peer_ = verbs::kNoPeer;
  verbs::SegmentToken token_[2];
  std::vector<std::byte> memory_[2];
  std::uint64_t completed_ = 0;
  TimePs now_;
};

}  // namespace wharf::test
