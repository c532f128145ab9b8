// SPDX-License-Identifier: Apache-2.0
// Packet delivery sublayer: PDCs from opening to close, packet numbers, acknowledgements, retransmission and
// what a receiver keeps until it is cleared. It moves packets; what they mean is SES's business. [UE 1.0 3.5]
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/random.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/congestion/controller.h"
#include "engine/contract.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/reliability/retransmission_timer.h"
#include "engine/uet/access_port.h"
#include "engine/uet/config.h"
#include "engine/uet/message.h"
#include "engine/uet/pdc.h"
#include "engine/uet/pdcid_pool.h"
#include "wire/packet.h"

namespace wharf::uet {

struct CongestionContext;
struct EngineParts;

class Pds {
 public:
  Pds(EngineParts& parts, std::uint64_t seed);
  /// The engine is in use since `now`. Control side.
  void begin(TimePs now);

  // --- PDC manager (pds_connections.cc).
  Pdc& pdc(std::uint32_t index) { return *pdcs_[index]; }
  const Pdc& pdc(std::uint32_t index) const { return *pdcs_[index]; }
  Pdc& operator[](std::uint32_t index) { return *pdcs_[index]; }
  std::uint32_t pdc_count() const { return static_cast<std::uint32_t>(pdcs_.size()); }
  /// The PDC that carries a new message, opened when there is none; kNoSlot when the pools are exhausted.
  /// [UE 1.0 3.5.8]
  std::uint32_t pdc_for(TimePs now, wire::HostAddress host, std::uint32_t route, bool ordered,
                        bool reserved = false);

  /// The PDC that carries new messages already; kNoSlot when there is none.
  std::uint32_t known_pdc(wire::HostAddress host, std::uint32_t route, bool ordered);  // pds_plain.h
  /// Likewise, for observers.
  std::uint32_t find_pdc(wire::HostAddress host, std::uint32_t route, bool ordered) const {
    const std::uint32_t* found = routes_.find(route_key(host, route, ordered, false));
    return found != nullptr ? *found : kNoSlot;
  }
  /// What requests of `peer` in `job_id` share a PDC by: the job, or the connection alone.
  std::uint32_t route_of(std::uint32_t job_id, verbs::PeerId peer) const {
    return contexts_per_connection_ ? kConnectionRoute | peer : job_id;
  }

  // --- What SES asks for (pds_transmit.cc, pds_response.cc).
  /// Sends the packets of outbound message `slot` over `pdc`, behind the messages queued there.
  void enqueue(TimePs now, std::uint32_t pdc, std::uint32_t slot);
  /// The same, and settle(), for a plain message.
  void enqueue_plain(EngineParts& parts, TimePs now, std::uint32_t pdc, std::uint32_t slot);  // pds_plain.h
  /// Cuts no further packet of a queued message.
  void stop(TimePs now, std::uint32_t slot);
  /// The answer to an accepted packet; ends the inbound packet. Takes over no reference of `data`. `region`:
  /// the rendezvous region whose remainder the data is.
  void respond(TimePs now, std::uint32_t inbound, wire::UetNextHeader form,
               const wire::UetSesResponse& response, const wire::Payload& data,
               std::uint32_t region = kNoSlot);
  /// The same with DEFAULT_RESPONSE, RC_OK, for a packet of a PDC.
  void respond_default(TimePs now, std::uint32_t inbound);
  void respond_default_here(TimePs now, std::uint32_t inbound);  ///< The same, inlined (pds_respond.h).

  /// Memory has placed what came back, or nobody waits for it: a PDC that is to close may have drained.
  void data_settled(TimePs now, std::uint32_t pdc) {
    if (pdcs_[pdc]->state == PdcState::kQuiesce) [[unlikely]]
      drain_step(now, pdc);
  }

  /// Whether a PDC has a packet that may leave but for congestion (pds_next.h).
  bool sendable(const Pdc& pdc) const;

  // --- Network.
  void receive(TimePs now, const wire::Packet& packet);
  /// Requests go the general way until one of them has said whose the next may be.
  void forget_usual() { usual_sender_ = nullptr; }
  /// The usual packet: a Write, a Read or returned data of one packet, the next in order; false, and nothing
  /// has happened, when it is not like that.
  bool receive_plain(EngineParts& parts, TimePs now, const wire::Packet& packet);  // pds_plain.h
  bool transmit(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  /// Whether anything but data of a PDC may have to leave.
  bool has_others() const {
    return !control_.empty() || !acknowledgements_.empty() || !staged_order_.empty();
  }
  // The short ways (pds_plain.h) are given `parts`, which a register holds then.
  /// The usual packet and settle(); false, and nothing has happened, when the next one is not like that.
  bool transmit_plain(EngineParts& parts, TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  /// Fetches payload ahead of transmission.
  /// A congestion context goes: nothing is fetched for it any more.
  void stop_fetching(std::uint32_t ccc);
  bool is_settled() const { return staged_order_.empty() && fetch_wanted_.empty(); }
  [[gnu::always_inline]] void settle(TimePs now) {
    if (!staged_order_.empty() || !fetch_wanted_.empty()) fetch_wanted(now);
  }
  /// Memory has answered for staged packet `staged`; `piece`: where that part of it begins.
  void data_done(TimePs now, std::uint32_t staged, std::uint64_t piece, const engine::AccessResult& result);
  /// The usual answers: to the one read of a payload, to the write of a whole message. False says nothing.
  bool take_plain_data(TimePs now, std::uint32_t staged, const engine::AccessResult& result);
  bool placed_plain(EngineParts& parts, std::uint32_t inbound);
  /// Likewise, to the write of returned data (pds_plain_reads.cc).
  bool data_placed_plain(EngineParts& parts, TimePs now, std::uint32_t inbound);
  void expire(TimePs now);
  TimePs deadline() const { return timers_.earliest(); }

  // --- For packets without a PDC (rudi.h).
  bool may_stage() const { return staged_order_.size() < parts_config().fetch_ahead_packets; }
  /// Fetches the payload of packet `packet` of Rudi and lets it leave.
  void stage_unsequenced(TimePs now, std::uint32_t packet, std::uint8_t sends, std::uint32_t slot,
                         std::uint32_t offset, std::uint32_t length);
  /// Fills in what every packet has.
  void finish(wire::Packet& out, wire::TrafficClass traffic_class, wire::HostAddress peer,
              std::uint16_t entropy, std::uint32_t header_bytes);  // pds_next.h
  /// RTO after `timeouts` expiries.
  TimePs rto(std::uint32_t timeouts) const { return timeouts == 0 ? first_rto_ : later_rto(timeouts); }

  /// Window bytes of the next packet of a PDC that is ready.
  std::uint32_t next_window_bytes(const Pdc& pdc) const;
  /// What the window has to have room for before that packet leaves: its window bytes, or kNoRoomNeeded.
  std::uint64_t room_for_next(const Pdc& pdc) const;
  // --- For CMS (pds_congestion.cc).
  /// Sends a Probe CP over an open PDC; its opaque value.
  std::uint16_t probe(std::uint32_t pdc);
  /// Sends a Credit Request CP, or a Credit CP, with a counter of 24 bits.
  void request_credit(std::uint32_t pdc, std::uint32_t target_units);
  void send_credit(std::uint32_t pdc, std::uint32_t total_units);
  /// Nothing of `pdc` is under way for want of credit: after a while, finds out whether the peer still knows
  /// it.
  void await_credit(TimePs now, std::uint32_t pdc);
  /// Whether Probe CPs follow silence, and the silence after `record` was heard of.
  bool probes_tail() const { return parts_config().infer_loss || parts_config().tail_loss_time > kTimeZero; }
  TimePs tail_silence(const Pdc& record) const;

  /// Ends every PDC with `host`, and drops what it would still have been told.
  void forget_host(TimePs now, wire::HostAddress host);
  void add_memory_use(std::vector<MemoryUse>& out) const;
  void release_buffers();
  void describe_waiting(std::vector<std::string>& out) const;
  std::uint32_t stored_responses() const { return stored_.in_use(); }

 private:
  const UetConfig& parts_config() const;
  /// Up to ids_: packets look at no more of it (prefetch.h).
  static constexpr std::size_t kHotBytes = std::size_t{6} * 64;
  /// ACKs, and likewise NACKs and CPs, that wait for transmit() at most.
  static constexpr std::size_t kControlJobsMax = 65536;
  /// A packet without a place in a congestion window that waits for transmit().
  struct ControlJob {
    wire::UetPdsType type = wire::UetPdsType::kAck;
    wire::UetControlType control = wire::UetControlType::kNoop;
    wire::UetNackCode code = wire::UetNackCode::kTrimmed;
    wire::UetNextHeader form = wire::UetNextHeader::kNone;
    std::uint8_t flags = 0;   ///< M, RETX, P, NT of ACKs and NACKs; RETX, AR, SYN, ISROD of CPs.
    bool on_trigger = false;  ///< ACK: SACK_BASE is the trigger.
    std::uint32_t pdc = kNoSlot;
    std::uint32_t generation = 0;
    UetPsn psn = 0;
    UetPsn cumulative = 0;  ///< For when the PDC is gone.
    std::uint32_t payload = 0;
    wire::HostAddress peer;
    std::uint16_t source_id = 0;
    std::uint16_t destination_id = 0;
    std::uint16_t entropy = 0;
    std::uint16_t opaque = 0;
    TimePs arrived_at{};
    wire::OperationTag operation;  ///< Of the packet that is answered.
    wire::UetSesResponse response;
    wire::Payload data;
  };
  /// Payload that has been fetched, or is being fetched, for a packet that has not left.
  struct StagedPacket {
    std::uint32_t pdc = kNoSlot;      ///< kNoSlot: of Rudi.
    std::uint32_t next = kNoSlot;     ///< Link of Pdc::fetched or fetched_again.
    std::uint32_t message = kNoSlot;  ///< Outbound message,
    std::uint32_t offset = 0;         ///< which bytes of it,
    std::uint32_t length = 0;         ///< and how many.
    UetPsn psn = 0;                   ///< Of a repetition. Of Rudi: its packet.
    std::uint32_t pieces = 0;         ///< Memory accesses under way.
    std::uint8_t sends = 0;           ///< Of Rudi: the copy that it is.
    bool whole_result = false;        ///< One access gives all of the payload.
    bool failed : 1 = false;
    bool dropped : 1 = false;  ///< Nobody wants it; it ends with its last access.
    bool made_plain = false;  ///< Of a message of one packet and piece; the next one sets few of its members.
    TimePs ready_at{};        ///< The latest piece came.
    wire::Payload payload;    ///< The engine has a reference.
  };
  /// The next packet of a PDC, on its way out.
  struct Leaving {
    std::uint32_t pdc = kNoSlot;
    std::uint32_t window_bytes = 0;
    Pdc* record = nullptr;
    CongestionContext* context = nullptr;
    bool failed = false;    ///< Its memory could not be read.
    TimePs ready_at{};      ///< Its payload was there.
    wire::Payload payload;  ///< With the reference that goes with the packet.
  };
  /// How long a peer has answered nothing of what it was asked: since `from`, which time moves on in which
  /// nothing was asked. Up to `counted_until` that is done.
  struct Silence {
    TimePs from;
    TimePs counted_until;
  };
  /// A PDC that was here, or an opening that was refused.
  struct ClosedPdc {
    enum class End : std::uint8_t { kClosed, kFailed, kRefused };
    std::uint64_t key = 0;
    UetPsn start = 0;
    UetPsn last = 0;
    End end = End::kClosed;
    TimePs until{};
  };
  /// What an acknowledgement did, collected for CMS.
  struct Effects {
    congestion::Acknowledgement acknowledgement;
    std::uint64_t psn_bytes = 0;  ///< Window bytes of the PSNs confirmed.
    bool answers_all = false;     ///< Every PSN up to the CACK, which is new, has its answer.
  };

  // pds_connections.cc
  std::uint32_t open(TimePs now, PdcRole role, wire::HostAddress peer, bool ordered, bool reserved,
                     UetPsn start);
  UetPsn draw_start(std::uint16_t local_id);
  void grow_ring(PdcSend& tx);
  bool step(TimePs now, std::uint32_t index, PdcEvent event);
  void want_close(TimePs now, std::uint32_t index);
  void drain_step(TimePs now, std::uint32_t index);
  void free_pdc(TimePs now, std::uint32_t index);
  void remember_closed(TimePs now, ClosedPdc closed);
  /// Of the refused openings, when there are `limit`.
  void forget_oldest_refused(std::size_t limit);
  void forget_route(std::uint32_t index);
  std::uint32_t find_route(std::uint64_t key);
  TimePs later_rto(std::uint32_t timeouts) const;
  /// Takes the stored responses up to `up_to` off their list; the first of them, the newest.
  std::uint32_t take_cleared(PdcReceive& rx, UetPsn up_to);
  void clear_stored(TimePs now, std::uint32_t index, UetPsn up_to);
  void fail(TimePs now, std::uint32_t index, verbs::CompletionStatus status, bool peer_has_nothing);
  /// CLOSE_CMD has its answer.
  void close_answered(TimePs now, std::uint32_t index);
  /// As fail(), without telling the program that the peer cannot be reached.
  void end_in_error(TimePs now, std::uint32_t index, verbs::CompletionStatus status, bool peer_has_nothing);
  std::uint32_t find(std::uint16_t local_id) const;
  /// An identifier and the PDC that it has been found to be; kNoSlot: none.
  struct Found {
    std::uint16_t id = 0;
    std::uint32_t index = kNoSlot;
  };
  /// The same, with what was found last time to look at first.
  std::uint32_t find(std::uint16_t local_id, Found& last) const {
    if (last.id != local_id || last.index == kNoSlot) last = {local_id, find(local_id)};
    return last.index;
  }
  static constexpr std::uint32_t kFirstRing = 64;
  static constexpr std::size_t ring_entries(std::size_t size_class) {
    return std::size_t{kFirstRing} << size_class;
  }
  std::uint64_t* take_bits();
  std::uint32_t bits_words() const;
  static std::uint64_t syn_key(wire::HostAddress host, std::uint16_t peer_id) {
    return (std::uint64_t{host.number} << 16U) | peer_id;
  }
  static constexpr std::uint32_t kConnectionRoute = 1U << 28U;  ///< Above every job.
  /// `route`: route_of().
  static std::uint64_t route_key(wire::HostAddress host, std::uint32_t route, bool ordered, bool reserved) {
    return (std::uint64_t{host.number} << 32U) | (std::uint64_t{route} << 2U) | (ordered ? 2U : 0U) |
           (reserved ? 1U : 0U);
  }

  // pds_transmit.cc
  /// Every PSN has its answer, but the CACK that was heard leaves no room for the next.
  bool starved(const Pdc& pdc) const;
  void kick(TimePs now, std::uint32_t index);
  void push_control_entry(TimePs now, std::uint32_t index, wire::UetControlType type);
  bool transmit_control(TimePs now, Ring<ControlJob>& jobs, wire::Packet& out);
  bool transmit_data(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  /// The PSN of the first packet to be sent again, or of a new one of the first message.
  UetPsn take_repetition(Pdc& record, CongestionContext& context, std::uint32_t bytes);
  UetPsn take_new(TimePs now, std::uint32_t index, Pdc& record, CongestionContext& context,
                  std::uint32_t bytes);
  wire::TrafficClass data_class(bool again) const {
    return again && !parts_config().retransmit_as_data ? wire::TrafficClass::kRetransmission
                                                       : wire::TrafficClass::kData;
  }
  /// Gives the next packet of a PDC that is at the head of its CCC's list its PSN and its place in the
  /// window.
  void depart(TimePs now, const Leaving& leaving, wire::Packet& out);
  void depart_here(TimePs now, const Leaving& leaving, wire::Packet& out);  ///< The same, inlined.
  void emit(TimePs now, UetPsn psn, SendEntry& entry, const congestion::PacketRequest& asked,
            const Leaving& leaving, wire::Packet& out);
  void build_ack(TimePs now, const ControlJob& job, wire::Packet& out);
  void build_ack_congestion(TimePs now, const ControlJob& job, wire::Packet& out);
  UetPsn sack_base(PdcReceive& rx, const ControlJob& job) const;
  std::uint32_t entry_window_bytes(const SendEntry& entry) const;
  ControlJob& push(Ring<ControlJob>& jobs);
  ControlJob& push_stale(Ring<ControlJob>& jobs);  ///< The same with every member yet to be set.
  void send_control(std::uint32_t index, wire::UetControlType type, UetPsn psn, std::uint32_t payload,
                    std::uint8_t flags = 0);

  // pds_plain.h
  /// A message whose one packet may leave now.
  struct PlainDeparture {
    std::uint32_t ccc = kNoSlot;
    std::uint32_t pdc = kNoSlot;
    std::uint32_t slot = kNoSlot;
    std::uint32_t staged = kNoSlot;  ///< Its payload, when that comes from memory.
    std::uint32_t length = 0;
    std::uint32_t bytes = 0;  ///< Window bytes.
    CongestionContext* context = nullptr;
    Pdc* record = nullptr;
    OutboundMessage* message = nullptr;
    StagedPacket* packet = nullptr;  ///< That of `staged`.
  };
  bool may_depart(EngineParts& parts, wire::TrafficClassMask allowed, PlainDeparture& leaving);
  /// Its number and its path.
  UetPsn number_plain(EngineParts& parts, TimePs now, const PlainDeparture& leaving, wire::Packet& out);
  bool ask_plain(EngineParts& parts, TimePs now, const PlainDeparture& leaving);
  void emit_plain(EngineParts& parts, const PlainDeparture& leaving, UetPsn psn, bool asks,
                  wire::Packet& out);
  void stage_plain(EngineParts& parts, TimePs now, std::uint32_t index, std::uint32_t at, Pdc& record,
                   CongestionContext& context, std::uint32_t slot, const OutboundMessage& message);
  void fetch_added(EngineParts& parts, TimePs now, std::uint32_t index, Pdc& record,
                   CongestionContext& context, std::uint32_t slot, std::uint32_t previous);
  void fetch_next(EngineParts& parts, TimePs now, const PlainDeparture& left);
  std::uint32_t find_plain(EngineParts& parts, const wire::Packet& packet) const;
  /// Of requests without the credit that a source asks for.
  static wire::UetPdsType request_type(const Pdc& record) {
    return static_cast<wire::UetPdsType>(static_cast<unsigned>(wire::UetPdsType::kRudRequest) +
                                         (record.ordered ? 1U : 0U));
  }
  static std::uint32_t ack_bytes_of(const EngineParts& parts, std::uint32_t length);
  void accept_plain(EngineParts& parts, TimePs now, Pdc& record, const wire::Packet& packet,
                    std::uint32_t overhead);
  InboundPacket& make_plain_inbound(EngineParts& parts, TimePs now, std::uint32_t index, const Pdc& record,
                                    const wire::Packet& packet, std::uint32_t slot);
  static bool passes_plainly(const EngineParts& parts, const InboundPacket& inbound, const Pdc& record);
  // pds_plain_reads.cc
  bool receive_read_plain(EngineParts& parts, TimePs now, const wire::Packet& packet);
  bool receive_data_plain(EngineParts& parts, TimePs now, const wire::Packet& packet);

  // pds_fetch.cc
  /// What settle() does when there is something to do.
  void fetch_wanted(TimePs now);
  /// The CCC may have payload to fetch: settle() sees to it.
  void want_fetch(const Pdc& pdc, CongestionContext& context);
  void fetch_ahead(TimePs now, std::uint32_t ccc);
  /// Whether the next packet of a PDC needs no fetch, or its fetch has begun.
  bool next_is_begun(const Pdc& pdc) const;
  bool repetition_is_begun(const Pdc& pdc) const;
  /// False when all that the PDC has to send is being fetched.
  bool fetch_one_ahead(TimePs now, std::uint32_t pdc);
  /// The same for the one PDC of a CCC, as far as `share` packets may be fetched.
  void fetch_alone_ahead(TimePs now, std::uint32_t pdc, std::uint32_t share);
  /// Up to `most` packets behind the newest that is being fetched; how many there were.
  std::uint32_t fetch_new_ahead(TimePs now, std::uint32_t pdc, std::uint32_t most);
  bool fetch_repetition_ahead(TimePs now, std::uint32_t pdc);
  std::uint32_t fetch_new(TimePs now, std::uint32_t pdc, std::uint32_t slot, std::uint32_t offset);
  std::uint32_t fetch_again(TimePs now, std::uint32_t pdc, UetPsn psn);
  std::uint32_t stage(TimePs now, std::uint32_t slot, std::uint32_t offset, std::uint32_t length);
  /// What is being fetched for the repetition of `psn`; kNoSlot: nothing.
  std::uint32_t fetched_again(const Pdc& pdc, UetPsn psn) const;
  /// What is being fetched for the next packet of a PDC. Begins with it when nothing is.
  std::uint32_t fetched_next(TimePs now, std::uint32_t pdc);
  /// The payload of the packet that leaves next, with what `leaving` says of it; false: memory has not given
  /// it yet.
  bool take_payload(TimePs now, Leaving& leaving);
  /// The same where it is new and memory has given it; false says nothing.
  bool take_fetched(Leaving& leaving);
  void drop(Pdc& pdc, IndexList& list, std::uint32_t staged);
  /// Of first transmissions of message `slot`; of the repetition of `psn`; of all that a PDC had to send.
  void drop_fetched_of(std::uint32_t pdc, std::uint32_t slot);
  void drop_fetched_again(Pdc& pdc, UetPsn psn);
  void drop_fetched(Pdc& pdc);
  /// transmit_data() while the packet whose turn it is comes from memory.
  bool transmit_fetched(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  bool transmit_unsequenced(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  /// Takes what nobody wants any more from the head of staged_order_.
  void drop_unwanted();

  // pds_acknowledge.cc
  void receive_ack(TimePs now, const wire::Packet& packet);
  /// Whether `packet` can be of the other end of a PDC, which is not known before it has spoken.
  bool is_peer(std::uint32_t index, const wire::Packet& packet, std::uint16_t source_id) const;
  void know_peer(TimePs now, std::uint32_t index, std::uint16_t source_id);
  /// Whether an ACK says nothing of what was never sent.
  static bool is_plausible(const Pdc& pdc, const wire::UetPacket& uet);
  static TimePs receiver_hold(const wire::UetPacket& uet);
  // The parts of an ACK.
  void take_answer(TimePs now, std::uint32_t index, const wire::Packet& packet, Effects& effects);
  void take_cumulative(TimePs now, std::uint32_t index, const wire::UetPacket& uet, Effects& effects);
  void take_sack(TimePs now, std::uint32_t index, UetPsn base, std::uint64_t bitmap, Effects& effects);
  void take_congestion(TimePs now, std::uint32_t index, const wire::UetPacket& uet, Effects& effects);
  void take_wish(TimePs now, std::uint32_t index, wire::UetAckRequest wish);
  /// Tells CMS of an ACK, whatever it confirmed.
  void tell_congestion(TimePs now, std::uint32_t index, const wire::Packet& packet,
                       congestion::Acknowledgement& told);
  static void confirm_first(PdcSend& tx, std::uint32_t bytes, Effects& effects);
  void confirm(Pdc& pdc, UetPsn psn, Effects& effects);
  void answer(TimePs now, std::uint32_t index, UetPsn psn, const wire::Packet* packet, Effects& effects);
  /// The peer has `psn`, whose answer carries data that is missing.
  void await_answer(TimePs now, std::uint32_t index, UetPsn psn, Effects& effects);
  void answer_rest(TimePs now, std::uint32_t index);
  void ask_for_oldest(TimePs now, std::uint32_t index);
  void advance_una(TimePs now, std::uint32_t index, const Effects& effects);
  // pds_refusals.cc
  void receive_nack(TimePs now, const wire::Packet& packet);
  bool concerns(std::uint32_t index, const wire::Packet& nack) const;
  void take_fatal(TimePs now, std::uint32_t index, wire::UetNackCode code);
  void take_refusal(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void take_trimmed(TimePs now, std::uint32_t index, const wire::Packet& packet, bool current,
                    bool known_copy);
  void go_back(TimePs now, std::uint32_t index, const wire::UetNack& nack, bool again);
  void wait_for_room(TimePs now, std::uint32_t index, UetPsn psn);
  void send_request_again(TimePs now, std::uint32_t index, const wire::UetNack& nack);
  /// Queues `psn` to be sent again; the window bytes that left flight with it.
  std::uint32_t take_back(TimePs now, std::uint32_t index, UetPsn psn);
  void queue_resend(TimePs now, std::uint32_t index, UetPsn psn, congestion::LossCause cause,
                    TimePs round_trip);
  void rewind(TimePs now, std::uint32_t index, UetPsn from, congestion::LossCause cause);
  void rebase(TimePs now, std::uint32_t index, UetPsn start);
  /// Whether a NACK that comes now can be about the copy of `entry` that left last.
  bool may_be_newest(TimePs now, const Pdc& pdc, const SendEntry& entry) const;
  // pds_congestion.cc
  void send_tail_probe(TimePs now, std::uint32_t index);
  bool answers_quickly(TimePs now, const Pdc& record, std::uint16_t opaque) const;
  void infer_loss(TimePs now, std::uint32_t index, std::uint32_t out_of_order, bool quick_answer);

  // pds_receive.cc
  void receive_request(TimePs now, const wire::Packet& packet);
  void receive_control(TimePs now, const wire::Packet& packet);
  void receive_sequenced_control(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void answer_ack_request(TimePs now, std::uint32_t index, const wire::UetControl& control);
  void refuse_syn(TimePs now, const wire::Packet& packet);
  /// Whether a SYN belongs to a PDC that is gone, or to an opening that was refused; answers it then.
  bool is_stale_syn(TimePs now, const wire::Packet& packet);
  std::uint32_t find_by_syn(TimePs now, const wire::Packet& packet, bool& refused);
  std::uint32_t find_by_identifier(TimePs now, const wire::Packet& packet);
  std::uint32_t find_for_request(TimePs now, const wire::Packet& packet, bool& refused);
  /// The same for a request of the PDC that the last one was of; kNoSlot says nothing.
  std::uint32_t find_again(const wire::Packet& packet) const;
  bool admit_psn(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn);
  /// The same for a request, quick for the next one in order.
  bool admit_new(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn);
  /// What has come already, or without its data.
  void answer_unwanted(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn, bool seen);
  void refuse_out_of_order(std::uint32_t index, const wire::Packet& packet, UetPsn psn);
  /// The record of an accepted packet; kNoSlot: there is no room, which the source has been told.
  std::uint32_t make_inbound(TimePs now, std::uint32_t index, const wire::Packet& packet);
  /// Whether the peer can clear stored responses of this PDC only once `psn` has been taken.
  bool nothing_else_helps(const PdcReceive& rx, UetPsn psn) const;
  void answer_duplicate(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn);
  static void mark_received(PdcReceive& rx, UetPsn psn);
  static void unmark_received(PdcReceive& rx, UetPsn psn);
  static void advance_cumulative(PdcReceive& rx);
  /// `psn` has been executed, and nothing of it is kept.
  static void finish_psn(PdcReceive& rx, UetPsn psn);
  /// The first of the stored responses of a PDC, oldest first, that `is` says; kNoSlot: none.
  template <typename Is>
  std::uint32_t find_stored(const PdcReceive& rx, Is&& is) const {
    std::uint32_t at = rx.stored_tail;
    for (std::uint32_t left = rx.stored_count; left > 0; --left) {
      at = stored_[at].next;
      if (is(stored_[at])) return at;
    }
    return kNoSlot;
  }
  std::uint32_t stored_of(const PdcReceive& rx, UetPsn psn) const {
    return find_stored(rx, [psn](const StoredResponse& stored) { return stored.psn == psn; });
  }
  void store_response(TimePs now, std::uint32_t index, const StoredResponse& response);
  bool acknowledges_at_once(PdcReceive& rx, const InboundPacket& inbound, bool guaranteed) const;
  static void pass(PdcReceive& rx, UetPsn psn);
  static bool needs_reason(const PdcReceive& rx, const InboundPacket& inbound);
  bool has_reason_to_acknowledge(PdcReceive& rx, const InboundPacket& inbound, bool guaranteed) const;
  void acknowledge_default(std::uint32_t index, const InboundPacket& inbound);
  void acknowledge_inbound(std::uint32_t index, const InboundPacket& inbound, wire::UetNextHeader form,
                           const wire::UetSesResponse& response, const wire::Payload& data);
  void nack(const wire::Packet& trigger, wire::UetNackCode code, std::uint32_t index,
            std::uint32_t payload = 0);
  void acknowledge(std::uint32_t index, UetPsn psn, std::uint8_t flags, bool on_trigger,
                   std::uint16_t entropy, TimePs arrived_at, wire::UetNextHeader form,
                   const wire::UetSesResponse& response, const wire::Payload& data);
  void take_clear(TimePs now, std::uint32_t index, UetPsn clear);
  std::uint64_t sack_bits(const PdcReceive& rx, UetPsn base) const;

  // pds_timers.cc
  TimePs entry_deadline(const Pdc& pdc, const SendEntry& entry) const;
  TimePs entry_deadline(const SendEntry& entry, TimePs first) const;
  TimePs adaptive_rto(TimePs first, std::uint32_t timeouts) const;
  void back_off(TimePs now, const Pdc& pdc, const SendEntry& entry);
  /// The peer has acknowledged something new: RTO(0) again, for all.
  void end_back_off(TimePs now, std::uint32_t index);
  /// ROD: the PSN whose timer counts; `tx.next` when none is under way.
  UetPsn ordered_speaker(const PdcSend& tx) const;
  /// When the PDC is closed as idle, or the peer is asked whether it still knows it.
  TimePs idle_deadline(std::uint32_t index) const;
  TimePs pdc_deadline(std::uint32_t index);
  /// Nothing has answered what was asked of the peer at `asked_at`.
  void note_silence(TimePs now, std::uint32_t index, TimePs asked_at);
  /// Whether the peer has been silent for longer than all tries of one packet take.
  bool is_gone(TimePs now, std::uint32_t index) const;
  void arm(std::uint32_t index, TimePs at) { arm(index, *pdcs_[index], at); }
  [[gnu::always_inline]] void arm(std::uint32_t index, Pdc& record, TimePs at) {
    if (at >= record.armed_at) return;
    record.armed_at = at;
    timers_.set(index, at);
  }
  void disarm(std::uint32_t index) {
    pdcs_[index]->armed_at = kNever;
    timers_.set(index, kNever);
  }
  void expire_pdc(TimePs now, std::uint32_t index);
  void expire_entry(TimePs now, std::uint32_t index, UetPsn psn);
  void expire_window(TimePs now, std::uint32_t index);
  void expire_receiver(TimePs now, std::uint32_t index);

  friend struct Prefetch;

  EngineParts& parts_;
  const bool contexts_per_connection_;
  const TimePs first_rto_;
  const TimePs earliest_rto_;                       ///< No first RTO ends sooner.
  const reliability::RetransmissionRule adaptive_;  ///< Its floor is zero where the RTO is fixed.
  const std::uint32_t frame_overhead_;   ///< What a frame has beside PDS and SES headers and payload,
  const std::uint32_t window_overhead_;  ///< and how much of it counts toward windows.
  std::vector<std::unique_ptr<Pdc>> pdcs_;
  Ring<std::uint32_t> staged_order_;  ///< Of Rudi.
  SlotPool<StagedPacket> staged_;
  Ring<ControlJob> acknowledgements_;
  Ring<ControlJob> control_;
  reliability::DeadlineHeap timers_;
  SlotPool<StoredResponse> stored_;
  const Pdc* recent_sender_ = nullptr;    ///< PDC of the last data sent,
  const Pdc* recent_receiver_ = nullptr;  ///< and of the last request received: only to fetch ahead.
  Found answered_;                        ///< By the last acknowledgement,
  Found requested_;                       ///< and by the last request.
  const Pdc* usual_sender_ = nullptr;     ///< PDC of the last request that went the general way: find_plain()
  std::uint32_t usual_index_ = kNoSlot;   ///< takes more of it. Null: nothing goes a short way.
  std::uint64_t last_route_ = ~std::uint64_t{0};  ///< Key in routes_ that was looked for last,
  std::uint32_t last_routed_ = kNoSlot;           ///< and the PDC that it led to.
  bool fetches_ = false;                          ///< Some message has had its payload in memory.
  IndexList fetch_wanted_;                        ///< CCCs that may have payload to fetch.
  // From here on: not looked at for every packet.
  std::array<std::array<PdcidPool, 2>, 2> ids_;  ///< [role][reserved].
  std::vector<std::uint32_t> free_pdcs_;
  /// Of each PDC whose `backed_off` is set.
  std::vector<Silence> silence_;
  FlatMap routes_;  ///< Initiator: key of a flow to PDC.
  FlatMap by_syn_;  ///< Target: host and SPDCID to PDC; looked at for SYN packets only.
  Ring<ClosedPdc> closed_;
  std::vector<SendEntry*> free_rings_[16];  ///< By logarithm of their size.
  std::vector<std::uint64_t*> free_bits_;
  RandomStream random_;
  bool begun_ = false;
};

}  // namespace wharf::uet
