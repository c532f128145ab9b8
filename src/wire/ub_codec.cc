// SPDX-License-Identifier: Apache-2.0
#include "wire/ub_codec.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "wire/ethernet.h"
#include "wire/ub_plain_request.h"

namespace wharf::wire {
namespace {

/// Bytes of a P2 frame before its transport header.
constexpr std::uint32_t kOpenUrmaNetworkBytes = kEthernetBytes + kNthOpenUrmaBytes;

constexpr bool is_openurma(const UbPacket& ub) { return ub.encapsulation == UbEncapsulation::kRawEthernet; }

constexpr std::uint32_t tah_bytes(const UbPacket& ub) {
  return is_openurma(ub) ? kTahOpenUrmaBytes : compact_transaction(ub) ? kTahCompactBytes : kTahBytes;
}

constexpr std::uint32_t entity_bytes(UbEntities entities) {
  switch (entities) {
    case UbEntities::kNone:
      return 0;
    case UbEntities::kFull:
      return kFullUpihBytes + kFullEidhBytes;
    case UbEntities::kCompact:
      return kCompactUpihBytes + kCompactEidhBytes;
  }
  return 0;
}

/// Bytes of the operand block. OpenURMA appends one 8-byte operand to every atomic.
std::uint32_t operand_bytes(const UbPacket& ub, std::uint16_t layout) {
  if (is_openurma(ub)) return is_atomic(ub.request.opcode) ? 8 : 0;
  if ((layout & kTaOperand) == 0) return 0;
  return (layout & kTaCompare) != 0 ? 2 * ub.extension.maetah.length : ub.extension.maetah.length;
}

/// Whether TVETAH is there. In OpenURMA it only follows a MAETAH.
constexpr bool has_token_value(const UbPacket& ub, std::uint16_t layout) {
  return ub.request.token_value_present && (!is_openurma(ub) || (layout & kTaAddress) != 0);
}

/// Bytes of MAETAH, TVETAH and MTETAH after BTAH. Inlined, as decode_entities() is, so that the reader of a
/// packet stays in registers.
[[gnu::always_inline]] inline std::uint32_t address_extension_bytes(const UbPacket& ub,
                                                                    std::uint16_t layout) {
  std::uint32_t bytes = 0;
  if ((layout & kTaAddress) != 0) bytes += compact_transaction(ub) ? kCompactMaetahBytes : kMaetahBytes;
  if (has_token_value(ub, layout)) bytes += kTvetahBytes;
  if ((layout & kTaTarget) != 0 || ub.request.target_present) bytes += kMtetahBytes;
  return bytes;
}

/// Bytes of the block that stands right before the data, atomic operands apart.
constexpr std::uint32_t inline_block_bytes(std::uint16_t layout) {
  if ((layout & kTaImmediate) != 0) return kUbImmediateBytes;
  if ((layout & kTaNotify) != 0) return kNotifyBytes;
  if ((layout & kTaInvalidate) != 0) return kInvalidateBytes;
  if ((layout & kTaMessage) != 0) return kMessageExtensionBytes;
  return 0;
}

constexpr TphNext next_of(UbEntities entities) {
  switch (entities) {
    case UbEntities::kNone:
      return TphNext::kTransaction;
    case UbEntities::kFull:
      return TphNext::kFullEntities;
    case UbEntities::kCompact:
      return TphNext::kCompactEntities;
  }
  return TphNext::kTransaction;
}

std::byte* encode_ack_extensions(const UbPacket& ub, const Payload& payload, std::byte* at) {
  if (has_cetph(ub)) {
    encode(ub.ack.cetph, at);
    at += kCetphBytes;
  }
  if (has_saetph(ub)) {
    encode(ub.ack.saetph, at);
    at += kSaetphBytes;
    const std::uint32_t bytes = sack_bitmap_bytes(ub.ack.saetph.size_code);
    if (payload_is_sack_bitmap(ub)) {
      WHARF_CHECK(payload.length == bytes);
      fill(payload, {at, bytes});
    } else {
      std::memcpy(at, ub.ack.sack_bitmap.data(), bytes);
    }
    at += bytes;
  }
  return at;
}

std::byte* encode_entities(const UbPacket& ub, const FullEidh& entities, std::byte* at) {
  switch (ub.entities) {
    case UbEntities::kNone:
      return at;
    case UbEntities::kFull:
      store_be32(at, ub.transport_partition);
      encode(entities, at + kFullUpihBytes);
      return at + kFullUpihBytes + kFullEidhBytes;
    case UbEntities::kCompact:
      store_be16(at, static_cast<std::uint16_t>(ub.transport_partition & 0x7fffU));
      encode(ub.ctp.entities, at + kCompactUpihBytes);
      return at + kCompactUpihBytes + kCompactEidhBytes;
  }
  return at;
}

std::byte* encode_operands(const UbPacket& ub, std::uint16_t layout, std::byte* at) {
  const AtomicOperands& operands = ub.extension.operands;
  if (is_openurma(ub)) {
    // Compare-and-swap puts the compare value here; its 32-bit swap value is the caller's token_value.
    const bool compare = ub.request.opcode == TaOpcode::kAtomicCompareSwap;
    store_be64(at, compare ? operands.compare : operands.operand);
    return at + 8;
  }
  const std::uint32_t width = ub.extension.maetah.length;
  WHARF_CHECK(width == 4 || width == 8 || width == 16);
  encode_operand(operands.operand, operands.operand_high, width, at);
  at += width;
  if ((layout & kTaCompare) != 0) {
    encode_operand(operands.compare, operands.compare_high, width, at);
    at += width;
  }
  return at;
}

std::byte* encode_address(const UbPacket& ub, std::byte* at) {
  const Maetah& maetah = ub.extension.maetah;
  if (is_openurma(ub)) {
    encode_openurma(maetah, at);
    return at + kMaetahBytes;
  }
  if (!compact_transaction(ub)) {
    encode(maetah, at);
    return at + kMaetahBytes;
  }
  WHARF_CHECK(compact_access(maetah.address, maetah.length));
  encode(CompactMaetah{maetah.address, maetah.token_id, compact_length_code(maetah.length),
                       ub.extension.affinity_hint, ub.extension.strong_order},
         at);
  return at + kCompactMaetahBytes;
}

std::byte* encode_request_extensions(const UbPacket& ub, std::byte* at) {
  const std::uint16_t layout = ta_layout(ub.request.opcode);
  if (layout == 0) return at;
  if ((layout & kTaAddress) != 0) at = encode_address(ub, at);
  if (has_token_value(ub, layout)) {
    store_be32(at, ub.extension.token_value);
    at += kTvetahBytes;
  }
  if ((layout & kTaTarget) != 0 || ub.request.target_present) {
    encode(ub.extension.mtetah, at);
    at += kMtetahBytes;
  }
  if ((layout & kTaImmediate) != 0) {
    store_be64(at, ub.extension.immediate);
    at += kUbImmediateBytes;
  } else if ((layout & kTaNotify) != 0) {
    encode(ub.extension.notify, at);
    at += kNotifyBytes;
  } else if ((layout & kTaInvalidate) != 0) {
    encode(ub.extension.invalidate, at);
    at += kInvalidateBytes;
  } else if ((layout & kTaMessage) != 0) {
    encode(ub.extension.message, at);
    at += kMessageExtensionBytes;
  } else if (operand_bytes(ub, layout) != 0) {
    at = encode_operands(ub, layout, at);
  }
  return at;
}

std::byte* encode_transaction(const UbPacket& ub, std::byte* at) {
  const std::uint32_t bytes = tah_bytes(ub);
  if (ub.transaction == UbTransaction::kRequest) {
    if (bytes == kTahBytes) {
      encode(ub.request, at);
    } else if (bytes == kTahCompactBytes) {
      encode_compact(ub.request, at);
    } else {
      encode_openurma(ub.request, at);
    }
    return encode_request_extensions(ub, at + bytes);
  }
  if (bytes == kTahBytes) {
    encode(ub.response, at);
  } else if (bytes == kTahCompactBytes) {
    encode_compact(ub.response, at);
  } else {
    encode_openurma(ub.response, at);
  }
  return at + bytes;
}

/// Reads forward through the bytes of one packet. Every take() is checked against the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  std::uint32_t left() const { return static_cast<std::uint32_t>(end_ - at_); }
  const std::byte* at() const { return at_; }
  /// The next `bytes` bytes, or null when there are not as many.
  const std::byte* take(std::uint32_t bytes) {
    if (left() < bytes) return nullptr;
    const std::byte* const taken = at_;
    at_ += bytes;
    return taken;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

DropReason decode_ack_extensions(Reader& reader, UbPacket& ub, Payload& payload) {
  const bool cetph = has_cetph(ub);
  const bool saetph = has_saetph(ub);
  if (!cetph && !saetph) return DropReason::kNone;
  UbPacket::AckExtension& ack = *std::construct_at(&ub.ack);
  if (cetph) {
    const std::byte* const at = reader.take(kCetphBytes);
    if (at == nullptr) return DropReason::kTruncated;
    ack.cetph = decode_cetph(at);
  }
  if (saetph) {
    const std::byte* const at = reader.take(kSaetphBytes);
    if (at == nullptr) return DropReason::kTruncated;
    if (!saetph_valid(at)) return DropReason::kBadSackSize;
    ack.saetph = decode_saetph(at);
    const std::uint32_t bytes = sack_bitmap_bytes(ack.saetph.size_code);
    const std::byte* const bitmap = reader.take(bytes);
    if (bitmap == nullptr) return DropReason::kTruncated;
    if (bytes > ack.sack_bitmap.size()) {
      payload = bytes_payload(bitmap, bytes);
    } else {
      std::memcpy(ack.sack_bitmap.data(), bitmap, bytes);
    }
  }
  return DropReason::kNone;
}

[[gnu::always_inline]] inline DropReason decode_entities(Reader& reader, TphNext next, UbPacket& ub,
                                                         UbDecoded& decoded) {
  switch (next) {
    case TphNext::kTransaction:
      ub.entities = UbEntities::kNone;
      return DropReason::kNone;
    case TphNext::kFullEntities: {
      const std::byte* const at = reader.take(entity_bytes(UbEntities::kFull));
      if (at == nullptr) return DropReason::kTruncated;
      ub.entities = UbEntities::kFull;
      ub.transport_partition = load_be32(at);
      decoded.entities = at + kFullUpihBytes;
      return DropReason::kNone;
    }
    case TphNext::kCompactEntities: {
      if (ub.transport != UbTransport::kCtp) return DropReason::kUnknownNextHeader;
      const std::byte* const at = reader.take(entity_bytes(UbEntities::kCompact));
      if (at == nullptr) return DropReason::kTruncated;
      ub.entities = UbEntities::kCompact;
      ub.transport_partition = load_be16(at) & 0x7fffU;
      ub.ctp.entities = decode_compact_eidh(at + kCompactUpihBytes);
      return DropReason::kNone;
    }
    case TphNext::kCiph:
      return DropReason::kUnknownNextHeader;
  }
  return DropReason::kUnknownNextHeader;
}

DropReason decode_operands(Reader& reader, UbPacket& ub, std::uint16_t layout) {
  AtomicOperands& operands = ub.extension.operands;
  if (is_openurma(ub)) {
    const std::byte* const at = reader.take(8);
    if (at == nullptr) return DropReason::kTruncated;
    const bool compare = ub.request.opcode == TaOpcode::kAtomicCompareSwap;
    (compare ? operands.compare : operands.operand) = load_be64(at);
    return DropReason::kNone;
  }
  const std::uint32_t width = ub.extension.maetah.length;
  if (width != 4 && width != 8 && width != 16) return DropReason::kBadPayloadLength;
  const std::byte* at = reader.take(width);
  if (at == nullptr) return DropReason::kTruncated;
  decode_operand(at, width, operands.operand, operands.operand_high);
  if ((layout & kTaCompare) != 0) {
    at = reader.take(width);
    if (at == nullptr) return DropReason::kTruncated;
    decode_operand(at, width, operands.compare, operands.compare_high);
  }
  return DropReason::kNone;
}

void decode_address(const std::byte* at, UbPacket& ub) {
  if (is_openurma(ub)) {
    ub.extension.maetah = decode_openurma_maetah(at);
  } else if (!compact_transaction(ub)) {
    ub.extension.maetah = decode_maetah(at);
  } else {
    const CompactMaetah compact = decode_compact_maetah(at);
    ub.extension.maetah = Maetah{compact.address, compact.token_id, compact_length(compact.length_code)};
    ub.extension.affinity_hint = compact.affinity_hint;
    ub.extension.strong_order = compact.strong_order;
  }
}

DropReason decode_request_extensions(Reader& reader, UbPacket& ub, std::uint16_t layout) {
  const std::byte* at = reader.take(address_extension_bytes(ub, layout));
  if (at == nullptr) return DropReason::kTruncated;
  if ((layout & kTaAddress) != 0) {
    decode_address(at, ub);
    at += compact_transaction(ub) ? kCompactMaetahBytes : kMaetahBytes;
  }
  if (has_token_value(ub, layout)) {
    ub.extension.token_value = load_be32(at);
    at += kTvetahBytes;
  }
  if ((layout & kTaTarget) != 0 || ub.request.target_present) ub.extension.mtetah = decode_mtetah(at);

  if (operand_bytes(ub, layout) != 0) return decode_operands(reader, ub, layout);
  // An atomic that announces operands of no bytes.
  if ((layout & kTaOperand) != 0) return DropReason::kBadPayloadLength;
  const std::uint32_t block = inline_block_bytes(layout);
  if (block == 0) return DropReason::kNone;
  at = reader.take(block);
  if (at == nullptr) return DropReason::kTruncated;
  if ((layout & kTaImmediate) != 0) {
    ub.extension.immediate = load_be64(at);
  } else if ((layout & kTaNotify) != 0) {
    std::construct_at(&ub.extension.notify, decode_notify(at));
  } else if ((layout & kTaInvalidate) != 0) {
    std::construct_at(&ub.extension.invalidate, decode_invalidate(at));
  } else {
    std::construct_at(&ub.extension.message, decode_message_extension(at));
  }
  return DropReason::kNone;
}

DropReason decode_response_header(const std::byte* at, std::uint32_t bytes, UbPacket& ub) {
  ub.transaction = UbTransaction::kResponse;
  if (bytes == kTahBytes) {
    ::new (&ub.response) Atah(decode_atah(at));
  } else if (bytes == kTahCompactBytes) {
    ::new (&ub.response) Atah(decode_compact_atah(at));
  } else {
    ::new (&ub.response) Atah(decode_openurma_atah(at));
  }
  const Atah& atah = ub.response;
  if (atah.version != 0) return DropReason::kBadTransportVersion;
  if (static_cast<std::uint8_t>(atah.requester_type) == 3) return DropReason::kBadRequesterType;
  return DropReason::kNone;
}

DropReason decode_request_header(const std::byte* at, std::uint32_t bytes, UbPacket& ub) {
  ub.transaction = UbTransaction::kRequest;
  if (bytes == kTahBytes) {
    ::new (&ub.request) Btah(decode_btah(at));
  } else if (bytes == kTahCompactBytes) {
    ::new (&ub.request) Btah(decode_compact_btah(at));
  } else {
    ::new (&ub.request) Btah(decode_openurma_btah(at));
  }
  const Btah& btah = ub.request;
  if (btah.version != 0) return DropReason::kBadTransportVersion;
  if (static_cast<std::uint8_t>(btah.requester_type) == 3) return DropReason::kBadRequesterType;
  if (btah.user_defined) return DropReason::kUnsupportedHeader;
  return DropReason::kNone;
}

/// The bytes after a packet that has no data: nothing, or in a short P2 frame the zeros that fill it up to 60
/// bytes.
DropReason decode_no_data(const Reader& reader, std::uint32_t transport_bytes, const UbPacket& ub,
                          UbDecoded& decoded) {
  const std::uint32_t rest = reader.left();
  if (rest == 0) return DropReason::kNone;
  const bool padded_frame =
      is_openurma(ub) && transport_bytes + kOpenUrmaNetworkBytes == kEthernetFrameBytesMin - kFcsBytes &&
      std::all_of(reader.at(), reader.at() + rest, [](std::byte byte) { return byte == std::byte{0}; });
  if (!padded_frame) return DropReason::kBadPayloadLength;
  decoded.trailing_bytes = rest;
  return DropReason::kNone;
}

DropReason decode_data(const Reader& reader, std::uint32_t pad, const UbPacket& ub, Payload& payload) {
  const std::uint32_t rest = reader.left();
  if (pad > rest || pad != ub_pad(ub, rest - pad)) return DropReason::kBadPadding;
  const std::byte* const end = reader.at() + rest;
  for (std::uint32_t i = 1; i <= pad; ++i)
    if (*(end - i) != std::byte{0}) return DropReason::kBadPadding;
  payload = bytes_payload(reader.at(), rest - pad);
  return DropReason::kNone;
}

/// RTPH, UTPH or CTPH with the extensions and entities after it. `pad` is its Pad field.
DropReason decode_transport_header(Reader& reader, UbPacket& ub, Payload& payload, UbDecoded& decoded,
                                   std::uint32_t& pad) {
  pad = 0;
  ub.entities = UbEntities::kNone;
  if (ub.transport == UbTransport::kBypass) return DropReason::kNone;
  const bool ip = ub.encapsulation == UbEncapsulation::kUdp || ub.encapsulation == UbEncapsulation::kIpOnLink;
  if (ip && ub.transport == UbTransport::kRtp && reader.left() > kCtphBytes &&
      is_compact_behind_udp(reader.at()))
    ub.transport = UbTransport::kCtp;
  if (ub.transport == UbTransport::kCtp) {
    const std::byte* const at = reader.take(kCtphBytes);
    if (at == nullptr) return DropReason::kTruncated;
    const Ctph ctph = decode_ctph(at);
    if (ctph.opcode != CtpOpcode::kData && ctph.opcode != CtpOpcode::kCnp)
      return DropReason::kUnknownTransport;
    std::construct_at(&ub.ctp)->opcode = ctph.opcode;
    pad = ctph.pad;
    return decode_entities(reader, ctph.next, ub, decoded);
  }
  const std::byte* const at = reader.take(kRtphBytes);
  if (at == nullptr) return DropReason::kTruncated;
  // Built where it stays: copying a structure of bytes right after writing it stalls on the stores.
  Rtph& rtph = *::new (&ub.rtph) Rtph(decode_rtph(at));
  const TphNext next = rtph.next;
  if (ip && rtph.opcode == TpOpcode::kUnreliable) ub.transport = UbTransport::kUtp;
  if (rtph.version != 0) return DropReason::kBadTransportVersion;
  pad = rtph.pad;
  rtph.pad = 0;
  rtph.next = TphNext::kTransaction;
  if (ub.transport == UbTransport::kUtp) {
    if (rtph.opcode != TpOpcode::kUnreliable) return DropReason::kUnknownTransport;
    const bool last = rtph.last;
    rtph = Rtph{};
    rtph.opcode = TpOpcode::kUnreliable;
    rtph.last = last;
    return decode_entities(reader, next, ub, decoded);
  }
  switch (rtph.opcode) {
    case TpOpcode::kReliable:
    case TpOpcode::kAck:
    case TpOpcode::kAckCetph:
    case TpOpcode::kNakDeprecated:
    case TpOpcode::kSack:
    case TpOpcode::kSackCetph:
    case TpOpcode::kCnp:
      break;
    case TpOpcode::kUnreliable:
    default:
      return DropReason::kUnknownTransport;
  }
  if (const DropReason reason = decode_ack_extensions(reader, ub, payload); reason != DropReason::kNone)
    return reason;
  return decode_entities(reader, next, ub, decoded);
}

constexpr bool is_acknowledgement(const UbPacket& ub) {
  return ub.transport == UbTransport::kRtp && ub.rtph.opcode != TpOpcode::kReliable &&
         ub.rtph.opcode != TpOpcode::kCnp;
}

constexpr bool is_notification(const UbPacket& ub) {
  return (ub.transport == UbTransport::kRtp && ub.rtph.opcode == TpOpcode::kCnp) ||
         (ub.transport == UbTransport::kCtp && ub.ctp.opcode == CtpOpcode::kCnp);
}

}  // namespace

std::uint32_t ub_header_bytes(const UbPacket& ub) {
  std::uint32_t bytes = entity_bytes(ub.entities);
  switch (ub.transport) {
    case UbTransport::kRtp:
      bytes += kRtphBytes;
      break;
    case UbTransport::kUtp:
      bytes += kUtphBytes;
      break;
    case UbTransport::kCtp:
      bytes += kCtphBytes;
      break;
    case UbTransport::kBypass:
      break;
  }
  if (has_cetph(ub)) bytes += kCetphBytes;
  if (has_saetph(ub)) bytes += kSaetphBytes + sack_bitmap_bytes(ub.ack.saetph.size_code);
  if (has_cnpetph(ub)) bytes += kCnpetphBytes;
  if (ub.transaction == UbTransaction::kNone) return bytes;
  bytes += tah_bytes(ub);
  if (ub.transaction == UbTransaction::kResponse) return bytes;
  const std::uint16_t layout = ta_layout(ub.request.opcode);
  if (layout == 0) return bytes;
  return bytes + address_extension_bytes(ub, layout) + inline_block_bytes(layout) + operand_bytes(ub, layout);
}

std::uint32_t ub_pad(const UbPacket& ub, std::uint32_t payload_length) {
  if (is_openurma(ub) || ub.transport == UbTransport::kBypass || payload_is_sack_bitmap(ub)) return 0;
  return (0U - payload_length) & 3U;
}

std::byte* encode_ub_headers(const UbPacket& ub, const Payload& payload, const FullEidh& entities,
                             std::byte* at) {
  const std::uint32_t pad = ub_pad(ub, payload.length);
  if (std::byte* const end = encode_plain_request(ub, pad, at)) return end;
  switch (ub.transport) {
    case UbTransport::kRtp:
      encode(ub.rtph, at);
      store_u8(at + 1, rtph_second_byte(pad, next_of(ub.entities)));
      at = encode_ack_extensions(ub, payload, at + kRtphBytes);
      break;
    case UbTransport::kUtp:
      encode(Utph{next_of(ub.entities), 0, static_cast<std::uint8_t>(pad), ub.rtph.last}, at);
      at += kUtphBytes;
      break;
    case UbTransport::kCtp:
      encode(Ctph{ub.ctp.opcode, next_of(ub.entities), static_cast<std::uint8_t>(pad)}, at);
      at += kCtphBytes;
      break;
    case UbTransport::kBypass:
      break;
  }
  if (ub.entities != UbEntities::kNone) at = encode_entities(ub, entities, at);
  if (has_cnpetph(ub)) {
    encode(ub.ack.cnp, at);
    return at + kCnpetphBytes;
  }
  return ub.transaction == UbTransaction::kNone ? at : encode_transaction(ub, at);
}

DropReason decode_ub(std::span<const std::byte> transport, UbPacket& ub, Payload& payload,
                     UbDecoded& decoded) {
  if (decode_plain_request(transport, ub, payload)) return DropReason::kNone;
  Reader reader(transport);
  const auto transport_bytes = static_cast<std::uint32_t>(transport.size());
  std::uint32_t pad = 0;
  payload = Payload{};
  ub.transaction = UbTransaction::kNone;
  DropReason reason = decode_transport_header(reader, ub, payload, decoded, pad);
  if (reason != DropReason::kNone) return reason;

  if (is_notification(ub)) {
    if (pad != 0) return DropReason::kBadPadding;
    if (has_cnpetph(ub)) {
      const std::byte* const at = reader.take(kCnpetphBytes);
      if (at == nullptr) return DropReason::kTruncated;
      std::construct_at(&ub.ack)->cnp = decode_cnpetph(at);
    }
    return decode_no_data(reader, transport_bytes, ub, decoded);
  }

  const std::uint32_t header = tah_bytes(ub);
  const bool acknowledgement = is_acknowledgement(ub);
  const bool response_follows =
      reader.left() >= header && (ta_layout(static_cast<TaOpcode>(load_u8(reader.at()))) & kTaResponse) != 0;
  if (acknowledgement && !response_follows) {
    if (pad != 0) return DropReason::kBadPadding;
    return decode_no_data(reader, transport_bytes, ub, decoded);
  }
  const std::byte* const at = reader.take(header);
  if (at == nullptr) return DropReason::kTruncated;
  std::uint16_t layout = kTaPayload;
  if (response_follows) {
    reason = decode_response_header(at, header, ub);
    if (reason != DropReason::kNone) return reason;
    layout = ta_layout(ub.response.opcode);
    // Choice: data is never fused into an acknowledgement, whose payload may be its bitmap.
    if (acknowledgement) layout &= static_cast<std::uint16_t>(~kTaPayload);
  } else {
    reason = decode_request_header(at, header, ub);
    if (reason != DropReason::kNone) return reason;
    if (ta_layout(ub.request.opcode) != 0) {
      layout = ta_layout(ub.request.opcode);
      reason = decode_request_extensions(reader, ub, layout);
      if (reason != DropReason::kNone) return reason;
    }
  }

  if ((layout & kTaPayload) == 0) {
    if (pad != 0) return DropReason::kBadPadding;
    return decode_no_data(reader, transport_bytes, ub, decoded);
  }
  reason = decode_data(reader, pad, ub, payload);
  if (reason != DropReason::kNone) return reason;
  if ((layout & kTaByteEnable) != 0) {
    const std::uint64_t data = ub.extension.maetah.length;
    if (payload.length != data + (data + 31) / 32 * 4) return DropReason::kBadPayloadLength;
  }
  return DropReason::kNone;
}

}  // namespace wharf::wire
