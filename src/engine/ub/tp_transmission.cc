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
  channels_[channel]->hold_up();
  channels_[channel]->requests.push(parts_.initiator.transactions(), transaction, &Transaction::next);
  touch(channel);
}

void TpLayer::enqueue_response(std::uint32_t channel, std::uint32_t message) {
  channels_[channel]->hold_up();
  channels_[channel]->responses.push(parts_.responder.messages(), message, &InboundMessage::next);
  touch(channel);
}

/// How many messages of one packet may be numbered at once, see TpChannel::credit; false: none.
[[gnu::noinline]] bool TpLayer::find_credit(TpChannel& channel) const {
  const bool general = channel.general && channel.kind != ChannelKind::kFused;
  if (general || channel.state != ChannelState::kReady || channel.numbering || !channel.requests.empty() ||
      !channel.responses.empty() || channel.send.retransmissions_queued() > 0) {
    return false;
  }
  channel.plain = true;
  const std::uint32_t ahead = parts_.config.fetch_ahead_packets;
  channel.credit = std::min({ahead > channel.unsent ? ahead - channel.unsent : 0, channel.send.room(),
                             packet_room_.most_beside(channel.tx_held)});
  return channel.credit > 0;
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

[[gnu::noinline]] void TpLayer::pump(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (channel.state != ChannelState::kReady) return;
  if (channel.send.retransmissions_queued() > 0) prepare_retransmissions(index);
  const bool wanted = channel.numbering || !channel.requests.empty() || !channel.responses.empty();
  if (wanted && !number_packets(now, index)) return;
  update_ready(now, index);
}

bool TpLayer::number_packets(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const ContextKey key{ContextKind::kTpChannel, index};
  if (channel.pump_deferred) return false;
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
    return false;
  }
  parts_.contexts.mark_dirty(key);
  // One who finds no place in the pool holds some, and goes on when one of its own comes back.
  while (channel.unsent < parts_.config.fetch_ahead_packets && !channel.send.full() &&
         packet_room_.has(channel.tx_held) && choose_message(now, index)) {
    number_packet(now, index);
  }
  return true;
}

bool TpLayer::choose_message(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (channel.numbering) return true;
  // The peer has promised places for so many requests. More would have to be dropped there, and what this
  // host answers could be stuck behind them.
  const bool may_request = !channel.requests.empty() && channel.requests_open < channel.requests_max &&
                           (channel.kind != ChannelKind::kCompact || has_compact_number(index));
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
    if (channel.kind == ChannelKind::kCompact)
      channel.numbering_tpmsn = give_compact_number(index, channel.numbering_object);
  }
  return true;
}

void TpLayer::number_packet(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const bool request = channel.numbering_origin == PacketOrigin::kRequest;
  const std::uint32_t object = channel.numbering_object;
  const std::uint32_t total = request ? Initiator::payload_length(parts_.initiator.transaction(object))
                                      : parts_.responder.message(object).response_length;
  const std::uint32_t place = packets_.acquire();
  WHARF_CHECK(place != kNoSlot);  // open() made room for what packet_room_ grants.
  packet_room_.take(channel.tx_held);
  TxPacket& packet = packets_[place];
  copy_whole(packet, kFreshPacket);
  channel.send.push(packets_, place);
  packet.channel = index;
  packet.object = object;
  packet.origin = channel.numbering_origin;
  packet.tpmsn = channel.numbering_tpmsn;
  packet.offset = channel.numbering_offset;
  packet.length = std::min(channel.mtu, total - channel.numbering_offset);
  channel.numbering_offset += packet.length;
  packet.last = channel.numbering_offset == total;
  ++channel.unsent;
  if (request) {
    Initiator::numbered(parts_.initiator.transaction(object), packet.logical, place);
  } else {
    ++parts_.responder.message(object).packets_unconfirmed;
  }
  start_fetch(index, place);
  if (!packet.last) return;
  channel.numbering = false;
  if (request) {
    parts_.initiator.numbered_all(now, object);
  } else {
    parts_.responder.message(object).response_numbered = true;
  }
}

void TpLayer::start_fetch(std::uint32_t index, std::uint32_t place) {
  TxPacket& packet = packets_[place];
  packet.state = PacketState::kReady;
  if (packet.length == 0 || packet.fetch_failed) return;
  const std::uint64_t reference = reference_to(place, packet.logical);
  if (packet.origin == PacketOrigin::kRequest) {
    parts_.initiator.fetch_data(index, packet, reference);
  } else {
    parts_.responder.fetch_data(index, packet, reference);
  }
}

void TpLayer::prepare_retransmissions(std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const auto prepare = [&](std::uint32_t place) {
    TxPacket& packet = packets_[place];
    if (packet.prepared) return;
    packet.prepared = true;
    ++channel.resend_prepared;
    start_fetch(index, place);
  };
  // The lowest leaves first, and nothing leaves before it: it is prepared even when higher ones, queued
  // before it came back into the queue, take all the room.
  std::uint32_t at = channel.send.first_retransmission(packets_);
  prepare(at);
  while (channel.resend_prepared < parts_.config.fetch_ahead_packets) {
    do {
      at = packets_[at].next;
      if (at == channel.send.cursor()) return;
    } while (!packets_[at].resend);
    prepare(at);
  }
}

void TpLayer::data_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  TpChannel& channel = *channels_[owner.object];
  if (channel.generation != owner.generation) return;
  TxPacket& packet = packets_[static_cast<std::uint32_t>(owner.detail)];
  // Confirmed meanwhile: the answer came too late to matter.
  if (packet.channel != owner.object || packet.state != PacketState::kFetching ||
      owner.detail != reference_to(static_cast<std::uint32_t>(owner.detail), packet.logical)) {
    return;
  }
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

inline TxPacket* TpLayer::sendable(TimePs now, std::uint32_t index, TpChannel& channel, bool again) {
  // New packets wait behind those that are sent again.
  const bool resend = channel.send.retransmissions_queued() > 0;
  if (channel.state != ChannelState::kReady || resend != again || (!again && channel.unsent == 0))
    return nullptr;
  TxPacket& packet = packets_[again ? channel.send.first_retransmission(packets_) : channel.send.cursor()];
  return packet.state == PacketState::kReady && congestion_.may_send(now, index, packet) ? &packet : nullptr;
}

void TpLayer::update_ready(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const bool again = channel.send.retransmissions_queued() > 0;
  if ((again ? channel.resend_listed : channel.data_listed) ||
      sendable(now, index, channel, again) == nullptr) {
    return;
  }
  if (!again) return list_sender(index);
  channel.resend_listed = true;
  resend_list_.push_back(index);
  parts_.attention |= kUrgent;
}

[[gnu::noinline]] void TpLayer::list_sender(std::uint32_t index) {
  if (only_sender_ != nullptr) {
    // It comes behind this one if it has stayed without need.
    const std::uint32_t next = only_sender_->send.cursor();
    if (next == kNoSlot || packets_[next].state != PacketState::kReady) unlist_sender();
  }
  TpChannel& channel = *channels_[index];
  channel.data_listed = true;
  data_list_.push_back(index);
  only_sender_ = data_list_.size() == 1 ? &channel : nullptr;
}

// The first in data_list_ has nothing that may leave.
void TpLayer::unlist_sender() {
  channels_[data_list_.front()]->data_listed = false;
  data_list_.pop_front();
  only_sender_ = data_list_.size() == 1 ? channels_[data_list_.front()].get() : nullptr;
}

bool TpLayer::transmit_notification(wire::TrafficClassMask allowed, wire::Packet& out) {
  if ((allowed & wire::mask_of(wire::TrafficClass::kControl)) == 0) return false;
  std::uint32_t index = 0;
  if (!congestion_.next_notification(index)) return false;
  address_packet(*channels_[index], out);
  out.traffic_class = wire::TrafficClass::kControl;
  if (channels_[index]->kind == ChannelKind::kCompact) {
    make_compact_notification(*channels_[index], out);
    return true;
  }
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
    end_acknowledgement_delay(index, channel);
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
    if (channel.fused != nullptr && kind != AckKind::kNak) write_answer(channel, out);
    congestion_.write_echo(index, channel.ack_number, out);
    if (out.ub.rtph.opcode == wire::TpOpcode::kAck && channel.fused == nullptr) {
      set_header_bytes(out);
    } else {
      out.header_bytes = wire::wire_header_bytes(out);
    }
    ++parts_.counters.packets_sent;
    return true;
  }
  return false;
}

// [UB-Base 2.0.1 7.4] ROL: the acknowledgement is the answer to every request that it confirms; it carries
// the transaction header of the one that was executed last. Choice: a TPSACK says so, too, of what lies
// before its bitmap.
void TpLayer::write_answer(const TpChannel& channel, wire::Packet& out) const {
  out.ub.rtph.status = wire::UbResponseStatus::kFusedTaack;
  if (!channel.fused->any) return;
  wire::Atah& header = wire::use_response(out.ub);
  header.opcode = wire::TaOpcode::kTaack;
  header.tassn = channel.fused->tassn;
  header.requester_id = channel.fused->requester_id;
}

// [UB-Base 2.0.1 6.1] UTP: UTPH has none of the numbers.
void TpLayer::make_datagram(wire::Packet& out) {
  out.ub.transport = wire::UbTransport::kUtp;
  out.ub.rtph = wire::Rtph{};
  out.ub.rtph.opcode = wire::TpOpcode::kUnreliable;
  out.ub.rtph.last = true;
  out.header_bytes = wire::wire_header_bytes(out);
}

void TpLayer::build_sack(const TpChannel& channel, wire::Packet& out) {
  ++parts_.counters.selective_acknowledgements_sent;
  // Choice: P1 counts from the last packet in order (bit 0 set), P2 from the first missing one (bit 0 clear).
  // Before anything is in order both begin at the first packet, which is missing.
  const bool openurma = wire::profile(parts_.config.encapsulation) == wire::UbProfile::kP2OpenUrma;
  // What a fused channel has executed is always bit 0: the bits behind it say something else.
  const bool from_last =
      channel.fused != nullptr || (!openurma && channel.ack_number != channel.receive_first);
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
    // Of a fused channel, some have been delivered and not been executed.
    if (channel.fused != nullptr && logical < channel.fused->delivered()) {
      set(logical);
      continue;
    }
    const std::uint64_t ahead =
        logical - (channel.fused == nullptr ? channel.ack_number : channel.fused->asked_at);
    const bool arrived =
        ahead < 64 ? (channel.ack_first_bits >> ahead & 1U) != 0 : channel.receive.received_ahead(logical);
    if (arrived) set(logical);
  }
}

[[gnu::noinline]] void TpLayer::make_form(const TpChannel& channel, std::uint32_t index) {
  form_channel_ = index;
  address_packet(channel, form_);
  form_.ub.rtph.acknowledge_request = true;
  // What most have in common; who builds another says so.
  form_.ub.transaction = wire::UbTransaction::kRequest;
  form_.ub.request.order = kPlainOrder;
  form_.ub.request.environment = environment_of(form_.ub.encapsulation);
  if (channel.kind == ChannelKind::kFused)
    form_.ub.request.service_mode = wire_mode_of(engine::ServiceMode::kOrderedByTransport);
}

inline void TpLayer::build(const TpChannel& channel, const TxPacket& packet, bool again, wire::Packet& out) {
  number_header(channel, packet, out);
  if (packet.origin == PacketOrigin::kRequest) {
    parts_.initiator.fill_packet(packet, again, out);
  } else {
    parts_.responder.fill_packet(packet, out);
  }
  set_header_bytes(out);
}

inline void TpLayer::departed(TimePs now, std::uint32_t index, TpChannel& channel, TxPacket& packet) {
  packet.data = {};  // The reference went out with the packet.
  packet.state = PacketState::kSent;
  packet.sent_at = now;
  if ((channel.timer_held || !channel.timer.running()) && repeats(channel.kind)) start_timer(now, index);
  ++parts_.counters.packets_sent;
}

// [ns-3-UB, packet spray] Every data packet takes the next UDP source port, repetitions included.
inline void TpLayer::spray(wire::Packet& out) {
  if (parts_.config.spread != ChannelSpread::kPacket) [[likely]]
    return;  // Always, where a jetty has CTP: check_transport().
  out.entropy = static_cast<std::uint16_t>(49152U + spray_++ % 16384U);
}

// Choice: everything that has a PSN and is sent for the first time is in one class, so that classes never
// reorder a channel.
[[gnu::flatten]] bool TpLayer::transmit_new(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  if ((allowed & wire::mask_of(wire::TrafficClass::kData)) == 0) return false;
  while (!data_list_.empty()) {
    const std::uint32_t index = data_list_.front();
    TpChannel& channel = *channels_[index];
    TxPacket* const packet = sendable(now, index, channel, false);
    if (packet == nullptr) {
      unlist_sender();
      continue;
    }
    build(channel, *packet, false, out);
    spray(out);
    congestion_.departs(now, index, *packet, false, out);
    channel.send.sent(packets_);
    ++channel.send_cursor;
    --channel.unsent;
    ++parts_.counters.data_packets_sent;
    departed(now, index, channel, *packet);
    if (!repeats(channel.kind)) [[unlikely]] {
      const bool compact = channel.kind == ChannelKind::kCompact;
      if (compact) {
        make_compact(channel, *packet, out);
      } else {
        make_datagram(out);
      }
      // Its record may be in memory meanwhile; what is outstanding says where the counters stand.
      restore_counters(channel);
      // That a datagram has left is all that will ever be known of it. What goes over CTP is answered.
      parts_.initiator.confirms_execution(!compact);
      acknowledge_before(now, index, channel.send_cursor);
      parts_.initiator.confirms_execution(false);
      settle_congestion(now, index, false);  // Nor does it stay in a controller's window.
    }
    relist(now, index);
    return true;
  }
  return false;
}

// A new packet of the channel, the first in data_list_, has left.
[[gnu::noinline]] void TpLayer::relist(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  const bool numbers = channel.numbering || !channel.requests.empty() || !channel.responses.empty();
  const TxPacket* const next = channel.unsent > 0 ? &packets_[channel.send.cursor()] : nullptr;
  if (!numbers && next != nullptr && next->state == PacketState::kReady &&
      congestion_.may_send(now, index, *next)) {
    // It goes behind the others.
    if (data_list_.size() > 1) {
      data_list_.pop_front();
      data_list_.push_back(index);
    }
    return;
  }
  unlist_sender();
  if (numbers) pump(now, index);
}

bool TpLayer::transmit_again(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  if ((allowed & wire::mask_of(wire::TrafficClass::kRetransmission)) == 0) return false;
  while (!resend_list_.empty()) {
    const std::uint32_t index = resend_list_.front();
    resend_list_.pop_front();
    TpChannel& channel = *channels_[index];
    channel.resend_listed = false;
    TxPacket* const packet = sendable(now, index, channel, true);
    if (packet == nullptr) continue;
    build(channel, *packet, true, out);
    spray(out);
    congestion_.departs(now, index, *packet, true, out);
    out.traffic_class = wire::TrafficClass::kRetransmission;
    channel.send.unqueue(*packet);
    packet->prepared = false;
    --channel.resend_prepared;
    packet->resend_mark = channel.send_cursor;
    ++parts_.counters.packets_retransmitted;
    parts_.span(out.operation, trace::Stage::kRetransmissionWait, packet->sent_at, now);
    departed(now, index, channel, *packet);
    pump(now, index);
    return true;
  }
  return false;
}

[[gnu::noinline]] std::uint32_t TpLayer::learn_header_bytes(const wire::Packet& packet, std::size_t place) {
  const std::uint32_t bytes = wire::wire_header_bytes(packet);
  const wire::UbPacket& ub = packet.ub;
  const bool data = ub.rtph.opcode == wire::TpOpcode::kReliable;
  // Bitmaps are as long as they are.
  const bool operand = data && ub.transaction == wire::UbTransaction::kRequest &&
                       wire::is_atomic(ub.request.opcode) && ub.extension.maetah.length != 8;
  if (!operand && (data || ub.rtph.opcode == wire::TpOpcode::kAck))
    header_bytes_[place] = static_cast<std::uint16_t>(bytes);
  return bytes;
}

}  // namespace wharf::ub
