// SPDX-License-Identifier: Apache-2.0
// What `tools/compare_peers` measures of ns-3: hosts on two routers, each of which sends datagrams at the
// speed of its link to one host across. Every datagram crosses three links. It prints how many links were
// crossed, and the processor seconds of the run without its set-up.
//
//   ns3_flood PAIRS DATAGRAMS BYTES
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "ns3_flood: expected PAIRS DATAGRAMS BYTES\n");
    return 2;
  }
  const std::uint32_t pairs = std::strtoul(argv[1], nullptr, 10);
  const std::uint32_t datagrams = std::strtoul(argv[2], nullptr, 10);
  const std::uint32_t bytes = std::strtoul(argv[3], nullptr, 10);
  constexpr std::uint16_t kPort = 9;
  constexpr double kLinkGbps = 100;

  ns3::NodeContainer hosts, routers;
  hosts.Create(2 * pairs);
  routers.Create(2);
  ns3::InternetStackHelper stack;
  stack.Install(hosts);
  stack.Install(routers);

  ns3::PointToPointHelper edge, middle;
  for (auto* link : {&edge, &middle}) {
    link->SetDeviceAttribute("Mtu", ns3::UintegerValue(bytes + 28));  // The headers of IP and UDP.
    link->SetChannelAttribute("Delay", ns3::StringValue("1us"));
    link->SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("1000p"));
  }
  edge.SetDeviceAttribute("DataRate", ns3::StringValue("100Gbps"));
  middle.SetDeviceAttribute("DataRate", ns3::StringValue(std::to_string(100 * pairs) + "Gbps"));

  ns3::Ipv4AddressHelper addresses;
  addresses.SetBase("10.0.0.0", "255.255.255.252");
  const auto join = [&](ns3::PointToPointHelper& link, ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b) {
    const auto interfaces = addresses.Assign(link.Install(a, b));
    addresses.NewNetwork();
    return interfaces.GetAddress(0);
  };
  join(middle, routers.Get(0), routers.Get(1));
  ns3::ApplicationContainer sinks, sources;
  // The last bytes of a datagram leave a host after the frame's header of two bytes, too.
  const double interval = (bytes + 30) * 8 / (kLinkGbps * 1e9);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    join(edge, hosts.Get(pair), routers.Get(0));
    const ns3::Ipv4Address target = join(edge, hosts.Get(pairs + pair), routers.Get(1));
    sinks.Add(ns3::UdpServerHelper(kPort).Install(hosts.Get(pairs + pair)));
    ns3::UdpClientHelper source(target, kPort);
    source.SetAttribute("MaxPackets", ns3::UintegerValue(datagrams));
    source.SetAttribute("PacketSize", ns3::UintegerValue(bytes));
    source.SetAttribute("Interval", ns3::TimeValue(ns3::Seconds(interval)));
    sources.Add(source.Install(hosts.Get(pair)));
  }
  ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  sinks.Start(ns3::Seconds(0));
  sources.Start(ns3::MicroSeconds(1));

  ns3::Simulator::Stop(ns3::Seconds(1 + interval * datagrams));
  const std::clock_t start = std::clock();
  ns3::Simulator::Run();
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  std::uint64_t received = 0;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    received += ns3::DynamicCast<ns3::UdpServer>(sinks.Get(pair))->GetReceived();
  }
  ns3::Simulator::Destroy();
  if (received != std::uint64_t{pairs} * datagrams) {
    std::fprintf(stderr, "ns3_flood: %llu of %llu datagrams arrived\n",
                 static_cast<unsigned long long>(received),
                 static_cast<unsigned long long>(std::uint64_t{pairs} * datagrams));
    return 1;
  }
  std::printf("%llu %.3f\n", static_cast<unsigned long long>(received * 3), seconds);
  return 0;
}
