// SPDX-License-Identifier: Apache-2.0
// Nodes that act in turns do exactly what they do event by event: same history, same counts, same samples,
// whatever the fabric is and whatever happens to it.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sim/fabric/fabric.h"
#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/topology_named.h"
#include "sim/fabric/topology_rails.h"
#include "sim/fabric/window_host.h"

namespace wharf::sim {
namespace {

struct Seen {
  std::uint64_t history = 0;
  std::uint64_t hops = 0;
  TimePs now;
  std::vector<std::uint64_t> counts{};
  bool operator==(const Seen&) const = default;
};

Seen run(const Topology& topology, FabricConfig config, bool in_turns, std::uint32_t threads,
         const std::vector<std::uint32_t>& to) {
  config.turns = in_turns;
  config.sample_interval = nanoseconds(2700);
  for (PortId port = 0; port < topology.ports().size(); port += 5) config.sampled_ports.push_back(port);
  config.fullest_ports = 4;
  Fabric<WindowHost> fabric(
      topology, config,
      [&](NodeId host) {
        return WindowHost({.host = host,
                           .destination = to[host],
                           .window = 40,
                           .packets = 400,
                           .data_bytes = static_cast<std::uint16_t>(host % 3 == 0 ? 1500 : 4160),
                           .trimmable = true,
                           .start = nanoseconds(host % 7)});
      },
      threads);
  // Not whole numbers of turns.
  fabric.run_until(nanoseconds(10'300));
  fabric.run_until(nanoseconds(33'333));
  fabric.run_until(microseconds(150));
  fabric.sample_end();
  Seen seen{fabric.counters().history, fabric.counters().hops, fabric.now()};
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    for (const std::uint64_t count :
         {fabric.host(host).sent(), fabric.host(host).received(), fabric.host(host).answered(),
          fabric.host(host).marked(), fabric.host(host).trimmed()})
      seen.counts.push_back(count);
    if (config.ingest.limited()) seen.counts.push_back(fabric.ingest(host).refused);
  }
  for (PortId port = 0; port < topology.ports().size(); ++port) {
    const PortCounters counters = fabric.port_counters(port);
    for (const std::uint64_t count : {fabric.port(port).sent_packets, fabric.port(port).sent_bytes,
                                      counters.trimmed, counters.marked, counters.lost, counters.damaged,
                                      counters.retried, counters.dropped_full, counters.dropped_no_route})
      seen.counts.push_back(count);
  }
  for (const std::vector<OccupancySample>& samples : {fabric.samples(), fabric.fullest()}) {
    for (const OccupancySample& sample : samples) {
      seen.counts.push_back(static_cast<std::uint64_t>(sample.at.ps));
      seen.counts.push_back(sample.queued_bytes);
      seen.counts.push_back(sample.sent_bytes);
    }
  }
  return seen;
}

struct Case {
  std::string name;
  std::function<Topology()> topology;
  std::function<void(FabricConfig&)> change;
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

class Turns : public testing::TestWithParam<Case> {};

TEST_P(Turns, AreTheSameAsEvents) {
  const Topology topology = GetParam().topology();
  FabricConfig config;
  config.profiles = {PortProfile::composite(60'000, 12'000, 48'000)};
  GetParam().change(config);
  const std::uint32_t hosts = topology.host_count();
  auto to = cyclic_permutation(hosts, 3 % hosts == 0 ? 1 : 3);
  for (std::uint32_t host = 0; host < hosts / 4; ++host) to[host] = hosts - 1;  // Some incast.
  const Seen by_event = run(topology, config, false, 1, to);
  EXPECT_GT(by_event.hops, 1'000u);
  EXPECT_TRUE(run(topology, config, true, 1, to) == by_event);
  EXPECT_TRUE(run(topology, config, true, 2, to) == by_event) << "on two threads";
}

const LinkSpec kLink{gigabits_per_second(100), nanoseconds(800)};
Topology tree() { return fat_tree(4, kLink, nanoseconds(200)); }
void nothing(FabricConfig&) {}

INSTANTIATE_TEST_SUITE_P(
    Fabrics, Turns,
    testing::Values(
        Case{"tree", tree, nothing},
        Case{"sprayed", tree, [](FabricConfig& c) { c.load_balancing = LoadBalancing::kSpray; }},
        Case{"round_robin", tree, [](FabricConfig& c) { c.load_balancing = LoadBalancing::kRoundRobin; }},
        Case{"adaptive", tree, [](FabricConfig& c) { c.load_balancing = LoadBalancing::kAdaptive; }},
        Case{"cut_through", tree, [](FabricConfig& c) { c.switching = Switching::kCutThrough; }},
        Case{"errors", tree,
             [](FabricConfig& c) {
               c.faults = {{.loss = 0.01, .damage = 0.01, .retry = true, .retry_limit = 2}};
             }},
        Case{"damage", tree, [](FabricConfig& c) { c.faults = {{.damage = 0.02}}; }},
        Case{"ingest", tree,
             [](FabricConfig& c) { c.ingest = {.rate = gigabits_per_second(40), .capacity_bytes = 50'000}; }},
        Case{"changes", tree,
             [](FabricConfig& c) {
               // A host's link, the link to a host, and one between switches.
               const Topology topology = tree();
               const PortId up = topology.node(2).ports[0];
               const PortId down = topology.port(topology.node(5).ports[0]).reverse;
               const PortId middle = topology.node(topology.host_count()).ports.back();
               for (const PortId port : {up, down, middle}) {
                 c.changes.push_back({.at = nanoseconds(9'100), .port = port, .up = false});
                 c.changes.push_back({.at = nanoseconds(21'050), .port = port, .up = true});
                 c.changes.push_back(
                     {.at = nanoseconds(30'000), .port = port, .rate = gigabits_per_second(25)});
               }
               c.reroute_delay = microseconds(3);
             }},
        Case{"short_links",
             [] {
               return fat_tree(4, {gigabits_per_second(100), nanoseconds(12)}, kTimeZero);
             },
             nothing},
        Case{"links_too_short_for_turns",
             [] {
               return star(9, {gigabits_per_second(100), nanoseconds(5)}, kTimeZero);
             },
             nothing},
        Case{"long_links",
             [] {
               return fat_tree(4, {gigabits_per_second(400), microseconds(9)}, kTimeZero);
             },
             nothing},
        Case{"star", [] { return star(9, kLink, nanoseconds(100)); }, nothing},
        Case{"ports_of_many_planes",
             [] {
               RailShape shape;
               shape.segments = 2;
               shape.rails = 4;
               shape.servers_per_segment = 4;
               shape.spines = 2;
               shape.hosts = RailHosts::kOnePerServer;
               shape.host_link = kLink;
               shape.spine_link = kLink;
               return *rail_network(shape);
             },
             nothing},
        Case{"back_to_back", [] { return back_to_back(kLink); }, nothing}),
    [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

}  // namespace
}  // namespace wharf::sim
