// SPDX-License-Identifier: Apache-2.0
// Two or more engines of one kind, each with its own memory, joined by a lossy wire: the smallest world in
// which an engine lives. Unit tests, chaos tests and benchmarks use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/time.h"
#include "engine/contract.h"
#include "engine/driver/engine_driver.h"
#include "tests/support/delayed_memory.h"
#include "tests/support/instant_memory.h"
#include "tests/support/lossy_wire.h"
#include "verbs/completion.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::test {

struct EnginePairOptions {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 2;
  std::uint64_t memory_base = 0x10000;
  std::uint64_t memory_bytes = 1U << 20U;
  /// Accesses take a drawn time in this range and are reordered as their labels allow. Both zero: performed
  /// at once.
  TimePs access_shortest;
  TimePs access_longest;
  bool copy_reads = true;  ///< False: reads hand out the memory's own bytes (benchmarks).
  /// Time between two packets of one host; zero: as many as the engine gives.
  TimePs packet_interval;
  WireOptions wire;
};

/// Why run_until() came back.
enum class RunEnd : std::uint8_t {
  kDone,       ///< The condition holds.
  kIdle,       ///< Nothing is under way and no deadline is set: stalled, or finished without meeting the
               ///< condition.
  kTimeLimit,  ///< The time limit passed.
};

template <engine::Engine E>
class EnginePair {
 public:
  /// Makes the engine of host `host`; payload buffers come from `pool`.
  using MakeEngine = std::function<std::unique_ptr<E>(std::uint32_t host, wire::PayloadPool& pool)>;

  struct Host {
    Host(std::unique_ptr<E> its_engine, InstantMemory its_memory, DelayedMemory its_delays)
        : engine(std::move(its_engine)), memory(std::move(its_memory)), delayed(std::move(its_delays)) {}

    std::unique_ptr<E> engine;
    InstantMemory memory;
    DelayedMemory delayed;
    TimePs transmit_at;                          ///< No packet leaves earlier.
    bool transmit_blocked = false;               ///< The engine may have more to send at `transmit_at`.
    bool plugged = true;                         ///< False: a dead host; it neither hears nor says anything.
    std::vector<verbs::Completion> completions;  ///< Everything that poll() gave, in order.
    std::vector<verbs::LoadStoreResult> load_store_results;
    std::vector<engine::AsyncEvent> events;
  };

  EnginePair(EnginePairOptions options, const MakeEngine& make)
      : options_(std::move(options)),
        wire_(options_.wire, pool_, RandomStream(options_.seed, "engine_pair.wire")) {
    const RandomStream delays(options_.seed, "engine_pair.memory");
    for (std::uint32_t host = 0; host < options_.hosts; ++host) {
      hosts_.emplace_back(
          make(host, pool_), InstantMemory(options_.memory_base, options_.memory_bytes),
          DelayedMemory(options_.access_shortest, options_.access_longest, delays.substream(host)));
    }
  }

  E& engine(std::uint32_t host) { return *hosts_[host].engine; }
  InstantMemory& memory(std::uint32_t host) { return hosts_[host].memory; }
  Host& host(std::uint32_t host) { return hosts_[host]; }
  LossyWire& wire() { return wire_; }
  wire::PayloadPool& pool() { return pool_; }
  TimePs now() const { return now_; }

  /// Called with every completion as it is polled, after it was added to Host::completions.
  std::function<void(std::uint32_t host, const verbs::Completion& completion)> on_completion;
  /// Called with every result of the load/store path; the harness releases the data afterwards.
  std::function<void(std::uint32_t host, const verbs::LoadStoreResult& result)> on_load_store;

  /// Posts and drains.
  engine::PostStatus post(std::uint32_t host, engine::QueueId queue, const verbs::WorkRequest& request,
                          engine::Submission submission = engine::Submission::kInHand) {
    const engine::PostStatus status = engine(host).post(now_, queue, request, submission);
    drain(host);
    return status;
  }
  engine::PostStatus post_receive(std::uint32_t host, engine::QueueId queue,
                                  const verbs::ReceiveRequest& request) {
    const engine::PostStatus status = engine(host).post_receive(now_, queue, request);
    drain(host);
    return status;
  }
  engine::PostStatus issue(std::uint32_t host, const verbs::LoadStore& request) {
    const engine::PostStatus status = engine(host).issue(now_, request);
    drain(host);
    return status;
  }
  /// Hands `packet`, made by a test, to the engine of `host`, and drains.
  void inject(std::uint32_t host, const wire::Packet& packet) {
    engine(host).receive(now_, 0, packet);
    drain(host);
  }

  /// Takes out everything that the engine of `host` has to give, and performs it as far as it takes no time.
  void drain(std::uint32_t host) {
    Inside inside{*this, host};
    engine::EngineDriver(engine(host), inside, inside, inside).settle(now_);
  }

  /// Moves to the next instant at which something happens and lets it happen; false when nothing will.
  bool step() {
    const TimePs next = next_time();
    if (next == kNever) return false;
    now_ = max(now_, next);
    for (std::uint32_t number = 0; number < hosts_.size(); ++number) {
      Host& host = hosts_[number];
      while (host.delayed.next_time() <= now_) perform(host, host.delayed.take());
      if (host.engine->deadline() <= now_) host.engine->expire(now_);
      drain(number);
    }
    while (wire_.next_arrival() <= now_) deliver();
    return true;
  }

  /// Steps until `condition()` holds, nothing is left to happen, or `limit` (an instant) has passed.
  template <typename Condition>
  RunEnd run_until(Condition condition, TimePs limit = seconds(1000)) {
    while (!condition()) {
      const TimePs next = next_time();
      if (next == kNever) return RunEnd::kIdle;
      if (next > limit) return RunEnd::kTimeLimit;
      step();
    }
    return RunEnd::kDone;
  }
  /// Steps until nothing is under way.
  RunEnd run_until_idle(TimePs limit = seconds(1000)) {
    const RunEnd end = run_until([] { return false; }, limit);
    return end == RunEnd::kIdle ? RunEnd::kDone : end;
  }
  /// Lets time pass up to `instant`.
  void run_to(TimePs instant) {
    while (next_time() <= instant) step();
    now_ = max(now_, instant);
  }

  /// Who waits for what, for the message of a stalled run.
  std::string waiting_report() const {
    std::vector<std::string> lines;
    for (const Host& host : hosts_) host.engine->describe_waiting(lines);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }

 private:
  bool instant() const { return options_.access_longest == kTimeZero; }

  TimePs next_time() const {
    TimePs next = wire_.next_arrival();
    for (const Host& host : hosts_) {
      next = min(next, min(host.delayed.next_time(), host.engine->deadline()));
      if (host.transmit_blocked) next = min(next, host.transmit_at);
    }
    return next;
  }

  /// A host's memory, wire and user, as the engine's driver (engine/driver) sees them.
  struct Inside {
    EnginePair& pair;
    std::uint32_t number;

    bool begin(TimePs now, const engine::Access& access, engine::AccessResult& result) {
      if (pair.instant()) {
        result = host().memory.perform(access, pair.pool_, pair.options_.copy_reads);
        return true;
      }
      host().delayed.add(now, access);
      return false;
    }
    void reclaim(const engine::AccessResult& result) { pair.pool_.release(result.data.buffer); }

    wire::TrafficClassMask open(TimePs now) {
      host().transmit_blocked = now < host().transmit_at;
      return host().transmit_blocked ? wire::TrafficClassMask{0}
                                     : wire::TrafficClassMask{wire::kAllTrafficClasses};
    }
    void send(TimePs now, const wire::Packet& packet) {
      host().transmit_at = now + pair.options_.packet_interval;
      if (host().plugged) {
        pair.wire_.send(now, packet);
      } else {
        pair.pool_.release(packet.payload.buffer);
      }
    }

    void completed(TimePs, const verbs::Completion& completion) {
      host().completions.push_back(completion);
      if (pair.on_completion) pair.on_completion(number, completion);
    }
    void answered(TimePs, const verbs::LoadStoreResult& result) {
      host().load_store_results.push_back(result);
      if (pair.on_load_store) pair.on_load_store(number, result);
      pair.pool_.release(result.data.buffer);
    }
    void event(TimePs, const engine::AsyncEvent& event) { host().events.push_back(event); }
    /// The callbacks may have posted.
    bool gave(TimePs, engine::Taken taken) const { return taken.any(); }

   private:
    Host& host() { return pair.hosts_[number]; }
  };

  /// Memory has taken its time over `access`.
  void perform(Host& host, const engine::Access& access) {
    const engine::AccessResult result = host.memory.perform(access, pool_, options_.copy_reads);
    host.engine->access_done(now_, access.id, result);
    pool_.release(result.data.buffer);
  }

  void deliver() {
    wire::Packet packet;
    if (!wire_.take(packet)) return;
    const std::uint32_t target = packet.destination.number;
    if (target < hosts_.size() && hosts_[target].plugged) {
      hosts_[target].engine->receive(now_, 0, packet);
      drain(target);
    }
    pool_.release(packet.payload.buffer);
  }

  EnginePairOptions options_;
  wire::PayloadPool pool_;
  LossyWire wire_;
  std::vector<Host> hosts_;
  TimePs now_;
};

}  // namespace wharf::test
