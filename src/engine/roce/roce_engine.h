// SPDX-License-Identifier: Apache-2.0
// The RoCEv2 engine: queue pairs of one host's network interface, of reliable or unreliable connections or
// for datagrams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/sender_trace.h"
#include "engine/contract.h"
#include "engine/roce/config.h"
#include "engine/roce/congestion_control.h"
#include "engine/roce/context_store.h"
#include "engine/roce/engine_core.h"
#include "engine/roce/requester.h"
#include "engine/roce/responder.h"
#include "engine/roce/retransmission.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::roce {

struct ExchangeRecord;

/// One RoCEv2 interface: IBTA vol 1 reliable connections over UDP (Annex A17), interoperable with Linux
/// rdma_rxe. It knows no clock, socket or thread, and takes memory on the control side only. Verbs: Read,
/// Write, Write_imm, Send, Send_imm, Send_invalidate, compare-and-swap and fetch-and-add of 8 bytes;
/// everything else is kUnsupported, and so is the load/store path. One queue pair has one peer, unless it is
/// one for datagrams. QueueConfig::service chooses unreliable connections (UC) or datagrams (UD), whose
/// requests are complete when they have left.
///
/// A fatal NAK or exhausted retries move the queue pair to the error state, as IBTA vol 1 10.3.1 says: what
/// is outstanding completes with kFlushed and the queue refuses requests. It becomes usable again with
/// disconnect() (or reset()), export_queue() and connect() on both ends, which start fresh PSNs.
class RoceEngine {
 public:
  /// Queue pairs that one interface can have.
  static constexpr std::uint32_t kMaxQueues = 1U << 20U;

  /// Whether post() accepts the verb (with a width of 8 bytes for atomics).
  static bool supports(verbs::Verb verb);

  /// Refuses a config outside its ranges, naming the key. `pool` and `arena` outlive the engine and may be
  /// shared by the engines of one thread.
  static Result<RoceEngine> create(const RoceConfig& config, wire::PayloadPool& pool, Arena& arena);
  RoceEngine(RoceEngine&&) noexcept = default;
  RoceEngine(const RoceEngine&) = delete;
  RoceEngine& operator=(const RoceEngine&) = delete;
  ~RoceEngine();

  // --- Control. Takes memory; errors name what is wrong. ---

  /// A queue pair in INIT: receives may be posted. Depths are powers of two, 1 to 65536.
  Result<engine::QueueId> create_queue(TimePs now, const engine::QueueConfig& config);
  /// Of any kind, see engine/contract.h.
  Result<void> destroy_queue(TimePs now, engine::QueueId queue);
  /// The token's id is the R_Key; its value is unused.
  Result<verbs::SegmentToken> register_segment(TimePs now, const verbs::SegmentConfig& config);
  /// From now on no request touches it; one in progress is refused.
  Result<void> deregister_segment(TimePs now, verbs::SegmentToken token);
  /// What the peer's connect() needs. Of a queue in INIT; the same until the queue is reset.
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) const;
  /// INIT to RTR to RTS. The queue has no peer yet; its peer's number is its own. Of datagrams: one more
  /// peer, whose handle stays until disconnect() or destroy_queue().
  Result<engine::PeerId> connect(TimePs now, engine::QueueId queue, std::span<const std::byte> blob);
  /// Outstanding requests and receives complete with kFlushed; the queue is in INIT afterwards, with fresh
  /// PSNs.
  Result<void> disconnect(TimePs now, engine::QueueId queue, engine::PeerId peer);
  /// Any state to RESET and on to INIT: outstanding requests and receives vanish without completion
  /// [IBTA vol 1 10.3.1.1].
  Result<void> reset(TimePs now, engine::QueueId queue);
  bool poll_event(engine::AsyncEvent& out);

  // --- Shared queues and life, see engine/contract.h. There are no groups. ---

  engine::Capabilities capabilities() const;
  Result<engine::QueueId> create_completion_queue(TimePs now, const engine::CompletionQueueConfig& config);
  Result<engine::QueueId> create_receive_queue(TimePs now, const engine::ReceiveQueueConfig& config);
  Result<engine::QueueId> create_group(TimePs now, const engine::GroupConfig& config);
  engine::QueueState queue_state(engine::QueueId queue) const;
  Result<void> fail_queue(TimePs now, engine::QueueId queue);
  Result<void> reset_queue(TimePs now, engine::QueueId queue);
  /// RTS to SQD: requests that were begun end as they do, kQueueDrained says when the last has, the others
  /// are kept. Refused in other states. [IBTA vol 1 10.3.1.5]
  Result<void> suspend_queue(TimePs now, engine::QueueId queue);
  /// SQD to RTS, drained or not: goes on with what was kept. SQE to RTS. Refused in other states.
  Result<void> resume_queue(TimePs now, engine::QueueId queue);
  /// Refused, and nothing has changed, where the state or the service has no such attribute.
  Result<void> change_queue(TimePs now, engine::QueueId queue, const QueueChanges& changes);
  /// Disconnects every queue pair whose peer is there.
  Result<void> forget_host(TimePs now, wire::HostAddress host);
  Result<void> cancel_receive(TimePs now, engine::QueueId queue, std::uint64_t id);
  Result<void> set_receive_limit(TimePs now, engine::QueueId queue, std::uint32_t count);
  Result<void> arm(TimePs now, engine::QueueId queue, const engine::Arming& arming);
  engine::PostStatus doorbell(TimePs now, engine::QueueId queue, engine::RingSide side, std::uint32_t count);

  // --- Application. ---

  engine::PostStatus post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                          engine::Submission submission);
  engine::PostStatus post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& request);
  /// Always kUnsupported: RoCE has no load/store path.
  engine::PostStatus issue(TimePs now, const verbs::LoadStore& request);
  /// Completions of requests in posting order, those of receives in arrival order.
  bool poll(engine::QueueId queue, verbs::Completion& out) {
    QueuePair* pair = find(queue);
    if (pair == nullptr) [[unlikely]]
      return core_.completion_queues.poll(queue, out);
    return take<verbs::CompletionKind::kSend>(pair->send_completions, queue, out) ||
           take<verbs::CompletionKind::kReceive>(pair->receive_completions, queue, out);
  }
  bool next_completed_queue(engine::QueueId& out);
  bool poll_load_store(verbs::LoadStoreResult& out);

  // --- Network. ---

  /// Malformed, unknown or foreign packets are counted and dropped. `port` is ignored: an interface has one.
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet);
  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask classes, wire::Packet& out);
  /// The same for all that may leave, see engine/driver/engine_driver.h. In roce_engine_drain.h.
  template <typename Out>
  bool transmit_all(TimePs now, Out& out);

  // --- Memory. ---

  bool next_access(engine::Access& out) {
    if (core_.unprepared != nullptr) prepare_posted(core_.unprepared_since);
    if (!core_.port.has_next()) return false;
    AccessSlot* const slot = core_.take_access();
    if (slot == nullptr) return false;
    slot->asked = true;
    out = slot->access;
    return true;
  }
  /// Does nothing unless `access` was given by next_access() and not answered yet.
  void access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result);
  /// Both at once for all accesses, see engine/driver/engine_driver.h. In roce_engine_drain.h.
  template <typename Host>
  bool perform(TimePs now, Host& host);

  // --- Time. ---

  /// Early or repeated calls do nothing.
  void expire(TimePs now);
  TimePs deadline() const { return min(core_.timers.earliest(), congestion_.deadline()); }

  // --- Observation. ---

  const Counters& counters() const { return core_.counters; }
  /// What the program knows of the queue's state.
  QueueState state(engine::QueueId queue) const;
  /// Toward `peer`, over all queue pairs connected to it; empty without a controller.
  congestion::SenderTrace congestion_trace(wire::HostAddress peer) const { return congestion_.trace(peer); }
  /// Of `queue` alone.
  congestion::SenderTrace congestion_trace(engine::QueueId queue, engine::PeerId) const {
    return congestion_.trace_queue(queue);
  }
  void describe_waiting(std::vector<std::string>& lines) const;
  /// What it holds now; payload buffers belong to their pool and are not counted.
  std::vector<MemoryUse> memory_use() const;

 private:
  struct Parts {
    Parts(const RoceConfig& config, wire::PayloadPool& pool, Arena& arena);

    EngineCore core;
    CongestionControl congestion;
    Retransmission retransmission;
    Requester requester;
    Responder responder;
    ContextStore contexts;
  };
  explicit RoceEngine(std::unique_ptr<Parts> parts);

  QueuePair* find(engine::QueueId queue) {
    return queue < core_.queue_count && core_.queues[queue]->in_use ? core_.queues[queue].get() : nullptr;
  }
  const QueuePair* find(engine::QueueId queue) const;
  /// The queue pair that `packet` is for, or null after counting why not.
  QueuePair* accept(const wire::Packet& packet);
  [[gnu::noinline]] engine::PostStatus post_other(TimePs now, QueuePair& pair,
                                                  const verbs::WorkRequest& request,
                                                  engine::Submission submission);
  /// `pair` has requests that prepare_posted() is to prepare, if they find room.
  [[gnu::always_inline]] void note_posted(TimePs now, QueuePair& pair);
  [[gnu::noinline]] void prepare_posted(TimePs now);
  [[gnu::always_inline]] bool refill_plain(TimePs now, QueuePair& pair);
  [[gnu::always_inline]] bool transmit_one(TimePs now, wire::TrafficClassMask classes, wire::Packet& out);
  [[gnu::noinline]] bool transmit_asking(TimePs now, wire::TrafficClassMask classes, wire::Packet& out);
  [[gnu::noinline]] bool transmit_other(TimePs now, wire::TrafficClassMask classes, wire::Packet& out);
  [[gnu::noinline]] bool relist_answers(TimePs now, QueuePair& pair, std::size_t at, std::size_t next);
  /// Runs `pair` as the last thing of transmit().
  [[gnu::noinline]] bool refill(TimePs now, QueuePair& pair);
  [[gnu::noinline]] engine::PostStatus post_asking(TimePs now, QueuePair& pair,
                                                   const verbs::WorkRequest& request,
                                                   engine::Submission submission);
  [[gnu::noinline]] void receive_send(TimePs now, QueuePair& pair, const wire::Packet& packet);
  [[gnu::noinline]] void receive_asking(TimePs now, QueuePair& pair, const wire::Packet& packet);
  [[gnu::noinline]] void receive_read(TimePs now, QueuePair& pair, const wire::Packet& packet);
  [[gnu::noinline]] void receive_other(TimePs now, const wire::Packet& packet);
  template <Flow kFlow, typename Half>
  bool serve(TimePs now, QueuePair& pair, Half& half, std::size_t at, wire::Packet& out);
  /// Its share of every packet that leaves: sizes and counters.
  [[gnu::always_inline]] void seal(wire::Packet& out) {
    out.header_bytes = core_.fixed_header_bytes + wire::roce_extension_bytes(out.roce.bth.opcode);
    ++core_.counters.packets_sent;
  }
  void handle_packet(TimePs now, QueuePair& pair, const wire::Packet& packet);
  void handle_access(TimePs now, AccessSlot& slot, const engine::AccessResult& result);
  /// The usual answers; false, and nothing has happened, when there is more to do than to take note of it.
  [[gnu::always_inline]] bool take_plain_answer(QueuePair& pair, AccessSlot& slot,
                                                const engine::AccessResult& result);
  [[gnu::always_inline]] bool note_written(QueuePair& pair, PositionRing<CompletionEntry>& ring,
                                           Position position);
  [[gnu::always_inline]] void answered(TimePs now, AccessSlot& slot, const engine::AccessResult& result);
  template <typename Host>
  void perform_one(TimePs now, AccessSlot& slot, Host& host);
  template <typename Host, typename Element, typename Fill, typename Take>
  void perform_run(TimePs now, QueuePair& pair, AccessSlot& slot, PositionRing<Element>& ring, Host& host,
                   Fill fill, Take take);
  template <typename Host>
  void perform_payloads(TimePs now, AccessSlot& slot, Host& host);
  template <typename Host>
  void perform_completions(TimePs now, AccessSlot& slot, Host& host);
  [[gnu::noinline]] void other_answered(TimePs now, AccessSlot& slot, const engine::AccessResult& result);
  void completion_written(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
  /// The record of the memory key that `packet` will be checked against, or kNoRecord.
  std::uint32_t needed_key(const QueuePair& pair, const wire::RocePacket& packet) const;
  /// Selective repeat: executes requests that came early and whose turn it is.
  [[gnu::noinline]] void take_early(TimePs now, QueuePair& pair);
  /// The completion in front of `ring`, once the program may see it.
  template <verbs::CompletionKind kKind>
  static bool take(PositionRing<CompletionEntry>& ring, engine::QueueId queue, verbs::Completion& out) {
    if (ring.empty() || !ring.front().visible) return false;
    ring.front().show(kKind, queue, out);
    ring.pop_known();
    return true;
  }
  /// Ends every input: runs the queue pairs that were kicked.
  void settle(TimePs now) {
    if (core_.attention) run_kicked(now);
  }
  bool needs_attention() const {
    return !core_.kicked.empty() || !core_.starved.empty() || !contexts_.is_unlimited();
  }
  void run_kicked(TimePs now);
  void run_all_kicked(TimePs now);
  void run_posted(TimePs now, QueuePair& pair);
  [[gnu::always_inline]] void run(TimePs now, QueuePair& pair) {
    pair.usual = {};
    if (pair.fatal || pair.context.state == QueueState::kError) [[unlikely]] {
      pair.fatal = false;
      enter_error(now, pair);
    }
    requester_.advance(now, pair);
    responder_.advance(now, pair);
    if (pair.selective != nullptr && pair.selective->early.stalled) [[unlikely]]
      take_early(now, pair);
    core_.issue_completions(pair);
  }
  /// Works off what waited for the records of `pair`.
  void catch_up(TimePs now, QueuePair& pair);
  void init_context(QueuePair& pair);
  /// What the context says of the peer goes into PacketStart.
  void prepare_start(QueuePair& pair);
  void attach_places(QueuePair& pair);
  void enter_error(TimePs now, QueuePair& pair, bool report = true);
  /// enter_error() of a queue pair whose record is not on the interface.
  void fail_without_context(TimePs now, QueuePair& pair, bool report = true);
  /// Either of the two; `report`: kQueueError says so.
  void fail(TimePs now, QueuePair& pair, bool report);
  engine::PostStatus post_shared_receive(engine::QueueId queue, const verbs::ReceiveRequest& request);
  /// What a config says of shared queues; makes the receive queue of a ring of bytes.
  Result<void> attach_shared(engine::QueueConfig& config, bool& own_receive_queue);
  void detach_shared(QueuePair& pair);
  void flush_into_shared(TimePs now, QueuePair& pair);
  void completion_failed(QueuePair& pair, CompletionEntry& completion);
  void clear(TimePs now, QueuePair& pair);
  void resume_others(TimePs now);
  void draw_starting_psn(QueuePair& pair);
  /// A queue pair for datagrams needs no peer: INIT to RTR to RTS.
  void open_datagrams(TimePs now, QueuePair& pair);
  void begin_requests(QueuePair& pair) const;
  /// Attributes that change_queue() has set go into the context.
  static void show_changes(QueuePair& pair);
  static Result<engine::PeerId> add_handle(QueuePair& pair, const ExchangeRecord& remote);

  // The parts refer to one another, so they stay where they are when the engine moves.
  std::unique_ptr<Parts> parts_;
  EngineCore& core_;
  CongestionControl& congestion_;
  Retransmission& retransmission_;
  Requester& requester_;
  Responder& responder_;
  ContextStore& contexts_;
};

static_assert(engine::Engine<RoceEngine>);

}  // namespace wharf::roce

#include "engine/roce/roce_engine_drain.h"
