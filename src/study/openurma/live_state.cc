// SPDX-License-Identifier: Apache-2.0
#include "study/openurma/live_state.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/arena.h"
#include "engine/driver/engine_driver.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/ub_engine.h"

namespace wharf::study::openurma {
namespace {

constexpr std::uint64_t kMemoryAddress = 0x10000;
constexpr std::uint32_t kMessageBytes = 64;
constexpr std::uint32_t kSegmentBytes = 4096;

/// One host: an engine, its arena and the one line of memory that every segment of the host stands for.
template <typename E>
struct Host {
  static constexpr bool kUb = std::is_same_v<E, ub::UbEngine>;

  Result<void> make(std::uint32_t number, wire::PayloadPool& pool) {
    std::conditional_t<kUb, ub::UbConfig, roce::RoceConfig> config;
    config.host = {number};
    auto made = E::create(config, pool, arena);
    if (!made) return made.error();
    engine = std::make_unique<E>(*std::move(made));
    return {};
  }
  Result<void> add_segments(std::uint32_t count) {
    for (std::uint32_t each = 0; each < count; ++each) {
      auto made = engine->register_segment({}, {.base = kMemoryAddress, .length = kSegmentBytes});
      if (!made) return made.error();
      segments.push_back(*made);
    }
    return {};
  }
  Result<engine::QueueId> add_queue() { return engine->create_queue({}, {}); }

  Arena arena;
  std::unique_ptr<E> engine;
  std::vector<verbs::SegmentToken> segments;
  std::array<std::byte, kMessageBytes> line{};
};

/// Two queues that reach each other.
struct Pair {
  std::array<engine::QueueId, 2> queue{};
  std::array<verbs::PeerId, 2> peer{};
};

/// Memory, wire and user of a host, as its engine's driver sees them: each access reads or writes the line.
template <typename E>
struct Around {
  Host<E>& from;
  Host<E>& to;
  std::uint64_t& completed_operations;

  bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
    if (access.kind == engine::AccessKind::kRead)
      result.data = wire::bytes_payload(from.line.data(), access.length);
    return true;
  }
  wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
  void send(TimePs now, const wire::Packet& packet) { to.engine->receive(now, 0, packet); }
  void completed(TimePs, const verbs::Completion& completion) {
    completed_operations += completion.ok() ? 1U : 0U;
  }
};

/// Drains `from`, whose packets go to `to`; true if there was anything.
template <typename E>
bool drain(TimePs now, Host<E>& from, Host<E>& to, std::uint64_t& completed) {
  Around<E> around{from, to, completed};
  return engine::EngineDriver(*from.engine, around, around, around).settle(now);
}

/// A write and a read in each direction of each pair, all outstanding together.
template <typename E>
Result<void> talk(TimePs now, Host<E>& one, Host<E>& other, const std::vector<Pair>& pairs) {
  std::uint64_t completed = 0;
  for (std::uint32_t end = 0; end < 2; ++end) {
    Host<E>& source = end == 0 ? one : other;
    Host<E>& target = end == 0 ? other : one;
    for (std::size_t at = 0; at < pairs.size(); ++at) {
      for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead}) {
        verbs::WorkRequest request;
        request.verb = verb;
        request.peer = pairs[at].peer[end];
        request.length = kMessageBytes;
        request.local_count = 1;
        request.local[0] = {kMemoryAddress, kMessageBytes};
        request.remote = {kMemoryAddress, target.segments[at]};
        const auto status =
            source.engine->post(now, pairs[at].queue[end], request, engine::Submission::kInHand);
        WHARF_CHECK(status == engine::PostStatus::kOk);
      }
    }
  }
  for (bool any = true; any;) {
    any = drain(now, one, other, completed);
    any |= drain(now, other, one, completed);
  }
  WHARF_CHECK(completed == 4 * pairs.size());
  return {};
}

template <typename E>
Result<std::vector<MemoryUse>> measure(std::uint32_t endpoints, std::uint32_t hosts) {
  wire::PayloadPool pool;
  Host<E> subject;
  WHARF_TRY(subject.make(0, pool));
  WHARF_TRY(subject.add_segments(endpoints));
  std::vector<engine::QueueId> jetties;
  TimePs now;
  for (std::uint32_t number = 1; number <= hosts; ++number) {
    now += microseconds(1);
    Host<E> remote;
    WHARF_TRY(remote.make(number, pool));
    WHARF_TRY(remote.add_segments(endpoints));
    std::vector<Pair> pairs(endpoints);
    for (std::uint32_t at = 0; at < endpoints; ++at) {
      // A jetty serves all hosts, a queue pair one.
      if (!Host<E>::kUb || number == 1) {
        auto queue = subject.add_queue();
        if (!queue) return queue.error();
        jetties.push_back(*queue);
      }
      auto queue = remote.add_queue();
      if (!queue) return queue.error();
      pairs[at].queue = {Host<E>::kUb ? jetties[at] : jetties.back(), *queue};
      const std::array<E*, 2> ends{subject.engine.get(), remote.engine.get()};
      for (std::size_t end = 0; end < 2; ++end) {
        auto blob = ends[1 - end]->export_queue(pairs[at].queue[1 - end]);
        if (!blob) return blob.error();
        auto peer = ends[end]->connect(now, pairs[at].queue[end], *blob);
        if (!peer) return peer.error();
        pairs[at].peer[end] = *peer;
      }
    }
    WHARF_TRY(talk(now, subject, remote, pairs));
  }
  return subject.engine->memory_use();
}

}  // namespace

Result<std::vector<MemoryUse>> measure_live_state(wire::Protocol protocol, std::uint32_t endpoints,
                                                  std::uint32_t hosts) {
  return protocol == wire::Protocol::kUb ? measure<ub::UbEngine>(endpoints, hosts)
                                         : measure<roce::RoceEngine>(endpoints, hosts);
}

}  // namespace wharf::study::openurma
