// SPDX-License-Identifier: Apache-2.0
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "wire/ipv6.h"
#include "wire/roce_bth.h"
#include "wire/udp.h"

namespace wharf::wire {
namespace {

// ISA-L takes a pointer to non-const in some versions and never writes through it.
std::uint32_t crc32(std::uint32_t crc, const std::byte* bytes, std::size_t length) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes), length);
}

/// Bytes that the CRC unit loads at once. Masked headers are moved in such blocks: bytes stored one by one
/// and loaded together stall the processor for longer than the whole CRC of a short packet takes.
using Block = std::uint64_t __attribute__((vector_size(16)));

/// Bits that count as ones, over IP, UDP and the beginning of the BTH.
alignas(16) constexpr std::uint8_t kMaskV4[48] = {0,    0xff, 0, 0, 0,    0,    0, 0, 0xff, 0, 0xff,
                                                  0xff, 0,    0, 0, 0,    0,    0, 0, 0,    0, 0,
                                                  0,    0,    0, 0, 0xff, 0xff, 0, 0, 0,    0, 0xff};
alignas(16) constexpr std::uint8_t kMaskV6[64] = {
    0x0f, 0xff, 0xff, 0xff, 0,   0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0,    0,     //
    0,    0,    0,    0,    0,   0, 0, 0,    0, 0, 0, 0, 0, 0, 0,    0,     //
    0,    0,    0,    0,    0,   0, 0, 0,    0, 0, 0, 0, 0, 0, 0xff, 0xff,  //
    0,    0,    0,    0,    0xff};

/// The CRC of `length` contiguous bytes, at least as many as `mask`, whose first bytes are masked.
template <std::size_t kHead>
std::uint32_t masked_crc(const std::uint8_t (&mask)[kHead], const std::byte* packet, std::size_t length) {
  alignas(16) std::byte head[kHead];
  for (std::size_t at = 0; at < kHead; at += sizeof(Block)) {
    Block block;
    Block ones;
    std::memcpy(&block, packet + at, sizeof block);
    std::memcpy(&ones, mask + at, sizeof ones);
    block |= ones;
    std::memcpy(head + at, &block, sizeof block);
  }
  const std::uint32_t crc = crc32(kIcrcSeed, head, kHead);
  return length == kHead ? crc : crc32(crc, packet + kHead, length - kHead);
}

}  // namespace

std::uint32_t icrc(IpVersion version, const std::byte* ip_and_udp, std::span<const std::byte> transport) {
  WHARF_CHECK(transport.size() >= kBthBytes);
  const std::size_t network_bytes = (version == IpVersion::kV4 ? kIpv4Bytes : kIpv6Bytes) + kUdpBytes;
  const std::size_t length = network_bytes + transport.size();
  const bool contiguous = ip_and_udp + network_bytes == transport.data();
  if (contiguous && version == IpVersion::kV4 && length >= sizeof kMaskV4)
    return masked_crc(kMaskV4, ip_and_udp, length);
  if (contiguous && version == IpVersion::kV6 && length >= sizeof kMaskV6)
    return masked_crc(kMaskV6, ip_and_udp, length);
  // Headers apart from the transport (datagrams), and packets shorter than the mask: gathered first.
  alignas(16) std::byte gathered[sizeof kMaskV6 + sizeof(Block)] = {};
  const std::size_t copied = std::min(transport.size(), sizeof kMaskV6 - network_bytes);
  std::memcpy(gathered, ip_and_udp, network_bytes);
  std::memcpy(gathered + network_bytes, transport.data(), copied);
  const std::uint8_t* const mask = version == IpVersion::kV4 ? kMaskV4 : kMaskV6;
  const std::size_t mask_bytes = version == IpVersion::kV4 ? sizeof kMaskV4 : sizeof kMaskV6;
  for (std::size_t at = 0; at < std::min(mask_bytes, network_bytes + kBthBytes); ++at)
    gathered[at] |= static_cast<std::byte>(mask[at]);
  const std::uint32_t crc = crc32(kIcrcSeed, gathered, network_bytes + copied);
  return copied == transport.size() ? crc : crc32(crc, transport.data() + copied, transport.size() - copied);
}

std::uint32_t ub_icrc(std::span<const std::byte> transport) {
  // ISA-L's CRC-32C leaves initial value and final complement to the caller.
  auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(transport.data()));
  return ~crc32_iscsi(bytes, static_cast<int>(transport.size()), 0xffff'ffffU);
}

}  // namespace wharf::wire
