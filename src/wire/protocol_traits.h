// SPDX-License-Identifier: Apache-2.0
// What tells the protocols apart for whoever handles packets of all of them: names, and what their headers
// can say. Values, so that nobody else has to ask for a protocol by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/packet.h"

namespace wharf::wire {

/// In the order of the enumerators.
inline constexpr std::array<Protocol, 3> kProtocols{Protocol::kUb, Protocol::kRoce, Protocol::kUet};
inline constexpr std::size_t kProtocolCount = kProtocols.size();
constexpr std::size_t index_of(Protocol protocol) { return static_cast<std::size_t>(protocol); }

struct ProtocolName {
  std::string_view key;    ///< In scenarios and on command lines.
  std::string_view title;  ///< In sentences.
};
inline constexpr std::array<ProtocolName, kProtocolCount> kProtocolNames{
    {{"ub", "UB"}, {"roce", "RoCE"}, {"uet", "Ultra Ethernet"}}};
constexpr std::string_view key_of(Protocol protocol) { return kProtocolNames[index_of(protocol)].key; }
constexpr std::string_view title_of(Protocol protocol) { return kProtocolNames[index_of(protocol)].title; }

/// Whether there are packets of loads and stores beside those of work requests.
constexpr bool has_load_store(Protocol protocol) { return protocol == Protocol::kUb; }
/// Whether receivers learn from the wire that a packet was trimmed.
constexpr bool tells_trims(Protocol protocol) { return protocol == Protocol::kUet; }
/// Whether marks have a field of the protocol's own, whatever the IP header says.
constexpr bool has_own_mark(Protocol protocol) { return protocol == Protocol::kUb; }

/// Whether the headers say that the packet has been sent before. In an answer the same bit tells of what it
/// answers.
inline bool says_retransmitted(const Packet& packet) {
  const UetPrologue& uet = packet.uet.prologue;
  return packet.protocol == Protocol::kUet && uet.retransmitted() && !is_uet_ack(uet.type) &&
         !is_uet_nack(uet.type);
}

/// The packet sequence number, if the packet has one.
inline std::optional<std::uint32_t> sequence_number(const Packet& packet) {
  switch (packet.protocol) {
    case Protocol::kUb:
      if (packet.ub.transport == UbTransport::kRtp) return packet.ub.rtph.psn;
      return std::nullopt;
    case Protocol::kRoce:
      return packet.roce.bth.psn;
    case Protocol::kUet:
      if (packet.uet.prologue.type != UetPdsType::kUudRequest) return packet.uet.psn();
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace wharf::wire
