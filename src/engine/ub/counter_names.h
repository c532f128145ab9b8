// SPDX-License-Identifier: Apache-2.0
// Every counter of the engine by name.
#pragma once

#include <vector>

#include "engine/named_counter.h"
#include "engine/ub/counters.h"

namespace wharf::ub {

/// In the order of reports.
std::vector<engine::NamedCounter> named(const UbCounters& counters);

}  // namespace wharf::ub
