// SPDX-License-Identifier: Apache-2.0
// Every counter of the engine by name.
#pragma once

#include <vector>

#include "engine/named_counter.h"
#include "engine/uet/counters.h"

namespace wharf::uet {

/// In the order of reports.
std::vector<engine::NamedCounter> named(const UetCounters& counters);

}  // namespace wharf::uet
