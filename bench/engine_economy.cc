// SPDX-License-Identifier: Apache-2.0
// What an operation costs two engines back to back, and what a peer costs one of them in memory. Run by
// `./dev economy`, which counts the instructions of the first and makes the table of docs/engine-economy.md.
//
//   wharf_engine_economy protocols                 "NAME|TITLE" lines, in the order of the table
//   wharf_engine_economy run PROTOCOL VERB COUNT   that many operations, packets as structs
//   wharf_engine_economy memory PROTOCOL           "STATE BYTES" lines: bytes per queue and peer
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/memory_use.h"
#include "engine/driver/engine_driver.h"
#include "tests/support/every_back_to_back.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

// --- Instructions
// ---------------------------------------------------------------------------------------------------

/// Whether memory holds what `count` operations leave there.
template <typename World>
bool has_moved(World& world, verbs::Verb verb, std::uint64_t count) {
  if (!verbs::is_atomic(verb))
    return std::memcmp(world.memory(0, World::kBase), world.memory(1, World::kTarget), 64) == 0;
  std::uint64_t word;
  std::memcpy(&word, world.memory(1, World::kTarget), 8);
  return word == count;
}

template <typename World>
int run(World&& world, verbs::Verb verb, std::uint64_t count) {
  const bool reads = verb == verbs::Verb::kRead;
  if (!verbs::is_atomic(verb)) {
    std::memset(world.memory(reads ? 1 : 0, reads ? World::kTarget : World::kBase), 0x5a, 64);
  }
  world.run(verb, count);
  if (has_moved(world, verb, count)) return EXIT_SUCCESS;
  std::fprintf(stderr, "wharf_engine_economy: memory does not hold what was asked for\n");
  return EXIT_FAILURE;
}

// --- Memory
// ---------------------------------------------------------------------------------------------------------

/// What a peer has been used for.
enum class Use : std::uint8_t { kNothing, kLoads, kRequests };

constexpr std::uint64_t kAddress = 0x10000;

/// An engine with its arena, one segment and the memory behind it.
template <typename E, typename Config>
struct Host {
  Host(std::uint32_t number, wire::PayloadPool& pool) {
    Config config;
    config.host = {number};
    engine = std::make_unique<E>(std::move(E::create(config, pool, arena).value()));
    token = engine->register_segment({}, {.base = kAddress, .length = 4096}).value();
  }

  Arena arena;
  std::unique_ptr<E> engine;
  verbs::SegmentToken token;
  std::array<std::byte, 64> line{};
};

/// Memory, wire and user of a host, as its engine's driver sees them.
template <typename H>
struct Around {
  H& from;
  H& to;
  wire::PayloadPool& pool;

  bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
    if (access.kind == engine::AccessKind::kRead)
      result.data = wire::bytes_payload(from.line.data(), access.length);
    return true;
  }
  wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
  void send(TimePs now, const wire::Packet& packet) {
    to.engine->receive(now, 0, packet);
    pool.release(packet.payload.buffer);
  }
  void completed(TimePs, const verbs::Completion& completion) {
    if (!completion.ok()) std::abort();
  }
  void answered(TimePs, const verbs::LoadStoreResult& result) {
    if (result.status != verbs::CompletionStatus::kSuccess) std::abort();
    pool.release(result.data.buffer);
  }
};

/// True when `from` had anything to give.
template <typename H>
bool drain(TimePs now, H& from, H& to, wire::PayloadPool& pool) {
  Around<H> around{from, to, pool};
  return engine::EngineDriver(*from.engine, around, around, around).settle(now);
}

template <typename H>
void request(TimePs now, H& source, const H& target, engine::QueueId queue, verbs::PeerId peer, Use use) {
  engine::PostStatus status = engine::PostStatus::kOk;
  for (const bool reads : {false, true}) {
    if (use == Use::kLoads) {
      verbs::LoadStore request;
      request.verb = reads ? verbs::Verb::kLoad : verbs::Verb::kStore;
      request.peer = peer;
      request.remote = {kAddress, target.token};
      if (!reads) request.data = wire::bytes_payload(source.line);
      status = source.engine->issue(now, request);
    } else {
      verbs::WorkRequest request;
      request.verb = reads ? verbs::Verb::kRead : verbs::Verb::kWrite;
      request.peer = peer;
      request.length = 64;
      request.local_count = 1;
      request.local[0] = {kAddress, 64};
      request.remote = {kAddress, target.token};
      status = source.engine->post(now, queue, request, engine::Submission::kInHand);
    }
    if (status != engine::PostStatus::kOk) std::abort();
  }
}

/// Whose peers they are.
enum class Queues : std::uint8_t { kOneEach, kOneForAll };

/// Bytes that an engine holds with `peers` peers, each on a host of its own and used so.
template <typename E, typename Config>
std::uint64_t bytes_held(std::uint32_t peers, Queues queues, Use use) {
  using H = Host<E, Config>;
  wire::PayloadPool pool;
  H subject(0, pool);
  TimePs now;
  engine::QueueId queue = 0;
  for (std::uint32_t number = 1; number <= peers; ++number) {
    now += microseconds(1);
    H remote(number, pool);
    if (queues == Queues::kOneEach || number == 1) queue = subject.engine->create_queue(now, {}).value();
    const engine::QueueId far_queue = remote.engine->create_queue(now, {}).value();
    const engine::ExchangeBlob blob = subject.engine->export_queue(queue).value();
    const engine::ExchangeBlob far_blob = remote.engine->export_queue(far_queue).value();
    const verbs::PeerId peer = subject.engine->connect(now, queue, far_blob).value();
    const verbs::PeerId far_peer = remote.engine->connect(now, far_queue, blob).value();
    if (use == Use::kNothing) continue;
    request(now, subject, remote, queue, peer, use);
    request(now, remote, subject, far_queue, far_peer, use);
    for (bool any = true; any;) {
      any = drain(now, subject, remote, pool);
      any |= drain(now, remote, subject, pool);
    }
  }
  std::uint64_t bytes = 0;
  for (const MemoryUse& each : subject.engine->memory_use()) bytes += each.bytes;
  return bytes;
}

/// Whether a queue of this engine has one peer: always, or as it is configured.
template <typename E, typename Config>
bool serves_one_peer() {
  if constexpr (requires { Config::kOnePeerPerQueue; }) return Config::kOnePeerPerQueue;
  wire::PayloadPool pool;
  return Host<E, Config>(0, pool).engine->capabilities().queue_per_peer;
}

template <typename E, typename Config>
int memory() {
  if constexpr (requires(const E& engine) { engine.memory_use(); }) {
    // Tables grow by doubling: between two powers of two they grow by what a peer takes.
    const auto print = [](const char* state, std::uint32_t peers, Queues queues, Use use) {
      const std::uint64_t more =
          bytes_held<E, Config>(2 * peers, queues, use) - bytes_held<E, Config>(peers, queues, use);
      std::printf("%s %llu\n", state, static_cast<unsigned long long>(more / peers));
    };
    constexpr std::uint32_t kFew = 32;
    print("idle", kFew, Queues::kOneEach, Use::kNothing);
    if (E::supports(verbs::Verb::kLoad)) print("loads", kFew, Queues::kOneEach, Use::kLoads);
    print("requests", kFew, Queues::kOneEach, Use::kRequests);
    if (serves_one_peer<E, Config>()) return EXIT_SUCCESS;
    // Pools that all peers share have their full size by then.
    constexpr std::uint32_t kMany = 128;
    print("peer_idle", kMany, Queues::kOneForAll, Use::kNothing);
    if (E::supports(verbs::Verb::kLoad)) print("peer_loads", kMany, Queues::kOneForAll, Use::kLoads);
    print("peer_requests", kMany, Queues::kOneForAll, Use::kRequests);
  }
  return EXIT_SUCCESS;
}

int usage() {
  std::fprintf(stderr, "usage: wharf_engine_economy protocols | run PROTOCOL VERB COUNT | memory PROTOCOL\n");
  return 2;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view mode = count > 1 ? words[1] : "";
  if (mode == "protocols" && count == 2) {
    test::each_economy([](auto each) { std::printf("%s|%s\n", each.kName.data(), each.kTitle.data()); });
    return EXIT_SUCCESS;
  }
  if (count < 3) return usage();
  const std::string_view protocol = words[2];
  std::optional<int> result;
  if (mode == "memory" && count == 3) {
    test::each_economy([&](auto each) {
      using Each = decltype(each);
      if (protocol == Each::kName) result = memory<typename Each::Engine, typename Each::Config>();
    });
  } else if (mode == "run" && count == 5) {
    const std::optional<verbs::Verb> verb = verbs::parse_verb(words[3]);
    const std::uint64_t operations = std::strtoull(words[4], nullptr, 10);
    if (!verb || operations == 0) return usage();
    test::each_economy([&](auto each) {
      if (protocol == each.kName) result = run(each.world(), *verb, operations);
    });
  }
  return result ? *result : usage();
}
