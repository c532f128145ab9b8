// SPDX-License-Identifier: Apache-2.0
// The source's side of what comes back: ACK with CACK and SACK, NACK and what each code makes the source do.
// [UE 1.0 3.5.12, 3.5.13]
#include <bit>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using congestion::LossCause;
using verbs::CompletionStatus;
using wire::UetNackCode;

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

void Pds::confirm(Pdc& record, UetPsn psn, Effects& effects) {
  PdcSend& tx = record.tx;
  const SendEntry& entry = tx.at(psn);
  if (entry.message == kControlEntry || entry.state == EntryState::kReceived) {
    if (entry.state != EntryState::kReceived) tx.unlink(psn);
    return;
  }
  const std::uint32_t bytes = entry_window_bytes(entry);
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

void Pds::advance_una(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  bool closed = false;
  while (tx.una != tx.next && tx.at(tx.una).state == EntryState::kAnswered) {
    if (record.state == PdcState::kCloseAckWait && tx.una == record.close_psn) closed = true;
    ++tx.una;
    if (tx.una != tx.next && tx.at(tx.una).state == EntryState::kReceived) arm(index, now + rto(0));
  }
  if (closed) {
    step(now, index, PdcEvent::kCloseAnswered);
    ++parts_.counters.pdcs_closed;
    free_pdc(now, index);
    return;
  }
  if (tx.una == tx.next && !tx.timers.empty()) WHARF_UNREACHABLE();
}

std::uint64_t Pds::sack_bits(const PdcReceive& rx, UetPsn base) const {
  std::uint64_t bits = 0;
  const std::uint32_t shift = base % 64;
  bits = rx.word(rx.received, base) >> shift;
  if (shift != 0) bits |= rx.word(rx.received, base + 64) << (64 - shift);
  // Bits of the ring outside (CACK, CACK + range] belong to other PSNs.
  const std::int32_t below = wire::uet_psn_difference(rx.cumulative + 1, base);
  if (below > 0) bits &= below >= 64 ? 0 : ~std::uint64_t{0} << static_cast<unsigned>(below);
  const std::int32_t end = wire::uet_psn_difference(rx.cumulative + 1 + rx.range, base);
  if (end < 64) bits &= end <= 0 ? 0 : (std::uint64_t{1} << static_cast<unsigned>(end)) - 1;
  // Everything up to CACK has arrived.
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
  PdcSend& tx = record.tx;
  const wire::UetPrologue& prologue = packet.uet.prologue;
  const bool has_cc = prologue.type != wire::UetPdsType::kAck;
  const bool probe = prologue.answers_probe();
  const UetPsn cumulative = probe ? tx.cumulative : ack.cumulative_psn;
  const UetPsn ack_psn = ack.ack_psn();
  const std::int32_t beyond = wire::uet_psn_difference(cumulative, tx.next - 1);
  // Half the range after its start, the start is no longer before anything.
  const bool early = wire::uet_psn_before(cumulative, tx.start - 1) && tx.next - tx.start < (1U << 30U);
  if (beyond > 0 || early || (!probe && wire::uet_psn_difference(ack_psn, tx.next) >= 0)) {
    ++parts_.counters.dropped_acknowledgement;
    return;
  }
  if (!record.peer_known) [[unlikely]]
    know_peer(now, index, ack.source_pdcid);
  const std::uint32_t generation = record.generation;
  record.last_activity = now;
  record.tail_probes = 0;
  record.credit_probes = 0;
  if (record.tail_at != kNever) record.tail_at = now + tail_silence(record);

  Effects effects;
  congestion::Acknowledgement& told = effects.acknowledgement;
  if (!probe && tx.contains(ack_psn) && tx.at(ack_psn).state != EntryState::kAnswered) {
    const SendEntry& entry = tx.at(ack_psn);
    const bool again = prologue.retransmitted();
    // [UE 1.0 3.6.13] A sample is valid when the copy that was answered is known.
    if (entry.state == EntryState::kSent && entry.message != kControlEntry &&
        ((entry.sends == 1 && !again) || (entry.sends == 2 && again))) {
      told.round_trip = now - entry.sent_at;
      if (has_cc && packet.uet.ack_congestion.type == wire::UetCcType::kNscc) {
        told.receiver_hold = picoseconds(static_cast<std::int64_t>(packet.uet.ack_congestion.service_time) *
                                         static_cast<std::int64_t>(wire::kUetServiceTimeUnitPs));
        if (told.receiver_hold > told.round_trip) told.receiver_hold = told.round_trip;
      }
    }
    answer(now, index, ack_psn, prologue.next == wire::UetNextHeader::kNone ? nullptr : &packet, effects);
  }
  if (record.generation != generation) return;
  // [UE 1.0 3.5.11] Below CACK without an answer of its own: DEFAULT_RESPONSE, RC_OK.
  if (wire::uet_psn_after(cumulative, tx.cumulative)) {
    UetPsn psn = wire::uet_psn_after(tx.una, tx.cumulative + 1) ? tx.una : tx.cumulative + 1;
    tx.cumulative = cumulative;
    record.window_at = kNever;
    record.window_probes = 0;
    for (; record.generation == generation && !wire::uet_psn_after(psn, cumulative); ++psn) {
      SendEntry& entry = tx.at(psn);
      if (entry.state == EntryState::kAnswered) continue;
      if (entry.message != kControlEntry && parts_.outbound[entry.message].needs_answer) {
        // Its data comes on an acknowledgement that was lost: ask for it.
        if (entry.state != EntryState::kReceived && !entry.queued_for_answer()) {
          confirm(record, psn, effects);
          entry.state = EntryState::kReceived;
          entry.sent_at = now;
          arm(index, entry_deadline(entry));
        }
        continue;
      }
      answer(now, index, psn, nullptr, effects);
    }
    if (record.generation != generation) return;
    if (has_cc && packet.uet.ack_congestion.mpr != 0) {
      tx.range = packet.uet.ack_congestion.mpr * wire::kUetMprUnit;
    }
  }
  if (has_cc) {
    const wire::UetAckCongestion& cc = packet.uet.ack_congestion;
    const UetPsn base = cc.sack_base(ack.cumulative_psn);
    for (std::uint64_t bits = cc.sack_bitmap; bits != 0; bits &= bits - 1) {
      const UetPsn psn = base + static_cast<UetPsn>(std::countr_zero(bits));
      if (!tx.contains(psn)) continue;
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
      arm(index, max(entry_deadline(tx.at(tx.una)), now));
    }
    if (cc.type == wire::UetCcType::kNscc) {
      // rcvd_bytes is cumulative: an older acknowledgement brings nothing.
      const std::uint32_t step = (cc.byte_units - tx.received_units) & 0xff'ffffU;
      if (step < 0x80'0000U) {
        tx.received_units = cc.byte_units;
        told.confirmed.bytes = std::uint64_t{step} * wire::kUetByteUnit;
      }
      told.receiver_penalty = cc.receiver_penalty;
      told.penalty_over = cc.restore_window;
    } else {
      told.confirmed.bytes = effects.psn_bytes;
      told.granted_bytes = std::uint64_t{cc.byte_units} * wire::kUetByteUnit;
      told.credit = cc.type == wire::UetCcType::kCredit;
    }
  } else {
    told.confirmed.bytes = effects.psn_bytes;
  }
  told.marked = prologue.marked() ? 1 : 0;
  if (probe) {
    // [UE 1.0 3.6.13] A probe meets no queue of data: a sample of the base RTT.
    told.round_trip = parts_.cms.probe_round_trip(now, index, static_cast<std::uint16_t>(ack.ack_psn_offset));
    if (told.round_trip != kNever && has_cc && packet.uet.ack_congestion.type == wire::UetCcType::kNscc) {
      told.receiver_hold = min(told.round_trip, picoseconds(packet.uet.ack_congestion.service_time *
                                                            std::int64_t{wire::kUetServiceTimeUnitPs}));
    }
  } else {
    parts_.cms.feedback(now, record.ccc, packet.entropy,
                        prologue.marked() ? PathFeedback::kMarked : PathFeedback::kGood);
    parts_.cms.probe_base_rtt(now, index);
  }
  // What waited to be sent again has no timer, and none would come back to this PDC: to close it when it is
  // idle, or to ask for data that is owed.
  if (told.restored.packets > 0) arm(index, now + rto(0));
  parts_.cms.on_acknowledgement(now, record.ccc, told);
  const std::uint32_t ccc = record.ccc;
  advance_una(now, index);
  if (record.generation != generation) {
    parts_.cms.update(now, ccc);
    return;
  }
  switch (prologue.ack_request()) {
    case wire::UetAckRequest::kClear:
      // [UE 1.0 3.5.12] A request will carry it; a command of its own only when nothing else leaves.
      record.clear_asked = true;
      if (sendable(record)) {
        record.clear_at = now + parts_.config.clear_time;
        arm(index, record.clear_at);
      } else {
        record.clear_at = kNever;
        record.clear_asked = false;
        ++parts_.counters.clear_commands_sent;
        send_control(index, wire::UetControlType::kClearCommand, 0, record.clear_psn());
      }
      break;
    case wire::UetAckRequest::kClose:
      if (record.role == PdcRole::kInitiator) want_close(now, index);
      break;
    case wire::UetAckRequest::kNone:
    case wire::UetAckRequest::kReserved:
      break;
  }
  if (has_cc && parts_.config.infer_loss) {
    const bool quick = probe && answers_quickly(now, record, static_cast<std::uint16_t>(ack.ack_psn_offset));
    infer_loss(now, index, packet.uet.ack_congestion.out_of_order, quick);
  }
  drain_step(now, index);
  if (record.generation == generation) kick(now, index);
}

void Pds::queue_resend(TimePs now, std::uint32_t index, UetPsn psn, LossCause cause, TimePs round_trip) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  SendEntry& entry = tx.at(psn);
  if (entry.state != EntryState::kSent && entry.state != EntryState::kWaiting) return;
  tx.unlink(psn);
  if (entry.message == kControlEntry) {
    // Control packets need no window.
    entry.state = EntryState::kSent;
    entry.sent_at = now;
    entry.sends = 2;
    tx.append(tx.timers, psn);
    send_control(index, static_cast<wire::UetControlType>(entry.offset), psn, 0,
                 wire::kUetAckRequested | wire::kUetRetransmit);
    return;
  }
  const bool was_in_flight = entry.state == EntryState::kSent;
  entry.state = EntryState::kQueued;
  tx.append(tx.resend, psn);
  CongestionContext& context = parts_.cms[record.ccc];
  const std::uint32_t bytes = entry_window_bytes(entry);
  ++context.resend_packets;
  context.resend_backlog += bytes;
  if (was_in_flight) {
    --tx.in_flight;
    congestion::Loss loss;
    loss.lost = {1, bytes};
    loss.cause = cause;
    loss.round_trip = round_trip;
    parts_.cms.on_loss(now, record.ccc, loss);
  }
}

void Pds::rewind(TimePs now, std::uint32_t index, UetPsn from, LossCause cause) {
  // [UE 1.0 3.5.12, ROD] Everything from the gap on goes again, in order.
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  for (UetPsn psn = from; psn != tx.next; ++psn) {
    const SendEntry& entry = tx.at(psn);
    if (entry.state == EntryState::kAnswered || entry.state == EntryState::kReceived) continue;
    if (entry.state == EntryState::kQueued) {
      // It stays in order only if it is queued anew.
      tx.remove(tx.resend, psn);
      tx.append(tx.resend, psn);
    } else {
      queue_resend(now, index, psn, cause, kNever);
    }
  }
}

void Pds::rebase(TimePs now, std::uint32_t index, UetPsn start) {
  // [UE 1.0 3.5.8] NEW_START_PSN moves every PSN by the same distance, and everything goes again.
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  if (record.peer_known || tx.una != tx.start) return;
  const std::uint32_t distance = start - tx.start;
  if (distance == 0) return;
  for (UetPsn psn = tx.una; psn != tx.next; ++psn) queue_resend(now, index, psn, LossCause::kRefused, kNever);
  while (!record.fetched_again.empty()) drop(record, record.fetched_again, record.fetched_again.head);
  const std::uint32_t count = tx.outstanding();
  // Entries move to the places of their new numbers; the resend list is built anew.
  std::vector<SendEntry> entries(count);
  for (std::uint32_t i = 0; i < count; ++i) entries[i] = tx.at(tx.una + i);
  tx.start += distance;
  tx.una += distance;
  tx.next += distance;
  tx.fresh += distance;
  tx.cumulative += distance;
  tx.resend = {};
  tx.timers = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    tx.at(tx.una + i) = entries[i];
    if (entries[i].state == EntryState::kQueued) tx.append(tx.resend, tx.una + i);
    if (PdcSend::on_timers(entries[i])) tx.append(tx.timers, tx.una + i);
  }
  PdcReceive& rx = record.rx;
  rx.start = rx.expected = start;
  rx.cumulative = rx.highest = rx.clear = rx.sack_track = start - 1;
}

bool Pds::may_be_newest(TimePs now, const Pdc& record, const SendEntry& entry) const {
  // [UE 1.0 3.5.12, ROD] Everything from the gap on goes again: were that done for every NACK that an earlier
  // round causes, each round would cause more of them. Choice: half of the shortest time, as the next may be
  // shorter.
  return !record.ordered || entry.sends == 1 || record.least_refusal == kNever ||
         now - entry.sent_at >= record.least_refusal / 2;
}

void Pds::receive_nack(TimePs now, const wire::Packet& packet) {
  ++parts_.counters.nacks_received;
  const wire::UetNack& nack = packet.uet.nack;
  const wire::UetPrologue& prologue = packet.uet.prologue;
  if (prologue.names_rudi()) {
    parts_.rudi.receive_nack(now, packet);
    return;
  }
  const std::uint32_t index = find(nack.destination_pdcid);
  const bool known =
      index != kNoSlot && pdcs_[index]->state != PdcState::kClosed && pdcs_[index]->peer == packet.source &&
      (nack.source_pdcid == 0 || !pdcs_[index]->peer_known || pdcs_[index]->peer_id == nack.source_pdcid);
  if (!known) {
    ++parts_.counters.dropped_unknown_pdc;
    return;
  }
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  const wire::UetNackClass kind = wire::uet_nack_class(nack.code);
  // [UE 1.0 3.5.12] A NACK outside the outstanding range changes nothing.
  const bool to_window_probe = record.window_probes + record.credit_probes > 0 &&
                               nack.psn == record.clear_psn() && kind == wire::UetNackClass::kFatal;
  if ((!tx.contains(nack.psn) && !to_window_probe) || kind == wire::UetNackClass::kReserved) {
    ++parts_.counters.dropped_nack;
    return;
  }
  if (nack.source_pdcid != 0 && !record.peer_known) know_peer(now, index, nack.source_pdcid);
  record.last_activity = now;
  const std::uint32_t generation = record.generation;
  SendEntry& entry = tx.at(nack.psn);
  if (kind == wire::UetNackClass::kFatal) {
    if (record.state == PdcState::kCloseAckWait && nack.code == UetNackCode::kInvalidDpdcid) {
      // The target has closed already; only its acknowledgement was lost.
      step(now, index, PdcEvent::kCloseAnswered);
      ++parts_.counters.pdcs_closed;
      free_pdc(now, index);
      return;
    }
    const bool nothing = nack.code == UetNackCode::kInvalidSyn || nack.code == UetNackCode::kPdcModeMismatch;
    fail(now, index, CompletionStatus::kRemoteOperation, nothing && !record.peer_known);
    return;
  }
  // The copy that was refused has been repeated already, or arrived after all.
  const bool again = prologue.retransmitted();
  const bool known_copy = (entry.sends == 1 && !again) || (entry.sends == 2 && again);
  if (record.ordered && entry.state == EntryState::kSent && known_copy) {
    record.least_refusal = min(record.least_refusal, now - entry.sent_at);
  }
  const bool current = entry.state == EntryState::kSent && (again ? entry.sends > 1 : entry.sends == 1) &&
                       may_be_newest(now, record, entry);
  switch (nack.code) {
    case UetNackCode::kTrimmed:
    case UetNackCode::kTrimmedLastHop: {
      const bool last_hop = nack.code == UetNackCode::kTrimmedLastHop;
      parts_.cms.feedback(now, record.ccc, packet.entropy,
                          !last_hop           ? PathFeedback::kTrimmed
                          : prologue.marked() ? PathFeedback::kMarked
                                              : PathFeedback::kGood);
      parts_.cms.probe_base_rtt(now, index);
      if (!current) break;
      const LossCause cause = last_hop ? LossCause::kTrimmedLastHop : LossCause::kTrimmed;
      if (record.ordered) {
        rewind(now, index, nack.psn, cause);
      } else {
        queue_resend(now, index, nack.psn, cause, known_copy ? now - entry.sent_at : kNever);
      }
      break;
    }
    case UetNackCode::kReceiverInferredLoss:
      if (current) queue_resend(now, index, nack.psn, LossCause::kGap, kNever);
      break;
    case UetNackCode::kRodOutOfOrder: {
      // [UE 1.0 3.5.12] Choice: the payload, where the receiver gives it, names the gap; else CACK does.
      const bool named = tx.contains(nack.payload) && !wire::uet_psn_after(nack.payload, nack.psn);
      if (!record.ordered) break;
      // Going back again to where the peer sees no gap would repeat itself without end: then the RTO decides.
      if (!named && again) break;
      const UetPsn gap = named ? nack.payload : tx.una;
      const SendEntry& first = tx.at(gap);
      // The gap is being repaired already when its packet has left again since.
      if (first.state == EntryState::kSent && may_be_newest(now, record, first)) {
        rewind(now, index, gap, LossCause::kGap);
      }
      break;
    }
    case UetNackCode::kNewStartPsn:
      rebase(now, index, nack.payload);
      break;
    case UetNackCode::kPsnOutOfWindow:
    case UetNackCode::kNoPdc:
    case UetNackCode::kNoCcc:
    case UetNackCode::kNoBitmap:
    case UetNackCode::kNoPacketBuffer:
    case UetNackCode::kNoGuaranteedDelivery:
    case UetNackCode::kNoMessage:
    case UetNackCode::kNoResource:
    case UetNackCode::kExperimentalNormal: {
      if (!current) break;
      const std::uint32_t limit = parts_.config.max_nack_retries;
      if (limit != kNackRetriesForever && entry.nacks >= limit) {
        fail(now, index, CompletionStatus::kReceiverNotReady, false);
        return;
      }
      if (entry.nacks < 255) ++entry.nacks;
      // It has left the network; it goes again when NACK_Retx_Time has passed.
      if (entry.message == kControlEntry) break;  // Its RTO sends it again.
      const std::uint32_t bytes = entry_window_bytes(entry);
      tx.unlink(nack.psn);
      --tx.in_flight;
      entry.state = EntryState::kWaiting;
      entry.sent_at = now;
      tx.append(tx.timers, nack.psn);
      congestion::Loss loss;
      loss.lost = {1, bytes};
      loss.cause = LossCause::kRefused;
      parts_.cms.on_loss(now, record.ccc, loss);
      arm(index, now + parts_.config.nack_retransmit_time);
      break;
    }
    case UetNackCode::kPacketNotReceived:
    case UetNackCode::kAckWithData:
    case UetNackCode::kExperimentalError:
      // Answers to ACK_REQ: the request itself has to go again.
      if (entry.message == kControlEntry) break;  // Its RTO sends it again.
      if (entry.state == EntryState::kReceived) {
        // It was counted as confirmed; as a repetition it is in nobody's window until it leaves.
        entry.state = EntryState::kQueued;
        entry.for_answer = nack.code == UetNackCode::kAckWithData;
        tx.append(tx.resend, nack.psn);
        ++parts_.cms[record.ccc].resend_packets;
        parts_.cms[record.ccc].resend_backlog += entry_window_bytes(entry);
      } else if (entry.state == EntryState::kSent) {
        queue_resend(now, index, nack.psn, LossCause::kGap, kNever);
      }
      break;
    case UetNackCode::kSesProcessing:
      break;  // [UE 1.0 3.5.12] Choice: the RTO decides.
    case UetNackCode::kTrimmedAck:
      if (current) queue_resend(now, index, nack.psn, LossCause::kGap, kNever);
      break;
    case UetNackCode::kInvalidDpdcid:
    case UetNackCode::kPdcHeaderMismatch:
    case UetNackCode::kClosing:
    case UetNackCode::kClosingInError:
    case UetNackCode::kResponseUnavailable:
    case UetNackCode::kInvalidSyn:
    case UetNackCode::kPdcModeMismatch:
    case UetNackCode::kUnexpectedEvent:
    case UetNackCode::kExperimentalFatal:
      break;  // Fatal: handled above.
  }
  if (record.generation == generation) kick(now, index);
}

}  // namespace wharf::uet
