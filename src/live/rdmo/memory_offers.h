// SPDX-License-Identifier: Apache-2.0
// How a target hands memory to a worker of its machine: as a descriptor through a socket, under a number that
// the register command then names. The socket is found from the port of the worker's control channels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/result.h"
#include "live/rdmo/sealed_memory.h"

namespace wharf::live {

/// 128 bits from the kernel: who does not know it cannot name the memory.
using OfferToken = std::array<std::byte, 16>;

struct MemoryOffer {
  OfferToken token{};
  std::uint64_t address = 0;  ///< Of its first byte, as the target calls it.
  Descriptor file;
};

/// Offers `memory` to the worker whose control channels come to `port`. Gives the token to name it by.
Result<OfferToken> offer_memory(std::uint16_t port, const SealedMemory& memory);

/// The worker's end. Takes offers of processes of its own user alone.
class MemoryOffers {
 public:
  /// So many wait to be named; then the oldest goes.
  static constexpr std::size_t kMost = 256;

  static Result<MemoryOffers> listen(std::uint16_t port);
  /// Takes what has come. Does not wait.
  void progress();
  /// The offer of that token, once.
  std::optional<MemoryOffer> take(std::span<const std::byte> token);
  std::size_t waiting() const { return offers_.size() + callers_.size(); }

 private:
  static bool receive(const Descriptor& caller, std::optional<MemoryOffer>& offer);

  Descriptor listener_;
  std::deque<Descriptor> callers_;  ///< That have said nothing yet.
  std::deque<MemoryOffer> offers_;
};

}  // namespace wharf::live
