// SPDX-License-Identifier: Apache-2.0
// The straight way through the codec of Unified Bus: Write and Read with the full headers of profile P1 and
// without entities, which is what most packets are. Whatever is not exactly that takes the general way of
// ub_codec.cc, which also names what is wrong with a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/bytes.h"
#include "wire/payload.h"
#include "wire/ub_packet.h"

namespace wharf::wire {

/// Whether a request of this layout has an address after its header, then data or nothing: Write and Read.
constexpr bool is_plain_layout(std::uint16_t layout) {
  return (layout & ~std::uint32_t{kTaPayload}) == (kTaKnown | kTaAddress);
}

/// Whether packets have the headers of profile P1 in full: RTPH and 8-byte transaction headers.
constexpr bool has_full_headers(const UbPacket& ub) {
  return ub.transport == UbTransport::kRtp && profile(ub.encapsulation) == UbProfile::kP1Rtp;
}

/// A plain request as reliable data without entities, which is what most packets are: written in one line,
/// without asking header by header. Null (and nothing written) for every other packet.
inline std::byte* encode_plain_request(const UbPacket& ub, std::uint32_t pad, std::byte* at) {
  const Btah& btah = ub.request;
  if (!has_full_headers(ub) || ub.rtph.opcode != TpOpcode::kReliable || ub.entities != UbEntities::kNone ||
      ub.transaction != UbTransaction::kRequest || btah.target_present ||
      !is_plain_layout(ta_layout(btah.opcode)))
    return nullptr;
  encode(ub.rtph, at);
  store_u8(at + 1, rtph_second_byte(pad, TphNext::kTransaction));
  encode(btah, at + kRtphBytes);
  encode(ub.extension.maetah, at + kRtphBytes + kTahBytes);
  at += kRtphBytes + kTahBytes + kMaetahBytes;
  if (!btah.token_value_present) return at;
  store_be32(at, ub.extension.token_value);
  return at + kTvetahBytes;
}

/// The same packets, read. False (and nothing changed) for every other packet and for all that is wrong with
/// one, which the general way will name.
inline bool decode_plain_request(std::span<const std::byte> transport, UbPacket& ub, Payload& payload) {
  constexpr std::uint32_t kHeaders = kRtphBytes + kTahBytes + kMaetahBytes;
  if (!has_full_headers(ub) || transport.size() < kHeaders) return false;
  const std::byte* const at = transport.data();
  const std::uint32_t first = load_be16(at);
  // TPOpcode, TPVer and NLP as they have to be; Last and Pad as they like.
  if ((first & 0x7fcfU) != static_cast<std::uint32_t>(TpOpcode::kReliable) << 8U) return false;
  const std::byte* const tah = at + kRtphBytes;
  const std::uint32_t request = load_be32(tah);
  const std::uint32_t requester = load_be32(tah + 4);
  constexpr std::uint32_t kVersionAndUserDefined = (3U << 22U) | (1U << 16U);
  constexpr std::uint32_t kTargetPresent = 1U << 27U;
  constexpr std::uint32_t kNoRequesterType = 3U << 20U;
  const std::uint16_t layout = ta_layout(static_cast<TaOpcode>(request >> 24U));
  if (!is_plain_layout(layout) || (request & kVersionAndUserDefined) != 0 ||
      (requester & kTargetPresent) != 0 || (requester & kNoRequesterType) == kNoRequesterType)
    return false;
  const bool token_value = (request & (1U << 19U)) != 0;
  const std::uint32_t headers = kHeaders + (token_value ? kTvetahBytes : 0);
  const auto bytes = static_cast<std::uint32_t>(transport.size());
  if (bytes < headers) return false;
  const std::uint32_t rest = bytes - headers;
  const std::uint32_t pad = (first >> 4U) & 3U;
  if (rest == 0) {
    if (pad != 0) return false;
  } else {
    // Data and pad fill whole words, and the pad at the end of the last one is zero.
    if ((layout & kTaPayload) == 0 || rest % 4 != 0) return false;
    if ((load_be32(at + bytes - 4) & ((1U << (8 * pad)) - 1U)) != 0) return false;
  }

  Rtph& rtph = *::new (&ub.rtph) Rtph(decode_rtph(at));
  rtph.pad = 0;
  ub.entities = UbEntities::kNone;
  ub.transaction = UbTransaction::kRequest;
  ::new (&ub.request) Btah(decode_btah(tah));
  ub.extension.maetah = decode_maetah(tah + kTahBytes);
  if (token_value) ub.extension.token_value = load_be32(tah + kTahBytes + kMaetahBytes);
  payload = (layout & kTaPayload) == 0 ? Payload{} : bytes_payload(at + headers, rest - pad);
  return true;
}

}  // namespace wharf::wire
