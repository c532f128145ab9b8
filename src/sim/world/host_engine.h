// SPDX-License-Identifier: Apache-2.0
// Which protocol engine a full host has, and where: puts the NIC in.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "sim/host/config/host_config.h"
#include "sim/protocols/protocols.h"

namespace wharf::sim {

class FullHost;

/// Engine configurations need no host number, tracer or context address: those are filled in.
struct HostEngine {
  Stack stack = kDefaultStack;
  std::optional<Attachment> attachment;      ///< Where the NIC sits; empty: where the stack usually has it.
  std::optional<SubmissionPath> submission;  ///< How work requests reach it; likewise.
  EngineConfigs configs;                     ///< That of the stack's protocol alone matters.
};

/// Where an engine stands in its world.
struct EnginePlace {
  std::uint32_t host = 0;     ///< The number of its host.
  std::uint32_t address = 0;  ///< By which its peers know it: that number, but for further NICs of the host.
  std::uint32_t addresses = 0;  ///< All lie below.
  std::uint64_t seed = 0;       ///< Of the run.
};

/// Makes an engine and installs its NIC, the next one of the host.
Result<void> install_engine(FullHost& full, const HostConfig& host, const HostEngine& engine,
                            const EnginePlace& place);

}  // namespace wharf::sim
