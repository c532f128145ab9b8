// SPDX-License-Identifier: Apache-2.0
// What the base round trip of Ultra Ethernet consists of (1.0 3.6: full-size data along the longest path, an
// answer back, nothing queued): the sum by hand against a packet sent through the fabric.
#include <fmt/format.h>

#include <array>

#include "sim/fabric/topology_fat_tree.h"
#include "study/frame/fabric_batch.h"
#include "study/ultra_ethernet/ultra_ethernet.h"

namespace wharf::study::ultra_ethernet {
namespace {

constexpr sim::LinkSpec kLink{gigabits_per_second(100), nanoseconds(250)};
constexpr TimePs kSwitch = nanoseconds(400);
constexpr TimePs kFec = nanoseconds(150);
constexpr std::uint32_t kPayload = 4096;
/// Ethernet 14, IPv4 20, UDP 8, PDS 12, SES 44, trailer 4, frame check 4, preamble and gap 20.
constexpr std::uint32_t kData = kPayload + 126;
/// The same with an ACK_CC of 32 and a response of 12 instead of PDS and SES.
constexpr std::uint32_t kAnswer = 114;
constexpr std::uint32_t kCutThrough = 64;  ///< Bytes that a switch waits for.

struct Network {
  std::string_view name;
  std::uint32_t hops;
};
constexpr std::array<Network, 4> kNetworks{
    {{"back to back", 1}, {"one switch", 2}, {"leaf and spine", 4}, {"fat tree", 6}}};

Result<sim::Topology> topology_of(const Network& network) {
  switch (network.hops) {
    case 1:
      return sim::back_to_back(kLink);
    case 2:
      return sim::star(2, kLink, kSwitch);
    default: {
      const auto shape = network.hops == 4 ? sim::k_ary_shape(2, 8, kLink, kSwitch)
                                           : sim::k_ary_shape(3, 16, kLink, kSwitch);
      if (!shape) return shape.error();
      return sim::fat_tree_of(*shape);
    }
  }
}

double serialisation_ns(double bytes) { return bytes * 8e9 / static_cast<double>(kLink.rate.value); }

/// One packet of `bytes` over `hops` links: what it takes to put it on them.
double sending_ns(double bytes, std::uint32_t hops, bool cut_through) {
  if (!cut_through) return hops * serialisation_ns(bytes);
  return serialisation_ns(bytes) + (hops - 1) * serialisation_ns(kCutThrough);
}

}  // namespace

Result<StudyResult> base_rtt(const StudyContext& context) {
  FabricBatch batch(context);
  std::vector<sim::FabricDerived> derived;
  for (const Network& network : kNetworks) {
    for (const bool cut_through : {false, true}) {
      auto topology = topology_of(network);
      if (!topology) return topology.error();
      workload::FlowList flows;
      flows.flows = {{.source = 0, .destination = topology->host_count() - 1, .bytes = kPayload}};
      derived.emplace_back();
      auto made = case_by_keys(
          context, std::string(network.name), *std::move(topology), std::move(flows),
          {fmt::format("fabric.switching={}", cut_through ? "cut_through" : "store_and_forward")}, nullptr,
          &derived.back());
      if (!made) return made.error();
      made->config.fabric.fec_delay = kFec;
      batch.add(*std::move(made));
    }
  }
  WHARF_TRY(batch.run());

  StudyResult result;
  result.columns = {
      {"network", "network", 0},      {"switching", "how", 0},        {"links", "links", 0},
      {"data_ns", "data ns", 1},      {"answer_ns", "answer ns", 1},  {"propagation_ns", "fibre", 0},
      {"switches_ns", "switch", 0},   {"fec_ns", "FEC", 0},           {"sum_ns", "sum ns", 1},
      {"measured_ns", "found ns", 1}, {"configured_ns", "rule ns", 1}};
  Plot plot{"parts",
            "Base round trip by its parts",
            "",
            "ns",
            PlotKind::kStackedBars,
            AxisScale::kLinear,
            AxisScale::kLinear,
            {{"data", {}}, {"answer", {}}, {"propagation", {}}, {"switches", {}}, {"FEC", {}}}};
  std::size_t place = 0;
  double last_forwarded = 0;
  double last_cut = 0;
  double configured_last = 0;
  for (const Network& network : kNetworks) {
    for (const bool cut_through : {false, true}) {
      const double hops = network.hops;
      const std::array<double, 5> parts{
          sending_ns(kData, network.hops, cut_through), sending_ns(kAnswer, network.hops, cut_through),
          2 * hops * as_nanoseconds(kLink.delay), 2 * (hops - 1) * as_nanoseconds(kSwitch),
          2 * hops * as_nanoseconds(kFec)};
      double sum = 0;
      for (const double part : parts) sum += part;
      const double measured = batch.times_ns(place)[0];
      const double configured = as_nanoseconds(derived[place].base_rtt);
      const std::string what =
          fmt::format("{}, {}", network.name, cut_through ? "cut-through" : "store-and-forward");
      result.rows.push_back({{"network", network.name},
                             {"switching", cut_through ? "cut" : "store"},
                             {"links", network.hops},
                             {"data_ns", parts[0]},
                             {"answer_ns", parts[1]},
                             {"propagation_ns", parts[2]},
                             {"switches_ns", parts[3]},
                             {"fec_ns", parts[4]},
                             {"sum_ns", sum},
                             {"measured_ns", measured},
                             {"configured_ns", configured}});
      result.checks.push_back(equal(what + ": measured, ns", measured, sum));
      if (!cut_through)
        result.checks.push_back(equal(what + ": rule without FEC, ns", configured, sum - parts[4]));
      for (std::size_t i = 0; i < parts.size(); ++i) plot.series[i].points.push_back({0, parts[i], what});
      (cut_through ? last_cut : last_forwarded) = measured;
      configured_last = configured;
      ++place;
    }
  }
  result.plots = {plot};
  result.sentences = {
      fmt::format("Serialisation counts once only where switches cut through: over six links that is {:.0f} "
                  "ns instead of {:.0f} ns. The rule that configures windows counts it on every link and "
                  "leaves the decoding of FEC out, here {:.0f} ns.",
                  last_cut, last_forwarded, configured_last)};
  result.checks.push_back(batch.integrity());
  return result;
}

}  // namespace wharf::study::ultra_ethernet
