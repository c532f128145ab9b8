// SPDX-License-Identifier: Apache-2.0
// The short ways of packets: a message of one packet in its first transmission, over a PDC that both ends
// know, which nothing holds back. Each says no with nothing done where something is unusual, and does
// otherwise what the general way does.
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

[[gnu::always_inline]] inline std::uint32_t Pds::known_pdc(wire::HostAddress host, std::uint32_t job_id,
                                                           bool ordered) {
  const std::uint64_t key = route_key(host, job_id, ordered, false);
  return key == last_route_ ? last_routed_ : find_route(key);
}

/// Asks memory for the payload of a message of one packet and one piece.
[[gnu::always_inline]] inline void Pds::stage_plain(TimePs now, std::uint32_t index, Pdc& record,
                                                    CongestionContext& context, std::uint32_t slot,
                                                    const OutboundMessage& message) {
  const std::uint32_t at = staged_.acquire_used();
  StagedPacket& made = staged_[at];
  made.pdc = index;
  made.message = slot;
  made.offset = 0;
  made.length = message.send_length;
  made.psn = 0;
  made.pieces = 1;
  made.sends = 0;
  made.whole_result = true;
  made.failed = false;
  made.dropped = false;
  made.ready_at = now;
  made.payload.buffer = wire::kNoBuffer;  // The rest is the answer's to fill in.
  record.fetched.push(staged_, at, &StagedPacket::next);
  ++context.fetched;
  parts_.initiator.fetch_piece(message, at, message.local[0].address, 0, message.send_length,
                               message.local[0].key);
}

/// want_fetch() and what settle() makes of it, when message `slot` was added behind `previous`.
[[gnu::always_inline]] inline void Pds::fetch_added(TimePs now, std::uint32_t index, Pdc& record,
                                                    CongestionContext& context, std::uint32_t slot,
                                                    std::uint32_t previous) {
  if (record.tx.resend.empty() && !record.fetched.empty() && context.pdcs.head == index &&
      context.pdcs.tail == index && !context.fetch_wanted) {
    if (context.fetched >= parts_.config.fetch_ahead_packets) return;
    const StagedPacket& newest = staged_[record.fetched.tail];
    const OutboundMessage& message = parts_.outbound[slot];
    if (newest.message == previous && message.plain && parts_.cms.active() <= 1 && staged_.has_used() &&
        newest.offset + newest.length == parts_.outbound[previous].send_length && fetch_wanted_.empty() &&
        staged_order_.empty()) {
      stage_plain(now, index, record, context, slot, message);
      return;
    }
  }
  want_fetch(record, context);
  settle(now);
}

[[gnu::always_inline]] inline void Pds::enqueue_plain(TimePs now, std::uint32_t index, std::uint32_t slot) {
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  OutboundMessage& message = parts_.outbound[slot];
  CongestionContext& context = parts_.cms[record.ccc];
  const std::uint32_t previous = tx.message_tail;
  if (previous == kNoSlot || !record.on_ready_list || context.state != CccState::kReady) {
    enqueue(now, index, slot);
    settle(now);
    return;
  }
  message.pdc = index;
  message.queued = true;
  parts_.outbound[previous].next = slot;
  tx.message_tail = slot;
  record.last_activity = now;
  context.backlog += message.send_length + message.overhead;
  fetches_ = fetches_ || message.from_memory;
  if (fetches_) fetch_added(now, index, record, context, slot, previous);
}

// --- Packets that leave ---

/// want_fetch() and what settle() makes of it, when the first packet of the one PDC of `context` has left.
[[gnu::always_inline]] inline void Pds::fetch_next(TimePs now, std::uint32_t index, Pdc& record,
                                                   CongestionContext& context) {
  const std::uint32_t room = parts_.config.fetch_ahead_packets;
  if (!record.fetched.empty() && context.pdcs.head == index && !context.fetch_wanted) {
    if (context.fetched >= room) return;
    const StagedPacket& newest = staged_[record.fetched.tail];
    const OutboundMessage& last = parts_.outbound[newest.message];
    if (last.plain && parts_.cms.active() <= 1) {
      if (last.next == kNoSlot) return;
      const OutboundMessage& message = parts_.outbound[last.next];
      if (message.plain && message.sent == 0 && context.fetched + 1 == room && staged_.has_used() &&
          parts_.initiator.may_fetch(message)) {
        stage_plain(now, index, record, context, last.next, message);
        return;
      }
    }
  }
  want_fetch(record, context);
  settle(now);
}

/// The headers of a packet whose message is all in it.
[[gnu::always_inline]] inline void Pds::emit_plain(const Pdc& record, UetPsn psn, OutboundMessage& message,
                                                   std::uint32_t slot, std::uint8_t flags,
                                                   std::uint16_t entropy, wire::Packet& out) {
  std::construct_at(&out, wire::UetHeadersToCome{});
  out.uet.prologue.type = record.ordered ? wire::UetPdsType::kRodRequest : wire::UetPdsType::kRudRequest;
  out.uet.prologue.flags = flags;
  ::new (&out.uet.request) wire::UetRequest{.psn = psn,
                                            .credit_target = 0,
                                            .source_pdcid = record.local_id,
                                            .destination_pdcid = record.peer_id,
                                            .clear_psn_offset = wire::uet_psn_offset(record.clear_psn(), psn),
                                            .ccc_id = 0};
  if (message.simple) [[likely]] {
    Initiator::build_simple(message, slot, out);
  } else {
    parts_.initiator.build_any(message, slot, 0, message.send_length, false, out);
  }
  out.operation = message.operation;
  finish(out, wire::TrafficClass::kData, record.peer, entropy, wire::kUetRequestBytes + message.ses_bytes);
}

[[gnu::always_inline]] inline bool Pds::transmit_plain(TimePs now, wire::TrafficClassMask allowed,
                                                       wire::Packet& out) {
  const std::uint32_t ccc = parts_.cms.next_ready();
  if (ccc == kNoSlot || !control_.empty() || !acknowledgements_.empty() || !staged_order_.empty() ||
      !parts_.plain.allowed || (allowed & wire::mask_of(wire::TrafficClass::kData)) == 0) {
    return false;
  }
  CongestionContext& context = parts_.cms[ccc];
  const std::uint32_t index = context.pdcs.head;
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  const std::uint32_t slot = tx.message_head;
  if (!parts_.cms.alone(ccc, context) || slot == kNoSlot || !tx.resend.empty() || !record.peer_known ||
      !tx.window_open() || tx.full() || tx.next - tx.start >= (1U << 31U) - 1 ||
      context.held_since != kNever) {
    return false;
  }
  OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t length = message.send_length;
  const std::uint32_t bytes = message.overhead + length;
  if (length > parts_.config.payload_mtu || message.sent != 0 || message.terminating || bytes > context.room)
    return false;
  const std::uint32_t staged_at = record.fetched.head;
  if (message.from_memory) {
    if (staged_at == kNoSlot) return false;
    const StagedPacket& staged = staged_[staged_at];
    if (staged.pieces > 0 || staged.failed || staged.message != slot) return false;
  }
  // It leaves, with a number and a place in the window.
  const UetPsn psn = tx.next++;
  SendEntry& entry = tx.at(psn);
  ::new (&entry) SendEntry{.sent_at = now,
                           .message = slot,
                           .offset = 0,
                           .previous = 0,
                           .next = 0,
                           .length = static_cast<std::uint16_t>(length),
                           .entropy = 0,
                           .state = EntryState::kSent,
                           .sends = 1,
                           .timeouts = 0,
                           .nacks = 0,
                           .for_answer = false};
  message.sent = length;
  ++message.unanswered;
  message.queued = false;
  message.all_sent = true;
  message.first_sent = true;
  const std::uint32_t next = message.next;
  tx.message_head = next;
  ++tx.in_flight;
  recent_sender_ = &record;
  arm(index, record, now + first_rto_);
  context.backlog -= bytes;
  congestion::Departure departure;
  departure.window_bytes = bytes;
  departure.wire_bytes = bytes;
  const std::uint64_t behind = departure.backlog_bytes = context.backlog + context.resend_backlog;
  const congestion::PacketRequest asked = parts_.cms.on_send(now, context, departure);
  record.clear_asked = false;
  record.clear_at = kNever;
  // [UE 1.0 3.5.12] AR: when the next packet would have to wait for an answer, and when there is none.
  const auto waits = [&] {
    return behind > 0 && context.room < static_cast<std::int64_t>(behind < bytes ? behind : bytes);
  };
  const bool asks = asked.acknowledge || next == kNoSlot || !tx.window_open() || waits();
  const std::uint16_t entropy = record.ordered ? record.entropy : parts_.cms.next_entropy(now, context);
  entry.entropy = entropy;
  emit_plain(record, psn, message, slot, asks ? wire::kUetAckRequested : std::uint8_t{0}, entropy, out);
  if (message.from_memory) [[likely]] {
    out.payload = staged_[staged_at].payload;
    record.fetched.pop(staged_, &StagedPacket::next);
    staged_.release(staged_at);
    --context.fetched;
  } else if (length > 0) {
    out.payload = parts_.initiator.payload_at_hand(slot, 0, length);
  }
  ++parts_.counters.requests_sent;
  if (next == kNoSlot) {
    tx.message_tail = kNoSlot;
    parts_.cms.update(now, ccc);
  } else {
    const OutboundMessage& follows = parts_.outbound[next];
    const std::uint32_t most = std::min(parts_.config.payload_mtu, follows.send_length - follows.sent);
    if (context.room < std::int64_t{follows.overhead + most}) parts_.cms.update(now, ccc);
  }
  if (fetches_) fetch_next(now, index, record, context);
  return true;
}

// --- Packets that arrive ---

[[gnu::always_inline]] inline bool Pds::receive_plain(TimePs now, const wire::Packet& packet) {
  const wire::UetPrologue& prologue = packet.uet.prologue;
  const wire::UetRequest& request = packet.uet.request;
  const wire::UetSesRequest& ses = packet.uet.ses;
  constexpr std::uint8_t kWhole = wire::kUetSom | wire::kUetEom;
  constexpr std::uint8_t kUnusual = wire::kUetHeaderData | wire::kUetInitiatorError;
  const bool ordered = prologue.type == wire::UetPdsType::kRodRequest;
  if ((!ordered && prologue.type != wire::UetPdsType::kRudRequest) || prologue.syn() ||
      prologue.next != wire::UetNextHeader::kRequestStandard || ses.opcode != wire::UetOpcode::kWrite ||
      (ses.flags & (kWhole | kUnusual)) != kWhole || packet.trim != wire::TrimState::kWhole ||
      !parts_.plain.allowed || requested_.id != request.destination_pdcid || requested_.index == kNoSlot) {
    return false;
  }
  const std::uint32_t index = requested_.index;
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  const UetPsn psn = request.psn;
  if (!record.peer_known || record.peer != packet.source || record.peer_id != request.source_pdcid ||
      request.source_pdcid == 0 || record.ordered != ordered || psn != rx.expected || psn != rx.highest + 1 ||
      psn - rx.cumulative > rx.range || wire::uet_psn_before(psn, rx.sack_track) || rx.owes) {
    return false;
  }
  const UetConfig& config = parts_.config;
  const std::uint32_t inbound_now = parts_.inbound.in_use();
  const UetPsn clear = request.clear_psn();
  const bool clears = wire::uet_psn_after(clear, rx.clear);
  if (!parts_.inbound.has_used() || inbound_now >= config.packets_in_execution ||
      inbound_now + stored_.in_use() >= config.stored_responses || !parts_.accesses.has_place() ||
      (clears && rx.stored_count > 0)) {
    return false;
  }
  std::uint64_t address = 0;
  const std::uint32_t region = parts_.target.find_plain(packet, address);
  if (region == kNoSlot) return false;
  // It is accepted.
  recent_receiver_ = &record;
  record.last_activity = now;
  // [UE 1.0 3.5.11] Never beyond what has been received.
  if (clears) rx.clear = wire::uet_psn_before(clear, psn) ? clear : psn - 1;
  const bool marked = packet.mark == wire::CongestionMark::kExperienced;
  if (marked) ++parts_.counters.marked_received;
  const std::uint32_t length = packet.payload.length;
  const std::uint32_t bytes = parts_.plain.overhead + length;
  rx.word(rx.received, psn) |= PdcReceive::bit(psn);
  ++rx.ahead;
  rx.highest = psn;
  ++rx.expected;
  ++rx.in_execution;
  rx.bytes += bytes;
  rx.ack_bytes += std::max(config.window_overhead_bytes != 0 ? bytes : length, config.ack_min_packet_bytes);
  const std::uint32_t slot = parts_.inbound.acquire_used();
  InboundPacket& inbound = parts_.inbound[slot];
  renew(inbound);
  inbound.pdc = index;
  inbound.pdc_generation = record.generation;
  inbound.psn = psn;
  inbound.payload_length = length;
  inbound.request_length = length;
  inbound.accesses = 1;
  inbound.job_id = ses.job_id;
  inbound.source = packet.source;
  inbound.entropy = packet.entropy;
  inbound.message_id = ses.message_id;
  inbound.resource_index = ses.resource_index;
  inbound.ri_generation = ses.ri_generation;
  inbound.pds_flags = prologue.flags;
  inbound.marked = marked;
  inbound.next_in_order = true;
  inbound.opcode = wire::UetOpcode::kWrite;
  inbound.arrived_at = now;
  PendingAccess owner;
  owner.owner = AccessOwner::kInbound;
  owner.object = slot;
  owner.buffer = packet.payload.buffer;
  engine::Access& access = parts_.accesses.request_in_place(engine::AccessKind::kWrite, length, owner);
  access.at_target = true;
  access.order = parts_.regions[region].config.write_order;
  access.space = parts_.regions[region].config.space;
  access.stream = target_stream(packet.source, ses.resource_index);
  access.address = address;
  access.data = packet.payload;
  access.operation = packet.operation;
  return true;
}

// --- Answers of memory ---

/// The write of a whole message, the next one to be answered, of which nobody needs to hear at once.
[[gnu::always_inline]] inline bool Pds::placed_plain(std::uint32_t slot) {
  const InboundPacket& inbound = parts_.inbound[slot];
  if (inbound.accesses != 1 || inbound.returned_data || inbound.message != kNoSlot ||
      inbound.pdc == kNoSlot || inbound.result != wire::UetReturnCode::kOk) {
    return false;
  }
  Pdc& record = *pdcs_[inbound.pdc];
  PdcReceive& rx = record.rx;
  const UetPsn psn = inbound.psn;
  if (record.generation != inbound.pdc_generation || psn != rx.cumulative + 1 ||
      record.state == PdcState::kQuiesce || needs_reason(rx, inbound) ||
      rx.ack_bytes >= parts_.config.ack_trigger_bytes || (rx.ahead > 1 && rx.is_finished(psn + 1))) {
    return false;
  }
  --rx.in_execution;
  pass(rx, psn);
  parts_.inbound.release(slot);
  return true;
}

[[gnu::always_inline]] inline bool Pds::take_plain_data(TimePs now, std::uint32_t at,
                                                        const engine::AccessResult& result) {
  StagedPacket& staged = staged_[at];
  if (staged.pieces != 1 || staged.dropped || !staged.whole_result) return false;
  staged.pieces = 0;
  staged.ready_at = now;
  staged.payload = result.data;
  return true;
}

}  // namespace wharf::uet
