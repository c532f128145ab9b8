// SPDX-License-Identifier: Apache-2.0
// The record of one packet delivery context (PDC): what it has sent and not heard of, what it has received
// and not cleared. Both ends of a PDC send and receive, each direction with packet numbers of its own.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/index_list.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/uet/pdc_state.h"
#include "wire/host_address.h"
#include "wire/uet_psn.h"

namespace wharf::uet {

using wire::UetPsn;

/// What the source knows of one PSN.
enum class EntryState : std::uint8_t {
  kSent,      ///< Under way.
  kQueued,    ///< To be sent (again).
  kWaiting,   ///< Refused; to be sent again when NACK_Retx_Time has passed.
  kReceived,  ///< In a SACK, but its response is not known.
  kAnswered,  ///< Acknowledged with its response; a tombstone until una passes it.
};

/// SendEntry::message of a control packet that has a PSN; `offset` is its type.
inline constexpr std::uint32_t kControlEntry = 0xffff'ffff;
/// SendEntry::previous and next at the ends of a list.
inline constexpr std::uint32_t kNoPsn16 = 0xffff'ffff;

/// One outstanding PSN. Links hold the low 16 bits of PSNs, so that a growing ring moves nothing in them.
struct SendEntry {
  TimePs sent_at{};                      ///< Last transmission; kWaiting: when the NACK came.
  std::uint32_t message = 0;             ///< Slot of the outbound message, or kControlEntry.
  std::uint32_t offset = 0;              ///< Bytes of the message before this packet.
  std::uint16_t previous = 0, next = 0;  ///< Neighbours in PsnList (kQueued: resend, else timers).
  std::uint16_t length = 0;              ///< Payload bytes.
  std::uint16_t entropy = 0;             ///< Of the last transmission.
  EntryState state = EntryState::kSent;
  std::uint8_t sends = 0;     ///< Transmissions, saturating.
  std::uint8_t timeouts = 0;  ///< RTOs that count toward Max_RTO_Retx_Cnt, saturating.
  std::uint8_t back_off = 0;  ///< n of RTO(n): RTOs since the peer acknowledged anything new.
  std::uint8_t nacks = 0;     ///< NACKs other than trimming, saturating.
  bool for_answer = false;    ///< kQueued: the peer has it, and the repetition is to bring its answer.

  /// A message's packet in its first transmission, which is on no list.
  bool under_way_first_time() const {
    return state == EntryState::kSent && sends == 1 && message != kControlEntry;
  }
  bool queued_for_answer() const { return for_answer && state == EntryState::kQueued; }
};
static_assert(sizeof(SendEntry) == 32 || sizeof(SendEntry) == 28);

/// A doubly linked list through entries of one ring.
struct PsnList {
  UetPsn head = 0;
  UetPsn tail = 0;
  std::uint32_t count = 0;
  bool empty() const { return count == 0; }
};

/// The sending half.
struct PdcSend {
  SendEntry* ring = nullptr;
  std::uint32_t mask = 0;            ///< Entries in `ring` minus one.
  UetPsn start = 0;                  ///< Start_PSN, of both directions.
  UetPsn next = 0;                   ///< The next new PSN.
  UetPsn usual_end = 0;              ///< Those below it have a place in ring and window: see look_ahead().
  UetPsn una = 0;                    ///< The oldest PSN without an answer; CLEAR_PSN is una - 1.
  UetPsn cumulative = 0;             ///< Highest CACK_PSN heard.
  UetPsn fresh = 0;                  ///< No PSN below it is in its first transmission.
  std::uint32_t range = 0;           ///< MP_RANGE: `next` may go up to cumulative + range.
  std::uint32_t in_flight = 0;       ///< Entries in kSent that carry messages.
  UetPsn sacked = 0;                 ///< A SACK has named every PSN below it that is outstanding.
  UetPsn infer_until = 0;            ///< Pdc::inferring: the last PSN sent when it began;
  UetPsn inferred = 0;               ///< up to here every PSN had its turn.
  PsnList resend;                    ///< kQueued, in the order to be sent.
  PsnList timers;                    ///< kSent more than once, and kWaiting.
  std::uint32_t received_bytes = 0;  ///< What rcvd_bytes told, and ACKs without it have confirmed since.
  std::uint32_t message_head = kNoSlot;  ///< Messages with packets that were never sent, in order.
  std::uint32_t message_tail = kNoSlot;

  std::uint32_t outstanding() const { return next - una; }
  /// Whether another PSN needs a larger ring; there is none before the first.
  bool full() const { return ring == nullptr || outstanding() > mask; }
  SendEntry& at(UetPsn psn) { return ring[psn & mask]; }
  const SendEntry& at(UetPsn psn) const { return ring[psn & mask]; }
  /// Whether `psn` is outstanding.
  bool contains(UetPsn psn) const { return psn - una < next - una; }
  /// Those bits of a bitmap from `base` on that name PSNs of `first` up to the last one outstanding.
  std::uint64_t outstanding_from(UetPsn first, UetPsn base, std::uint64_t bitmap) const {
    const std::int32_t below = wire::uet_psn_difference(first, base);
    const std::int32_t end = wire::uet_psn_difference(next, base);
    if (below >= 64 || end <= 0) return 0;
    if (below > 0) bitmap &= ~std::uint64_t{0} << static_cast<unsigned>(below);
    if (end < 64) bitmap &= (std::uint64_t{1} << static_cast<unsigned>(end)) - 1;
    return bitmap;
  }
  bool window_open() const {
    return wire::uet_psn_difference(next, cumulative) <= static_cast<std::int32_t>(range) &&
           outstanding() <= kMostOutstanding;
  }
  /// CACK may run ahead of the answers: clear_psn_offset has 16 bits, and so have the links of entries.
  /// [UE 1.0 3.5.10, 3.5.11]
  static constexpr std::uint32_t kMostOutstanding = 32'767;
  /// Limit_PSN_Range does not concern that many. [UE 1.0 3.5]
  static constexpr std::uint32_t kMostPsns = (1U << 31U) - 1;
  /// Works out `usual_end`, which stands until an acknowledgement: nothing else takes places or window away.
  void look_ahead() {
    const std::int32_t window =
        static_cast<std::int32_t>(range) + 1 - wire::uet_psn_difference(next, cumulative);
    const std::int32_t places = ring == nullptr ? 0 : static_cast<std::int32_t>(mask + 1 - outstanding());
    const std::int32_t answers =
        static_cast<std::int32_t>(kMostOutstanding + 1) - static_cast<std::int32_t>(outstanding());
    const std::uint32_t used = next - start;
    const std::int32_t numbers = used >= kMostPsns ? 0 : static_cast<std::int32_t>(kMostPsns - used);
    usual_end = next + static_cast<UetPsn>(std::max(0, std::min({window, places, answers, numbers})));
  }
  bool goes_as_usual() const { return wire::uet_psn_before(next, usual_end); }

  /// Full PSN of the low 16 bits in a link: outstanding PSNs span less than 2^16.
  UetPsn widen(std::uint16_t low) const {
    return una + static_cast<std::uint16_t>(low - static_cast<std::uint16_t>(una));
  }

  void append(PsnList& list, UetPsn psn) {
    SendEntry& entry = at(psn);
    if (list.count == 0) {
      list.head = psn;
    } else {
      at(list.tail).next = static_cast<std::uint16_t>(psn);
    }
    entry.previous = static_cast<std::uint16_t>(list.tail);
    list.tail = psn;
    ++list.count;
  }
  void remove(PsnList& list, UetPsn psn) {
    const SendEntry& entry = at(psn);
    if (psn == list.head) {
      if (list.count > 1) list.head = widen(entry.next);
    } else if (psn != list.tail) {
      at(widen(entry.previous)).next = entry.next;
    }
    if (psn == list.tail) {
      if (list.count > 1) list.tail = widen(entry.previous);
    } else {
      at(widen(entry.next)).previous = entry.previous;
    }
    --list.count;
  }
  /// Whether an entry in this state stands on `timers`.
  static bool on_timers(const SendEntry& entry) {
    return entry.state == EntryState::kWaiting || (entry.state == EntryState::kSent && entry.sends > 1);
  }
  /// Takes `psn` off whichever list it is on.
  void unlink(UetPsn psn) {
    const SendEntry& entry = at(psn);
    if (entry.state == EntryState::kQueued) {
      remove(resend, psn);
    } else if (on_timers(entry)) {
      remove(timers, psn);
    }
  }
};

/// The receiving half.
struct PdcReceive {
  std::uint64_t* received = nullptr;    ///< Bits of PSNs from `expected` on: all below it have been received.
  std::uint64_t* finished = nullptr;    ///< Above CACK: answered, and without an uncleared response.
  std::uint16_t mask = 0;               ///< Bits minus one.
  std::uint16_t range = 0;              ///< MP_RANGE that this end grants, at most mask + 1.
  UetPsn cumulative = 0;                ///< CACK_PSN.
  UetPsn expected = 0;                  ///< The lowest PSN that has not been received.
  UetPsn highest = 0;                   ///< The highest PSN that has been received; start - 1 at first.
  UetPsn clear = 0;                     ///< CLEAR_PSN.
  UetPsn sack_track = 0;                ///< sack_base_track.
  std::uint64_t bytes = 0;              ///< Window bytes of all packets accepted.
  std::uint32_t ahead = 0;              ///< Received above CACK: ooo_count.
  std::uint32_t ack_bytes = 0;          ///< ack_gen_count.
  std::uint32_t in_execution = 0;       ///< Accepted and not yet answered.
  std::uint32_t stored_tail = kNoSlot;  ///< Newest of the responses kept until cleared; next is the oldest.
  std::uint32_t stored_count = 0;
  std::uint32_t messages = kNoSlot;  ///< Inbound messages, latest first.
  UetPsn owed = 0;                   ///< An AR packet that waits for the gap before it.
  UetPsn nacked_gap = 0;             ///< ROD: `expected` when the last NACK ROD_OOO left.
  UetPsn nacked_psn = 0;             ///< ROD: which packet it refused.
  std::uint16_t finished_count = 0;  ///< Bits of `finished`.
  bool owes = false;
  bool acknowledged : 1 = false;  ///< Some request has been acknowledged.
  bool gap_nacked : 1 = false;
  bool stored_in_order : 1 = true;  ///< The list of stored responses rises with their PSN.

  static std::uint64_t bit(UetPsn psn) { return std::uint64_t{1} << (psn % 64); }
  std::uint64_t& word(std::uint64_t* bits, UetPsn psn) const { return bits[(psn & mask) / 64]; }
  /// Of a PSN in (cumulative, cumulative + range].
  bool has(UetPsn psn) const {
    return wire::uet_psn_before(psn, expected) || (word(received, psn) & bit(psn)) != 0;
  }
  bool is_finished(UetPsn psn) const { return (word(finished, psn) & bit(psn)) != 0; }
  /// Notes it of a PSN that CACK does not pass yet.
  void finish(UetPsn psn) {
    word(finished, psn) |= bit(psn);
    ++finished_count;
  }
};

/// Who opened a PDC.
enum class PdcRole : std::uint8_t { kInitiator, kTarget };

struct alignas(64) Pdc {
  PdcState state = PdcState::kClosed;
  PdcRole role = PdcRole::kInitiator;
  bool ordered = false;   ///< ROD.
  bool reserved = false;  ///< Of the reserved pool.
  bool peer_known = false;
  bool on_ready_list = false;   ///< Of its CCC.
  bool clear_asked = false;     ///< The peer wants a CLEAR.
  bool inferring : 1 = false;   ///< Source: loss is being inferred, up to tx.infer_until.
  bool closing : 1 = false;     ///< Target: CLOSE_CMD waits for what it has overtaken.
  bool backed_off : 1 = false;  ///< Source: some RTO(n) with n above 0 may be running.
  bool refused : 1 = false;     ///< Source: the target knows another PDC by `local_id`.
  std::uint16_t peer_id = 0;    ///< As the peer's packets name the two.
  std::uint16_t local_id = 0;
  std::uint16_t entropy = 0;  ///< ROD: of every packet.
  std::uint16_t window_probes = 0;
  std::uint32_t generation = 0;  ///< Counts uses of the record.
  wire::HostAddress peer;
  std::uint32_t route = 0;  ///< Initiator: Pds::route_of() of its messages.
  std::uint32_t ccc = kNoSlot;
  std::uint32_t next_ready = kNoSlot;  ///< Link of the CCC's list.
  UetPsn close_psn = 0;                ///< Of CLOSE_CMD: the initiator's, or `closing`.
  TimePs last_activity{};
  TimePs armed_at = kNever;  ///< Its deadline among the timers of Pds.
  TimePs clear_at = kNever;  ///< Source: send CLEAR_CMD. Receiver: send CLEAR_REQ, when role or data say so.
  TimePs ask_clear_at = kNever;  ///< Receiver: ask for a CLEAR.
  TimePs close_at = kNever;      ///< Target: the close request has not been answered.
  TimePs tail_at = kNever;       ///< Source: send a tail probe.
  TimePs window_at = kNever;     ///< Source: CACK leaves no window, or nobody gives credit: ask the peer.
  std::uint16_t clear_requests = 0;
  std::uint16_t tail_probes = 0;
  std::uint16_t credit_probes = 0;  ///< Since an acknowledgement or a credit came.
  std::uint16_t tail_opaque = 0;    ///< Of the newest tail probe.
  TimePs tail_probed_at{};
  TimePs least_refusal = kNever;  ///< ROD: shortest time from a packet to its NACK.
  PdcSend tx;
  PdcReceive rx;
  IndexList fetched;        ///< Payload of packets that were never sent, in their order,
  IndexList fetched_again;  ///< and of repetitions (Pds::StagedPacket).

  UetPsn clear_psn() const { return tx.una - 1; }
  /// Whether packets of the peer with these identifiers are of this PDC.
  bool are_its_identifiers(std::uint16_t source, std::uint16_t destination) const {
    return (std::uint32_t{source} | std::uint32_t{destination} << 16U) ==
           (std::uint32_t{peer_id} | std::uint32_t{local_id} << 16U);
  }
};
static_assert(sizeof(Pdc) == 320, "a peer that has been used has one or two");

}  // namespace wharf::uet
