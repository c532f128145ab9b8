// SPDX-License-Identifier: Apache-2.0
#include "tests/support/packet_generator.h"

#include <rapidcheck.h>

#include <vector>

#include "wire/address_plan.h"
#include "wire/frame.h"
#include "wire/ub_codec.h"

namespace wharf::wire {

std::uint64_t arbitrary_number(unsigned bits) {
  return *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << bits);
}
bool arbitrary_flag() { return *rc::gen::arbitrary<bool>(); }
std::uint64_t arbitrary_word() { return *rc::gen::arbitrary<std::uint64_t>(); }

namespace {

/// Every known RoCE opcode.
std::vector<RoceOpcode> roce_opcodes() {
  std::vector<RoceOpcode> opcodes;
  for (unsigned op = 0; op < 256; ++op)
    if (roce_headers(static_cast<RoceOpcode>(op)) != 0) opcodes.push_back(static_cast<RoceOpcode>(op));
  return opcodes;
}

/// Every transaction opcode whose layout is known.
std::vector<TaOpcode> ta_opcodes(bool response) {
  std::vector<TaOpcode> opcodes;
  for (unsigned op = 0; op < 256; ++op) {
    const std::uint16_t layout = ta_layout(static_cast<TaOpcode>(op));
    if (layout != 0 && ((layout & kTaResponse) != 0) == response)
      opcodes.push_back(static_cast<TaOpcode>(op));
  }
  return opcodes;
}

Payload arbitrary_payload(std::uint32_t length_max) {
  return pattern_payload(arbitrary_bits<std::uint32_t>(8), arbitrary_bits<std::uint64_t>(40),
                         *rc::gen::inRange<std::uint32_t>(0, length_max + 1));
}

void arbitrary_envelope(Packet& packet) {
  packet.traffic_class = static_cast<TrafficClass>(*rc::gen::inRange<unsigned>(0, kTrafficClassCount));
  packet.ip_version = arbitrary_flag() ? IpVersion::kV4 : IpVersion::kV6;
  packet.entropy = arbitrary_bits<std::uint16_t>(16);
  packet.mark =
      *rc::gen::element(CongestionMark::kNone, CongestionMark::kCapable, CongestionMark::kExperienced);
  packet.source.number = *rc::gen::inRange<std::uint32_t>(0, 4096);
  packet.destination.number = *rc::gen::inRange<std::uint32_t>(0, 4096);
}

}  // namespace

Packet arbitrary_roce_packet() {
  Packet packet = roce_packet();
  arbitrary_envelope(packet);
  RocePacket& roce = packet.roce;
  roce.bth.opcode = *rc::gen::elementOf(roce_opcodes());
  roce.bth.psn = arbitrary_bits<Psn>(24);
  roce.bth.destination_queue_pair = arbitrary_bits<std::uint32_t>(24);
  roce.bth.partition_key = arbitrary_bits<std::uint16_t>(16);
  roce.bth.solicited = arbitrary_flag();
  roce.bth.migration = arbitrary_flag();
  roce.bth.forward_congestion = arbitrary_flag();
  roce.bth.backward_congestion = arbitrary_flag();
  roce.bth.acknowledge_request = arbitrary_flag();
  const std::uint16_t headers = roce_headers(roce.bth.opcode);
  if ((headers & kRoceImmediate) != 0) roce.immediate = arbitrary_bits<std::uint32_t>(32);
  if ((headers & kRoceIeth) != 0) roce.invalidate_key = arbitrary_bits<std::uint32_t>(32);
  if ((headers & kRoceFeth) != 0)
    roce.feth = Feth{arbitrary_bits<std::uint8_t>(4), arbitrary_bits<std::uint8_t>(2)};
  if ((headers & kRoceReth) != 0)
    roce.reth = Reth{arbitrary_word(), arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint32_t>(32)};
  if ((headers & kRoceAtomicEth) != 0)
    roce.atomic =
        AtomicEth{arbitrary_word(), arbitrary_word(), arbitrary_word(), arbitrary_bits<std::uint32_t>(32)};
  if ((headers & kRoceDeth) != 0)
    roce.deth = Deth{arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint32_t>(24)};
  if ((headers & kRoceAeth) != 0) {
    roce.ack = RocePacket::AckExtension{};
    roce.ack.aeth = Aeth{arbitrary_bits<std::uint8_t>(8), arbitrary_bits<Psn>(24)};
    if ((headers & kRoceAtomicAckEth) != 0) roce.ack.atomic_original = arbitrary_word();
  }
  if ((headers & kRocePayload) != 0) packet.payload = arbitrary_payload(4096);
  return packet;
}

namespace {

CongestionField arbitrary_congestion() {
  return congestion_field(
      static_cast<std::uint16_t>((*rc::gen::element(0U, 2U, 4U) << 13U) | arbitrary_bits<std::uint16_t>(13)));
}

void arbitrary_btah(UbPacket& ub) {
  const bool compact = compact_transaction(ub);
  const bool openurma = ub.encapsulation == UbEncapsulation::kRawEthernet;
  Btah& btah = use_request(ub);
  do {
    btah.opcode = *rc::gen::elementOf(ta_opcodes(false));
  } while (compact && (ta_layout(btah.opcode) & kTaOperand) != 0);
  btah.tassn = arbitrary_bits<std::uint16_t>(16);
  btah.environment = arbitrary_bits<std::uint8_t>(2);
  btah.token_value_present = arbitrary_flag();
  btah.poison = arbitrary_flag();
  btah.target_hint = arbitrary_flag();
  if (compact) return;
  btah.requester_id = arbitrary_bits<std::uint32_t>(20);
  btah.requester_type = static_cast<RequesterContextType>(*rc::gen::inRange(0, 3));
  btah.order = arbitrary_bits<std::uint8_t>(3);
  btah.target_present = arbitrary_flag();
  btah.solicited = arbitrary_flag();
  btah.retry = arbitrary_flag();
  btah.allocate = arbitrary_flag();
  btah.exclusive = arbitrary_flag();
  if (openurma) btah.service_mode = arbitrary_bits<std::uint8_t>(2);
  if (!openurma) btah.no_acknowledge = arbitrary_flag();
}

void arbitrary_request(Packet& packet) {
  UbPacket& ub = packet.ub;
  arbitrary_btah(ub);
  const std::uint16_t layout = ta_layout(ub.request.opcode);
  const bool compact = compact_transaction(ub);
  const bool openurma = ub.encapsulation == UbEncapsulation::kRawEthernet;
  if ((layout & kTaPayload) != 0) packet.payload = arbitrary_payload(2048);
  UbPacket::RequestExtension& extension = ub.extension;
  if ((layout & kTaAddress) != 0) {
    extension.maetah =
        Maetah{arbitrary_word(), arbitrary_bits<std::uint32_t>(20), arbitrary_bits<std::uint32_t>(32)};
    if (compact) {
      extension.maetah.address &= ~std::uint64_t{63};
      extension.maetah.length = compact_length(arbitrary_bits<std::uint8_t>(3));
      extension.affinity_hint = arbitrary_bits<std::uint8_t>(2);
      extension.strong_order = arbitrary_flag();
    }
    if ((layout & kTaByteEnable) != 0) {
      const std::uint32_t length = compact ? 256 : packet.payload.length;
      extension.maetah.length = length;
      packet.payload = pattern_payload(1, 0, length + byte_enable_bytes(length));
    }
  }
  if (ub.request.token_value_present && (!openurma || (layout & kTaAddress) != 0))
    extension.token_value = arbitrary_bits<std::uint32_t>(32);
  if ((layout & kTaTarget) != 0 || ub.request.target_present)
    extension.mtetah =
        Mtetah{arbitrary_bits<std::uint32_t>(20), static_cast<TargetContextType>(*rc::gen::inRange(0, 3)),
               arbitrary_bits<std::uint8_t>(8)};
  if ((layout & kTaImmediate) != 0) extension.immediate = arbitrary_word();
  if ((layout & kTaNotify) != 0)
    extension.notify = Notify{arbitrary_word(), arbitrary_word(), arbitrary_bits<std::uint32_t>(20),
                              arbitrary_bits<std::uint32_t>(32)};
  if ((layout & kTaInvalidate) != 0)
    extension.invalidate = Invalidate{arbitrary_bits<std::uint32_t>(20), arbitrary_bits<std::uint32_t>(32)};
  if ((layout & kTaMessage) != 0) {
    extension.message =
        MessageExtension{arbitrary_bits<std::uint16_t>(12), arbitrary_bits<std::uint8_t>(4),
                         arbitrary_bits<std::uint8_t>(3), arbitrary_bits<std::uint8_t>(8), arbitrary_flag()};
  }
  if (openurma && is_atomic(ub.request.opcode)) {
    const bool compare = ub.request.opcode == TaOpcode::kAtomicCompareSwap;
    (compare ? extension.operands.compare : extension.operands.operand) = arbitrary_word();
  } else if ((layout & kTaOperand) != 0) {
    const std::uint32_t width = *rc::gen::element(4U, 8U, 16U);
    const std::uint64_t mask = width == 4 ? 0xffff'ffffU : ~std::uint64_t{0};
    const bool compare = (layout & kTaCompare) != 0;
    extension.maetah.length = width;
    extension.operands.operand = arbitrary_word() & mask;
    if (width == 16) extension.operands.operand_high = arbitrary_word();
    if (compare) extension.operands.compare = arbitrary_word() & mask;
    if (compare && width == 16) extension.operands.compare_high = arbitrary_word();
  }
}

void arbitrary_response(Packet& packet, bool acknowledgement) {
  UbPacket& ub = packet.ub;
  Atah& atah = use_response(ub);
  atah.opcode = *rc::gen::elementOf(ta_opcodes(true));
  atah.tassn = arbitrary_bits<std::uint16_t>(16);
  atah.poison = arbitrary_flag();
  atah.status = static_cast<UbResponseStatus>(arbitrary_bits<std::uint8_t>(2));
  if (!compact_transaction(ub)) {
    atah.requester_id = arbitrary_bits<std::uint32_t>(20);
    atah.requester_type = static_cast<RequesterContextType>(*rc::gen::inRange(0, 3));
    atah.info = arbitrary_bits<std::uint8_t>(5);
    atah.sequence_valid = arbitrary_flag();
    if (ub.encapsulation == UbEncapsulation::kRawEthernet)
      atah.service_mode = arbitrary_bits<std::uint8_t>(2);
  }
  if (!acknowledgement && (ta_layout(atah.opcode) & kTaPayload) != 0)
    packet.payload = arbitrary_payload(2048);
}

void arbitrary_ack(Packet& packet) {
  UbPacket& ub = packet.ub;
  if (!has_cetph(ub) && !has_saetph(ub) && !has_cnpetph(ub)) return;
  UbPacket::AckExtension& ack = use_ack(ub);
  if (has_cetph(ub))
    ack.cetph = Cetph{arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint16_t>(16),
                      arbitrary_bits<std::uint8_t>(8), arbitrary_flag(), arbitrary_flag()};
  if (has_cnpetph(ub)) ack.cnp = Cnpetph{arbitrary_bits<std::uint8_t>(2), arbitrary_flag()};
  if (!has_saetph(ub)) return;
  ack.saetph = Saetph{arbitrary_bits<Psn>(24), *rc::gen::inRange<std::uint8_t>(0, 5)};
  const std::uint32_t bytes = sack_bitmap_bytes(ack.saetph.size_code);
  if (payload_is_sack_bitmap(ub)) {
    packet.payload = pattern_payload(7, 0, bytes);
  } else {
    for (std::uint32_t i = 0; i < bytes; ++i) ack.sack_bitmap[i] = arbitrary_bits<std::uint8_t>(8);
  }
}

}  // namespace

Packet arbitrary_ub_packet() {
  Packet packet = ub_packet();
  arbitrary_envelope(packet);
  UbPacket& ub = packet.ub;
  ub.encapsulation = static_cast<UbEncapsulation>(*rc::gen::inRange(0, 6));
  const bool ip = ub.encapsulation == UbEncapsulation::kUdp || ub.encapsulation == UbEncapsulation::kIpOnLink;
  std::vector<UbTransport> transports{UbTransport::kRtp, UbTransport::kUtp};
  if (profile(ub.encapsulation) == UbProfile::kP3Compact) transports.clear();
  if (!ip) transports.push_back(UbTransport::kBypass);
  if (ub.encapsulation != UbEncapsulation::kRawEthernet) transports.push_back(UbTransport::kCtp);
  ub.transport = *rc::gen::elementOf(transports);
  ub.operator_tag = ub.encapsulation == UbEncapsulation::kUdp && arbitrary_flag();
  if (ub.encapsulation != UbEncapsulation::kUdp) {
    ub.per_packet_balance = arbitrary_flag();
    ub.shortest_paths_only = arbitrary_flag();
  }
  if (ub.encapsulation != UbEncapsulation::kUdp || ub.operator_tag) ub.cc = arbitrary_congestion();
  if (ub.encapsulation == UbEncapsulation::kIpOnLink || ub.operator_tag)
    ub.partition = arbitrary_bits<std::uint32_t>(25);
  if (!ip) {
    packet.ip_version = IpVersion::kV4;
    packet.entropy &= 0xffU;
    ub.management = arbitrary_flag();
    packet.mark = CongestionMark::kNone;
    if (ub.cc.mode != CongestionMode::kCaqm || ub.cc.enabled)
      packet.mark =
          ub.cc.congested || ub.cc.fecn == 1 ? CongestionMark::kExperienced : CongestionMark::kCapable;
  }
  bool notification = false;
  bool acknowledgement = false;
  if (ub.transport != UbTransport::kBypass) {
    ub.entities = static_cast<UbEntities>(*rc::gen::inRange(0, ub.transport == UbTransport::kCtp ? 3 : 2));
    if (ip && ub.transport == UbTransport::kCtp) ub.entities = UbEntities::kCompact;
    if (ub.entities == UbEntities::kFull) ub.transport_partition = arbitrary_bits<std::uint32_t>(32);
  }
  if (ub.transport == UbTransport::kCtp) {
    UbPacket::Ctp& ctp = use_ctp(ub);
    ctp.opcode = arbitrary_flag() ? CtpOpcode::kData : CtpOpcode::kCnp;
    notification = ctp.opcode == CtpOpcode::kCnp;
    if (ub.entities == UbEntities::kCompact) {
      ub.transport_partition = arbitrary_bits<std::uint32_t>(15);
      if (ip && !travels_behind_udp(ub.transport_partition)) ub.transport_partition = kDefaultUpi;
      ctp.entities = CompactEidh{arbitrary_bits<std::uint32_t>(20), arbitrary_bits<std::uint32_t>(20)};
    }
  } else if (ub.transport == UbTransport::kRtp) {
    Rtph& rtph = ub.rtph;
    rtph.opcode =
        *rc::gen::element(TpOpcode::kReliable, TpOpcode::kAck, TpOpcode::kAckCetph, TpOpcode::kNakDeprecated,
                          TpOpcode::kSack, TpOpcode::kSackCetph, TpOpcode::kCnp);
    rtph.source_tpn = arbitrary_bits<std::uint32_t>(24);
    rtph.destination_tpn = arbitrary_bits<std::uint32_t>(24);
    rtph.psn = arbitrary_bits<Psn>(24);
    rtph.tpmsn = arbitrary_bits<Psn>(24);
    rtph.status = static_cast<UbResponseStatus>(arbitrary_bits<std::uint8_t>(3));
    rtph.info = arbitrary_bits<std::uint8_t>(5);
    rtph.last = arbitrary_flag();
    rtph.acknowledge_request = arbitrary_flag();
    rtph.flag = arbitrary_flag();
    notification = rtph.opcode == TpOpcode::kCnp;
    acknowledgement = !notification && rtph.opcode != TpOpcode::kReliable;
  } else if (ub.transport == UbTransport::kUtp) {
    ub.rtph.opcode = TpOpcode::kUnreliable;
    ub.rtph.last = arbitrary_flag();
  }
  if (notification || acknowledgement) arbitrary_ack(packet);
  if (notification) return packet;
  if (acknowledgement) {
    if (arbitrary_flag()) arbitrary_response(packet, true);
  } else if (arbitrary_flag()) {
    arbitrary_request(packet);
  } else {
    arbitrary_response(packet, false);
  }
  return packet;
}

namespace {

void arbitrary_uet_request_headers(Packet& packet, UetNextHeader form) {
  UetPacket& uet = packet.uet;
  std::vector<UetOpcode> opcodes{UetOpcode::kWrite, UetOpcode::kRead, UetOpcode::kAtomic,
                                 UetOpcode::kFetchingAtomic};
  if (form != UetNextHeader::kRequestSmall)
    opcodes.insert(opcodes.end(), {UetOpcode::kSend, UetOpcode::kDatagramSend, UetOpcode::kTaggedSend,
                                   UetOpcode::kTaggedSendAtomic, UetOpcode::kTaggedSendFetchAtomic});
  if (form == UetNextHeader::kRequestStandard)
    opcodes.insert(opcodes.end(), {UetOpcode::kNoOp, UetOpcode::kRendezvousSend, UetOpcode::kDeferrableSend,
                                   UetOpcode::kRendezvousTaggedSend, UetOpcode::kDeferrableTaggedSend,
                                   UetOpcode::kDeferrableReadyToRestart, UetOpcode::kMessageError});
  UetSesRequest& ses = use_ses_request(uet, form, *rc::gen::elementOf(opcodes));
  ses.flags = arbitrary_bits<std::uint8_t>(6);
  ses.job_id = arbitrary_bits<std::uint32_t>(24);
  ses.ri_generation = arbitrary_bits<std::uint8_t>(8);
  ses.pid_on_fep = arbitrary_bits<std::uint16_t>(12);
  ses.resource_index = arbitrary_bits<std::uint16_t>(12);
  bool data = ses.opcode != UetOpcode::kRead && ses.opcode != UetOpcode::kNoOp &&
              ses.opcode != UetOpcode::kDeferrableReadyToRestart && ses.opcode != UetOpcode::kMessageError;
  if (uet_extension(ses.opcode) == UetExtension::kRendezvous)
    use_rendezvous(uet) = UetRendezvous{arbitrary_word(),
                                        arbitrary_word(),
                                        arbitrary_bits<std::uint32_t>(32),
                                        arbitrary_bits<std::uint16_t>(12),
                                        arbitrary_bits<std::uint16_t>(12),
                                        arbitrary_bits<std::uint8_t>(8)};
  if (uet_extension(ses.opcode) == UetExtension::kAtomic) {
    UetAtomic& atomic = use_atomic(uet);
    atomic.opcode = static_cast<UetAtomicOpcode>(*rc::gen::inRange<unsigned>(0, 0x15));
    atomic.datatype = static_cast<UetDatatype>(*rc::gen::inRange<unsigned>(0, 0x12));
    atomic.semantic_control = arbitrary_bits<std::uint8_t>(8);
    if (uet_has_compare_swap(atomic.opcode)) {
      data = false;
      for (std::uint8_t& byte : atomic.compare) byte = arbitrary_bits<std::uint8_t>(8);
      for (std::uint8_t& byte : atomic.swap) byte = arbitrary_bits<std::uint8_t>(8);
    }
  }
  if (data) packet.payload = arbitrary_payload(4096);
  if (form == UetNextHeader::kRequestStandard) {
    ses.message_id = arbitrary_bits<std::uint16_t>(16);
    ses.buffer_offset = arbitrary_word();
    ses.memory_key = arbitrary_word();
    ses.initiator = arbitrary_bits<std::uint32_t>(32);
    if (ses.first()) {
      ses.header_data = arbitrary_word();
    } else {
      ses.message_offset = arbitrary_bits<std::uint32_t>(31);
      ses.payload_length = static_cast<std::uint16_t>(packet.payload.length);
    }
    ses.request_length = ses.message_offset + packet.payload.length + arbitrary_bits<std::uint32_t>(30);
    return;
  }
  ses.flags |= kUetSom | kUetEom;
  ses.request_length = data ? packet.payload.length : arbitrary_bits<std::uint32_t>(14);
  if (form == UetNextHeader::kRequestMedium) {
    (ses.has_header_data() ? ses.header_data : ses.buffer_offset) = arbitrary_word();
    ses.memory_key = arbitrary_word();
    ses.initiator = arbitrary_bits<std::uint32_t>(32);
  } else {
    ses.buffer_offset = arbitrary_word();
  }
}

void arbitrary_uet_response_headers(Packet& packet, UetNextHeader form) {
  UetSesResponse& response = use_ses_response(packet.uet, form);
  response.list = static_cast<UetListCode>(arbitrary_bits<unsigned>(2));
  response.opcode = static_cast<UetResponseOpcode>(arbitrary_bits<unsigned>(6));
  response.return_code = static_cast<UetReturnCode>(arbitrary_bits<unsigned>(6));
  response.job_id = arbitrary_bits<std::uint32_t>(24);
  if (form != UetNextHeader::kResponse) {
    packet.payload = arbitrary_payload(4096);
    response.payload_length = static_cast<std::uint16_t>(packet.payload.length);
  } else {
    response.ri_generation = arbitrary_bits<std::uint8_t>(8);
  }
  if (form == UetNextHeader::kResponseDataSmall) {
    response.original_request_psn = arbitrary_bits<UetPsn>(32);
    return;
  }
  response.message_id = arbitrary_bits<std::uint16_t>(16);
  response.modified_length = arbitrary_bits<std::uint32_t>(32);
  if (form != UetNextHeader::kResponseData) return;
  response.read_request_message_id = arbitrary_bits<std::uint16_t>(16);
  response.message_offset = arbitrary_bits<std::uint32_t>(32);
}

void arbitrary_uet_ack(UetPacket& uet, UetPdsType type) {
  use_ack(uet) =
      UetAck{arbitrary_bits<UetPsn>(32), arbitrary_bits<std::uint16_t>(16), arbitrary_bits<std::uint16_t>(16),
             static_cast<std::int16_t>(arbitrary_bits<std::uint16_t>(16))};
  if (type == UetPdsType::kAck) return;
  UetAckCongestion& cc = use_ack_congestion(uet, type);
  cc.type = static_cast<UetCcType>(arbitrary_bits<unsigned>(4));
  cc.flags = arbitrary_bits<std::uint8_t>(4);
  cc.mpr = arbitrary_bits<std::uint8_t>(8);
  cc.sack_psn_offset = static_cast<std::int16_t>(arbitrary_bits<std::uint16_t>(16));
  cc.sack_bitmap = arbitrary_word();
  if (type == UetPdsType::kAckCcx) cc.state_extension = arbitrary_word();
  if (cc.type != UetCcType::kNscc && cc.type != UetCcType::kCredit) {
    cc.state = arbitrary_word();
    return;
  }
  cc.byte_units = arbitrary_bits<std::uint32_t>(24);
  cc.out_of_order = arbitrary_bits<std::uint16_t>(16);
  if (cc.type == UetCcType::kCredit) return;
  cc.service_time = arbitrary_bits<std::uint16_t>(16);
  cc.restore_window = arbitrary_flag();
  cc.receiver_penalty = arbitrary_bits<std::uint8_t>(7);
}

}  // namespace

Packet arbitrary_uet_packet() {
  Packet packet = uet_packet();
  arbitrary_envelope(packet);
  UetPacket& uet = packet.uet;
  if (arbitrary_flag()) uet.encapsulation = UetEncapsulation::kNativeIp;
  const auto type = static_cast<UetPdsType>(*rc::gen::inRange<unsigned>(2, 15));
  std::vector<UetNextHeader> next;
  const bool request = is_uet_pdc_request(type);
  if (request || type == UetPdsType::kRudiRequest || type == UetPdsType::kUudRequest)
    next.insert(next.end(), {UetNextHeader::kRequestSmall, UetNextHeader::kRequestMedium,
                             UetNextHeader::kRequestStandard});
  if (request || type == UetPdsType::kRudiResponse || is_uet_ack(type))
    next.insert(next.end(),
                {UetNextHeader::kResponse, UetNextHeader::kResponseData, UetNextHeader::kResponseDataSmall});
  if (next.empty() || is_uet_ack(type)) next.push_back(UetNextHeader::kNone);
  uet.prologue.type = type;
  if (request) {
    UetRequest& header = use_pds_request(uet, type);
    header.psn = arbitrary_bits<UetPsn>(32);
    header.source_pdcid = arbitrary_bits<std::uint16_t>(16);
    header.destination_pdcid = arbitrary_bits<std::uint16_t>(16);
    header.clear_psn_offset = static_cast<std::int16_t>(arbitrary_bits<std::uint16_t>(16));
    if (has_uet_request_cc(type)) {
      header.ccc_id = arbitrary_bits<std::uint8_t>(8);
      header.credit_target = arbitrary_bits<std::uint32_t>(24);
    }
  } else if (is_uet_nack(type)) {
    use_nack(uet, static_cast<UetNackCode>(arbitrary_bits<unsigned>(8)));
    uet.prologue.type = type;
    uet.nack.psn = arbitrary_bits<UetPsn>(32);
    uet.nack.payload = arbitrary_bits<std::uint32_t>(32);
    uet.nack.source_pdcid = arbitrary_bits<std::uint16_t>(16);
    uet.nack.destination_pdcid = arbitrary_bits<std::uint16_t>(16);
    uet.nack.vendor_code = arbitrary_bits<std::uint8_t>(8);
    if (type == UetPdsType::kNackCcx)
      use_nack_congestion(uet) = UetNackCongestion{arbitrary_bits<std::uint64_t>(60), arbitrary_word(),
                                                   arbitrary_bits<std::uint8_t>(4)};
  } else if (type == UetPdsType::kControl) {
    use_control(uet, static_cast<UetControlType>(*rc::gen::inRange<unsigned>(0, 10))) = UetControl{
        arbitrary_bits<UetPsn>(32), arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint16_t>(16),
        arbitrary_bits<std::uint16_t>(16), arbitrary_bits<std::uint16_t>(16)};
    if (uet.prologue.control == UetControlType::kNegotiation) packet.payload = arbitrary_payload(64);
  } else if (type == UetPdsType::kRudiRequest || type == UetPdsType::kRudiResponse) {
    use_rudi(uet, type).packet_id = arbitrary_bits<std::uint32_t>(32);
  } else if (is_uet_ack(type)) {
    arbitrary_uet_ack(uet, type);
  }
  uet.prologue.flags = arbitrary_bits<std::uint8_t>(7) & uet_defined_flags(type);
  const UetNextHeader form = *rc::gen::elementOf(next);
  if (is_uet_request_form(form)) arbitrary_uet_request_headers(packet, form);
  if (is_uet_response_form(form)) arbitrary_uet_response_headers(packet, form);
  return packet;
}

}  // namespace wharf::wire
