// SPDX-License-Identifier: Apache-2.0
// What the core and the reorder buffer agree on: which operations share a counter, how wide a number is, and
// how two numbers compare. Apart because both ends must hold the same view.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "engine/ordering/mmio_mutation.h"

namespace wharf::ordering {

/// Which operations share one counter. With one per thread a gap for one device delays another device of the
/// same root complex; with one per thread and device it does not.
enum class CounterScope : std::uint8_t { kThread, kThreadAndDevice };

/// How operations are told apart and ordered.
enum class NumberingScheme : std::uint8_t {
  /// Every operation has a number of its own.
  kPerOperation,
  /// Operations between two fences share an epoch. Each carries how many operations came before its epoch, in
  /// `ordered_after`, so that the buffer knows by counting when all of the earlier epochs have left.
  kEpochCount,
};

/// The numbers of one pair of core and reorder buffer.
struct MmioNumbering {
  std::uint32_t threads = 1;
  std::uint32_t devices = 1;
  CounterScope scope = CounterScope::kThread;
  NumberingScheme scheme = NumberingScheme::kPerOperation;
  std::uint32_t bits = 8;  ///< Width of a number, 2 to 16.

  /// Counters in all.
  std::uint32_t domains() const { return scope == CounterScope::kThread ? threads : threads * devices; }
  /// The counter of `thread` for `device`.
  std::uint32_t domain(std::uint32_t thread, std::uint32_t device) const {
    WHARF_CHECK(thread < threads && device < devices);
    return scope == CounterScope::kThread ? thread : thread * devices + device;
  }
  std::uint32_t mask() const { return (1U << bits) - 1U; }
  /// Half of all numbers: a distance of at least this much is backwards.
  std::uint32_t half() const { return 1U << (bits - 1U); }
  /// How far `number` lies ahead of `base`, modulo the width.
  std::uint32_t distance(std::uint32_t number, std::uint32_t base) const {
    if (mutated(MmioMutation::kForgottenWrap)) return number - base;
    return (number - base) & mask();
  }
  /// True when a counter that stands at `counter` has reached `number`.
  bool reached(std::uint32_t counter, std::uint32_t number) const {
    const std::uint32_t ahead = distance(number, counter);
    return ahead == 0 || ahead >= half();
  }
};

}  // namespace wharf::ordering
