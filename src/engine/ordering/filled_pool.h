// SPDX-License-Identifier: Apache-2.0
// A pool whose copies can be used to the full without taking memory: what explorers of states ask of a
// machine.
#pragma once

#include <cstdint>

#include "base/slot_pool.h"

namespace wharf::ordering {

/// A SlotPool makes its objects when they are first used, and its copy has room only for those that were
/// made. Here all are made at once; indices are handed out ascending, as otherwise.
template <typename Object>
SlotPool<Object> filled_pool(std::uint32_t capacity) {
  SlotPool<Object> pool(capacity);
  for (std::uint32_t i = 0; i < capacity; ++i) pool.acquire();
  for (std::uint32_t i = capacity; i > 0; --i) pool.release(i - 1);
  return pool;
}

}  // namespace wharf::ordering
