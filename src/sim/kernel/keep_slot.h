// SPDX-License-Identifier: Apache-2.0
// Keeps a value until the event that carries its slot's number.
#pragma once

#include <cstdint>

#include "base/slot_pool.h"

namespace wharf::sim {

/// Puts `value` into a slot of `pool`, which grows when it is full; returns the slot.
template <typename T>
std::uint32_t keep_slot(SlotPool<T>& pool, const T& value) {
  pool.grow(pool.in_use() + 1);
  const std::uint32_t slot = pool.acquire();
  pool[slot] = value;
  return slot;
}

/// Gives the slot back; returns what it held.
template <typename T>
T take_slot(SlotPool<T>& pool, std::uint32_t slot) {
  const T value = pool[slot];
  pool.release(slot);
  return value;
}

}  // namespace wharf::sim
