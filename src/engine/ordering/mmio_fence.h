// SPDX-License-Identifier: Apache-2.0
// What a RISC-V fence costs a core whose MMIO operations carry numbers. Apart because it is arithmetic on the
// fence's two sets, without state.
#pragma once

namespace wharf::ordering {

/// One of the two operand sets of a RISC-V fence ("The RISC-V Instruction Set Manual, Volume I", 2.7).
struct FenceSet {
  bool device_input = false;   ///< i
  bool device_output = false;  ///< o
  bool memory_reads = false;   ///< r
  bool memory_writes = false;  ///< w

  constexpr bool device() const { return device_input || device_output; }
  constexpr bool memory() const { return memory_reads || memory_writes; }
  bool operator==(const FenceSet&) const = default;
};

/// What the core has to do at a fence. All false: nothing, the fence is free.
struct FenceEffect {
  /// Later MMIO operations carry that they come after all earlier ones. The core goes on.
  bool new_epoch = false;
  /// Later operations wait until the host stores before the fence are visible.
  bool wait_host_stores = false;
  /// Later operations wait until the host loads before the fence have their values.
  bool wait_host_loads = false;
  /// Later operations wait until the device loads before the fence have their values.
  bool wait_device_loads = false;
  /// Later operations wait until the reorder buffer has handed on every earlier MMIO operation.
  bool wait_acknowledged = false;

  bool waits() const { return wait_host_stores || wait_host_loads || wait_device_loads || wait_acknowledged; }
  bool operator==(const FenceEffect&) const = default;
};

/// The new reading of a fence: device output before device operations only marks an epoch; what involves host
/// memory waits at the core, as today. A first-in-first-out store buffer keeps host writes in order, so w
/// before w is free. Choice: a device load before the fence is waited for, because PCIe lets a later write
/// pass it on the way. Choice: device output before host memory waits for the reorder buffer's
/// acknowledgement, not for the device's: posted writes have none. Source: "Efficient Remote Memory Ordering
/// for Non-Coherent Interconnects" (ASPLOS '26), 4.2.
constexpr FenceEffect fence_effect(const FenceSet& predecessors, const FenceSet& successors) {
  FenceEffect effect;
  const bool device_after = successors.device();
  const bool memory_after = successors.memory();
  effect.new_epoch = predecessors.device_output && device_after;
  effect.wait_host_stores = predecessors.memory_writes && (device_after || successors.memory_reads);
  effect.wait_host_loads = predecessors.memory_reads && (device_after || memory_after);
  effect.wait_device_loads = predecessors.device_input && (device_after || memory_after);
  effect.wait_acknowledged = predecessors.device_output && memory_after;
  return effect;
}

}  // namespace wharf::ordering
