// SPDX-License-Identifier: Apache-2.0
#include "wire/dissect_uet.h"

#include <fmt/format.h>

#include "wire/hex_text.h"
#include "wire/uet_names.h"
#include "wire/uet_tss.h"

namespace wharf::wire {
namespace {

std::string yes_no(bool value) { return value ? "yes" : "no"; }

/// "WRITE (0x01)".
std::string named(std::string_view name, unsigned number) {
  return fmt::format("{} ({:#04x})", name, number);
}

void dissect_flags(const UetPrologue& prologue, std::uint32_t at, DissectTree& tree) {
  const std::uint8_t defined = uet_defined_flags(prologue.type);
  const auto flag = [&](std::uint8_t mask, const char* name) {
    if ((defined & mask) != 0) tree.field(name, yes_no((prologue.flags & mask) != 0), at + 1, 1);
  };
  const bool ack = is_uet_ack(prologue.type);
  const bool nack = is_uet_nack(prologue.type);
  flag(0x20, prologue.type == UetPdsType::kControl ? "ordered PDC (ISROD)" : "ECN marked (M)");
  flag(kUetRetransmit, "retransmitted (RETX)");
  flag(0x08, ack ? "answers a probe (P)" : nack ? "names a RUDI packet (NT)" : "acknowledge request (AR)");
  if (ack) {
    tree.field("target asks for (REQ)",
               fmt::format("{} ({})", uet_ack_request_name(prologue.ack_request()),
                           static_cast<unsigned>(prologue.ack_request())),
               at + 1, 1);
  } else {
    flag(kUetSyn, "opens a PDC (SYN)");
  }
}

void dissect_prologue(const UetPrologue& prologue, std::uint32_t at, DissectTree& tree) {
  const auto type = static_cast<unsigned>(prologue.type);
  tree.header("PDS", std::string(uet_pds_type_name(prologue.type)), at, uet_pds_bytes(prologue.type));
  tree.field("type", fmt::format("{} ({})", uet_pds_type_name(prologue.type), type), at, 1);
  if (prologue.type == UetPdsType::kControl) {
    tree.field(
        "control type",
        fmt::format("{} ({})", uet_control_name(prologue.control), static_cast<unsigned>(prologue.control)),
        at, 2);
  } else {
    tree.field(
        "next header",
        fmt::format("{} ({})", uet_next_header_name(prologue.next), static_cast<unsigned>(prologue.next)), at,
        2);
  }
  dissect_flags(prologue, at, tree);
}

void dissect_pdcids(std::uint16_t source, std::uint16_t destination, bool syn, std::uint32_t at,
                    DissectTree& tree) {
  tree.field("source PDCID", fmt::format("{:#06x}", source), at + 8, 2);
  if (!syn) {
    tree.field("destination PDCID", fmt::format("{:#06x}", destination), at + 10, 2);
    return;
  }
  tree.field("PDC info", fmt::format("{:#x}", destination >> 12U), at + 10, 1);
  tree.field("PSN offset", fmt::format("{}", destination & 0xfffU), at + 10, 2);
}

void dissect_request_pds(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetRequest& request = uet.request;
  tree.field("clear PSN offset",
             fmt::format("{} (CLEAR_PSN {})", request.clear_psn_offset, request.clear_psn()), at + 2, 2);
  tree.field("PSN", fmt::format("{}", request.psn), at + 4, 4);
  dissect_pdcids(request.source_pdcid, request.destination_pdcid, uet.prologue.syn(), at, tree);
  if (!has_uet_request_cc(uet.prologue.type)) return;
  tree.field("CCC id", fmt::format("{}", request.ccc_id), at + 12, 1);
  tree.field("credit target", fmt::format("{}", request.credit_target), at + 13, 3);
}

void dissect_congestion(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetAckCongestion& cc = uet.ack_congestion;
  tree.field("CC type", fmt::format("{} ({})", uet_cc_type_name(cc.type), static_cast<unsigned>(cc.type)),
             at + 12, 1);
  tree.field("CC flags", fmt::format("{:#x}", cc.flags), at + 12, 1);
  tree.field("maximum PSN range", fmt::format("{} ({} PSNs)", cc.mpr, cc.mpr * kUetMprUnit), at + 13, 1);
  tree.field("SACK PSN offset",
             fmt::format("{} (base {})", cc.sack_psn_offset, cc.sack_base(uet.ack.cumulative_psn)), at + 14,
             2);
  tree.field("SACK bitmap", fmt::format("{:#018x}", cc.sack_bitmap), at + 16, 8);
  if (cc.type == UetCcType::kNscc) {
    tree.field("service time",
               fmt::format("{} ({} ns)", cc.service_time, std::uint32_t{cc.service_time} * 128), at + 24, 2);
    tree.field("restore window", yes_no(cc.restore_window), at + 26, 1);
    tree.field("receiver penalty", fmt::format("{}", cc.receiver_penalty), at + 26, 1);
    tree.field("received bytes", fmt::format("{} x 256", cc.byte_units), at + 27, 3);
    tree.field("out of order", fmt::format("{}", cc.out_of_order), at + 30, 2);
  } else if (cc.type == UetCcType::kCredit) {
    tree.field("credit", fmt::format("{} x 256", cc.byte_units), at + 24, 3);
    tree.field("out of order", fmt::format("{}", cc.out_of_order), at + 30, 2);
  } else {
    tree.field("CC state", fmt::format("{:#018x}", cc.state), at + 24, 8);
  }
  if (uet.prologue.type == UetPdsType::kAckCcx)
    tree.field("CC state extension", fmt::format("{:#018x}", cc.state_extension), at + 32, 8);
}

void dissect_ack(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  if (uet.prologue.answers_probe()) {
    tree.field("probe opaque", fmt::format("{:#06x}", uet.ack.probe_opaque()), at + 2, 2);
  } else {
    tree.field("ACK PSN offset", fmt::format("{} (ACK_PSN {})", uet.ack.ack_psn_offset, uet.ack.ack_psn()),
               at + 2, 2);
  }
  tree.field("CACK PSN", fmt::format("{}", uet.ack.cumulative_psn), at + 4, 4);
  dissect_pdcids(uet.ack.source_pdcid, uet.ack.destination_pdcid, false, at, tree);
  if (uet.prologue.type != UetPdsType::kAck) dissect_congestion(uet, at, tree);
}

void dissect_nack(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetNack& nack = uet.nack;
  tree.field("NACK code", named(uet_nack_name(nack.code), static_cast<unsigned>(nack.code)), at + 2, 1);
  tree.field("vendor code", fmt::format("{}", nack.vendor_code), at + 3, 1);
  tree.field(uet.prologue.names_rudi() ? "packet id" : "NACK PSN", fmt::format("{}", nack.psn), at + 4, 4);
  dissect_pdcids(nack.source_pdcid, nack.destination_pdcid, false, at, tree);
  tree.field(nack.code == UetNackCode::kNewStartPsn ? "new start PSN" : "payload",
             fmt::format("{}", nack.payload), at + 12, 4);
  if (uet.prologue.type == UetPdsType::kNack) return;
  tree.field("NCCX type", fmt::format("{}", uet.nack_congestion.type), at + 16, 1);
  tree.field("CC state", fmt::format("{:#017x}", uet.nack_congestion.state), at + 16, 8);
  tree.field("CC state extension", fmt::format("{:#018x}", uet.nack_congestion.state_extension), at + 24, 8);
}

void dissect_control(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetControl& control = uet.control;
  tree.field("probe opaque", fmt::format("{:#06x}", control.probe_opaque), at + 2, 2);
  tree.field("PSN", fmt::format("{}", control.psn), at + 4, 4);
  dissect_pdcids(control.source_pdcid, control.destination_pdcid, uet.prologue.syn(), at, tree);
  tree.field("payload", fmt::format("{}", control.payload), at + 12, 4);
}

/// The PDS header and what the summary says of it.
std::string dissect_pds(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  dissect_prologue(uet.prologue, at, tree);
  switch (uet.prologue.type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      dissect_request_pds(uet, at, tree);
      if (uet.prologue.syn())
        return fmt::format(", PDC {:#x} SYN, PSN {}", uet.request.source_pdcid, uet.request.psn);
      return fmt::format(", PDC {:#x} > {:#x}, PSN {}", uet.request.source_pdcid,
                         uet.request.destination_pdcid, uet.request.psn);
    case UetPdsType::kAck:
    case UetPdsType::kAckCc:
    case UetPdsType::kAckCcx:
      dissect_ack(uet, at, tree);
      return fmt::format(", PDC {:#x} > {:#x}, CACK {}", uet.ack.source_pdcid, uet.ack.destination_pdcid,
                         uet.ack.cumulative_psn);
    case UetPdsType::kNack:
    case UetPdsType::kNackCcx:
      dissect_nack(uet, at, tree);
      return fmt::format(" {}, PSN {}", uet_nack_name(uet.nack.code), uet.nack.psn);
    case UetPdsType::kControl:
      dissect_control(uet, at, tree);
      return fmt::format(" {}, PDC {:#x} > {:#x}, PSN {}", uet_control_name(uet.prologue.control),
                         uet.control.source_pdcid, uet.control.destination_pdcid, uet.control.psn);
    case UetPdsType::kRudiRequest:
    case UetPdsType::kRudiResponse:
      tree.field("packet id", fmt::format("{}", uet.rudi.packet_id), at + 4, 4);
      return fmt::format(", packet {}", uet.rudi.packet_id);
    case UetPdsType::kUudRequest:
    case UetPdsType::kReserved:
    case UetPdsType::kTss:
      return "";
  }
  return "";
}

void dissect_atomic(const UetAtomic& atomic, std::uint32_t at, DissectTree& tree) {
  tree.header("SES atomic", std::string(uet_atomic_name(atomic.opcode)), at, uet_atomic_bytes(atomic.opcode));
  tree.field("operation", named(uet_atomic_name(atomic.opcode), static_cast<unsigned>(atomic.opcode)), at, 1);
  tree.field("datatype", named(uet_datatype_name(atomic.datatype), static_cast<unsigned>(atomic.datatype)),
             at + 1, 1);
  tree.field("cacheable", yes_no((atomic.semantic_control & kUetAtomicCacheable) != 0), at + 2, 1);
  tree.field("CPU coherent", yes_no((atomic.semantic_control & kUetAtomicCoherent) != 0), at + 2, 1);
  if (!uet_has_compare_swap(atomic.opcode)) return;
  tree.field("compare", hex_text(std::as_bytes(std::span(atomic.compare))), at + 4, 16);
  tree.field("swap", hex_text(std::as_bytes(std::span(atomic.swap))), at + 20, 16);
}

void dissect_rendezvous(const UetRendezvous& rendezvous, std::uint32_t at, DissectTree& tree) {
  tree.header("SES rendezvous", fmt::format("{} eager bytes", rendezvous.eager_length), at,
              kUetRendezvousBytes);
  tree.field("eager length", fmt::format("{}", rendezvous.eager_length), at, 4);
  tree.field("RI generation", fmt::format("{}", rendezvous.ri_generation), at + 4, 1);
  tree.field("PID on FEP", fmt::format("{}", rendezvous.pid_on_fep), at + 5, 2);
  tree.field("resource index", fmt::format("{:#05x}", rendezvous.resource_index), at + 6, 2);
  tree.field("read offset", fmt::format("{:#018x}", rendezvous.read_offset), at + 8, 8);
  tree.field("memory key", fmt::format("{:#018x}", rendezvous.memory_key), at + 16, 8);
}

/// The twelve bytes that all request forms begin with.
void dissect_request_start(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetSesRequest& ses = uet.ses;
  tree.header("SES",
              fmt::format("{} {}", uet_next_header_name(uet.prologue.next), uet_opcode_name(ses.opcode)), at,
              uet_ses_bytes(uet.prologue.next));
  tree.field("opcode", named(uet_opcode_name(ses.opcode), static_cast<unsigned>(ses.opcode)), at, 1);
  tree.field("deliver complete (DC)", yes_no(ses.deliver_complete()), at + 1, 1);
  tree.field("initiator error (IE)", yes_no(ses.initiator_error()), at + 1, 1);
  tree.field("relative (REL)", yes_no(ses.relative()), at + 1, 1);
  tree.field("header data valid (HD)", yes_no(ses.has_header_data()), at + 1, 1);
  tree.field("end of message (EOM)", yes_no(ses.last()), at + 1, 1);
  tree.field("start of message (SOM)", yes_no(ses.first()), at + 1, 1);
  if (uet.prologue.next == UetNextHeader::kRequestStandard) {
    tree.field("message id", fmt::format("{}", ses.message_id), at + 2, 2);
  } else {
    tree.field("request length", fmt::format("{}", ses.request_length), at + 2, 2);
  }
  tree.field("RI generation", fmt::format("{}", ses.ri_generation), at + 4, 1);
  tree.field("job id", fmt::format("{}", ses.job_id), at + 5, 3);
  tree.field("PID on FEP", fmt::format("{}", ses.pid_on_fep), at + 8, 2);
  tree.field("resource index", fmt::format("{:#05x}", ses.resource_index), at + 10, 2);
}

bool has_tokens(UetOpcode opcode) {
  return opcode == UetOpcode::kDeferrableSend || opcode == UetOpcode::kDeferrableTaggedSend;
}

void dissect_tokens(std::uint64_t tokens, std::uint32_t at, DissectTree& tree) {
  tree.field("initiator restart token", fmt::format("{:#010x}", tokens >> 32U), at, 4);
  tree.field("target restart token", fmt::format("{:#010x}", tokens & 0xffff'ffffU), at + 4, 4);
}

void dissect_request_body(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetSesRequest& ses = uet.ses;
  const bool medium = uet.prologue.next == UetNextHeader::kRequestMedium;
  if (medium && ses.has_header_data()) {
    tree.field("header data", fmt::format("{:#018x}", ses.header_data), at + 12, 8);
  } else if (has_tokens(ses.opcode)) {
    dissect_tokens(ses.buffer_offset, at + 12, tree);
  } else {
    tree.field("buffer offset", fmt::format("{:#018x}", ses.buffer_offset), at + 12, 8);
  }
  if (uet.prologue.next == UetNextHeader::kRequestSmall) return;
  tree.field("initiator", fmt::format("{}", ses.initiator), at + 20, 4);
  if (ses.opcode == UetOpcode::kDeferrableReadyToRestart) {
    dissect_tokens(ses.memory_key, at + 24, tree);
  } else {
    tree.field("memory key or match bits", fmt::format("{:#018x}", ses.memory_key), at + 24, 8);
  }
  if (medium) return;
  if (ses.first()) {
    tree.field("header data", fmt::format("{:#018x}", ses.header_data), at + 32, 8);
  } else {
    tree.field("payload length", fmt::format("{}", ses.payload_length), at + 34, 2);
    tree.field("message offset", fmt::format("{}", ses.message_offset), at + 36, 4);
  }
  tree.field("request length", fmt::format("{}", ses.request_length), at + 40, 4);
}

std::string dissect_request(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetSesRequest& ses = uet.ses;
  dissect_request_start(uet, at, tree);
  dissect_request_body(uet, at, tree);
  at += uet_ses_bytes(uet.prologue.next);
  std::string summary = fmt::format(", {}", uet_opcode_name(ses.opcode));
  switch (uet_extension(ses.opcode)) {
    case UetExtension::kNone:
      break;
    case UetExtension::kRendezvous:
      dissect_rendezvous(uet.rendezvous, at, tree);
      break;
    case UetExtension::kAtomic:
      dissect_atomic(uet.atomic, at, tree);
      summary +=
          fmt::format(" {} {}", uet_atomic_name(uet.atomic.opcode), uet_datatype_name(uet.atomic.datatype));
      break;
  }
  summary += fmt::format(", job {}", ses.job_id);
  if (uet.prologue.next == UetNextHeader::kRequestStandard)
    summary += fmt::format(", message {}", ses.message_id);
  return summary +
         fmt::format(", {}+{} of {} bytes", ses.buffer_offset, ses.message_offset, ses.request_length);
}

std::string dissect_response(const UetPacket& uet, std::uint32_t at, DissectTree& tree) {
  const UetSesResponse& response = uet.response;
  const UetNextHeader form = uet.prologue.next;
  tree.header("SES", fmt::format("{} {}", uet_next_header_name(form), uet_response_name(response.opcode)), at,
              uet_ses_bytes(form));
  tree.field("list",
             fmt::format("{} ({})", uet_list_name(response.list), static_cast<unsigned>(response.list)), at,
             1);
  tree.field("opcode", named(uet_response_name(response.opcode), static_cast<unsigned>(response.opcode)), at,
             1);
  tree.field("return code",
             named(uet_return_code_name(response.return_code), static_cast<unsigned>(response.return_code)),
             at + 1, 1);
  if (form == UetNextHeader::kResponseDataSmall) {
    tree.field("payload length", fmt::format("{}", response.payload_length), at + 2, 2);
  } else {
    tree.field(form == UetNextHeader::kResponse ? "message id" : "response message id",
               fmt::format("{}", response.message_id), at + 2, 2);
  }
  if (form == UetNextHeader::kResponse)
    tree.field("RI generation", fmt::format("{}", response.ri_generation), at + 4, 1);
  tree.field("job id", fmt::format("{}", response.job_id), at + 5, 3);
  if (form == UetNextHeader::kResponse) {
    tree.field("modified length", fmt::format("{}", response.modified_length), at + 8, 4);
  } else if (form == UetNextHeader::kResponseDataSmall) {
    tree.field("original request PSN", fmt::format("{}", response.original_request_psn), at + 8, 4);
  } else {
    tree.field("read request message id", fmt::format("{}", response.read_request_message_id), at + 8, 2);
    tree.field("payload length", fmt::format("{}", response.payload_length), at + 10, 2);
    tree.field("modified length", fmt::format("{}", response.modified_length), at + 12, 4);
    tree.field("message offset", fmt::format("{}", response.message_offset), at + 16, 4);
  }
  return fmt::format(", {}, {}", uet_response_name(response.opcode),
                     uet_return_code_name(response.return_code));
}

}  // namespace

std::string dissect_uet(const CapturedPacket& captured, DissectTree& tree) {
  const UetPacket& uet = captured.packet.uet;
  std::uint32_t at = captured.layout.transport_at;
  std::string summary = fmt::format("UET {}", uet_pds_type_name(uet.prologue.type));
  summary += dissect_pds(uet, at, tree);
  at += uet_pds_bytes(uet.prologue.type);
  const bool whole = captured.uet_header_bytes > uet_pds_bytes(uet.prologue.type);
  if (whole && is_uet_request_form(uet.prologue.next)) summary += dissect_request(uet, at, tree);
  if (whole && is_uet_response_form(uet.prologue.next)) summary += dissect_response(uet, at, tree);
  if (captured.packet.trim == TrimState::kTrimmed) summary += ", trimmed";
  if (captured.packet.trim == TrimState::kTrimmedLastHop) summary += ", trimmed at the last hop";
  if (captured.packet.payload.length != 0)
    summary += fmt::format(", payload {}", captured.packet.payload.length);
  return summary;
}

std::uint32_t dissect_uet_tss(std::span<const std::byte> frame, std::uint32_t at, DissectTree& tree) {
  if (at >= frame.size() || frame.size() - at < uet_tss_bytes(frame.data() + at)) return at;
  const std::uint32_t length = uet_tss_bytes(frame.data() + at);
  const UetTss tss = decode_uet_tss(frame.data() + at);
  tree.header("TSS", fmt::format("secure domain {}", tss.domain), at, length);
  tree.field("source identifier present (SP)", yes_no(tss.source_present), at, 1);
  tree.field("association number (AN)", tss.association ? "1" : "0", at, 1);
  tree.field("secure domain (SDI)", fmt::format("{}", tss.domain), at + 1, 3);
  if (tss.source_present)
    tree.field("source identifier (SSI)", fmt::format("{:#010x}", tss.source), at + 4, 4);
  tree.field("epoch", fmt::format("{}", tss.epoch), at + length - 8, 2);
  tree.field("packet counter (TSC)", fmt::format("{}", tss.counter), at + length - 6, 6);
  return at + length;
}

}  // namespace wharf::wire
