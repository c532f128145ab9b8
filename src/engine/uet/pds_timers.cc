// SPDX-License-Identifier: Apache-2.0
// The timers of PDCs: retransmission with back-off, delayed repetition after a NACK, tail probes, clears,
// idle and close. One deadline per PDC, set early rather than moved with every packet. [UE 1.0 3.5]
#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {

TimePs Pds::later_rto(std::uint32_t timeouts) const {
  const UetConfig& config = parts_.config;
  if (!config.rto_back_off) return config.rto_init;
  TimePs time = config.rto_init;
  for (std::uint32_t i = 0; i < timeouts && time < config.rto_cap; ++i) time = time * 2;
  return min(time, config.rto_cap);
}

TimePs Pds::adaptive_rto(TimePs first, std::uint32_t timeouts) const {
  if (timeouts == 0 && first != kTimeZero) return first;
  return max(adaptive_.timeout(timeouts), first);
}

// Many packets expire together: those that left before the RTO was lengthened do not lengthen it again.
void Pds::back_off(TimePs now, const Pdc& record, const SendEntry& entry) {
  CongestionContext& context = parts_.cms[record.ccc];
  if (entry.sent_at < context.backed_off_at) return;
  context.backed_off_at = now;
  context.estimate.keep(adaptive_, 1);
}

TimePs Pds::entry_deadline(const Pdc& record, const SendEntry& entry) const {
  return entry_deadline(entry, parts_.cms[record.ccc].estimate.first());
}

TimePs Pds::entry_deadline(const SendEntry& entry, TimePs first) const {
  if (entry.state == EntryState::kWaiting) return entry.sent_at + parts_.config.nack_retransmit_time;
  if (adaptive_.floor > kTimeZero) return entry.sent_at + adaptive_rto(first, entry.back_off);
  return entry.sent_at + rto(entry.back_off);
}

UetPsn Pds::ordered_speaker(const PdcSend& tx) const {
  // [UE 1.0 3.5.12, ROD] Go-Back-N: the oldest PSN under way speaks for all. Older ones that the peer has, or
  // that wait for a place in the window, say nothing about it.
  UetPsn psn = tx.una;
  while (psn != tx.next && tx.at(psn).state != EntryState::kSent &&
         tx.at(psn).state != EntryState::kWaiting) {
    ++psn;
  }
  return psn;
}

TimePs Pds::idle_deadline(std::uint32_t index) const {
  const Pdc& record = *pdcs_[index];
  const UetConfig& config = parts_.config;
  const TimePs from = record.last_activity;
  if (record.role == PdcRole::kTarget) {
    // The target waits longer than any RTO, so that an initiator that lives is heard or closes first.
    const bool closes = config.idle_timeout > kTimeZero && record.state == PdcState::kEstablished;
    return closes ? from + config.idle_timeout * 2 + config.rto_cap * 8 : kNever;
  }
  if (config.idle_timeout > kTimeZero && record.state == PdcState::kEstablished)
    return from + config.idle_timeout;
  // What kept a PDC from its close may be gone without a packet, such as a READ that was flushed.
  if (record.state == PdcState::kQuiesce)
    return from + (config.idle_timeout > kTimeZero ? config.idle_timeout : rto(config.max_rto_retries));
  // A PDC that never closes may still be owed data. Choice: a target that lives repeats it before its longest
  // RTO is over, which is taken to be as long as here.
  const bool owed = record.state == PdcState::kEstablished && parts_.initiator.expects_data(index);
  return owed ? from + rto(config.max_rto_retries) : kNever;
}

TimePs Pds::pdc_deadline(std::uint32_t index) {
  const Pdc& record = *pdcs_[index];
  const PdcSend& tx = record.tx;
  TimePs at = min(min(record.clear_at, record.ask_clear_at), min(record.close_at, record.tail_at));
  at = min(at, record.window_at);
  if (tx.outstanding() > 0 && record.ordered) {
    const UetPsn speaker = ordered_speaker(tx);
    if (speaker != tx.next) at = min(at, entry_deadline(record, tx.at(speaker)));
    const SendEntry& oldest = tx.at(tx.una);
    if (oldest.state == EntryState::kReceived) at = min(at, entry_deadline(record, oldest));
  } else if (tx.outstanding() > 0) {
    // First transmissions left in the order of their PSNs: the oldest of them expires first.
    Pdc& writable = const_cast<Pdc&>(record);
    UetPsn fresh = wire::uet_psn_before(tx.fresh, tx.una) ? tx.una : tx.fresh;
    while (fresh != tx.next && (tx.at(fresh).state != EntryState::kSent || tx.at(fresh).sends != 1)) ++fresh;
    writable.tx.fresh = fresh;
    if (fresh != tx.next) at = min(at, entry_deadline(record, tx.at(fresh)));
    UetPsn psn = tx.timers.head;
    for (std::uint32_t left = tx.timers.count; left > 0; --left) {
      const SendEntry& entry = tx.at(psn);
      at = min(at, entry_deadline(record, entry));
      if (left > 1) psn = tx.widen(entry.next);
    }
    const SendEntry& oldest = tx.at(tx.una);
    if (oldest.state == EntryState::kReceived) at = min(at, entry_deadline(record, oldest));
  } else {
    at = min(at, idle_deadline(index));
  }
  return at;
}

void Pds::expire(TimePs now) {
  while (timers_.earliest() <= now) {
    const std::uint32_t index = timers_.earliest_owner();
    disarm(index);
    expire_pdc(now, index);
  }
}

void Pds::expire_pdc(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  if (record.state == PdcState::kClosed) return;
  const std::uint32_t generation = record.generation;
  PdcSend& tx = record.tx;
  const UetConfig& config = parts_.config;

  // Source: what has been out for too long.
  if (record.ordered) {
    if (tx.outstanding() > 0) {
      const SendEntry& oldest = tx.at(tx.una);
      if (oldest.state == EntryState::kReceived && entry_deadline(record, oldest) <= now) {
        expire_entry(now, index, tx.una);
      }
    }
    if (record.generation != generation) return;
    const UetPsn speaker = ordered_speaker(tx);
    if (speaker != tx.next && entry_deadline(record, tx.at(speaker)) <= now)
      expire_entry(now, index, speaker);
  } else {
    // What expires lengthens the time-out of what leaves from now on, not of its neighbours.
    const TimePs first = parts_.cms[record.ccc].estimate.first();
    for (UetPsn psn = tx.una; record.generation == generation && psn != tx.next; ++psn) {
      const SendEntry& entry = tx.at(psn);
      const bool waits = entry.state == EntryState::kSent || entry.state == EntryState::kWaiting ||
                         (entry.state == EntryState::kReceived && psn == tx.una);
      if (waits && entry_deadline(entry, first) <= now) expire_entry(now, index, psn);
    }
  }
  if (record.generation != generation) return;
  if (record.clear_at <= now) {
    record.clear_at = kNever;
    ++parts_.counters.clear_commands_sent;
    send_control(index, wire::UetControlType::kClearCommand, 0, record.clear_psn());
  }
  if (record.tail_at <= now) {
    record.tail_at = kNever;
    if (tx.outstanding() > 0 && record.tail_probes < config.max_tail_loss_probes) {
      send_tail_probe(now, index);
    }
  }
  if (record.window_at <= now) expire_window(now, index);
  if (record.generation != generation) return;
  expire_receiver(now, index);
  if (record.generation != generation) return;

  // Idle. [UE 1.0 3.5.8]
  if (idle_deadline(index) <= now) {
    const bool quiet = tx.outstanding() == 0 && tx.message_head == kNoSlot && record.rx.in_execution == 0;
    if (!quiet || parts_.initiator.expects_data(index)) {
      record.last_activity = now;
      // [UE 1.0 3.5.16] Data is owed and nothing comes: a NOOP finds out whether the target still knows the
      // PDC.
      if (quiet) push_control_entry(now, index, wire::UetControlType::kNoop);
    } else if (record.role == PdcRole::kInitiator) {
      want_close(now, index);  // In QUIESCE: whatever kept it has gone.
    } else {
      step(now, index, PdcEvent::kCloseRequested);
      send_control(index, wire::UetControlType::kCloseRequest, 0, 0);
      record.close_at = now + config.close_request_time;
    }
  }
  if (record.generation == generation) {
    const TimePs at = pdc_deadline(index);
    // Nothing may be due at once again, or time would stand still.
    if (at != kNever) arm(index, max(at, now + TimePs{1}));
  }
  kick(now, index);
}

bool Pds::is_gone(TimePs now, std::uint32_t index) const {
  // [UE 1.0 3.5, Max_RTO_Retx_Cnt] counts for each packet. Choice: packets that take turns in a small window,
  // or wait for credit between their tries, do not add up: a peer that has been silent for as long as all
  // tries of one packet take is given up.
  const UetConfig& config = parts_.config;
  if (config.max_rto_retries == kRtoRetriesForever) return false;
  const TimePs first = parts_.cms[pdcs_[index]->ccc].estimate.first();
  TimePs patience{};
  for (std::uint32_t n = 0; n <= config.max_rto_retries; ++n)
    patience += adaptive_.floor > kTimeZero ? adaptive_rto(first, n) : rto(n);
  return now - silence_[index].from >= patience;
}

void Pds::note_silence(TimePs now, std::uint32_t index, TimePs asked_at) {
  // While packets wait here for credit, a window or their turn on the link, nothing is asked of the peer.
  Silence& silence = silence_[index];
  const TimePs counted = max(silence.from, silence.counted_until);
  if (asked_at > counted) {
    const PdcSend& tx = pdcs_[index]->tx;
    for (UetPsn psn = tx.una; psn != tx.next; ++psn) {
      if (tx.at(psn).state == EntryState::kSent) asked_at = min(asked_at, tx.at(psn).sent_at);
    }
    if (asked_at > counted) silence.from += asked_at - counted;
  }
  silence.counted_until = now;
}

void Pds::expire_entry(TimePs now, std::uint32_t index, UetPsn psn) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  SendEntry& entry = tx.at(psn);
  const UetConfig& config = parts_.config;
  if (entry.state == EntryState::kWaiting) {
    if (record.ordered) {
      rewind(now, index, psn, congestion::LossCause::kRefused);
    } else {
      queue_resend(now, index, psn, congestion::LossCause::kRefused, kNever);
    }
    return;
  }
  ++parts_.counters.timeouts;
  parts_.trace(now, trace::EventKind::kTimeout, record.local_id, entry.timeouts, psn);
  if (config.max_rto_retries != kRtoRetriesForever && entry.timeouts >= config.max_rto_retries) {
    fail(now, index, verbs::CompletionStatus::kRetryExhausted, false);
    return;
  }
  // An entry that was received long ago may only now be the oldest: what was heard since counts.
  if (!record.backed_off) silence_[index].from = max(silence_[index].from, entry.sent_at);
  note_silence(now, index, entry.sent_at);
  if (is_gone(now, index)) {
    fail(now, index, verbs::CompletionStatus::kRetryExhausted, false);
    return;
  }
  if (entry.timeouts < 255) ++entry.timeouts;
  if (entry.back_off < 255) ++entry.back_off;
  record.backed_off = true;
  if (adaptive_.floor > kTimeZero && entry.state != EntryState::kReceived) back_off(now, record, entry);
  if (entry.state == EntryState::kReceived) {
    // [UE 1.0 3.5.12] The peer has it: ask for its answer instead of sending it again.
    entry.sent_at = now;
    ++parts_.counters.ack_requests_sent;
    send_control(index, wire::UetControlType::kAckRequest, psn, 0, wire::kUetAckRequested);
    return;
  }
  if (entry.message == kControlEntry) {
    if (entry.sends == 1) {
      tx.append(tx.timers, psn);
    }
    if (entry.sends < 255) ++entry.sends;
    entry.sent_at = now;
    send_control(index, static_cast<wire::UetControlType>(entry.offset), psn, 0,
                 wire::kUetAckRequested | wire::kUetRetransmit);
    return;
  }
  parts_.cms.feedback(now, record.ccc, entry.entropy, PathFeedback::kTimeout);
  parts_.cms.on_timeout(record.ccc);
  if (record.ordered) {
    rewind(now, index, psn, congestion::LossCause::kTimeout);
  } else {
    queue_resend(now, index, psn, congestion::LossCause::kTimeout, kNever);
  }
}

void Pds::end_back_off(TimePs now, std::uint32_t index) {
  // [UE 1.0 3.5, RTO_Init_Time] RTO(n) = RTO_Init_Time * 2^n; what ends the count is not said. Choice: as TCP
  // [RFC 6298 5.3, 5.7], whatever is acknowledged for the first time.
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  record.backed_off = false;
  for (UetPsn psn = tx.una; psn != tx.next; ++psn) {
    SendEntry& entry = tx.at(psn);
    if (entry.back_off == 0) continue;
    entry.back_off = 0;
    // CACK, and with it the window, waits for what the peer does not have: the window ends tries without end.
    // Nothing waits for an answer that the peer does not give.
    if (entry.state != EntryState::kReceived) entry.timeouts = 0;
    const bool runs = entry.state == EntryState::kSent || entry.state == EntryState::kReceived;
    if (!runs || entry_deadline(record, entry) > now) continue;
    // The short RTO would be over: it begins now. Its last copy is no sample any more.
    entry.sent_at = now;
    entry.sends = std::max<std::uint8_t>(entry.sends, 3);
  }
  const TimePs at = pdc_deadline(index);
  if (at != kNever) arm(index, max(at, now + TimePs{1}));
}

void Pds::expire_window(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  const UetConfig& config = parts_.config;
  record.window_at = kNever;
  const bool no_window = starved(record);
  if (!no_window && !(sendable(record) && parts_.cms.waits_for_credit(record.ccc))) return;
  std::uint16_t& probes = no_window ? record.window_probes : record.credit_probes;
  note_silence(now, index, now - rto(probes));
  const bool silent = record.backed_off && is_gone(now, index);
  if (silent || (config.max_rto_retries != kRtoRetriesForever && probes >= config.max_rto_retries)) {
    fail(now, index, verbs::CompletionStatus::kRetryExhausted, false);
    return;
  }
  if (no_window) {
    // [UE 1.0 3.5.11, 3.5.16] CACK stands behind a response that was not cleared, or has moved with a CLEAR
    // that nothing acknowledges: clear again, and ask for the last PSN, whose ACK tells CACK.
    ++parts_.counters.clear_commands_sent;
    send_control(index, wire::UetControlType::kClearCommand, 0, record.clear_psn());
  }
  // Choice: nothing under way means no RTO, and a target that has given up its PDC does not answer requests
  // for credit. This one it answers, if only with INV_DPDCID.
  ++parts_.counters.ack_requests_sent;
  send_control(index, wire::UetControlType::kAckRequest, record.clear_psn(), 0, wire::kUetAckRequested);
  if (probes < 255) ++probes;
  record.window_at = now + rto(probes);
}

void Pds::await_credit(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  if (record.window_at != kNever) return;
  record.window_at = now + rto(record.credit_probes);
  arm(index, record.window_at);
}

void Pds::expire_receiver(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  const UetConfig& config = parts_.config;
  if (record.ask_clear_at <= now) {
    record.ask_clear_at = kNever;
    if (record.rx.stored_count > 0) {
      // [UE 1.0 3.5.16] The CLEAR was lost, or the source has had no reason to send one.
      const bool forever = config.max_rto_retries == kRtoRetriesForever;
      if (forever || record.clear_requests < config.max_rto_retries) {
        ++record.clear_requests;
        ++parts_.counters.clear_requests_sent;
        UetPsn last = stored_[record.rx.stored_tail].psn;
        find_stored(record.rx, [&last](const StoredResponse& stored) {
          if (wire::uet_psn_after(stored.psn, last)) last = stored.psn;
          return false;
        });
        send_control(index, wire::UetControlType::kClearRequest, 0, last);
        record.ask_clear_at = now + config.clear_time * 2;
      } else {
        // Nobody may be there any more: what is stored has to end.
        record.close_at = min(record.close_at, now + config.rto_cap * 8);
      }
    }
  }
  if (record.close_at <= now) {
    // [UE 1.0 3.5.8] Nobody answers the close request: closed in error. Choice: nor the requests for a CLEAR,
    // for longer than any RTO.
    const bool closing = record.state == PdcState::kClosing;
    record.close_at = kNever;
    if (!closing && record.rx.stored_count == 0) return;
    if (record.rx.in_execution > 0) {  // Its own memory is what the peer waits for.
      record.close_at = now + config.close_request_time;
      return;
    }
    // Whoever still sends is answered with REQ, and gets its time.
    const TimePs until = record.last_activity + (closing ? config.close_request_time : config.rto_cap * 8);
    if (until > now) {
      record.close_at = until;
      return;
    }
    fail(now, index, verbs::CompletionStatus::kRemoteOperation, false);
  }
}

}  // namespace wharf::uet
