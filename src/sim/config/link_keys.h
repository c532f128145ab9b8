// SPDX-License-Identifier: Apache-2.0
// The keys of the link between two hosts: model.link and model.faults.
#pragma once

#include "sim/config/binder.h"
#include "sim/fabric/link_config.h"

namespace wharf::sim {

/// Binds "link" and "faults".
void bind_link(Binder& binder, LinkConfig& link);

}  // namespace wharf::sim
