// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet packets made by hand, as a peer with a mind of its own would send them.
#pragma once

#include <cstdint>

#include "wire/packet.h"

namespace wharf::uet {

/// A request of a PDC from host `source` to host 1 - source, SYN set unless `dpdcid` is given.
struct HandMade {
  std::uint32_t source = 0;
  wire::UetPsn psn = 0;
  wire::UetPsn start = 0;
  std::uint16_t spdcid = 0x4001;
  std::uint16_t dpdcid = 0;
  bool ordered = false;
  std::uint8_t flags = wire::kUetAckRequested;
  std::int16_t clear_offset = -1;
  wire::UetOpcode opcode = wire::UetOpcode::kWrite;
  std::uint8_t ses_flags = wire::kUetSom | wire::kUetEom | wire::kUetRelative;
  std::uint16_t message_id = 1;
  std::uint32_t job_id = 1;
  std::uint16_t pid = 0;
  std::uint16_t index = 15;
  std::uint8_t generation = 0;
  std::uint32_t initiator = 16;
  std::uint64_t key = 0;
  std::uint64_t address = 0;
  std::uint32_t request_length = 0;
  std::uint32_t message_offset = 0;
  wire::Payload payload;

  wire::Packet packet() const {
    wire::Packet out = wire::uet_packet();
    out.source = {source};
    out.destination = {1 - source};
    out.entropy = 77;
    out.mark = wire::CongestionMark::kCapable;
    wire::UetRequest& request = wire::use_pds_request(
        out.uet, ordered ? wire::UetPdsType::kRodRequest : wire::UetPdsType::kRudRequest);
    request.psn = psn;
    request.clear_psn_offset = clear_offset;
    request.source_pdcid = spdcid;
    request.destination_pdcid = dpdcid != 0 ? dpdcid : wire::uet_syn_word(psn - start);
    out.uet.prologue.flags = static_cast<std::uint8_t>(flags | (dpdcid == 0 ? wire::kUetSyn : 0U));
    wire::UetSesRequest& ses = wire::use_ses_request(out.uet, wire::UetNextHeader::kRequestStandard, opcode);
    ses.flags = ses_flags;
    ses.message_id = message_id;
    ses.job_id = job_id;
    ses.pid_on_fep = pid;
    ses.resource_index = index;
    ses.ri_generation = generation;
    ses.initiator = initiator;
    ses.memory_key = key;
    ses.buffer_offset = address;
    ses.request_length = request_length != 0 ? request_length : payload.length;
    ses.message_offset = message_offset;
    if (wire::uet_extension(opcode) == wire::UetExtension::kAtomic) wire::use_atomic(out.uet);
    out.payload = payload;
    return out;
  }
};

/// A control packet of the PDC that HandMade uses.
inline wire::Packet control_packet(std::uint32_t source, wire::UetControlType type, wire::UetPsn psn,
                                   std::uint16_t spdcid, std::uint16_t dpdcid, std::uint32_t payload = 0,
                                   std::uint8_t flags = 0) {
  wire::Packet out = wire::uet_packet();
  out.source = {source};
  out.destination = {1 - source};
  wire::UetControl& control = wire::use_control(out.uet, type);
  control.psn = psn;
  control.source_pdcid = spdcid;
  control.destination_pdcid = dpdcid;
  control.payload = payload;
  out.uet.prologue.flags = flags;
  return out;
}

}  // namespace wharf::uet
