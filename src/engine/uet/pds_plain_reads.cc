// SPDX-License-Identifier: Apache-2.0
// The short ways of reads whose data is one packet of the reverse direction: the request at the target, the
// data at the initiator, and its arrival in memory. Each says no with nothing done where something is
// unusual. [UE 1.0 3.4, 3.5]
#include "engine/uet/initiator_plain.h"

namespace wharf::uet {

/// A read that nobody needs to hear of: its data, which is on its way, says all.
bool Pds::receive_read_plain(EngineParts& parts, TimePs now, const wire::Packet& packet) {
  const wire::UetSesRequest& ses = packet.uet.ses;
  const UetConfig& config = parts.config;
  const std::uint32_t length = ses.request_length;
  const std::uint32_t index = find_plain(parts, packet);
  if (index == kNoSlot) return false;
  Pdc& record = *pdcs_[index];
  PdcReceive& rx = record.rx;
  constexpr std::uint8_t kAsks = wire::kUetAckRequested | wire::kUetRetransmit;
  if (packet.payload.length != 0 || length <= config.max_ack_data_bytes || length > config.payload_mtu ||
      (packet.uet.prologue.flags & kAsks) != 0 || packet.mark == wire::CongestionMark::kExperienced ||
      rx.ahead != 0 || record.state == PdcState::kQuiesce ||
      rx.ack_bytes + ack_bytes_of(parts, 0) >= parts.plain.ack_trigger_bytes || !parts.outbound.has_used()) {
    return false;
  }
  std::uint64_t address = 0;
  const std::uint32_t region = Target::find_plain(parts, packet, &verbs::AccessRights::remote_read, address);
  if (region == kNoSlot || parts.regions[region].message != kNoSlot) return false;
  accept_plain(parts, now, record, packet, parts.plain.overhead);
  // It has its answer at once.
  --rx.in_execution;
  pass(rx, packet.uet.request.psn);
  enqueue_plain(parts, now, index,
                parts.initiator.make_plain_response(packet, parts.regions[region], address));
  return true;
}

/// All the data of a read, which goes to one piece of memory.
bool Pds::receive_data_plain(EngineParts& parts, TimePs now, const wire::Packet& packet) {
  const wire::UetSesResponse& response = packet.uet.response;
  const std::uint32_t length = packet.payload.length;
  const std::uint32_t read = std::uint32_t{response.read_request_message_id} - 1;
  const std::uint32_t index = find_plain(parts, packet);
  if (index == kNoSlot || length == 0 || response.message_offset != 0 || !parts.accesses.has_place() ||
      response.return_code != wire::UetReturnCode::kOk || read >= parts.outbound.capacity() ||
      !parts.outbound.is_used(read)) {
    return false;
  }
  OutboundMessage& message = parts.outbound[read];
  if (message.pdc != index || !message.expects_data || message.kind != MessageKind::kRequest ||
      message.local_count != 1 || message.ses.request_length != length || message.local[0].length != length ||
      message.status != verbs::CompletionStatus::kSuccess) {
    return false;
  }
  Pdc& record = *pdcs_[index];
  accept_plain(parts, now, record, packet, parts.plain.data_overhead);
  const std::uint32_t slot = parts.inbound.acquire_used();
  InboundPacket& inbound = make_plain_inbound(parts, now, index, record, packet, slot);
  inbound.made_plain = false;
  inbound.returned_data = true;
  inbound.message = read;
  inbound.message_generation = message.generation;
  ++message.accesses;  // Until the packet is placed.
  engine::Access& access = parts.accesses.request_in_place(
      engine::AccessKind::kWrite, length, AccessOwner::kInbound, slot, 0, packet.payload.buffer);
  access.queue = message.queue;
  access.stream = local_stream(message.queue);
  access.space = message.local[0].key;
  access.address = message.local[0].address;
  access.data = packet.payload;
  access.operation = message.operation;
  return true;
}

/// That data is in memory.
bool Pds::data_placed_plain(EngineParts& parts, TimePs now, std::uint32_t slot) {
  const InboundPacket& inbound = parts.inbound[slot];
  if (inbound.accesses != 1 || inbound.pdc == kNoSlot || !inbound.returned_data ||
      inbound.result != wire::UetReturnCode::kOk) {
    return false;
  }
  Pdc& record = *pdcs_[inbound.pdc];
  const std::uint32_t read = inbound.message;
  if (read == kNoSlot || !parts.outbound.is_used(read) || !passes_plainly(parts, inbound, record))
    return false;
  OutboundMessage& message = parts.outbound[read];
  if (message.generation != inbound.message_generation) return false;
  --record.rx.in_execution;
  pass(record.rx, inbound.psn);
  message.received += inbound.payload_length;
  parts.inbound.release(slot);
  if (--message.accesses == 0 && message.unanswered == 0) parts.initiator.end_read(now, read, message);
  return true;
}

}  // namespace wharf::uet
