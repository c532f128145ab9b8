// SPDX-License-Identifier: Apache-2.0
// The short ways of packets: a message of one packet in its first transmission, over a PDC that both ends
// know, which nothing holds back. Each says no with nothing done where something is unusual, and does
// otherwise what the general way does. Those of reads are in pds_plain_reads.cc.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_build.h"
#include "engine/uet/initiator_fetch.h"
#include "engine/uet/pds_next.h"
#include "engine/uet/pds_respond.h"
#include "engine/uet/renew.h"
#include "engine/uet/target_plain.h"

namespace wharf::uet {

// --- Messages that are added ---

[[gnu::always_inline]] inline std::uint32_t Pds::known_pdc(wire::HostAddress host, std::uint32_t route,
                                                           bool ordered) {
  const std::uint64_t key = route_key(host, route, ordered, false);
  return key == last_route_ ? last_routed_ : find_route(key);
}

/// Asks memory for the payload of a message of one packet and one piece, by the staged packet `at`.
[[gnu::always_inline]] inline void Pds::stage_plain(EngineParts& parts, TimePs now, std::uint32_t index,
                                                    std::uint32_t at, Pdc& record, CongestionContext& context,
                                                    std::uint32_t slot, const OutboundMessage& message) {
  StagedPacket& made = staged_[at];
  if (!made.made_plain) {
    renew(made);
    made.made_plain = true;
    made.whole_result = true;
  }
  made.pdc = index;
  made.message = slot;
  made.length = message.send_length;
  made.pieces = 1;
  made.ready_at = now;
  made.payload.buffer = wire::kNoBuffer;  // The rest is the answer's to fill in.
  made.next = kNoSlot;
  (record.fetched.empty() ? record.fetched.head : staged_[record.fetched.tail].next) = at;
  record.fetched.tail = at;
  ++context.fetched;
  Initiator::fetch_piece(parts.accesses, message, at, message.local[0].address, 0, message.send_length,
                         message.local[0].key);
}

/// want_fetch() and what settle() makes of it, when message `slot` was added behind `previous`.
[[gnu::always_inline]] inline void Pds::fetch_added(EngineParts& parts, TimePs now, std::uint32_t index,
                                                    Pdc& record, CongestionContext& context,
                                                    std::uint32_t slot, std::uint32_t previous) {
  if (record.tx.resend.empty() && !record.fetched.empty() && context.pdcs.head == index &&
      context.pdcs.tail == index && !context.fetch_wanted) {
    if (context.fetched >= parts.plain.fetch_ahead_packets) return;
    const StagedPacket& newest = staged_[record.fetched.tail];
    const OutboundMessage& message = parts.outbound[slot];
    if (newest.message == previous && message.plain && parts.cms.active() <= 1 && staged_.has_used() &&
        newest.offset + newest.length == parts.outbound[previous].send_length && !parts.plain.unsettled) {
      stage_plain(parts, now, index, staged_.acquire_used(), record, context, slot, message);
      return;
    }
  }
  want_fetch(record, context);
  settle(now);
}

[[gnu::always_inline]] inline void Pds::enqueue_plain(EngineParts& parts, TimePs now, std::uint32_t index,
                                                      std::uint32_t slot) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  OutboundMessage& message = parts.outbound[slot];
  CongestionContext& context = parts.cms[record.ccc];
  const std::uint32_t previous = tx.message_tail;
  if (previous == kNoSlot || !record.on_ready_list || context.state != CccState::kReady) {
    enqueue(now, index, slot);
    settle(now);
    return;
  }
  message.pdc = index;
  message.queued = true;
  parts.outbound[previous].next = slot;
  tx.message_tail = slot;
  record.last_activity = now;
  context.backlog += message.send_length + message.overhead;
  if (message.from_memory) fetches_ = true;
  if (fetches_) fetch_added(parts, now, index, record, context, slot, previous);
}

// --- Packets that leave ---

/// The first message of the one PDC whose turn it is, when it is one packet, which has its payload.
[[gnu::always_inline]] inline bool Pds::may_depart(EngineParts& parts, wire::TrafficClassMask allowed,
                                                   PlainDeparture& leaving) {
  leaving.ccc = parts.cms.next_ready();
  if (leaving.ccc == kNoSlot || parts.plain.others_wait ||
      (allowed & wire::mask_of(wire::TrafficClass::kData)) == 0) {
    return false;
  }
  CongestionContext& context = parts.cms[leaving.ccc];
  leaving.context = &context;
  leaving.pdc = context.pdcs.head;
  Pdc& record = *pdcs_[leaving.pdc];
  leaving.record = &record;
  const PdcSend& tx = record.tx;
  leaving.slot = tx.message_head;
  if (!parts.cms.alone(leaving.ccc, context) || leaving.slot == kNoSlot || !tx.resend.empty() ||
      !record.peer_known || !tx.goes_as_usual() || (parts.plain.traced && context.held_since != kNever)) {
    return false;
  }
  OutboundMessage& message = parts.outbound[leaving.slot];
  leaving.message = &message;
  leaving.length = message.send_length;
  leaving.bytes = message.overhead + leaving.length;
  // A plain message has one packet, and nothing of it has left.
  if (!message.plain &&
      (leaving.length > parts.plain.payload_mtu || message.sent != 0 || message.terminating)) {
    return false;
  }
  if (leaving.bytes > context.room) return false;
  if (!message.from_memory) return true;
  leaving.staged = record.fetched.head;
  if (leaving.staged == kNoSlot) return false;
  StagedPacket& staged = staged_[leaving.staged];
  leaving.packet = &staged;
  return staged.pieces == 0 && !staged.failed && staged.message == leaving.slot;
}

[[gnu::always_inline]] inline UetPsn Pds::number_plain(EngineParts& parts, TimePs now,
                                                       const PlainDeparture& leaving, wire::Packet& out) {
  Pdc& record = *leaving.record;
  PdcSend& tx = record.tx;
  OutboundMessage& message = *leaving.message;
  const std::uint16_t entropy =
      record.ordered ? record.entropy : parts.cms.next_entropy(now, *leaving.context);
  out.entropy = entropy;
  const UetPsn psn = tx.next++;
  ::new (&tx.at(psn)) SendEntry{.sent_at = now,
                                .message = leaving.slot,
                                .offset = 0,
                                .previous = 0,
                                .next = 0,
                                .length = static_cast<std::uint16_t>(leaving.length),
                                .entropy = entropy,
                                .state = EntryState::kSent,
                                .sends = 1,
                                .timeouts = 0,
                                .back_off = 0,
                                .nacks = 0,
                                .for_answer = false};
  message.sent = leaving.length;
  ++message.unanswered;
  message.queued = false;
  message.all_sent = true;
  message.first_sent = true;
  tx.message_head = message.next;
  ++tx.in_flight;
  recent_sender_ = &record;
  arm(leaving.pdc, record, now + earliest_rto_);
  leaving.context->backlog -= leaving.bytes;
  record.clear_asked = false;
  record.clear_at = kNever;
  return psn;
}

/// Tells CMS of it; whether it asks for an acknowledgement.
[[gnu::always_inline]] inline bool Pds::ask_plain(EngineParts& parts, TimePs now,
                                                  const PlainDeparture& leaving) {
  const PdcSend& tx = leaving.record->tx;
  CongestionContext& context = *leaving.context;
  const std::uint64_t behind = context.backlog + context.resend_backlog;
  const bool wished = parts.cms.on_first_send(now, context, leaving.bytes, behind);
  // [UE 1.0 3.5.12] AR: when the next packet would have to wait for an answer, and when there is none.
  if (wished || tx.message_head == kNoSlot || !tx.window_open()) return true;
  if (context.room >= std::int64_t{leaving.bytes}) [[likely]]
    return false;
  return behind > 0 && context.room < static_cast<std::int64_t>(behind);
}

/// Writes its headers.
[[gnu::always_inline]] inline void Pds::emit_plain(EngineParts& parts, const PlainDeparture& leaving,
                                                   UetPsn psn, bool asks, wire::Packet& out) {
  const Pdc& record = *leaving.record;
  OutboundMessage& message = *leaving.message;
  // Every member by itself, and once: the payload is the caller's, the entropy is there.
  out.protocol = wire::Protocol::kUet;
  out.traffic_class = wire::TrafficClass::kData;
  out.mark = wire::CongestionMark::kCapable;
  out.trim = wire::TrimState::kWhole;
  out.ip_version = wire::IpVersion::kV4;
  out.source = parts.host;
  out.destination = record.peer;
  out.header_bytes = parts.plain.header_bytes + (message.ses_bytes & parts.plain.ses_mask);
  out.operation = message.operation;
  out.uet.prologue = {.type = request_type(record),
                      .next = wire::UetNextHeader::kNone,  // Until its SES header is there.
                      .control = wire::UetControlType::kNoop,
                      .flags = asks ? wire::kUetAckRequested : std::uint8_t{0}};
  out.uet.encapsulation = parts.plain.encapsulation;
  out.uet.protection = parts.plain.protection;
  ::new (&out.uet.request) wire::UetRequest{.psn = psn,
                                            .credit_target = 0,
                                            .source_pdcid = record.local_id,
                                            .destination_pdcid = record.peer_id,
                                            .clear_psn_offset = wire::uet_psn_offset(record.clear_psn(), psn),
                                            .ccc_id = 0};
  if (message.simple) [[likely]] {
    Initiator::build_simple(message, out);
  } else if (message.kind == MessageKind::kReadResponse) {
    Initiator::build_read_response(message, leaving.slot, 0, leaving.length, false, out);
  } else {
    parts.initiator.build_any(message, leaving.slot, 0, leaving.length, false, out);
  }
  ++parts.counters.packets_sent;
  ++parts.counters.requests_sent;
}

/// want_fetch() and what settle() makes of it, when a packet of the one PDC of a context has left: its place
/// among the staged packets serves the next one.
[[gnu::always_inline]] inline void Pds::fetch_next(EngineParts& parts, TimePs now,
                                                   const PlainDeparture& left) {
  Pdc& record = *left.record;
  CongestionContext& context = *left.context;
  const std::uint32_t room = parts.plain.fetch_ahead_packets;
  if (!record.fetched.empty() && !context.fetch_wanted) {
    const OutboundMessage& last = parts.outbound[staged_[record.fetched.tail].message];
    const std::uint32_t slot = last.next;
    const bool last_is_whole = last.plain && parts.cms.active() <= 1;
    if (context.fetched >= room || (last_is_whole && slot == kNoSlot)) {
      if (left.staged != kNoSlot) staged_.release(left.staged);
      return;
    }
    if (last_is_whole && context.fetched + 1 == room && left.staged != kNoSlot) {
      const OutboundMessage& message = parts.outbound[slot];
      if (message.plain && parts.initiator.may_fetch(message)) {
        stage_plain(parts, now, left.pdc, left.staged, record, context, slot, message);
        return;
      }
    }
  }
  if (left.staged != kNoSlot) staged_.release(left.staged);
  want_fetch(record, context);
  settle(now);
}

[[gnu::always_inline]] inline bool Pds::transmit_plain(EngineParts& parts, TimePs now,
                                                       wire::TrafficClassMask allowed, wire::Packet& out) {
  PlainDeparture leaving;
  if (!may_depart(parts, allowed, leaving)) return false;
  const UetPsn psn = number_plain(parts, now, leaving, out);
  emit_plain(parts, leaving, psn, ask_plain(parts, now, leaving), out);
  Pdc& record = *leaving.record;
  CongestionContext& context = *leaving.context;
  const std::uint32_t next = record.tx.message_head;
  if (leaving.message->from_memory) [[likely]] {
    out.payload = leaving.packet->payload;
    record.fetched.head = leaving.packet->next;
    if (record.fetched.head == kNoSlot) record.fetched.tail = kNoSlot;
    --context.fetched;
  } else if (leaving.length > 0) {
    out.payload = parts.initiator.payload_at_hand(leaving.slot, 0, leaving.length);
  } else {
    out.payload = {};
  }
  if (next == kNoSlot) {
    record.tx.message_tail = kNoSlot;
    parts.cms.update(now, leaving.ccc);
  } else if (context.room < parts.plain.most_room) {
    const OutboundMessage& follows = parts.outbound[next];
    const std::uint32_t most = std::min(parts.plain.payload_mtu, follows.send_length - follows.sent);
    if (context.room < std::int64_t{follows.overhead + most}) parts.cms.update(now, leaving.ccc);
  }
  if (fetches_) fetch_next(parts, now, leaving);
  return true;
}

// --- Packets that arrive ---

/// The PDC of a request or of returned data that is the next in order, whole, from its known peer, and for
/// which there is room; kNoSlot says nothing.
[[gnu::always_inline]] inline std::uint32_t Pds::find_plain(EngineParts& parts,
                                                            const wire::Packet& packet) const {
  const wire::UetRequest& request = packet.uet.request;
  if (usual_sender_ == nullptr || packet.trim != wire::TrimState::kWhole) return kNoSlot;
  const Pdc& record = *usual_sender_;
  const PdcReceive& rx = record.rx;
  const UetPsn psn = request.psn;
  if (record.peer != packet.source ||
      !record.are_its_identifiers(request.source_pdcid, request.destination_pdcid) ||
      packet.uet.prologue.type != request_type(record) || packet.uet.prologue.syn()) {
    return kNoSlot;
  }
  // No more are in execution than the pool has places, of which one that was used is free.
  if (psn != rx.expected || psn != rx.highest + 1 || psn - rx.cumulative > rx.range || rx.owes ||
      !parts.inbound.has_used() ||
      parts.inbound.in_use() + stored_.in_use() >= parts.plain.stored_responses ||
      (rx.stored_count > 0 && wire::uet_psn_after(request.clear_psn(), rx.clear))) {
    return kNoSlot;
  }
  return usual_index_;
}

/// What it counts toward ACK_Gen_Trigger with a payload of `length`.
[[gnu::always_inline]] inline std::uint32_t Pds::ack_bytes_of(const EngineParts& parts,
                                                              std::uint32_t length) {
  return std::max(parts.plain.ack_overhead + length, parts.plain.ack_min_bytes);
}

/// It is accepted, and counts `overhead` beside its payload.
[[gnu::always_inline]] inline void Pds::accept_plain(EngineParts& parts, TimePs now, Pdc& record,
                                                     const wire::Packet& packet, std::uint32_t overhead) {
  PdcReceive& rx = record.rx;
  const UetPsn psn = packet.uet.request.psn;
  const UetPsn clear = packet.uet.request.clear_psn();
  recent_receiver_ = &record;
  record.last_activity = now;
  // [UE 1.0 3.5.11] Never beyond what has been received.
  if (wire::uet_psn_after(clear, rx.clear)) rx.clear = wire::uet_psn_before(clear, psn) ? clear : psn - 1;
  if (packet.mark == wire::CongestionMark::kExperienced) ++parts.counters.marked_received;
  ++rx.ahead;
  rx.highest = psn;
  ++rx.expected;
  ++rx.in_execution;
  rx.bytes += overhead + packet.payload.length;
  rx.ack_bytes += ack_bytes_of(parts, packet.payload.length);
}

/// The record of an accepted packet whose payload is written by one access: a Write's, unless the caller says
/// otherwise.
[[gnu::always_inline]] inline InboundPacket& Pds::make_plain_inbound(EngineParts& parts, TimePs now,
                                                                     std::uint32_t index, const Pdc& record,
                                                                     const wire::Packet& packet,
                                                                     std::uint32_t slot) {
  InboundPacket& inbound = parts.inbound[slot];
  if (!inbound.made_plain) [[unlikely]] {
    renew(inbound);
    inbound.made_plain = true;
    inbound.accesses = 1;
    inbound.next_in_order = true;
    inbound.opcode = wire::UetOpcode::kWrite;
  }
  inbound.pdc = index;
  inbound.pdc_generation = record.generation;
  inbound.psn = packet.uet.request.psn;
  inbound.payload_length = packet.payload.length;
  inbound.source = packet.source;
  inbound.entropy = packet.entropy;
  inbound.pds_flags = packet.uet.prologue.flags;
  inbound.marked = packet.mark == wire::CongestionMark::kExperienced;
  inbound.arrived_at = now;
  inbound.operation = packet.operation;
  return inbound;
}

[[gnu::always_inline]] inline bool Pds::receive_plain(EngineParts& parts, TimePs now,
                                                      const wire::Packet& packet) {
  const wire::UetSesRequest& ses = packet.uet.ses;
  constexpr std::uint8_t kWhole = wire::kUetSom | wire::kUetEom;
  constexpr std::uint8_t kUnusual = wire::kUetHeaderData | wire::kUetInitiatorError;
  const wire::UetNextHeader form = packet.uet.prologue.next;
  if (form == wire::UetNextHeader::kResponseData) return receive_data_plain(parts, now, packet);
  if (form != wire::UetNextHeader::kRequestStandard || (ses.flags & (kWhole | kUnusual)) != kWhole)
    return false;
  if (ses.opcode == wire::UetOpcode::kRead) return receive_read_plain(parts, now, packet);
  if (ses.opcode != wire::UetOpcode::kWrite) return false;
  const std::uint32_t index = find_plain(parts, packet);
  if (index == kNoSlot) return false;
  const std::uint32_t length = packet.payload.length;
  if (length == 0 || ses.request_length != length || !parts.accesses.has_place()) return false;
  std::uint64_t address = 0;
  const std::uint32_t region = Target::find_plain(parts, packet, &verbs::AccessRights::remote_write, address);
  if (region == kNoSlot) return false;
  Pdc& record = *pdcs_[index];
  accept_plain(parts, now, record, packet, parts.plain.overhead);
  const std::uint32_t slot = parts.inbound.acquire_used();
  InboundPacket& inbound = make_plain_inbound(parts, now, index, record, packet, slot);
  inbound.request_length = length;
  inbound.job_id = ses.job_id;
  inbound.message_id = ses.message_id;
  inbound.resource_index = ses.resource_index;
  inbound.ri_generation = ses.ri_generation;
  engine::Access& access = parts.accesses.request_in_place(
      engine::AccessKind::kWrite, length, AccessOwner::kInbound, slot, 0, packet.payload.buffer);
  access.at_target = true;
  access.order = parts.regions[region].config.write_order;
  access.space = parts.regions[region].config.space;
  access.stream = target_stream(packet.source, ses.resource_index);
  access.address = address;
  access.data = packet.payload;
  access.operation = packet.operation;
  return true;
}

// --- Answers of memory ---

/// Whether a packet that has been executed is the next one to be answered, and nobody needs to hear at once.
[[gnu::always_inline]] inline bool Pds::passes_plainly(const EngineParts& parts, const InboundPacket& inbound,
                                                       const Pdc& record) {
  const PdcReceive& rx = record.rx;
  const UetPsn psn = inbound.psn;
  return record.generation == inbound.pdc_generation && psn == rx.cumulative + 1 &&
         record.state != PdcState::kQuiesce && !needs_reason(rx, inbound) &&
         rx.ack_bytes < parts.plain.ack_trigger_bytes && (rx.finished_count == 0 || !rx.is_finished(psn + 1));
}

/// The write of a whole message.
[[gnu::always_inline]] inline bool Pds::placed_plain(EngineParts& parts, std::uint32_t slot) {
  const InboundPacket& inbound = parts.inbound[slot];
  // What was made plain has no message, one access, and has not failed.
  if (!inbound.made_plain && (inbound.accesses != 1 || inbound.pdc == kNoSlot || inbound.returned_data ||
                              inbound.message != kNoSlot || inbound.result != wire::UetReturnCode::kOk)) {
    return false;
  }
  Pdc& record = *pdcs_[inbound.pdc];
  if (!passes_plainly(parts, inbound, record)) return false;
  --record.rx.in_execution;
  pass(record.rx, inbound.psn);
  parts.inbound.release(slot);
  return true;
}

[[gnu::always_inline]] inline bool Pds::take_plain_data(TimePs now, std::uint32_t at,
                                                        const engine::AccessResult& result) {
  StagedPacket& staged = staged_[at];
  if (!staged.made_plain && (staged.pieces != 1 || staged.dropped || !staged.whole_result)) return false;
  staged.pieces = 0;
  staged.ready_at = now;
  staged.payload = result.data;
  return true;
}

}  // namespace wharf::uet
