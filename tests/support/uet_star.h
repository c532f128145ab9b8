// SPDX-License-Identifier: Apache-2.0
// UET engines around one output-queued switch that marks and trims: where congestion control meets a queue.
// Smaller than the simulator's fabric, and every number of it can be worked out by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/units.h"
#include "engine/driver/engine_driver.h"
#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

struct StarOptions {
  BitsPerSecond link = gigabits_per_second(100);  ///< Every link, both ways.
  TimePs delay = microseconds(2);                 ///< Of every link.
  /// Data in the queue of a port that marks a packet as it leaves, and that trims one as it comes; bytes.
  std::uint64_t mark_bytes = ~std::uint64_t{0};
  std::uint64_t trim_bytes = ~std::uint64_t{0};
  wire::TrimState trims_as = wire::TrimState::kTrimmedLastHop;
};

/// Hosts 0 to senders - 1 write to the last one.
class Star {
 public:
  static constexpr std::uint64_t kRegion = 0x10000;

  Star(const UetConfig& config, std::uint32_t senders, const StarOptions& options)
      : options_(options), hosts_(senders + 1), ports_(senders + 1) {
    for (std::uint32_t host = 0; host <= senders; ++host) {
      UetConfig own = config;
      own.host = {host};
      hosts_[host].engine =
          std::make_unique<UetEngine>(std::move(UetEngine::create(own, pool_, arena_).value()));
    }
    UetEngine& target = engine(senders);
    const engine::QueueId queue = target.create_queue(now_, {}).value();
    token_ = target.register_segment(now_, {.base = kRegion, .length = 1U << 30U}).value();
    const auto blob = target.export_queue(queue).value();
    for (std::uint32_t host = 0; host < senders; ++host) {
      hosts_[host].queue = engine(host).create_queue(now_, {}).value();
      hosts_[host].peer = engine(host).connect(now_, hosts_[host].queue, blob).value();
    }
  }

  UetEngine& engine(std::uint32_t host) { return *hosts_[host].engine; }
  const CongestionContext& context(std::uint32_t host) { return engine(host).parts().cms[0]; }
  TimePs now() const { return now_; }

  void write(std::uint32_t host, std::uint32_t length) {
    verbs::WorkRequest request;
    request.verb = verbs::Verb::kWrite;
    request.peer = hosts_[host].peer;
    request.length = length;
    request.inline_data = wire::pattern_payload(host, 0, length);
    request.remote = {kRegion, token_};
    ASSERT_EQ(engine(host).post(now_, hosts_[host].queue, request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
    serve(host);
  }
  /// Until every write has ended, or `limit`; whether it has. done() tells when each host's last one did.
  bool run(std::uint32_t writes, TimePs limit = seconds(1)) {
    while (completed_ < writes && step(limit)) {
    }
    return completed_ == writes;
  }
  /// Until `time`.
  void run_to(TimePs time) {
    while (step(time)) {
    }
    now_ = max(now_, time);
  }
  TimePs done(std::uint32_t host) const { return hosts_[host].done; }
  bool all_ok() const { return all_ok_; }

  std::uint64_t trimmed() const { return trimmed_; }
  std::uint64_t marked() const { return marked_; }
  std::uint64_t deepest() const { return deepest_; }  ///< Most data in the port of the last host, bytes.
  void reset_deepest() { deepest_ = 0; }
  /// Loses packets on their way into the switch.
  bool (*lose)(const wire::Packet&) = nullptr;
  std::vector<std::uint16_t> entropies;  ///< Of data packets, as they enter the switch.

 private:
  struct Host {
    std::unique_ptr<UetEngine> engine;
    engine::QueueId queue = 0;
    verbs::PeerId peer = verbs::kNoPeer;
    TimePs free_at{};  ///< Its link.
    bool waits = false;
    TimePs done{};
  };
  struct Port {
    std::deque<wire::Packet> data, control;
    std::uint64_t data_bytes = 0;
    TimePs free_at{};
  };
  enum class Kind { kAtSwitch, kAtHost, kPortFree, kHostFree };
  struct Event {
    TimePs at;
    std::uint64_t sequence;
    Kind kind;
    std::uint32_t where;
    wire::Packet packet;
    bool operator<(const Event& other) const {
      return std::pair(other.at, other.sequence) < std::pair(at, sequence);
    }
  };

  void push(TimePs at, Kind kind, std::uint32_t where, const wire::Packet& packet = {}) {
    events_.push_back({at, sequence_++, kind, where, packet});
    std::push_heap(events_.begin(), events_.end());
  }
  TimePs serialisation(const wire::Packet& packet) const {
    return transfer_time(Bytes{packet.header_bytes + packet.payload.length}, options_.link);
  }

  bool step(TimePs limit) {
    TimePs at = events_.empty() ? kNever : events_.front().at;
    for (const Host& host : hosts_) at = min(at, max(host.engine->deadline(), now_));
    if (at > limit) return false;
    now_ = at;
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
      if (engine(host).deadline() <= now_) {
        engine(host).expire(now_);
        serve(host);
      }
    }
    if (events_.empty() || events_.front().at > now_) return true;
    std::pop_heap(events_.begin(), events_.end());
    Event event = events_.back();
    events_.pop_back();
    switch (event.kind) {
      case Kind::kAtSwitch:
        enqueue(event.packet);
        break;
      case Kind::kAtHost:
        engine(event.where).receive(now_, 0, event.packet);
        serve(event.where);
        break;
      case Kind::kPortFree:
        forward(event.where);
        break;
      case Kind::kHostFree:
        hosts_[event.where].waits = false;
        serve(event.where);
        break;
    }
    return true;
  }

  /// Memory, link and user of a host, as the engine's driver (engine/driver) sees them.
  struct Inside {
    Star& star;
    std::uint32_t index;

    bool begin(TimePs, const engine::Access&, engine::AccessResult&) const { return true; }
    wire::TrafficClassMask open(TimePs) const {
      return host().waits ? wire::TrafficClassMask{0} : wire::TrafficClassMask{wire::kAllTrafficClasses};
    }
    void send(TimePs now, const wire::Packet& packet) {
      host().free_at = now + star.serialisation(packet);
      star.push(host().free_at + star.options_.delay, Kind::kAtSwitch, packet.destination.number, packet);
      star.push(host().free_at, Kind::kHostFree, index);
      host().waits = true;
    }
    void completed(TimePs now, const verbs::Completion& completion) {
      star.all_ok_ = star.all_ok_ && completion.ok();
      host().done = now;
      ++star.completed_;
    }

   private:
    Host& host() const { return star.hosts_[index]; }
  };

  void serve(std::uint32_t index) {
    Inside inside{*this, index};
    engine::EngineDriver(engine(index), inside, inside, inside).settle(now_);
  }

  void enqueue(wire::Packet& packet) {
    if (lose != nullptr && lose(packet)) return;
    const std::uint32_t to = packet.destination.number;
    Port& port = ports_[to];
    if (packet.traffic_class == wire::TrafficClass::kData && packet.payload.length > 0) {
      entropies.push_back(packet.entropy);
      const std::uint64_t bytes = packet.header_bytes + packet.payload.length;
      if (port.data_bytes + bytes > options_.trim_bytes) {
        ++trimmed_;
        packet.payload = {};
        packet.trim = options_.trims_as;
        packet.traffic_class = wire::TrafficClass::kControl;
        port.control.push_back(packet);
      } else {
        port.data_bytes += bytes;
        if (to + 1 == hosts_.size()) deepest_ = std::max(deepest_, port.data_bytes);
        port.data.push_back(packet);
      }
    } else {
      port.control.push_back(packet);
    }
    forward(to);
  }

  void forward(std::uint32_t to) {
    Port& port = ports_[to];
    if (port.free_at > now_ || (port.control.empty() && port.data.empty())) return;
    const bool control = !port.control.empty();
    std::deque<wire::Packet>& queue = control ? port.control : port.data;
    wire::Packet packet = queue.front();
    queue.pop_front();
    if (!control) {
      if (port.data_bytes > options_.mark_bytes) {
        packet.mark = wire::CongestionMark::kExperienced;
        ++marked_;
      }
      port.data_bytes -= packet.header_bytes + packet.payload.length;
    }
    port.free_at = now_ + serialisation(packet);
    push(port.free_at + options_.delay, Kind::kAtHost, to, packet);
    push(port.free_at, Kind::kPortFree, to);
  }

  StarOptions options_;
  Arena arena_;
  wire::PayloadPool pool_;
  std::vector<Host> hosts_;
  std::vector<Port> ports_;
  std::vector<Event> events_;  ///< A heap.
  std::uint64_t sequence_ = 0;
  TimePs now_{};
  verbs::SegmentToken token_;
  std::uint32_t completed_ = 0;
  bool all_ok_ = true;
  std::uint64_t trimmed_ = 0, marked_ = 0, deepest_ = 0;
};

}  // namespace wharf::uet
