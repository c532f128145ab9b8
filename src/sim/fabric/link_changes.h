// SPDX-License-Identifier: Apache-2.0
// What changes of links mean for both directions of a link together.
#pragma once

#include <vector>

#include "sim/fabric/fabric_config.h"

namespace wharf::sim {

/// Whether a direction of some link is ever down while the other one is up.
bool fails_one_way(const std::vector<LinkChange>& changes, const Topology& topology);

}  // namespace wharf::sim
