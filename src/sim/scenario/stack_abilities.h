// SPDX-License-Identifier: Apache-2.0
// Whether a stack can do what a program asks for, by the capabilities of the engine that would be made.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "sim/fabric/link_config.h"
#include "sim/scenario/host_settings.h"
#include "workload/workload.h"

namespace wharf::sim {

/// Refuses a program of `section` whose verbs, operands or messages the engines of `host` do not take.
Result<void> check_abilities(const workload::WorkloadConfig& program, std::string_view section,
                             const HostSettings& host, const LinkConfig& link);

/// Refuses stores of several hosts to lines that they share, through caches that keep lines: nothing keeps
/// such caches coherent ("Loads and stores" in docs/protocol). `clients`: the hosts of the program.
Result<void> check_shared_lines(const workload::WorkloadConfig& program, std::string_view section,
                                std::span<const HostSettings* const> clients);

}  // namespace wharf::sim
