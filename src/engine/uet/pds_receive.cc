// SPDX-License-Identifier: Apache-2.0
// The way in: which PDC a request belongs to, whether its PSN is new, and what the receiver answers.
// [UE 1.0 3.5.8, 3.5.11, 3.5.12; trimming 4.1]
#include <algorithm>
#include <memory>

#include "engine/uet/engine_parts.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

using wire::UetControlType;
using wire::UetNackCode;
using wire::UetPdsType;

namespace {

/// PSN, identifiers and flags of a request or control packet, whichever it is.
struct SequenceFields {
  UetPsn psn;
  UetPsn start;
  std::uint16_t source_id;
  std::uint16_t destination_id;
  bool ordered;
  bool reserved;
};

SequenceFields fields_of(const wire::UetPacket& uet) {
  if (uet.prologue.type == UetPdsType::kControl) {
    const wire::UetControl& control = uet.control;
    return {control.psn,           control.start_psn(),       control.source_pdcid, control.destination_pdcid,
            uet.prologue.is_rod(), control.use_reserved_pdc()};
  }
  const wire::UetRequest& request = uet.request;
  return {request.psn,
          request.start_psn(),
          request.source_pdcid,
          request.destination_pdcid,
          wire::is_uet_ordered(uet.prologue.type),
          request.use_reserved_pdc()};
}

/// M and RETX as answers echo them. [UE 1.0 3.5.10]
std::uint8_t echoed(const wire::Packet& packet) {
  std::uint8_t flags = packet.uet.prologue.flags & wire::kUetRetransmit;
  if (packet.mark == wire::CongestionMark::kExperienced) flags |= wire::kUetMarked;
  return flags;
}

}  // namespace

void Pds::receive(TimePs now, const wire::Packet& packet) {
  switch (packet.uet.prologue.type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      receive_request(now, packet);
      return;
    case UetPdsType::kAck:
    case UetPdsType::kAckCc:
    case UetPdsType::kAckCcx:
      // [UE 1.0.3] A trimmed acknowledgement causes nothing; the source's RTO asks again.
      if (packet.trim != wire::TrimState::kWhole) {
        ++parts_.counters.dropped_trimmed;
      } else {
        receive_ack(now, packet);
      }
      return;
    case UetPdsType::kNack:
    case UetPdsType::kNackCcx:
      receive_nack(now, packet);
      return;
    case UetPdsType::kControl:
      receive_control(now, packet);
      return;
    case UetPdsType::kRudiRequest:
    case UetPdsType::kRudiResponse:
    case UetPdsType::kUudRequest:
      parts_.rudi.receive(now, packet);
      return;
    case UetPdsType::kTss:
      ++parts_.counters.dropped_secured;
      return;
    case UetPdsType::kReserved:
      break;
  }
  ++parts_.counters.dropped_type;
}

void Pds::nack(const wire::Packet& trigger, UetNackCode code, std::uint32_t index, std::uint32_t payload) {
  ControlJob& job = push(control_);
  const SequenceFields fields = fields_of(trigger.uet);
  job.type = UetPdsType::kNack;
  job.code = code;
  job.psn = fields.psn;
  job.payload = payload;
  job.peer = trigger.source;
  job.source_id = index == kNoSlot ? std::uint16_t{0} : pdcs_[index]->local_id;
  job.destination_id = fields.source_id;
  job.entropy = trigger.entropy;
  job.flags = echoed(trigger);
  job.operation = trigger.operation;
}

void Pds::refuse_syn(TimePs now, const wire::Packet& packet) {
  // [UE 1.0 3.5.12] The initiator closes, and repeats everything on another PDC. Choice: once one packet of
  // an opening was refused, so are those that come later, or they would be executed twice.
  const SequenceFields fields = fields_of(packet.uet);
  const std::uint64_t key = syn_key(packet.source, fields.source_id);
  bool known = false;
  for (std::size_t i = closed_.size(); i > 0 && !known; --i) {
    known = closed_[i - 1].key == key && closed_[i - 1].start == fields.start && closed_[i - 1].until >= now;
  }
  if (!known) remember_closed(now, {key, fields.start, fields.psn, ClosedPdc::End::kRefused, {}});
  nack(packet, UetNackCode::kInvalidSyn, kNoSlot);
}

bool Pds::is_stale_syn(TimePs now, const wire::Packet& packet) {
  const SequenceFields fields = fields_of(packet.uet);
  const std::uint64_t key = syn_key(packet.source, fields.source_id);
  bool latest = true;
  for (std::size_t i = closed_.size(); i > 0; --i) {
    const ClosedPdc& closed = closed_[i - 1];
    if (closed.key != key) continue;
    const bool same = closed.start == fields.start;
    // The latest PDC of that name counts: an initiator keeps its distance from that one's PSNs.
    const bool near = latest && closed.end != ClosedPdc::End::kRefused &&
                      wire::uet_psn_difference(fields.start, closed.start) >= 0 &&
                      wire::uet_psn_difference(fields.start, closed.last) < (1 << 16);
    if (closed.until >= now && (same || near)) {
      // An initiator that was not told that its PDC failed must not take it for one that never was.
      const bool failed = same && closed.end == ClosedPdc::End::kFailed;
      nack(packet, failed ? UetNackCode::kClosingInError : UetNackCode::kInvalidSyn, kNoSlot);
      return true;
    }
    if (closed.end != ClosedPdc::End::kRefused) latest = false;
  }
  return false;
}

std::uint32_t Pds::find_by_syn(TimePs now, const wire::Packet& packet, bool& refused) {
  const SequenceFields fields = fields_of(packet.uet);
  const std::uint64_t key = syn_key(packet.source, fields.source_id);
  if (const std::uint32_t* found = by_syn_.find(key)) {
    if (pdcs_[*found]->tx.start == fields.start) return *found;
    refuse_syn(now, packet);
    return kNoSlot;
  }
  const bool trimmed = packet.trim != wire::TrimState::kWhole;
  if (trimmed) {
    // Never creates state: only asks for the packet again.
    refused = false;
    return kNoSlot;
  }
  if (is_stale_syn(now, packet)) return kNoSlot;
  const std::uint32_t range = std::max<std::uint32_t>(parts_.config.default_mpr, 1) * wire::kUetMprUnit;
  if (fields.psn - fields.start >= range) {
    refuse_syn(now, packet);
    return kNoSlot;
  }
  const std::uint32_t index =
      open(now, PdcRole::kTarget, packet.source, fields.ordered, fields.reserved, fields.start);
  if (index == kNoSlot) {
    nack(packet, UetNackCode::kNoPdc, kNoSlot);
    return kNoSlot;
  }
  Pdc& made = *pdcs_[index];
  made.peer_known = true;
  made.peer_id = fields.source_id;
  by_syn_.insert(key, index);
  step(now, index, PdcEvent::kSynAccepted);
  ++parts_.counters.pdcs_accepted;
  return index;
}

std::uint32_t Pds::find_by_identifier(TimePs now, const wire::Packet& packet) {
  const SequenceFields fields = fields_of(packet.uet);
  const std::uint32_t index = find(fields.destination_id, requested_);
  if (index == kNoSlot) {
    nack(packet, UetNackCode::kInvalidDpdcid, kNoSlot);
    return kNoSlot;
  }
  const Pdc& record = *pdcs_[index];
  const bool agrees =
      record.peer == packet.source && (!record.peer_known || record.peer_id == fields.source_id);
  if (!agrees) {
    nack(packet, UetNackCode::kPdcHeaderMismatch, kNoSlot);
    return kNoSlot;
  }
  // Choice: data of the target that overtakes its first acknowledgement makes the PDC known too.
  if (!record.peer_known) {
    if (fields.psn - record.tx.start >= record.rx.range) {
      nack(packet, UetNackCode::kPdcHeaderMismatch, kNoSlot);
      return kNoSlot;
    }
    if (packet.trim == wire::TrimState::kWhole) know_peer(now, index, fields.source_id);
  }
  return index;
}

std::uint32_t Pds::find_for_request(TimePs now, const wire::Packet& packet, bool& refused) {
  // [UE 1.0 3.5.8] SYN: by host and SPDCID. Otherwise DPDCID is an index, and the record must agree.
  const SequenceFields fields = fields_of(packet.uet);
  refused = true;
  if (fields.source_id == 0) {
    ++parts_.counters.dropped_malformed;
    return kNoSlot;
  }
  const bool syn = packet.uet.prologue.syn();
  const std::uint32_t index = syn ? find_by_syn(now, packet, refused) : find_by_identifier(now, packet);
  if (index == kNoSlot) return kNoSlot;
  const bool mode_matters = packet.uet.prologue.type != UetPdsType::kControl || syn ||
                            packet.uet.prologue.control == UetControlType::kNoop;
  if (mode_matters && pdcs_[index]->ordered != fields.ordered) {
    nack(packet, UetNackCode::kPdcModeMismatch, index);
    return kNoSlot;
  }
  refused = false;
  return index;
}

[[gnu::always_inline]] inline std::uint32_t Pds::find_again(const wire::Packet& packet) const {
  const wire::UetRequest& request = packet.uet.request;
  if (requested_.id != request.destination_pdcid || requested_.index == kNoSlot ||
      packet.uet.prologue.syn()) {
    return kNoSlot;
  }
  const Pdc& record = *pdcs_[requested_.index];
  const bool agrees = record.peer_known && record.peer == packet.source &&
                      record.peer_id == request.source_pdcid && request.source_pdcid != 0 &&
                      record.ordered == wire::is_uet_ordered(packet.uet.prologue.type);
  return agrees ? requested_.index : kNoSlot;
}

void Pds::mark_received(PdcReceive& rx, UetPsn psn) {
  ++rx.ahead;
  if (wire::uet_psn_after(psn, rx.highest)) rx.highest = psn;
  if (wire::uet_psn_before(psn, rx.sack_track)) rx.sack_track = psn;
  if (psn != rx.expected) {
    rx.word(rx.received, psn) |= PdcReceive::bit(psn);
    return;
  }
  for (++rx.expected; !wire::uet_psn_after(rx.expected, rx.highest) && rx.has(rx.expected); ++rx.expected)
    rx.word(rx.received, rx.expected) &= ~PdcReceive::bit(rx.expected);
}

void Pds::unmark_received(PdcReceive& rx, UetPsn psn) {
  --rx.ahead;
  if (!wire::uet_psn_before(psn, rx.expected)) {
    rx.word(rx.received, psn) &= ~PdcReceive::bit(psn);
    return;
  }
  while (--rx.expected != psn) rx.word(rx.received, rx.expected) |= PdcReceive::bit(rx.expected);
}

void Pds::advance_cumulative(PdcReceive& rx) {
  // [UE 1.0 3.5.12] CACK stops below a PSN whose guaranteed response has not been cleared.
  UetPsn psn = rx.cumulative + 1;
  for (; rx.finished_count > 0 && rx.is_finished(psn); ++psn) {
    rx.word(rx.finished, psn) &= ~PdcReceive::bit(psn);
    --rx.finished_count;
    --rx.ahead;
  }
  rx.cumulative = psn - 1;
}

void Pds::take_clear(TimePs now, std::uint32_t index, UetPsn clear) {
  PdcReceive& rx = pdcs_[index]->rx;
  // [UE 1.0 3.5.11] Monotonic, and never beyond what has been received.
  if (!wire::uet_psn_after(clear, rx.clear)) return;
  if (!wire::uet_psn_before(clear, rx.expected)) clear = rx.expected - 1;
  if (!wire::uet_psn_after(clear, rx.clear)) return;
  rx.clear = clear;
  if (rx.stored_count == 0) return;
  clear_stored(now, index, clear);
  advance_cumulative(rx);
  if (rx.stored_count == 0) {
    pdcs_[index]->ask_clear_at = kNever;
    pdcs_[index]->clear_requests = 0;
  }
}

[[gnu::always_inline]] inline bool Pds::admit_new(TimePs now, std::uint32_t index, const wire::Packet& packet,
                                                  UetPsn psn) {
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  // [UE 1.0 3.5.12] The next in order, whole.
  if (packet.trim == wire::TrimState::kWhole && psn == rx.expected && psn - rx.cumulative <= rx.range) {
    const UetPsn clear = packet.uet.request.clear_psn();
    if (wire::uet_psn_after(clear, rx.clear)) take_clear(now, index, clear);
    return true;
  }
  return admit_psn(now, index, packet, psn);
}

bool Pds::admit_psn(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn) {
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  const bool trimmed = packet.trim != wire::TrimState::kWhole;
  const std::int32_t ahead = wire::uet_psn_difference(psn, rx.cumulative);
  // [UE 1.0 3.5.12] (CACK, CACK + MP_RANGE] is new or a duplicate; the range below is a duplicate.
  if (ahead > static_cast<std::int32_t>(rx.range) || ahead <= -static_cast<std::int32_t>(rx.range)) {
    ++parts_.counters.dropped_out_of_window;
    if (packet.uet.prologue.syn()) {
      nack(packet, UetNackCode::kInvalidSyn, index);
    } else if (parts_.config.nack_out_of_window) {
      nack(packet, UetNackCode::kPsnOutOfWindow, index);
    }
    return false;
  }
  if (record.closing && wire::uet_psn_after(psn, record.close_psn)) {
    // [UE 1.0 3.5.8] A new PSN on a PDC that its initiator has closed.
    nack(packet, UetNackCode::kClosing, index);
    return false;
  }
  if (wire::is_uet_pdc_request(packet.uet.prologue.type) && !trimmed) {
    take_clear(now, index, packet.uet.request.clear_psn());
  }
  const bool seen = wire::uet_psn_difference(psn, rx.cumulative) <= 0 || rx.has(psn);
  if (trimmed || seen) {
    answer_unwanted(now, index, packet, psn, seen);
    return false;
  }
  if (record.ordered && psn != rx.expected) {
    refuse_out_of_order(index, packet, psn);
    return false;
  }
  return true;
}

void Pds::answer_unwanted(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn,
                          bool seen) {
  const bool trimmed = packet.trim != wire::TrimState::kWhole;
  if (trimmed) ++parts_.counters.trimmed_received;
  if (!seen) {
    // [UE 1.0 4.1] A trimmed packet never changes what the PDC has received.
    const bool last_hop = packet.trim == wire::TrimState::kTrimmedLastHop;
    nack(packet, last_hop ? UetNackCode::kTrimmedLastHop : UetNackCode::kTrimmed, index,
         pdcs_[index]->rx.highest + 1);
    return;
  }
  // [UE 1.0 3.5.12] Without RETX the network has repeated it.
  const bool again = packet.uet.prologue.retransmitted();
  if (!trimmed) ++(again ? parts_.counters.duplicates_answered : parts_.counters.duplicates_dropped);
  if (trimmed || again) answer_duplicate(now, index, packet, psn);
}

void Pds::refuse_out_of_order(std::uint32_t index, const wire::Packet& packet, UetPsn psn) {
  // [UE 1.0 3.5.12, ROD] One NACK for each gap; the payload names what is missing.
  PdcReceive& rx = pdcs_[index]->rx;
  ++parts_.counters.dropped_out_of_order;
  // The source has gone back, and the gap is still there: its packet was lost again.
  const bool repeated = packet.uet.prologue.retransmitted() && !wire::uet_psn_after(psn, rx.nacked_psn);
  if (rx.gap_nacked && rx.nacked_gap == rx.expected && !repeated) return;
  rx.gap_nacked = true;
  rx.nacked_gap = rx.expected;
  rx.nacked_psn = psn;
  nack(packet, UetNackCode::kRodOutOfOrder, index, rx.expected);
}

void Pds::answer_duplicate(TimePs now, std::uint32_t index, const wire::Packet& packet, UetPsn psn) {
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  // [UE 1.0 3.5.12] Choice: SACK_BASE as in the UEC's simulator, where only a mark makes a duplicate the
  // base; it is no news itself.
  const std::uint8_t flags = echoed(packet);
  const bool on_trigger = (flags & wire::kUetMarked) != 0;
  if (const std::uint32_t at = stored_of(rx, psn); at != kNoSlot) {
    acknowledge(index, psn, flags, on_trigger, packet.entropy, now, stored_[at].form, stored_[at].response,
                stored_[at].data);
    acknowledgements_.back().operation = packet.operation;
    return;
  }
  const bool finished = wire::uet_psn_difference(psn, rx.cumulative) <= 0 || rx.is_finished(psn);
  if (!finished) {
    // SES still works on the original.
    nack(packet, UetNackCode::kSesProcessing, index, rx.highest + 1);
    return;
  }
  wire::UetSesResponse response;
  wire::UetNextHeader form = wire::UetNextHeader::kNone;
  if (packet.trim == wire::TrimState::kWhole && wire::is_uet_pdc_request(packet.uet.prologue.type) &&
      wire::is_uet_request_form(packet.uet.prologue.next)) {
    // DEFAULT_RESPONSE can be made again.
    form = wire::UetNextHeader::kResponse;
    const wire::UetSesRequest& request = packet.uet.ses;
    response.job_id = request.job_id;
    response.message_id = request.message_id;
    response.ri_generation = request.ri_generation;
    response.modified_length = request.request_length;
  }
  acknowledge(index, psn, flags, on_trigger, packet.entropy, now, form, response, {});
  acknowledgements_.back().operation = packet.operation;
}

bool Pds::nothing_else_helps(const PdcReceive& rx, UetPsn psn) const {
  // [UE 1.0 3.5.11] CLEAR_PSN stops below the first PSN without an answer. If that is this one, the responses
  // stored above it are kept until it has been taken: refusing it for their sake would be for ever.
  if (psn != rx.expected || rx.in_execution > 0) return false;
  const auto is_below = [psn](const StoredResponse& stored) { return wire::uet_psn_before(stored.psn, psn); };
  return find_stored(rx, is_below) == kNoSlot;
}

void Pds::receive_request(TimePs now, const wire::Packet& packet) {
  std::uint32_t index = find_again(packet);
  if (index == kNoSlot) {
    bool refused = false;
    index = find_for_request(now, packet, refused);
    if (index == kNoSlot) {
      if (refused) return;
      ++parts_.counters.trimmed_received;
      const bool last_hop = packet.trim == wire::TrimState::kTrimmedLastHop;
      nack(packet, last_hop ? UetNackCode::kTrimmedLastHop : UetNackCode::kTrimmed, kNoSlot);
      return;
    }
  }
  Pdc& record = *pdcs_[index];
  recent_receiver_ = &record;
  // Who is known has an identifier other than 0.
  usual_sender_ = parts_.plain.allowed && record.peer_known ? &record : nullptr;
  usual_index_ = index;
  const UetPsn psn = packet.uet.request.psn;
  parts_.cms.on_request(now, index, packet);
  if (!admit_new(now, index, packet, psn)) return;
  record.last_activity = now;
  if (packet.mark == wire::CongestionMark::kExperienced) ++parts_.counters.marked_received;
  const std::uint32_t slot = make_inbound(now, index, packet);
  if (slot == kNoSlot) return;
  const UetConfig& config = parts_.config;
  PdcReceive& rx = record.rx;
  const std::uint32_t generation = record.generation;
  const std::uint32_t overhead = config.window_overhead_bytes != 0
                                     ? config.window_overhead_bytes
                                     : window_overhead_ + wire::uet_header_bytes(packet.uet);
  const std::uint32_t bytes = overhead + packet.payload.length;
  if (psn == rx.expected && psn == rx.highest + 1) [[likely]] {
    ++rx.ahead;
    rx.highest = psn;
    ++rx.expected;
  } else {
    mark_received(rx, psn);
  }
  ++rx.in_execution;
  rx.bytes += bytes;
  const std::uint32_t counted = config.window_overhead_bytes != 0 ? bytes : packet.payload.length;
  rx.ack_bytes += std::max(counted, config.ack_min_packet_bytes);
  const std::optional<UetNackCode> code = wire::is_uet_response_form(packet.uet.prologue.next)
                                              ? parts_.initiator.take_data(now, slot, packet)
                                              : parts_.target.deliver(now, slot, packet);
  if (code) {
    unmark_received(rx, psn);
    --rx.in_execution;
    rx.bytes -= bytes;
    parts_.inbound.release(slot);
    nack(packet, *code, index, rx.highest + 1);
    return;
  }
  // [UE 1.0 3.5.12] A gap before an AR packet has closed: the answer that it still owes.
  if (record.generation == generation && rx.owes && !wire::uet_psn_after(rx.owed, rx.cumulative)) {
    rx.owes = false;
    if (rx.ack_bytes > 0) {
      acknowledge(index, rx.cumulative, echoed(packet), false, packet.entropy, now,
                  wire::UetNextHeader::kNone, {}, {});
    }
  }
}

[[gnu::always_inline]] inline std::uint32_t Pds::make_inbound(TimePs now, std::uint32_t index,
                                                              const wire::Packet& packet) {
  // [UE 1.0 3.5.12] Resources before the PSN counts as received.
  const Pdc& record = *pdcs_[index];
  const UetConfig& config = parts_.config;
  const UetPsn psn = packet.uet.request.psn;
  const bool full = stored_.in_use() + parts_.inbound.in_use() >= config.stored_responses;
  if (full && !nothing_else_helps(record.rx, psn)) {
    nack(packet, UetNackCode::kNoGuaranteedDelivery, index);
    return kNoSlot;
  }
  const std::uint32_t slot = EngineParts::acquire(parts_.inbound, config.packets_in_execution);
  if (slot == kNoSlot) {
    nack(packet, UetNackCode::kNoPacketBuffer, index);
    return kNoSlot;
  }
  InboundPacket& inbound = parts_.inbound[slot];
  renew(inbound);
  inbound.pdc = index;
  inbound.pdc_generation = record.generation;
  inbound.psn = psn;
  inbound.next_in_order = psn == record.rx.expected;
  inbound.source = packet.source;
  inbound.entropy = packet.entropy;
  inbound.pds_flags = packet.uet.prologue.flags;
  inbound.marked = packet.mark == wire::CongestionMark::kExperienced;
  inbound.payload_length = packet.payload.length;
  inbound.arrived_at = now;
  inbound.operation = packet.operation;
  return slot;
}

}  // namespace wharf::uet
