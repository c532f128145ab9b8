// SPDX-License-Identifier: Apache-2.0
// What the responder of a queue pair with selective repeat keeps: requests that came before one with a lower
// PSN, until they are the next, and the PSNs of those that the peer is to be told of. [decision 0110]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "engine/roce/lazy_places.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"
#include "wire/psn.h"

namespace wharf::roce {

using wire::Psn;

/// A request packet as it arrived. The buffer of its payload is held.
struct EarlyRequest {
  wire::RocePacket roce;
  wire::Payload payload;
  wire::OperationTag operation;

  /// PSNs that the request takes: those of a READ's answer, else one.
  std::uint32_t psns(std::uint8_t mtu_shift) const;
};

/// A place for each PSN of a window that begins with the one that the responder expects. The places are the
/// queue pair's own, and their memory is taken when one is first used. A packet beyond the window has none.
class EarlyRequests {
 public:
  /// `window`: PSNs, a power of two up to 2^20.
  explicit EarlyRequests(std::uint32_t window);

  std::uint32_t window() const { return mask_ + 1; }
  bool empty() const { return count_ == 0; }
  /// The request with `psn`, or null. It stays where it is until take() or forget().
  const EarlyRequest* find(Psn psn) const;
  /// Keeps a request that find() does not know and whose PSN lies within the window.
  void add(const wire::Packet& packet, wire::PayloadPool& pool);
  /// Takes the request with `psn`, which is there, out as a packet; the caller releases its payload.
  wire::Packet take(Psn psn);
  /// Requests from `from` to before `to` are none any more: the responder expects `to`.
  void forget(Psn from, Psn to, wire::PayloadPool& pool);
  void clear(wire::PayloadPool& pool);

  /// The peer is to be told that `psn`, which is kept, has arrived; once until it was told.
  void owe_report(Psn psn);
  /// Whether a report may leave. It may not before a receiver-not-ready NAK that is queued: the packet that
  /// was refused would be taken for a lost one.
  bool owes_report() const { return !owed_.empty() && !refusing; }
  /// The request that has waited longest for its report, or null when it is kept no more; one is owed.
  const EarlyRequest* next_report();

  bool refusing = false;  ///< A receiver-not-ready NAK is queued.
  bool stalled = false;   ///< The next request is here, and lacks room in the answers or the accesses.

  std::size_t bytes_held() const;
  /// What one queue pair can take with this window, for state reports.
  static std::size_t bytes_at_most(std::uint32_t window);

 private:
  bool has(const std::vector<std::uint64_t>& bits, std::uint32_t place) const {
    return (bits[place / 64] >> (place % 64) & 1U) != 0;
  }
  static void flip(std::vector<std::uint64_t>& bits, std::uint32_t place) {
    bits[place / 64] ^= std::uint64_t{1} << (place % 64);
  }
  void drop(std::uint32_t place, wire::PayloadPool& pool);

  std::uint32_t mask_;
  std::uint32_t count_ = 0;
  std::uint32_t touched_ = 0;  ///< Places before this one may have been used.
  std::vector<std::uint64_t> kept_;
  std::vector<std::uint64_t> owing_;  ///< Places that are in `owed_`.
  LazyPlaces places_;
  EarlyRequest* requests_;
  Ring<std::uint32_t> owed_;
};

}  // namespace wharf::roce
