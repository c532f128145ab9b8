// SPDX-License-Identifier: Apache-2.0
// One live host: a protocol engine on a port for frames, the memory of this process, and the programs that
// use it. Everything runs on the thread that calls step().
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "engine/contract.h"
#include "engine/driver/engine_driver.h"
#include "live/reactor/datagram_port.h"
#include "live/reactor/idle_policy.h"
#include "live/reactor/live_clock.h"
#include "live/reactor/live_core.h"
#include "live/secure/seal.h"
#include "live/udp/direct_memory.h"
#include "live/udp/lent_data.h"
#include "live/udp/live_capture.h"
#include "live/udp/live_counters.h"
#include "live/udp/live_protocol.h"
#include "verbs/completion.h"
#include "wire/drop_reason.h"
#include "wire/payload_pool.h"

namespace wharf::live {

/// Faults injected into what this host receives, for tests of the real thing.
struct FaultConfig {
  Probability loss;
  Probability duplication;
  std::uint64_t seed = 1;
};

/// Messages that arrived for a queue without taking a receive entry: Ultra Ethernet's writes with immediate
/// data. [UE 1.0 3.4: header_data]
struct UnaskedArrivals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// What a server judges a peer by.
struct PeerActivity {
  TimePs last_heard;                   ///< Its last datagram, or when it was added.
  std::uint64_t refused_accesses = 0;  ///< Answers to it that it has no right.
  PeerTraffic traffic{};
};

/// An operation in flight: what an awaiting program left behind. Lives in the coroutine's frame.
struct PendingOperation {
  std::coroutine_handle<> handle;
  verbs::Completion completion;
};

template <engine::Engine E>
class LiveHost {
 public:
  /// `address` is the number under which `engine` was created, with `pool`. `pool`, `clock` and `capture`,
  /// which may be null, outlive the host and are used by this thread alone.
  LiveHost(std::unique_ptr<E> engine, wire::HostAddress address, wire::PayloadPool& pool,
           std::unique_ptr<DatagramPort> port, const LiveClock& clock, std::uint64_t seed,
           const FaultConfig& faults, LiveCapture* capture = nullptr)
      : engine_(std::move(engine)),
        address_(address),
        pool_(pool),
        port_(std::move(port)),
        lent_(*port_, pool),
        clock_(clock),
        core_(clock, seed),
        faults_(faults),
        fault_stream_(faults.seed, "live.faults"),
        capture_(capture) {}
  LiveHost(const LiveHost&) = delete;
  LiveHost& operator=(const LiveHost&) = delete;

  E& engine() { return *engine_; }
  LiveCore& core() { return core_; }
  DatagramPort& port() { return *port_; }
  TimePs now() const { return clock_.now(); }
  /// The time of the last round, without asking the system again.
  TimePs round_time() const { return now_; }
  const LiveCounters& counters() const { return counters_; }
  /// Where datagrams are written from now on; null: nowhere. It outlives the host, or the next call.
  void capture_into(LiveCapture* capture) { capture_ = capture; }

  /// Host `number` is reached at `endpoint`. Control path.
  /// `names`: all that it can name here; none: whatever it knows. `seal`: of all its packets; none: they are
  /// plain.
  void add_peer(wire::HostAddress number, const UdpEndpoint& endpoint,
                const std::optional<SessionNames>& names = std::nullopt,
                std::unique_ptr<PacketSeal> seal = nullptr) {
    peers_.push_back(
        {number, endpoint, names, {.last_heard = clock_.now()}, /*any_port=*/false, std::move(seal)});
  }
  /// The same of a host that sends from any port of its address. Source ports of some protocols are entropy.
  /// [IBTA vol 1 Annex A17]
  void add_peer_of_any_port(wire::HostAddress number, const UdpEndpoint& endpoint) {
    peers_.push_back({number, endpoint, std::nullopt, {.last_heard = clock_.now()}, true, nullptr});
  }
  /// What host `number`, which was added, has done so far.
  const PeerActivity& activity(wire::HostAddress number) const {
    const Peer* peer = find_peer(number);
    WHARF_CHECK(peer != nullptr);
    return peer->activity;
  }
  /// The same of its seal; null: its packets are plain.
  const PacketSeal* seal(wire::HostAddress number) const {
    const Peer* peer = find_peer(number);
    WHARF_CHECK(peer != nullptr);
    return peer->seal.get();
  }
  /// Whether some host is reached at `endpoint`.
  bool reaches(const UdpEndpoint& endpoint) const { return find_peer(endpoint) != nullptr; }
  /// From now on datagrams of host `number` are counted and dropped, and none goes there; what the engine
  /// keeps per host is free for the next. Control path.
  void remove_peer(wire::HostAddress number) {
    std::erase_if(peers_, [number](const Peer& peer) { return peer.number == number; });
    unforgotten_.push_back(number);
    forget_hosts();
  }
  /// An engine keeps what belongs to a host while it executes something for it; that goes when it is done.
  void forget_hosts() {
    std::erase_if(unforgotten_, [this](wire::HostAddress number) {
      return engine_->forget_host(clock_.now(), number).ok();
    });
  }
  /// Counts the unasked arrivals of `queue` in `arrivals`, which outlives the queue. Control path.
  void count_unasked(verbs::QueueId queue, UnaskedArrivals& arrivals) {
    watchers_.push_back({queue, &arrivals});
  }
  /// Destroys `queue` of the engine, whose completions go with it: programs that wait for one of them are
  /// never resumed, and the caller destroys them. Control path.
  void remove_queue(verbs::QueueId queue) {
    WHARF_CHECK(engine_->destroy_queue(clock_.now(), queue).ok());
    std::erase_if(waiting_, [queue](const Waiting& entry) { return entry.queue == queue; });
    std::erase_if(watchers_, [queue](const Watcher& watcher) { return watcher.queue == queue; });
  }
  /// What the engine reported about queues and peers since the last call.
  bool poll_event(engine::AsyncEvent& out) { return engine_->poll_event(out); }

  /// One round: what has arrived, what is due, what may leave. True if anything happened.
  bool step() {
    if (!unforgotten_.empty()) forget_hosts();
    // An answer that lies in the socket has come in time, however late this thread runs: a timer is due when
    // the socket was found empty after its deadline, or when peers never leave it empty.
    const TimePs asked = now_;
    const std::size_t arrived = take_datagrams();
    full_batches_ = arrived == DatagramPort::kBatch ? full_batches_ + 1 : 0;
    bool worked = arrived > 0;
    now_ = clock_.now();
    if (engine_->deadline() <= asked && full_batches_ % kBatchesBeforeTimers == 0) {
      engine_->expire(now_);
      worked = true;
    }
    worked |= core_.wake(now_);
    drain();
    return worked || port_->turn_is_over();
  }
  /// When step() is needed even if nothing arrives.
  TimePs deadline() const { return min(engine_->deadline(), core_.next_wake()); }

  /// Starts `request` for a program; its completion resumes `operation.handle`. False: it ended at once and
  /// the completion says how.
  bool start(verbs::QueueId queue, verbs::WorkRequest request, PendingOperation& operation) {
    request.id = reinterpret_cast<std::uint64_t>(&operation);
    // Requests that wait for room keep their place in the queue.
    const bool behind = std::any_of(waiting_.begin(), waiting_.end(),
                                    [queue](const Waiting& entry) { return entry.queue == queue; });
    now_ = clock_.now();
    const engine::PostStatus status = behind
                                          ? engine::PostStatus::kQueueFull
                                          : engine_->post(now_, queue, request, engine::Submission::kInHand);
    switch (status) {
      case engine::PostStatus::kOk:
        return true;
      case engine::PostStatus::kQueueFull:
        waiting_.push_back({queue, request, &operation});
        return true;
      case engine::PostStatus::kBadQueue:
      case engine::PostStatus::kUnsupported:
      case engine::PostStatus::kBadRequest:
        operation.completion = refused(request, status);
        return false;
    }
    WHARF_UNREACHABLE();
  }

  /// Posts a receive entry that resumes `operation.handle` when a message lands in it.
  bool start_receive(verbs::QueueId queue, verbs::ReceiveRequest request, PendingOperation& operation) {
    request.id = reinterpret_cast<std::uint64_t>(&operation);
    now_ = clock_.now();
    const engine::PostStatus status = engine_->post_receive(now_, queue, request);
    if (status == engine::PostStatus::kOk) return true;
    operation.completion = {};
    operation.completion.kind = verbs::CompletionKind::kReceive;
    operation.completion.status = status == engine::PostStatus::kBadQueue
                                      ? verbs::CompletionStatus::kFlushed
                                      : verbs::CompletionStatus::kLocalOperation;
    return false;
  }

  /// Does everything that the engine asks for until it asks for nothing, or the port's turn is over.
  void drain() {
    port_->begin_turn();
    Inside inside{*this};
    drive(inside).settle(now_);
    port_->flush();
    lent_.send();
  }

 private:
  /// So many reads that leave datagrams in the socket hold timers back.
  static constexpr std::uint32_t kBatchesBeforeTimers = 64;

  struct Peer {
    wire::HostAddress number;
    UdpEndpoint endpoint;
    std::optional<SessionNames> names;
    PeerActivity activity;
    bool any_port = false;
    std::unique_ptr<PacketSeal> seal;
  };
  struct Watcher {
    verbs::QueueId queue;
    UnaskedArrivals* arrivals;
  };
  struct Waiting {
    verbs::QueueId queue;
    verbs::WorkRequest request;
    PendingOperation* operation;
  };

  static verbs::Completion refused(const verbs::WorkRequest& request, engine::PostStatus status) {
    verbs::Completion completion;
    completion.verb = request.verb;
    completion.status = status == engine::PostStatus::kUnsupported
                            ? verbs::CompletionStatus::kUnsupportedOpcode
                        : status == engine::PostStatus::kBadQueue ? verbs::CompletionStatus::kFlushed
                                                                  : verbs::CompletionStatus::kLocalOperation;
    return completion;
  }

  std::size_t take_datagrams() {
    const std::size_t count = port_->receive();
    if (count == 0) return 0;
    now_ = clock_.now();
    for (std::size_t index = 0; index < count; ++index) {
      const DatagramPort::Datagram& datagram = port_->datagram(index);
      ++counters_.datagrams_received;
      counters_.bytes_received += datagram.bytes.size();
      if (fault_stream_.chance(faults_.loss)) {
        ++counters_.injected_losses;
        continue;
      }
      take(datagram);
      if (fault_stream_.chance(faults_.duplication)) {
        ++counters_.injected_duplicates;
        take(datagram);
      }
    }
    return count;
  }

  void take(const DatagramPort::Datagram& datagram) {
    Peer* const peer = find_peer(datagram.source);
    if (peer == nullptr) {
      ++counters_.unknown_sender;
      return;
    }
    ++peer->activity.traffic.datagrams_received;
    peer->activity.traffic.bytes_received += datagram.bytes.size();
    if (peer->seal == nullptr) hear(*peer, datagram, datagram.bytes);
    if (datagram.bytes.empty()) {  // Or longer than the port takes, which is more than any packet has.
      drop(*peer, wire::DropReason::kTruncated);
      return;
    }
    // The port reuses its buffers, and the other side may still write in them, while the engine reads the
    // packet and may keep the payload: copy it into the pool.
    const std::size_t around = peer->seal == nullptr ? 0 : kSealBytes;
    if (datagram.bytes.size() <= around) {
      drop(*peer, SealDrop::kShort);
      return;
    }
    const std::size_t length = datagram.bytes.size() - around;
    const wire::BufferId buffer = pool_.acquire(static_cast<std::uint32_t>(length));
    const std::span<std::byte> bytes(pool_.data(buffer), length);
    if (peer->seal == nullptr) {
      std::copy(datagram.bytes.begin(), datagram.bytes.end(), bytes.begin());
    } else {
      const SealDrop why = peer->seal->in.open(datagram.bytes, bytes);
      if (why != SealDrop::kNone) {
        drop(*peer, why);
        pool_.release(buffer);
        return;
      }
      hear(*peer, datagram, bytes);
    }
    wire::Packet packet;
    const wire::DropReason reason = LiveProtocol<E>::decode(
        bytes, {datagram.source, port_->local(), datagram.service, datagram.ip}, packet);
    if (reason == wire::DropReason::kNone) {
      packet.source = peer->number;
      packet.destination = address_;
      packet.payload.buffer = packet.payload.length != 0 ? buffer : wire::kNoBuffer;
      if (peer->names) LiveProtocol<E>::confine(packet, *peer->names);
      const std::uint64_t before = LiveProtocol<E>::repetitions(*engine_).received;
      engine_->receive(now_, 0, packet);
      peer->activity.traffic.duplicates += LiveProtocol<E>::repetitions(*engine_).received - before;
      // Accesses are performed before the next datagram so that the engine's queues stay short.
      Inside inside{*this};
      drive(inside).perform(now_);
    } else {
      drop(*peer, reason);
    }
    pool_.release(buffer);
  }

  template <typename Reason>
  void drop(Peer& peer, Reason why) {
    counters_.drop(why);
    ++peer.activity.traffic.dropped;
  }

  /// `datagram` came from `peer` for certain, or as certain as plain packets are. Captures show what was
  /// sealed.
  void hear(Peer& peer, const DatagramPort::Datagram& datagram, std::span<const std::byte> plain) {
    peer.activity.last_heard = now_;
    if (capture_ != nullptr)
      capture_->write(now_, datagram.source, port_->local(), datagram.service, plain, datagram.ip);
  }

  /// Memory, wire and programs, as the engine's driver (engine/driver) sees them. Events wait in the engine
  /// for poll_event().
  struct Inside {
    LiveHost& host;

    bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
      result = perform(access);
      return true;
    }
    wire::TrafficClassMask open(TimePs) const {
      return host.port_->open() ? wire::kAllTrafficClasses : wire::TrafficClassMask{0};
    }
    void send(TimePs, const wire::Packet& packet) { host.send(packet); }
    void completed(TimePs, const verbs::Completion& completion) { host.complete(completion); }
    void answered(TimePs, const verbs::LoadStoreResult& result) { host.pool_.release(result.data.buffer); }
    /// Programs that were resumed may have posted.
    bool gave(TimePs, engine::Taken taken) {
      if (taken.completions && !host.waiting_.empty()) host.post_waiting();
      return taken.completions;
    }
  };
  auto drive(Inside& inside) { return engine::EngineDriver(*engine_, inside, inside, inside); }

  void send(const wire::Packet& packet) {
    Peer* const peer = find_peer(packet.destination);
    const std::uint64_t repeated = LiveProtocol<E>::repetitions(*engine_).sent;
    const std::uint64_t again = repeated - std::exchange(repeated_, repeated);
    // A seal that is spent is that of a session which somebody forgot to end: it sends no more.
    if (peer != nullptr && (peer->seal == nullptr || !peer->seal->out.spent())) {
      if (peer->names && LiveProtocol<E>::refuses_access(packet)) {
        ++peer->activity.refused_accesses;
        ++counters_.refused_accesses;
      }
      const std::uint8_t service = LiveProtocol<E>::service(packet);
      const std::span<std::byte> room = port_->queue(peer->endpoint, service);
      const std::size_t before = peer->seal == nullptr ? 0 : kSealHeadBytes;
      const std::span<std::byte> plain = room.subspan(before, room.size() - (before == 0 ? 0 : kSealBytes));
      std::span<const std::byte> data;
      const std::size_t length = encode(*peer, packet, plain, data);
      const std::size_t leaving = length + data.size() + (peer->seal == nullptr ? 0 : kSealBytes);
      ++counters_.datagrams_sent;
      counters_.bytes_sent += leaving;
      ++peer->activity.traffic.datagrams_sent;
      peer->activity.traffic.bytes_sent += leaving;
      peer->activity.traffic.retransmissions += again;
      if (capture_ != nullptr)
        capture_->write(now_, port_->local(), peer->endpoint, service, plain.first(length));
      port_->set_queued_length(peer->seal == nullptr ? length : peer->seal->out.seal(room, length));
      if (!data.empty()) port_->queue_data(data);
    }
    lent_.release(packet.payload.buffer);
  }

  /// Writes the frame to `room`; without its data if that can leave from where it lies, which `data` then
  /// says. What is sealed or recorded is written whole.
  std::size_t encode(const Peer& peer, const wire::Packet& packet, std::span<std::byte> room,
                     std::span<const std::byte>& data) const {
    if constexpr (requires { LiveProtocol<E>::data_apart(packet); }) {
      if (peer.seal == nullptr && capture_ == nullptr) data = LiveProtocol<E>::data_apart(packet);
      if (!data.empty()) return LiveProtocol<E>::encode_head(packet, room);
    }
    return LiveProtocol<E>::encode(packet, port_->local(), peer.endpoint, room);
  }

  /// Hands a completion to its program.
  void complete(const verbs::Completion& completion) {
    ++counters_.completions;
    lent_.send();              // The program may free memory, or change it.
    if (completion.id == 0) {  // No program has asked for it.
      take_unasked(completion);
      return;
    }
    auto* operation = reinterpret_cast<PendingOperation*>(completion.id);
    operation->completion = completion;
    operation->handle.resume();
  }

  void take_unasked(const verbs::Completion& completion) {
    for (const Watcher& watcher : watchers_) {
      if (watcher.queue != completion.queue || !completion.ok()) continue;
      ++watcher.arrivals->messages;
      watcher.arrivals->bytes += completion.length;
    }
  }

  /// Tries again what found its queue full. Resumed programs may add to the list meanwhile.
  void post_waiting() {
    std::vector<Waiting> entries;
    entries.swap(waiting_);
    for (Waiting& entry : entries) {
      if (!start(entry.queue, entry.request, *entry.operation)) entry.operation->handle.resume();
    }
  }

  template <typename Key>
  static bool is(const Peer& peer, const Key& key) {
    if constexpr (std::is_same_v<Key, UdpEndpoint>)
      return peer.endpoint == key || (peer.any_port && peer.endpoint.address == key.address);
    else
      return peer.number == key;
  }
  template <typename Key>
  const Peer* find_peer(const Key& key) const {
    for (const Peer& peer : peers_) {
      if (is(peer, key)) return &peer;
    }
    return nullptr;
  }
  template <typename Key>
  Peer* find_peer(const Key& key) {
    return const_cast<Peer*>(std::as_const(*this).find_peer(key));
  }

  std::unique_ptr<E> engine_;
  wire::HostAddress address_;
  wire::PayloadPool& pool_;
  std::unique_ptr<DatagramPort> port_;
  LentData lent_;
  const LiveClock& clock_;
  LiveCore core_;
  FaultConfig faults_;
  RandomStream fault_stream_;
  LiveCapture* capture_;
  LiveCounters counters_;
  TimePs now_;
  std::uint32_t full_batches_ = 0;
  std::uint64_t repeated_ = 0;  ///< Repetitions::sent, as of the last packet.
  std::vector<Peer> peers_;
  std::vector<Waiting> waiting_;
  std::vector<Watcher> watchers_;
  std::vector<wire::HostAddress> unforgotten_;
};

}  // namespace wharf::live
