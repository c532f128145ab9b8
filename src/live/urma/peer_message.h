// SPDX-License-Identifier: Apache-2.0
// What the libraries of two processes tell each other, over the socket of their packets: who they are, which
// number each gives the other, and which jettys have their order kept by the target. UB-Base 2.0.1 leaves the
// bodies of connection management to each stack. A message begins with bits that no UB packet has: a
// congestion mode that is reserved (5.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wharf::live::urma {

enum class PeerMessageKind : std::uint8_t {
  kHello = 1,  ///< Asks for a channel. Carries the cookie of the last kProve, or 0.
  kProve,      ///< Answers a kHello without the right cookie: send it again with this one. Nothing is kept.
  kWelcome,    ///< The channel is there.
  kBind,       ///< Jetty `jetty` will send to `target` in a service mode other than ROI, or by a name.
  kBound,      ///< It may.
  kBye,        ///< The sender ends.
  kNotBound,   ///< It may not: there are too many.
  kUnbind,     ///< It will not send any more.
};

struct PeerMessage {
  PeerMessageKind kind = PeerMessageKind::kHello;
  std::uint8_t service = 0;       ///< kBind: engine::ServiceMode.
  std::uint8_t name = 0;          ///< kBind: the well-known number of the jetty, or 0.
  std::uint64_t instance = 0;     ///< The sender's own, random: tells lives apart, and strangers.
  std::uint64_t cookie = 0;       ///< Proves that the sender receives at its address.
  std::uint32_t uasid = 0;        ///< The sender's.
  std::uint32_t own_number = 0;   ///< What the sender calls the receiver,
  std::uint32_t peer_number = 0;  ///< and the receiver the sender; 0: not known.
  std::uint32_t mtu = 0;          ///< Payload bytes of a packet at most.
  std::uint32_t jetty = 0;
  std::uint32_t target = 0;
  std::uint32_t nonce = 0;  ///< Of this binding.

  bool operator==(const PeerMessage&) const = default;
};

inline constexpr std::size_t kPeerMessageBytes = 56;

/// Whether a datagram is one of these rather than a packet.
bool is_peer_message(std::span<const std::byte> bytes);
void encode(const PeerMessage& message, std::span<std::byte, kPeerMessageBytes> out);
/// Nothing for a wrong length, version, kind, service mode or name, and for a UASID or number that cannot be.
std::optional<PeerMessage> decode_peer_message(std::span<const std::byte> bytes);

/// The cookie of a sender, under a secret of the receiver (SipHash-2-4).
std::uint64_t cookie_of(std::uint32_t address, std::uint16_t port, const std::uint64_t (&secret)[2]);

}  // namespace wharf::live::urma
