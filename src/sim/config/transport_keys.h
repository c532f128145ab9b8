// SPDX-License-Identifier: Apache-2.0
// The keys of the link and of the protocol engines: model.link, model.faults, model.ub and model.roce.
#pragma once

#include "engine/roce/config.h"
#include "engine/ub/config.h"
#include "sim/config/binder.h"
#include "sim/fabric/link_config.h"

namespace wharf::sim {

/// Binds "link" and "faults".
void bind_link(Binder& binder, LinkConfig& link);
/// Binds "ub"; `active` unless the run uses another protocol.
void bind_ub(Binder& binder, ub::UbConfig& ub, bool active);
/// Binds "roce".
void bind_roce(Binder& binder, roce::RoceConfig& roce, bool active);

}  // namespace wharf::sim
