// SPDX-License-Identifier: Apache-2.0
// Whether a stack can do what a program asks for, by the capabilities of the engine that would be made.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/fabric/link_config.h"
#include "sim/scenario/host_settings.h"
#include "workload/workload.h"

namespace wharf::sim {

/// Refuses a program of `section` whose verbs, operands or messages the engines of `host` do not take.
Result<void> check_abilities(const workload::WorkloadConfig& program, std::string_view section,
                             const HostSettings& host, const LinkConfig& link);

}  // namespace wharf::sim
