// SPDX-License-Identifier: Apache-2.0
#include "live/urma/peer_message.h"

#include <bit>

#include "base/bytes.h"
#include "engine/queues.h"
#include "engine/ub/config.h"
#include "live/urma/identity.h"
#include "wire/psn.h"

namespace wharf::live::urma {
namespace {

constexpr std::uint16_t kFirst = 0xffff;       // CC: mode 7.
constexpr std::uint32_t kMagic = 0x7755'524d;  // "wURM"
constexpr std::uint8_t kVersion = 1;

}  // namespace

bool is_peer_message(std::span<const std::byte> bytes) {
  return bytes.size() == kPeerMessageBytes && load_be16(bytes.data()) == kFirst &&
         load_be32(bytes.data() + 4) == kMagic;
}

void encode(const PeerMessage& message, std::span<std::byte, kPeerMessageBytes> out) {
  std::byte* at = out.data();
  store_be16(at, kFirst);
  store_u8(at + 2, kVersion);
  store_u8(at + 3, static_cast<std::uint8_t>(message.kind));
  store_be32(at + 4, kMagic);
  store_be64(at + 8, message.instance);
  store_be64(at + 16, message.cookie);
  store_be32(at + 24, message.own_number);
  store_be32(at + 28, message.peer_number);
  store_be32(at + 32, message.mtu);
  store_be32(at + 36, message.jetty);
  store_be32(at + 40, message.target);
  store_be32(at + 44, message.nonce);
  store_be32(at + 48, message.uasid);
  store_u8(at + 52, message.service);
  store_u8(at + 53, message.name);
  for (std::size_t pad = 54; pad < kPeerMessageBytes; ++pad) store_u8(at + pad, 0);
}

std::optional<PeerMessage> decode_peer_message(std::span<const std::byte> bytes) {
  if (!is_peer_message(bytes) || load_u8(bytes.data() + 2) != kVersion) return std::nullopt;
  const std::byte* at = bytes.data();
  const std::uint8_t kind = load_u8(at + 3);
  if (kind < static_cast<std::uint8_t>(PeerMessageKind::kHello) ||
      kind > static_cast<std::uint8_t>(PeerMessageKind::kUnbind)) {
    return std::nullopt;
  }
  PeerMessage message;
  message.kind = static_cast<PeerMessageKind>(kind);
  message.instance = load_be64(at + 8);
  message.cookie = load_be64(at + 16);
  message.own_number = load_be32(at + 24);
  message.peer_number = load_be32(at + 28);
  message.mtu = load_be32(at + 32);
  message.jetty = load_be32(at + 36);
  message.target = load_be32(at + 40);
  message.nonce = load_be32(at + 44);
  message.uasid = load_be32(at + 48);
  message.service = load_u8(at + 52);
  message.name = load_u8(at + 53);
  const bool numbers = message.own_number < wire::kPsnMask && message.peer_number < wire::kPsnMask;
  const bool mtu = std::has_single_bit(message.mtu) && message.mtu >= 64 && message.mtu <= 8192;
  const bool service = message.service <= static_cast<std::uint8_t>(engine::ServiceMode::kUnordered);
  if (!numbers || !mtu || !service || message.name >= ub::kFirstJettyId || message.uasid == 0 ||
      message.uasid > kUasidMask)
    return std::nullopt;
  return message;
}

// J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (Indocrypt 2012).
std::uint64_t cookie_of(std::uint32_t address, std::uint16_t port, const std::uint64_t (&secret)[2]) {
  std::uint64_t v0 = secret[0] ^ 0x736f'6d65'7073'6575U;
  std::uint64_t v1 = secret[1] ^ 0x646f'7261'6e64'6f6dU;
  std::uint64_t v2 = secret[0] ^ 0x6c79'6765'6e65'7261U;
  std::uint64_t v3 = secret[1] ^ 0x7465'6462'7974'6573U;
  const auto round = [&] {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  };
  const std::uint64_t last = std::uint64_t{8} << 56U;  // The length.
  for (const std::uint64_t word : {(std::uint64_t{address} << 16U) | port, last}) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace wharf::live::urma
