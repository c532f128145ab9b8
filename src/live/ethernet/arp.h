// SPDX-License-Identifier: Apache-2.0
// Address resolution of IPv4 on Ethernet: who has an address says which MAC address it has. [RFC 826]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "wire/ethernet.h"

namespace wharf::live {

inline constexpr std::size_t kArpBytes = 28;

enum class ArpOperation : std::uint16_t { kRequest = 1, kReply = 2 };

struct ArpMessage {
  ArpOperation operation = ArpOperation::kRequest;
  wire::MacAddress sender_mac{};
  std::uint32_t sender = 0;
  wire::MacAddress target_mac{};
  std::uint32_t target = 0;
};

inline void encode(const ArpMessage& message, std::byte* at) {
  store_be16(at, 1);  // Ethernet.
  store_be16(at + 2, static_cast<std::uint16_t>(wire::EtherType::kIpv4));
  store_u8(at + 4, 6);
  store_u8(at + 5, 4);
  store_be16(at + 6, static_cast<std::uint16_t>(message.operation));
  std::memcpy(at + 8, message.sender_mac.data(), 6);
  store_be32(at + 14, message.sender);
  std::memcpy(at + 18, message.target_mac.data(), 6);
  store_be32(at + 24, message.target);
}

/// What follows the Ethernet header; nothing when it is too short or about anything but IPv4 on Ethernet.
inline std::optional<ArpMessage> decode_arp(std::span<const std::byte> bytes) {
  if (bytes.size() < kArpBytes) return std::nullopt;
  const std::byte* at = bytes.data();
  const std::uint16_t operation = load_be16(at + 6);
  if (load_be16(at) != 1 || load_be16(at + 2) != static_cast<std::uint16_t>(wire::EtherType::kIpv4) ||
      load_u8(at + 4) != 6 || load_u8(at + 5) != 4 || operation < 1 || operation > 2) {
    return std::nullopt;
  }
  ArpMessage message;
  message.operation = static_cast<ArpOperation>(operation);
  std::memcpy(message.sender_mac.data(), at + 8, 6);
  message.sender = load_be32(at + 14);
  std::memcpy(message.target_mac.data(), at + 18, 6);
  message.target = load_be32(at + 24);
  return message;
}

}  // namespace wharf::live
