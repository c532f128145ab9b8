// SPDX-License-Identifier: Apache-2.0
// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), 4.2 and 5.2: numbers,
// windows and fences at the core.
#include "engine/ordering/mmio_sequencer.h"

#include <gtest/gtest.h>

namespace wharf::ordering {
namespace {

MmioOperation issue(MmioSequencer& sequencer, MmioKind kind, std::uint16_t thread = 0,
                    std::uint16_t device = 0) {
  MmioOperation operation;
  operation.kind = kind;
  operation.thread = thread;
  operation.device = device;
  sequencer.stamp(operation);
  return operation;
}

std::vector<std::byte> state_of(const MmioSequencer& sequencer) {
  std::vector<std::byte> state;
  sequencer.append_state(state);
  return state;
}

constexpr FenceSet kOutput{.device_output = true};
constexpr FenceSet kEverything{true, true, true, true};

// 5.2: stores and releases alike take the next number of their thread.
TEST(MmioSequencer, NumbersEveryOperationOfAThread) {
  MmioSequencerConfig config;
  config.numbering.threads = 2;
  MmioSequencer sequencer(config);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).number, 0U);
  EXPECT_EQ(issue(sequencer, MmioKind::kRelease).number, 1U);
  EXPECT_EQ(issue(sequencer, MmioKind::kLoad).number, 2U);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore, 1).number, 0U);
}

// 4.2: a release comes after everything before it; a store after nothing, unless there was a fence.
TEST(MmioSequencer, SaysWhatAnOperationComesAfter) {
  MmioSequencer sequencer{MmioSequencerConfig{}};
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 0U);
  EXPECT_EQ(issue(sequencer, MmioKind::kRelease).ordered_after, 1U);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 0U)
      << "a release is no barrier for what follows";
  EXPECT_FALSE(sequencer.fence(0, kOutput, kOutput).waits());
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 3U);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 3U);
}

// An old fence must not come to lie ahead when the counter has gone half a turn.
TEST(MmioSequencer, AFenceThatIsPassedOrdersNothingAnyMore) {
  MmioSequencerConfig config;
  config.numbering.bits = 5;
  MmioSequencer sequencer(config);
  issue(sequencer, MmioKind::kStore);
  sequencer.fence(0, kOutput, kOutput);
  for (std::uint32_t i = 1; i < 100; ++i) {
    const MmioOperation operation = issue(sequencer, MmioKind::kStore);
    EXPECT_TRUE(config.numbering.reached(operation.number, operation.ordered_after)) << i;
    sequencer.acknowledge({0, (operation.number + 1) % 32});
    EXPECT_EQ(state_of(sequencer), state_of(MmioSequencer(config))) << i;
  }
}

// No number beyond the buffer's slots is sent, and a credit opens the window again; stale credits do nothing.
TEST(MmioSequencer, KeepsToTheWindowOfEachNetwork) {
  MmioSequencerConfig config;
  config.windows = {4, 2, 4};
  MmioSequencer sequencer(config);
  issue(sequencer, MmioKind::kStore);
  issue(sequencer, MmioKind::kRelease);
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kRelease, true), IssueBlock::kWindow);
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kStore, true), IssueBlock::kNone);
  issue(sequencer, MmioKind::kStore);
  issue(sequencer, MmioKind::kStore);
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kStore, true), IssueBlock::kWindow);
  sequencer.acknowledge({0, 3});
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kRelease, true), IssueBlock::kNone);
  EXPECT_EQ(sequencer.in_flight(0), 1U);
  sequencer.acknowledge({0, 2});
  EXPECT_EQ(sequencer.in_flight(0), 1U);
  sequencer.acknowledge({0, 4});
  EXPECT_TRUE(sequencer.all_acknowledged(0));
}

// 4.2: a release covers host memory, and every later memory operation waits for an acquire.
TEST(MmioSequencer, WaitsOnlyWhereHostMemoryIsInvolved) {
  MmioSequencer sequencer{MmioSequencerConfig{}};
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kRelease, false), IssueBlock::kHostStores);
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kStore, false), IssueBlock::kNone);
  issue(sequencer, MmioKind::kAcquire);
  EXPECT_TRUE(sequencer.holds_host_memory(0));
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kStore, true), IssueBlock::kAcquire);
  sequencer.acquire_done(0);
  EXPECT_FALSE(sequencer.holds_host_memory(0));
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kStore, true), IssueBlock::kNone);
}

// A counter per thread and device keeps devices apart; then a release to one waits at the core for the
// others.
TEST(MmioSequencer, SeparateCountersPerDevice) {
  MmioSequencerConfig config;
  config.numbering.devices = 2;
  config.numbering.scope = CounterScope::kThreadAndDevice;
  MmioSequencer sequencer(config);
  issue(sequencer, MmioKind::kStore, 0, 0);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore, 0, 1).number, 0U);
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kRelease, true), IssueBlock::kOtherDevice);
  EXPECT_TRUE(sequencer.fence(0, kOutput, kOutput).wait_acknowledged);
  sequencer.acknowledge({1, 1});
  EXPECT_EQ(sequencer.blocked_by(0, 0, MmioKind::kRelease, true), IssueBlock::kNone);

  config.reach = OrderReach::kOneDevice;
  MmioSequencer narrow(config);
  issue(narrow, MmioKind::kStore, 0, 1);
  EXPECT_EQ(narrow.blocked_by(0, 0, MmioKind::kRelease, true), IssueBlock::kNone);
  EXPECT_FALSE(narrow.fence(0, kOutput, kOutput).waits());
}

// 4.2, RISC-V: which fence only marks an epoch, and which waits for memory.
TEST(MmioFence, DeviceOutputBeforeDeviceOutputIsOnlyAMark) {
  EXPECT_EQ(fence_effect(kOutput, kOutput), FenceEffect{.new_epoch = true});
  EXPECT_EQ(fence_effect(kOutput, {.device_input = true}), FenceEffect{.new_epoch = true});
}

TEST(MmioFence, HostWritesBeforeADoorbellWaitForTheStoreBuffer) {
  EXPECT_EQ(fence_effect({.memory_writes = true}, kOutput), FenceEffect{.wait_host_stores = true});
  EXPECT_EQ(fence_effect({.memory_reads = true}, kOutput), FenceEffect{.wait_host_loads = true});
}

TEST(MmioFence, HostWritesBeforeHostWritesAreFree) {
  EXPECT_EQ(fence_effect({.memory_writes = true}, {.memory_writes = true}), FenceEffect{});
  EXPECT_EQ(fence_effect({.memory_writes = true}, {.memory_reads = true}),
            FenceEffect{.wait_host_stores = true});
}

TEST(MmioFence, DeviceOutputBeforeHostMemoryWaitsForTheReorderBuffer) {
  EXPECT_EQ(fence_effect(kOutput, {.memory_writes = true}), FenceEffect{.wait_acknowledged = true});
  EXPECT_EQ(fence_effect({.device_input = true}, {.memory_reads = true}),
            FenceEffect{.wait_device_loads = true});
  EXPECT_EQ(fence_effect(kEverything, kEverything), (FenceEffect{true, true, true, true, true}));
}

// The thread's fence does what fence_effect() says of these sets, in this order.
TEST(MmioSequencer, AFenceHasTheEffectOfItsTwoSets) {
  const FenceSet sets[] = {kOutput, {.device_input = true}, {.memory_reads = true}, {.memory_writes = true}};
  for (const FenceSet& before : sets) {
    for (const FenceSet& after : sets) {
      MmioSequencer sequencer{MmioSequencerConfig{}};
      EXPECT_EQ(sequencer.fence(0, before, after), fence_effect(before, after));
    }
  }
}

// Epochs: a release begins one, and what follows belongs to it.
TEST(MmioSequencer, EpochsCarryHowManyCameBefore) {
  MmioSequencerConfig config;
  config.numbering.scheme = NumberingScheme::kEpochCount;
  MmioSequencer sequencer(config);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 0U);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 0U);
  EXPECT_EQ(issue(sequencer, MmioKind::kRelease).ordered_after, 2U);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 2U);
  sequencer.fence(0, kOutput, kOutput);
  EXPECT_EQ(issue(sequencer, MmioKind::kStore).ordered_after, 4U);
}

// A thread sees its own stores: what touches the same bytes of the same device comes after them.
TEST(MmioSequencer, OperationsOnTheSameBytesKeepTheirOrder) {
  MmioSequencerConfig config;
  config.numbering.devices = 2;
  MmioSequencer sequencer(config);
  const auto after = [&](MmioKind kind, std::uint64_t address, std::uint8_t length, std::uint16_t device) {
    MmioOperation operation;
    operation.kind = kind;
    operation.address = address;
    operation.length = length;
    operation.device = device;
    sequencer.stamp(operation);
    return operation.ordered_after;
  };
  EXPECT_EQ(after(MmioKind::kStore, 0, 8, 0), 0U);
  EXPECT_EQ(after(MmioKind::kStore, 8, 8, 0), 0U) << "beside it";
  EXPECT_EQ(after(MmioKind::kStore, 0, 8, 1), 0U) << "another device";
  EXPECT_EQ(after(MmioKind::kStore, 4, 8, 0), 2U) << "the youngest of two";
  EXPECT_EQ(after(MmioKind::kLoad, 0, 4, 0), 1U);
  sequencer.acknowledge({.domain = 0, .next = 4});
  EXPECT_EQ(after(MmioKind::kStore, 8, 8, 0), 4U) << "those have left: the fence that moves along";
  EXPECT_EQ(after(MmioKind::kStore, 0, 4, 0), 5U) << "the load has not";
}

}  // namespace
}  // namespace wharf::ordering
