// SPDX-License-Identifier: Apache-2.0
// The way out: choosing, numbering and building what leaves. [UE 1.0 3.5.10, 3.5.11]
#include <algorithm>
#include <memory>

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_build.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/pds_next.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

using wire::UetControlType;
using wire::UetPdsType;

bool Pds::starved(const Pdc& record) const {
  const PdcSend& tx = record.tx;
  return record.peer_known && tx.outstanding() == 0 && tx.message_head != kNoSlot && !tx.window_open();
}

void Pds::kick(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  if (record.state == PdcState::kClosed) return;
  if (sendable(record)) {
    parts_.cms.pdc_ready(now, index);
  } else {
    parts_.cms.update(now, record.ccc);
  }
  if (fetches_) [[unlikely]]
    want_fetch(record, parts_.cms[record.ccc]);
  if (starved(record) && record.window_at == kNever) {
    record.window_at = now + rto(0);
    arm(index, record.window_at);
  }
}

void Pds::enqueue(TimePs now, std::uint32_t index, std::uint32_t slot) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  OutboundMessage& message = parts_.outbound[slot];
  message.pdc = index;
  message.queued = true;
  message.next = kNoSlot;
  const bool behind_others = tx.message_tail != kNoSlot;
  (behind_others ? parts_.outbound[tx.message_tail].next : tx.message_head) = slot;
  tx.message_tail = slot;
  message.from_memory = Initiator::reads_memory(message);
  message.plain = message.from_memory && message.local_count == 1 && message.is_untroubled() &&
                  (message.simple || (message.kind == MessageKind::kReadResponse &&
                                      message.send_length <= parts_.config.payload_mtu));
  fetches_ = fetches_ || message.from_memory;
  record.last_activity = now;
  CongestionContext& context = parts_.cms[record.ccc];
  parts_.initiator.add_to_backlog(context, message);
  if (behind_others && record.on_ready_list && context.state == CccState::kReady) {
    // It is not its turn, and others of this PDC may leave: nothing else changes.
    if (fetches_) want_fetch(record, context);
    return;
  }
  kick(now, index);
}

void Pds::stop(TimePs now, std::uint32_t slot) {
  OutboundMessage& message = parts_.outbound[slot];
  message.stopped = true;
  message.trouble();
  if (!message.queued) return;
  message.queued = false;
  const std::uint32_t index = message.pdc;
  PdcSend& tx = pdcs_[index]->tx;
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t at = tx.message_head; at != slot; at = parts_.outbound[at].next) previous = at;
  (previous == kNoSlot ? tx.message_head : parts_.outbound[previous].next) = message.next;
  if (tx.message_tail == slot) tx.message_tail = previous;
  drop_fetched_of(index, slot);
  parts_.initiator.take_from_backlog(parts_.cms[pdcs_[index]->ccc], slot);
  kick(now, index);
}

void Pds::push_control_entry(TimePs now, std::uint32_t index, UetControlType type) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  if (tx.full()) grow_ring(tx);
  const UetPsn psn = tx.next++;
  SendEntry& entry = tx.at(psn);
  entry = SendEntry{};
  entry.message = kControlEntry;
  entry.offset = static_cast<std::uint32_t>(type);
  entry.sent_at = now;
  entry.sends = 1;
  arm(index, now + earliest_rto_);
  send_control(index, type, psn, 0, wire::kUetAckRequested);
}

UetPsn Pds::take_repetition(Pdc& record, CongestionContext& context, std::uint32_t bytes) {
  PdcSend& tx = record.tx;
  const UetPsn psn = tx.resend.head;
  tx.remove(tx.resend, psn);
  SendEntry& entry = tx.at(psn);
  entry.state = EntryState::kSent;
  if (entry.sends < 255) ++entry.sends;
  tx.append(tx.timers, psn);
  --context.resend_packets;
  context.resend_backlog -= bytes;
  return psn;
}

[[gnu::always_inline]] inline UetPsn Pds::take_new(TimePs now, std::uint32_t index, Pdc& record,
                                                   CongestionContext& context, std::uint32_t bytes) {
  PdcSend& tx = record.tx;
  if (tx.full()) grow_ring(tx);
  const UetPsn psn = tx.next++;
  SendEntry& entry = tx.at(psn);
  renew(entry);
  entry.sends = 1;
  OutboundMessage& message = parts_.outbound[tx.message_head];
  entry.message = tx.message_head;
  entry.offset = message.sent;
  entry.length = static_cast<std::uint16_t>(bytes - message.overhead);
  message.sent += entry.length;
  ++message.unanswered;
  context.backlog -= bytes;
  if (message.sent == message.send_length) {
    message.all_sent = true;
    message.queued = false;
    tx.message_head = message.next;
    if (tx.message_head == kNoSlot) tx.message_tail = kNoSlot;
  }
  // [UE 1.0 3.5 Limit_PSN_Range]
  if (parts_.config.limit_psn_range && tx.next - tx.start >= (1U << 31U) &&
      record.role == PdcRole::kInitiator) {
    want_close(now, index);
  }
  return psn;
}

[[gnu::always_inline]] inline void Pds::depart_here(TimePs now, const Leaving& leaving, wire::Packet& out) {
  const std::uint32_t index = leaving.pdc;
  Pdc& record = *leaving.record;
  PdcSend& tx = record.tx;
  const std::uint32_t ccc = record.ccc;
  CongestionContext& context = *leaving.context;
  const bool again = !tx.resend.empty();
  const std::uint32_t bytes = leaving.window_bytes;
  const UetPsn psn =
      again ? take_repetition(record, context, bytes) : take_new(now, index, record, context, bytes);
  SendEntry& entry = tx.at(psn);
  entry.sent_at = now;
  ++tx.in_flight;
  recent_sender_ = &record;
  arm(index, now + (entry.back_off == 0 ? earliest_rto_ : later_rto(entry.back_off)));
  congestion::Departure departure;
  departure.window_bytes = bytes;
  departure.wire_bytes = bytes;
  departure.backlog_bytes = context.backlog + context.resend_backlog;
  departure.retransmission = again;
  congestion::PacketRequest request = parts_.cms.on_send(now, context, departure);
  // [UE 1.0 3.5.12] AR when the next packet would have to wait for an answer.
  if (departure.backlog_bytes > 0 &&
      !parts_.cms.permits(context, std::min<std::uint64_t>(bytes, departure.backlog_bytes))) {
    request.acknowledge = true;
  }
  if (context.held_since != kNever) [[unlikely]]
    parts_.cms.end_hold(ccc, parts_.outbound[entry.message].operation, leaving.ready_at);
  if (!parts_.cms.alone(ccc, context)) parts_.cms.rotate(ccc);
  if (context.pdcs.head != index || !parts_.cms.stays_ready(context, room_for_next(record)))
    parts_.cms.update(now, ccc);
  if (fetches_) want_fetch(record, context);
  emit(now, psn, entry, request, leaving, out);
}

void Pds::depart(TimePs now, const Leaving& leaving, wire::Packet& out) { depart_here(now, leaving, out); }

bool Pds::transmit_data(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  if (!staged_order_.empty() && transmit_unsequenced(now, allowed, out)) return true;
  for (;;) {
    const std::uint32_t ccc = parts_.cms.next_ready();
    if (ccc == kNoSlot) return false;
    CongestionContext& context = parts_.cms[ccc];
    const std::uint32_t index = context.pdcs.head;
    Pdc& record = *pdcs_[index];
    if (!sendable(record)) {
      context.pdcs.pop(*this, &Pdc::next_ready);
      record.on_ready_list = false;
      parts_.cms.update(now, ccc);
      continue;
    }
    Leaving leaving;
    leaving.pdc = index;
    leaving.record = &record;
    leaving.context = &context;
    leaving.window_bytes = next_window_bytes(record);
    if (!parts_.cms.may_send(now, context, room_for_next(record))) {
      parts_.cms.update(now, ccc);
      if (parts_.cms.next_ready() == ccc) return false;
      continue;
    }
    if ((allowed & wire::mask_of(data_class(!record.tx.resend.empty()))) == 0) return false;
    // Who waits for memory holds up nobody else.
    if (!take_fetched(leaving) && !take_payload(now, leaving)) return transmit_fetched(now, allowed, out);
    depart_here(now, leaving, out);
    return true;
  }
}

[[gnu::always_inline]] inline void Pds::emit(TimePs now, UetPsn psn, SendEntry& entry,
                                             const congestion::PacketRequest& asked, const Leaving& leaving,
                                             wire::Packet& out) {
  Pdc& record = *leaving.record;
  PdcSend& tx = record.tx;
  const UetConfig& config = parts_.config;
  std::construct_at(&out, wire::UetHeadersToCome{});
  const bool credits = parts_.cms.uses_credit();
  const UetPdsType type = record.ordered ? (credits ? UetPdsType::kRodCcRequest : UetPdsType::kRodRequest)
                                         : (credits ? UetPdsType::kRudCcRequest : UetPdsType::kRudRequest);
  wire::UetRequest& request = wire::use_pds_request(out.uet, type);
  request.psn = psn;
  // [UE 1.0 3.5.11] Every request carries CLEAR for free.
  request.clear_psn_offset = wire::uet_psn_offset(record.clear_psn(), psn);
  record.clear_asked = false;
  record.clear_at = kNever;
  request.source_pdcid = record.local_id;
  std::uint8_t flags = 0;
  if (record.peer_known) {
    request.destination_pdcid = record.peer_id;
  } else {
    flags |= wire::kUetSyn;
    request.destination_pdcid = wire::uet_syn_word(psn - tx.start, record.reserved);
  }
  if (credits) {
    request.ccc_id = static_cast<std::uint8_t>(record.ccc);
    request.credit_target = wire::uet_byte_units(asked.grant_bytes);
  }
  const bool again = entry.sends > 1;
  if (again) flags |= wire::kUetRetransmit;
  // [UE 1.0 3.5.12] AR: retransmissions, the last packet when nothing else is queued, when the controller
  // wants to hear, and by configuration.
  if (again || config.ack_per_packet || asked.acknowledge || !sendable(record)) {
    flags |= wire::kUetAckRequested;
  }
  out.uet.prologue.flags = flags;
  const std::uint16_t entropy =
      record.ordered ? record.entropy : parts_.cms.next_entropy(now, *leaving.context);
  entry.entropy = entropy;
  OutboundMessage& message = parts_.outbound[entry.message];
  parts_.initiator.build(message, entry.message, entry.offset, entry.length, leaving.failed, out);
  if (leaving.failed) [[unlikely]] {
    parts_.payloads.release(leaving.payload.buffer);
  } else {
    out.payload = leaving.payload;
  }
  out.operation = message.operation;
  if (again) {
    ++parts_.counters.packets_retransmitted;
    parts_.trace(now, trace::EventKind::kRetransmission, record.local_id, psn, 1);
  } else {
    ++parts_.counters.requests_sent;
  }
  if (record.tail_at == kNever && probes_tail()) {
    record.tail_at = now + tail_silence(record);
    arm(leaving.pdc, record.tail_at);
  }
  const bool apart = again && !config.retransmit_as_data;
  const std::uint32_t headers =
      message.terminating ? wire::uet_header_bytes(out.uet)
                          : (credits ? wire::kUetCcRequestBytes : wire::kUetRequestBytes) + message.ses_bytes;
  finish(out, apart ? wire::TrafficClass::kRetransmission : wire::TrafficClass::kData, record.peer, entropy,
         headers);
}

Pds::ControlJob& Pds::push(Ring<ControlJob>& jobs) {
  ControlJob& job = push_stale(jobs);
  renew(job);
  return job;
}

Pds::ControlJob& Pds::push_stale(Ring<ControlJob>& jobs) {
  parts_.plain.others_wait = true;
  if (jobs.size() >= kControlJobsMax) {
    // Nothing may leave while a peer goes on asking. The oldest gives way as if the network had lost it.
    parts_.payloads.release(jobs.front().data.buffer);
    jobs.pop_front();
    ++parts_.counters.dropped_no_room;
  }
  if (jobs.full()) jobs.reserve(jobs.capacity() == 0 ? 16 : jobs.capacity() * 2);
  return jobs.push_stale();
}

void Pds::send_control(std::uint32_t index, UetControlType type, UetPsn psn, std::uint32_t payload,
                       std::uint8_t flags) {
  const Pdc& record = *pdcs_[index];
  ControlJob& job = push(control_);
  job.type = UetPdsType::kControl;
  job.control = type;
  job.pdc = index;
  job.generation = record.generation;
  job.psn = psn;
  job.payload = payload;
  job.peer = record.peer;
  job.source_id = record.local_id;
  job.destination_id = record.peer_id;
  job.entropy = record.entropy;
  job.flags = flags;
  if (record.ordered) job.flags |= wire::kUetIsRod;
  if (!record.peer_known) {
    job.flags |= wire::kUetSyn;
    job.destination_id = wire::uet_syn_word(psn - record.tx.start, record.reserved);
  }
  if (type == UetControlType::kProbe) job.opaque = static_cast<std::uint16_t>(payload);
}

bool Pds::transmit(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  if (!control_.empty() && (allowed & wire::mask_of(wire::TrafficClass::kControl)) != 0 &&
      transmit_control(now, control_, out)) {
    return true;
  }
  if (!acknowledgements_.empty() && (allowed & wire::mask_of(wire::TrafficClass::kAcknowledgement)) != 0 &&
      transmit_control(now, acknowledgements_, out)) {
    return true;
  }
  return transmit_data(now, allowed, out);
}

bool Pds::transmit_control(TimePs now, Ring<ControlJob>& jobs, wire::Packet& out) {
  while (!jobs.empty()) {
    const ControlJob& job = jobs.front();
    std::construct_at(&out, wire::UetHeadersToCome{});
    wire::TrafficClass traffic_class = wire::TrafficClass::kControl;
    if (job.type == UetPdsType::kAck) {
      build_ack(now, job, out);
      traffic_class = wire::TrafficClass::kAcknowledgement;
      // [UE 1.0 3.5, Trimmable_ACK_Size]
      if (job.data.length > parts_.config.trimmable_ack_bytes) traffic_class = wire::TrafficClass::kData;
      ++parts_.counters.acknowledgements_sent;
    } else if (job.type == UetPdsType::kNack) {
      wire::UetNack& nack = wire::use_nack(out.uet, job.code);
      nack.psn = job.psn;
      nack.payload = job.payload;
      nack.source_pdcid = job.source_id;
      nack.destination_pdcid = job.destination_id;
      out.uet.prologue.flags = job.flags;
      ++parts_.counters.nacks_sent;
    } else {
      // What a PDC wanted to say when it still existed.
      if (pdcs_[job.pdc]->generation != job.generation) {
        jobs.pop_front();
        continue;
      }
      wire::UetControl& control = wire::use_control(out.uet, job.control);
      control.psn = job.psn;
      control.payload = job.payload;
      control.source_pdcid = job.source_id;
      control.destination_pdcid = job.destination_id;
      control.probe_opaque = job.opaque;
      out.uet.prologue.flags = job.flags;
      ++parts_.counters.control_packets_sent;
    }
    out.operation = job.operation;
    finish(out, traffic_class, job.peer, job.entropy, wire::uet_header_bytes(out.uet));
    // The reference that the job held goes with the packet.
    jobs.pop_front();
    return true;
  }
  return false;
}

void Pds::build_ack(TimePs now, const ControlJob& job, wire::Packet& out) {
  wire::UetAck& ack = wire::use_ack(out.uet);
  ack.source_pdcid = job.source_id;
  ack.destination_pdcid = job.destination_id;
  Pdc& record = *pdcs_[job.pdc];
  const bool alive = record.generation == job.generation;
  const UetPsn cumulative = alive ? record.rx.cumulative : job.cumulative;
  const bool probe = (job.flags & wire::kUetProbeAnswer) != 0;
  ack.cumulative_psn = cumulative;
  ack.ack_psn_offset =
      probe ? static_cast<std::int16_t>(job.opaque) : wire::uet_psn_offset(job.psn, cumulative);
  std::uint8_t flags = job.flags;
  out.uet.prologue.next = job.form;
  if (job.form != wire::UetNextHeader::kNone) {
    wire::use_ses_response(out.uet, job.form) = job.response;
    out.payload = job.data;
  }
  if (alive) {
    PdcReceive& rx = record.rx;
    // [UE 1.0 3.5.12] What the source is asked for.
    if (record.state == PdcState::kClosing) {
      flags |= wire::uet_request_flags(wire::UetAckRequest::kClose);
    } else if (rx.stored_count > 0) {
      flags |= wire::uet_request_flags(wire::UetAckRequest::kClear);
    }
    rx.ack_bytes = 0;
    const bool congestion = parts_.config.congestion != CongestionControl::kNone;
    if (congestion || rx.ahead > 0 || probe) build_ack_congestion(now, job, out);
  }
  out.uet.prologue.flags = flags;
}

void Pds::build_ack_congestion(TimePs now, const ControlJob& job, wire::Packet& out) {
  Pdc& record = *pdcs_[job.pdc];
  PdcReceive& rx = record.rx;
  wire::UetAckCongestion& cc = wire::use_ack_congestion(out.uet);
  UetPsn base = sack_base(rx, job);
  if (!wire::uet_psn_offset_fits(base, rx.cumulative)) base = rx.cumulative + 1;
  cc.sack_psn_offset = wire::uet_psn_offset(base, rx.cumulative);
  cc.sack_bitmap = sack_bits(rx, base);
  cc.mpr = static_cast<std::uint8_t>(rx.range / wire::kUetMprUnit);
  if (parts_.cms.credit_in_acknowledgements()) {
    cc.type = wire::UetCcType::kCredit;
    cc.byte_units = parts_.cms.granted_units(record.ccc);
  } else {
    cc.type = wire::UetCcType::kNscc;
    cc.byte_units = wire::uet_byte_units(rx.bytes);
    parts_.cms.tell_backlog(cc);
  }
  cc.out_of_order = static_cast<std::uint16_t>(std::min<std::uint32_t>(rx.ahead, 0xffff));
  const std::int64_t held =
      (now - job.arrived_at).ps / static_cast<std::int64_t>(wire::kUetServiceTimeUnitPs);
  cc.service_time = static_cast<std::uint16_t>(std::min<std::int64_t>(held, 0xffff));
}

UetPsn Pds::sack_base(PdcReceive& rx, const ControlJob& job) const {
  if ((job.flags & wire::kUetProbeAnswer) != 0) return job.psn;
  if (parts_.config.sack_base == SackBase::kTrigger) {
    const UetPsn low = job.psn - 63;
    if (job.on_trigger) return job.psn;
    return wire::uet_psn_after(low, rx.expected) ? low : rx.expected + 1;
  }
  if (parts_.config.ack_per_packet) return job.psn;
  // [UE 1.0 3.5.12] sack_base_track never lies below what CACK says already.
  const UetPsn next = rx.cumulative + 1;
  if (wire::uet_psn_before(rx.sack_track, next)) rx.sack_track = next;
  const UetPsn base = rx.sack_track;
  rx.sack_track = wire::uet_psn_after(rx.highest, base + 63) ? base + 64 : next;
  return base;
}

}  // namespace wharf::uet
