// SPDX-License-Identifier: Apache-2.0
// Control packets. [UE 1.0 3.5.16]
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using wire::UetControlType;
using wire::UetNackCode;

void Pds::receive_control(TimePs now, const wire::Packet& packet) {
  const wire::UetControl& control = packet.uet.control;
  const UetControlType type = packet.uet.prologue.control;
  if (type > UetControlType::kNegotiation || packet.trim != wire::TrimState::kWhole) {
    ++parts_.counters.dropped_type;
    return;
  }
  if (wire::uet_control_consumes_psn(type) || type == UetControlType::kAckRequest) {
    bool refused = false;
    const std::uint32_t index = find_for_request(now, packet, refused);
    if (index == kNoSlot) return;
    pdcs_[index]->last_activity = silence_[index].from = now;
    if (type == UetControlType::kAckRequest) {
      answer_ack_request(now, index, control);
    } else {
      receive_sequenced_control(now, index, packet);
    }
    return;
  }
  const std::uint32_t index = find(control.destination_pdcid, requested_);
  // Nothing in these packets tells that they are for this PDC and not for an earlier one of that name. Credit
  // is the only one that does not care: it counts for all PDCs of two hosts together.
  if (!is_peer(index, packet, control.source_pdcid) ||
      (!pdcs_[index]->peer_known && type != UetControlType::kCredit)) {
    ++parts_.counters.dropped_unknown_pdc;
    return;
  }
  Pdc& record = *pdcs_[index];
  record.last_activity = silence_[index].from = now;
  switch (type) {
    case UetControlType::kClearCommand:
      // Beyond what has come, it is a late one for an earlier PDC of that name.
      if (!wire::uet_psn_after(control.payload, record.rx.highest)) take_clear(now, index, control.payload);
      break;
    case UetControlType::kClearRequest:
      ++parts_.counters.clear_commands_sent;
      send_control(index, UetControlType::kClearCommand, 0, record.clear_psn());
      break;
    case UetControlType::kCloseRequest:
      if (record.role == PdcRole::kInitiator) want_close(now, index);
      break;
    case UetControlType::kProbe:
      // [UE 1.0 3.5.16] ACK_CC with P and the opaque value; the SACK begins where the probe asks.
      acknowledge(index, control.payload, wire::kUetProbeAnswer, true, packet.entropy, now,
                  wire::UetNextHeader::kNone, {}, {});
      acknowledgements_.back().opaque = control.probe_opaque;
      break;
    case UetControlType::kCredit:
      record.credit_probes = 0;
      if (!starved(record)) record.window_at = kNever;
      parts_.cms.on_credit(now, record.ccc, control.payload & 0xff'ffffU);
      kick(now, index);
      break;
    case UetControlType::kCreditRequest:
      parts_.cms.on_credit_request(now, index, control.payload & 0xff'ffffU);
      break;
    case UetControlType::kNoop:
    case UetControlType::kAckRequest:
    case UetControlType::kCloseCommand:
    case UetControlType::kNegotiation:
      break;
  }
}

void Pds::receive_sequenced_control(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  const wire::UetControl& control = packet.uet.control;
  const UetControlType type = packet.uet.prologue.control;
  if (!admit_psn(now, index, packet, control.psn)) return;
  std::uint8_t flags = packet.uet.prologue.flags & wire::kUetRetransmit;
  if (packet.mark == wire::CongestionMark::kExperienced) flags |= wire::kUetMarked;
  if (type == UetControlType::kCloseCommand) {
    const bool mine = record.role == PdcRole::kTarget;
    if (!mine || record.tx.message_head != kNoSlot || rx.in_execution > 0) {
      // [UE 1.0 3.5.8] Something of the target's own is unfinished; or a target closes, which it may only ask
      // for.
      ControlJob& job = push(control_);
      job.type = wire::UetPdsType::kNack;
      job.code = mine ? UetNackCode::kClosingInError : UetNackCode::kUnexpectedEvent;
      job.psn = control.psn;
      job.peer = packet.source;
      job.source_id = record.local_id;
      job.destination_id = control.source_pdcid;
      job.entropy = packet.entropy;
      job.flags = flags;
      return;
    }
    // Every PSN below has been answered: the source would not close otherwise. Choice: a close that overtakes
    // something waits for it.
    if (control.psn != rx.expected) {
      if (!wire::uet_psn_after(control.psn, rx.expected)) return;  // A late one.
      record.closing = true;
      record.close_psn = control.psn;
      return;
    }
    mark_received(rx, control.psn);
    rx.cumulative = control.psn;
    acknowledge(index, control.psn, flags, true, packet.entropy, now, wire::UetNextHeader::kNone, {}, {});
    // Choice: who closes has consumed every response [UE 1.0 3.5.8], so what was sent and not acknowledged is
    // returned data that arrived; only its acknowledgement was lost.
    answer_rest(now, index);
    step(now, index, PdcEvent::kCloseCommand);
    ++parts_.counters.pdcs_closed;
    free_pdc(now, index);
    return;
  }
  // NOOP; a negotiation is answered like one: nothing is negotiable here.
  mark_received(rx, control.psn);
  rx.finish(control.psn);
  advance_cumulative(rx);
  acknowledge(index, control.psn, flags, true, packet.entropy, now, wire::UetNextHeader::kNone, {}, {});
}

void Pds::answer_ack_request(TimePs now, std::uint32_t index, const wire::UetControl& control) {
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  const UetPsn psn = control.psn;
  const std::int32_t ahead = wire::uet_psn_difference(psn, rx.cumulative);
  const bool in_reach =
      ahead <= static_cast<std::int32_t>(rx.range) && ahead > -static_cast<std::int32_t>(rx.range);
  const auto refuse = [&](UetNackCode code, std::uint32_t payload = 0) {
    ControlJob& job = push(control_);
    job.payload = payload;
    job.type = wire::UetPdsType::kNack;
    job.code = code;
    job.psn = psn;
    job.peer = record.peer;
    job.source_id = record.local_id;
    job.destination_id = record.peer_id;
    job.entropy = record.entropy;
  };
  if (!in_reach || (ahead > 0 && !rx.has(psn))) {
    refuse(UetNackCode::kPacketNotReceived);
    return;
  }
  if (const std::uint32_t at = stored_of(rx, psn); at != kNoSlot) {
    if (stored_[at].data.length > 0) {
      refuse(UetNackCode::kAckWithData);
    } else {
      acknowledge(index, psn, 0, true, record.entropy, now, stored_[at].form, stored_[at].response, {});
    }
    return;
  }
  if (ahead > 0 && !rx.is_finished(psn)) {
    // [UE 1.0 3.5.12, 3.5.16] In execution: its acknowledgement will come, and silence would look like death.
    refuse(UetNackCode::kSesProcessing, rx.highest + 1);
    return;
  }
  acknowledge(index, psn, 0, true, record.entropy, now, wire::UetNextHeader::kNone, {}, {});
}

}  // namespace wharf::uet
