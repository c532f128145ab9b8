// SPDX-License-Identifier: Apache-2.0
// Which configurations of send queues, receive queues and jettys there can be: asked when they are made, and
// again when they become active, for options change them in between. A good one has its order normalised.
#pragma once

#include "live/urma/objects.h"

namespace wharf::live::urma {

/// A bare JFS has no peer of its own to be bound to.
bool check_jfs(urma_jfs_cfg_t& cfg);
bool check(urma_jfr_cfg_t& cfg);
bool check(const Context& context, urma_jetty_cfg_t& cfg);

}  // namespace wharf::live::urma
