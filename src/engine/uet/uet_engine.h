// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet interface of one host: semantic (SES), packet delivery (PDS) and congestion management (CMS)
// sublayers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "engine/congestion/sender_trace.h"
#include "engine/contract.h"
#include "engine/uet/access_port.h"
#include "engine/uet/config.h"
#include "engine/uet/counters.h"
#include "wire/payload_pool.h"

namespace wharf::uet {

struct EngineParts;

/// One host's fabric endpoint (FEP). A queue is an endpoint {JobID, PIDonFEP, resource index}; a peer is a
/// remote one; PDCs open by themselves when messages need them. It knows no clock, socket or thread, and in
/// steady state takes no memory. Implements UE 1.0 sections 3.4 (SES), 3.5 (PDS) and 3.6 (CMS) as far as
/// public sources show them; secured packets (3.7, TSS) are refused.
///
/// How work requests map: kRead, kWrite, kWriteImm (header data), kSend, kSendImm, tagged or not, and all
/// atomics; `delivery` chooses RUD, ROD, RUDI or UUD. kWriteNotify, kSendInvalidate, loads and stores have no
/// counterpart. `remote.address` counts from the region's base unless UetConfig::virtual_addresses.
class UetEngine {
 public:
  /// `config` must validate(); the error names the key. `payloads` and `arena` outlive the engine and may be
  /// shared by the engines of one thread.
  static Result<UetEngine> create(const UetConfig& config, wire::PayloadPool& payloads, Arena& arena);
  /// What many engines can be made of; refused like above. Engines of one process that share it read it from
  /// the cache, whichever of them is at work.
  static Result<std::shared_ptr<const UetConfig>> prepare(const UetConfig& config);
  /// The engine of `host` with `seed`, whatever `prepared` says of these two.
  static UetEngine create(std::shared_ptr<const UetConfig> prepared, wire::HostAddress host,
                          std::uint64_t seed, wire::PayloadPool& payloads, Arena& arena);
  UetEngine(UetEngine&&) noexcept;
  UetEngine& operator=(UetEngine&&) noexcept;
  ~UetEngine();

  // Control. May take memory.
  static constexpr bool supports(verbs::Verb verb) {
    return !verbs::is_load_store(verb) && verb != verbs::Verb::kWriteNotify &&
           verb != verbs::Verb::kSendInvalidate;
  }
  /// Depths are powers of two up to 65536. The endpoint's address is the configured one, its resource index
  /// counted up per queue.
  Result<engine::QueueId> create_queue(TimePs now, const engine::QueueConfig& config);
  /// The same with an address and an initiator id of its own.
  Result<engine::QueueId> create_endpoint(TimePs now, const engine::QueueConfig& config,
                                          const EndpointAddress& address, std::uint32_t initiator_id);
  /// Of a queue or a completion queue, see engine/contract.h. Messages kept for it are gone.
  Result<void> destroy_queue(TimePs now, engine::QueueId queue);
  /// Registered for the configured JobID, with a key of the engine's choice: the two halves of the token.
  Result<verbs::SegmentToken> register_segment(TimePs now, const verbs::SegmentConfig& config);
  /// The same for any JobID. `key`: at most 48 bits, or nothing for one of the engine's choice. `idempotent`:
  /// the region may be targeted through RUDI.
  Result<verbs::SegmentToken> register_region(TimePs now, const verbs::SegmentConfig& config,
                                              std::uint32_t job_id, std::optional<std::uint64_t> key,
                                              bool idempotent);
  /// Later accesses with this token are refused; accesses under way finish.
  Result<void> deregister_segment(TimePs now, verbs::SegmentToken token);
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) const;
  /// Imports the endpoint in `blob`. Nothing is sent: PDCs open with the first message.
  Result<engine::PeerId> connect(TimePs now, engine::QueueId queue, std::span<const std::byte> blob);
  /// Refused while requests to the peer are outstanding.
  Result<void> disconnect(TimePs now, engine::QueueId queue, engine::PeerId peer);
  /// Host `remote` is gone for good: requests to it end with kRetryExhausted or kFlushed, its endpoints are
  /// no peers any more, and what the engine keeps for it serves the next host, which may have the same
  /// number. Refused while memory is at work on a packet of it or for it, whose answer would reach that next
  /// host. Does nothing for a host that the engine does not know.
  Result<void> forget_host(TimePs now, wire::HostAddress remote);
  // Shared queues and life, see engine/contract.h. There are no shared receive queues, groups or rings of
  // bytes.
  engine::Capabilities capabilities() const;
  Result<engine::QueueId> create_completion_queue(TimePs now, const engine::CompletionQueueConfig& config);
  Result<engine::QueueId> create_receive_queue(TimePs now, const engine::ReceiveQueueConfig& config);
  Result<engine::QueueId> create_group(TimePs now, const engine::GroupConfig& config);
  engine::QueueState queue_state(engine::QueueId queue) const;
  /// Peers are told that the resource index is disabled, until reset_queue().
  Result<void> fail_queue(TimePs now, engine::QueueId queue);
  Result<void> reset_queue(TimePs now, engine::QueueId queue);
  Result<void> cancel_receive(TimePs now, engine::QueueId queue, std::uint64_t id);
  Result<void> set_receive_limit(TimePs now, engine::QueueId queue, std::uint32_t count);
  Result<void> arm(TimePs now, engine::QueueId queue, const engine::Arming& arming);
  engine::PostStatus doorbell(TimePs now, engine::QueueId queue, engine::RingSide side, std::uint32_t count);
  /// Disables or enables the resource index of a queue; enabling counts its generation up. [UE 1.0 3.4]
  Result<void> set_enabled(TimePs now, engine::QueueId queue, bool enabled);

  // Inputs. Each runs to completion; consequences wait in the outputs below.
  engine::PostStatus post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                          engine::Submission submission);
  engine::PostStatus post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& receive);
  /// kUnsupported: UET has no load/store path.
  engine::PostStatus issue(TimePs now, const verbs::LoadStore& load_store);
  /// Malformed, unknown and unwanted packets are counted and dropped. `port` is not looked at.
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet);
  /// Answers one next_access(), in any order. An id that is not pending is ignored.
  void access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result);
  /// So many bytes that have arrived wait behind the network interface for the host's memory, which is not
  /// the engine's doing: for target flow control. Stands until the next call.
  void note_backlog(std::uint64_t bytes);
  /// Early or repeated calls do nothing.
  void expire(TimePs now);

  // Outputs. After every input, drain these until all are empty; transmit() can make new accesses.
  bool next_access(engine::Access& out);
  /// That and access_done() for all accesses, see engine/driver/engine_driver.h.
  template <typename Host>
  bool perform(TimePs now, Host& host) {
    engine::Access* access = accesses_->take_front();
    if (access == nullptr) return false;
    do {
      const engine::AccessId id = access->id;
      engine::AccessResult result;
      if (host.begin(*access, result)) {
        answered(now, id, result);
        host.told(result);
      } else {
        accesses_->note_taken(id);
      }
      access = accesses_->take_front();
    } while (access != nullptr);
    return true;
  }
  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& out);
  bool next_completed_queue(engine::QueueId& queue);
  bool poll(engine::QueueId queue, verbs::Completion& out);
  bool poll_load_store(verbs::LoadStoreResult& out);
  bool poll_event(engine::AsyncEvent& out);
  TimePs deadline() const;

  /// Every input goes the general way from now on: for tests, which compare it with the short ways of usual
  /// inputs (uet_engine_plain.cc).
  void forbid_short_ways();

  // Observation.
  const UetCounters& counters() const;
  const UetConfig& config() const;
  /// Toward `peer`, over all of its congestion contexts.
  congestion::SenderTrace congestion_trace(wire::HostAddress peer) const;
  /// Of the context that carries what is posted to `queue` for `peer`; empty while there is none.
  congestion::SenderTrace congestion_trace(engine::QueueId queue, engine::PeerId peer) const;
  /// The memory that the engine holds, kind by kind; payload buffers are their pool's.
  std::vector<MemoryUse> memory_use() const;
  /// The sublayers, for tests and reports; read only.
  const EngineParts& parts() const { return *parts_; }
  void describe_waiting(std::vector<std::string>& out) const;

 private:
  explicit UetEngine(std::unique_ptr<EngineParts> parts);
  // The general ways of inputs whose usual ones are in uet_engine_plain.cc.
  engine::PostStatus post_other(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                                engine::Submission submission);
  bool transmit_other(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  bool transmit_of_pdcs(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  void receive_other(TimePs now, const wire::Packet& packet);
  /// An access that the host has taken is done.
  void answered(TimePs now, engine::AccessId access, const engine::AccessResult& answer);
  // The usual answers of memory, and what follows them (uet_engine_plain.cc).
  void completion_done(const PendingAccess& taken, const engine::AccessResult& answer);
  void payload_done(TimePs now, const PendingAccess& taken, const engine::AccessResult& answer);
  void placement_done(TimePs now, const PendingAccess& taken, const engine::AccessResult& answer);
  void settle(TimePs now);
  void settle_all(TimePs now);
  [[gnu::noinline]] void keep(TimePs now, wire::BufferId buffer);
  [[gnu::noinline]] void release(TimePs now, wire::BufferId buffer);
  void access_done_other(TimePs now, const PendingAccess& taken, const engine::AccessResult& answer);

  std::unique_ptr<EngineParts> parts_;
  AccessPort* accesses_ = nullptr;  ///< Of parts_.
};

}  // namespace wharf::uet
