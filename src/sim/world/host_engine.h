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
  Stack stack = Stack::kUbUrma;
  std::optional<Attachment> attachment;      ///< Where the NIC sits; empty: where the stack usually has it.
  std::optional<SubmissionPath> submission;  ///< How work requests reach it; likewise.
  EngineConfigs configs;                     ///< That of the stack's protocol alone matters.
};

/// Makes the engine of host `number` out of `hosts` and installs its NIC.
Result<void> install_engine(FullHost& full, const HostConfig& host, const HostEngine& engine,
                            std::uint32_t number, std::uint32_t hosts, std::uint64_t seed);

}  // namespace wharf::sim
