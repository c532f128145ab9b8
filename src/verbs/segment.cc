// SPDX-License-Identifier: Apache-2.0
#include "verbs/segment.h"

#include <string>

#include "base/bytes.h"

namespace wharf::verbs {
namespace {

constexpr std::uint32_t kReadBit = 1;
constexpr std::uint32_t kWriteBit = 2;
constexpr std::uint32_t kAtomicBit = 4;

}  // namespace

std::array<std::byte, kRemoteSegmentBytes> encode(const RemoteSegment& segment) {
  std::array<std::byte, kRemoteSegmentBytes> out{};
  std::byte* at = out.data();
  store_be64(at, segment.base);
  store_be64(at + 8, segment.length);
  store_be32(at + 16, segment.token.id);
  store_be32(at + 20, segment.token.value);
  const std::uint32_t rights = (segment.rights.remote_read ? kReadBit : 0U) |
                               (segment.rights.remote_write ? kWriteBit : 0U) |
                               (segment.rights.remote_atomic ? kAtomicBit : 0U);
  store_be32(at + 24, rights);
  return out;
}

Result<RemoteSegment> decode_remote_segment(std::span<const std::byte> bytes) {
  if (bytes.size() != kRemoteSegmentBytes) {
    return input_error("a segment description is " + std::to_string(bytes.size()) + " bytes long, expected " +
                       std::to_string(kRemoteSegmentBytes));
  }
  const std::byte* at = bytes.data();
  const std::uint32_t rights = load_be32(at + 24);
  if ((rights & ~(kReadBit | kWriteBit | kAtomicBit)) != 0) {
    return input_error("a segment description has unknown access rights " + std::to_string(rights) +
                       ", expected a sum of 1 (read), 2 (write) and 4 (atomic)");
  }
  RemoteSegment segment;
  segment.base = load_be64(at);
  segment.length = load_be64(at + 8);
  segment.token = {load_be32(at + 16), load_be32(at + 20)};
  segment.rights = {.remote_read = (rights & kReadBit) != 0,
                    .remote_write = (rights & kWriteBit) != 0,
                    .remote_atomic = (rights & kAtomicBit) != 0};
  return segment;
}

}  // namespace wharf::verbs
