// SPDX-License-Identifier: Apache-2.0
// The keys of a host's parameters: what profiles/*.toml may hold. In scenarios they stand under "model.".
#pragma once

#include <string>

#include "sim/config/binder.h"
#include "sim/host/config/host_config.h"
#include "wire/protocol_traits.h"

namespace wharf::sim {

/// Which parts of a host take part in a run, so that keys of the others are reported as without influence.
struct HostKeyScope {
  bool queue_path = true;       ///< Work requests, not only loads and stores.
  bool load_store_path = true;  ///< Loads and stores of remote memory.
  bool local_accesses = true;   ///< Programs load and store memory of their own host.
  bool replay = true;           ///< A recorded trace runs, whose core has caches of its own.
  bool context_fetches = true;  ///< The NIC fetches context records from host memory.
  bool pcie = true;             ///< The NIC sits behind PCIe.
  wire::Protocol protocol{};
  bool receive_entries = true;  ///< The protocol keeps receive entries in host memory;
  std::string receive_entries_only = "only with receive entries in host memory";  ///< who does, for remarks.
  bool judges_order = false;  ///< A program judges in which order accesses took effect.
  bool mmio_stream = true;    ///< Work requests are written to the NIC line by line.
};

/// Binds "nic.implementation", which keys of hosts and of protocols depend on. No profile has it.
void bind_implementation(Binder& binder, NicConfig& nic);

/// Binds "time", "core", "cache", "memory", "bus", "pcie", "nic" and "mmio_stream".
void bind_host(Binder& binder, HostConfig& config, const HostKeyScope& scope);

}  // namespace wharf::sim
