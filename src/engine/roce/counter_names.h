// SPDX-License-Identifier: Apache-2.0
// Every counter of the engine by name.
#pragma once

#include <vector>

#include "engine/named_counter.h"
#include "engine/roce/counters.h"

namespace wharf::roce {

/// In the order of reports.
std::vector<engine::NamedCounter> named(const Counters& counters);

}  // namespace wharf::roce
