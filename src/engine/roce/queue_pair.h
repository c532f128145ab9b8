// SPDX-License-Identifier: Apache-2.0
// Everything that belongs to one queue pair: the 512-byte hardware context, which is the live state of its
// fields, and the rings around it. The rules that move it are in requester.h, responder.h and
// retransmission.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/contract.h"
#include "engine/reliability/round_trip_estimate.h"
#include "engine/roce/access_port.h"
#include "engine/roce/config.h"
#include "engine/roce/early_requests.h"
#include "engine/roce/lazy_places.h"
#include "engine/roce/pieces.h"
#include "engine/roce/position_ring.h"
#include "engine/roce/queue_state.h"
#include "engine/roce/receive_queue.h"
#include "engine/roce/repairs.h"
#include "trace/stage.h"
#include "verbs/completion.h"
#include "verbs/work_request.h"
#include "wire/packet.h"
#include "wire/payload.h"
#include "wire/psn.h"
#include "wire/roce_opcode.h"

namespace wharf::roce {

using engine::QueueId;
using wire::Psn;

// --- The hardware context ---

/// What the requester side must remember between packets.
struct RequesterContext {
  Psn unacknowledged = 0;          ///< Oldest PSN without an answer.
  Psn next = 0;                    ///< Next PSN to prepare.
  Psn sent = 0;                    ///< One past the last PSN transmitted in this pass.
  Psn highest_sent = 0;            ///< One past the last PSN ever transmitted.
  Psn next_unassigned = 0;         ///< First PSN of the next new message.
  Psn recovery_psn = 0;            ///< While `recovering`: the PSN from which everything is being sent again.
  std::uint32_t window = 0;        ///< PSNs that may be ahead of the oldest one without an answer.
  std::uint32_t sending = 0;       ///< Position of the work request being cut into packets.
  std::uint32_t assigned = 0;      ///< Work requests before this position have their PSNs.
  std::uint32_t packet = 0;        ///< Next packet within the request at `sending`.
  std::uint32_t sequence = 0;      ///< SSN of the last request that was assigned PSNs, 24 bits.
  std::uint32_t credit_limit = 0;  ///< Highest SSN that the peer has a receive entry for, 24 bits.
  std::uint16_t reads_outstanding = 0;  ///< READs and atomics without their full answer.
  std::uint16_t read_limit = 0;         ///< max_rd_atomic of the connection.
  std::uint8_t retries_left = 0;
  std::uint8_t rnr_left = 0;
  std::uint8_t backoff = 0;  ///< Doublings of the timeout in force.
  bool recovering = false;
  bool credits_in_use = false;       ///< The peer sends finite credits.
  bool limited_outstanding = false;  ///< The one packet that may go without credit is under way.
  TimePs timer_started;              ///< When the timer was set, for attribution.
  TimePs timeout_at = kNever;        ///< Local ACK timeout.
  TimePs rnr_until = kNever;         ///< Nothing is sent before; kNever when not waiting.
};

/// Which kind of message the responder is in the middle of.
enum class MessageInProgress : std::uint8_t { kNone, kSend, kWrite };

/// What the responder side must remember between packets.
struct ResponderContext {
  Psn expected = 0;
  Psn message_sequence = 0;            ///< MSN: messages completed.
  std::uint32_t remote_key = 0;        ///< Of the WRITE in progress.
  std::uint32_t received = 0;          ///< Bytes of the message so far.
  std::uint64_t address = 0;           ///< Where the next bytes of the WRITE go.
  std::uint32_t length = 0;            ///< Whole length of the WRITE in progress.
  std::uint32_t receive_position = 0;  ///< Receive entry of the SEND in progress.
  std::uint32_t resource_limit = 0;    ///< READs and atomics that are saved.
  MessageInProgress message = MessageInProgress::kNone;
  /// The one sequence NAK is out; silent until the expected packet comes. Selective repeat: something is kept
  /// that came early.
  bool nak_sent = false;
  /// UC: data of a message that was cut may still be on its way to the receive entry that the next one takes.
  bool entry_used = false;
};

/// What all packets of a connection begin with, ready to be copied: the fields of wire::Packet up to
/// `destination`, and the BTH of one that asks for nothing.
struct PacketStart {
  static constexpr std::size_t kBytes = offsetof(wire::Packet, header_bytes);

  void set(const wire::Packet& packet) {
    std::memcpy(front.data(), &packet, kBytes);
    bth = packet.roce.bth;
  }
  [[gnu::always_inline]] void copy_to(wire::Packet& out) const {
    std::memcpy(static_cast<void*>(&out), front.data(), kBytes);
    std::construct_at(&out.roce, bth);
  }

  std::array<std::byte, kBytes> front;
  wire::Bth bth;
};

/// One record of the context cache: what the interface needs to send and receive for one queue pair. All
/// fields are live; nothing else in the engine repeats them.
struct QueuePairContext {
  std::uint32_t queue_number = 0;  ///< QPN on the wire.
  std::uint32_t remote_queue_number = 0;
  std::uint32_t remote_host = 0;
  std::uint32_t path_mtu = 0;
  std::uint16_t partition_key = 0xffff;
  std::uint16_t entropy = 0;  ///< UDP source port.
  QueueState state = QueueState::kReset;
  std::uint8_t mtu_shift = 0;
  Service service = Service::kReliable;
  std::uint8_t alignment = 0;
  RequesterContext requester;
  ResponderContext responder;
  std::uint32_t domain = 0;  ///< Protection domain.
  PacketStart start{};
  /// 512 bytes is the usual figure for a vendor's record [OpenURMA 5.4]. The rest of one holds what this
  /// model keeps elsewhere or lacks: address path and MAC addresses (44 bytes in mlx5), ring base addresses
  /// and doorbell records, completion-queue number, alternate path, rate limiter.
  std::array<std::byte, 320> unmodelled{};
};
static_assert(sizeof(QueuePairContext) == 512);
static_assert(std::is_trivially_copyable_v<QueuePairContext>);

// --- Rings of the requester ---

/// Where the data of a request is.
enum class SendForm : std::uint8_t {
  kPieces,  ///< In local memory, if there is any.
  kInline,  ///< In the entry.
  kPlain,   ///< In one piece of local memory, not empty; a Send or Write without fence.
};

/// One posted work request: what a work-queue entry of RoCE holds, and what the requester knows about it.
struct SendEntry {
  std::uint64_t id;
  wire::OperationTag operation;
  std::uint64_t remote_address;
  union {
    Pieces local;
    wire::Payload inline_data;  ///< SendForm::kInline; this ring holds a reference.
  };
  std::uint64_t operand;   ///< Atomics: operand or swap value; others: see space().
  std::uint64_t compare;   ///< Atomics.
  std::uint64_t original;  ///< Atomics: the value before. Not of SendForm::kPlain.
  std::uint32_t remote_key;
  std::uint32_t immediate;  ///< kWriteImm, kSendImm; the key to invalidate of kSendInvalidate; see space().
  std::uint32_t length;     ///< Bytes.
  Psn first_psn;
  std::uint32_t packets;   ///< PSNs that it takes.
  std::uint32_t sequence;  ///< SSN.
  verbs::Verb verb;
  std::uint8_t local_count;
  SendForm form;
  verbs::CompletionStatus status;
  bool signaled;
  bool fence;
  bool solicited;  ///< At the target, which takes a receive entry.
  bool fetched;    ///< The interface has the entry (in hand, or read from the ring).

  /// The address space of its local memory, in a field that the verb has no other use for.
  verbs::AddressSpaceId space() const {
    return verbs::is_atomic(verb) ? immediate : static_cast<std::uint32_t>(operand);
  }
  void set_space(verbs::AddressSpaceId space) {
    if (verbs::is_atomic(verb)) {
      immediate = space;
    } else {
      operand = space;
    }
  }
};
static_assert(sizeof(SendEntry) == 128);

/// One request packet between payload fetch and transmission.
struct TransmitEntry {
  wire::Payload payload;  ///< Complete when `pending` is zero; this ring holds a reference.
  Psn psn = 0;
  std::uint32_t psn_count = 1;  ///< READ: PSNs that the answer takes.
  Position work = 0;            ///< Position in the send ring.
  std::uint32_t packet = 0;     ///< Packet within the message.
  std::uint8_t pending = 0;     ///< Memory accesses without their answer.
  bool acknowledge = false;     ///< AckReq.
  bool gathered = false;  ///< The payload is being collected from several pieces in a buffer of its own.
  bool failed = false;    ///< Local memory answered with an error.
  bool whole = false;     ///< A message of one packet that asks for an answer: a Send or Write.
  wire::RoceOpcode opcode = wire::RoceOpcode::kRcSendOnly;
};

/// A completion on its way to the program. It begins as verbs::Completion does.
struct CompletionEntry {
  std::uint64_t id;
  verbs::CompletionStatus status;
  verbs::CompletionKind kind;
  verbs::Verb verb;
  bool has_immediate;
  std::uint32_t length;
  Position work;  ///< Which request or receive entry. Where verbs::Completion has the queue.
  std::uint32_t remote_host;
  std::uint32_t remote_queue;
  verbs::DrainMark drain;  ///< kNone: queue pairs do not stand still.
  bool solicited;
  bool visible;
  /// Sends: of an atomic, the value before. Receives: the immediate, and above its 32 bits atomics().
  std::uint64_t value;
  wire::OperationTag operation;

  /// Receives: QueuePair::atomics_taken when the message ended; so many come before it.
  std::uint32_t atomics() const { return static_cast<std::uint32_t>(value >> 32U); }
  /// `own`: `kind`, which the caller knows.
  [[gnu::always_inline]] void show(verbs::CompletionKind own, QueueId queue, verbs::Completion& out) const {
    std::memcpy(static_cast<void*>(&out), this, offsetof(verbs::Completion, immediate));
    out.queue = queue;
    out.immediate = own == verbs::CompletionKind::kReceive ? static_cast<std::uint32_t>(value) : 0;
    out.tag = 0;
    out.atomic_result = {own == verbs::CompletionKind::kSend ? value : 0, 0};
    out.operation = operation;
  }
};
static_assert(offsetof(CompletionEntry, status) == offsetof(verbs::Completion, status));
static_assert(offsetof(CompletionEntry, kind) == offsetof(verbs::Completion, kind));
static_assert(offsetof(CompletionEntry, verb) == offsetof(verbs::Completion, verb));
static_assert(offsetof(CompletionEntry, has_immediate) == offsetof(verbs::Completion, has_immediate));
static_assert(offsetof(CompletionEntry, length) == offsetof(verbs::Completion, length));
static_assert(offsetof(CompletionEntry, work) == offsetof(verbs::Completion, queue));
static_assert(offsetof(CompletionEntry, remote_host) == offsetof(verbs::Completion, remote_host));
static_assert(offsetof(CompletionEntry, remote_queue) == offsetof(verbs::Completion, remote_queue));
static_assert(offsetof(CompletionEntry, drain) == offsetof(verbs::Completion, drain));
static_assert(offsetof(CompletionEntry, solicited) == offsetof(verbs::Completion, solicited));
static_assert(sizeof(CompletionEntry) == 48);

// --- Rings of the responder ---

enum class AnswerKind : std::uint8_t { kAcknowledge, kNak, kRead, kAtomic };

/// One answer that the responder owes, in the order in which the answers must leave.
struct Answer {
  wire::OperationTag operation;
  std::uint64_t original = 0;  ///< Atomic: the value before.
  Psn psn = 0;
  Psn message_sequence = 0;
  Psn fault_psn = 0;
  std::uint16_t outstanding = 0;  ///< Placements and atomics that are not done.
  std::uint8_t syndrome = 0;
  AnswerKind kind = AnswerKind::kAcknowledge;
  bool closed = false;  ///< Acknowledge: a packet with AckReq (or a READ behind it) ended the collection.
  bool silent = false;  ///< Acknowledge: no packet asked for it, the next answer implies it.
  bool failed = false;  ///< Acknowledge, atomic: memory answered with an error for `fault_psn`.

  // READs and atomics alone.
  bool started = false;  ///< Earlier writes are in memory, memory may be touched.
  bool revoked = false;  ///< READ: its memory key was revoked.
  verbs::AccessOrder order = verbs::AccessOrder::kRelaxed;
  verbs::Verb verb = verbs::Verb::kFetchAdd;
  verbs::AddressSpaceId space = 0;
  std::uint32_t packets = 0;  ///< READ: response packets. Atomic that has not started: its access slot.
  std::uint32_t fetched = 0;  ///< READ: packets whose data has been asked for.
  std::uint32_t sent = 0;     ///< READ: packets transmitted.
  std::uint32_t length = 0;   ///< READ: bytes.
  std::uint32_t remote_key = 0;
  std::uint64_t address = 0;
  std::uint64_t resource = 0;  ///< Number of the saved resource.
  TimePs held_since = kNever;  ///< Held back by earlier writes.
  std::uint64_t operand = 0;   ///< Atomic: operand or swap value.
  std::uint64_t compare = 0;
};

/// Data of one READ response packet between fetch and transmission.
struct ReadAhead {
  wire::Payload payload;
  bool ready = false;
  bool failed = false;
};

/// What the responder saves of a READ or atomic to answer duplicates. [IBTA vol 1 9.7.5.1.3]
struct SavedResource {
  std::uint64_t number = 0;  ///< Counts all resources of the queue pair; 0: unused.
  std::uint64_t address = 0;
  std::uint64_t original = 0;
  Psn first_psn = 0;
  std::uint32_t packets = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t length = 0;
  bool atomic = false;
  bool done = false;  ///< Atomic: `original` is known.
};

// --- Selective repeat ---

/// What a queue pair that recovers by selective repeat has beyond others.
struct SelectiveRepeat {
  explicit SelectiveRepeat(const RoceConfig& config);

  EarlyRequests early;  ///< Responder.
  Repairs repairs;      ///< Requester.
  LazyPlaces places;
  PositionRing<TransmitEntry> resend;  ///< Packets that are about to be sent again.

  std::size_t bytes_held() const {
    return sizeof(*this) + early.bytes_held() + repairs.bytes_held() + resend.bytes_touched();
  }
};
/// What one such queue pair can take, for state reports; nothing when `config` says Go-Back-N.
std::size_t selective_bytes(const RoceConfig& config);

// --- The queue pair ---

/// Where datagrams to one peer go: an address handle. [IBTA vol 1 11.2.2]
struct AddressHandle {
  std::uint32_t host = wire::kNoHost.number;  ///< kNoHost: unused.
  std::uint32_t queue_number = 0;
  std::uint32_t queue_key = 0;  ///< Of requests to it.
};

/// Where the context record of a queue pair is, and what waits for it. Used only when the context cache is
/// finite.
struct ContextState {
  bool resident = true;
  bool waiting = false;  ///< Something below waits: in the waiting list, or being served.
  bool served = false;
  // Places in the lists of ContextStore: once in each at most, also across forget().
  bool lined_up = false;
  bool ready = false;  ///< It was served, and its records had come.
  bool fetching = false;
  bool discard_fetch = false;  ///< The record was made anew while its fetch was under way.
  bool lost = false;           ///< Memory failed to keep it: there is nothing to go on with.
  /// Evictions on their way to memory; a fetch has to follow them. Exact while the store fetches at all.
  std::uint8_t writing = 0;
  bool kick = false;                       ///< To be run again.
  bool expired = false;                    ///< Its deadline has passed.
  std::array<bool, 2> flow{};              ///< A flow that had its turn to transmit.
  std::uint32_t needed_key = 0xffff'ffff;  ///< Memory-key record that the packet in front needs.
  // Access answers, and packets, each in order of arrival.
  std::uint32_t first_access = 0xffff'ffff;
  std::uint32_t last_access = 0xffff'ffff;
  std::uint32_t first_packet = 0xffff'ffff;
  std::uint32_t last_packet = 0xffff'ffff;
  TimePs since;                  ///< When the wait began, for attribution.
  wire::OperationTag operation;  ///< The request that was posted meanwhile.
};

/// What the plain ways (roce_engine_plain.cc) have found out about a queue pair and need not ask again: the
/// general ways alone change it, and each of them forgets it first.
struct Usual {
  bool storing = false;    ///< Requests may be stored, and nothing but a packet of it waits for its turn.
  bool preparing = false;  ///< Packets of new requests may be prepared, but for window and slots.
  bool sending = false;    ///< The next packet, once listed, is one that was not sent before; the timer runs.
  bool taking = false;     ///< The next packet may be a request of one packet.
};

struct QueuePair {
  QueuePairContext context;  ///< Valid while resident on the interface; wiped when evicted.

  // The driver's side: host memory, never evicted.
  QueueId id = 0;
  bool in_use = false;
  QueueState driver_state = QueueState::kReset;  ///< The state that the program asked for or was told of.
  engine::QueueConfig config;
  std::uint32_t peer_host = 0xffff'ffff;  ///< Whom it was connected to; nobody in INIT.
  Service service = Service::kReliable;
  std::uint8_t mtu_shift = 0;  ///< log2 of the path MTU that both ends agreed on.
  QueueAttributes attributes;
  std::vector<AddressHandle> handles;  ///< Datagrams: by PeerId.
  std::uint16_t read_limit = 0;        ///< max_rd_atomic that both ends agreed on.
  bool has_changes = false;            ///< Of attributes, which the context does not show yet.
  bool drained = false;                ///< In SQD, and stands still.
  bool own_receive_queue = false;      ///< config.receive_queue was made for its receive ring of bytes.
  bool ending = false;                 ///< It is being destroyed.
  bool plain = false;  ///< Its queues are its own, hold objects, and receive entries need no fetch.
  std::uint8_t fetches_in_flight = 0;  ///< Of work requests.
  Psn starting_psn = 0;                ///< Exported for the next connection.
  std::uint32_t connections = 0;       ///< How often it was connected, to draw fresh PSNs.

  LazyPlaces places;  ///< Where all rings below lie.
  PositionRing<SendEntry> send;
  PositionRing<CompletionEntry> send_completions;
  PositionRing<CompletionEntry> receive_completions;
  Position send_completions_issued = 0;
  Position receive_completions_issued = 0;
  std::uint32_t completions_written = 0;
  std::uint32_t completion_place = 0;  ///< Where in the completion ring the next record goes.
  /// Work requests before this position came in hand, or were announced and their fetch was issued.
  Position fetch_issued = 0;
  Usual usual;
  ReceiveQueue receives;

  // The interface's side.
  PositionRing<TransmitEntry> transmit;
  PositionRing<Answer> answers;
  PositionRing<ReadAhead> read_ahead;
  Position read_expanding = 0;         ///< First answer whose READ data may still have to be asked for.
  std::uint32_t reads_to_fetch = 0;    ///< READs among the answers whose data has not all been asked for.
  std::uint32_t held_answers = 0;      ///< READs and atomics that have not started.
  Position first_work = 0;             ///< Work requests before it are those of earlier connections.
  SavedResource* resources = nullptr;  ///< As many as the connection saves, see saved_resources().
  std::uint32_t resources_touched = 0;
  std::uint64_t resources_saved = 0;
  std::unique_ptr<reliability::RoundTripEstimate> round_trip;  ///< Where the timeout adapts.
  std::uint32_t responses_outstanding = 0;  ///< Placements of READ and atomic results at the requester.
  /// Placements that wait for a receive-entry fetch or an earlier atomic, and what stands behind them: first
  /// access slot.
  std::uint32_t held_first = 0xffff'ffff;
  std::uint32_t held_last = 0xffff'ffff;
  std::uint32_t atomics_taken = 0;  ///< Atomics of the peer that were accepted,
  std::uint32_t atomics_done = 0;   ///< and those among them that are carried out, modulo 2^32.
  AccessShare share;
  std::unique_ptr<SelectiveRepeat> selective;  ///< Null: Go-Back-N.

  ContextState cache;

  // Why the requester does not go on, for attribution and stall reports.
  TimePs waiting_since;
  wire::OperationTag waiting_operation;
  bool waiting = false;
  trace::Stage waiting_stage = trace::Stage::kWindowWait;

  // Scheduling.
  std::array<bool, 2> flow_listed{};  ///< Requests, answers: in a transmit list.
  bool completed_listed = false;
  bool fatal = false;    ///< A request was refused for good: to the error state.
  bool kicked = false;   ///< In the list of queue pairs to run again.
  bool starved = false;  ///< In the list of queue pairs that found no access slot.

  /// Whether an atomic of the peer is not carried out yet: SENDs and WRITEs behind it wait.
  bool has_open_atomic() const { return atomics_taken != atomics_done; }
  /// Whether an atomic that comes before `record` is not carried out yet.
  bool is_behind_atomic(const CompletionEntry& record) const {
    return static_cast<std::int32_t>(record.atomics() - atomics_done) > 0;
  }
  /// Whether `record` has to wait before it is told of.
  bool holds_back(const CompletionEntry& record) const {
    return held_first != kNoSlot || is_behind_atomic(record);
  }
  /// Whether what is to reach memory next has to wait.
  bool holds_back() const { return held_first != kNoSlot || has_open_atomic(); }
  /// Whether data of a message is on its way to memory.
  bool awaits_placements() const {
    for (Position at = answers.head(); at != answers.tail(); ++at) {
      if (answers[at].kind == AnswerKind::kAcknowledge && answers[at].outstanding > 0) return true;
    }
    return false;
  }
  /// The resources that were ever saved; those with number 0 are forgotten.
  std::span<SavedResource> saved_resources() const { return {resources, resources_touched}; }
  /// The place of the resource that is saved next, reset; it displaces the oldest.
  SavedResource& save_resource() {
    const auto place = static_cast<std::uint32_t>(resources_saved % context.responder.resource_limit);
    // Those in front of it too: a connection that saves more than the one before begins anywhere.
    while (resources_touched <= place) resources[resources_touched++] = SavedResource{};
    resources[place] = SavedResource{};
    resources[place].number = ++resources_saved;
    return resources[place];
  }
  /// The responder expects `next` now, at most 2^22 after what it expected.
  [[gnu::always_inline]] void expect(Psn next) {
    Psn& expected = context.responder.expected;
    if ((expected ^ next) >> kPsnsBetweenLooksShift != 0) [[unlikely]]
      forget_old_resources(next);
    expected = next;
  }

 private:
  /// A PSN is half of its range away from another one: neither a duplicate nor ahead. [IBTA vol 1 9.7.2]
  static constexpr std::uint32_t kHalfRange = 1U << 23U;
  /// So often that the age of what is saved never takes more than the 24 bits of a PSN.
  static constexpr std::uint32_t kPsnsBetweenLooksShift = 21;

  /// A duplicate lies less than half of the range behind what is expected; later the same PSNs are those of
  /// other requests. [IBTA vol 1 9.7.1, 9.7.5.1.3]
  [[gnu::noinline]] void forget_old_resources(Psn next) {
    for (SavedResource& saved : saved_resources()) {
      const Psn last = wire::psn_add(saved.first_psn, saved.packets - 1);
      if (saved.number != 0 && wire::psn_subtract(next, last) > kHalfRange) saved = SavedResource{};
    }
  }
};

/// Whether `verb` expects data or a value back, and therefore counts as "READ or atomic".
constexpr bool expects_answer(verbs::Verb verb) {
  return verb == verbs::Verb::kRead || verbs::is_atomic(verb);
}

}  // namespace wharf::roce
