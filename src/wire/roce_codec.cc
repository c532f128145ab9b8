// SPDX-License-Identifier: Apache-2.0
#include "wire/roce_codec.h"

#include <cstring>
#include <memory>

#include "base/check.h"

namespace wharf::wire {

std::byte* encode_roce_headers(const RocePacket& roce, std::uint32_t payload_length, std::byte* at) {
  const std::uint16_t headers = roce_headers(roce.bth.opcode);
  WHARF_CHECK((headers & kRoceKnown) != 0);
  encode(roce.bth, at);
  // The pad count is the payload's to say, not the structure's.
  store_u8(at + 1, static_cast<std::uint8_t>((load_u8(at + 1) & 0xcfU) | (roce_pad(payload_length) << 4U)));
  at += kBthBytes;
  if ((headers & kRoceFeth) != 0) {
    encode(roce.feth, at);
    at += kFethBytes;
  }
  if ((headers & kRoceDeth) != 0) {
    encode(roce.deth, at);
    at += kDethBytes;
  }
  if ((headers & kRoceReth) != 0) {
    encode(roce.reth, at);
    at += kRethBytes;
  }
  if ((headers & kRoceAtomicEth) != 0) {
    encode(roce.atomic, at);
    at += kAtomicEthBytes;
  }
  if ((headers & kRoceAeth) != 0) {
    encode(roce.ack.aeth, at);
    at += kAethBytes;
  }
  if ((headers & kRoceAtomicAckEth) != 0) {
    store_be64(at, roce.ack.atomic_original);
    at += kAtomicAckEthBytes;
  }
  if ((headers & kRoceImmediate) != 0) {
    store_be32(at, roce.immediate);
    at += kImmediateBytes;
  }
  if ((headers & kRoceIeth) != 0) {
    store_be32(at, roce.invalidate_key);
    at += kIethBytes;
  }
  if ((headers & kRoceCnpReserved) != 0) {
    std::memset(at, 0, kCnpReservedBytes);
    at += kCnpReservedBytes;
  }
  return at;
}

DropReason decode_roce(std::span<const std::byte> transport, RocePacket& roce, Payload& payload) {
  if (transport.size() < kBthBytes) return DropReason::kTruncated;
  const std::byte* at = transport.data();
  ::new (&roce.bth) Bth(decode_bth(at));
  const std::uint16_t headers = roce_headers(roce.bth.opcode);
  if ((headers & kRoceKnown) == 0) return DropReason::kUnknownOpcode;
  if (roce.bth.version != 0) return DropReason::kBadTransportVersion;
  const std::uint32_t header_bytes = roce_header_bytes(roce);
  if (transport.size() < header_bytes) return DropReason::kTruncated;
  at += kBthBytes;
  if ((headers & kRoceFeth) != 0) {
    roce.feth = decode_feth(at);
    at += kFethBytes;
  }
  if ((headers & kRoceDeth) != 0) {
    std::construct_at(&roce.deth, decode_deth(at));
    at += kDethBytes;
  }
  if ((headers & kRoceReth) != 0) {
    std::construct_at(&roce.reth, decode_reth(at));
    at += kRethBytes;
  }
  if ((headers & kRoceAtomicEth) != 0) {
    std::construct_at(&roce.atomic, decode_atomic_eth(at));
    at += kAtomicEthBytes;
  }
  if ((headers & kRoceAeth) != 0) {
    std::construct_at(&roce.ack)->aeth = decode_aeth(at);
    at += kAethBytes;
  }
  if ((headers & kRoceAtomicAckEth) != 0) {
    roce.ack.atomic_original = load_be64(at);
    at += kAtomicAckEthBytes;
  }
  if ((headers & kRoceImmediate) != 0) {
    roce.immediate = load_be32(at);
    at += kImmediateBytes;
  }
  if ((headers & kRoceIeth) != 0) {
    roce.invalidate_key = load_be32(at);
    at += kIethBytes;
  }

  const auto rest = static_cast<std::uint32_t>(transport.size()) - header_bytes;
  if ((headers & kRocePayload) == 0) {
    payload = Payload{};
    if (rest != 0) return DropReason::kBadPayloadLength;
    return roce.bth.pad == 0 ? DropReason::kNone : DropReason::kBadPadding;
  }
  // A pad beyond what completes the last word is as wrong as one that does not complete it.
  if (rest % 4 != 0 || rest < roce.bth.pad) return DropReason::kBadPadding;
  const std::byte* const end = transport.data() + transport.size();
  for (std::uint32_t i = 1; i <= roce.bth.pad; ++i)
    if (*(end - i) != std::byte{0}) return DropReason::kBadPadding;
  payload = bytes_payload(transport.data() + header_bytes, rest - roce.bth.pad);
  return DropReason::kNone;
}

}  // namespace wharf::wire
