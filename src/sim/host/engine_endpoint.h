// SPDX-License-Identifier: Apache-2.0
// An engine at the edge of a fabric: memory that answers at once with described data, and a driver that posts
// the flows and takes the completions. For studies of the network, where the host's inside takes no time; the
// full host is host.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/unfilled.h"
#include "engine/contract.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// Who uses an engine. Both inputs may post, post receives and issue.
template <typename D, typename E>
concept EndpointDriver = requires(D& driver, const D& observed, E& engine, TimePs now,
                                  const verbs::Completion& completion) {
  /// Called at deadline(), and at the start of time.
  driver.act(now, engine);
  driver.completed(now, engine, completion);
  /// When act() is wanted next; kNever when only a completion brings more.
  { observed.deadline() } -> std::same_as<TimePs>;
};

/// Engines whose records are not fetched ahead.
struct NoPrefetch {};

/// The engine is made beforehand, connected by its exchange blobs, and owned. `Ahead`: how to fetch what it
/// touches before its turn (uet/prefetch.h), or NoPrefetch.
template <engine::Engine E, EndpointDriver<E> Driver, typename Ahead = NoPrefetch>
class EngineEndpoint {
 public:
  using Prefetch = Ahead;

  /// `host` selects the pattern of the memory's content; `payloads` is the engine's pool.
  EngineEndpoint(std::uint32_t host, E engine, Driver driver, wire::PayloadPool& payloads)
      : engine_(std::move(engine)), payloads_(&payloads), driver_(std::move(driver)), host_(host) {
    refresh();
  }

  E& engine() { return engine_; }
  const E& engine() const { return engine_; }
  Driver& driver() { return driver_; }

  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& packet) {
    for (;;) {
      const bool sent = engine_.transmit(now, port, allowed, packet);
      // What left may have made room for reading more payload, which in turn may be what is to leave next.
      const bool moved = perform_accesses(now);
      if (sent) {
        if constexpr (requires { driver_.sent(packet); }) driver_.sent(packet);
        if (take_completions(now)) {
          settle(now);
        } else {
          note_deadline();
        }
        return true;
      }
      if (!moved) {
        note_deadline();
        return false;
      }
    }
  }

  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) {
    if constexpr (requires { driver_.arrived(packet); }) driver_.arrived(packet);
    engine_.receive(now, port, packet);
    settle(now);
  }

  void expire(TimePs now) {
    if (engine_.deadline() <= now) engine_.expire(now);
    if (driver_deadline_ <= now) {
      driver_.act(now, engine_);
      driver_deadline_ = driver_.deadline();
    }
    settle(now);
  }

  /// The driver looks at the engine for whoever watches it.
  void sample(TimePs now) {
    if constexpr (requires { driver_.sample(now, engine_); }) driver_.sample(now, engine_);
  }

  TimePs deadline() const { return deadline_; }
  /// To be called when the driver has been given something to do from outside.
  void refresh() {
    driver_deadline_ = driver_.deadline();
    note_deadline();
  }

 private:
  void settle(TimePs now) {
    do {
      perform_accesses(now);
    } while (take_completions(now));
    note_deadline();
  }

  void note_deadline() { deadline_ = min(engine_.deadline(), driver_deadline_); }

  bool perform_accesses(TimePs now) {
    Unfilled<engine::Access> place;
    bool any = false;
    while (engine_.next_access(place.value)) {
      const engine::Access& access = place.value;
      any = true;
      engine::AccessResult result;
      wire::BufferId lent = wire::kNoBuffer;
      switch (access.kind) {
        case engine::AccessKind::kRead:
          result.data = wire::pattern_payload(host_, access.address, access.length);
          break;
        case engine::AccessKind::kFetchContext:
          lent = fetch_context(access, result);
          break;
        case engine::AccessKind::kWriteContext: {
          std::vector<std::byte>& record = contexts_[access.address];
          record.resize(access.length);
          wire::fill(access.data, record);
          break;
        }
        case engine::AccessKind::kWrite:
          if constexpr (requires { driver_.written(now, access); }) driver_.written(now, access);
          break;
        case engine::AccessKind::kAtomic:
        case engine::AccessKind::kFetchWorkRequest:
        case engine::AccessKind::kFetchReceiveEntry:
        case engine::AccessKind::kWriteCompletion:
          break;
      }
      engine_.access_done(now, access.id, result);
      payloads_->release(lent);
    }
    return any;
  }

  wire::BufferId fetch_context(const engine::Access& access, engine::AccessResult& result) {
    const auto found = contexts_.find(access.address);
    WHARF_CHECK(found != contexts_.end() && found->second.size() == access.length);
    const wire::BufferId buffer = payloads_->acquire(access.length);
    std::memcpy(payloads_->data(buffer), found->second.data(), access.length);
    result.data = wire::bytes_payload(payloads_->data(buffer), access.length, buffer);
    return buffer;
  }

  bool take_completions(TimePs now) {
    engine::QueueId queue = 0;
    Unfilled<verbs::Completion> completion;
    bool any = false;
    while (engine_.next_completed_queue(queue)) {
      while (engine_.poll(queue, completion.value)) {
        any = true;
        driver_.completed(now, engine_, completion.value);
      }
    }
    if (E::supports(verbs::Verb::kLoad)) {
      verbs::LoadStoreResult result;
      while (engine_.poll_load_store(result)) payloads_->release(result.data.buffer);
    }
    Unfilled<engine::AsyncEvent> event;
    while (engine_.poll_event(event.value)) ++events_;
    if (any) driver_deadline_ = driver_.deadline();
    return any;
  }

  E engine_;
  TimePs deadline_{};  ///< Asked for far more often than it changes.
  TimePs driver_deadline_{};
  wire::PayloadPool* payloads_;
  Driver driver_;
  std::uint32_t host_;
  std::uint64_t events_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> contexts_;
};

}  // namespace wharf::sim
