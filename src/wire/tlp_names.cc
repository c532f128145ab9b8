// SPDX-License-Identifier: Apache-2.0
#include "wire/tlp_names.h"

#include "wire/tlp_drop_reason.h"

namespace wharf::wire {
namespace {

constexpr std::uint8_t routed(TlpRouting routing) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(routing));
}
constexpr std::uint8_t kToRoot = routed(TlpRouting::kToRootComplex);
constexpr std::uint8_t kById = routed(TlpRouting::kById);
constexpr std::uint8_t kBroadcast = routed(TlpRouting::kBroadcast);
constexpr std::uint8_t kLocal = routed(TlpRouting::kLocal);
constexpr std::uint8_t kGathered = routed(TlpRouting::kGathered);

constexpr TlpMessageInfo kMessages[] = {
    {"Unlock", 0x00, kBroadcast},
    {"Invalidate Request", 0x01, kById, false, true, true},
    {"Invalidate Completion", 0x02, kById, true, false, true},
    {"Page Request", 0x04, kToRoot, true, false, true},
    {"PRG Response", 0x05, kById, true, false, true},
    {"LTR", 0x10, kLocal},
    {"OBFF", 0x12, kLocal},
    {"PM_Active_State_Nak", 0x14, kLocal},
    {"PM_PME", 0x18, kToRoot},
    {"PME_Turn_Off", 0x19, kBroadcast},
    {"PME_TO_Ack", 0x1b, kGathered},
    {"Assert_INTA", 0x20, kLocal},
    {"Assert_INTB", 0x21, kLocal},
    {"Assert_INTC", 0x22, kLocal},
    {"Assert_INTD", 0x23, kLocal},
    {"Deassert_INTA", 0x24, kLocal},
    {"Deassert_INTB", 0x25, kLocal},
    {"Deassert_INTC", 0x26, kLocal},
    {"Deassert_INTD", 0x27, kLocal},
    {"ERR_COR", 0x30, kToRoot},
    {"ERR_NONFATAL", 0x31, kToRoot},
    {"ERR_FATAL", 0x33, kToRoot},
    {"ignored (slot indicator)", 0x40, kLocal},
    {"ignored (slot indicator)", 0x41, kLocal},
    {"ignored (slot indicator)", 0x43, kLocal},
    {"ignored (slot indicator)", 0x44, kLocal},
    {"ignored (slot indicator)", 0x45, kLocal},
    {"ignored (slot indicator)", 0x47, kLocal},
    {"ignored (slot indicator)", 0x48, kLocal},
    {"Set_Slot_Power_Limit", 0x50, kLocal, false, true},
    {"PTM Request", 0x52, kLocal},
    {"PTM Response", 0x53, kLocal, true, true},
    {"Vendor_Defined Type 0", 0x7e, kToRoot | kById | kBroadcast | kLocal, true, true, true},
    {"Vendor_Defined Type 1", 0x7f, kToRoot | kById | kBroadcast | kLocal, true, true, true},
};

}  // namespace

const TlpMessageInfo* tlp_message_info(std::uint8_t code) {
  for (const TlpMessageInfo& info : kMessages)
    if (info.code == code) return &info;
  return nullptr;
}

std::string_view tlp_type_name(TlpType type) {
  switch (type) {
    case TlpType::kMemoryRead:
      return "MRd";
    case TlpType::kMemoryWrite:
      return "MWr";
    case TlpType::kIoRead:
      return "IORd";
    case TlpType::kIoWrite:
      return "IOWr";
    case TlpType::kConfigRead0:
      return "CfgRd0";
    case TlpType::kConfigWrite0:
      return "CfgWr0";
    case TlpType::kConfigRead1:
      return "CfgRd1";
    case TlpType::kConfigWrite1:
      return "CfgWr1";
    case TlpType::kCompletion:
      return "Cpl";
    case TlpType::kCompletionData:
      return "CplD";
    case TlpType::kFetchAdd:
      return "FetchAdd";
    case TlpType::kSwap:
      return "Swap";
    case TlpType::kCompareSwap:
      return "CAS";
    case TlpType::kMessage:
      return "Msg";
    case TlpType::kMessageData:
      return "MsgD";
  }
  return "reserved";
}

std::string_view tlp_status_name(TlpStatus status) {
  switch (status) {
    case TlpStatus::kSuccess:
      return "SC";
    case TlpStatus::kUnsupportedRequest:
      return "UR";
    case TlpStatus::kConfigurationRetry:
      return "CRS";
    case TlpStatus::kCompleterAbort:
      return "CA";
  }
  return "reserved";
}

std::string_view tlp_routing_name(TlpRouting routing) {
  switch (routing) {
    case TlpRouting::kToRootComplex:
      return "to root complex";
    case TlpRouting::kByAddress:
      return "by address";
    case TlpRouting::kById:
      return "by ID";
    case TlpRouting::kBroadcast:
      return "broadcast from root complex";
    case TlpRouting::kLocal:
      return "local";
    case TlpRouting::kGathered:
      return "gathered to root complex";
  }
  return "reserved";
}

std::string_view tlp_address_type_name(TlpAddressType type) {
  switch (type) {
    case TlpAddressType::kUntranslated:
      return "untranslated";
    case TlpAddressType::kTranslationRequest:
      return "translation request";
    case TlpAddressType::kTranslated:
      return "translated";
    case TlpAddressType::kReserved:
      break;
  }
  return "reserved";
}

std::string_view tlp_prefix_name(TlpPrefixType type) {
  switch (type) {
    case TlpPrefixType::kVendorLocal0:
      return "VendPrefixL0";
    case TlpPrefixType::kVendorLocal1:
      return "VendPrefixL1";
    case TlpPrefixType::kTph:
      return "TPH";
    case TlpPrefixType::kPasid:
      return "PASID";
    case TlpPrefixType::kVendor0:
      return "VendPrefixE0";
    case TlpPrefixType::kVendor1:
      return "VendPrefixE1";
  }
  return "reserved";
}

std::string_view tlp_drop_reason_text(TlpDropReason reason) {
  switch (reason) {
    case TlpDropReason::kNone:
      return "not dropped";
    case TlpDropReason::kTruncated:
      return "truncated";
    case TlpDropReason::kReservedFormat:
      return "reserved format";
    case TlpDropReason::kReservedType:
      return "reserved type";
    case TlpDropReason::kLocked:
      return "locked read or its completion, which are not supported";
    case TlpDropReason::kUnknownPrefix:
      return "unknown prefix";
    case TlpDropReason::kPrefixOrder:
      return "local prefix behind an end-to-end one";
    case TlpDropReason::kTooManyPrefixes:
      return "too many prefixes";
    case TlpDropReason::kForbiddenPrefix:
      return "prefix that this packet may not have";
    case TlpDropReason::kLengthMismatch:
      return "length does not match the bytes";
    case TlpDropReason::kPayloadTooLong:
      return "more data than the maximum payload";
    case TlpDropReason::kLowWideAddress:
      return "long header for an address below 4 GiB";
    case TlpDropReason::kCrossesPage:
      return "crosses a 4 KiB boundary";
    case TlpDropReason::kBadByteEnables:
      return "bad byte enables";
    case TlpDropReason::kBadAddressType:
      return "bad address type";
    case TlpDropReason::kBadFixedField:
      return "I/O or configuration request with a field that must be fixed";
    case TlpDropReason::kBadOperandSize:
      return "bad operand size";
    case TlpDropReason::kMisalignedAtomic:
      return "misaligned atomic";
    case TlpDropReason::kBadMessage:
      return "message with routing, class or data that its code forbids";
    case TlpDropReason::kBadCompletionStatus:
      return "data with an unsuccessful status";
    case TlpDropReason::kBadByteCount:
      return "more data than the byte count";
    case TlpDropReason::kBadCompletionSplit:
      return "split between completion boundaries";
    case TlpDropReason::kBadEcrc:
      return "bad ECRC";
  }
  return "unknown";
}

}  // namespace wharf::wire
