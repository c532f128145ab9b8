// SPDX-License-Identifier: Apache-2.0
#include "wireshark_names.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "wire/tlp_codec.h"
#include "wire/tlp_names.h"
#include "wire/ub_names.h"
#include "wire/uet_codec.h"
#include "wire/uet_names.h"

namespace wharf::wire {
namespace {

/// Entries as lines of at most 110 columns.
std::string table(const std::string& name, const std::vector<std::string>& entries) {
  std::string text = fmt::format("    {} = {{\n", name);
  std::string line;
  for (const std::string& entry : entries) {
    if (!line.empty() && line.size() + entry.size() > 100) {
      text += "     " + line + "\n";
      line.clear();
    }
    line += " " + entry + ",";
  }
  if (!line.empty()) text += "     " + line + "\n";
  return text + "    },\n";
}

/// The words of the numbers 0 to `last` that have one.
template <typename Enumerator, typename Name>
std::string words(const std::string& table_name, unsigned last, Name&& name) {
  std::vector<std::string> entries;
  for (unsigned number = 0; number <= last; ++number) {
    const std::string_view word = name(static_cast<Enumerator>(number));
    if (word == "unknown" || word == "reserved") continue;
    entries.push_back(fmt::format("[{:#04x}] = \"{}\"", number, word));
  }
  return table(table_name, entries);
}

/// What follows each transaction header.
std::string ub_layouts() {
  constexpr std::array<std::pair<std::uint16_t, const char*>, 11> kParts = {{{kTaResponse, "response"},
                                                                             {kTaAddress, "address"},
                                                                             {kTaTarget, "target"},
                                                                             {kTaImmediate, "immediate"},
                                                                             {kTaNotify, "notify"},
                                                                             {kTaInvalidate, "invalidate"},
                                                                             {kTaOperand, "operand"},
                                                                             {kTaCompare, "compare"},
                                                                             {kTaByteEnable, "byte_enable"},
                                                                             {kTaPayload, "payload"},
                                                                             {kTaMessage, "message"}}};
  std::vector<std::string> entries;
  for (unsigned number = 0; number < 256; ++number) {
    const auto opcode = static_cast<TaOpcode>(number);
    const std::uint16_t layout = ta_layout(opcode);
    if (layout == 0) continue;
    std::string parts;
    for (const auto& [bit, part] : kParts)
      if ((layout & bit) != 0) parts += fmt::format("{}{} = true", parts.empty() ? "" : ", ", part);
    if (is_atomic(opcode)) parts += fmt::format("{}atomic = true", parts.empty() ? "" : ", ");
    entries.push_back(fmt::format("[{:#04x}] = {{{}}}", number, parts));
  }
  return table("layout", entries);
}

std::string ub_names() {
  return "  ub = {\n" + words<TaOpcode>("ta_opcode", 255, ta_opcode_name) +
         words<TpOpcode>("tp_opcode", 127, tp_opcode_name) +
         words<CtpOpcode>("ctp_opcode", 3, ctp_opcode_name) +
         words<UbResponseStatus>("status", 7, ub_status_name) +
         words<UbResponseInfo>("info", 31, ub_info_name) +
         words<RequesterContextType>("requester_type", 3, requester_type_name) +
         words<TargetContextType>("target_type", 3, target_type_name) +
         words<LinkConfig>("link_config", 15, link_config_name) +
         words<CongestionMode>("congestion_mode", 7, congestion_mode_name) +
         words<NthNext>("nth_next", 7, nth_next_name) + words<TphNext>("tph_next", 15, tph_next_name) +
         ub_layouts() + "  },\n";
}

const char* uet_kind(UetPdsType type) {
  if (is_uet_pdc_request(type)) return "request";
  if (is_uet_ack(type)) return "ack";
  if (is_uet_nack(type)) return "nack";
  if (type == UetPdsType::kControl) return "control";
  return type == UetPdsType::kUudRequest ? "uud" : "rudi";
}

/// Why the decoder refuses a packet of zeros with these headers.
DropReason uet_refusal(UetPdsType type, UetNextHeader next, std::uint32_t ses_bytes, UetOpcode opcode) {
  std::vector<std::byte> bytes(uet_pds_bytes(type) + ses_bytes);
  UetPrologue prologue;
  prologue.type = type;
  prologue.next = next;
  encode(prologue, bytes.data());
  if (ses_bytes != 0) bytes[uet_pds_bytes(type)] = static_cast<std::byte>(opcode);
  UetPacket uet;
  Payload payload;
  return decode_uet(bytes, uet, payload);
}

/// Which flags and next headers each type has.
std::string uet_types() {
  std::vector<std::string> entries;
  for (unsigned number = 0; number < 32; ++number) {
    const auto type = static_cast<UetPdsType>(number);
    if (uet_pds_bytes(type) == 0) continue;
    std::string next;
    for (unsigned form = 0; form <= 6 && type != UetPdsType::kControl; ++form)
      if (uet_refusal(type, static_cast<UetNextHeader>(form), 0, UetOpcode::kNoOp) !=
          DropReason::kForbiddenHeader)
        next += fmt::format("{}{}", next.empty() ? "" : ", ", form);
    entries.push_back(fmt::format("[{}] = {{kind = \"{}\", flags = {:#04x}, next = set({})}}", number,
                                  uet_kind(type), uet_defined_flags(type), next));
  }
  return table("pds_rules", entries);
}

/// Which operations each form of request may have.
std::string uet_forms() {
  std::vector<std::string> entries;
  for (unsigned number = 1; number <= 3; ++number) {
    const auto form = static_cast<UetNextHeader>(number);
    std::string allowed;
    for (unsigned opcode = 0; opcode <= 0x0f; ++opcode)
      if (uet_refusal(UetPdsType::kUudRequest, form, uet_ses_bytes(form), static_cast<UetOpcode>(opcode)) !=
          DropReason::kForbiddenHeader)
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", opcode);
    entries.push_back(fmt::format("[{}] = set({})", number, allowed));
  }
  return table("forms", entries);
}

std::string uet_extensions() {
  std::vector<std::string> entries;
  for (unsigned number = 0; number < 64; ++number) {
    const UetExtension extension = uet_extension(static_cast<UetOpcode>(number));
    if (extension == UetExtension::kNone) continue;
    entries.push_back(fmt::format("[{:#04x}] = \"{}\"", number,
                                  extension == UetExtension::kAtomic ? "atomic" : "rendezvous"));
  }
  return table("extension", entries);
}

std::string uet_names() {
  return "  uet = {\n" + words<UetPdsType>("pds_type", 31, uet_pds_type_name) +
         words<UetNextHeader>("next_header", 15, uet_next_header_name) +
         words<UetControlType>("control", 15, uet_control_name) +
         words<UetAckRequest>("ack_request", 3, uet_ack_request_name) +
         words<UetCcType>("cc_type", 15, uet_cc_type_name) + words<UetNackCode>("nack", 255, uet_nack_name) +
         words<UetOpcode>("opcode", 63, uet_opcode_name) +
         words<UetAtomicOpcode>("atomic", 255, uet_atomic_name) +
         words<UetDatatype>("datatype", 255, uet_datatype_name) +
         words<UetResponseOpcode>("response", 63, uet_response_name) +
         words<UetListCode>("list", 3, uet_list_name) +
         words<UetReturnCode>("return_code", 63, uet_return_code_name) + uet_types() + uet_forms() +
         uet_extensions() + "  },\n";
}

/// What byte 0 of a header says, as the decoder reads it; for packets that are not supported, why. All other
/// codes are reserved.
std::string tlp_codes() {
  std::vector<std::string> entries;
  for (unsigned code = 0; code < 256; ++code) {
    if (code >> 5U == kTlpFmtPrefix) continue;
    std::array<std::byte, kTlpNarrowHeaderBytes> bytes{};
    bytes[0] = static_cast<std::byte>(code);
    Tlp tlp;
    const TlpDropReason start = decode_tlp(std::span(bytes).first(4), tlp);
    if (start == TlpDropReason::kReservedType || start == TlpDropReason::kReservedFormat) continue;
    if (start != TlpDropReason::kTruncated) {
      entries.push_back(fmt::format("[{:#04x}] = \"{}\"", code, tlp_drop_reason_text(start)));
      continue;
    }
    const bool wide = decode_tlp(bytes, tlp) == TlpDropReason::kTruncated;
    entries.push_back(fmt::format("[{:#04x}] = {{type = \"{}\"{}}}", code, tlp_type_name(tlp.type),
                                  wide ? ", wide = true" : ""));
  }
  return table("codes", entries);
}

const char* tlp_form_word(TlpForm form) {
  switch (form) {
    case TlpForm::kAddress:
      return "address";
    case TlpForm::kConfig:
      return "config";
    case TlpForm::kCompletion:
      return "completion";
    case TlpForm::kMessage:
      return "message";
  }
  return "";
}

std::string tlp_types() {
  std::vector<std::string> entries;
  for (unsigned number = 0; number < kTlpTypeCount; ++number) {
    const auto type = static_cast<TlpType>(number);
    std::string rules = fmt::format("form = \"{}\"", tlp_form_word(tlp_form(type)));
    if (is_tlp_memory(type)) rules += ", memory = true";
    if (is_tlp_atomic(type)) rules += ", atomic = true";
    if (tlp_carries_data(type)) rules += ", data = true";
    if (tlp_has_length(type)) rules += ", length = true";
    if (tlp_flow(type) == TlpFlow::kPosted) rules += ", posted = true";
    entries.push_back(fmt::format("{} = {{{}}}", tlp_type_name(type), rules));
  }
  return table("types", entries);
}

std::string tlp_messages() {
  std::vector<std::string> names;
  std::vector<std::string> rules;
  for (unsigned code = 0; code < 256; ++code) {
    const TlpMessageInfo* const info = tlp_message_info(static_cast<std::uint8_t>(code));
    if (info == nullptr) continue;
    names.push_back(fmt::format("[{:#04x}] = \"{}\"", code, info->name));
    std::string routings;
    for (unsigned routing = 0; routing <= kTlpRoutingMax; ++routing)
      if ((info->routings >> routing & 1U) != 0)
        routings += fmt::format("{}{}", routings.empty() ? "" : ", ", routing);
    rules.push_back(fmt::format("[{:#04x}] = {{routings = set({}){}{}{}}}", code, routings,
                                info->without_data ? ", without_data = true" : "",
                                info->with_data ? ", with_data = true" : "",
                                info->any_class ? ", any_class = true" : ""));
  }
  return table("message", names) + table("message_rules", rules);
}

std::string tlp_names() {
  return "  pcie = {\n" + words<TlpStatus>("status", 7, tlp_status_name) +
         words<TlpRouting>("routing", 7, tlp_routing_name) +
         words<TlpAddressType>("address_type", 3, tlp_address_type_name) +
         words<TlpPrefixType>("prefix", 255, tlp_prefix_name) + tlp_codes() + tlp_types() + tlp_messages() +
         "  },\n";
}

}  // namespace

std::string wireshark_names() {
  return "-- SPDX-License-Identifier: Apache-2.0\n"
         "-- Words and rules of headers. Made from the code by wharf_wireshark_test, which fails when they "
         "differ;\n"
         "-- WHARF_ACCEPT=1 in its environment writes this file anew.\n"
         "local function set(...)\n"
         "  local members = {}\n"
         "  for _, member in ipairs({...}) do members[member] = true end\n"
         "  return members\n"
         "end\n\n"
         "return {\n" +
         ub_names() + uet_names() + tlp_names() + "}\n";
}

}  // namespace wharf::wire
