// SPDX-License-Identifier: Apache-2.0
// Which hosts a key means: "clients", "servers", "all", or numbers such as "0-7,12".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/world_roles.h"

namespace wharf::sim {

inline constexpr std::string_view kClients = "clients";
/// Of programs alone: their clients, or every full host where each is a rank of its own.
inline constexpr std::string_view kAuto = "auto";
inline constexpr std::string_view kServers = "servers";
inline constexpr std::string_view kAllHosts = "all";

/// The hosts that `text` lists, in its order. Refuses other texts, hosts that do not exist and hosts listed
/// twice; `key` names what was read.
Result<std::vector<std::uint32_t>> hosts_of(std::string_view text, std::string_view key,
                                            const WorldRoles& roles);

}  // namespace wharf::sim
