// SPDX-License-Identifier: Apache-2.0
// The Core concept: the CPU that runs a program. Simulated cores charge time for what a program does; live
// cores let the real CPU take it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/random.h"
#include "base/time.h"
#include "base/units.h"
#include "verbs/remote_memory.h"
#include "verbs/task.h"

namespace wharf::verbs {

/// The local CPU as a program uses it. Addresses are the host's; 1, 2, 4 or 8 byte accesses, little-endian.
template <typename C>
concept Core = requires(C& core, std::uint64_t address, std::uint32_t length, std::uint64_t value,
                        TimePs duration, Task<void> task, std::string_view name) {
  /// Memory for the program's life, zeroed; alignment 64. Control path.
  { core.allocate(Bytes{}) } -> std::convertible_to<std::uint64_t>;
  /// The bytes themselves, without charging time: to prepare or check data.
  { core.bytes(address, Bytes{}) } -> std::convertible_to<std::span<std::byte>>;
  { core.load(address, length) } -> AwaitableOf<std::uint64_t>;
  { core.store(address, length, value) } -> AwaitableOf<void>;
  { core.compare_swap(address, value, value) } -> AwaitableOf<std::uint64_t>;  // compare, swap; the old value
  { core.fetch_add(address, value) } -> AwaitableOf<std::uint64_t>;
  /// Waits until every earlier store of this core is visible.
  { core.fence() } -> AwaitableOf<void>;
  /// Busy for `duration` (simulated) or at least that long (live).
  { core.compute(duration) } -> AwaitableOf<void>;
  /// Idle until `duration` has passed.
  { core.sleep(duration) } -> AwaitableOf<void>;
  { core.now() } -> std::same_as<TimePs>;
  /// Runs `task` beside the caller on this core; the core owns it.
  core.spawn(std::move(task));
  /// The core's random stream of that name; the same name gives the same numbers in every run of one seed.
  { core.random(name) } -> std::same_as<RandomStream>;
};

}  // namespace wharf::verbs
