// SPDX-License-Identifier: Apache-2.0
// One address of this process: a UB engine on a UDP socket or in shared memory, the processes that it talks
// to, and a thread that serves both while the program does not. Knows jettys by number and owner, and no C
// interface.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/driver/engine_driver.h"
#include "engine/ub/ub_engine.h"
#include "live/reactor/datagram_port.h"
#include "live/reactor/live_clock.h"
#include "live/udp/lent_data.h"
#include "live/udp/live_engine.h"
#include "live/udp/metrics_file.h"
#include "live/urma/greeted_peers.h"
#include "live/urma/peer.h"
#include "live/urma/peer_message.h"

namespace wharf::live::urma {

/// Who is told what happens to a queue. Called with the interface locked.
class QueueOwner {
 public:
  virtual void completed(const verbs::Completion& completion) = 0;
  virtual void happened(engine::AsyncEventKind kind) = 0;

 protected:
  ~QueueOwner() = default;
};

/// Whether a target numbers the requests of such a queue, or has to have a channel for them.
constexpr bool keeps_order(engine::ServiceMode service) {
  return service != engine::ServiceMode::kOrderedByInitiator && service != engine::ServiceMode::kDefault;
}

/// A queue elsewhere that requests name.
struct Remote {
  Peer* peer = nullptr;
  std::uint32_t uasid = 0;  ///< Of the process that is meant: another one may have its port by now.
  std::uint32_t id = 0;
  wire::TargetContextType type = wire::TargetContextType::kJetty;
  std::uint32_t token = 0;
  mutable std::uint64_t waited_in =
      0;  ///< The last look at waiting requests in which one to it went on waiting.
};

/// A queue of this interface as its requests see it.
struct SendQueue {
  struct Parked {
    const Remote* remote = nullptr;  ///< Null: it will be reported as one that this transport does not have.
    verbs::WorkRequest request;

    /// Whether it waits for all requests before it, or for those to the same queue alone.
    bool waits_for_all() const { return request.completion_in_order || request.fence; }
  };
  /// What the engine knows of a remote queue, in one life of its process.
  struct Import {
    const Remote* remote = nullptr;
    engine::PeerId peer = verbs::kNoPeer;
    std::uint64_t life = 0;
    std::uint32_t nonce = 0;  ///< Of the binding that was asked for.
    bool bound = false;       ///< The target keeps the order, or need not.
    TimePs ask_at = kNever;
    TimePs ask_gap;
    TimePs give_up_at;
  };

  /// An import that is wanted no more, while requests to it are outstanding.
  struct Leaving {
    engine::PeerId peer = verbs::kNoPeer;
    std::uint32_t host = 0;   ///< Peer::number
    std::uint32_t nonce = 0;  ///< Import::nonce
  };

  engine::QueueId queue = engine::kOwn;
  engine::ServiceMode service = engine::ServiceMode::kOrderedByInitiator;
  std::uint32_t depth = 0;
  QueueOwner* owner = nullptr;
  std::uint32_t name = 0;     ///< The well-known number of the jetty, or 0.
  bool held = false;          ///< Suspended: what waits stays where it is.
  std::deque<Parked> parked;  ///< Requests whose target cannot be reached yet, and those behind them.
  /// Interface::changes_ when they were looked at last; 0: they are to be looked at in any case.
  std::uint64_t looked_at = 0;
  std::vector<Import> imports;
  std::vector<Leaving> leaving;  ///< Has room for all imports.

  // Whose messages it takes.
  std::uint8_t modes = 0xff;        ///< ub::Senders::modes
  bool checks_token = false;        ///< ub::Senders::checks_token
  const Remote* partner = nullptr;  ///< That one's alone.
};

/// Counts of an interface.
struct InterfaceCounters {
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t unknown_sender = 0;
  std::uint64_t malformed = 0;  ///< Packets, each under its reason, and messages of peers.
  std::array<std::uint64_t, wire::kDropReasonCount> malformed_by{};
  std::uint64_t no_memory = 0;
  std::uint64_t messages = 0;     ///< Receives that ended.
  std::uint64_t completions = 0;  ///< Other requests that did.
};

class Interface {
 public:
  /// Peers that imports name at once. Of others GreetedPeers says how many there are.
  static constexpr std::size_t kPeersMost = 1U << 16U;
  /// Jettys of one peer whose order is kept here. What asks for more is refused.
  static constexpr std::size_t kBindingsOfPeer = 1024;
  /// Of all peers.
  static constexpr std::size_t kBindingsMost = 1U << 16U;

  /// `port` is bound to the address. Starts the thread.
  static Result<std::unique_ptr<Interface>> open(std::unique_ptr<DatagramPort> port, std::uint32_t uasid);
  ~Interface();
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  /// Everything below is called inside a Section, by one thread at a time.
  class Section {
   public:
    explicit Section(Interface& interface);
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    std::unique_lock<std::mutex> lock_;
    Interface& interface_;
  };
  std::mutex& mutex() { return mutex_; }

  ub::UbEngine& engine() { return *engine_; }
  TimePs now() const { return now_; }
  const UdpEndpoint& endpoint() const { return port_->local(); }
  std::uint32_t uasid() const { return uasid_; }
  std::uint32_t mtu() const { return mtu_; }
  engine::QueueId completions() const { return completions_; }
  const InterfaceCounters& counters() const { return counters_; }

  /// Takes what has arrived and does what is due. True if anything happened.
  bool step();

  /// Makes the queue of `config`, whose completions go to `owner`.
  Result<engine::QueueId> create_queue(engine::QueueConfig config, QueueOwner& owner);
  /// Ends `queue` and everything of it that waits; its owner hears no more.
  void destroy_queue(SendQueue& queue);
  /// Events of a shared receive queue go to `owner`; null: to nobody any more.
  void watch_receives(engine::QueueId queue, QueueOwner* owner);

  /// The process at `endpoint`, for an import; null when there are too many. Said hello to at once, and kept
  /// until as many leave() as reach() it.
  Peer* reach(const UdpEndpoint& endpoint);
  void leave(Peer& peer);
  /// Processes that are kept.
  std::size_t peers() const { return peers_.size(); }
  /// Peer of that number, or null.
  const Peer* peer(std::uint32_t number) const;
  /// `remote` is no target any more: requests to it that wait end, what the engine knows of it goes.
  void forget(SendQueue& queue, const Remote& remote);

  /// Requests wait while their target cannot be reached, and end with kRetryExhausted when it cannot for
  /// long, or when another process is found in its place.
  engine::PostStatus post(SendQueue& queue, const Remote& remote, const verbs::WorkRequest& request);
  /// Asks the process of `remote` to keep the order of `queue`, before the first request does. False: the
  /// engine does not take it.
  bool bind(SendQueue& queue, const Remote& remote);
  /// A request that this transport does not have is reported, in its turn.
  engine::PostStatus refuse(SendQueue& queue, const verbs::WorkRequest& request);
  /// From now on `queue` takes messages of the queue that `partner` names alone; null: of all that have its
  /// mode.
  void set_partner(SendQueue& queue, const Remote* partner);
  /// Requests that wait are flushed, the last one with `mark`.
  void flush_parked(SendQueue& queue, verbs::DrainMark mark);

  /// In the child of a fork: closes what the child has of the descriptors. The object is dead afterwards.
  void abandon();

  wire::PayloadPool& payloads() { return memory_.payloads; }

 private:
  Interface(std::unique_ptr<DatagramPort> port, std::uint32_t uasid, std::uint32_t mtu);
  Result<void> start();
  void serve();  ///< The thread.

  // What is counted, for who watches (interface_metrics.cc).
  void begin_metrics();
  ServerState metrics_state() const;

  // Packets.
  bool take_datagrams();
  void take(const DatagramPort::Datagram& datagram);
  void send_packet(wire::Packet& packet);
  void settle();
  TimePs deadline() const;
  /// Memory, wire and user of the engine's driver.
  struct Inside;

  // Peers (interface_peers.cc).
  void take_message(const UdpEndpoint& from, const PeerMessage& message);
  void take_hello(const UdpEndpoint& from, const PeerMessage& message);
  void take_bind(Peer& peer, const PeerMessage& message);
  bool keep_binding(Peer& peer, const PeerMessage& message);
  void take_binding_answer(const Peer& peer, const PeerMessage& message);
  void take_unbind(Peer& peer, const PeerMessage& message);
  void tell_senders(SendQueue& queue);
  void tell_partners(const Peer& peer);
  void send_message(const UdpEndpoint& to, PeerMessage message);
  void ask(Peer& peer);
  Peer* find(const UdpEndpoint& endpoint);
  Peer& add_peer(const UdpEndpoint& endpoint);
  void number(Peer& peer);
  void bring_up(Peer& peer, const PeerMessage& message);
  void lose(Peer& peer);
  void lose_gone();
  void evict(Peer& peer);
  void review(Peer& peer);
  void expire_peers();
  void end_waiting(SendQueue& queue, const Remote& remote);
  void give_up(SendQueue& queue, const Remote& remote);
  void end(SendQueue& queue, const SendQueue::Parked& parked, verbs::CompletionStatus status,
           verbs::DrainMark mark = verbs::DrainMark::kNone);
  bool is_asking_binding(const SendQueue& queue) const;
  SendQueue::Import* import(SendQueue& queue, const Remote& remote, bool& refused);
  Result<engine::PeerId> connect(engine::QueueId queue, const Peer& peer, std::uint32_t jetty,
                                 wire::TargetContextType type, std::uint32_t token,
                                 engine::ServiceMode service, std::uint32_t numbering = 0);
  void ask_binding(SendQueue& queue, SendQueue::Import& import);
  void park(SendQueue& queue);
  void leave_import(SendQueue& queue, const SendQueue::Import& import);
  void unbind(SendQueue& queue, const Peer& peer, std::uint32_t nonce);
  void leave_imports(SendQueue& queue);
  void unpark(SendQueue& queue);
  void unpark_all();

  void happened(const engine::AsyncEvent& event);
  QueueOwner* owner(engine::QueueId queue) const;

  std::mutex mutex_;
  std::atomic<int> callers_{0};  ///< Who waits for it, besides the thread.
  EngineMemory memory_;
  std::unique_ptr<ub::UbEngine> engine_;
  std::unique_ptr<DatagramPort> port_;
  LentData lent_{*port_, memory_.payloads};  ///< Sent before the lock is let go.
  LiveClock clock_;
  TimePs now_;
  std::uint32_t uasid_;
  std::uint32_t mtu_;
  std::uint64_t instance_ = 0;
  std::uint64_t secret_[2] = {};
  engine::QueueId completions_ =
      engine::kOwn;                         ///< Of all queues: what comes is told to their owners at once.
  engine::QueueId control_ = engine::kOwn;  ///< Opens channels.
  std::vector<QueueOwner*> owners_;         ///< By queue.
  std::unordered_map<engine::QueueId, QueueOwner*> receive_owners_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Peer>> peers_;  ///< By endpoint.
  GreetedPeers greeted_;      ///< Those of peers_ that are up and that nothing here names.
  std::size_t bindings_ = 0;  ///< Of all peers.
  std::unordered_map<std::uint32_t, Peer*> peer_of_number_;
  /// Queues with requests that wait, a binding that is asked for, or an import that is to go.
  std::vector<SendQueue*> parking_;
  std::uint64_t changes_ = 1;  ///< What requests may have waited for has happened so often.
  std::uint64_t looks_ = 0;    ///< At requests that wait.
  std::vector<Peer*> asking_;
  std::vector<Peer*> lost_;  ///< The engine gave them up.
  std::uint32_t next_number_ = 1;
  std::vector<Peer*> imported_;  ///< By engine::PeerId.
  InterfaceCounters counters_;
  std::uint64_t repeated_ = 0;  ///< Repetitions::sent, as of the last packet.
  MetricsFile metrics_{{}};     ///< Of the thread.
  std::filesystem::path metrics_path_;
  TimePs metrics_due_ = kNever;

  int wake_ = -1;  ///< eventfd: the thread's deadline has come nearer.
  bool sleeping_ = false;
  bool short_of_memory_ = false;  ///< Something was left undone for want of it.
  TimePs sleep_until_ = kNever;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace wharf::live::urma
