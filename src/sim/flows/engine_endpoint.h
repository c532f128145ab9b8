// SPDX-License-Identifier: Apache-2.0
// An engine at the edge of a fabric: memory that answers at once with described data, and a driver that posts
// the flows and takes the completions. For studies of the network, where the host's inside takes no time; the
// full host is host.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "engine/contract.h"
#include "engine/driver/described_memory.h"
#include "engine/driver/engine_driver.h"
#include "sim/protocols/protocol.h"
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

/// The engine is made beforehand, connected by its exchange blobs, and owned. `Ahead`: how to fetch what it
/// touches before its turn, or NoPrefetch.
template <engine::Engine E, EndpointDriver<E> Driver, typename Ahead = NoPrefetch>
class EngineEndpoint {
 public:
  using Prefetch = Ahead;

  /// `host` selects the pattern of the memory's content; `payloads` is the engine's pool.
  EngineEndpoint(std::uint32_t host, E engine, Driver driver, wire::PayloadPool& payloads)
      : engine_(std::move(engine)),
        payloads_(&payloads),
        driver_(std::move(driver)),
        memory_(host, payloads) {
    refresh();
  }

  E& engine() { return engine_; }
  const E& engine() const { return engine_; }
  Driver& driver() { return driver_; }

  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& packet) {
    Inside inside(*this);
    return drive(inside).pull(now, port, allowed, packet);
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
  /// The memory and the user of the engine, as its driver (engine/driver) sees them. The fabric fetches the
  /// packets.
  struct Inside : engine::PullingWire {
    explicit Inside(EngineEndpoint& its_endpoint) : endpoint(its_endpoint) {}
    EngineEndpoint& endpoint;

    bool begin(TimePs now, const engine::Access& access, engine::AccessResult& result) {
      if constexpr (requires { endpoint.driver_.written(now, access); }) {
        if (access.kind == engine::AccessKind::kWrite) endpoint.driver_.written(now, access);
      }
      return endpoint.memory_.begin(now, access, result);
    }
    void reclaim(const engine::AccessResult& result) { endpoint.memory_.reclaim(result); }

    void completed(TimePs now, const verbs::Completion& completion) {
      endpoint.driver_.completed(now, endpoint.engine_, completion);
    }
    void answered(TimePs, const verbs::LoadStoreResult& result) {
      endpoint.payloads_->release(result.data.buffer);
    }
    void event(TimePs, const engine::AsyncEvent&) { ++endpoint.events_; }
    bool gave(TimePs, engine::Taken taken) {
      if (taken.completions) endpoint.driver_deadline_ = endpoint.driver_.deadline();
      return taken.completions;
    }
    void sent(const wire::Packet& packet) {
      if constexpr (requires { endpoint.driver_.sent(packet); }) endpoint.driver_.sent(packet);
    }
    void wake_at(TimePs, TimePs deadline) { endpoint.deadline_ = min(deadline, endpoint.driver_deadline_); }
  };

  auto drive(Inside& inside) {
    return engine::EngineDriver<E, Inside, engine::PullingWire, Inside>(engine_, inside, inside, inside);
  }
  void settle(TimePs now) {
    Inside inside(*this);
    drive(inside).settle(now);
  }
  void note_deadline() { deadline_ = min(engine_.deadline(), driver_deadline_); }

  E engine_;
  TimePs deadline_{};  ///< Asked for far more often than it changes.
  TimePs driver_deadline_{};
  wire::PayloadPool* payloads_;
  Driver driver_;
  engine::DescribedMemory memory_;
  std::uint64_t events_ = 0;
};

}  // namespace wharf::sim
