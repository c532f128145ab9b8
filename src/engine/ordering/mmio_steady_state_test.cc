// SPDX-License-Identifier: Apache-2.0
// The machines of the MMIO path take no memory after construction, and neither do their copies. Apart from
// the other tests because it replaces the allocator of its program.
#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/ordering/mmio_rob.h"
#include "engine/ordering/mmio_sequencer.h"
#include "engine/ordering/reorder_unit.h"
#include "engine/ordering/reorder_unit_reuse.h"
#include "engine/ordering/store_buffer.h"
#include "engine/ordering/write_combining.h"
#include "tests/support/counting_allocator.h"

namespace wharf::ordering {
namespace {

using test::allocations;
using test::count_allocations;

constexpr std::uint32_t kWindow = 8192;

/// A core that streams 64-byte messages, a store to host memory before each, to a buffer of numbers and to a
/// unit.
struct Machines {
  MmioSequencer sequencer{MmioSequencerConfig{}};
  MmioRob rob{MmioRobConfig{}};
  WriteCombining buffers{WriteCombiningConfig{}};
  StoreBuffer stores{8};
  ReorderUnit unit{ReorderUnitConfig{.buffer_bytes = 2048, .window_bytes = kWindow}};
  AddressReuseChecker reuse{kWindow, 8};
};

/// Any one write leaves the core and reaches the unit.
void leave(Machines& machines, RandomStream& random, std::span<std::byte> into) {
  const std::uint32_t choices = machines.buffers.leaving_choices();
  const MmioOperation left = machines.buffers.take_leaving(static_cast<std::uint32_t>(random.below(choices)));
  machines.buffers.arrived();
  machines.unit.write(0, static_cast<std::uint32_t>(left.address), left.bytes());
  ReorderedMessage message;
  while (machines.unit.next_message(message, into)) machines.unit.transmitted(message.length);
}

void go_on(Machines& machines, RandomStream random, std::span<std::byte> into) {
  std::array<std::byte, kLineBytes> line{};
  line[0] = std::byte{kLineBytes};
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const std::uint32_t offset = i * kLineBytes % kWindow;
    machines.stores.store(offset, std::span(line).first(8));
    HostStore store;
    while (machines.stores.next_store(store)) machines.stores.performed();
    MmioOperation operation = mmio_store(MmioKind::kRelease, offset, line);
    if (machines.sequencer.blocked_by(0, 0, operation.kind, machines.stores.drained()) == IssueBlock::kNone) {
      machines.sequencer.stamp(operation);
      machines.rob.accept(operation);
    }
    while (machines.rob.next_dispatch(operation)) {
    }
    MmioCredit credit;
    while (machines.rob.next_credit(credit)) machines.sequencer.acknowledge(credit);
    EXPECT_TRUE(machines.reuse.store(offset, kLineBytes));
    const MmioOperation message_line = mmio_store(MmioKind::kWriteCombiningStore, offset, line);
    while (!machines.buffers.store(message_line)) leave(machines, random, into);
    while (machines.buffers.leaving_choices() > 4) leave(machines, random, into);
  }
}

TEST(MmioMachines, SteadyStateAllocatesNothing) {
  std::vector<std::byte> into(2048);
  const RandomStream random(1, "steady");
  Machines original;
  Machines copy = original;
  for (Machines* machines : {&original, &copy}) {
    allocations = 0;
    count_allocations = true;
    go_on(*machines, random, into);
    count_allocations = false;
    EXPECT_EQ(allocations, 0U);
    EXPECT_GT(machines->unit.cycles(), 3000U);
    EXPECT_EQ(machines->rob.next_number(0), 2000U % 256);
  }
}

}  // namespace
}  // namespace wharf::ordering
