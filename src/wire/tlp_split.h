// SPDX-License-Identifier: Apache-2.0
// How an access of any length becomes packets: reads by Max_Read_Request_Size, writes by Max_Payload_Size,
// and the completions of one read by the read completion boundary. Generators: nothing is stored but the
// place. [PCIe Base 5.0 2.2.2, 2.2.7, 2.3.1.1]
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "wire/tlp_packet.h"

namespace wharf::wire {

/// A part of an access: one request, or one completion.
struct TlpPiece {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;   ///< At least 1.
  std::uint64_t offset = 0;  ///< Of its first byte, from the start of the access.
};

/// Cuts [address, address + bytes) into the requests that read or write it, lowest address first. No piece
/// crosses a 4 KiB boundary or has more double words than `limit` bytes. Choice: as few as the rules allow,
/// so a cut falls on a multiple of `limit` only when the access starts on one.
class TlpRequestCutter {
 public:
  /// `limit`: Max_Read_Request_Size or Max_Payload_Size, 128 to 4096, a power of two.
  constexpr TlpRequestCutter(std::uint64_t address, std::uint64_t bytes, std::uint32_t limit)
      : address_(address), left_(bytes), limit_(limit) {
    WHARF_CHECK(limit >= 128 && limit <= kTlpPageBytes && (limit & (limit - 1)) == 0);
  }

  /// Takes the next piece; false when there is none. An empty access has none.
  constexpr bool next(TlpPiece& piece) {
    if (left_ == 0) return false;
    const std::uint64_t at = address_ + done_;
    const std::uint64_t room =
        std::min<std::uint64_t>(limit_ - (at & 3U), kTlpPageBytes - at % kTlpPageBytes);
    piece = TlpPiece{at, static_cast<std::uint32_t>(std::min(left_, room)), done_};
    done_ += piece.bytes;
    left_ -= piece.bytes;
    return true;
  }

 private:
  std::uint64_t address_;
  std::uint64_t left_;
  std::uint64_t done_ = 0;
  std::uint32_t limit_;
};

/// One completion of a read.
struct TlpCompletionPiece {
  TlpPiece data;
  std::uint32_t byte_count = 0;    ///< Bytes still to come with this one: the field of the header.
  std::uint8_t lower_address = 0;  ///< Bits 6:0 of data.address.
};

/// Cuts the answer to one read request of `bytes` bytes (1 to 4096, inside a page) from `address` on into
/// completions in the order of addresses. All but the last end on a multiple of `boundary` (RCB). Each is as
/// long as `max_payload` lets it be; a completer that cuts at every boundary hands in `boundary` for it.
class TlpCompletionCutter {
 public:
  /// `boundary` is 64 or 128, `max_payload` a multiple of it.
  constexpr TlpCompletionCutter(std::uint64_t address, std::uint32_t bytes, std::uint32_t boundary,
                                std::uint32_t max_payload)
      : address_(address), left_(bytes), boundary_(boundary), max_payload_(max_payload) {
    WHARF_CHECK(boundary == 64 || boundary == 128);
    WHARF_CHECK(max_payload >= boundary && max_payload % boundary == 0);
    WHARF_CHECK(address % kTlpPageBytes + bytes <= kTlpPageBytes);
  }

  /// Takes the next completion; false when there is none.
  constexpr bool next(TlpCompletionPiece& piece) {
    if (left_ == 0) return false;
    const std::uint64_t at = address_ + done_;
    const std::uint64_t farthest = (at + max_payload_) / boundary_ * boundary_;
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, farthest - at));
    piece = {{at, bytes, done_}, left_, static_cast<std::uint8_t>(at & 0x7fU)};
    done_ += bytes;
    left_ -= bytes;
    return true;
  }

 private:
  std::uint64_t address_;
  std::uint32_t left_;
  std::uint32_t done_ = 0;
  std::uint32_t boundary_;
  std::uint32_t max_payload_;
};

}  // namespace wharf::wire
