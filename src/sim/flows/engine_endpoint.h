// SPDX-License-Identifier: Apache-2.0
// An engine at the edge of a fabric: memory that answers at once with described data, and a driver that posts
// the flows and takes the completions. For studies of the network, where the host's inside takes no time; the
// full host is host.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/contract.h"
#include "engine/driver/described_memory.h"
#include "engine/driver/engine_driver.h"
#include "sim/protocols/protocol.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// The engines of a host: one, or one for each of its ports.
template <typename E>
class PortEngines {
 public:
  PortEngines(E& first, std::vector<E>& others) : first_(first), others_(others) {}
  /// Of a port; a host with one engine has that for all of them.
  E& of(std::uint32_t port) const { return port == 0 || others_.empty() ? first_ : others_[port - 1]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(others_.size()) + 1; }

 private:
  E& first_;
  std::vector<E>& others_;
};

/// Who uses the engines. Both inputs may post, post receives and issue.
template <typename D, typename E>
concept EndpointDriver = requires(D& driver, const D& observed, const PortEngines<E>& engines, TimePs now,
                                  const verbs::Completion& completion) {
  /// Called at deadline(), and at the start of time.
  driver.act(now, engines);
  driver.completed(now, engines, completion);
  /// When act() is wanted next; kNever when only a completion brings more.
  { observed.deadline() } -> std::same_as<TimePs>;
};

/// The engine is made beforehand, connected by its exchange blobs, and owned. `Ahead`: how to fetch what it
/// touches before its turn, or NoPrefetch.
///
/// A host with several ports whose flows keep to one port each has an engine for each port, as if each port
/// were an interface of its own: what waits for one port then holds nothing up that another may send. The
/// engine of port p of host h out of n has the address p * n + h.
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

  /// Before anything happens: engines of ports 1 and up, where each port has one. `hosts`: of the fabric.
  void add_ports(std::vector<E> others, std::uint32_t hosts) {
    others_ = std::move(others);
    hosts_ = hosts;
    refresh();
  }

  E& engine() { return engine_; }
  const E& engine() const { return engine_; }
  PortEngines<E> engines() { return {engine_, others_}; }

  /// So many bytes that have arrived at any port wait for the host's memory.
  void note_backlog(std::uint64_t bytes) requires requires(E& engine) { engine.note_backlog(bytes); }
  {
    engine_.note_backlog(bytes);
    for (E& other : others_) other.note_backlog(bytes);
  }

  /// Where `packet` goes: the host, and the port there; without engines by port that of the same number.
  std::uint32_t host_of(const wire::Packet& packet) const {
    const std::uint32_t address = packet.destination.number;
    if (hosts_ == 0) [[likely]]
      return address;
    return address % hosts_;
  }
  std::uint32_t arrival_port(const wire::Packet& packet, std::uint32_t port) const {
    if (hosts_ == 0) [[likely]]
      return port;
    return packet.destination.number / hosts_;
  }
  Driver& driver() { return driver_; }

  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& packet) {
    Inside inside(*this);
    if (others_.empty()) [[likely]]
      return drive(inside, engine_).pull(now, port, allowed, packet);
    const bool given = drive(inside, engines().of(port)).pull(now, 0, allowed, packet);
    if (given) settle_all(now);
    note_deadline();
    return given;
  }

  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) {
    if constexpr (requires { driver_.arrived(packet); }) driver_.arrived(packet);
    if (others_.empty()) [[likely]]
      engine_.receive(now, port, packet);
    else
      engines().of(packet.destination.number / hosts_).receive(now, 0, packet);
    settle(now);
  }

  void expire(TimePs now) {
    if (engine_.deadline() <= now) engine_.expire(now);
    for (E& other : others_) {
      if (other.deadline() <= now) other.expire(now);
    }
    if (driver_deadline_ <= now) {
      driver_.act(now, engines());
      driver_deadline_ = driver_.deadline();
    }
    settle(now);
  }

  /// The driver looks at the engine for whoever watches it.
  void sample(TimePs now) {
    if constexpr (requires { driver_.sample(now, engines()); }) driver_.sample(now, engines());
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
      endpoint.driver_.completed(now, endpoint.engines(), completion);
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

  auto drive(Inside& inside, E& engine) {
    return engine::EngineDriver<E, Inside, engine::PullingWire, Inside>(engine, inside, inside, inside);
  }
  void settle(TimePs now) {
    if (!others_.empty()) [[unlikely]] {
      settle_all(now);
      return;
    }
    Inside inside(*this);
    drive(inside, engine_).settle(now);
  }
  /// What one engine gave may have given another something to do.
  void settle_all(TimePs now) {
    Inside inside(*this);
    for (bool any = true; any;) {
      any = drive(inside, engine_).settle(now);
      for (E& other : others_) any |= drive(inside, other).settle(now);
    }
    note_deadline();
  }
  void note_deadline() {
    deadline_ = min(engine_.deadline(), driver_deadline_);
    for (const E& other : others_) deadline_ = min(deadline_, other.deadline());
  }

  E engine_;
  std::vector<E> others_;    ///< Of ports 1 and up, where each port has an engine.
  std::uint32_t hosts_ = 0;  ///< Then of the fabric, else 0.
  TimePs deadline_{};        ///< Asked for far more often than it changes.
  TimePs driver_deadline_{};
  wire::PayloadPool* payloads_;
  Driver driver_;
  engine::DescribedMemory memory_;
  std::uint64_t events_ = 0;
};

}  // namespace wharf::sim
