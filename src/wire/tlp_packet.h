// SPDX-License-Identifier: Apache-2.0
// One PCIe transaction layer packet as a struct: the fields of every header that wharf knows, and the data.
// Flit mode (PCIe 6.0), whose headers are laid out otherwise, is out of scope. tlp_codec.h turns it into
// bytes. [PCIe Base 5.0 2.2]
//
//   all        0 Fmt 3, Type 5 | 1 T9 1, TC 3, T8 1, IDO 1, spare 1, TH 1 | 2-3 TD 1, EP 1, RO 1, NS 1, AT 2,
//              Length 10
//   requests   4-5 requester | 6 tag 7:0 | 7 last byte enables 4, first byte enables 4
//     memory   8-11 or 8-15 address, whose last two bits are PH with TH
//     config   8-9 destination | 10-11 reserved 4, register 10, reserved 2
//     message  4-5 requester | 6 tag | 7 code | 8-15 the code's own
//   completion 4-5 completer | 6-7 status 3, BCM 1, byte count 12 | 8-9 requester | 10 tag | 11 lower address
//   7
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "wire/payload.h"
#include "wire/tlp_prefix.h"
#include "wire/tlp_type.h"

namespace wharf::wire {

inline constexpr std::uint32_t kTlpNarrowHeaderBytes = 12;  ///< "3DW".
inline constexpr std::uint32_t kTlpWideHeaderBytes = 16;    ///< "4DW".
inline constexpr std::uint32_t kTlpDigestBytes = 4;
inline constexpr std::uint32_t kTlpDwordsMax = 1024;     ///< Length 0 stands for it.
inline constexpr std::uint32_t kTlpPageBytes = 4096;     ///< What no memory access may cross.
inline constexpr std::uint32_t kTlpByteCountMax = 4096;  ///< Byte Count 0 stands for it.
inline constexpr std::uint16_t kTlpTagMask = 0x3ff;

/// Bus 8 bits, device 5, function 3.
using PcieId = std::uint16_t;
constexpr PcieId pcie_id(unsigned bus, unsigned device, unsigned function) {
  return static_cast<PcieId>(((bus & 255U) << 8U) | ((device & 31U) << 3U) | (function & 7U));
}

enum class TlpAddressType : std::uint8_t { kUntranslated, kTranslationRequest, kTranslated, kReserved };

/// Completion status; the other values are reserved and count as kUnsupportedRequest. [2.2.9]
enum class TlpStatus : std::uint8_t {
  kSuccess = 0,
  kUnsupportedRequest = 1,
  kConfigurationRetry = 2,
  kCompleterAbort = 4,
};

/// Fields that a type has not are left as they are by the decoder, 0 or false, and not written.
struct Tlp {
  std::uint64_t address = 0;  ///< Requests with an address: that of the first double word, a multiple of 4.
  /// Messages: bytes 8 to 15. By ID, the upper 16 bits are the destination; vendor-defined, the next 16 the
  /// vendor.
  std::uint64_t message = 0;
  /// Data in the order of addresses: after decoding whole double words. What is encoded may also be the bytes
  /// from the first to the last enabled one (`tlp_access_bytes()`, or what a completion has to give); the
  /// rest of the double words becomes 0.
  Payload payload;
  TlpPrefixes prefixes;
  std::uint16_t dwords = 0;  ///< Length, 1..1024; 0 for Cpl and Msg.
  PcieId requester = 0;
  PcieId completer = 0;               ///< Completions.
  PcieId destination = 0;             ///< Configuration requests.
  std::uint16_t tag = 0;              ///< 10 bits; 8 in posted requests, where it means nothing.
  std::uint16_t byte_count = 0;       ///< Completions: bytes still to come with this one, 1..4096.
  std::uint16_t register_offset = 0;  ///< Configuration requests: bytes, a multiple of 4 below 4096.
  TlpType type = TlpType::kMemoryRead;
  std::uint8_t traffic_class = 0;  ///< 0..7.
  TlpAddressType address_type = TlpAddressType::kUntranslated;
  std::uint8_t first_enables = 0;    ///< Byte enables, bit 0 the lowest byte; atomics: all.
  std::uint8_t last_enables = 0;     ///< 0 for one double word.
  std::uint8_t processing_hint = 0;  ///< With `hints`: PH, 2 bits.
  std::uint8_t steering_tag = 0;     ///< With `hints`: ST, 8 bits.
  TlpStatus status = TlpStatus::kSuccess;
  std::uint8_t lower_address = 0;  ///< Completions: address bits 6:0 of the first byte.
  TlpRouting routing = TlpRouting::kToRootComplex;
  std::uint8_t message_code = 0;
  bool relaxed_ordering = false;   ///< RO.
  bool no_snoop = false;           ///< NS.
  bool id_based_ordering = false;  ///< IDO.
  /// Byte 1 bit 1: reserved, but LN (lightweight notification) in the revisions 3.1 to 5.0.
  bool spare = false;
  bool hints = false;                ///< TH.
  bool digest = false;               ///< TD: an ECRC follows the data.
  bool poisoned = false;             ///< EP.
  bool byte_count_modified = false;  ///< BCM, which only bridges to PCI-X set.
};

/// 12 or 16. Requests of memory take the short header exactly for addresses below 4 GiB. [2.2.4.1]
constexpr std::uint32_t tlp_header_bytes(TlpType type, std::uint64_t address) {
  const bool wide =
      tlp_form(type) == TlpForm::kMessage || (tlp_form(type) == TlpForm::kAddress && address >> 32U != 0);
  return wide ? kTlpWideHeaderBytes : kTlpNarrowHeaderBytes;
}

/// Bytes of prefixes, header, data and digest: what the transaction layer hands on.
inline std::uint32_t tlp_bytes(const Tlp& tlp) {
  return kTlpPrefixBytes * tlp.prefixes.size() + tlp_header_bytes(tlp.type, tlp.address) +
         (tlp_carries_data(tlp.type) ? 4U * tlp.dwords : 0U) + (tlp.digest ? kTlpDigestBytes : 0U);
}

/// Bytes from the first to the last enabled one; 1 for a request that enables none. [2.3.1.1, table 2-39]
constexpr std::uint32_t tlp_access_bytes(std::uint32_t dwords, unsigned first_enables,
                                         unsigned last_enables) {
  const auto before = static_cast<std::uint32_t>(std::countr_zero(first_enables & 15U));
  if (dwords == 1) {
    if ((first_enables & 15U) == 0) return 1;
    return static_cast<std::uint32_t>(std::bit_width(first_enables & 15U)) - before;
  }
  return 4 * (dwords - 1) - before + static_cast<std::uint32_t>(std::bit_width(last_enables & 15U));
}
inline std::uint32_t tlp_access_bytes(const Tlp& tlp) {
  return tlp_access_bytes(tlp.dwords, tlp.first_enables, tlp.last_enables);
}
/// Address of the first enabled byte.
inline std::uint64_t tlp_access_address(const Tlp& tlp) {
  const unsigned enables = tlp.first_enables & 15U;
  return tlp.address + (enables == 0 ? 0U : static_cast<std::uint32_t>(std::countr_zero(enables)));
}

/// Sets address, length and byte enables for `bytes` bytes from `address` on, which stay inside one 4 KiB
/// page. 0 bytes: the request that enables none, which a device reads to flush its writes. [2.2.5]
inline void set_tlp_access(Tlp& tlp, std::uint64_t address, std::uint32_t bytes) {
  const auto before = static_cast<std::uint32_t>(address & 3U);
  WHARF_CHECK(address % kTlpPageBytes + bytes <= kTlpPageBytes);
  tlp.address = address - before;
  tlp.dwords = static_cast<std::uint16_t>(bytes == 0 ? 1 : (before + bytes + 3) / 4);
  const auto first = static_cast<std::uint8_t>((15U << before) & 15U);
  const auto last = static_cast<std::uint8_t>(15U >> ((4 - (before + bytes) % 4) % 4));
  tlp.first_enables = bytes == 0 ? std::uint8_t{0} : tlp.dwords == 1 ? std::uint8_t(first & last) : first;
  tlp.last_enables = tlp.dwords == 1 ? std::uint8_t{0} : last;
}

/// A read of `bytes` bytes from `address` on, inside one page (0: a flush).
inline Tlp memory_read_tlp(std::uint64_t address, std::uint32_t bytes, PcieId requester, std::uint16_t tag) {
  Tlp tlp;
  tlp.type = TlpType::kMemoryRead;
  set_tlp_access(tlp, address, bytes);
  tlp.requester = requester;
  tlp.tag = tag & kTlpTagMask;
  return tlp;
}

/// A write of `data` from `address` on, inside one page, at least one byte.
inline Tlp memory_write_tlp(std::uint64_t address, const Payload& data, PcieId requester) {
  WHARF_CHECK(data.length != 0);
  Tlp tlp;
  tlp.type = TlpType::kMemoryWrite;
  set_tlp_access(tlp, address, data.length);
  tlp.requester = requester;
  tlp.payload = data;
  return tlp;
}

/// An atomic: `operands` is what `type` takes (add or swap value of 4 or 8 bytes; compare value and swap
/// value of 4, 8 or 16 bytes each), `address` a multiple of one operand.
inline Tlp atomic_tlp(TlpType type, std::uint64_t address, const Payload& operands, PcieId requester,
                      std::uint16_t tag) {
  Tlp tlp;
  tlp.type = type;
  set_tlp_access(tlp, address, operands.length);
  tlp.requester = requester;
  tlp.tag = tag & kTlpTagMask;
  tlp.payload = operands;
  return tlp;
}

/// The completion of `request` that carries `data`, the bytes from `address` on; `left` bytes are still to
/// come with it (tlp_split.h cuts). Tag, class and attributes are the request's. [2.2.9]
inline Tlp completion_data_tlp(const Tlp& request, PcieId completer, std::uint64_t address,
                               std::uint32_t left, const Payload& data) {
  Tlp tlp;
  tlp.type = TlpType::kCompletionData;
  tlp.requester = request.requester;
  tlp.completer = completer;
  tlp.tag = request.tag;
  tlp.traffic_class = request.traffic_class;
  tlp.relaxed_ordering = request.relaxed_ordering;
  tlp.no_snoop = request.no_snoop;
  tlp.id_based_ordering = request.id_based_ordering;
  // Only completions of memory reads say where their data lies.
  tlp.lower_address =
      request.type == TlpType::kMemoryRead ? static_cast<std::uint8_t>(address & 0x7fU) : std::uint8_t{0};
  tlp.byte_count = static_cast<std::uint16_t>(left);
  tlp.dwords = static_cast<std::uint16_t>(((tlp.lower_address & 3U) + data.length + 3) / 4);
  tlp.payload = data;
  return tlp;
}

/// The completion of `request` that says `status` and carries nothing; `left` bytes of a read did not come.
inline Tlp completion_tlp(const Tlp& request, PcieId completer, TlpStatus status, std::uint32_t left = 4) {
  Tlp tlp = completion_data_tlp(request, completer, request.address, left, Payload{});
  tlp.type = TlpType::kCompletion;
  tlp.lower_address = request.type == TlpType::kMemoryRead
                          ? static_cast<std::uint8_t>(tlp_access_address(request) & 0x7fU)
                          : std::uint8_t{0};
  tlp.status = status;
  tlp.dwords = 0;
  return tlp;
}

}  // namespace wharf::wire
