// SPDX-License-Identifier: Apache-2.0
// How a target hands memory to a worker of its machine: as a descriptor through a socket, under a number that
// the register command then names. The socket is found from the worker's UCX address, which no two have and
// nobody knows before it has the socket; the connection stays open until the worker has said there that the
// memory is mapped (decision 0096).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "live/rdmo/sealed_memory.h"

namespace wharf::live {

/// 128 bits from the kernel: who does not know it cannot name the memory.
using OfferToken = std::array<std::byte, 16>;

/// The target's end. The offer stands as long as this lives, and some seconds at most.
class OfferedMemory {
 public:
  /// Offers `memory` to the worker with this UCX address.
  static Result<OfferedMemory> offer(std::span<const std::byte> worker, const SealedMemory& memory);

  const OfferToken& token() const { return token_; }
  /// Whether the worker has mapped it. Known before the register command is answered.
  bool mapped() const;

 private:
  OfferToken token_{};
  Descriptor connection_;
};

/// The worker's end of one.
struct MemoryOffer {
  OfferToken token{};
  std::uint64_t address = 0;  ///< Of its first byte, as the target calls it.
  Descriptor file;
  Descriptor connection;

  /// Tells the target that it is mapped.
  void confirm() const;
};

/// The worker's offers. Takes those of processes of its own user alone.
class MemoryOffers {
 public:
  /// So many connections are open; then the oldest goes. Each may hold the descriptor of its memory, too.
  static constexpr std::size_t kMost = 128;
  /// The register command follows at once; so long after it came an offer is dropped.
  static constexpr TimePs kStands = seconds(5);

  /// Of the worker with this UCX address.
  static Result<MemoryOffers> listen(std::span<const std::byte> worker);
  /// Takes what has come, and drops offers whose targets have gone or that are too old. Does not wait. `now`
  /// never decreases.
  void progress(TimePs now);
  /// The offer of that token, once.
  std::optional<MemoryOffer> take(std::span<const std::byte> token);
  /// Connections that are open.
  std::size_t waiting() const { return callers_.size(); }

 private:
  struct Caller {
    TimePs since;
    bool offered = false;  ///< `offer` is whole, and not only its connection.
    MemoryOffer offer;
  };
  /// False: the connection is over, or breaks the rules.
  static bool hear(Caller& caller);

  Descriptor listener_;
  std::deque<Caller> callers_;  ///< The oldest first.
};

}  // namespace wharf::live
