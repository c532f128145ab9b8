// SPDX-License-Identifier: Apache-2.0
#include "wire/tlp_codec.h"

#include <isa-l/crc.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/tlp_names.h"

namespace wharf::wire {
namespace {

/// What byte 0 of a header says.
struct Code {
  TlpType type = TlpType::kMemoryRead;
  TlpDropReason reason = TlpDropReason::kReservedType;
  bool wide = false;
};
constexpr auto kCodes = [] {
  std::array<Code, 256> codes{};
  for (std::uint32_t i = 0; i < codes.size(); ++i) {
    const std::uint32_t format = i >> 5U;
    const std::uint32_t type = i & 31U;
    if (format > kTlpFmtPrefix) codes[i].reason = TlpDropReason::kReservedFormat;
    // MRdLk has both header lengths, CplLk and CplDLk one.
    if (type == 0x01 && format < kTlpFmtData) codes[i].reason = TlpDropReason::kLocked;
    if (type == 0x0b && (format & 5U) == 0) codes[i].reason = TlpDropReason::kLocked;
  }
  for (std::uint32_t i = 0; i < kTlpTypeCount; ++i) {
    const auto type = static_cast<TlpType>(i);
    const std::uint32_t data = tlp_carries_data(type) ? kTlpFmtData : 0;
    const bool message = tlp_form(type) == TlpForm::kMessage;
    for (std::uint32_t wide = message ? 1 : 0; wide <= (message || is_tlp_memory(type) ? 1 : 0); ++wide)
      for (std::uint32_t routing = 0; routing <= (message ? kTlpRoutingMax : 0); ++routing)
        codes[((data | wide) << 5U) | tlp_type_bits(type) | routing] =
            Code{type, TlpDropReason::kNone, wide != 0};
  }
  return codes;
}();

/// Copied, not made anew for each packet: wide loads of bytes just stored one by one wait for them.
constexpr Tlp kEmpty;

// Bits of the first double word.
constexpr std::uint32_t kTag9 = 0x80'0000;
constexpr std::uint32_t kTag8 = 0x08'0000;
constexpr std::uint32_t kIdBasedOrdering = 0x04'0000;
constexpr std::uint32_t kSpare = 0x02'0000;
constexpr std::uint32_t kHints = 0x01'0000;
constexpr std::uint32_t kDigest = 0x8000;
constexpr std::uint32_t kPoisoned = 0x4000;
constexpr std::uint32_t kRelaxedOrdering = 0x2000;
constexpr std::uint32_t kNoSnoop = 0x1000;

/// Reads the prefixes; `at` becomes the place of the header.
TlpDropReason decode_prefixes(std::span<const std::byte> bytes, Tlp& tlp, std::size_t& at) {
  std::uint32_t end_to_end = 0;
  for (at = 0; at + 4 <= bytes.size() && load_u8(&bytes[at]) >> 5U == kTlpFmtPrefix; at += 4) {
    const std::uint8_t type = load_u8(&bytes[at]);
    if (!is_known_tlp_prefix(type)) return TlpDropReason::kUnknownPrefix;
    if (is_end_to_end(TlpPrefixType{type})) {
      if (++end_to_end > kTlpEndPrefixesMax) return TlpDropReason::kTooManyPrefixes;
    } else if (end_to_end != 0) {
      return TlpDropReason::kPrefixOrder;
    } else if (tlp.prefixes.size() == kTlpLocalPrefixesMax) {
      return TlpDropReason::kTooManyPrefixes;
    }
    tlp.prefixes.add(TlpPrefixType{type}, load_be32(&bytes[at]));
  }
  return TlpDropReason::kNone;
}

/// The first double word; `wide` headers and data are the type's.
void decode_first(std::uint32_t word, Tlp& tlp) {
  tlp.traffic_class = static_cast<std::uint8_t>((word >> 20U) & 7U);
  tlp.id_based_ordering = (word & kIdBasedOrdering) != 0;
  tlp.spare = (word & kSpare) != 0;
  tlp.hints = (word & kHints) != 0 && is_tlp_memory(tlp.type);
  tlp.digest = (word & kDigest) != 0;
  tlp.poisoned = (word & kPoisoned) != 0;
  tlp.relaxed_ordering = (word & kRelaxedOrdering) != 0;
  tlp.no_snoop = (word & kNoSnoop) != 0;
  if (is_tlp_memory(tlp.type)) tlp.address_type = static_cast<TlpAddressType>((word >> 10U) & 3U);
  if (tlp_has_length(tlp.type))
    tlp.dwords = static_cast<std::uint16_t>((word & 0x3ffU) == 0 ? kTlpDwordsMax : word & 0x3ffU);
  // Tags of posted requests have eight bits.
  if (tlp_flow(tlp.type) != TlpFlow::kPosted)
    tlp.tag =
        static_cast<std::uint16_t>(((word & kTag9) != 0 ? 0x200U : 0U) | ((word & kTag8) != 0 ? 0x100U : 0U));
  if (tlp_form(tlp.type) == TlpForm::kMessage) tlp.routing = static_cast<TlpRouting>((word >> 24U) & 7U);
}

void decode_completion(const std::byte* at, Tlp& tlp) {
  const std::uint32_t word = load_be32(at + 4);
  tlp.completer = static_cast<PcieId>(word >> 16U);
  tlp.status = static_cast<TlpStatus>((word >> 13U) & 7U);
  tlp.byte_count_modified = (word & 0x1000U) != 0;
  tlp.byte_count = static_cast<std::uint16_t>((word & 0xfffU) == 0 ? kTlpByteCountMax : word & 0xfffU);
  tlp.requester = load_be16(at + 8);
  tlp.tag = static_cast<std::uint16_t>(tlp.tag | load_u8(at + 10));
  tlp.lower_address = load_u8(at + 11) & 0x7fU;
}

/// Bytes 4 and following of a request.
void decode_request(const std::byte* at, bool wide, Tlp& tlp) {
  tlp.requester = load_be16(at + 4);
  tlp.tag = static_cast<std::uint16_t>(tlp.tag | load_u8(at + 6));
  const std::uint8_t last = load_u8(at + 7);
  if (tlp_form(tlp.type) == TlpForm::kMessage) {
    tlp.message_code = last;
    tlp.message = load_be64(at + 8);
    return;
  }
  // With hints the steering tag of a write stands in the place of its tag, any other in that of the byte
  // enables; atomics have reserved those. All bytes count where there are none.
  const bool write_hint = tlp.hints && tlp.type == TlpType::kMemoryWrite;
  const bool enables = !is_tlp_atomic(tlp.type) && (!tlp.hints || write_hint);
  tlp.first_enables = enables ? last & 15U : 15U;
  tlp.last_enables = static_cast<std::uint8_t>(enables ? last >> 4U : tlp.dwords == 1 ? 0U : 15U);
  if (tlp.hints) tlp.steering_tag = write_hint ? static_cast<std::uint8_t>(tlp.tag) : last;
  if (write_hint) tlp.tag = 0;
  if (tlp_form(tlp.type) == TlpForm::kConfig) {
    tlp.destination = load_be16(at + 8);
    tlp.register_offset = load_be16(at + 10) & 0xffcU;
    return;
  }
  const std::uint64_t address = wide ? load_be64(at + 8) : load_be32(at + 8);
  tlp.address = address & ~std::uint64_t{3};
  if (tlp.hints) tlp.processing_hint = static_cast<std::uint8_t>(address & 3U);
}

/// [2.2.5]
bool enables_allowed(const Tlp& tlp) {
  const unsigned first = tlp.first_enables;
  const unsigned last = tlp.last_enables;
  if (tlp.dwords == 1) return last == 0;
  if (first == 0 || last == 0) return false;
  // Holes may be in a pair of double words that fills an aligned quad word.
  if (tlp.dwords == 2 && tlp.address % 8 == 0) return true;
  const bool first_to_its_end = ((first + (first & (0U - first))) & 15U) == 0;
  const bool last_from_its_start = (last & (last + 1)) == 0;
  return first_to_its_end && last_from_its_start;
}

/// Codes that nobody has defined are unsupported requests, not malformed. [2.2.8]
bool message_allowed(const Tlp& tlp) {
  const TlpMessageInfo* const info = tlp_message_info(tlp.message_code);
  if (info == nullptr) return true;
  const bool data = tlp.type == TlpType::kMessageData;
  return (info->routings >> static_cast<unsigned>(tlp.routing) & 1U) != 0 &&
         (data ? info->with_data : info->without_data) && (info->any_class || tlp.traffic_class == 0);
}

TlpDropReason check_memory(const Tlp& tlp) {
  const bool translation = tlp.address_type == TlpAddressType::kTranslationRequest;
  if (!translation && tlp.address % kTlpPageBytes + 4U * tlp.dwords > kTlpPageBytes)
    return TlpDropReason::kCrossesPage;
  return TlpDropReason::kNone;
}

TlpDropReason check_atomic(const Tlp& tlp) {
  const std::uint32_t operands = tlp.type == TlpType::kCompareSwap ? 2 : 1;
  const std::uint32_t operand = 4U * tlp.dwords / operands;
  const bool size = operand == 4 || operand == 8 || (operand == 16 && operands == 2);
  if (!size || 4U * tlp.dwords % operands != 0) return TlpDropReason::kBadOperandSize;
  return tlp.address % operand != 0 ? TlpDropReason::kMisalignedAtomic : TlpDropReason::kNone;
}

TlpDropReason check_request(const Tlp& tlp, std::uint32_t address_type) {
  if (tlp_form(tlp.type) == TlpForm::kMessage)
    return message_allowed(tlp) ? TlpDropReason::kNone : TlpDropReason::kBadMessage;
  if (!is_tlp_memory(tlp.type)) {
    if (!enables_allowed(tlp) && tlp.dwords == 1) return TlpDropReason::kBadByteEnables;
    const bool plain = tlp.traffic_class == 0 && !tlp.relaxed_ordering && !tlp.no_snoop &&
                       !tlp.id_based_ordering && address_type == 0;
    return plain && tlp.dwords == 1 ? TlpDropReason::kNone : TlpDropReason::kBadFixedField;
  }
  if (is_tlp_atomic(tlp.type)) {
    if (tlp.address_type == TlpAddressType::kReserved ||
        tlp.address_type == TlpAddressType::kTranslationRequest)
      return TlpDropReason::kBadAddressType;
    return check_atomic(tlp);
  }
  if (const TlpDropReason reason = check_memory(tlp); reason != TlpDropReason::kNone) return reason;
  if (!enables_allowed(tlp)) return TlpDropReason::kBadByteEnables;
  const bool translation = tlp.address_type == TlpAddressType::kTranslationRequest;
  return tlp.address_type == TlpAddressType::kReserved || (translation && tlp.type != TlpType::kMemoryRead)
             ? TlpDropReason::kBadAddressType
             : TlpDropReason::kNone;
}

TlpDropReason check_completion(const Tlp& tlp, const TlpRules& rules) {
  if (tlp.type == TlpType::kCompletion) return TlpDropReason::kNone;
  if (tlp.status != TlpStatus::kSuccess) return TlpDropReason::kBadCompletionStatus;
  const std::uint32_t needed = ((tlp.lower_address & 3U) + tlp.byte_count + 3U) / 4U;
  if (tlp.dwords > needed) return TlpDropReason::kBadByteCount;
  // Seven bits of the address are enough to see a boundary of 64 or 128.
  const std::uint32_t end = (tlp.lower_address & ~3U) + 4U * tlp.dwords;
  return tlp.dwords < needed && end % rules.read_completion_boundary != 0 ? TlpDropReason::kBadCompletionSplit
                                                                          : TlpDropReason::kNone;
}

/// PASID names the address space of a memory access or of a message of the translation service, once.
bool prefixes_allowed(const Tlp& tlp) {
  bool found = false;
  for (std::uint32_t i = 0; i < tlp.prefixes.size(); ++i) {
    if (tlp_prefix_type(tlp.prefixes[i]) != TlpPrefixType::kPasid) continue;
    if (found || !(is_tlp_memory(tlp.type) || tlp_form(tlp.type) == TlpForm::kMessage)) return false;
    found = true;
  }
  return true;
}

/// Bytes of the first double word that come before the first byte of data.
std::uint32_t lead_of(const Tlp& tlp) {
  if (tlp_form(tlp.type) == TlpForm::kCompletion) return tlp.lower_address & 3U;
  if (tlp_form(tlp.type) == TlpForm::kMessage || tlp.first_enables == 0) return 0;
  return static_cast<std::uint32_t>(std::countr_zero(tlp.first_enables));
}

std::byte* encode_data(const Tlp& tlp, std::byte* at) {
  const std::uint32_t bytes = 4U * tlp.dwords;
  const std::uint32_t lead = tlp.payload.length == bytes ? 0 : lead_of(tlp);
  WHARF_CHECK(lead + tlp.payload.length <= bytes);
  std::memset(at, 0, lead);
  if (tlp.payload.length != 0) fill(tlp.payload, {at + lead, tlp.payload.length});
  std::memset(at + lead + tlp.payload.length, 0, bytes - lead - tlp.payload.length);
  return at + bytes;
}

void encode_request(const Tlp& tlp, std::byte* at) {
  store_be16(at + 4, tlp.requester);
  const bool write_hint = tlp.hints && tlp.type == TlpType::kMemoryWrite;
  store_u8(at + 6, write_hint ? tlp.steering_tag : static_cast<std::uint8_t>(tlp.tag));
  if (tlp_form(tlp.type) == TlpForm::kMessage) {
    store_u8(at + 7, tlp.message_code);
    store_be64(at + 8, tlp.message);
    return;
  }
  const auto enables =
      static_cast<std::uint8_t>((std::uint32_t{tlp.last_enables} << 4U) | (tlp.first_enables & 15U));
  store_u8(at + 7, tlp.hints && !write_hint  ? tlp.steering_tag
                   : is_tlp_atomic(tlp.type) ? std::uint8_t{0}
                                             : enables);
  if (tlp_form(tlp.type) == TlpForm::kConfig) {
    store_be16(at + 8, tlp.destination);
    store_be16(at + 10, tlp.register_offset & 0xffcU);
    return;
  }
  const std::uint64_t address =
      (tlp.address & ~std::uint64_t{3}) | (tlp.hints ? tlp.processing_hint & 3U : 0U);
  if (address >> 32U != 0) {
    store_be64(at + 8, address);
  } else {
    store_be32(at + 8, static_cast<std::uint32_t>(address));
  }
}

void encode_completion(const Tlp& tlp, std::byte* at) {
  store_be16(at + 4, tlp.completer);
  store_be16(at + 6, static_cast<std::uint16_t>((static_cast<unsigned>(tlp.status) << 13U) |
                                                (tlp.byte_count_modified ? 0x1000U : 0U) |
                                                (tlp.byte_count & 0xfffU)));
  store_be16(at + 8, tlp.requester);
  store_u8(at + 10, static_cast<std::uint8_t>(tlp.tag));
  store_u8(at + 11, tlp.lower_address & 0x7fU);
}

std::uint32_t encode_first(const Tlp& tlp, std::uint32_t header_bytes) {
  const TlpForm form = tlp_form(tlp.type);
  std::uint32_t format = tlp_carries_data(tlp.type) ? kTlpFmtData : 0U;
  if (header_bytes == kTlpWideHeaderBytes) format |= kTlpFmtWide;
  std::uint32_t word = (format << 29U) | (std::uint32_t{tlp_type_bits(tlp.type)} << 24U);
  if (form == TlpForm::kMessage) word |= static_cast<std::uint32_t>(tlp.routing) << 24U;
  word |= std::uint32_t{tlp.traffic_class & 7U} << 20U;
  if (tlp_flow(tlp.type) != TlpFlow::kPosted)
    word |= ((tlp.tag & 0x200U) != 0 ? kTag9 : 0U) | ((tlp.tag & 0x100U) != 0 ? kTag8 : 0U);
  word |= (tlp.id_based_ordering ? kIdBasedOrdering : 0U) | (tlp.spare ? kSpare : 0U) |
          (tlp.hints ? kHints : 0U) | (tlp.digest ? kDigest : 0U) | (tlp.poisoned ? kPoisoned : 0U) |
          (tlp.relaxed_ordering ? kRelaxedOrdering : 0U) | (tlp.no_snoop ? kNoSnoop : 0U);
  if (is_tlp_memory(tlp.type)) word |= static_cast<std::uint32_t>(tlp.address_type) << 10U;
  return word | (tlp.dwords & 0x3ffU);
}

// ISA-L takes a pointer to non-const in some versions and never writes through it.
std::uint32_t crc32(std::uint32_t crc, const std::byte* bytes, std::size_t length) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes), length);
}

}  // namespace

TlpDropReason decode_tlp(std::span<const std::byte> bytes, Tlp& tlp, const TlpRules& rules) {
  tlp = kEmpty;
  std::size_t at = 0;
  if (const TlpDropReason reason = decode_prefixes(bytes, tlp, at); reason != TlpDropReason::kNone)
    return reason;
  if (bytes.size() - at < 4) return TlpDropReason::kTruncated;
  const std::byte* const header = bytes.data() + at;
  const Code code = kCodes[load_u8(header)];
  if (code.reason != TlpDropReason::kNone) return code.reason;
  tlp.type = code.type;
  const std::uint32_t header_bytes = code.wide ? kTlpWideHeaderBytes : kTlpNarrowHeaderBytes;
  if (bytes.size() - at < header_bytes) return TlpDropReason::kTruncated;
  const std::uint32_t first = load_be32(header);
  decode_first(first, tlp);
  if (tlp_form(tlp.type) == TlpForm::kCompletion) {
    decode_completion(header, tlp);
  } else {
    decode_request(header, code.wide, tlp);
  }
  if (!prefixes_allowed(tlp)) return TlpDropReason::kForbiddenPrefix;
  const std::size_t data = tlp_carries_data(tlp.type) ? 4U * tlp.dwords : 0U;
  const std::size_t end = at + header_bytes + data;
  if (end + (tlp.digest ? kTlpDigestBytes : 0U) != bytes.size()) return TlpDropReason::kLengthMismatch;
  if (data > rules.max_payload) return TlpDropReason::kPayloadTooLong;
  tlp.payload = bytes_payload(bytes.subspan(at + header_bytes, data));
  if (is_tlp_memory(tlp.type) && code.wide && tlp.address >> 32U == 0) return TlpDropReason::kLowWideAddress;
  const TlpDropReason reason = tlp_form(tlp.type) == TlpForm::kCompletion
                                   ? check_completion(tlp, rules)
                                   : check_request(tlp, (first >> 10U) & 3U);
  if (reason != TlpDropReason::kNone) return reason;
  if (tlp.digest && rules.verify_ecrc && tlp_ecrc(bytes.first(end)) != load_le32(bytes.data() + end))
    return TlpDropReason::kBadEcrc;
  return TlpDropReason::kNone;
}

std::size_t encode_tlp(const Tlp& tlp, std::span<std::byte> out) {
  const std::size_t size = tlp_bytes(tlp);
  WHARF_CHECK(out.size() >= size);
  std::byte* at = out.data();
  for (std::uint32_t i = 0; i < tlp.prefixes.size(); ++i, at += kTlpPrefixBytes)
    store_be32(at, tlp.prefixes[i]);
  const std::uint32_t header_bytes = tlp_header_bytes(tlp.type, tlp.address);
  store_be32(at, encode_first(tlp, header_bytes));
  if (tlp_form(tlp.type) == TlpForm::kCompletion) {
    encode_completion(tlp, at);
  } else {
    encode_request(tlp, at);
  }
  at += header_bytes;
  if (tlp_carries_data(tlp.type)) at = encode_data(tlp, at);
  if (tlp.digest) store_le32(at, tlp_ecrc({static_cast<const std::byte*>(out.data()), at}));
  return size;
}

std::uint32_t tlp_ecrc(std::span<const std::byte> bytes) {
  while (bytes.size() > 4 && load_u8(bytes.data()) >> 5U == kTlpFmtPrefix &&
         !is_end_to_end(TlpPrefixType{load_u8(bytes.data())}))
    bytes = bytes.subspan(4);
  std::size_t header = 0;
  while (header + 4 < bytes.size() && load_u8(&bytes[header]) >> 5U == kTlpFmtPrefix) header += 4;
  if (header + 4 > bytes.size()) return 0;
  std::byte first[4];
  std::memcpy(first, &bytes[header], sizeof first);
  first[0] |= std::byte{0x01};
  first[2] |= std::byte{0x40};
  std::uint32_t crc = crc32(0, bytes.data(), header);
  crc = crc32(crc, first, sizeof first);
  return crc32(crc, bytes.data() + header + 4, bytes.size() - header - 4);
}

}  // namespace wharf::wire
