// SPDX-License-Identifier: Apache-2.0
// The address of an endpoint as two control planes exchange it out of band: the bytes of export_queue() and
// connect(). Choice: the UET address of libfabric packed to 32 big-endian bytes of fixed length, because MPI
// exchanges addresses of one size: version, flags, fep_cap, reserved, FA 16, PIDonFEP 2, first RI 2, RI count
// 2, generation and reserved 2, initiator 4. JobIDs are not in it: an 8-byte tail adds JobID and host number.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/contract.h"
#include "engine/uet/config.h"
#include "wire/host_address.h"

namespace wharf::uet {

// Flags.
inline constexpr std::uint8_t kAddressHasCapabilities = 0x01;
inline constexpr std::uint8_t kAddressHasFa = 0x02;
inline constexpr std::uint8_t kAddressHasPid = 0x04;
inline constexpr std::uint8_t kAddressHasRi = 0x08;
inline constexpr std::uint8_t kAddressHasInitiator = 0x10;
inline constexpr std::uint8_t kAddressAbsolute = 0x20;
inline constexpr std::uint8_t kAddressIpv6 = 0x40;
inline constexpr std::uint8_t kAddressOneMtu = 0x80;
// fep_cap.
inline constexpr std::uint8_t kCapabilityAiBase = 0x01;
inline constexpr std::uint8_t kCapabilityAiFull = 0x02;
inline constexpr std::uint8_t kCapabilityHpc = 0x04;
inline constexpr std::uint8_t kCapabilitySmallHeader = 0x80;

struct EndpointBlob {
  wire::HostAddress host;
  EndpointAddress address;
  std::uint32_t initiator_id = 0;
  std::uint8_t generation = 0;
  std::uint8_t capabilities = kCapabilityAiBase | kCapabilityAiFull | kCapabilityHpc;
};

inline constexpr std::size_t kAddressBytes = 32;
inline constexpr std::size_t kEndpointBlobBytes = kAddressBytes + 8;

engine::ExchangeBlob encode(const EndpointBlob& blob);
/// Refuses a wrong length, an unknown version and values outside their ranges.
Result<EndpointBlob> decode_endpoint_blob(std::span<const std::byte> bytes);

}  // namespace wharf::uet
