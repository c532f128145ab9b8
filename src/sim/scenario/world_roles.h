// SPDX-License-Identifier: Apache-2.0
// Who runs the program of a world and who exposes memory.
#pragma once

#include <cstdint>

namespace wharf::sim {

/// Indices are hosts: clients come first, servers last.
struct WorldRoles {
  std::uint32_t clients = 1;
  std::uint32_t servers = 1;
  std::uint32_t hosts = 2;
  bool traffic = false;  ///< Hosts between clients and servers are thin: they make traffic alone.

  std::uint32_t first_server() const { return hosts - servers; }
  /// Hosts between clients and servers.
  std::uint32_t between() const { return hosts - servers - clients; }
  bool is_thin(std::uint32_t host) const { return traffic && host >= clients && host < first_server(); }
};

}  // namespace wharf::sim
