// SPDX-License-Identifier: Apache-2.0
// One live host: a protocol engine on a UDP socket, the memory of this process, and the programs that use it.
// Everything runs on the thread that calls step().
#pragma once

#include <coroutine>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "engine/contract.h"
#include "live/reactor/idle_policy.h"
#include "live/reactor/live_clock.h"
#include "live/reactor/live_core.h"
#include "live/udp/datagram.h"
#include "live/udp/direct_memory.h"
#include "live/udp/udp_socket.h"
#include "verbs/completion.h"
#include "wire/payload_pool.h"

namespace wharf::live {

/// Faults injected into what this host receives, for tests of the real thing.
struct FaultConfig {
  Probability loss;
  Probability duplication;
  std::uint64_t seed = 1;
};

/// What a live host counted beside its engine's own counters.
struct LiveCounters {
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t unknown_sender = 0;
  std::uint64_t undecodable = 0;
  std::uint64_t injected_losses = 0;
};

/// An operation in flight: what an awaiting program left behind. Lives in the coroutine's frame.
struct PendingOperation {
  std::coroutine_handle<> handle;
  verbs::Completion completion;
  PendingOperation* next = nullptr;
};

template <engine::Engine E>
class LiveHost {
 public:
  /// `socket` and `clock` are this host's alone; `engine` was created with `pool`.
  LiveHost(E engine, wire::PayloadPool& pool, UdpSocket socket, const LiveClock& clock, std::uint64_t seed,
           const FaultConfig& faults, wire::Protocol protocol)
      : engine_(std::move(engine)),
        pool_(pool),
        socket_(std::move(socket)),
        clock_(clock),
        core_(clock, seed),
        faults_(faults),
        fault_stream_(faults.seed, "live.faults"),
        protocol_(protocol) {}
  LiveHost(const LiveHost&) = delete;
  LiveHost& operator=(const LiveHost&) = delete;

  E& engine() { return engine_; }
  LiveCore& core() { return core_; }
  UdpSocket& socket() { return socket_; }
  TimePs now() const { return clock_.now(); }
  const LiveCounters& counters() const { return counters_; }

  /// Host `number` is reached at `endpoint`. Control path.
  void add_host(std::uint32_t number, const UdpEndpoint& endpoint) {
    if (hosts_.size() <= number) hosts_.resize(number + 1);
    hosts_[number] = endpoint;
  }

  /// One round: what has arrived, what is due, what may leave. True if anything happened.
  bool step() {
    bool worked = take_datagrams();
    TimePs now = clock_.now();
    if (engine_.deadline() <= now) {
      engine_.expire(now);
      worked = true;
    }
    worked |= core_.wake(now);
    drain();
    return worked;
  }
  /// When step() is needed even if nothing arrives.
  TimePs deadline() const { return min(engine_.deadline(), core_.next_wake()); }

  /// Starts `request` for a program; its completion resumes `operation.handle`. False: it ended at once and
  /// the completion says how.
  bool start(verbs::QueueId queue, verbs::WorkRequest request, PendingOperation& operation) {
    request.id = reinterpret_cast<std::uint64_t>(&operation);
    const engine::PostStatus status = engine_.post(clock_.now(), queue, request, engine::Submission::kInHand);
    if (status == engine::PostStatus::kOk) {
      posted_ = true;
      return true;
    }
    if (status == engine::PostStatus::kQueueFull) {
      waiting_.push_back({queue, request, &operation});
      return true;
    }
    operation.completion = {};
    operation.completion.verb = request.verb;
    operation.completion.status = status == engine::PostStatus::kUnsupported
                                      ? verbs::CompletionStatus::kUnsupportedOpcode
                                      : verbs::CompletionStatus::kLocalOperation;
    return false;
  }

  /// Posts a receive entry that resumes `operation.handle` when a message lands in it.
  bool start_receive(verbs::QueueId queue, verbs::ReceiveRequest request, PendingOperation& operation) {
    request.id = reinterpret_cast<std::uint64_t>(&operation);
    if (engine_.post_receive(clock_.now(), queue, request) == engine::PostStatus::kOk) return true;
    operation.completion = {};
    operation.completion.status = verbs::CompletionStatus::kLocalOperation;
    return false;
  }

  /// Does everything that the engine asks for until it asks for nothing.
  void drain() {
    bool again = true;
    while (again) {
      again = false;
      posted_ = false;
      engine::Access access;
      while (engine_.next_access(access)) {
        engine_.access_done(clock_.now(), access.id, perform(access));
      }
      wire::Packet packet;
      while (engine_.transmit(clock_.now(), 0, wire::kAllTrafficClasses, packet)) send(packet);
      again |= complete();
      again |= posted_;
    }
    socket_.flush();
  }

 private:
  struct Waiting {
    verbs::QueueId queue;
    verbs::WorkRequest request;
    PendingOperation* operation;
  };

  bool take_datagrams() {
    const std::size_t count = socket_.receive();
    for (std::size_t index = 0; index < count; ++index) {
      const UdpSocket::Datagram& datagram = socket_.datagram(index);
      ++counters_.datagrams_received;
      if (fault_stream_.chance(faults_.loss)) {
        ++counters_.injected_losses;
        continue;
      }
      take(datagram);
      if (fault_stream_.chance(faults_.duplication)) take(datagram);
    }
    return count != 0;
  }

  void take(const UdpSocket::Datagram& datagram) {
    const std::uint32_t host = host_of(datagram.source);
    if (host == wire::kNoHost.number) {
      ++counters_.unknown_sender;
      return;
    }
    if (datagram.bytes.size() > wire::PayloadPool::kLargestBytes) {
      ++counters_.undecodable;
      return;
    }
    // The socket reuses its buffers, while the engine may keep the payload: copy it into the pool.
    const wire::BufferId buffer = pool_.acquire(static_cast<std::uint32_t>(datagram.bytes.size()));
    const std::span<std::byte> bytes(pool_.data(buffer), datagram.bytes.size());
    std::copy(datagram.bytes.begin(), datagram.bytes.end(), bytes.begin());
    wire::Packet packet;
    if (decode_datagram(protocol_, bytes, datagram.source, socket_.local(), packet) ==
        wire::DropReason::kNone) {
      packet.source = {host};
      packet.payload.buffer = packet.payload.length != 0 ? buffer : wire::kNoBuffer;
      engine_.receive(clock_.now(), 0, packet);
      // Accesses are performed before the next datagram so that the engine's queues stay short.
      engine::Access access;
      while (engine_.next_access(access)) engine_.access_done(clock_.now(), access.id, perform(access));
    } else {
      ++counters_.undecodable;
    }
    pool_.release(buffer);
  }

  void send(const wire::Packet& packet) {
    const std::uint32_t host = packet.destination.number;
    if (host < hosts_.size() && hosts_[host].port != 0) {
      const std::span<std::byte> room = socket_.queue(hosts_[host]);
      socket_.set_queued_length(encode_datagram(packet, socket_.local(), hosts_[host], room));
      ++counters_.datagrams_sent;
    }
    pool_.release(packet.payload.buffer);
  }

  /// Hands completions to their programs; true if there was one.
  bool complete() {
    bool any = false;
    verbs::QueueId queue = 0;
    while (engine_.next_completed_queue(queue)) {
      verbs::Completion completion;
      while (engine_.poll(queue, completion)) {
        any = true;
        auto* operation = reinterpret_cast<PendingOperation*>(completion.id);
        operation->completion = completion;
        operation->handle.resume();
      }
    }
    if (any) post_waiting();
    return any;
  }

  void post_waiting() {
    std::size_t kept = 0;
    for (std::size_t index = 0; index < waiting_.size(); ++index) {
      const Waiting& entry = waiting_[index];
      if (engine_.post(clock_.now(), entry.queue, entry.request, engine::Submission::kInHand) ==
          engine::PostStatus::kOk) {
        posted_ = true;
      } else {
        waiting_[kept++] = entry;
      }
    }
    waiting_.resize(kept);
  }

  std::uint32_t host_of(const UdpEndpoint& endpoint) const {
    for (std::uint32_t number = 0; number < hosts_.size(); ++number) {
      if (hosts_[number] == endpoint) return number;
    }
    return wire::kNoHost.number;
  }

  E engine_;
  wire::PayloadPool& pool_;
  UdpSocket socket_;
  const LiveClock& clock_;
  LiveCore core_;
  FaultConfig faults_;
  RandomStream fault_stream_;
  wire::Protocol protocol_;
  LiveCounters counters_;
  std::vector<UdpEndpoint> hosts_;
  std::vector<Waiting> waiting_;
  bool posted_ = false;
};

}  // namespace wharf::live
