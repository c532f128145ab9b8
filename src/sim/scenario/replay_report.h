// SPDX-License-Identifier: Apache-2.0
// What replays of a trace come to: "replay" of summary.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/host/replay/trace_replay_config.h"

namespace wharf::sim {

/// What one client's replay found.
struct ClientReplay {
  std::size_t host = 0;
  const ReplayResult* result = nullptr;
};

/// All clients as one, in their order, of which there is at least one: what they counted summed, what their
/// misses took merged; the times are those of the client that took longest, the first of several.
ReplayResult together(const std::vector<ClientReplay>& clients);

/// RunReport::replay. `world`: with what each client took, or how far the times of many lie apart.
nlohmann::ordered_json replay_report(const std::vector<ClientReplay>& clients, bool world);

/// Dotted names of every number that replay_report() may hold.
std::vector<std::string> replay_numbers(bool world);

}  // namespace wharf::sim
