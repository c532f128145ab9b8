// SPDX-License-Identifier: Apache-2.0
// The RDMO worker as a process: the engine between UCX and the control channels of targets. Memory that this
// machine shares with a target is written in place; other memory by UCX's puts. Whoever comes is a stranger:
// what it gives is checked before UCX sees it, and what it owes is bounded (decision 0087).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/rdmo/worker.h"
#include "live/rdmo/attentive_clock.h"
#include "live/rdmo/memory_offers.h"
#include "live/rdmo/peer_blobs.h"
#include "live/rdmo/places.h"
#include "live/rdmo/sealed_memory.h"
#include "live/rdmo/silent_connections.h"
#include "live/rdmo/stream_channel.h"
#include "live/rdmo/ucx_port.h"
#include "live/rdmo/waiting_messages.h"
#include "live/rdmo/worker_roster.h"
#include "live/reactor/idle_policy.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {

struct WorkerProcessConfig {
  StreamAddress listen;  ///< Of control channels.
  /// Where initiators connect by a network address, and join a target whose key they know. They need no
  /// target's help then, and targets are not asked. Nothing: they are let in by targets alone.
  std::optional<StreamAddress> connect;
  /// UCX trusts who it shares memory with: posix, sysv and cma are for initiators that are trusted, too.
  std::string transports = "tcp,self";
  rdmo::WorkerConfig worker;
  IdleConfig idle;
  bool once = false;    ///< Ends when the last target has left.
  bool listed = false;  ///< list_workers() finds it, and whoever does may stop it.
  /// A control channel without a target is closed so long after it came, or lost its target.
  TimePs targetless_max = seconds(5);
  /// Messages of one initiator that wait for room at most: then it is cut off.
  std::size_t waiting_max = WaitingMessages::kMostOfOne;
};

/// What the process refused, beside what the worker counts. May be read while it runs.
struct ProcessRefusals {
  std::atomic<std::uint64_t> addresses{0};  ///< That are none.
  std::atomic<std::uint64_t> keys{0};
  std::atomic<std::uint64_t> memories{
      0};  ///< Shared ones that could shrink, or do not hold the range that they are for.
  std::atomic<std::uint64_t> floods{0};     ///< Initiators cut off: more waited than one may have here.
  std::atomic<std::uint64_t> unread{0};     ///< The same, while they read no answers.
  std::atomic<std::uint64_t> strangers{0};  ///< That connected and joined no target in time.
  std::atomic<std::uint64_t> silent{0};     ///< That connected and said nothing.
};

class WorkerProcess : private MessageTaker {
 public:
  static Result<std::unique_ptr<WorkerProcess>> create(const WorkerProcessConfig& config);
  ~WorkerProcess() override;

  std::uint16_t port() const { return listener_.port(); }
  /// Of WorkerProcessConfig::connect.
  std::uint16_t connect_port() const { return connect_port_; }
  /// Serves until `stop` is set, then ends in order; with `once`, until the last target has left.
  void run(const std::atomic<bool>& stop);
  const rdmo::WorkerCounters& counters() const { return worker_->counters(); }
  const ProcessRefusals& refusals() const { return refusals_; }
  /// Answers that are on their way to one initiator at most; then its requests wait here.
  static constexpr std::uint32_t kUnreadMost = 1024;
  /// Places of targets, initiators and memories that were ever in use at a time.
  std::size_t places() const { return targets_.extent() + peers_.extent() + memories_.extent(); }

 private:
  /// An access under way at UCX.
  struct Operation {
    WorkerProcess* process = nullptr;
    std::uint32_t access = 0;
    rdmo::Access asked;
    rdmo::AccessResult result;
    std::vector<std::byte> bounce;
    bool fetching = false;  ///< The first half of a write whose data is still with its sender.
  };
  struct Memory {
    ucp_rkey_h key = nullptr;  ///< Null: written in place.
    std::uint64_t address = 0;
    std::byte* mapped = nullptr;  ///< Where `address` is in this process; null: reached by UCX.
    SealedMemory shared;
  };
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    std::uint32_t unread = 0;  ///< Answers on their way.
    bool cut_off = false;      ///< Nothing of it is taken any more.
    bool stranger = false;     ///< It has connected and belongs to no target yet.
    bool has_asked = false;    ///< A stranger may ask once.
  };
  struct Stranger {
    rdmo::PeerId peer = rdmo::kNoPeer;
    TimePs since;
  };
  struct Target {
    ucp_ep_h endpoint = nullptr;  ///< Null: closed.
    std::uint32_t users = 0;      ///< The worker, until it closes it; its opening; operations under way.
  };
  struct Control {  ///< A control channel.
    StreamChannel channel;
    TimePs since;  ///< When it came, or was last seen to have a target.
  };
  struct Opening {  ///< An endpoint to a target that is being wired up.
    WorkerProcess* process = nullptr;
    std::uint32_t action = 0;
    rdmo::ActionResult result;
    bool cancelled = false;
  };

  explicit WorkerProcess(const WorkerProcessConfig& config)
      : config_(config), idle_(config.idle), waiting_(config.waiting_max) {}
  Result<void> open();
  rdmo::Taken take(ucp_ep_h reply, std::uint32_t id, std::span<const std::byte> header,
                   const rdmo::Payload& payload) override;
  bool round();
  bool accept_channels();
  bool serve_channels();
  WorkerReport report() const;
  bool serve_worker();
  void offer_waiting();
  bool reads(rdmo::PeerId peer) const { return peer >= peers_.extent() || peers_[peer].unread < kUnreadMost; }
  void answer(const rdmo::Message& message);
  void take_answered();
  void close_peer(rdmo::PeerId peer);
  void fail_endpoints();
  void take_strangers();
  void perform(const rdmo::Access& access);
  void perform_mapped(const rdmo::Access& access, std::byte* at);
  void perform_remote(const rdmo::Access& access, const Memory* memory);
  void fetch(Operation& operation, std::byte* to);
  void end(Operation& operation);
  void release(std::uint64_t handle);
  rdmo::ActionResult act(const rdmo::Action& action);
  rdmo::ActionResult import(const rdmo::Action& action);
  wire::DocaError map(const rdmo::Action& action, const MemoryOffer& offer, Memory& memory);
  void wire_up(std::uint32_t action, const rdmo::ActionResult& result);
  void wired_up(Opening* opening, ucs_status_t status);
  void close_target(rdmo::HostHandle target);
  void let_go(rdmo::HostHandle target);
  Operation& begin(const rdmo::Access& access);
  void submitted(Operation& operation, ucs_status_ptr_t request);
  void finished(Operation& operation, ucs_status_t status);
  void done(const rdmo::Access& access, const rdmo::AccessResult& result) {
    done_.push_back({access.id, result});
  }

  std::optional<RosterEntry> entry_;  ///< Goes last: who waits for the end waits for that.
  WorkerProcessConfig config_;
  LiveClock clock_;
  /// When the round began, or its last pass: reading the clock for each message costs as much as taking it.
  TimePs now_ = kTimeZero;
  IdlePolicy idle_;
  std::unique_ptr<UcxPort> port_;
  std::optional<PeerBlobs> blobs_;
  MemoryOffers offers_;
  ProcessRefusals refusals_;
  std::optional<rdmo::Worker> worker_;
  StreamListener listener_;
  std::map<rdmo::DestinationId, Control> channels_;  ///< The oldest first.
  rdmo::DestinationId next_destination_ = 0;
  bool had_target_ = false;
  AttentiveClock attentive_;          ///< Of what channels owe: they were heard all that time.
  TimePs accepts_after_ = kTimeZero;  ///< No descriptor is left before.
  std::unordered_map<ucp_ep_h, rdmo::PeerId> peer_of_;
  Places<Peer> peers_;
  std::vector<rdmo::PeerId> leaving_;  ///< Whose endpoints are closed, and whose places are not free yet.
  std::deque<Stranger> strangers_;     ///< The oldest first.
  std::uint16_t connect_port_ = 0;
  std::optional<SilentConnections> silent_;
  Places<Target> targets_;  ///< By handle.
  Places<Memory> memories_;
  std::deque<Operation> operations_;
  std::vector<Operation*> free_operations_;
  std::vector<std::pair<std::uint32_t, rdmo::AccessResult>> done_;
  std::unordered_map<std::uint32_t, Opening*> opening_;    ///< Being wired up, by action.
  std::vector<std::unique_ptr<Opening>> opened_;           ///< Wired up, to be told to the worker.
  std::unordered_map<std::uint64_t, Operation*> fetched_;  ///< By payload.
  WaitingMessages waiting_;
};

}  // namespace wharf::live
