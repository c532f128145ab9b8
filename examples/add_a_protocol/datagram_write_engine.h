// SPDX-License-Identifier: Apache-2.0
// Example of docs/guides/add-a-protocol.md: a whole engine in two screens. It speaks one verb of Unified Bus
// over the unreliable transport: a Write of one packet that is finished when it is handed to the wire.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/contract.h"
#include "engine/without_shared_objects.h"
#include "wire/payload_pool.h"

namespace wharf::examples {

using engine::Access;
using engine::AccessId;
using engine::AccessResult;
using engine::PeerId;
using engine::PostStatus;
using engine::QueueId;

struct DatagramWriteConfig {
  wire::HostAddress host;
  std::uint32_t mtu = 4096;           ///< Longest Write in bytes.
  std::uint32_t accesses_max = 1024;  ///< Unanswered accesses at the memory port.
};

/// One counter per reason for which a packet is dropped.
struct DatagramWriteCounters {
  std::uint64_t writes_placed = 0;
  std::uint64_t writes_failed = 0;    ///< Memory refused them.
  std::uint64_t dropped_foreign = 0;  ///< Another protocol, transport or transaction.
  std::uint64_t dropped_access = 0;   ///< Unknown token, wrong value, no right, out of range.
  std::uint64_t dropped_no_room = 0;  ///< accesses_max were unanswered.
};

/// Unreliable UB Writes of one host over UTPH, profile P1. Knows no clock, socket or thread; nothing is sent
/// twice, nothing is acknowledged, and success means only that the packet left.
/// [UB-Base 2.0.1 6.2, 7.3; OpenURMA 5.2]
class DatagramWriteEngine : public engine::WithoutSharedObjects {
 public:
  /// Refuses a config by naming the key. `pool` and `arena` outlive the engine; this one is so small that it
  /// takes nothing of the arena, where the engines keep their rings and windows.
  static Result<DatagramWriteEngine> create(const DatagramWriteConfig& config, wire::PayloadPool& pool,
                                            Arena& arena);

  // Control.
  static bool supports(verbs::Verb verb) { return verb == verbs::Verb::kWrite; }
  engine::Capabilities capabilities() const;
  Result<QueueId> create_queue(TimePs now, const engine::QueueConfig& config);
  /// What is outstanding goes with the queue.
  Result<void> destroy_queue(TimePs now, QueueId queue);
  engine::QueueState queue_state(QueueId queue) const;
  /// What is outstanding completes with kFlushed, in posting order.
  Result<void> fail_queue(TimePs now, QueueId queue);
  Result<void> reset_queue(TimePs now, QueueId queue);
  Result<verbs::SegmentToken> register_segment(TimePs now, const verbs::SegmentConfig& config);
  Result<void> deregister_segment(TimePs now, verbs::SegmentToken token);
  /// The host number: UTPH names no queue.
  Result<engine::ExchangeBlob> export_queue(QueueId queue) const;
  Result<PeerId> connect(TimePs now, QueueId queue, std::span<const std::byte> blob);
  Result<void> disconnect(TimePs now, QueueId queue, PeerId peer);
  Result<void> forget_host(TimePs now, wire::HostAddress host);
  bool poll_event(engine::AsyncEvent&) { return false; }

  // Application.
  PostStatus post(TimePs now, QueueId queue, const verbs::WorkRequest& request,
                  engine::Submission submission);
  PostStatus post_receive(TimePs, QueueId, const verbs::ReceiveRequest&) { return PostStatus::kUnsupported; }
  static Result<void> cancel_receive(TimePs, QueueId, std::uint64_t) {
    return input_error("the engine takes no receives");
  }
  PostStatus issue(TimePs, const verbs::LoadStore&) { return PostStatus::kUnsupported; }
  bool poll(QueueId queue, verbs::Completion& out);
  bool next_completed_queue(QueueId& out) const;
  bool poll_load_store(verbs::LoadStoreResult&) { return false; }

  // Network.
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet);
  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask classes, wire::Packet& out);

  // Memory.
  bool next_access(Access& out);
  /// Data of another length than was asked for is a failure; an id that was not given does nothing.
  void access_done(TimePs now, AccessId id, const AccessResult& result);

  // Time: nothing is ever waited for.
  void expire(TimePs) {}
  TimePs deadline() const { return kNever; }

  void describe_waiting(std::vector<std::string>& lines) const;
  const DatagramWriteCounters& counters() const { return counters_; }

 private:
  DatagramWriteEngine(const DatagramWriteConfig& config, wire::PayloadPool& pool);

  struct Queue {
    engine::QueueState state = engine::QueueState::kReady;
    std::uint32_t depth = 0;
    std::uint32_t outstanding = 0;  ///< Posted, and not polled unless it completes silently.
    std::uint16_t tassn_next = 0;
    Ring<verbs::Completion> completions;
  };
  struct Segment {
    verbs::SegmentConfig config;
    bool used = false;
  };
  /// What waits for access_done(): the data of a request, or the placing of a packet (`placing`).
  struct Pending {
    verbs::WorkRequest request;
    std::uint64_t number = 0;  ///< Of the request: they are flushed in posting order.
    QueueId queue = 0;
    wire::BufferId buffer = wire::kNoBuffer;
    bool placing = false;
    bool asked = false;    ///< next_access() has given it.
    bool flushed = false;  ///< Completed: the answer does nothing.
  };
  struct Outgoing {
    wire::Packet packet;
    verbs::Completion completion;
    std::uint64_t number = 0;
    bool signaled = true;
  };

  bool has_queue(QueueId queue) const { return queue_state(queue) != engine::QueueState::kGone; }
  bool has_peer(PeerId peer) const { return peer < peers_.size() && peers_[peer] != wire::kNoHost; }
  /// Takes back every request of the queue that has not completed; in posting order, as completions.
  std::vector<verbs::Completion> take_outstanding(QueueId queue);
  static verbs::Completion failed(const Pending& pending, verbs::CompletionStatus status);
  void enqueue(const Pending& pending, const wire::Payload& data);
  void complete(QueueId queue, const verbs::Completion& completion, bool visible);
  const Segment* writable(const wire::UbPacket& ub) const;

  DatagramWriteConfig config_;
  wire::PayloadPool* pool_;
  std::vector<Queue> queues_;
  std::vector<wire::HostAddress> peers_;  ///< By PeerId.
  std::vector<Segment> segments_;         ///< TokenID is the index plus one.
  SlotPool<Pending> pending_;
  Ring<Access> accesses_;
  Ring<Outgoing> outgoing_;
  std::uint64_t requests_ = 0;  ///< Posted.
  DatagramWriteCounters counters_;
};
// guide: begin
static_assert(engine::Engine<DatagramWriteEngine>);
// guide: end

}  // namespace wharf::examples
