// SPDX-License-Identifier: Apache-2.0
// Where a server listens: an address of the network, or a name in the shared memory of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "live/reactor/datagram_port.h"

namespace wharf::live {

struct Place {
  Place() = default;
  Place(const UdpEndpoint& on_network) : endpoint(on_network) {}  // NOLINT(*-explicit-*): it is one.
  Place(std::uint32_t address, std::uint16_t port) : endpoint{address, port} {}
  static Place in_shared_memory(std::string name) {
    Place out;
    out.name = std::move(name);
    return out;
  }

  bool shared() const { return !name.empty(); }
  bool operator==(const Place&) const = default;

  UdpEndpoint endpoint;  ///< Unless in shared memory.
  std::string name;      ///< In shared memory, else empty.
};

/// "127.0.0.1:4792", "shm:bench"
std::string format_place(const Place& place);
/// Reads these; `port` is used when an address has none.
Result<Place> parse_place(const std::string& text, std::uint16_t port);

}  // namespace wharf::live
