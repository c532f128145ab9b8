// SPDX-License-Identifier: Apache-2.0
#include "wire/dissect_ub.h"

#include <fmt/format.h>

namespace wharf::wire {
namespace {

std::string flag_text(bool value) { return value ? "1" : "0"; }
std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

std::string congestion_text(const CongestionField& cc) {
  switch (cc.mode) {
    case CongestionMode::kCaqm:
      return fmt::format("C-AQM, enabled {}, C {}, I {}, hint {}", flag_text(cc.enabled),
                         flag_text(cc.congested), flag_text(cc.increase), cc.hint);
    case CongestionMode::kFecnRtt:
      return fmt::format("FECN_RTT, timestamp {}, FECN {}", cc.timestamp, cc.fecn);
    case CongestionMode::kFecn:
      return fmt::format("FECN {}", cc.fecn);
  }
  return fmt::format("reserved mode {}", static_cast<unsigned>(cc.mode));
}

std::string status_text(UbResponseStatus status) {
  switch (status) {
    case UbResponseStatus::kSuccess:
      return "success";
    case UbResponseStatus::kReceiverNotReady:
      return "receiver not ready";
    case UbResponseStatus::kPageFault:
      return "page fault";
    case UbResponseStatus::kError:
      return "error";
    case UbResponseStatus::kFusedTaack:
      return "with TAACK";
  }
  return fmt::format("reserved status {}", static_cast<unsigned>(status));
}

std::string target_type_text(TargetContextType type) {
  switch (type) {
    case TargetContextType::kJfr:
      return "JFR";
    case TargetContextType::kJetty:
      return "Jetty";
    case TargetContextType::kJettyGroup:
      return "Jetty group";
  }
  return "reserved target type";
}

std::string entity_text(const EntityId& entity) { return fmt::format("{:02x}", fmt::join(entity, "")); }

std::uint32_t nth_bytes(UbEncapsulation encapsulation) {
  switch (encapsulation) {
    case UbEncapsulation::kUdp:
      return 0;
    case UbEncapsulation::kIpOnLink:
      return kNthIpBytes;
    case UbEncapsulation::kCna24OnLink:
      return kNthCna24Bytes;
    case UbEncapsulation::kCna16OnLink:
    case UbEncapsulation::kMemoryOnLink:
      return kNthCna16Bytes;
    case UbEncapsulation::kRawEthernet:
      return kNthOpenUrmaBytes;
  }
  return 0;
}

/// Walks the headers of one packet; `at` is the next byte.
class UbDissector {
 public:
  UbDissector(const CapturedPacket& captured, DissectTree& tree)
      : captured_(captured), ub_(captured.packet.ub), tree_(tree), at_(captured.layout.transport_at) {}

  std::string run() {
    std::string summary = fmt::format("UB {}", packet_name(captured_.packet));
    transport(summary);
    entities();
    if (has_cnpetph(ub_)) {
      header("CNPETPH", fmt::format("ECN {}", ub_.ack.cnp.ecn), kCnpetphBytes);
    } else if (ub_.transaction == UbTransaction::kRequest) {
      request(summary);
    } else if (ub_.transaction == UbTransaction::kResponse) {
      response(summary);
    }
    if (captured_.packet.payload.length != 0 && !payload_is_sack_bitmap(ub_))
      summary += fmt::format(", payload {}", captured_.packet.payload.length);
    return summary;
  }

 private:
  void header(std::string name, std::string value, std::uint32_t length) {
    tree_.header(std::move(name), std::move(value), at_, length);
    at_ += length;
  }
  /// A field of the header that was added last, which ends at `at_` and is `header_length` bytes long.
  void field(std::string name, std::string value, std::uint32_t header_length, std::uint32_t offset,
             std::uint32_t length) {
    tree_.field(std::move(name), std::move(value), at_ - header_length + offset, length);
  }

  void transport(std::string& summary) {
    switch (ub_.transport) {
      case UbTransport::kBypass:
        return;
      case UbTransport::kUtp:
        header("UTPH", "unreliable", kUtphBytes);
        return;
      case UbTransport::kCtp:
        header("CTPH", ub_.ctp.opcode == CtpOpcode::kCnp ? "CNP" : "data", kCtphBytes);
        return;
      case UbTransport::kRtp:
        break;
    }
    const Rtph& rtph = ub_.rtph;
    header("RTPH", std::string(tp_opcode_name(rtph.opcode)), kRtphBytes);
    field("TPOpcode", hex(static_cast<unsigned>(rtph.opcode)), kRtphBytes, 0, 1);
    field("last", flag_text(rtph.last), kRtphBytes, 0, 1);
    field("source TPN", fmt::format("{}", rtph.source_tpn), kRtphBytes, 2, 3);
    field("destination TPN", fmt::format("{}", rtph.destination_tpn), kRtphBytes, 5, 3);
    field("acknowledge request", flag_text(rtph.acknowledge_request), kRtphBytes, 8, 1);
    field("PSN", fmt::format("{}", rtph.psn), kRtphBytes, 9, 3);
    field("RSPST", status_text(rtph.status), kRtphBytes, 12, 1);
    field("TPMSN", fmt::format("{}", rtph.tpmsn), kRtphBytes, 13, 3);
    summary += fmt::format(", TP {} > {}, PSN {}", rtph.source_tpn, rtph.destination_tpn, rtph.psn);
    if (rtph.status != UbResponseStatus::kSuccess) summary += ", " + status_text(rtph.status);
    if (has_cetph(ub_)) {
      header("CETPH", fmt::format("{} bytes acknowledged", ub_.ack.cetph.acknowledged_bytes), kCetphBytes);
      field("congested packets", fmt::format("{}", ub_.ack.cetph.congested_packets), kCetphBytes, 5, 1);
      field("hint", fmt::format("{}", ub_.ack.cetph.hint), kCetphBytes, 6, 2);
    }
    if (has_saetph(ub_)) selective();
  }

  void selective() {
    const std::span<const std::byte> bitmap = sack_bitmap(captured_.packet);
    const auto length = static_cast<std::uint32_t>(kSaetphBytes + bitmap.size());
    header("SAETPH", fmt::format("{} bits", 8 * bitmap.size()), length);
    field("highest PSN received", fmt::format("{}", ub_.ack.saetph.max_received), length, 1, 3);
    std::string text;
    for (const std::byte byte : bitmap) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    field("bitmap", std::move(text), length, kSaetphBytes, length - kSaetphBytes);
  }

  void entities() {
    switch (ub_.entities) {
      case UbEntities::kNone:
        return;
      case UbEntities::kFull:
        header("UPIH", hex(ub_.transport_partition), kFullUpihBytes);
        header("EIDH",
               fmt::format("{} > {}", entity_text(captured_.headers.entities.source),
                           entity_text(captured_.headers.entities.destination)),
               kFullEidhBytes);
        return;
      case UbEntities::kCompact:
        header("UPIH", hex(ub_.transport_partition), kCompactUpihBytes);
        header("EIDH", fmt::format("{:#x} > {:#x}", ub_.ctp.entities.source, ub_.ctp.entities.destination),
               kCompactEidhBytes);
        return;
    }
  }

  std::uint32_t tah_length() const {
    if (ub_.encapsulation == UbEncapsulation::kRawEthernet) return kTahOpenUrmaBytes;
    return compact_transaction(ub_) ? kTahCompactBytes : kTahBytes;
  }

  void request(std::string& summary) {
    const Btah& btah = ub_.request;
    const std::uint32_t length = tah_length();
    header(compact_transaction(ub_) ? "compact BTAH" : "BTAH", std::string(ta_opcode_name(btah.opcode)),
           length);
    field("TAOpcode", hex(static_cast<unsigned>(btah.opcode)), length, 0, 1);
    field("poison", flag_text(btah.poison), length, 1, 1);
    field("INI_TASSN", fmt::format("{}", btah.tassn), length, 2, 2);
    summary += fmt::format(", TASSN {}", btah.tassn);
    if (length != kTahCompactBytes) {
      field("ODR", fmt::format("{}", btah.order), length, 4, 1);
      field("FCE", flag_text(btah.solicited), length, 4, 1);
      field("retry", flag_text(btah.retry), length, 4, 1);
      field("INI_RC_Type", fmt::format("{}", static_cast<unsigned>(btah.requester_type)), length, 5, 1);
      field("INI_RC_ID", fmt::format("{}", btah.requester_id), length, length == kTahBytes ? 5 : 8, 3);
    }
    request_extensions(summary);
  }

  void request_extensions(std::string& summary) {
    const std::uint16_t layout = ta_layout(ub_.request.opcode);
    if (layout == 0) return;
    const bool openurma = ub_.encapsulation == UbEncapsulation::kRawEthernet;
    const UbPacket::RequestExtension& extension = ub_.extension;
    if ((layout & kTaAddress) != 0) {
      const bool compact = compact_transaction(ub_);
      const std::uint32_t length = compact ? kCompactMaetahBytes : kMaetahBytes;
      header(compact ? "compact MAETAH" : "MAETAH",
             fmt::format("{:#018x}+{}", extension.maetah.address, extension.maetah.length), length);
      field("address", fmt::format("{:#018x}", extension.maetah.address), length, 0, 8);
      field("TokenID", hex(extension.maetah.token_id), length, 8, 4);
      if (!compact) field("length", fmt::format("{}", extension.maetah.length), length, 12, 4);
      summary += fmt::format(", address {:#x}, {} bytes", extension.maetah.address, extension.maetah.length);
    }
    if (ub_.request.token_value_present && (!openurma || (layout & kTaAddress) != 0))
      header("TVETAH", hex(extension.token_value), kTvetahBytes);
    if ((layout & kTaTarget) != 0 || ub_.request.target_present) {
      header("MTETAH",
             fmt::format("{} {}", target_type_text(extension.mtetah.target_type), extension.mtetah.target_id),
             kMtetahBytes);
      field("hint", hex(extension.mtetah.hint), kMtetahBytes, 0, 1);
    }
    if ((layout & kTaImmediate) != 0) header("immediate", hex(extension.immediate), kUbImmediateBytes);
    if ((layout & kTaNotify) != 0)
      header("notify", fmt::format("{:#x} to {:#018x}", extension.notify.data, extension.notify.address),
             kNotifyBytes);
    if ((layout & kTaInvalidate) != 0)
      header("invalidate", hex(extension.invalidate.token_id), kInvalidateBytes);
    if ((layout & kTaMessage) != 0)
      header("message",
             fmt::format("code {}.{}, {}", extension.message.code, extension.message.sub_code,
                         extension.message.response ? "response" : "request"),
             kMessageExtensionBytes);
    operands(layout, openurma);
  }

  void operands(std::uint16_t layout, bool openurma) {
    const AtomicOperands& operands = ub_.extension.operands;
    const auto text = [](std::uint64_t low, std::uint64_t high) {
      return high == 0 ? hex(low) : fmt::format("{:#x}{:016x}", high, low);
    };
    if (openurma) {
      if (!is_atomic(ub_.request.opcode)) return;
      const bool compare = ub_.request.opcode == TaOpcode::kAtomicCompareSwap;
      header(compare ? "compare" : "operand", hex(compare ? operands.compare : operands.operand), 8);
      return;
    }
    if ((layout & kTaOperand) == 0) return;
    const std::uint32_t width = ub_.extension.maetah.length;
    const bool compare = (layout & kTaCompare) != 0;
    header(compare ? "swap" : "operand", text(operands.operand, operands.operand_high), width);
    if (compare) header("compare", text(operands.compare, operands.compare_high), width);
  }

  void response(std::string& summary) {
    const Atah& atah = ub_.response;
    const std::uint32_t length = tah_length();
    header(compact_transaction(ub_) ? "compact ATAH" : "ATAH", std::string(ta_opcode_name(atah.opcode)),
           length);
    field("TAOpcode", hex(static_cast<unsigned>(atah.opcode)), length, 0, 1);
    field("poison", flag_text(atah.poison), length, 1, 1);
    field("INI_TASSN", fmt::format("{}", atah.tassn), length, 2, 2);
    summary += fmt::format(", TASSN {}, {}", atah.tassn, status_text(atah.status));
    if (length == kTahCompactBytes) {
      field("status", status_text(atah.status), length, 1, 1);
      return;
    }
    field("RSPST", status_text(atah.status), length, 4, 1);
    field("RSPINFO", fmt::format("{}", atah.info), length, 4, 1);
    field("INI_RC_ID", fmt::format("{}", atah.requester_id), length, length == kTahBytes ? 5 : 8, 3);
  }

  const CapturedPacket& captured_;
  const UbPacket& ub_;
  DissectTree& tree_;
  std::uint32_t at_;
};

}  // namespace

void dissect_ub_network(const CapturedPacket& captured, DissectTree& tree) {
  const FrameLayout& layout = captured.layout;
  const Nth& nth = captured.headers.nth;
  if (layout.operator_tag) {
    const std::uint32_t at = layout.operator_tag_at;
    tree.header("OPtag", fmt::format("NPI {:#x}", captured.headers.operator_tag.partition), at, kOpTagBytes);
    tree.field("CC", congestion_text(captured.headers.operator_tag.cc), at + 2, 2);
  }
  if (layout.encapsulation == UbEncapsulation::kUdp) return;
  if (captured.link == LinkType::kUbLink) {
    const Lph& lph = captured.headers.lph;
    tree.header("LPH", fmt::format("config {}", static_cast<unsigned>(lph.config)), 0, kLphBytes);
    tree.field("virtual lane", fmt::format("{}", lph.packet_lane), 0, 2);
    tree.field("load balance per packet", flag_text(lph.per_packet_balance), 2, 1);
    tree.field("shortest paths only", flag_text(lph.shortest_paths_only), 2, 1);
  }
  const std::uint32_t at = layout.nth_at;
  const std::uint32_t length = nth_bytes(layout.encapsulation);
  if (layout.encapsulation == UbEncapsulation::kIpOnLink) {
    tree.header("NTH", fmt::format("NPI {:#x}", nth.partition), at, length);
    tree.field("CC", congestion_text(nth.cc), at, 2);
    return;
  }
  tree.header("NTH", fmt::format("CNA {:#x} > {:#x}", nth.source, nth.destination), at, length);
  const std::uint32_t cc_at = length == kNthCna16Bytes ? 4 : length == kNthCna24Bytes ? 6 : 7;
  tree.field("CC", congestion_text(nth.cc), at + cc_at, 2);
  tree.field("LB", fmt::format("{}", nth.entropy), at + cc_at + 2, 1);
  tree.field("SL", fmt::format("{}", nth.service_level), at + cc_at + 3, 1);
  tree.field("NLP", fmt::format("{}", static_cast<unsigned>(nth.next)), at + cc_at + 3, 1);
}

std::string dissect_ub(const CapturedPacket& captured, DissectTree& tree) {
  return UbDissector(captured, tree).run();
}

}  // namespace wharf::wire
