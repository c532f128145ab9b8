// SPDX-License-Identifier: Apache-2.0
// Programs of a scenario: that of "run.*", and any number beside it, "program.NAME.*". Each says what runs,
// at which hosts, and whose memory it uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/config/binder.h"
#include "sim/scenario/host_settings.h"
#include "sim/scenario/world_roles.h"
#include "workload/workload.h"

namespace wharf::sim {

/// Where a program runs, as texts that hosts_of() reads.
struct ProgramPlacement {
  std::string clients = "auto";
  std::string servers = "servers";
  std::uint32_t cores = 1;  ///< Of each client.
};

/// Cores of a host that one program may run on.
inline constexpr std::uint32_t kMostCores = 32;

/// A program beside that of "run.*".
struct ProgramSettings {
  std::string name;
  ProgramPlacement placement;
  workload::WorkloadConfig workload;
};

/// The names of the sections "program.NAME", in their order.
std::vector<ProgramSettings> programs_in(const ConfigDocument& document);

/// Lists "clients", "servers" and "cores" to the open section.
void bind_placement(Binder& binder, ProgramPlacement& placement);
/// Lists the keys of `program` in its section.
void bind_beside(Binder& binder, ProgramSettings& program);
/// Stands in a key reference for the name of a program.
inline constexpr std::string_view kAnyProgram = "NAME";

/// The hosts of one program.
struct ProgramHosts {
  std::vector<std::uint32_t> clients;
  std::vector<std::uint32_t> servers;
  std::vector<std::uint32_t> beside;  ///< Where the second party of each server runs, if not there.
  std::uint32_t cores = 1;            ///< Of each client; every one is a party.
  std::vector<RdmoCosts> rdmo;        ///< Of the host of each second party.

  /// Parties that run at clients.
  std::size_t threads() const { return clients.size() * cores; }
  /// The server of client number `index` of this program.
  std::uint32_t server_of(std::size_t index) const { return servers[index % servers.size()]; }
  /// The parties of `program` that run together: the clients of the server that has most of them, with it
  /// where it runs a party too; a pair; or all.
  std::uint32_t parties(const workload::WorkloadConfig& program) const;
};

/// The hosts of `program`. A second party beside the server takes the first of each two servers. Refuses
/// lists of hosts that cannot be, hosts that make traffic alone, a client that would use its own memory, and
/// a program of peers on one host or several cores. `section` is "run" or "program.NAME".
Result<ProgramHosts> place(const ProgramPlacement& placement, const workload::WorkloadConfig& program,
                           std::string_view section, const WorldRoles& roles);

}  // namespace wharf::sim
