// SPDX-License-Identifier: Apache-2.0
// What is read here was found in what UCX 1.13.1 writes, and by giving it back changed (peer_blobs_test.cc).
//
//   address  | header (1) | worker (8) | device ... |
//   device   | memory domain, flags (1) | last? length (1) | its address | transport ... |
//   transport| checksum of its name (2) | speed and abilities (16) | last? length (1) | its address |
//   key      | memory domains, a bit each (8) | kind of memory (1) | for each of them: length (1), bytes |
#include "live/rdmo/peer_blobs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/bytes.h"

namespace wharf::live {
namespace {

constexpr std::size_t kWorkerBytes = 8;
constexpr std::size_t kTransportBytes = 18;
constexpr unsigned kLast = 0x80;
constexpr unsigned kEmptyDomain = 0x80;  ///< Of a device: no transport follows.
constexpr unsigned kDeviceLength = 0x1f;
constexpr unsigned kTransportLength = 0x3f;
constexpr std::size_t kDevicesMost = 64;
constexpr std::size_t kTransportsMost = 64;
constexpr float kSecondsMost = 1;
constexpr float kRateLeast = 1e3F;
constexpr float kRateMost = 1e15F;
constexpr std::byte kHostMemory{0};

/// Takes bytes from the front; what is not there makes it fail for good.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) {
      failed_ = true;
      count = 0;
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  unsigned byte() {
    const auto taken = take(1);
    return taken.empty() ? 0 : std::to_integer<unsigned>(taken[0]);
  }
  bool failed() const { return failed_; }
  bool at_end() const { return !failed_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

std::uint16_t name_of(std::span<const std::byte> about) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(about[0]) | std::to_integer<unsigned>(about[1])
                                                                              << 8U);
}

/// UCX computes with these to choose its paths, and ends the process over a cost below zero: seconds of a
/// message, bytes per second (below zero: shared by all on the device), seconds of the way.
bool is_speed(std::span<const std::byte> bytes) {
  const auto number = [&](std::size_t at) { return std::bit_cast<float>(load_le32(bytes.data() + at)); };
  const auto within = [](float value, float least, float most) { return value >= least && value <= most; };
  return within(number(0), 0, kSecondsMost) && within(std::abs(number(4)), kRateLeast, kRateMost) &&
         within(number(8), 0, kSecondsMost);
}

}  // namespace

template <typename Each>
bool PeerBlobs::walk(std::span<const std::byte> bytes, const Each& each) {
  Reader reader(bytes);
  reader.take(1 + kWorkerBytes);
  bool last_device = false;
  std::size_t transports = 0;
  for (std::size_t devices = 0; !last_device; ++devices) {
    const unsigned domain = reader.byte();
    const unsigned length = reader.byte();
    last_device = (length & kLast) != 0;
    const bool plain = (domain & kEmptyDomain) == 0 && (length & ~(kLast | kDeviceLength)) == 0;
    reader.take(length & kDeviceLength);
    if (reader.failed() || !plain || devices == kDevicesMost) return false;
    for (bool last = false; !last; ++transports) {
      const auto about = reader.take(kTransportBytes);
      const unsigned own = reader.byte();
      last = (own & kLast) != 0;
      reader.take(own & kTransportLength);
      if (reader.failed() || (own & ~(kLast | kTransportLength)) != 0 || transports == kTransportsMost)
        return false;
      if (!is_speed(about.subspan(2)) ||
          !each(Transport{name_of(about), length & kDeviceLength, own & kTransportLength}))
        return false;
    }
  }
  return reader.at_end();
}

Result<PeerBlobs> PeerBlobs::learn(std::span<const std::byte> address, std::span<const std::byte> key) {
  PeerBlobs made;
  const bool read = walk(address, [&](const Transport& transport) {
    made.transports_.push_back(transport);
    return true;
  });
  if (!read || !made.is_key(key))
    return Error{ErrorKind::kEnvironment,
                 "this UCX writes its addresses or keys in a way that cannot be checked; expected UCX 1.13"};
  made.header_ = address[0];
  return made;
}

bool PeerBlobs::is_address(std::span<const std::byte> bytes) const {
  if (bytes.empty() || bytes[0] != header_) return false;
  return walk(bytes, [this](const Transport& transport) {
    const auto same_name = [&](const Transport& each) { return each.name == transport.name; };
    return std::none_of(transports_.begin(), transports_.end(), same_name) ||
           std::find(transports_.begin(), transports_.end(), transport) != transports_.end();
  });
}

bool PeerBlobs::is_key(std::span<const std::byte> bytes) const {
  Reader reader(bytes);
  const auto domains = reader.take(8);
  const auto kind = reader.take(1);
  if (reader.failed() || kind[0] != kHostMemory) return false;
  for (int left = std::popcount(load_le64(domains.data())); left > 0; --left) reader.take(reader.byte());
  return reader.at_end();
}

}  // namespace wharf::live
