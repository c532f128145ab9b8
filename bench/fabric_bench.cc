// SPDX-License-Identifier: Apache-2.0
// The fabric beside what forwarding packets cannot do without: a permutation on a three-tier fat tree of 100
// Gb/s links, with hosts that only keep a window open and answer every packet.
//
//   permutation   packet-hops (one packet crossing one link) per CPU second; set-up and warm-up excluded
//   touch_limit   the same memory touched in the same order, switch by switch, and nothing decided: for each
//                 hop a packet's head and the two lines of a port
//   queue_limit   an event queue alone, with as many events pending as the fabric has links, and its mean
//                 delay: the limit of a fabric with an event for each hop
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/window_host.h"
#include "sim/kernel/event_queue.h"

namespace {

using namespace wharf;       // NOLINT: one benchmark.
using namespace wharf::sim;  // NOLINT: one benchmark.

FabricConfig composite_queues(LoadBalancing balancing) {
  FabricConfig config;
  config.profiles = {PortProfile::composite(178'450, 37'350, 145'250)};
  config.load_balancing = balancing;
  return config;
}

/// Arguments: radix of the tree, load balancing.
void permutation(benchmark::State& state) {
  const auto radix = static_cast<std::uint32_t>(state.range(0));
  const Topology topology = fat_tree(radix, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const auto to = cyclic_permutation(topology.host_count(), 1);
  Fabric<WindowHost> fabric(
      topology, composite_queues(static_cast<LoadBalancing>(state.range(1))),
      [&](NodeId host) { return WindowHost({.host = host, .destination = to[host], .window = 50}); });
  TimePs end = microseconds(40);
  fabric.run_until(end);
  const std::uint64_t before = fabric.counters().hops;
  for (auto _ : state) {
    end += microseconds(20);
    fabric.run_until(end);
  }
  const std::uint64_t hops = fabric.counters().hops - before;
  state.SetItemsProcessed(static_cast<std::int64_t>(hops));
  state.counters["hosts"] = topology.host_count();
  state.counters["in_fabric"] = fabric.packets_in_fabric();
  state.counters["history"] = static_cast<double>(fabric.counters().history >> 32U);
}
BENCHMARK(permutation)
    ->ArgNames({"radix", "balancing"})
    ->Args({8, 0})
    ->Args({16, 0})
    ->Args({32, 0})
    ->Unit(benchmark::kMillisecond);

/// Argument: radix of the tree whose records are imitated.
void touch_limit(benchmark::State& state) {
  const auto radix = static_cast<std::uint32_t>(state.range(0));
  const std::uint32_t hosts = radix * radix * radix / 4;
  std::vector<Port> ports(std::size_t{6} * hosts);
  // As many packets are under way as `permutation` counts (in_fabric). Where they lie is by chance.
  std::vector<PacketHead> heads(std::size_t{51} * hosts);
  std::vector<std::uint32_t> order(heads.size());
  RandomStream random(1, "limit");
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  for (PacketHead& head : heads) head.bytes = 4160;
  // Of the ports of a switch, a few packets to each in a turn of a microsecond.
  const std::uint32_t per_turn = 3 * radix;
  std::uint64_t hops = 0;
  std::size_t at = 0;
  for (auto _ : state) {
    for (std::size_t first = hosts; first + radix <= ports.size(); first += radix) {
      for (std::uint32_t i = 0; i < per_turn; ++i) {
        PacketHead& head = heads[order[at]];
        Port& port = ports[first + order[at] % radix];
        port.ready_at += picoseconds(80 * head.bytes);
        port.queue_bytes[1] += head.bytes;
        ++port.sent_packets;
        head.time = port.ready_at;
        at = at + 1 == order.size() ? 0 : at + 1;
      }
      hops += per_turn;
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(hops));
}
BENCHMARK(touch_limit)->ArgName("radix")->Arg(8)->Arg(16)->Arg(32)->Unit(benchmark::kMillisecond);

/// Argument: radix of the tree whose links are imitated.
void queue_limit(benchmark::State& state) {
  const auto radix = static_cast<std::uint32_t>(state.range(0));
  const std::uint32_t links = 6 * radix * radix * radix / 4;
  EventQueue<FabricEvent> queue;
  RandomStream random(1, "limit");
  std::vector<std::uint16_t> delays(1U << 16U);
  for (auto& delay : delays) delay = static_cast<std::uint16_t>(random.below(65'536));
  std::uint32_t at = 0;
  const auto next_delay = [&] { return picoseconds(200'000 + 4 * delays[at++ & 0xffffU]); };
  for (std::uint32_t link = 0; link < links; ++link)
    queue.push(FabricEvent::make(next_delay(), FabricEventKind::kArrival, link, false));
  std::uint64_t events = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < 200'000; ++i) {
      FabricEvent event = queue.pop();
      event.time += next_delay();
      queue.push(event);
    }
    events += 200'000;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}
BENCHMARK(queue_limit)->ArgName("radix")->Arg(8)->Arg(16)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
