// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/rudi.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {

using verbs::CompletionStatus;
using verbs::Delivery;
using wire::UetPdsType;

void Rudi::start(TimePs now, std::uint32_t slot) {
  messages_.push(parts_.outbound, slot, &OutboundMessage::next);
  OutboundMessage& message = parts_.outbound[slot];
  message.queued = true;
  message.from_memory = Initiator::reads_memory(message);
  settle(now);
}

void Rudi::settle(TimePs now) {
  while (parts_.pds.may_stage()) {
    if (!resend_.empty()) {
      stage(now, resend_.pop(outstanding_, &Outstanding::next));
      continue;
    }
    if (messages_.empty() || outstanding_.in_use() >= parts_.config.rudi_window) return;
    const std::uint32_t slot = messages_.head;
    const std::uint32_t packet = EngineParts::acquire(outstanding_, parts_.config.rudi_window);
    OutboundMessage& message = parts_.outbound[slot];
    // Reads are cut into requests of one packet's worth each.
    const std::uint32_t left = message.ses.request_length - message.sent;
    const std::uint32_t length = std::min(left, parts_.config.payload_mtu);
    Outstanding& made = outstanding_[packet];
    const std::uint32_t generation = (made.generation + 1) & 0xffffU;
    made = Outstanding{};
    made.generation = generation;
    made.message = slot;
    made.offset = message.sent;
    made.length = length;
    message.sent += length;
    ++message.unanswered;
    if (message.sent == message.ses.request_length) {
      message.all_sent = true;
      message.queued = false;
      messages_.pop(parts_.outbound, &OutboundMessage::next);
    }
    stage(now, packet);
  }
}

void Rudi::stop(std::uint32_t slot) {
  parts_.outbound[slot].stopped = true;
  if (!parts_.outbound[slot].queued) return;
  messages_.remove(parts_.outbound, slot, &OutboundMessage::next);
  parts_.outbound[slot].queued = false;
}

void Rudi::stage(TimePs now, std::uint32_t packet) {
  Outstanding& made = outstanding_[packet];
  if (made.sends < 255) ++made.sends;
  const OutboundMessage& message = parts_.outbound[made.message];
  const bool carries = message.send_length > 0;
  parts_.pds.stage_unsequenced(now, packet, made.sends, made.message, made.offset, carries ? made.length : 0);
}

bool Rudi::wanted(std::uint32_t packet, std::uint8_t sends) const {
  return outstanding_.is_used(packet) && outstanding_[packet].sends == sends &&
         outstanding_[packet].sent_at == kNever;
}

void Rudi::emit(TimePs now, std::uint32_t packet, bool failed, wire::Packet& out) {
  Outstanding& made = outstanding_[packet];
  OutboundMessage& message = parts_.outbound[made.message];
  const bool datagram = message.delivery == Delivery::kDatagram;
  const std::uint32_t ccc = parts_.cms.context_for(message.host);
  made.entropy = parts_.cms.next_entropy(now, ccc);
  made.sent_at = now;
  if (datagram) {
    out.uet.prologue.type = UetPdsType::kUudRequest;
    ++parts_.counters.datagrams_sent;
  } else {
    wire::use_rudi(out.uet, UetPdsType::kRudiRequest).packet_id = (made.generation << 16U) | packet;
    if (made.sends > 1) {
      out.uet.prologue.flags = wire::kUetRetransmit;
      ++parts_.counters.packets_retransmitted;
    } else {
      ++parts_.counters.rudi_requests_sent;
    }
  }
  const bool reading = message.send_length == 0 && message.ses.request_length > 0;
  parts_.outbound[made.message].first_sent = true;
  parts_.initiator.build_any(parts_.outbound[made.message], made.message, reading ? 0 : made.offset,
                             reading ? 0 : made.length, failed, out);
  if (reading) {
    // [UE 1.0 3.5, RUDI] Every packet is a request of its own.
    wire::UetSesRequest& ses = out.uet.ses;
    ses.flags |= wire::kUetSom | wire::kUetEom;
    ses.buffer_offset += made.offset;
    ses.request_length = made.length;
  }
  out.operation = message.operation;
  out.destination = message.host;
  out.entropy = made.entropy;
  if (datagram) {
    finish_packet(now, packet);
    return;
  }
  deadline_ = min(deadline_, now + parts_.config.rto_init);
}

void Rudi::finish_packet(TimePs now, std::uint32_t packet) {
  const std::uint32_t slot = outstanding_[packet].message;
  outstanding_.release(packet);
  OutboundMessage& message = parts_.outbound[slot];
  --message.unanswered;
  parts_.initiator.try_end(now, slot);
}

std::uint32_t Rudi::find(std::uint32_t packet_id) const {
  const std::uint32_t packet = packet_id & 0xffffU;
  const bool known = outstanding_.is_used(packet) && outstanding_[packet].generation == packet_id >> 16U &&
                     outstanding_[packet].sent_at != kNever;
  return known ? packet : kNoSlot;
}

void Rudi::again(TimePs, std::uint32_t packet) {
  if (outstanding_[packet].sent_at == kNever) return;
  outstanding_[packet].sent_at = outstanding_[packet].refused_at = kNever;
  resend_.push(outstanding_, packet, &Outstanding::next);
}

Rudi::Answer& Rudi::push_answer() {
  if (answers_.size() >= kAnswersMax) {
    // Nothing may leave while a peer goes on asking; it asks again for what is lost here.
    parts_.payloads.release(answers_.front().data.buffer);
    answers_.pop_front();
    ++parts_.counters.dropped_no_room;
  }
  if (answers_.full()) answers_.reserve(answers_.capacity() == 0 ? 16 : answers_.capacity() * 2);
  parts_.plain.others_wait = true;
  return answers_.emplace_back();
}

void Rudi::receive(TimePs now, const wire::Packet& packet) {
  const wire::UetPacket& uet = packet.uet;
  const bool trimmed = packet.trim != wire::TrimState::kWhole;
  if (uet.prologue.type == UetPdsType::kUudRequest) {
    if (trimmed) {
      ++parts_.counters.dropped_trimmed;
    } else if (!wire::is_uet_request_form(uet.prologue.next)) {
      ++parts_.counters.dropped_type;
    } else {
      parts_.target.deliver_datagram(now, packet);
    }
    return;
  }
  if (uet.prologue.type == UetPdsType::kRudiRequest) {
    const bool marked = packet.mark == wire::CongestionMark::kExperienced;
    const auto echoed = static_cast<std::uint8_t>((uet.prologue.flags & wire::kUetRetransmit) |
                                                  (marked ? wire::kUetMarked : 0U));
    if (trimmed) {
      ++parts_.counters.trimmed_received;
      Answer& answer = push_answer();
      answer.peer = packet.source;
      answer.packet_id = uet.rudi.packet_id;
      answer.refusal = true;
      answer.code = packet.trim == wire::TrimState::kTrimmedLastHop ? wire::UetNackCode::kTrimmedLastHop
                                                                    : wire::UetNackCode::kTrimmed;
      answer.flags = static_cast<std::uint8_t>(echoed | wire::kUetNackRudi);
      answer.entropy = packet.entropy;
      return;
    }
    const std::uint32_t slot = EngineParts::acquire(parts_.inbound, parts_.config.packets_in_execution);
    if (slot == kNoSlot) {
      ++parts_.counters.dropped_no_room;
      return;
    }
    InboundPacket& inbound = parts_.inbound[slot];
    inbound = InboundPacket{};
    inbound.psn = uet.rudi.packet_id;
    inbound.source = packet.source;
    inbound.entropy = packet.entropy;
    inbound.pds_flags = echoed;
    inbound.payload_length = packet.payload.length;
    inbound.arrived_at = now;
    if (parts_.target.deliver(now, slot, packet)) {
      ++parts_.counters.dropped_no_room;
      parts_.inbound.release(slot);
    }
    return;
  }
  // A response.
  const std::uint32_t at = find(uet.rudi.packet_id);
  if (at == kNoSlot || trimmed) {
    ++(trimmed ? parts_.counters.dropped_trimmed : parts_.counters.dropped_response);
    return;
  }
  const Outstanding answered = outstanding_[at];
  OutboundMessage& message = parts_.outbound[answered.message];
  if (message.host != packet.source || !wire::is_uet_response_form(uet.prologue.next)) {
    ++parts_.counters.dropped_response;
    return;
  }
  const wire::UetSesResponse& response = uet.response;
  if (response.return_code != wire::UetReturnCode::kOk) {
    parts_.initiator.fail_by_code(now, answered.message, response.return_code);
  } else if (message.expects_data) {
    if (packet.payload.length == answered.length) {
      parts_.initiator.place_answer(now, answered.message, answered.offset, packet.payload);
    } else {
      parts_.initiator.fail(now, answered.message, CompletionStatus::kResponseLength);
    }
  }
  finish_packet(now, at);
  settle(now);
}

void Rudi::receive_nack(TimePs now, const wire::Packet& packet) {
  const std::uint32_t at = find(packet.uet.nack.psn);
  if (at == kNoSlot || parts_.outbound[outstanding_[at].message].host != packet.source) {
    ++parts_.counters.dropped_nack;
    return;
  }
  const wire::UetNackCode code = packet.uet.nack.code;
  if (code == wire::UetNackCode::kTrimmed || code == wire::UetNackCode::kTrimmedLastHop) {
    again(now, at);
  } else {
    wait_for_room(now, at);
  }
  settle(now);
}

void Rudi::wait_for_room(TimePs now, std::uint32_t at) {
  // [UE 1.0 3.5.12] NACK_Retx_Time, Max_NACK_Retx_Cnt times.
  Outstanding& packet = outstanding_[at];
  if (packet.refused_at != kNever) return;
  const UetConfig& config = parts_.config;
  if (config.max_nack_retries != kNackRetriesForever && packet.nacks >= config.max_nack_retries) {
    parts_.initiator.fail(now, packet.message, CompletionStatus::kReceiverNotReady);
    finish_packet(now, at);
    return;
  }
  if (packet.nacks < 255) ++packet.nacks;
  packet.refused_at = now;
  deadline_ = min(deadline_, now + config.nack_retransmit_time);
}

void Rudi::respond(TimePs, std::uint32_t slot, wire::UetNextHeader form, const wire::UetSesResponse& response,
                   const wire::Payload& data) {
  const InboundPacket& inbound = parts_.inbound[slot];
  Answer& answer = push_answer();
  answer = Answer{};
  answer.peer = inbound.source;
  answer.packet_id = inbound.psn;
  answer.entropy = inbound.entropy;
  answer.flags = inbound.pds_flags;
  answer.form = form;
  answer.response = response;
  answer.data = data;
  parts_.payloads.retain(data.buffer);
  parts_.inbound.release(slot);
}

bool Rudi::transmit(TimePs, wire::TrafficClassMask allowed, wire::Packet& out) {
  if (answers_.empty() || (allowed & wire::mask_of(wire::TrafficClass::kAcknowledgement)) == 0) return false;
  const Answer& answer = answers_.front();
  out = wire::uet_packet();
  if (answer.refusal) {
    wire::UetNack& nack = wire::use_nack(out.uet, answer.code);
    nack.psn = answer.packet_id;
    ++parts_.counters.nacks_sent;
  } else {
    wire::use_rudi(out.uet, UetPdsType::kRudiResponse).packet_id = answer.packet_id;
    out.uet.prologue.next = answer.form;
    if (answer.form != wire::UetNextHeader::kNone)
      wire::use_ses_response(out.uet, answer.form) = answer.response;
    out.payload = answer.data;
    ++parts_.counters.acknowledgements_sent;
  }
  out.uet.prologue.flags = answer.flags;
  parts_.pds.finish(out, wire::TrafficClass::kAcknowledgement, answer.peer, answer.entropy,
                    wire::uet_header_bytes(out.uet));
  answers_.pop_front();
  return true;
}

void Rudi::expire(TimePs now) {
  if (deadline_ > now) return;
  deadline_ = kNever;
  const UetConfig& config = parts_.config;
  for (std::uint32_t at = 0; at < outstanding_.capacity(); ++at) {
    if (!outstanding_.is_used(at) || outstanding_[at].sent_at == kNever) continue;
    Outstanding& packet = outstanding_[at];
    const bool refused = packet.refused_at != kNever;
    const TimePs due = refused ? packet.refused_at + config.nack_retransmit_time
                               : packet.sent_at + parts_.pds.rto(packet.timeouts);
    if (due > now) {
      deadline_ = min(deadline_, due);
      continue;
    }
    if (refused) {
      again(now, at);
      continue;
    }
    ++parts_.counters.timeouts;
    if (config.max_rto_retries != kRtoRetriesForever && packet.timeouts >= config.max_rto_retries) {
      const std::uint32_t slot = packet.message;
      parts_.initiator.fail(now, slot, CompletionStatus::kRetryExhausted);
      finish_packet(now, at);
      continue;
    }
    if (packet.timeouts < 255) ++packet.timeouts;
    again(now, at);
  }
  settle(now);
}

void Rudi::release_buffers() {
  for (std::size_t i = 0; i < answers_.size(); ++i) parts_.payloads.release(answers_[i].data.buffer);
}

void Rudi::describe_waiting(std::vector<std::string>& out) const {
  if (outstanding_.in_use() == 0 && messages_.empty()) return;
  out.push_back(fmt::format("host {}: RUDI and UUD: {} packets without an answer", parts_.host.number,
                            outstanding_.in_use()));
}

}  // namespace wharf::uet
