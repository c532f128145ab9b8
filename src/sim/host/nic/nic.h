// SPDX-License-Identifier: Apache-2.0
// A network interface of a simulated host: one protocol engine between the core, memory and the wire, with
// its transmit and receive pipelines. This half knows no protocol; engine_nic.h adds the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/units.h"
#include "engine/contract.h"
#include "sim/host/config/host_config.h"
#include "sim/host/nic/line_port.h"
#include "sim/host/nic/memory_port.h"
#include "sim/host/nic/nic_pipeline.h"
#include "sim/kernel/in_order_source.h"
#include "sim/kernel/simulation.h"
#include "wire/packet.h"
#include "wire/packet_role.h"

namespace wharf::sim {

/// The wire as a NIC sees it: a place for the next packet, the order to send what was put there, and how far
/// the link is behind.
class NicWire {
 public:
  virtual ~NicWire() = default;
  /// The classes whose next packet the link could begin to send by `ready`, for a NIC that asks at `now`.
  wire::TrafficClassMask open(TimePs now, TimePs ready) const {
    if (steady_) return free_at_ <= ready ? wire::kAllTrafficClasses : wire::TrafficClassMask{0};
    const TimePs idle = max(free_at_, now);
    wire::TrafficClassMask classes = 0;
    for (std::size_t one = 0; one < wire::kTrafficClassCount; ++one) {
      if (idle + queued_[one] <= ready) classes |= wire::mask_of(static_cast<wire::TrafficClass>(one));
    }
    return classes;
  }
  /// Of the link; 0 is unlimited.
  virtual BitsPerSecond rate() const { return {}; }
  /// When the link will be free if nothing more is handed to it; kNever where only the link's next step can
  /// tell, which Nic::link_moved() reports.
  TimePs free_at() const {
    if (steady_) return free_at_;
    for (const TimePs waiting : queued_) {
      if (waiting > kTimeZero) return kNever;
    }
    return free_at_;
  }
  /// Where the next packet is to be built; the same place until send().
  virtual wire::Packet& next_packet() = 0;
  /// Sends it. Its first flit is ready at `head` and its last at `tail` (equal to `head` when the NIC stores
  /// and forwards). The reference to the payload goes along. Calls come with non-decreasing `tail`.
  virtual void send(TimePs head, TimePs tail) = 0;

 protected:
  /// Nothing but this NIC's packets occupies the link: when each leaves is known as soon as it is handed
  /// over.
  bool steady_ = true;
  TimePs free_at_;  ///< Steady: after all that was handed over; else after what the link has begun to send.
  std::array<TimePs, wire::kTrafficClassCount>
      queued_{};  ///< Not steady: sending time of what waits, by class.
};

/// The software that owns queues of a NIC. Every call comes from inside an event of the NIC and must not call
/// back into it.
class QueueClient {
 public:
  virtual ~QueueClient() = default;
  /// The request that submit() announced.
  virtual const verbs::WorkRequest& request(std::uint32_t slot) = 0;
  virtual const verbs::ReceiveRequest& receive_request(std::uint32_t slot) = 0;
  /// The engine has taken or refused it; never called with kQueueFull, which the NIC waits out.
  virtual void posted(std::uint32_t slot, engine::PostStatus status) = 0;
  /// A completion record has become visible.
  virtual void completed(const verbs::Completion& completion) = 0;
};

/// The hardware of the core that issues loads and stores of remote memory through a NIC.
class LoadStoreClient {
 public:
  virtual ~LoadStoreClient() = default;
  virtual const verbs::LoadStore& load_store(std::uint32_t tag) = 0;
  /// The engine refused it; never called with kQueueFull.
  virtual void refused(std::uint32_t tag, engine::PostStatus status) = 0;
  /// The reference to `result.data` is the client's.
  virtual void answered(const verbs::LoadStoreResult& result) = 0;
};

/// What a NIC counts.
struct NicCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t accesses = 0;
  std::uint64_t transmit_stalls = 0;  ///< Times that the room before the transmit pipeline was full.
  std::uint64_t link_stalls = 0;      ///< Times that the link was behind and held the pipeline back.
  // Asynchronous events of the engine.
  std::uint64_t queue_errors = 0;       ///< A queue left the ready state.
  std::uint64_t peers_unreachable = 0;  ///< Retries toward a peer were exhausted.
  std::uint64_t completion_errors = 0;  ///< Completion records that could not be written.
};

/// The protocol-neutral half of a NIC.
class Nic : public Component, public LinePortClient {
 public:
  Nic(Simulation& simulation, const HostConfig& config, Attachment attachment, const HostParts& parts,
      std::uint16_t host);

  /// To be called once each, before the run and after Simulation::add().
  void connect_wire(NicWire& wire) {
    wire_ = &wire;
    buffered_ = transfer_time(Bytes{config_.nic.port_buffer}, wire.rate());
    delayed_.emplace(simulation_, id(), id(), kDelayedReceive);
  }
  void connect_load_store(LoadStoreClient& client) { load_store_client_ = &client; }
  /// Memory is coherent by lines, and reached through `port`.
  void connect_lines(std::unique_ptr<LinePort> port) { lines_ = std::move(port); }

  // Control side, at the current time of the simulation. See engine/contract.h.
  virtual Result<engine::QueueId> create_queue(const engine::QueueConfig& config) = 0;
  virtual Result<void> destroy_queue(engine::QueueId queue) = 0;
  virtual Result<verbs::SegmentToken> register_segment(const verbs::SegmentConfig& config) = 0;
  virtual Result<void> deregister_segment(verbs::SegmentToken token) = 0;
  virtual Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) const = 0;
  virtual Result<engine::PeerId> connect(engine::QueueId queue, std::span<const std::byte> blob) = 0;
  virtual Result<void> disconnect(engine::QueueId queue, engine::PeerId peer) = 0;

  /// Completions of `queue` go to `client` from now on. Returns the number by which submit() knows the
  /// client.
  std::uint16_t attach(engine::QueueId queue, QueueClient& client);

  // From the core. `at` is when the submission reaches the NIC; `source` is the core's component.
  /// Announces request `slot` of client `client` for `queue`.
  void submit(TimePs at, ComponentId source, std::uint16_t client, std::uint32_t slot,
              engine::Submission submission) {
    simulation_.schedule(at, id(), source,
                         submission == engine::Submission::kInHand ? kPostInHand : kPostDoorbell, slot,
                         client);
  }
  void submit_receive(TimePs at, ComponentId source, std::uint16_t client, std::uint32_t slot) {
    simulation_.schedule(at, id(), source, kPostReceive, slot, client);
  }
  void submit_load_store(TimePs at, ComponentId source, std::uint32_t tag) {
    simulation_.schedule(at, id(), source, kIssue, tag);
  }

  // From the wire.
  /// The link has begun to send a packet (wires that are not steady).
  void link_moved(TimePs now) {
    if (!waits_for_link_) return;
    waits_for_link_ = false;
    simulation_.schedule(max(now, simulation_.now()), id(), id(), kTransmitRoom, 0);
  }
  /// Time from a packet's last byte until the engine gets it, when the receive pipeline is free.
  TimePs receive_latency(const wire::Packet& packet) const;
  /// Fetches the memory that a load or store will touch here toward the processor that simulates: it comes so
  /// soon after the request that the memory of large runs would be waited for.
  [[gnu::always_inline]] void prefetch(const wire::Packet& packet) const {
    if (wire::is_load_store(packet) && !wire::is_response(packet))
      host_parts_.memory.prefetch(wire::load_store_address(packet));
  }
  /// A packet whose last byte arrived at `arrival`, handed over at least receive_latency() later. The caller
  /// keeps its reference to the payload.
  virtual void receive(const wire::Packet& packet, TimePs arrival) = 0;

  MemoryPort& port() { return port_; }
  void line_access_sent(TimePs now, std::uint32_t slot) override;
  void line_access_done(TimePs now, std::uint32_t slot) override;
  const NicCounters& counters() const { return counters_; }
  std::uint16_t host() const { return host_; }
  const NicConfig& config() const { return config_.nic; }

 protected:
  enum EventKind : std::uint16_t {
    kPostInHand,
    kPostDoorbell,
    kPostReceive,
    kIssue,
    kAccessBegin,  ///< argument: access slot.
    kAccessDone,
    kWriteAccepted,  ///< A posted write that had to wait for credits.
    kWriteVisible,
    kTimer,  ///< argument: generation.
    kTransmitRoom,
    kDelayedReceive,
  };

  struct PendingAccess {
    engine::Access access;
    TimePs since;
    bool answered = false;  ///< A posted write: the engine has been told already.
    bool on_lines = false;  ///< The result is that of the line port.
  };
  /// A post that found its queue full.
  struct WaitingPost {
    std::uint32_t slot = 0;
    std::uint16_t client = 0;
    std::uint16_t kind = 0;
    TimePs since;
  };
  struct Client {
    QueueClient* client = nullptr;
    engine::QueueId queue = 0;
  };

  std::uint32_t pipeline_depth(const wire::Packet& packet) const;
  /// The classes of which the engine's next packet may be taken; if none, kTransmitRoom comes when one may.
  wire::TrafficClassMask open_classes(TimePs now);
  std::uint32_t flits(const wire::Packet& packet) const;
  /// Passes the packet that the engine has put into the wire's place through the transmit pipeline.
  void transmit_packet(TimePs now, wire::Packet& packet);
  /// When the engine may have a packet that arrived at `arrival`, at the earliest `now`; reports the spans.
  TimePs admit(TimePs now, const wire::Packet& packet, TimePs arrival);
  /// A fresh slot for an access; grows the pool when it is exhausted.
  std::uint32_t take_access_slot();
  /// Keeps the data of a posted write until it is visible.
  void keep_payload(engine::Access& access);
  enum class Begun : std::uint8_t { kUnderWay, kDone, kFault };
  /// Begins an access to memory that is coherent by lines.
  Begun begin_on_lines(TimePs now, std::uint32_t slot);
  /// A write that the engine may forget when it has left, not only when it is performed.
  bool is_posted(const engine::Access& access) const;
  /// Reports where the time of an access on lines went, up to `now`.
  void account_lines(TimePs now, std::uint32_t slot);
  /// Counts what the engine reports unasked, and traces it.
  void note(TimePs now, const engine::AsyncEvent& event);
  QueueClient* client_of(engine::QueueId queue);
  void describe_common(std::vector<std::string>& lines) const;

  Simulation& simulation_;
  HostConfig config_;
  Attachment attachment_;
  HostParts host_parts_;
  std::uint16_t host_;
  MemoryPort port_;
  std::unique_ptr<LinePort> lines_;  ///< Instead of the port, where memory is coherent by lines.
  FlitCount flit_count_;
  NicPipeline transmit_;
  PipelineQueue transmit_queue_;
  TimePs transmit_wake_{-1};  ///< When kTransmitRoom is due; in the past when it is not.
  bool waits_for_link_ = false;
  TimePs transmit_depth_;  ///< From a packet's entry into the pipeline to its head, at most.
  TimePs buffered_;        ///< What the link takes to empty a full port buffer.
  TimePs streamed_;        ///< Store and forward: from the head to the tail of the longest packet so far.
  TimePs receive_free_;
  TimePs receive_last_;
  std::optional<InOrderSource<wire::Packet>> delayed_;  ///< Packets that wait for the receive pipeline.
  SlotPool<PendingAccess> accesses_;
  std::uint32_t spare_access_ = kNoSlot;
  NicWire* wire_ = nullptr;
  LoadStoreClient* load_store_client_ = nullptr;
  std::vector<Client> clients_;
  std::vector<WaitingPost> waiting_posts_;
  std::vector<std::uint32_t> waiting_issues_;
  NicCounters counters_;
};

}  // namespace wharf::sim
