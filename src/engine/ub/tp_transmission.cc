// SPDX-License-Identifier: Apache-2.0
// The TP layer, sending side: numbers packets, has their data fetched, and hands them out in order.
// [UB-Base 2.0.1 6.4.1] Transmit priority: acknowledgements, then repeated packets, then new ones.
#include <algorithm>
#include <memory>

#include "engine/ub/engine_parts.h"
#include "engine/ub/tp_channel.h"
#include "wire/ub_codec.h"

namespace wharf::ub {

void TpLayer::enqueue_request(std::uint32_t channel, std::uint32_t transaction) {
  channels_[channel]->requests.push(parts_.initiator.transactions(), transaction, &Transaction::next);
  touch(channel);
}

void TpLayer::enqueue_response(std::uint32_t channel, std::uint32_t message) {
  channels_[channel]->responses.push(parts_.responder.messages(), message, &InboundMessage::next);
  touch(channel);
}

void TpLayer::settle_dirty(TimePs now) {
  while (!dirty_.empty()) {
    const std::uint32_t index = dirty_.front();
    dirty_.pop_front();
    channels_[index]->dirty_listed = false;
    pump(now, index);
    parts_.initiator.settle(now);
  }
}

void TpLayer::resume_pump(TimePs now, std::uint32_t channel) {
  channels_[channel]->pump_deferred = false;
  pump(now, channel);
}

void TpLayer::pump(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (channel.state != ChannelState::kReady) return;
  if (channel.send.retransmissions_queued() > 0) prepare_retransmissions(index);
  if (channel.numbering || !channel.requests.empty() || !channel.responses.empty()) {
    const ContextKey key{ContextKind::kTpChannel, index};
    if (channel.pump_deferred) return;
    if (!parts_.contexts.acquire(key)) {
      channel.pump_deferred = true;
      wire::OperationTag operation;
      if (!channel.responses.empty()) {
        operation = parts_.responder.message(channel.responses.head).operation;
      } else if (!channel.requests.empty()) {
        operation = parts_.initiator.operation_of(channel.requests.head);
      }
      parts_.contexts.defer(key, {.step = DeferredStep::kChannelPump, .object = index}, operation,
                            channel.requests.empty());
      return;
    }
    parts_.contexts.mark_dirty(key);
    while (channel.unsent < parts_.config.fetch_ahead_packets && !channel.send.full() &&
           choose_message(now, index)) {
      number_packet(now, index);
    }
  }
  update_ready(now, index);
}

bool TpLayer::choose_message(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (channel.numbering) return true;
  // The peer has promised places for so many requests. More would have to be dropped there, and what this
  // host answers could be stuck behind them.
  const bool may_request = !channel.requests.empty() && channel.requests_open < channel.requests_max;
  const bool response = !channel.responses.empty() && (channel.response_turn || !may_request);
  if (!response && !may_request) return false;
  channel.response_turn = !response;
  channel.numbering = true;
  channel.numbering_offset = 0;
  channel.numbering_tpmsn = wire::psn_wrap(channel.tpmsn_next++);
  if (response) {
    channel.numbering_origin = PacketOrigin::kResponse;
    channel.numbering_object = channel.responses.pop(parts_.responder.messages(), &InboundMessage::next);
  } else {
    channel.numbering_origin = PacketOrigin::kRequest;
    channel.numbering_object = channel.requests.pop(parts_.initiator.transactions(), &Transaction::next);
    parts_.initiator.numbering_begins(now, channel.numbering_object);
  }
  return true;
}

void TpLayer::number_packet(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const bool request = channel.numbering_origin == PacketOrigin::kRequest;
  const std::uint32_t object = channel.numbering_object;
  const std::uint32_t total =
      request ? parts_.initiator.payload_length(object) : parts_.responder.message(object).response_length;
  // Made in its place, as everything of that size on this path: assigning a fresh one would build it on the
  // stack and copy it.
  TxPacket& packet = *std::construct_at(&channel.send.push());
  packet.logical = channel.send.next() - 1;
  packet.object = object;
  packet.origin = channel.numbering_origin;
  packet.tpmsn = channel.numbering_tpmsn;
  packet.offset = channel.numbering_offset;
  packet.length = std::min(channel.mtu, total - channel.numbering_offset);
  channel.numbering_offset += packet.length;
  packet.last = channel.numbering_offset == total;
  ++channel.unsent;
  if (request) {
    parts_.initiator.numbered(object, packet.logical);
  } else {
    ++parts_.responder.message(object).packets_unconfirmed;
  }
  start_fetch(index, packet);
  if (!packet.last) return;
  channel.numbering = false;
  if (request) {
    parts_.initiator.numbered_all(now, object);
  } else {
    parts_.responder.message(object).response_numbered = true;
  }
}

void TpLayer::start_fetch(std::uint32_t index, TxPacket& packet) {
  packet.state = PacketState::kReady;
  if (packet.length == 0 || packet.fetch_failed) return;
  if (packet.origin == PacketOrigin::kRequest) {
    parts_.initiator.fetch_data(index, packet);
  } else {
    parts_.responder.fetch_data(index, packet);
  }
}

void TpLayer::prepare_retransmissions(std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const auto prepare = [&](std::uint64_t number) {
    TxPacket& packet = channel.send.slot(number);
    if (packet.prepared) return;
    packet.prepared = true;
    ++channel.resend_prepared;
    start_fetch(index, packet);
  };
  // The lowest leaves first, and nothing leaves before it: it is prepared even when higher ones, queued
  // before it came back into the queue, take all the room.
  std::uint64_t logical = channel.send.first_retransmission();
  prepare(logical);
  while (channel.resend_prepared < parts_.config.fetch_ahead_packets) {
    logical = channel.send.retransmission_from(logical + 1, channel.send_cursor);
    if (logical >= channel.send_cursor) return;
    prepare(logical);
  }
}

void TpLayer::data_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  TpChannel& channel = *channels_[owner.object];
  if (channel.generation != owner.generation) return;
  TxPacket& packet = channel.send.slot(owner.detail);
  // Confirmed meanwhile: the answer came too late to matter.
  if (packet.logical != owner.detail || packet.state != PacketState::kFetching) return;
  if (result.status != engine::AccessStatus::kDone) {
    if (!packet.fetch_failed) {
      packet.fetch_failed = true;
      if (packet.origin == PacketOrigin::kRequest) {
        parts_.initiator.fetch_failed(packet.object, result.status);
      } else {
        parts_.responder.fetch_failed(packet, result.status);
      }
    }
  } else if (packet.data.buffer != wire::kNoBuffer) {
    // Pieces from several places are gathered in one buffer.
    wire::fill(result.data,
               std::span(parts_.payloads.data(packet.data.buffer) + owner.offset, result.data.length));
  } else {
    packet.data = result.data;
    parts_.payloads.retain(packet.data.buffer);
  }
  if (--packet.fetches_open > 0) return;
  packet.state = PacketState::kReady;
  if (packet.fetch_failed) {
    parts_.payloads.release(packet.data.buffer);
    packet.data = {};
  }
  update_ready(now, owner.object);
}

TxPacket* TpLayer::sendable(TimePs now, std::uint32_t index, bool again) {
  TpChannel& channel = *channels_[index];
  // New packets wait behind those that are sent again.
  const bool resend = channel.send.retransmissions_queued() > 0;
  if (channel.state != ChannelState::kReady || resend != again || (!again && channel.unsent == 0))
    return nullptr;
  TxPacket& packet = channel.send.slot(again ? channel.send.first_retransmission() : channel.send_cursor);
  return packet.state == PacketState::kReady && congestion_.may_send(now, index, packet) ? &packet : nullptr;
}

void TpLayer::update_ready(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (!channel.data_listed && sendable(now, index, false) != nullptr) {
    channel.data_listed = true;
    data_list_.push_back(index);
  }
  if (!channel.resend_listed && sendable(now, index, true) != nullptr) {
    channel.resend_listed = true;
    resend_list_.push_back(index);
  }
}

void TpLayer::address_packet(const TpChannel& channel, wire::Packet& out) const {
  std::construct_at(&out);  // In place: an assignment builds it elsewhere and copies.
  out.mark = wire::CongestionMark::kCapable;
  out.entropy = channel.entropy;
  out.source = parts_.config.host;
  out.destination = channel.remote;
  out.ub.encapsulation = parts_.config.encapsulation;
  out.ub.rtph.source_tpn = channel.local_tpn;
  out.ub.rtph.destination_tpn = channel.remote_tpn;
}

bool TpLayer::transmit_notification(wire::TrafficClassMask allowed, wire::Packet& out) {
  if ((allowed & wire::mask_of(wire::TrafficClass::kControl)) == 0) return false;
  std::uint32_t index = 0;
  if (!congestion_.next_notification(index)) return false;
  address_packet(*channels_[index], out);
  out.traffic_class = wire::TrafficClass::kControl;
  out.ub.rtph.opcode = wire::TpOpcode::kCnp;
  out.ub.rtph.last = true;
  // Profile P2 has CETPH there instead of CNPETPH.
  wire::UbPacket::AckExtension& extension = wire::use_ack(out.ub);
  extension.cnp.ecn = 1;
  extension.cetph.congested_packets = 1;
  out.header_bytes = wire::wire_header_bytes(out);
  ++parts_.counters.packets_sent;
  return true;
}

bool TpLayer::transmit_acknowledgement(wire::TrafficClassMask allowed, wire::Packet& out) {
  if ((allowed & wire::mask_of(wire::TrafficClass::kAcknowledgement)) == 0) return false;
  while (!ack_list_.empty()) {
    const std::uint32_t index = ack_list_.front();
    ack_list_.pop_front();
    TpChannel& channel = *channels_[index];
    channel.ack_listed = false;
    const AckKind kind = std::exchange(channel.ack, AckKind::kNone);
    if (kind == AckKind::kNone || channel.state != ChannelState::kReady) continue;
    channel.unacknowledged = 0;
    timers_.set(2 * index + 1, kNever);
    address_packet(channel, out);
    out.traffic_class = wire::TrafficClass::kAcknowledgement;
    wire::Rtph& rtph = out.ub.rtph;
    rtph.opcode = wire::TpOpcode::kAck;
    rtph.tpmsn = channel.ack_tpmsn;
    rtph.last = true;
    switch (kind) {
      case AckKind::kNone:
        break;
      case AckKind::kAck:
        rtph.psn = wire::psn_wrap(channel.ack_number - 1);
        ++parts_.counters.acknowledgements_sent;
        break;
      case AckKind::kNak:
        // [UB-Base 2.0.1 6.4.2] TPNAK: a TPACK with RSPST 3 that names the expected PSN.
        rtph.psn = wire::psn_wrap(channel.ack_number);
        rtph.status = wire::UbResponseStatus::kError;
        ++parts_.counters.negative_acknowledgements_sent;
        break;
      case AckKind::kSack:
        build_sack(channel, out);
        break;
    }
    congestion_.write_echo(index, channel.ack_number, out);
    out.header_bytes = wire::wire_header_bytes(out);
    ++parts_.counters.packets_sent;
    return true;
  }
  return false;
}

void TpLayer::build_sack(const TpChannel& channel, wire::Packet& out) {
  ++parts_.counters.selective_acknowledgements_sent;
  // Choice: P1 counts from the last packet in order (bit 0 set), P2 from the first missing one (bit 0 clear).
  // Before anything is in order both begin at the first packet, which is missing.
  const bool openurma = wire::profile(parts_.config.encapsulation) == wire::UbProfile::kP2OpenUrma;
  const bool from_last = !openurma && channel.ack_number != channel.receive_first;
  const std::uint64_t base = from_last ? channel.ack_number - 1 : channel.ack_number;
  wire::Rtph& rtph = out.ub.rtph;
  rtph.opcode = wire::TpOpcode::kSack;
  rtph.psn = wire::psn_wrap(base);
  wire::UbPacket::AckExtension& ack = wire::use_ack(out.ub);
  ack.saetph.max_received = wire::psn_wrap(channel.ack_max - 1);
  const std::uint64_t span = channel.ack_max - base;
  ack.saetph.size_code =
      wire::sack_size_code(static_cast<std::uint32_t>(std::min<std::uint64_t>(span, 1024)));
  const std::uint32_t bytes = wire::sack_bitmap_bytes(ack.saetph.size_code);
  std::byte* bitmap = nullptr;
  if (wire::payload_is_sack_bitmap(out.ub)) {
    const wire::BufferId buffer = parts_.payloads.acquire(bytes);
    bitmap = parts_.payloads.data(buffer);
    out.payload = wire::bytes_payload(bitmap, bytes, buffer);
  } else {
    bitmap = reinterpret_cast<std::byte*>(ack.sack_bitmap.data());
  }
  std::fill_n(bitmap, bytes, std::byte{0});
  const auto set = [&](std::uint64_t logical) {
    const std::uint64_t bit = logical - base;
    if (bit < bytes * 8ULL) bitmap[bit / 8] |= static_cast<std::byte>(1U << (bit % 8));
  };
  if (from_last) set(base);
  for (std::uint64_t logical = channel.ack_number; logical < channel.ack_max && logical - base < bytes * 8ULL;
       ++logical) {
    const std::uint64_t ahead = logical - channel.ack_number;
    const bool arrived =
        ahead < 64 ? (channel.ack_first_bits >> ahead & 1U) != 0 : channel.receive.received_ahead(logical);
    if (arrived) set(logical);
  }
}

bool TpLayer::transmit_data(TimePs now, wire::TrafficClassMask allowed, bool again, wire::Packet& out) {
  // Choice: everything that has a PSN and is sent for the first time is in one class, so that classes never
  // reorder a channel.
  const auto traffic_class = again ? wire::TrafficClass::kRetransmission : wire::TrafficClass::kData;
  if ((allowed & wire::mask_of(traffic_class)) == 0) return false;
  Ring<std::uint32_t>& list = again ? resend_list_ : data_list_;
  while (!list.empty()) {
    const std::uint32_t index = list.front();
    list.pop_front();
    TpChannel& channel = *channels_[index];
    (again ? channel.resend_listed : channel.data_listed) = false;
    TxPacket* packet = sendable(now, index, again);
    if (packet == nullptr) continue;
    build(channel, *packet, again, out);
    congestion_.departs(now, index, *packet, again, out);
    out.traffic_class = traffic_class;
    if (again) {
      channel.send.retransmitted(packet->logical);
      packet->prepared = false;
      --channel.resend_prepared;
      packet->resend_mark = channel.send_cursor;
      ++parts_.counters.packets_retransmitted;
      parts_.span(out.operation, trace::Stage::kRetransmissionWait, packet->sent_at, now);
    } else {
      ++channel.send_cursor;
      --channel.unsent;
      ++parts_.counters.data_packets_sent;
    }
    packet->data = {};  // The reference went out with the packet.
    packet->state = PacketState::kSent;
    packet->sent_at = now;
    start_timer(now, index);
    ++parts_.counters.packets_sent;
    pump(now, index);
    return true;
  }
  return false;
}

void TpLayer::build(const TpChannel& channel, const TxPacket& packet, bool again, wire::Packet& out) const {
  address_packet(channel, out);
  wire::Rtph& rtph = out.ub.rtph;
  rtph.psn = wire::psn_wrap(packet.logical);
  rtph.tpmsn = packet.tpmsn;
  rtph.last = packet.last;
  rtph.acknowledge_request = true;
  out.payload = packet.data;
  if (packet.origin == PacketOrigin::kRequest) {
    parts_.initiator.fill_packet(packet, again, out);
  } else {
    parts_.responder.fill_packet(packet, out);
  }
  out.header_bytes = wire::wire_header_bytes(out);
}

}  // namespace wharf::ub
