// SPDX-License-Identifier: Apache-2.0
// Addresses and keys of peers, as UCX writes them. UCX takes both without a length and believes every byte:
// what comes from outside is checked here before UCX sees it (decision 0087).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace wharf::live {

/// Knows one UCX: what this process's own has written is the pattern. So a UCX that writes otherwise is
/// noticed when the worker starts, and not by a peer.
class PeerBlobs {
 public:
  /// From a worker's address and a packed key of the same UCX. Refuses what it cannot read to the end.
  static Result<PeerBlobs> learn(std::span<const std::byte> address, std::span<const std::byte> key);

  /// Whether the address ends where its bytes do, counts nothing that is not there, and names a transport
  /// only with lengths that it has here.
  bool is_address(std::span<const std::byte> bytes) const;
  /// The same for a packed key, of memory of a processor.
  bool is_key(std::span<const std::byte> bytes) const;

 private:
  /// What a transport that this process has writes of itself.
  struct Transport {
    std::uint16_t name = 0;  ///< A checksum of it.
    std::size_t device_bytes = 0;
    std::size_t own_bytes = 0;
    bool operator==(const Transport&) const = default;
  };
  template <typename Each>
  static bool walk(std::span<const std::byte> bytes, const Each& each);

  std::byte header_{};
  std::vector<Transport> transports_;
};

}  // namespace wharf::live
