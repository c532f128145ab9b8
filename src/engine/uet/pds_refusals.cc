// SPDX-License-Identifier: Apache-2.0
// The source's side of a NACK: what each code makes it do, and what is queued to be sent again.
// [UE 1.0 3.5.12]
#include <vector>

#include "engine/uet/engine_parts.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {

using congestion::LossCause;
using verbs::CompletionStatus;
using wire::UetNackCode;

std::uint32_t Pds::take_back(TimePs now, std::uint32_t index, UetPsn psn) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  SendEntry& entry = tx.at(psn);
  if (entry.state != EntryState::kSent && entry.state != EntryState::kWaiting) return 0;
  tx.unlink(psn);
  if (entry.message == kControlEntry) {
    // Control packets need no window.
    entry.state = EntryState::kSent;
    entry.sent_at = now;
    entry.sends = 2;
    tx.append(tx.timers, psn);
    send_control(index, static_cast<wire::UetControlType>(entry.offset), psn, 0,
                 wire::kUetAckRequested | wire::kUetRetransmit);
    return 0;
  }
  const bool was_in_flight = entry.state == EntryState::kSent;
  entry.state = EntryState::kQueued;
  tx.append(tx.resend, psn);
  CongestionContext& context = parts_.cms[record.ccc];
  const std::uint32_t bytes = entry_window_bytes(entry);
  ++context.resend_packets;
  context.resend_backlog += bytes;
  if (!was_in_flight) return 0;
  --tx.in_flight;
  return bytes;
}

void Pds::queue_resend(TimePs now, std::uint32_t index, UetPsn psn, LossCause cause, TimePs round_trip) {
  const Pdc& record = *pdcs_[index];
  const std::uint32_t queued = record.tx.resend.count;
  if (const std::uint32_t bytes = take_back(now, index, psn); bytes > 0) {
    congestion::Loss loss;
    loss.lost = {1, bytes};
    loss.cause = cause;
    loss.round_trip = round_trip;
    parts_.cms.on_loss(now, record.ccc, loss);
  }
  if (parts_.cms.asks_for_resends() && record.tx.resend.count > queued)
    parts_.cms.on_resend(now, record.ccc, index);
}

void Pds::rewind(TimePs now, std::uint32_t index, UetPsn from, LossCause cause) {
  // [UE 1.0 3.5.12, ROD] Everything from the gap on goes again, in order.
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  const std::uint32_t queued = tx.resend.count;
  congestion::Loss first;
  congestion::Loss behind;
  first.cause = behind.cause = cause;
  for (UetPsn psn = from; psn != tx.next; ++psn) {
    const SendEntry& entry = tx.at(psn);
    if (entry.state == EntryState::kAnswered || entry.state == EntryState::kReceived) continue;
    if (entry.state == EntryState::kQueued) {
      // It stays in order only if it is queued anew.
      tx.remove(tx.resend, psn);
      tx.append(tx.resend, psn);
    } else if (const std::uint32_t bytes = take_back(now, index, psn); bytes > 0) {
      congestion::Loss& loss = psn == from ? first : behind;
      ++loss.lost.packets;
      loss.lost.bytes += bytes;
    }
  }
  // [UE 1.0 3.6.13] A NACK takes the size of its packet. What goes back with it has met no congestion.
  if (behind.lost.packets > 0) parts_.cms.on_loss(now, record.ccc, behind, Cms::Window::kStays);
  if (first.lost.packets > 0) parts_.cms.on_loss(now, record.ccc, first);
  if (parts_.cms.asks_for_resends() && tx.resend.count > queued) parts_.cms.on_resend(now, record.ccc, index);
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
  tx.usual_end = tx.next;
  tx.cumulative += distance;
  tx.resend = {};
  tx.timers = {};
  tx.sacked = tx.una;
  for (std::uint32_t i = 0; i < count; ++i) {
    tx.at(tx.una + i) = entries[i];
    if (entries[i].state == EntryState::kQueued) tx.append(tx.resend, tx.una + i);
    if (PdcSend::on_timers(entries[i])) tx.append(tx.timers, tx.una + i);
  }
  PdcReceive& rx = record.rx;
  rx.expected = start;
  rx.cumulative = rx.highest = rx.clear = rx.sack_track = start - 1;
}

bool Pds::may_be_newest(TimePs now, const Pdc& record, const SendEntry& entry) const {
  // [UE 1.0 3.5.12, ROD] Everything from the gap on goes again: were that done for every NACK that an earlier
  // round causes, each round would cause more of them. Choice: half of the shortest time, as the next may be
  // shorter.
  return !record.ordered || entry.sends == 1 || record.least_refusal == kNever ||
         now - entry.sent_at >= record.least_refusal / 2;
}

bool Pds::concerns(std::uint32_t index, const wire::Packet& packet) const {
  const wire::UetNack& nack = packet.uet.nack;
  if (index == kNoSlot) return false;
  const Pdc& record = *pdcs_[index];
  if (record.state == PdcState::kClosed || record.peer != packet.source) return false;
  return nack.source_pdcid == 0 || !record.peer_known || record.peer_id == nack.source_pdcid;
}

void Pds::receive_nack(TimePs now, const wire::Packet& packet) {
  ++parts_.counters.nacks_received;
  const wire::UetNack& nack = packet.uet.nack;
  if (packet.uet.prologue.names_rudi()) {
    parts_.rudi.receive_nack(now, packet);
    return;
  }
  const std::uint32_t index = find(nack.destination_pdcid);
  if (!concerns(index, packet)) {
    ++parts_.counters.dropped_unknown_pdc;
    return;
  }
  Pdc& record = *pdcs_[index];
  const wire::UetNackClass kind = wire::uet_nack_class(nack.code);
  // [UE 1.0 3.5.12] A NACK outside the outstanding range changes nothing.
  const bool to_window_probe = record.window_probes + record.credit_probes > 0 &&
                               nack.psn == record.clear_psn() && kind == wire::UetNackClass::kFatal;
  if ((!record.tx.contains(nack.psn) && !to_window_probe) || kind == wire::UetNackClass::kReserved) {
    ++parts_.counters.dropped_nack;
    return;
  }
  // [UE 1.0 3.5.8] Behind NEW_START_PSN the opening goes on, with another start.
  if (nack.source_pdcid != 0 && !record.peer_known && nack.code != UetNackCode::kNewStartPsn)
    know_peer(now, index, nack.source_pdcid);
  record.last_activity = silence_[index].from = now;
  if (kind == wire::UetNackClass::kFatal) {
    take_fatal(now, index, nack.code);
    return;
  }
  const std::uint32_t generation = record.generation;
  take_refusal(now, index, packet);
  if (record.generation == generation) kick(now, index);
}

void Pds::take_fatal(TimePs now, std::uint32_t index, UetNackCode code) {
  Pdc& record = *pdcs_[index];
  if (record.state == PdcState::kCloseAckWait && code == UetNackCode::kInvalidDpdcid) {
    // The target has closed already; only its acknowledgement was lost.
    close_answered(now, index);
    return;
  }
  const bool nothing = code == UetNackCode::kInvalidSyn || code == UetNackCode::kPdcModeMismatch;
  // Late packets of an earlier PDC of that name may have opened another one there: it stays until it is idle
  // for long, and refuses every PDC of that name.
  record.refused = nothing && !record.peer_known;
  fail(now, index, CompletionStatus::kRemoteOperation, record.refused);
}

void Pds::take_refusal(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  Pdc& record = *pdcs_[index];
  const wire::UetNack& nack = packet.uet.nack;
  SendEntry& entry = record.tx.at(nack.psn);
  // The copy that was refused has been repeated already, or arrived after all.
  const bool again = packet.uet.prologue.retransmitted();
  const bool known_copy = (entry.sends == 1 && !again) || (entry.sends == 2 && again);
  if (record.ordered && entry.state == EntryState::kSent && known_copy) {
    record.least_refusal = min(record.least_refusal, now - entry.sent_at);
  }
  const bool current = entry.state == EntryState::kSent && (again ? entry.sends > 1 : entry.sends == 1) &&
                       may_be_newest(now, record, entry);
  if (nack.code == UetNackCode::kTrimmed || nack.code == UetNackCode::kTrimmedLastHop) {
    take_trimmed(now, index, packet, current, known_copy);
  } else if (nack.code == UetNackCode::kReceiverInferredLoss || nack.code == UetNackCode::kTrimmedAck) {
    if (current) queue_resend(now, index, nack.psn, LossCause::kGap, kNever);
  } else if (nack.code == UetNackCode::kRodOutOfOrder) {
    go_back(now, index, nack, again);
  } else if (nack.code == UetNackCode::kNewStartPsn) {
    rebase(now, index, nack.payload);
  } else if (nack.code == UetNackCode::kSesProcessing) {
    // [UE 1.0 3.5.12] Choice: the RTO asks again, for as long as the peer says that it works on it, and never
    // less often than the last of all tries.
    entry.timeouts = 0;
    entry.back_off =
        static_cast<std::uint8_t>(std::min<std::uint32_t>(entry.back_off, parts_.config.max_rto_retries));
    arm(index, max(pdc_deadline(index), now + TimePs{1}));
  } else if (wire::uet_nack_class(nack.code) == wire::UetNackClass::kError) {
    send_request_again(now, index, nack);
  } else if (current) {
    wait_for_room(now, index, nack.psn);
  }
}

void Pds::take_trimmed(TimePs now, std::uint32_t index, const wire::Packet& packet, bool current,
                       bool known_copy) {
  const Pdc& record = *pdcs_[index];
  const UetPsn psn = packet.uet.nack.psn;
  const bool last_hop = packet.uet.nack.code == UetNackCode::kTrimmedLastHop;
  parts_.cms.feedback(now, record.ccc, packet.entropy,
                      !last_hop                      ? PathFeedback::kTrimmed
                      : packet.uet.prologue.marked() ? PathFeedback::kMarked
                                                     : PathFeedback::kGood);
  parts_.cms.probe_base_rtt(now, index);
  if (!current) return;
  const LossCause cause = last_hop ? LossCause::kTrimmedLastHop : LossCause::kTrimmed;
  if (record.ordered) {
    rewind(now, index, psn, cause);
  } else {
    queue_resend(now, index, psn, cause, known_copy ? now - record.tx.at(psn).sent_at : kNever);
  }
}

void Pds::go_back(TimePs now, std::uint32_t index, const wire::UetNack& nack, bool again) {
  // [UE 1.0 3.5.12] Choice: the payload, where the receiver gives it, names the gap; else CACK does.
  const Pdc& record = *pdcs_[index];
  const PdcSend& tx = record.tx;
  if (!record.ordered) return;
  const bool named = tx.contains(nack.payload) && !wire::uet_psn_after(nack.payload, nack.psn);
  // Going back again to where the peer sees no gap would repeat itself without end: then the RTO decides.
  if (!named && again) return;
  const UetPsn gap = named ? nack.payload : tx.una;
  const SendEntry& first = tx.at(gap);
  // The gap is being repaired already when its packet has left again since.
  if (first.state == EntryState::kSent && may_be_newest(now, record, first)) {
    rewind(now, index, gap, LossCause::kGap);
  }
}

void Pds::wait_for_room(TimePs now, std::uint32_t index, UetPsn psn) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  SendEntry& entry = tx.at(psn);
  const std::uint32_t limit = parts_.config.max_nack_retries;
  if (limit != kNackRetriesForever && entry.nacks >= limit) {
    fail(now, index, CompletionStatus::kReceiverNotReady, false);
    return;
  }
  if (entry.nacks < 255) ++entry.nacks;
  if (entry.message == kControlEntry) return;  // Its RTO sends it again.
  // It has left the network; it goes again when NACK_Retx_Time has passed.
  const std::uint32_t bytes = entry_window_bytes(entry);
  tx.unlink(psn);
  --tx.in_flight;
  entry.state = EntryState::kWaiting;
  entry.sent_at = now;
  tx.append(tx.timers, psn);
  congestion::Loss loss;
  loss.lost = {1, bytes};
  loss.cause = LossCause::kRefused;
  parts_.cms.on_loss(now, record.ccc, loss);
  arm(index, now + parts_.config.nack_retransmit_time);
}

void Pds::send_request_again(TimePs now, std::uint32_t index, const wire::UetNack& nack) {
  // Answers to ACK_REQ: the request itself has to go again.
  Pdc& record = *pdcs_[index];
  SendEntry& entry = record.tx.at(nack.psn);
  if (entry.message == kControlEntry) return;  // Its RTO sends it again.
  if (entry.state == EntryState::kReceived) {
    // It was counted as confirmed; as a repetition it is in nobody's window until it leaves.
    entry.state = EntryState::kQueued;
    entry.for_answer = nack.code == UetNackCode::kAckWithData;
    record.tx.append(record.tx.resend, nack.psn);
    ++parts_.cms[record.ccc].resend_packets;
    parts_.cms[record.ccc].resend_backlog += entry_window_bytes(entry);
  } else if (entry.state == EntryState::kSent) {
    queue_resend(now, index, nack.psn, LossCause::kGap, kNever);
  }
}

}  // namespace wharf::uet
