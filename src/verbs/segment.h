// SPDX-License-Identifier: Apache-2.0
// Registered memory and the credentials that name it on the wire.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "verbs/access_order.h"

namespace wharf::verbs {

/// Which of its host's address spaces an address belongs to: a process or guest, as UASID and PCIe's PASID
/// name them. 0: the host has one.
using AddressSpaceId = std::uint32_t;

/// What a segment's owner lets others do. Remote atomics need read and write as well (UB-Base 2.0.1, URMA
/// API).
struct AccessRights {
  bool remote_read = false;
  bool remote_write = false;
  bool remote_atomic = false;

  bool operator==(const AccessRights&) const = default;
};

inline constexpr AccessRights kReadOnly{.remote_read = true};
inline constexpr AccessRights kFullAccess{.remote_read = true, .remote_write = true, .remote_atomic = true};

/// Names a segment on the wire and proves the right to use it.
/// URMA: TokenID (20 bits) and TokenValue. Verbs: `id` is the rkey and `value` is unused.
struct SegmentToken {
  std::uint32_t id = 0;
  std::uint32_t value = 0;

  auto operator<=>(const SegmentToken&) const = default;
};

/// A place in some host's registered memory.
struct RemoteAddress {
  std::uint64_t address = 0;
  SegmentToken token;
};

/// What to register. `base` must not be zero; `length` may be zero.
struct SegmentConfig {
  std::uint64_t base = 0;
  std::uint64_t length = 0;
  AccessRights rights = kFullAccess;
  /// URMA: the secret that must accompany the TokenID; no value is checked when `check_value` is false
  /// (policy NONE).
  std::uint32_t token_value = 0;
  bool check_value = true;
  /// Queue pairs: the protection domain; only queue pairs of the same one may use the segment (IBTA vol
  /// 1 10.2.3).
  std::uint32_t domain = 0;
  /// The address space of `base`; accesses to the segment carry it.
  AddressSpaceId space = 0;
  /// The order label that remote reads of this segment get at the memory port.
  AccessOrder read_order = AccessOrder::kRelaxed;
  /// The order label that remote writes of this segment get at the memory port.
  AccessOrder write_order = AccessOrder::kRelaxed;
};

/// What the owner of a segment hands to those who may use it.
struct RemoteSegment {
  std::uint64_t base = 0;
  std::uint64_t length = 0;
  SegmentToken token;
  AccessRights rights;

  /// The address `offset` bytes into the segment.
  RemoteAddress at(std::uint64_t offset) const { return {base + offset, token}; }
};

/// Bytes of an encoded RemoteSegment.
inline constexpr std::size_t kRemoteSegmentBytes = 28;
/// The exchange form: base 8, length 8, token id 4, token value 4, rights 4, big-endian.
std::array<std::byte, kRemoteSegmentBytes> encode(const RemoteSegment& segment);
/// Reads the exchange form; refuses a wrong length or unknown rights bits.
Result<RemoteSegment> decode_remote_segment(std::span<const std::byte> bytes);

}  // namespace wharf::verbs
