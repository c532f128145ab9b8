// SPDX-License-Identifier: Apache-2.0
#include "wire/dissect_ub.h"

#include <fmt/format.h>

#include "wire/ub_names.h"

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

/// "Write (0x03)" of an opcode, "error (3)" of another number.
std::string named_opcode(std::string_view name, unsigned number) {
  return fmt::format("{} ({:#04x})", name, number);
}
template <typename Enumerator>
std::string named(std::string_view name, Enumerator number) {
  return fmt::format("{} ({})", name, static_cast<unsigned>(number));
}

/// As summaries say it: reserved numbers stand beside their word.
std::string status_text(UbResponseStatus status) {
  const std::string_view name = ub_status_name(status);
  return name == "reserved" ? fmt::format("reserved status {}", static_cast<unsigned>(status))
                            : std::string(name);
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

void dissect_operator_tag(const OpTag& tag, std::uint32_t at, DissectTree& tree) {
  tree.header("OPtag", fmt::format("NPI {:#x}", tag.partition), at, kOpTagBytes);
  tree.field("CC", congestion_text(tag.cc), at + 2, 2);
  tree.field("CTRL", fmt::format("{}", tag.control), at + 4, 1);
  tree.field("RM", fmt::format("{}", tag.routing_mode), at + 4, 1);
  tree.field("NPI", hex(tag.partition), at + 4, 4);
}

void dissect_link(const Lph& lph, DissectTree& tree) {
  tree.header("LPH", fmt::format("config {}", static_cast<unsigned>(lph.config)), 0, kLphBytes);
  tree.field("credit", flag_text(lph.credit), 0, 1);
  tree.field("acknowledge", flag_text(lph.acknowledge), 0, 1);
  tree.field("credit target lane", fmt::format("{}", lph.credit_target_lane), 0, 1);
  tree.field("virtual lane", fmt::format("{}", lph.packet_lane), 0, 2);
  tree.field("config", named(link_config_name(lph.config), lph.config), 1, 1);
  tree.field("load balance per packet", flag_text(lph.per_packet_balance), 2, 1);
  tree.field("shortest paths only", flag_text(lph.shortest_paths_only), 2, 1);
  tree.field("length in blocks", fmt::format("{}", lph.length_blocks), 2, 1);
  tree.field("last block", fmt::format("{}", lph.last_block_length), 2, 2);
  tree.field("tail", fmt::format("{}", lph.tail_length), 3, 1);
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
      field("ECN", fmt::format("{}", ub_.ack.cnp.ecn), kCnpetphBytes, 0, 1);
      field("location", flag_text(ub_.ack.cnp.location), kCnpetphBytes, 0, 1);
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
        field("last", flag_text(ub_.rtph.last), kUtphBytes, 0, 1);
        return;
      case UbTransport::kCtp:
        header("CTPH", std::string(ctp_opcode_name(ub_.ctp.opcode)), kCtphBytes);
        return;
      case UbTransport::kRtp:
        break;
    }
    const Rtph& rtph = ub_.rtph;
    header("RTPH", std::string(tp_opcode_name(rtph.opcode)), kRtphBytes);
    field("TPOpcode", named_opcode(tp_opcode_name(rtph.opcode), static_cast<unsigned>(rtph.opcode)),
          kRtphBytes, 0, 1);
    field("last", flag_text(rtph.last), kRtphBytes, 0, 1);
    field("source TPN", fmt::format("{}", rtph.source_tpn), kRtphBytes, 2, 3);
    field("destination TPN", fmt::format("{}", rtph.destination_tpn), kRtphBytes, 5, 3);
    field("acknowledge request", flag_text(rtph.acknowledge_request), kRtphBytes, 8, 1);
    field("F", flag_text(rtph.flag), kRtphBytes, 8, 1);
    field("PSN", fmt::format("{}", rtph.psn), kRtphBytes, 9, 3);
    field("RSPST", named(ub_status_name(rtph.status), rtph.status), kRtphBytes, 12, 1);
    field("RSPINFO", named(ub_info_name(UbResponseInfo{rtph.info}), rtph.info), kRtphBytes, 12, 1);
    field("TPMSN", fmt::format("{}", rtph.tpmsn), kRtphBytes, 13, 3);
    summary += fmt::format(", TP {} > {}, PSN {}", rtph.source_tpn, rtph.destination_tpn, rtph.psn);
    if (rtph.status != UbResponseStatus::kSuccess) summary += ", " + status_text(rtph.status);
    if (has_cetph(ub_)) {
      header("CETPH", fmt::format("{} bytes acknowledged", ub_.ack.cetph.acknowledged_bytes), kCetphBytes);
      field("AckSequence", fmt::format("{}", ub_.ack.cetph.acknowledged_bytes), kCetphBytes, 0, 4);
      field("location", flag_text(ub_.ack.cetph.location), kCetphBytes, 4, 1);
      field("increase", flag_text(ub_.ack.cetph.increase), kCetphBytes, 4, 1);
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
        field("source EID", entity_text(captured_.headers.entities.source), kFullEidhBytes, 0, 16);
        field("destination EID", entity_text(captured_.headers.entities.destination), kFullEidhBytes, 16, 16);
        return;
      case UbEntities::kCompact:
        header("UPIH", hex(ub_.transport_partition), kCompactUpihBytes);
        header("EIDH", fmt::format("{:#x} > {:#x}", ub_.ctp.entities.source, ub_.ctp.entities.destination),
               kCompactEidhBytes);
        field("source EID", hex(ub_.ctp.entities.source), kCompactEidhBytes, 0, 3);
        field("destination EID", hex(ub_.ctp.entities.destination), kCompactEidhBytes, 2, 3);
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
    field("TAOpcode", named_opcode(ta_opcode_name(btah.opcode), static_cast<unsigned>(btah.opcode)), length,
          0, 1);
    field("EE", fmt::format("{}", btah.environment), length, 1, 1);
    field("TV_EN", flag_text(btah.token_value_present), length, 1, 1);
    field("poison", flag_text(btah.poison), length, 1, 1);
    field("target hint", flag_text(btah.target_hint), length, 1, 1);
    field("INI_TASSN", fmt::format("{}", btah.tassn), length, 2, 2);
    summary += fmt::format(", TASSN {}", btah.tassn);
    if (length != kTahCompactBytes) {
      if (length == kTahBytes) field("No_TAACK", flag_text(btah.no_acknowledge), length, 4, 1);
      field("ODR", fmt::format("{}", btah.order), length, 4, 1);
      field("MT_EN", flag_text(btah.target_present), length, 4, 1);
      field("FCE", flag_text(btah.solicited), length, 4, 1);
      field("retry", flag_text(btah.retry), length, 4, 1);
      field("allocate", flag_text(btah.allocate), length, 4, 1);
      field("exclusive", flag_text(btah.exclusive), length, 5, 1);
      requester(btah.requester_type, btah.service_mode, btah.requester_id, length);
    }
    request_extensions(summary);
  }

  /// The end of BTAH and ATAH: who asked.
  void requester(RequesterContextType type, unsigned service_mode, std::uint32_t id, std::uint32_t length) {
    field("INI_RC_Type", named(requester_type_name(type), type), length, 5, 1);
    if (length == kTahOpenUrmaBytes) field("service mode", fmt::format("{}", service_mode), length, 5, 1);
    field("INI_RC_ID", fmt::format("{}", id), length, length == kTahBytes ? 5 : 8, 3);
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
      if (compact) {
        field("affinity hint", fmt::format("{}", extension.affinity_hint), length, 7, 1);
        field("strong order", flag_text(extension.strong_order), length, 7, 1);
        field("length", fmt::format("{}", extension.maetah.length), length, 7, 1);
      }
      field("TokenID", hex(extension.maetah.token_id), length, 8, 4);
      if (!compact) field("length", fmt::format("{}", extension.maetah.length), length, 12, 4);
      summary += fmt::format(", address {:#x}, {} bytes", extension.maetah.address, extension.maetah.length);
    }
    if (ub_.request.token_value_present && (!openurma || (layout & kTaAddress) != 0))
      header("TVETAH", hex(extension.token_value), kTvetahBytes);
    if ((layout & kTaTarget) != 0 || ub_.request.target_present) {
      header("MTETAH",
             fmt::format("{} {}", target_type_name(extension.mtetah.target_type), extension.mtetah.target_id),
             kMtetahBytes);
      field("hint", hex(extension.mtetah.hint), kMtetahBytes, 0, 1);
      field("target type",
            named(target_type_name(extension.mtetah.target_type), extension.mtetah.target_type), kMtetahBytes,
            1, 1);
      field("target", fmt::format("{}", extension.mtetah.target_id), kMtetahBytes, 1, 3);
    }
    if ((layout & kTaImmediate) != 0) header("immediate", hex(extension.immediate), kUbImmediateBytes);
    if ((layout & kTaNotify) != 0) notify(extension.notify);
    if ((layout & kTaInvalidate) != 0) {
      header("invalidate", hex(extension.invalidate.token_id), kInvalidateBytes);
      field("TokenID", hex(extension.invalidate.token_id), kInvalidateBytes, 0, 4);
      field("TokenValue", hex(extension.invalidate.token_value), kInvalidateBytes, 4, 4);
    }
    if ((layout & kTaMessage) != 0) message(extension.message);
    operands(layout, openurma);
  }

  void notify(const Notify& notify) {
    header("notify", fmt::format("{:#x} to {:#018x}", notify.data, notify.address), kNotifyBytes);
    field("address", fmt::format("{:#018x}", notify.address), kNotifyBytes, 0, 8);
    field("TokenID", hex(notify.token_id), kNotifyBytes, 8, 4);
    field("TokenValue", hex(notify.token_value), kNotifyBytes, 12, 4);
    field("data", hex(notify.data), kNotifyBytes, 16, 8);
  }

  void message(const MessageExtension& message) {
    const char* const kind = message.response ? "response" : "request";
    header("message", fmt::format("code {}.{}, {}", message.code, message.sub_code, kind),
           kMessageExtensionBytes);
    field("sub code", fmt::format("{}", message.sub_code), kMessageExtensionBytes, 0, 1);
    field("code", fmt::format("{}", message.code), kMessageExtensionBytes, 0, 1);
    field("kind", kind, kMessageExtensionBytes, 0, 1);
    field("status", fmt::format("{}", message.status), kMessageExtensionBytes, 1, 1);
    field("payload length", fmt::format("{}", message.payload_length), kMessageExtensionBytes, 2, 2);
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
    field("TAOpcode", named_opcode(ta_opcode_name(atah.opcode), static_cast<unsigned>(atah.opcode)), length,
          0, 1);
    const std::string status = named(ub_status_name(atah.status), atah.status);
    if (length == kTahCompactBytes) {
      field("status", status, length, 1, 1);
    } else {
      field("SV", flag_text(atah.sequence_valid), length, 1, 1);
    }
    field("poison", flag_text(atah.poison), length, 1, 1);
    field("INI_TASSN", fmt::format("{}", atah.tassn), length, 2, 2);
    summary += fmt::format(", TASSN {}, {}", atah.tassn, status_text(atah.status));
    if (length == kTahCompactBytes) return;
    field("RSPST", status, length, 4, 1);
    field("RSPINFO", named(ub_info_name(UbResponseInfo{atah.info}), atah.info), length, 4, 1);
    requester(atah.requester_type, atah.service_mode, atah.requester_id, length);
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
  if (layout.operator_tag) dissect_operator_tag(captured.headers.operator_tag, layout.operator_tag_at, tree);
  if (layout.encapsulation == UbEncapsulation::kUdp) return;
  if (captured.link == LinkType::kUbLink) dissect_link(captured.headers.lph, tree);
  const std::uint32_t at = layout.nth_at;
  const std::uint32_t length = nth_bytes(layout.encapsulation);
  if (layout.encapsulation == UbEncapsulation::kIpOnLink) {
    tree.header("NTH", fmt::format("NPI {:#x}", nth.partition), at, length);
    tree.field("CC", congestion_text(nth.cc), at, 2);
    tree.field("NPI", hex(nth.partition), at + 2, 4);
    return;
  }
  tree.header("NTH", fmt::format("CNA {:#x} > {:#x}", nth.source, nth.destination), at, length);
  const bool openurma = layout.encapsulation == UbEncapsulation::kRawEthernet;
  const std::uint32_t first = openurma ? at + 1 : at;
  const std::uint32_t address = length == kNthCna16Bytes ? 2 : 3;
  if (openurma) tree.field("RT", fmt::format("{}", nth.routing_type), at, 1);
  tree.field("SCNA", hex(nth.source), first, address);
  tree.field("DCNA", hex(nth.destination), first + address, address);
  const std::uint32_t cc_at = first + 2 * address;
  tree.field("CC", congestion_text(nth.cc), cc_at, 2);
  tree.field("LB", fmt::format("{}", nth.entropy), cc_at + 2, 1);
  tree.field("SL", fmt::format("{}", nth.service_level), cc_at + 3, 1);
  tree.field("management", flag_text(nth.management), cc_at + 3, 1);
  tree.field("NLP", named(nth_next_name(nth.next), nth.next), cc_at + 3, 1);
}

std::string dissect_ub(const CapturedPacket& captured, DissectTree& tree) {
  return UbDissector(captured, tree).run();
}

}  // namespace wharf::wire
