// SPDX-License-Identifier: Apache-2.0
#include "live/urma/identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "base/descriptor.h"

namespace wharf::live::urma {
namespace {

constexpr std::size_t kSiteBytes = 8;  // fd, 40 bits of site, 16 of subnet: 0.
constexpr std::array<std::uint8_t, 4> kMark{'w', 's', 'h', 'm'};

std::array<std::uint8_t, kSiteBytes>& site() {
  static std::array<std::uint8_t, kSiteBytes> bytes{};
  return bytes;
}

/// FNV-1a.
std::uint64_t mix(std::uint64_t hash, const void* bytes, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    hash = (hash ^ static_cast<const std::uint8_t*>(bytes)[at]) * 0x100'0000'01b3U;
  }
  return hash;
}

}  // namespace

void find_site() {
  std::array<char, 64> boot{};
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t got = file.open() ? ::read(file.number(), boot.data(), boot.size()) : 0;
  std::uint64_t hash = mix(0xcbf2'9ce4'8422'2325U, boot.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  struct stat network {};
  if (::stat("/proc/self/ns/net", &network) == 0) hash = mix(hash, &network.st_ino, sizeof network.st_ino);
  const uid_t user = ::geteuid();
  hash = mix(hash, &user, sizeof user);
  site() = {0xfd};
  for (unsigned at = 0; at < 5; ++at) site()[1 + at] = static_cast<std::uint8_t>(hash >> (8 * at));
}

urma_eid_t eid_of(std::uint32_t address) {
  urma_eid_t eid = mapped_eid(address);
  if (!is_shared_memory(address)) return eid;
  std::memcpy(eid.raw, site().data(), kSiteBytes);
  std::memcpy(eid.raw + kSiteBytes, kMark.data(), kMark.size());
  return eid;
}

std::optional<std::uint32_t> address_of(const urma_eid_t& eid) {
  std::uint32_t address = 0;
  for (unsigned i = 12; i < 16; ++i) address = (address << 8U) | eid.raw[i];
  const urma_eid_t own = eid_of(address);  // Of whichever kind the number is.
  if (std::memcmp(own.raw, eid.raw, sizeof own.raw) != 0) return std::nullopt;
  return address;
}

}  // namespace wharf::live::urma
