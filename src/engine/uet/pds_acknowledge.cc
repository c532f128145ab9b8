// SPDX-License-Identifier: Apache-2.0
// The source's side of an ACK: its own answer, CACK, SACK, what congestion management hears, and what the
// peer asks for. [UE 1.0 3.5.11 to 3.5.13]
#include <bit>

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_end.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {

bool Pds::is_peer(std::uint32_t index, const wire::Packet& packet, std::uint16_t source_id) const {
  if (index == kNoSlot) return false;
  const Pdc& record = *pdcs_[index];
  if (record.state == PdcState::kClosed || record.peer != packet.source) return false;
  return record.peer_known ? record.peer_id == source_id : source_id != 0;
}

void Pds::know_peer(TimePs now, std::uint32_t index, std::uint16_t source_id) {
  // [UE 1.0 3.5.8] The first packet of the target tells its identifier; SYN ends here. Only a packet whose
  // PSN is one of this PDC may: others can be late ones to the PDC that had the identifier before.
  Pdc& record = *pdcs_[index];
  record.peer_known = true;
  record.peer_id = source_id;
  step(now, index, PdcEvent::kPeerKnown);
}

/// A packet that was sent once, and so is on no list.
[[gnu::always_inline]] inline void Pds::confirm_first(PdcSend& tx, std::uint32_t bytes, Effects& effects) {
  ++effects.acknowledgement.confirmed.packets;
  effects.psn_bytes += bytes;
  --tx.in_flight;
}

void Pds::confirm(Pdc& record, UetPsn psn, Effects& effects) {
  PdcSend& tx = record.tx;
  const SendEntry& entry = tx.at(psn);
  if (entry.message == kControlEntry || entry.state == EntryState::kReceived) {
    if (entry.state != EntryState::kReceived) tx.unlink(psn);
    return;
  }
  const std::uint32_t bytes = entry_window_bytes(entry);
  if (entry.under_way_first_time()) {
    confirm_first(tx, bytes, effects);
    return;
  }
  ++effects.acknowledgement.confirmed.packets;
  effects.psn_bytes += bytes;
  if (entry.state == EntryState::kSent) {
    --tx.in_flight;
  } else {
    ++effects.acknowledgement.restored.packets;
    effects.acknowledgement.restored.bytes += bytes;
    if (entry.state == EntryState::kQueued) {
      --parts_.cms[record.ccc].resend_packets;
      parts_.cms[record.ccc].resend_backlog -= bytes;
      drop_fetched_again(record, psn);
    }
  }
  tx.unlink(psn);
}

void Pds::answer(TimePs now, std::uint32_t index, UetPsn psn, const wire::Packet* packet, Effects& effects) {
  Pdc& record = *pdcs_[index];
  confirm(record, psn, effects);
  SendEntry& entry = record.tx.at(psn);
  entry.state = EntryState::kAnswered;
  if (entry.message == kControlEntry) return;
  parts_.initiator.answered(now, entry.message, packet);
}

void Pds::answer_rest(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  Effects effects;
  const UetPsn end = record.tx.next;
  for (UetPsn psn = record.tx.una; psn != end; ++psn) {
    if (record.tx.at(psn).state != EntryState::kAnswered) answer(now, index, psn, nullptr, effects);
  }
  record.tx.una = end;
  effects.acknowledgement.confirmed.bytes = effects.psn_bytes;
  parts_.cms.on_acknowledgement(now, record.ccc, effects.acknowledgement);
}

void Pds::advance_una(TimePs now, std::uint32_t index, const Effects& effects) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  bool closed = false;
  // The rest below CACK: the last of them is looked at like any other.
  if (effects.answers_all && record.state != PdcState::kCloseAckWait) [[likely]]
    tx.una = tx.cumulative;
  while (tx.una != tx.next && tx.at(tx.una).state == EntryState::kAnswered) {
    if (record.state == PdcState::kCloseAckWait && tx.una == record.close_psn) closed = true;
    ++tx.una;
    if (tx.una != tx.next && tx.at(tx.una).state == EntryState::kReceived) arm(index, now + earliest_rto_);
  }
  if (closed) {
    close_answered(now, index);
    return;
  }
  if (tx.una == tx.next && !tx.timers.empty()) WHARF_UNREACHABLE();
  tx.look_ahead();
}

std::uint64_t Pds::sack_bits(const PdcReceive& rx, UetPsn base) const {
  std::uint64_t bits = 0;
  const std::uint32_t shift = base % 64;
  bits = rx.word(rx.received, base) >> shift;
  if (shift != 0) bits |= rx.word(rx.received, base + 64) << (64 - shift);
  // Bits of the ring beyond CACK + range belong to other PSNs.
  const std::int32_t end = wire::uet_psn_difference(rx.cumulative + 1 + rx.range, base);
  if (end < 64) bits &= end <= 0 ? 0 : (std::uint64_t{1} << static_cast<unsigned>(end)) - 1;
  const std::int32_t below = wire::uet_psn_difference(rx.expected, base);
  if (below > 0)
    bits |= below >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << static_cast<unsigned>(below)) - 1;
  return bits;
}

void Pds::receive_ack(TimePs now, const wire::Packet& packet) {
  ++parts_.counters.acknowledgements_received;
  const wire::UetAck& ack = packet.uet.ack;
  const std::uint32_t index = find(ack.destination_pdcid, answered_);
  if (!is_peer(index, packet, ack.source_pdcid)) {
    ++parts_.counters.dropped_unknown_pdc;
    return;
  }
  Pdc& record = *pdcs_[index];
  if (!is_plausible(record, packet.uet)) {
    ++parts_.counters.dropped_acknowledgement;
    return;
  }
  if (!record.peer_known) [[unlikely]]
    know_peer(now, index, ack.source_pdcid);
  const std::uint32_t generation = record.generation;
  const std::uint32_t ccc = record.ccc;
  record.last_activity = now;
  record.tail_probes = 0;
  record.credit_probes = 0;
  if (record.tail_at != kNever) record.tail_at = now + tail_silence(record);

  Effects effects;
  const UetPsn una = record.tx.una;
  const UetPsn cumulative = record.tx.cumulative;
  const bool probe = packet.uet.prologue.answers_probe();
  if (!probe) take_answer(now, index, packet, effects);
  if (record.generation != generation) return;
  if (!probe) take_cumulative(now, index, packet.uet, effects);
  if (record.generation != generation) return;
  take_congestion(now, index, packet.uet, effects);
  tell_congestion(now, index, packet, effects.acknowledgement);
  advance_una(now, index, effects);
  if (record.generation != generation) {
    parts_.cms.update(now, ccc);
    return;
  }
  if (record.backed_off) [[unlikely]] {
    silence_[index].from = now;
    if (record.tx.una != una || record.tx.cumulative != cumulative ||
        effects.acknowledgement.confirmed.packets > 0)
      end_back_off(now, index);
  }
  if (packet.uet.prologue.ack_request() != wire::UetAckRequest::kNone)
    take_wish(now, index, packet.uet.prologue.ack_request());
  if (parts_.config.infer_loss && packet.uet.prologue.type != wire::UetPdsType::kAck) {
    const bool quick = probe && answers_quickly(now, record, static_cast<std::uint16_t>(ack.ack_psn_offset));
    infer_loss(now, index, packet.uet.ack_congestion.out_of_order, quick);
  }
  if (probe && !parts_.config.infer_loss &&
      static_cast<std::uint16_t>(ack.ack_psn_offset) == record.tail_opaque)
    ask_for_oldest(now, index);
  if (record.state == PdcState::kQuiesce) drain_step(now, index);
  if (record.generation == generation) kick(now, index);
}

void Pds::ask_for_oldest(TimePs now, std::uint32_t index) {
  // [UE 1.0 3.5.12] The peer has answered a tail probe: what it has and has not answered was lost on its way.
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  if (tx.una == tx.next || tx.at(tx.una).state != EntryState::kReceived) return;
  tx.at(tx.una).sent_at = now;
  ++parts_.counters.ack_requests_sent;
  send_control(index, wire::UetControlType::kAckRequest, tx.una, 0, wire::kUetAckRequested);
}

bool Pds::is_plausible(const Pdc& record, const wire::UetPacket& uet) {
  const PdcSend& tx = record.tx;
  // An answer to a probe names no PSN: it may be a late one for the PDC that had the identifier before.
  if (uet.prologue.answers_probe())
    return record.peer_known && wire::uet_psn_difference(tx.cumulative, tx.next - 1) <= 0;
  const UetPsn cumulative = uet.ack.cumulative_psn;
  // Half the range after its start, the start is no longer before anything.
  const bool early = wire::uet_psn_before(cumulative, tx.start - 1) && tx.next - tx.start < (1U << 30U);
  return !early && wire::uet_psn_difference(cumulative, tx.next - 1) <= 0 &&
         wire::uet_psn_difference(uet.ack.ack_psn(), tx.next) < 0;
}

void Pds::take_answer(TimePs now, std::uint32_t index, const wire::Packet& packet, Effects& effects) {
  const PdcSend& tx = pdcs_[index]->tx;
  const wire::UetPrologue& prologue = packet.uet.prologue;
  const UetPsn psn = packet.uet.ack.ack_psn();
  if (!tx.contains(psn) || tx.at(psn).state == EntryState::kAnswered) return;
  const SendEntry& entry = tx.at(psn);
  const bool again = prologue.retransmitted();
  // [UE 1.0 3.6.13] A sample is valid when the copy that was answered is known.
  if (entry.state == EntryState::kSent && entry.message != kControlEntry &&
      ((entry.sends == 1 && !again) || (entry.sends == 2 && again))) {
    congestion::Acknowledgement& told = effects.acknowledgement;
    told.round_trip = now - entry.sent_at;
    told.receiver_hold = min(told.round_trip, receiver_hold(packet.uet));
    if (adaptive_.floor > kTimeZero) [[unlikely]]
      parts_.cms[pdcs_[index]->ccc].estimate.sample(adaptive_, told.round_trip);
  }
  answer(now, index, psn, prologue.next == wire::UetNextHeader::kNone ? nullptr : &packet, effects);
}

TimePs Pds::receiver_hold(const wire::UetPacket& uet) {
  if (uet.prologue.type == wire::UetPdsType::kAck || uet.ack_congestion.type != wire::UetCcType::kNscc)
    return kTimeZero;
  return picoseconds(static_cast<std::int64_t>(uet.ack_congestion.service_time) *
                     static_cast<std::int64_t>(wire::kUetServiceTimeUnitPs));
}

void Pds::take_cumulative(TimePs now, std::uint32_t index, const wire::UetPacket& uet, Effects& effects) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  EngineParts& parts = parts_;
  const UetPsn cumulative = uet.ack.cumulative_psn;
  if (!wire::uet_psn_after(cumulative, tx.cumulative)) return;
  // [UE 1.0 3.5.11] Below CACK without an answer of its own: DEFAULT_RESPONSE, RC_OK.
  const std::uint32_t generation = record.generation;
  const bool all = !wire::uet_psn_before(tx.una, tx.cumulative + 1);
  UetPsn psn = all ? tx.una : tx.cumulative + 1;
  effects.answers_all = all && !wire::uet_psn_after(psn, cumulative);
  tx.cumulative = cumulative;
  record.window_at = kNever;
  record.window_probes = 0;
  for (; record.generation == generation && !wire::uet_psn_after(psn, cumulative); ++psn) {
    SendEntry& entry = tx.at(psn);
    if (entry.under_way_first_time()) [[likely]] {
      OutboundMessage& message = parts.outbound[entry.message];
      if (!message.needs_answer) [[likely]] {
        confirm_first(tx, message.overhead + entry.length, effects);
        entry.state = EntryState::kAnswered;
        parts.initiator.answered_by_default(parts, now, entry.message, message);
        continue;
      }
    }
    if (entry.state == EntryState::kAnswered) continue;
    if (entry.message != kControlEntry && parts_.outbound[entry.message].needs_answer) {
      effects.answers_all = false;
      await_answer(now, index, psn, effects);
    } else {
      answer(now, index, psn, nullptr, effects);
    }
  }
  if (record.generation != generation) return;
  if (uet.prologue.type != wire::UetPdsType::kAck && uet.ack_congestion.mpr != 0) {
    tx.range = uet.ack_congestion.mpr * wire::kUetMprUnit;
  }
}

void Pds::await_answer(TimePs now, std::uint32_t index, UetPsn psn, Effects& effects) {
  // Its data comes on an acknowledgement that was lost: ask for it.
  Pdc& record = *pdcs_[index];
  SendEntry& entry = record.tx.at(psn);
  if (entry.state == EntryState::kReceived || entry.queued_for_answer()) return;
  confirm(record, psn, effects);
  entry.state = EntryState::kReceived;
  entry.sent_at = now;
  arm(index, entry_deadline(record, entry));
}

void Pds::take_sack(TimePs now, std::uint32_t index, UetPsn base, std::uint64_t bitmap, Effects& effects) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  // What an earlier SACK said stands, unless something of it is being repeated.
  const bool repeats = !tx.resend.empty() || !tx.timers.empty();
  const bool known = !repeats && wire::uet_psn_after(tx.sacked, tx.una);
  const UetPsn first = known ? tx.sacked : tx.una;
  bitmap = tx.outstanding_from(first, base, bitmap);
  tx.sacked = first;
  if (bitmap != 0 && !wire::uet_psn_after(base, first))
    tx.sacked += static_cast<UetPsn>(std::countr_one(bitmap >> (first - base)));
  for (std::uint64_t bits = bitmap; bits != 0; bits &= bits - 1) {
    const UetPsn psn = base + static_cast<UetPsn>(std::countr_zero(bits));
    SendEntry& entry = tx.at(psn);
    if (entry.state == EntryState::kAnswered || entry.state == EntryState::kReceived) continue;
    if (entry.message == kControlEntry) continue;  // CACK or an answer of its own confirms it.
    // [UE 1.0 3.5.12] That the peer has it is known: ACK_WITH_DATA said so, and asked for the repetition.
    if (entry.queued_for_answer()) continue;
    confirm(record, psn, effects);
    entry.state = EntryState::kReceived;
    entry.sent_at = now;
  }
  if (tx.contains(tx.una) && tx.at(tx.una).state == EntryState::kReceived) {
    arm(index, max(entry_deadline(record, tx.at(tx.una)), now));
  }
}

void Pds::take_congestion(TimePs now, std::uint32_t index, const wire::UetPacket& uet, Effects& effects) {
  congestion::Acknowledgement& told = effects.acknowledgement;
  if (uet.prologue.type == wire::UetPdsType::kAck) {
    told.confirmed.bytes = effects.psn_bytes;
    // The next rcvd_bytes counts them, too.
    pdcs_[index]->tx.received_bytes += static_cast<std::uint32_t>(effects.psn_bytes);
    return;
  }
  const wire::UetAckCongestion& cc = uet.ack_congestion;
  take_sack(now, index, cc.sack_base(uet.ack.cumulative_psn), cc.sack_bitmap, effects);
  if (cc.type == wire::UetCcType::kNscc) {
    // rcvd_bytes is cumulative: an older acknowledgement brings nothing.
    PdcSend& tx = pdcs_[index]->tx;
    static_assert(wire::kUetByteUnit == 256, "24 bits of units are 32 bits of bytes");
    const std::uint32_t step = cc.byte_units * wire::kUetByteUnit - tx.received_bytes;
    if (step < 0x8000'0000U) {
      tx.received_bytes += step;
      told.confirmed.bytes = step;
    }
    told.receiver_penalty = cc.receiver_penalty;
    told.penalty_over = cc.restore_window;
  } else {
    told.confirmed.bytes = effects.psn_bytes;
    told.granted_bytes = std::uint64_t{cc.byte_units} * wire::kUetByteUnit;
    told.credit = cc.type == wire::UetCcType::kCredit;
  }
}

void Pds::tell_congestion(TimePs now, std::uint32_t index, const wire::Packet& packet,
                          congestion::Acknowledgement& told) {
  const std::uint32_t ccc = pdcs_[index]->ccc;
  const wire::UetPrologue& prologue = packet.uet.prologue;
  told.marked = prologue.marked() ? 1 : 0;
  if (prologue.answers_probe()) {
    // [UE 1.0 3.6.13] A probe meets no queue of data: a sample of the base RTT.
    const auto opaque = static_cast<std::uint16_t>(packet.uet.ack.ack_psn_offset);
    told.round_trip = parts_.cms.probe_round_trip(now, index, opaque);
    if (told.round_trip != kNever) told.receiver_hold = min(told.round_trip, receiver_hold(packet.uet));
  } else {
    parts_.cms.feedback(now, ccc, packet.entropy,
                        prologue.marked() ? PathFeedback::kMarked : PathFeedback::kGood);
    parts_.cms.probe_base_rtt(now, index);
  }
  // What waited to be sent again has no timer, and none would come back to this PDC: to close it when it is
  // idle, or to ask for data that is owed.
  if (told.restored.packets > 0) arm(index, now + earliest_rto_);
  parts_.cms.on_acknowledgement(now, ccc, told);
}

void Pds::take_wish(TimePs now, std::uint32_t index, wire::UetAckRequest wish) {
  Pdc& record = *pdcs_[index];
  if (wish == wire::UetAckRequest::kClose && record.role == PdcRole::kInitiator) want_close(now, index);
  if (wish != wire::UetAckRequest::kClear) return;
  // [UE 1.0 3.5.12] A request will carry it; a command of its own only when nothing else leaves.
  record.clear_asked = true;
  if (sendable(record)) {
    record.clear_at = now + parts_.config.clear_time;
    arm(index, record.clear_at);
    return;
  }
  record.clear_at = kNever;
  record.clear_asked = false;
  ++parts_.counters.clear_commands_sent;
  send_control(index, wire::UetControlType::kClearCommand, 0, record.clear_psn());
}

}  // namespace wharf::uet
