// SPDX-License-Identifier: Apache-2.0
#include "wire/icrc.h"

#include <isa-l/crc.h>

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

constexpr std::byte kOnes{0xff};

}  // namespace

std::uint32_t icrc(IpVersion version, const std::byte* ip_and_udp, std::span<const std::byte> transport) {
  WHARF_CHECK(transport.size() >= kBthBytes);
  const std::size_t network_bytes = (version == IpVersion::kV4 ? kIpv4Bytes : kIpv6Bytes) + kUdpBytes;
  // Headers are masked in a small copy. Short packets (acknowledgements, read requests) go into it whole,
  // because a second call costs more than copying them.
  constexpr std::size_t kCopied = 128;
  std::byte masked[kIpv6Bytes + kUdpBytes + kCopied];
  std::memcpy(masked, ip_and_udp, network_bytes);
  if (version == IpVersion::kV4) {
    masked[1] = kOnes;
    masked[8] = kOnes;
    masked[10] = masked[11] = kOnes;
  } else {
    masked[0] |= std::byte{0x0f};
    masked[1] = masked[2] = masked[3] = kOnes;
    masked[7] = kOnes;
  }
  masked[network_bytes - 2] = masked[network_bytes - 1] = kOnes;
  std::byte* const bth = masked + network_bytes;
  const std::size_t copied = transport.size() <= kCopied ? transport.size() : std::size_t{kBthBytes};
  std::memcpy(bth, transport.data(), copied);
  bth[4] = kOnes;
  const std::uint32_t crc = crc32(kIcrcSeed, masked, network_bytes + copied);
  if (copied == transport.size()) return crc;
  return crc32(crc, transport.data() + copied, transport.size() - copied);
}

std::uint32_t ub_icrc(std::span<const std::byte> transport) {
  // ISA-L's CRC-32C leaves initial value and final complement to the caller.
  auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(transport.data()));
  return ~crc32_iscsi(bytes, static_cast<int>(transport.size()), 0xffff'ffffU);
}

}  // namespace wharf::wire
