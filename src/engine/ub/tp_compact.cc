// SPDX-License-Identifier: Apache-2.0
// The compact transport: a header of one byte, no numbers of packets, no acknowledgements, no repetition. The
// link loses nothing; what is lost all the same is missed by the transaction that waits for its answer.
// [UB-Base 2.0.1 6.1; ns-3-UB ub-ctp]
#include <memory>

#include "engine/ub/engine_parts.h"
#include "engine/ub/tp_channel.h"
#include "wire/ub_codec.h"

namespace wharf::ub {

/// Control path.
void TpLayer::open_compact(std::uint32_t index) {
  if (compact_.size() <= index) compact_.resize(index + 1);
  if (compact_[index] == nullptr) {
    compact_[index] = std::make_unique<CompactPair>();
  } else {
    compact_[index]->reset();
  }
}

// --- Sending

bool TpLayer::has_compact_number(std::uint32_t index) const {
  const CompactPair::Place& held = compact_[index]->next_place();
  return held.transaction == kNoSlot ||
         parts_.initiator.transaction(held.transaction).generation != held.generation;
}

std::uint32_t TpLayer::give_compact_number(std::uint32_t index, std::uint32_t transaction) {
  return compact_[index]->give({transaction, parts_.initiator.transaction(transaction).generation});
}

void TpLayer::address_compact(const TpChannel& channel, wire::Packet& out) const {
  wire::UbPacket::Ctp& header = wire::use_ctp(out.ub);
  header.entities = {entity_of(parts_.config.host, channel.incarnation),
                     entity_of(channel.remote, channel.incarnation)};
  out.ub.entities = wire::UbEntities::kCompact;
  out.ub.transport_partition = wire::kDefaultUpi;
}

// Choice: full transaction headers behind compact entity ids, because the compact ones have no byte
// addresses, no lengths and no requester.
void TpLayer::make_compact(const TpChannel& channel, const TxPacket& packet, wire::Packet& out) const {
  address_compact(channel, out);
  if (packet.origin == PacketOrigin::kRequest)
    out.ub.request.tassn = static_cast<std::uint16_t>(packet.tpmsn);
  out.header_bytes = wire::wire_header_bytes(out);
}

void TpLayer::make_compact_notification(const TpChannel& channel, wire::Packet& out) {
  address_compact(channel, out);
  out.ub.ctp.opcode = wire::CtpOpcode::kCnp;
  wire::use_ack(out.ub).cnp.ecn = 1;
  out.header_bytes = wire::wire_header_bytes(out);
  ++parts_.counters.packets_sent;
}

// --- Receiving

void TpLayer::receive_compact(TimePs now, const wire::Packet& packet) {
  if (packet.ub.entities != wire::UbEntities::kCompact) {
    ++parts_.counters.dropped_transport;
    return;
  }
  // From hosts that are connected alone, in the present life of the channel.
  const std::uint32_t index = find(packet.source, kCompactLane);
  if (index == kNoSlot || channels_[index]->state != ChannelState::kReady ||
      packet.ub.ctp.entities.source != entity_of(packet.source, channels_[index]->incarnation) ||
      packet.ub.ctp.entities.destination != entity_of(parts_.config.host, channels_[index]->incarnation)) {
    ++parts_.counters.dropped_unknown_channel;
    return;
  }
  if (packet.ub.ctp.opcode == wire::CtpOpcode::kCnp) {
    if (!congestion_.notified(now, index)) ++parts_.counters.dropped_tp_opcode;
    return;
  }
  congestion_.arrived(now, index, packet);
  // A message is one packet here, and what lies behind asks RTPH for that.
  wire::Packet whole = packet;
  std::construct_at(&whole.ub.rtph)->last = true;
  switch (packet.ub.transaction) {
    case wire::UbTransaction::kRequest:
      return receive_compact_request(now, index, whole);
    case wire::UbTransaction::kResponse:
      return receive_compact_response(now, index, whole);
    case wire::UbTransaction::kNone:
      ++parts_.counters.dropped_malformed;
      return;
  }
}

void TpLayer::receive_compact_request(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  CompactPair& pair = *compact_[index];
  if (pair.admit(packet.ub.request.tassn) == CompactPair::Arrival::kSeen) {
    ++parts_.counters.dropped_sequence;
    return;
  }
  parts_.counters.sequence_gaps += pair.skipped();
  if (!parts_.responder.has_room(index, packet, false)) {
    count_no_room(index, false);
    return;
  }
  ++parts_.counters.compact_requests_received;
  // Whoever would have to wait for own memory in a place that is not there comes again: nobody repeats it
  // unasked.
  if (!parts_.responder.can_park()) return parts_.responder.put_off(now, index, packet);
  parts_.responder.receive(now, index, packet, kNoSlot, 0);
}

// The answer names the number that the pair of entities gave; the initiator knows the one of its jetty.
void TpLayer::receive_compact_response(TimePs now, std::uint32_t index, wire::Packet& packet) {
  CompactPair& pair = *compact_[index];
  const std::uint16_t tassn = packet.ub.response.tassn;
  const CompactPair::Place place = pair.find(tassn);
  const bool outstanding =
      place.transaction != kNoSlot &&
      parts_.initiator.transaction(place.transaction).generation == place.generation &&
      parts_.initiator.transaction(place.transaction).jetty == packet.ub.response.requester_id;
  if (!outstanding) {
    ++parts_.counters.dropped_response;
    return;
  }
  if (!parts_.responder.can_park()) {  // What waits for a context record takes such a place.
    count_no_room(index, false);
    return;
  }
  const Transaction& answered = parts_.initiator.transaction(place.transaction);
  packet.ub.response.tassn = static_cast<std::uint16_t>(answered.tassn);
  parts_.initiator.receive(now, index, packet, kNoSlot);
  // Unless it was no answer to what was asked. One that comes again does so under another number.
  if (answered.generation != place.generation || answered.answered ||
      answered.state == TransactionState::kBackoff) {
    pair.take_back(tassn);
  }
}

}  // namespace wharf::ub
