// SPDX-License-Identifier: Apache-2.0
// Which protocol engine a full host has, and where: puts the NIC in.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "engine/roce/config.h"
#include "engine/ub/config.h"
#include "engine/uet/config.h"
#include "sim/host/config/host_config.h"
#include "sim/world/stack.h"

namespace wharf::ub {
class UbEngine;
}
namespace wharf::roce {
class RoceEngine;
}
namespace wharf::uet {
class UetEngine;
}

namespace wharf::sim {

class FullHost;

/// Engine configurations need no host number, tracer or context address: those are filled in.
struct HostEngine {
  Stack stack = Stack::kUbUrma;
  std::optional<Attachment> attachment;      ///< Where the NIC sits; empty: where the stack usually has it.
  std::optional<SubmissionPath> submission;  ///< How work requests reach it; likewise.
  ub::UbConfig ub;
  roce::RoceConfig roce;
  uet::UetConfig uet;
};

/// Makes the engine of host `number` out of `hosts` and installs its NIC.
Result<void> install_engine(FullHost& full, const HostConfig& host, const HostEngine& engine,
                            std::uint32_t number, std::uint32_t hosts, std::uint64_t seed);

/// The engine of a host whose stack has that protocol, else null.
ub::UbEngine* ub_engine(FullHost& full, Stack stack);
roce::RoceEngine* roce_engine(FullHost& full, Stack stack);
uet::UetEngine* uet_engine(FullHost& full, Stack stack);

}  // namespace wharf::sim
