// SPDX-License-Identifier: Apache-2.0
// Unified Bus interface of one host: transaction layer, reliable TP channels and the load/store path.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "engine/congestion/sender_trace.h"
#include "engine/contract.h"
#include "engine/ub/access_port.h"
#include "engine/ub/config.h"
#include "engine/ub/counters.h"
#include "engine/ub/jetty_patience.h"
#include "engine/ub/senders.h"
#include "wire/payload_pool.h"

namespace wharf::ub {

struct EngineParts;

/// One host's UB network interface. A queue is a jetty; a peer is an imported remote jetty; all jetties
/// toward one host share its TP channels. It knows no clock, socket or thread, and in steady state takes no
/// memory. Implements UB-Base 2.0.1 chapters 6 to 8 as far as public documents (OpenURMA, ns-3-UB, UMDK) show
/// them: all verbs of URMA over RTP in service modes ROI, ROT and ROL, datagrams over UTP (UNO), and loads
/// and stores over bypassed transport.
class UbEngine {
 public:
  /// `config` must validate(); the error names the key. `payloads` and `arena` outlive the engine and may be
  /// shared by the engines of one thread.
  static Result<UbEngine> create(const UbConfig& config, wire::PayloadPool& payloads, Arena& arena);
  UbEngine(UbEngine&&) noexcept;
  UbEngine& operator=(UbEngine&&) noexcept;
  ~UbEngine();

  // Control. May take memory.
  /// All of them: loads and stores through issue(), the others through post().
  static constexpr bool supports(verbs::Verb) { return true; }
  /// Depths are powers of two up to 65536. The id is the jetty id on the wire.
  Result<engine::QueueId> create_queue(TimePs now, const engine::QueueConfig& config);
  /// Of a queue, completion queue or receive queue, see engine/contract.h. A queue's imports go with it.
  Result<void> destroy_queue(TimePs now, engine::QueueId queue);
  // Shared queues, groups and life, see engine/contract.h.
  engine::Capabilities capabilities() const;
  Result<engine::QueueId> create_completion_queue(TimePs now, const engine::CompletionQueueConfig& config);
  Result<engine::QueueId> create_receive_queue(TimePs now, const engine::ReceiveQueueConfig& config);
  Result<engine::QueueId> create_group(TimePs now, const engine::GroupConfig& config);
  engine::QueueState queue_state(engine::QueueId queue) const;
  /// Whether a request of `queue` has not ended, or has not been reported.
  bool has_requests(engine::QueueId queue) const;
  Result<void> fail_queue(TimePs now, engine::QueueId queue);
  Result<void> reset_queue(TimePs now, engine::QueueId queue);
  /// Nothing more is begun, refused in another state than ready; requests that have been end as they do. With
  /// drain marks, the last completion says that the queue stands still. [URMA API, SUSPENDED]
  Result<void> suspend_queue(TimePs now, engine::QueueId queue);
  /// From now on `queue` is as patient as this; codes outside their ranges are refused.
  Result<void> set_patience(engine::QueueId queue, const JettyPatience& patience);
  /// From now on `queue`, which has a shared receive queue, refuses messages of others than `senders`, those
  /// that have a receive entry already not. [URMA API, bind]
  Result<void> take_from(engine::QueueId queue, const Senders& senders);
  /// Goes on with the requests that a suspended queue has kept.
  Result<void> resume_queue(TimePs now, engine::QueueId queue);
  /// Requests that a suspended queue has never begun end with kUnhandled here, the oldest first, as many as
  /// there is room for; none before it stands still. How many. [URMA API, urma_flush_jetty]
  Result<std::size_t> take_back(TimePs now, engine::QueueId queue, std::span<verbs::Completion> out);
  Result<void> cancel_receive(TimePs now, engine::QueueId queue, std::uint64_t id);
  Result<void> set_receive_limit(TimePs now, engine::QueueId queue, std::uint32_t count);
  Result<void> arm(TimePs now, engine::QueueId queue, const engine::Arming& arming);
  engine::PostStatus doorbell(TimePs now, engine::QueueId queue, engine::RingSide side, std::uint32_t count);
  Result<verbs::SegmentToken> register_segment(TimePs now, const verbs::SegmentConfig& config);
  /// Later accesses with this token are refused; accesses under way finish. Requests whose local memory it is
  /// end with kLocalAccess, and what they still have to say goes out as poison.
  Result<void> deregister_segment(TimePs now, verbs::SegmentToken token);
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) const;
  /// Imports the jetty in `blob`. The first import of a host makes the channel to it; packets flow when both
  /// ends have made theirs. After a channel failed at either end, both export and connect again, in any
  /// order: it begins a new life with new numbers, and what was outstanding at an end that had not noticed
  /// ends with kRetryExhausted.
  Result<engine::PeerId> connect(TimePs now, engine::QueueId queue, std::span<const std::byte> blob);
  /// `queue` is the one that connected. Refused while requests to the peer are outstanding. The channel stays
  /// for the other jetties.
  Result<void> disconnect(TimePs now, engine::QueueId queue, engine::PeerId peer);
  /// Jetty `jetty` of host `remote`, whose order is kept here, sends no more. Refused while requests of its
  /// wait for earlier ones.
  Result<void> forget_jetty(wire::HostAddress remote, std::uint32_t jetty);
  /// Host `remote` is gone for good: requests to it end with kRetryExhausted or kFlushed, its jetties are no
  /// peers any more, and its channel's memory serves the next host. Refused while a load or store of it is in
  /// execution, whose answer would reach that next host. Does nothing for a host without a channel.
  Result<void> forget_host(TimePs now, wire::HostAddress remote);

  // Inputs. Each runs to completion; consequences wait in the outputs below.
  engine::PostStatus post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                          engine::Submission submission);
  engine::PostStatus post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& receive);
  /// kQueueFull: every slot is taken, or results wait for poll_load_store().
  engine::PostStatus issue(TimePs now, const verbs::LoadStore& load_store);
  /// Malformed, unknown and unwanted packets are counted and dropped. One port: `port` is not looked at.
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet);
  /// Answers one next_access(), in any order. An id that is not pending is ignored.
  void access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result);
  /// Early or repeated calls do nothing.
  void expire(TimePs now);

  // Outputs. After every input, drain these until all are empty; transmit() can make new accesses.
  bool next_access(engine::Access& out);
  /// That and access_done() for all accesses, see engine/driver/engine_driver.h.
  template <typename Host>
  bool perform(TimePs now, Host& host) {
    AccessPort::Slot* slot = accesses_->take_front();
    if (slot == nullptr) return false;
    do {
      engine::AccessResult result;
      if (host.begin(slot->access(), result)) {
        answered(now, *slot, result);
        host.told(result);
      }
      slot = accesses_->take_front();
    } while (slot != nullptr);
    return true;
  }
  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& out);
  bool next_completed_queue(engine::QueueId& queue);
  bool poll(engine::QueueId queue, verbs::Completion& out);
  /// Records that find the completion queue full wait here, in order, until completions_polled(); without it
  /// they are lost and their jetty fails.
  Result<void> keep_records(engine::QueueId queue);
  /// An input: there is room for records that wait. True if some did.
  bool completions_polled(TimePs now);
  bool poll_load_store(verbs::LoadStoreResult& out);
  bool poll_event(engine::AsyncEvent& out);
  TimePs deadline() const;

  // Observation.
  const UbCounters& counters() const;
  const CongestionCounters& congestion_counters() const;
  const UbConfig& config() const;
  /// What the controller of the channel to `peer` shows of itself; without either, nothing limits anything.
  congestion::SenderTrace congestion_trace(wire::HostAddress peer) const;
  /// Of the channel that carries requests to `peer`.
  congestion::SenderTrace congestion_trace(engine::QueueId, engine::PeerId peer) const;
  void describe_waiting(std::vector<std::string>& out) const;
  /// What it holds now, its part of the arena included and payload buffers, which belong to their pool, not.
  std::vector<MemoryUse> memory_use() const;

 private:
  explicit UbEngine(std::unique_ptr<EngineParts> parts);
  /// An access that the host has taken is done.
  void answered(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result);

  std::unique_ptr<EngineParts> parts_;
  AccessPort* accesses_ = nullptr;  ///< Of parts_.
};

}  // namespace wharf::ub
