// SPDX-License-Identifier: Apache-2.0
// A fabric under steady load takes nothing from the heap.
#include "sim/fabric/fabric.h"
#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/window_host.h"
#include "tests/support/counting_allocator.h"

namespace wharf::sim {
namespace {

void expect_no_allocation(FlowControl flow) {
  const Topology topology = fat_tree(4, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const auto to = cyclic_permutation(topology.host_count(), 1);
  FabricConfig config;
  config.profiles = {flow == FlowControl::kNone ? PortProfile::composite(60'000, 10'000, 40'000)
                                                : PortProfile::single_queue()};
  config.flow_control.kind = flow;
  Fabric<WindowHost> fabric(topology, config, [&](NodeId host) {
    return WindowHost({.host = host, .destination = to[host], .window = 50, .trimmable = true});
  });
  fabric.run_until(microseconds(500));
  const std::uint64_t hops = fabric.counters().hops;
  test::allocations = 0;
  fabric.run_until(microseconds(1500));
  EXPECT_EQ(test::allocations, 0u);
  EXPECT_GT(fabric.counters().hops - hops, 100'000u);
}

TEST(SteadyState, FabricsAllocateNothing) {
  expect_no_allocation(FlowControl::kNone);
  expect_no_allocation(FlowControl::kCredit);
}

}  // namespace
}  // namespace wharf::sim
