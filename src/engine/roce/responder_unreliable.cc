// SPDX-License-Identifier: Apache-2.0
// The responder of unreliable service: messages of UC arrive in order or are lost, datagrams arrive or are
// lost; there are no answers. What a reliable connection would refuse is dropped. [IBTA vol 1 9.8.2, 9.8.3,
// 9.9.3; where it leaves freedom, Linux rdma_rxe behaviour]
#include <cstring>

#include "engine/roce/responder.h"
#include "wire/ip_frame.h"
#include "wire/roce_bth.h"
#include "wire/roce_codec.h"
#include "wire/traffic_class.h"
#include "wire/udp.h"

namespace wharf::roce {

using verbs::Verb;
using wire::RoceOpcode;

namespace {

/// What stands in front of a datagram in its receive entry: room for an IPv6 header; an IPv4 header takes the
/// second half, and the first says nothing. [IBTA vol 1 Annex A17.4.5.2]
constexpr std::uint32_t kHeaderRoom = 40;
/// Placements that a request packet can need here beside kAccessesPerPacket: two parts share a piece.
constexpr std::uint32_t kHeaderAccesses = 1;
/// Placements that one answer counts at most.
constexpr std::uint32_t kPlacementsMost = 1U << 15U;

bool carries_immediate(RoceOpcode opcode) { return (wire::roce_headers(opcode) & wire::kRoceImmediate) != 0; }

// Choice: the addresses of the plan of hosts, and the time to live that everybody begins with: the engine
// knows neither what a live network translated nor how many routers there were.
void write_network_header(const wire::Packet& packet, std::byte* at) {
  std::memset(at, 0, kHeaderRoom);
  const std::uint32_t bytes = wire::kUdpBytes + wire::kBthBytes +
                              wire::roce_extension_bytes(packet.roce.bth.opcode) + packet.payload.length +
                              wire::roce_pad(packet.payload.length) + wire::kIcrcBytes;
  std::byte* const header =
      packet.ip_version == wire::IpVersion::kV4 ? at + kHeaderRoom - wire::kIpv4Bytes : at;
  wire::encode_ip(packet, wire::kIpProtocolUdp, wire::type_of_service(packet), bytes, header);
}

}  // namespace

// Placements are counted as those of an acknowledgement that nobody gets: it goes without a packet.
Answer& Responder::quiet_answer(QueuePair& pair) {
  if (!pair.answers.empty() && pair.answers.back().outstanding < kPlacementsMost) return pair.answers.back();
  Answer& answer = push_answer(pair, AnswerKind::kAcknowledge, 0);
  answer.closed = true;
  answer.silent = true;
  return answer;
}

void Responder::cut_message(QueuePair& pair) {
  ResponderContext& responder = pair.context.responder;
  if (responder.message == MessageInProgress::kNone) return;
  ++core_.counters.messages_cut;
  if (responder.message == MessageInProgress::kSend) {
    // The next message takes the entry, and must not be overwritten by what is still under way.
    pair.receives.give_back();
    responder.entry_used = true;
  }
  responder.message = MessageInProgress::kNone;
}

void Responder::place_in_entry(QueuePair& pair, Answer& answer, const wire::Packet& packet,
                               const ReceiveEntry& entry, std::uint32_t offset, const wire::Payload& data) {
  const verbs::AccessOrder order =
      pair.context.responder.entry_used ? verbs::AccessOrder::kRelease : verbs::AccessOrder::kRelaxed;
  entry.local.for_parts(entry.local_count, offset, data.length,
                        [&](std::uint64_t address, std::uint32_t done, std::uint32_t part) {
                          place(pair, answer, packet, address, wire::slice(data, done, part), order,
                                entry.space, 0);
                        });
}

void Responder::receive_unreliable(QueuePair& pair, const wire::Packet& packet) {
  const bool full = pair.answers.full() && pair.answers.back().outstanding >= kPlacementsMost;
  if (full || core_.port.available(pair.share) < kAccessesPerPacket + kHeaderAccesses) {
    ++core_.counters.dropped_no_resources;
    return;
  }
  if (pair.context.service == Service::kDatagram) {
    receive_datagram(pair, packet);
  } else {
    take_in_order(pair, packet);
  }
  list_if_ready(pair);
}

void Responder::receive_datagram(QueuePair& pair, const wire::Packet& packet) {
  Counters& counters = core_.counters;
  if (packet.roce.deth.queue_key != pair.attributes.queue_key) {
    ++counters.dropped_queue_key;
    return;
  }
  if (packet.source.number >= wire::kIpHosts) {
    ++counters.dropped_foreign;
    return;
  }
  if (!has_entry(pair)) {
    ++counters.dropped_without_receive;
    return;
  }
  const Position position = pair.receives.taken();
  const ReceiveEntry& entry = pair.receives.entry(position);
  const std::uint32_t length = packet.payload.length;
  if (entry.local.bytes(entry.local_count) < std::uint64_t{kHeaderRoom} + length) {
    ++counters.dropped_refused;
    return;
  }
  pair.context.responder.receive_position = pair.receives.take();
  fetch_receives(pair, packet.operation);
  Answer& answer = quiet_answer(pair);
  const wire::BufferId buffer = core_.pool->acquire(kHeaderRoom);
  write_network_header(packet, core_.pool->data(buffer));
  place_in_entry(pair, answer, packet, entry, 0,
                 wire::bytes_payload(core_.pool->data(buffer), kHeaderRoom, buffer));
  core_.pool->release(buffer);
  if (length > 0) place_in_entry(pair, answer, packet, entry, kHeaderRoom, packet.payload);
  const bool with_immediate = carries_immediate(packet.roce.bth.opcode);
  complete_receive(pair, packet, with_immediate ? Verb::kSendImm : Verb::kSend, kHeaderRoom + length);
  refuse_bad_entry(pair, packet);
}

// [IBTA vol 1 9.8.2.2: a gap in the PSNs, or an opcode that does not go on with the message, ends the message
// in progress; packets are dropped until one begins a message]
void Responder::take_in_order(QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  const Psn psn = packet.roce.bth.psn;
  const RoceOpcode opcode = packet.roce.bth.opcode;
  const Step step = step_of(opcode);
  const bool gap = psn != responder.expected;
  responder.expected = wire::psn_add(psn, 1);
  const bool fits =
      step.first ? responder.message == MessageInProgress::kNone : responder.message == step.kind;
  if (gap || !fits) cut_message(pair);
  if (!step.first && responder.message == MessageInProgress::kNone) {
    ++core_.counters.dropped_out_of_order;
    return;
  }
  const std::uint32_t length = packet.payload.length;
  const bool length_fits = step.last ? step.first || length > 0 : length == pair.context.path_mtu;
  if (!length_fits) {
    ++core_.counters.dropped_refused;
    return cut_message(pair);
  }
  if (step.kind == MessageInProgress::kWrite) {
    take_unreliable_write(pair, packet, step.first, step.last);
  } else {
    take_unreliable_send(pair, packet, step.first, step.last);
  }
}

void Responder::take_unreliable_write(QueuePair& pair, const wire::Packet& packet, bool first, bool last) {
  ResponderContext& responder = pair.context.responder;
  const wire::Reth& reth = packet.roce.reth;
  const std::uint32_t length = packet.payload.length;
  const std::uint32_t total = first ? reth.length : responder.length;
  const std::uint32_t key = first ? reth.remote_key : responder.remote_key;
  const std::uint64_t address = first ? reth.address : responder.address;
  const std::uint32_t received = first ? 0 : responder.received;
  const std::uint32_t remaining = total - received;
  const MemoryKeyRecord* record = nullptr;
  bool allowed = pair.attributes.rights.remote_write && total <= verbs::kMaxMessageBytes;
  if (allowed && remaining > 0) {
    record = core_.keys.find(pair.context.domain, key, address, remaining, RemoteAccess::kWrite);
    allowed = record != nullptr;
  }
  if (!allowed || (last ? length != remaining : remaining <= length)) {
    ++core_.counters.dropped_refused;
    return cut_message(pair);
  }
  const bool takes_entry = carries_immediate(packet.roce.bth.opcode);
  if (takes_entry && !has_entry(pair)) {
    ++core_.counters.dropped_without_receive;
    return cut_message(pair);
  }
  Answer& answer = quiet_answer(pair);
  if (length > 0) {
    place(pair, answer, packet, address, packet.payload, record->write_order, core_.keys.space_of(*record),
          key);
  }
  responder.remote_key = key;
  responder.length = total;
  responder.address = address + length;
  responder.received = received + length;
  responder.message = last ? MessageInProgress::kNone : MessageInProgress::kWrite;
  if (!takes_entry) return;
  responder.receive_position = pair.receives.take();
  fetch_receives(pair, packet.operation);
  complete_receive(pair, packet, Verb::kWriteImm, total);
  refuse_bad_entry(pair, packet);
}

void Responder::take_unreliable_send(QueuePair& pair, const wire::Packet& packet, bool first, bool last) {
  ResponderContext& responder = pair.context.responder;
  const std::uint32_t length = packet.payload.length;
  if (first && !has_entry(pair)) {
    ++core_.counters.dropped_without_receive;
    return;
  }
  const Position position = first ? pair.receives.taken() : responder.receive_position;
  const ReceiveEntry& entry = pair.receives.entry(position);
  const std::uint32_t offset = first ? 0 : responder.received;
  if (std::uint64_t{offset} + length > entry.local.bytes(entry.local_count)) {
    ++core_.counters.dropped_refused;
    return cut_message(pair);
  }
  if (first) {
    responder.receive_position = pair.receives.take();
    fetch_receives(pair, packet.operation);
  }
  Answer& answer = quiet_answer(pair);
  if (length > 0) place_in_entry(pair, answer, packet, entry, offset, packet.payload);
  responder.received = offset + length;
  responder.message = last ? MessageInProgress::kNone : MessageInProgress::kSend;
  if (last) {
    const bool with_immediate = carries_immediate(packet.roce.bth.opcode);
    complete_receive(pair, packet, with_immediate ? Verb::kSendImm : Verb::kSend, responder.received);
    responder.entry_used = false;
  }
  refuse_bad_entry(pair, packet);
}

}  // namespace wharf::roce
