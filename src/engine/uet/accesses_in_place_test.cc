// SPDX-License-Identifier: Apache-2.0
// perform(), which answers accesses where they lie, against next_access() and access_done(): two worlds run
// the same drawn program over the same drawn memory, which answers at once or later, in any order, in part or
// with a fault. Accesses, packets, completions and memory are the same.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/random.h"
#include "engine/uet/uet_engine.h"
#include "wire/frame.h"

namespace wharf::uet {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kBytes = 0x10000;

/// Two hosts and what their engines said. `in_place`: accesses are answered by perform().
struct Side {
  struct Host {
    Arena arena;
    std::unique_ptr<UetEngine> engine;
    std::vector<std::byte> memory = std::vector<std::byte>(kBytes);
    engine::QueueId queue = 0;
    verbs::PeerId peer = 0;
    verbs::SegmentToken token;
    std::deque<engine::Access> waiting;
  };

  Side(bool answers_in_place, std::uint64_t seed)
      : in_place(answers_in_place), random(seed, "uet.accesses_in_place.memory") {
    for (std::uint32_t number = 0; number < 2; ++number) {
      UetConfig config;
      config.host = {number};
      config.protection = wire::UetProtection::kCrc;
      config.max_rto_retries = kRtoRetriesForever;
      Host& host = hosts[number];
      host.engine =
          std::make_unique<UetEngine>(std::move(UetEngine::create(config, pool, host.arena).value()));
      host.queue = host.engine->create_queue(now, {}).value();
      host.token = host.engine->register_segment(now, {.base = kBase, .length = kBytes}).value();
      for (std::size_t i = 0; i < kBytes; ++i) host.memory[i] = static_cast<std::byte>(i * 7 + number);
    }
    for (Host& host : hosts) {
      const Host& other = &host == hosts.data() ? hosts[1] : hosts[0];
      host.peer =
          host.engine->connect(now, host.queue, other.engine->export_queue(other.queue).value()).value();
    }
  }
  ~Side() {
    for (Host& host : hosts) {
      for (const engine::Access& access : host.waiting) answer(host, access);
      host.engine.reset();
    }
    EXPECT_EQ(pool.in_use(), 0U);
  }

  /// What memory does with `access`; a write's data is there as long as the engine says.
  engine::AccessResult perform(Host& host, const engine::Access& access) {
    engine::AccessResult result;
    if (random.below(24) == 0) {
      result.status = engine::AccessStatus::kFault;
      return result;
    }
    if (access.kind == engine::AccessKind::kWriteCompletion) return result;
    const std::uint64_t at = access.address - kBase;
    if (at + access.length > kBytes) {
      result.status = engine::AccessStatus::kFault;
    } else if (access.kind == engine::AccessKind::kRead) {
      const std::uint32_t length = random.below(24) == 0 ? access.length / 2 : access.length;
      const wire::BufferId buffer = pool.acquire(access.length);
      std::memcpy(pool.data(buffer), host.memory.data() + at, length);
      result.data = wire::bytes_payload(pool.data(buffer), length, buffer);
    } else if (access.kind == engine::AccessKind::kWrite) {
      wire::fill(access.data, {host.memory.data() + at, access.length});
    } else if (access.kind == engine::AccessKind::kAtomic) {
      std::memcpy(result.old_value.data(), host.memory.data() + at, 8);
      const std::uint64_t sum = result.old_value[0] + access.operand[0];
      std::memcpy(host.memory.data() + at, &sum, 8);
    }
    return result;
  }

  void answer(Host& host, const engine::Access& access) {
    const engine::AccessResult result = perform(host, access);
    host.engine->access_done(now, access.id, result);
    pool.release(result.data.buffer);
  }

  /// As engine/driver has it.
  struct Memory {
    Side& side;
    Host& host;

    bool begin(const engine::Access& access, engine::AccessResult& result) {
      side.log.push_back(
          "access " + std::to_string(access.id) + " kind " + std::to_string(static_cast<int>(access.kind)) +
          " order " + std::to_string(static_cast<int>(access.order)) + " at " +
          std::to_string(access.address) + " of " + std::to_string(access.length) + " stream " +
          std::to_string(access.stream) + " queue " + std::to_string(access.queue) + " count " +
          std::to_string(access.count) + (access.at_target ? " for a peer" : ""));
      if (side.random.below(4) == 0) {
        host.waiting.push_back(access);
        return false;
      }
      result = side.perform(host, access);
      return true;
    }
    void told(const engine::AccessResult& result) { side.pool.release(result.data.buffer); }
  };

  bool take_accesses(Host& host) {
    Memory memory{*this, host};
    if (in_place) return host.engine->perform(now, memory);
    bool any = false;
    engine::Access access;
    while (host.engine->next_access(access)) {
      any = true;
      engine::AccessResult result;
      if (!memory.begin(access, result)) continue;
      host.engine->access_done(now, access.id, result);
      memory.told(result);
    }
    return any;
  }

  void drain() {
    for (bool any = true; any;) {
      any = false;
      for (Host& host : hosts) {
        any |= take_accesses(host);
        wire::Packet packet;
        while (host.engine->transmit(now, 0, wire::kAllTrafficClasses, packet)) {
          any = true;
          std::array<std::byte, 5000> frame;
          log.emplace_back(reinterpret_cast<const char*>(frame.data()), wire::encode(packet, frame));
          hosts[packet.destination.number].engine->receive(now, 0, packet);
          pool.release(packet.payload.buffer);
        }
        engine::QueueId queue = 0;
        verbs::Completion done;
        while (host.engine->next_completed_queue(queue)) {
          while (host.engine->poll(queue, done)) {
            log.push_back("end of " + std::to_string(done.id) + ": " + std::string(verbs::name(done.status)) +
                          " " + std::to_string(done.length) + " " + std::to_string(done.atomic_result[0]));
          }
        }
        engine::AsyncEvent event;
        while (host.engine->poll_event(event)) log.emplace_back(engine::name(event.kind));
      }
    }
  }

  /// An answer that has waited.
  void answer_one(std::uint32_t number, std::uint64_t which) {
    Host& host = hosts[number];
    if (host.waiting.empty()) return;
    const auto at = host.waiting.begin() + static_cast<std::ptrdiff_t>(which % host.waiting.size());
    const engine::Access access = *at;
    host.waiting.erase(at);
    answer(host, access);
  }

  void pass(TimePs time) {
    now += time;
    for (Host& host : hosts) {
      if (host.engine->deadline() <= now) host.engine->expire(now);
    }
  }

  bool in_place;
  RandomStream random;
  TimePs now;
  wire::PayloadPool pool;
  std::array<Host, 2> hosts;
  std::vector<std::string> log;
};

/// The same step in both.
void step(RandomStream& random, std::array<Side*, 2> sides, std::uint64_t id) {
  constexpr std::array kVerbs{verbs::Verb::kWrite,    verbs::Verb::kWrite,   verbs::Verb::kRead,
                              verbs::Verb::kFetchAdd, verbs::Verb::kSendImm, verbs::Verb::kWriteImm};
  const auto number = static_cast<std::uint32_t>(random.below(2));
  const std::uint64_t what = random.below(8);
  const std::uint64_t place = 8 * random.below(kBytes / 8 - 1024);
  const auto length = static_cast<std::uint32_t>(1 + random.below(random.below(8) == 0 ? 8000 : 200));
  const verbs::Verb verb = kVerbs[random.below(kVerbs.size())];
  for (Side* side : sides) {
    Side::Host& host = side->hosts[number];
    if (what < 4) {
      verbs::WorkRequest request;
      request.id = id;
      request.verb = verb;
      request.peer = host.peer;
      request.length = verbs::is_atomic(verb) ? 8 : length;
      request.local_count = 1;
      request.local[0] = {kBase + place, request.length};
      if (!verbs::is_send(verb)) request.remote = {place, side->hosts[1 - number].token};
      request.operand[0] = 5;
      host.engine->post(side->now, host.queue, request, engine::Submission::kInHand);
    } else if (what == 4) {
      verbs::ReceiveRequest receive;
      receive.id = id;
      receive.local_count = 1;
      receive.local[0] = {kBase + place, 4096};
      host.engine->post_receive(side->now, host.queue, receive);
    } else if (what < 7) {
      side->answer_one(number, place);
    } else {
      side->pass(microseconds(static_cast<std::int64_t>(length)));
    }
    side->drain();
  }
}

TEST(UetAccessesInPlace, AreThoseThatAreTakenOneByOne) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed, "uet.accesses_in_place");
    Side in_place(true, seed);
    Side one_by_one(false, seed);
    for (std::uint64_t id = 1; id <= 400; ++id) step(random, {&in_place, &one_by_one}, id);
    ASSERT_EQ(in_place.log, one_by_one.log);
    EXPECT_GT(in_place.log.size(), 400U);
    for (std::uint32_t host = 0; host < 2; ++host)
      EXPECT_EQ(in_place.hosts[host].memory, one_by_one.hosts[host].memory);
  }
}

}  // namespace
}  // namespace wharf::uet
