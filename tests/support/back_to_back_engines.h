// SPDX-License-Identifier: Apache-2.0
// Two engines of one kind joined by function calls: memory answers at once, the wire takes no time, nothing
// here allocates in steady state and nothing is cleared that an engine fills. For benchmarks, for counting
// instructions and for counting allocations.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/unfilled.h"
#include "engine/contract.h"
#include "engine/driver/engine_driver.h"
#include "verbs/atomic_value.h"
#include "wire/frame.h"

namespace wharf::test {

/// Two hosts whose memory answers at once and whose wire has no delay. Host 0 asks, host 1 serves.
template <engine::Engine E>
class BackToBackEngines {
 public:
  static constexpr std::uint64_t kBase = 0x10000;
  /// Where host 1 is written and read; the other end of each operation is `kBase` of host 0.
  static constexpr std::uint64_t kTarget = kBase + 4096;
  /// Operations outstanding.
  static constexpr std::uint32_t kDepth = 64;
  /// Time between two turns.
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

  /// Runs `count` operations of 64 bytes (atomics: 8, adding 1), `kDepth` at a time. Aborts when one fails.
  void run(verbs::Verb verb, std::uint64_t count) {
    verbs::WorkRequest request;
    request.peer = peer_;
    request.verb = verb;
    request.length = verbs::is_atomic(verb) ? 8 : 64;
    request.local_count = 1;
    request.local[0] = {kBase, request.length};
    request.remote = {kTarget, token_[1]};
    request.operand[0] = 1;
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {kTarget, 64};
    std::uint64_t posted = 0;
    const std::uint64_t receives = verbs::consumes_receive_entry(verb) ? count : 0;
    completed_ = received_ = 0;
    while (completed_ < count || received_ < receives) {
      while (posted < count && posted - completed_ < kDepth) {
        if (receives != 0) require(engine_[1]->post_receive(now_, queue_[1], receive));
        request.id = posted++;
        require(engine_[0]->post(now_, queue_[0], request, engine::Submission::kInHand));
      }
      now_ += step;
      bool moved = drain(0);
      moved |= drain(1);
      const TimePs deadline = min(engine_[0]->deadline(), engine_[1]->deadline());
      // Nothing can happen before the next timer: an acknowledgement that waits for more packets, say.
      if (!moved) now_ = max(now_, deadline);
      if (deadline > now_) continue;
      for (auto& engine : engine_) {
        if (engine->deadline() <= now_) engine->expire(now_);
      }
    }
  }

  E& engine(std::uint32_t host) { return *engine_[host]; }
  /// The bytes of `host` from `address` on.
  std::byte* memory(std::uint32_t host, std::uint64_t address) {
    return memory_[host].data() + (address - kBase);
  }

  /// Lets the pool of payload buffers, which is not the engines', have `count` buffers of `bytes` in stock.
  void stock_pool(std::uint32_t count, std::uint32_t bytes) {
    std::vector<wire::BufferId> held;
    for (std::uint32_t i = 0; i < count; ++i) held.push_back(pool_.acquire(bytes));
    for (const wire::BufferId buffer : held) pool_.release(buffer);
  }

  std::uint64_t checksum() {
    std::uint64_t sum = 0;
    std::memcpy(&sum, memory(1, kTarget), 8);
    return sum;
  }

 private:
  static void require(engine::PostStatus status) {
    if (status != engine::PostStatus::kOk) std::abort();
  }

  /// True when there was anything.
  bool drain(std::uint32_t host) {
    Inside inside{*this, host};
    return engine::EngineDriver(*engine_[host], inside, inside, inside).settle(now_);
  }

  /// A host's memory, wire and user, as the engine's driver (engine/driver) sees them.
  struct Inside {
    BackToBackEngines& pair;
    std::uint32_t host;

    bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
      const bool has_bytes = access.kind == engine::AccessKind::kRead ||
                             access.kind == engine::AccessKind::kWrite ||
                             access.kind == engine::AccessKind::kAtomic;
      if (!has_bytes) return true;
      std::byte* at = pair.memory(host, access.address);
      if (access.kind == engine::AccessKind::kRead) {
        result.data = wire::bytes_payload(at, access.length);
      } else if (access.kind == engine::AccessKind::kWrite) {
        std::memcpy(at, access.data.bytes, access.length);
      } else {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        result.old_value[0] = word;
        word = verbs::atomic_value(access.atomic, word, access.operand[0], access.compare[0]);
        std::memcpy(at, &word, 8);
      }
      return true;
    }

    wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
    void send(TimePs, const wire::Packet& packet) {
      pair.deliver(1 - host, packet);
      pair.pool_.release(packet.payload.buffer);
    }

    void completed(TimePs, const verbs::Completion& completion) {
      if (!completion.ok()) std::abort();
      ++(host == 0 ? pair.completed_ : pair.received_);
    }
    void event(TimePs, const engine::AsyncEvent&) { std::abort(); }
  };

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
  std::uint64_t completed_ = 0;  ///< By host 0.
  std::uint64_t received_ = 0;   ///< By host 1.
  TimePs now_;
};

}  // namespace wharf::test
