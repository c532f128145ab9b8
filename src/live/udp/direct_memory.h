// SPDX-License-Identifier: Apache-2.0
// The memory port of live engines: accesses touch this process's memory and complete at once. Data is copied
// in ascending 8-byte words; atomics are the CPU's own. The engine has checked every right before it asks.
#pragma once

#include "engine/contract.h"

namespace wharf::live {

/// Performs `access` and says what came of it.
engine::AccessResult perform(const engine::Access& access);

}  // namespace wharf::live
