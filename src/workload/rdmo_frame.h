// SPDX-License-Identifier: Apache-2.0
// How the active messages of RDMO travel as the messages of an engine (Sends): a frame in front of header and
// data. Little-endian.
//
//   0 kind | 1 message id | 2-3 header bytes | 4-7 data bytes | 8-11 number | 12-15 tag
//   then the header, then the data, or (kind offer) the 8 bytes that say where in its segment the client has
//   it
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "wire/rdmo_message.h"

namespace wharf::workload {

enum class RdmoFrameKind : std::uint8_t {
  kMessage,  ///< An active message with its data.
  kOffer,    ///< One whose data the receiver fetches.
  kTaken,    ///< The data of the offer with that tag was fetched, or is not needed.
  kGrant,    ///< Key and cell (16 bytes, in place of the header): both sides are ready.
  kBye,      ///< Nothing comes after it. One for each receive entry.
};

inline constexpr std::uint32_t kRdmoFrameBytes = 16;
inline constexpr std::uint32_t kRdmoOfferBytes = 8;

struct RdmoFrame {
  RdmoFrameKind kind = RdmoFrameKind::kMessage;
  std::uint8_t message_id = 0;
  std::uint32_t number = 0;  ///< Of the queue's messages, from 0: engines may deliver them in another order.
  std::uint32_t tag = 0;
  std::uint32_t length = 0;  ///< Of the data, wherever it is.
  std::uint64_t offer = 0;
  std::span<const std::byte> header{};
  std::span<const std::byte> data{};
};

/// Writes the frame and what follows it; `out` has room. Returns the length.
inline std::uint32_t encode(const RdmoFrame& frame, std::span<std::byte> out) {
  store_u8(out.data(), static_cast<std::uint8_t>(frame.kind));
  store_u8(out.data() + 1, frame.message_id);
  const auto header = static_cast<std::uint16_t>(frame.header.size());
  std::memcpy(out.data() + 2, &header, 2);
  store_le32(out.data() + 4, frame.length);
  store_le32(out.data() + 8, frame.number);
  store_le32(out.data() + 12, frame.tag);
  std::byte* at = out.data() + kRdmoFrameBytes;
  if (header != 0) std::memcpy(at, frame.header.data(), header);
  at += header;
  if (frame.kind == RdmoFrameKind::kOffer) {
    store_le64(at, frame.offer);
    return kRdmoFrameBytes + header + kRdmoOfferBytes;
  }
  if (!frame.data.empty()) std::memcpy(at, frame.data.data(), frame.data.size());
  return kRdmoFrameBytes + header + static_cast<std::uint32_t>(frame.data.size());
}

/// Reads one; false when its parts do not make up `bytes`.
inline bool decode(std::span<const std::byte> bytes, RdmoFrame& frame) {
  if (bytes.size() < kRdmoFrameBytes) return false;
  const std::uint32_t first = load_le32(bytes.data());
  if ((first & 0xffU) > static_cast<std::uint32_t>(RdmoFrameKind::kBye)) return false;
  frame.kind = static_cast<RdmoFrameKind>(first & 0xffU);
  frame.message_id = static_cast<std::uint8_t>(first >> 8U);
  frame.length = load_le32(bytes.data() + 4);
  frame.number = load_le32(bytes.data() + 8);
  frame.tag = load_le32(bytes.data() + 12);
  const std::size_t header = first >> 16U;
  const std::size_t rest = bytes.size() - kRdmoFrameBytes;
  const bool offers = frame.kind == RdmoFrameKind::kOffer;
  if (header > rest || rest - header != (offers ? kRdmoOfferBytes : frame.length)) return false;
  frame.header = bytes.subspan(kRdmoFrameBytes, header);
  frame.data = {};
  frame.offer = 0;
  if (offers) {
    frame.offer = load_le64(bytes.data() + kRdmoFrameBytes + header);
  } else {
    frame.data = bytes.subspan(kRdmoFrameBytes + header);
  }
  return true;
}

/// Entries that have arrived, given out in the order of their numbers, each number once: what carries the
/// messages may bring one twice.
class RdmoArrivals {
 public:
  explicit RdmoArrivals(std::uint32_t entries) : entry_(std::size_t{4} * entries, kNone) {}

  /// False when that number has come before. Then the entry holds nothing.
  bool arrived(std::uint32_t number, std::uint32_t entry) {
    std::uint32_t& slot = entry_[number % entry_.size()];
    const bool behind = static_cast<std::int32_t>(number - next_) < 0;
    if (behind || slot != kNone) return false;
    slot = entry;
    return true;
  }
  /// The entry whose turn it is.
  bool next(std::uint32_t& entry) {
    std::uint32_t& slot = entry_[next_ % entry_.size()];
    if (slot == kNone) return false;
    entry = slot;
    slot = kNone;
    ++next_;
    return true;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> entry_;
  std::uint32_t next_ = 0;
};

}  // namespace wharf::workload
