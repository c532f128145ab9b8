// SPDX-License-Identifier: Apache-2.0
// What the two ends of perftest tell each other over TCP before and after the traffic, byte for byte as its
// version 4.5 sends it when the RoCE interface has a GID. Decoders refuse all that perftest does not write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "wire/psn.h"

namespace wharf::live {

inline constexpr std::size_t kKeyMessageBytes = 108;
inline constexpr std::size_t kVersionBytes = 16;
inline constexpr std::size_t kMtuBytes = 2;
/// The version of its exchange that perftest 4.5 names; it wants 5.70 at least.
inline constexpr const char* kPerftestVersion = "6.06";

using Gid = std::array<std::uint8_t, 16>;

/// Where a queue pair and its memory are: hexadecimal numbers between colons, and a zero byte.
struct KeyMessage {
  std::uint16_t local_id = 0;           ///< Of InfiniBand; 0 on Ethernet.
  std::uint32_t outstanding_reads = 1;  ///< READs and atomics that this end answers at a time.
  std::uint32_t queue_number = 0;       ///< 24 bits.
  wire::Psn starting_psn = 0;           ///< Of what this end sends.
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  Gid gid{};
  std::uint32_t shared_receive_queue = 0;

  bool operator==(const KeyMessage&) const = default;
};

using KeyBytes = std::array<std::byte, kKeyMessageBytes>;

/// Numbers are cut to the digits that they have in the message.
KeyBytes encode(const KeyMessage& message);
/// Refuses other lengths, characters and separators, and numbers out of range. What it accepts encodes to the
/// same bytes.
Result<KeyMessage> decode_key_message(std::span<const std::byte> bytes);

/// The GID of an IPv4 address: ::ffff:a.b.c.d. [IBTA vol 1 Annex A17: IPv4-mapped]
Gid gid_of(std::uint32_t address);
/// The IPv4 address of such a GID; refuses others, which are IPv6 addresses.
Result<std::uint32_t> address_of(const Gid& gid);

/// The path MTU as one digit, 1 for 256 bytes to 5 for 4096, and a zero byte.
std::array<std::byte, kMtuBytes> encode_path_mtu(std::uint32_t bytes);
Result<std::uint32_t> decode_path_mtu(std::span<const std::byte> bytes);

/// The text padded with zero bytes.
std::array<std::byte, kVersionBytes> encode_version();
/// Refuses what is no version and those before 5.70, whose exchange is another.
Result<void> check_version(std::span<const std::byte> bytes);

}  // namespace wharf::live
