// SPDX-License-Identifier: Apache-2.0
// The five places where a fabric congests (Ultra Ethernet 1.0 3.6 deals with each): into one receiver, inside
// a host, out of one sender, on one link, and through a network that pauses. Each without and with what
// cures it.
#include <fmt/format.h>

#include <algorithm>

#include "sim/fabric/topology_fat_tree.h"
#include "study/fabric.h"
#include "study/fabric_batch.h"

namespace wharf::study::fabric {
namespace {

constexpr sim::LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::uint64_t kBytes = 2'000'000;

workload::FlowList writes(std::initializer_list<workload::Flow> flows) {
  workload::FlowList list;
  list.flows = flows;
  for (std::uint32_t i = 0; i < list.flows.size(); ++i) list.flows[i].id = i;
  return list;
}

/// One run of a type, and what it is to show.
struct Variant {
  std::string type;
  std::string mechanism;
  bool cured = false;
  std::size_t place = 0;
  double ideal_us = 0;            ///< Of everything but the victim, by hand.
  std::size_t victim = SIZE_MAX;  ///< A flow that has no part in the congestion.
  double victim_ideal_us = 0;     ///< By hand.
};

/// The study while it is put together.
class Types {
 public:
  explicit Types(const StudyContext& context) : context_(context), batch_(context) {}

  Result<FabricCase> prepare(Variant variant, sim::Topology topology, workload::FlowList flows,
                             std::vector<std::string> keys) {
    auto made = case_by_keys(context_, variant.type + ", " + variant.mechanism, std::move(topology),
                             std::move(flows), std::move(keys), nullptr, &derived_);
    variants_.push_back(std::move(variant));
    return made;
  }
  void add(FabricCase one) { variants_.back().place = batch_.add(std::move(one)); }
  Result<void> add(Variant variant, sim::Topology topology, workload::FlowList flows,
                   std::vector<std::string> keys) {
    auto made = prepare(std::move(variant), std::move(topology), std::move(flows), std::move(keys));
    if (!made) return made.error();
    add(*std::move(made));
    return {};
  }

  const StudyContext& context_;
  FabricBatch batch_;
  std::vector<Variant> variants_;
  sim::FabricDerived derived_;
};

/// Time of `bytes` of payload on a link, headers included.
double wire_us(double bytes, BitsPerSecond rate, double efficiency) {
  return bytes / efficiency * 8e6 / static_cast<double>(rate.value);
}
/// Payload of a full packet over what it takes on a link: 4096 bytes and 126 of headers, preamble and gap.
constexpr double kEfficiency = 4096.0 / (4096 + 126);

const std::string kNoControl = "fabric.control=none";

/// Sixteen senders into one receiver.
Result<void> add_incast(Types& types) {
  constexpr std::uint32_t kSenders = 16;
  workload::FlowList flows;
  for (std::uint32_t host = 1; host <= kSenders; ++host)
    flows.flows.push_back({.id = host, .source = host, .destination = 0, .bytes = kBytes});
  const double ideal = wire_us(kSenders * static_cast<double>(kBytes), kLink.rate, kEfficiency);
  const auto star = [] { return sim::star(kSenders + 1, kLink, kTimeZero); };
  const std::string type = "incast";
  WHARF_TRY(types.add({type, "none, drop-tail", false, 0, ideal}, star(), flows,
                      {kNoControl, "fabric.trimming=false", "fabric.rto_back_off=false"}));
  WHARF_TRY(types.add({type, "NSCC, trimming", true, 0, ideal}, star(), flows, {"fabric.control=sender"}));
  WHARF_TRY(types.add({type, "RCCC, trimming", true, 0, ideal}, star(), flows, {"fabric.control=receiver"}));
  return {};
}

/// One flow into a host whose memory takes half of what its link brings.
Result<void> add_local(Types& types) {
  constexpr BitsPerSecond kMemory = gigabits_per_second(50);
  constexpr std::uint64_t kLocalBytes = 4 * kBytes;
  const workload::FlowList flows = writes({{.source = 0, .destination = 1, .bytes = kLocalBytes}});
  const double ideal = wire_us(kLocalBytes, kMemory, kEfficiency);
  const auto add = [&](const char* mechanism, bool cured, const char* control,
                       BitsPerSecond credit) -> Result<void> {
    auto made = types.prepare({"local", mechanism, cured, 0, ideal}, sim::star(2, kLink, kTimeZero), flows,
                              {control});
    if (!made) return made.error();
    made->config.fabric.ingest = {kMemory, 200'000};
    // Credit that follows the memory instead of the link.
    made->config.uet.credit = congestion::RcccConfig::for_network(credit, types.derived_.base_rtt,
                                                                  made->config.uet.credit.mtu_bytes);
    types.add(*std::move(made));
    return {};
  };
  WHARF_TRY(add("none", false, kNoControl.c_str(), kLink.rate));
  WHARF_TRY(add("NSCC: refusals count", true, "fabric.control=sender", kLink.rate));
  WHARF_TRY(add("RCCC: credit of the memory", true, "fabric.control=receiver", kMemory));
  return {};
}

/// Host 0 sends to four receivers at once; host 1 sends to the first of them, and could have three quarters
/// of its link.
Result<void> add_outcast(Types& types) {
  const workload::FlowList flows = writes({{.source = 0, .destination = 2, .bytes = kBytes},
                                           {.source = 0, .destination = 3, .bytes = kBytes},
                                           {.source = 0, .destination = 4, .bytes = kBytes},
                                           {.source = 0, .destination = 5, .bytes = kBytes},
                                           {.source = 1, .destination = 2, .bytes = 3 * kBytes}});
  const double ideal = wire_us(4 * static_cast<double>(kBytes), kLink.rate, kEfficiency);
  const auto add = [&](const char* mechanism, bool cured, const char* control) {
    return types.add({"outcast", mechanism, cured, 0, ideal, 4, ideal}, sim::star(6, kLink, kTimeZero), flows,
                     {control});
  };
  WHARF_TRY(add("none", false, kNoControl.c_str()));
  WHARF_TRY(add("RCCC alone", false, "fabric.control=receiver"));
  WHARF_TRY(add("NSCC", true, "fabric.control=sender"));
  WHARF_TRY(add("both", true, "fabric.control=both"));
  return {};
}

/// Four leaves of four hosts with four uplinks; every host sends to one of the next leaf.
Result<void> add_link(Types& types) {
  sim::FatTreeShape shape;
  shape.leaves_per_pod = 4;
  shape.hosts_per_leaf = 4;
  shape.middles_per_pod = 4;
  shape.link = {kLink, kLink, kLink};
  workload::FlowList flows;
  for (std::uint32_t host = 0; host < shape.hosts(); ++host)
    flows.flows.push_back({.id = host, .source = host, .destination = (host + 4) % 16, .bytes = kBytes});
  const double ideal = wire_us(static_cast<double>(kBytes), kLink.rate, kEfficiency);
  const auto add = [&](const char* mechanism, bool cured, std::vector<std::string> keys) -> Result<void> {
    auto topology = sim::fat_tree_of(shape);
    if (!topology) return topology.error();
    return types.add({"link", mechanism, cured, 0, ideal}, *std::move(topology), flows, std::move(keys));
  };
  WHARF_TRY(add("one path per flow", false, {"fabric.path_selection=flow"}));
  WHARF_TRY(add("64 entropies in turn", true, {"fabric.path_selection=oblivious"}));
  WHARF_TRY(add("switches spray", true, {"fabric.path_selection=flow", "fabric.load_balancing=spray"}));
  WHARF_TRY(add("adaptive routing", true, {"fabric.path_selection=flow", "fabric.load_balancing=adaptive"}));
  return {};
}

/// Three hosts of one leaf send to one host of the other; the fourth, the victim, to another host there. The
/// leaves' uplinks could carry all of it.
Result<void> add_network(Types& types) {
  sim::FatTreeShape shape;
  shape.leaves_per_pod = 2;
  shape.hosts_per_leaf = 4;
  shape.link = {kLink, {gigabits_per_second(400), kLink.delay}, kLink};
  const workload::FlowList flows = writes({{.source = 0, .destination = 4, .bytes = kBytes},
                                           {.source = 1, .destination = 4, .bytes = kBytes},
                                           {.source = 2, .destination = 4, .bytes = kBytes},
                                           {.source = 3, .destination = 5, .bytes = kBytes}});
  const double ideal = wire_us(3 * static_cast<double>(kBytes), kLink.rate, kEfficiency);
  const double alone = wire_us(static_cast<double>(kBytes), kLink.rate, kEfficiency);
  const auto add = [&](const char* mechanism, bool cured, std::vector<std::string> keys) -> Result<void> {
    auto topology = sim::fat_tree_of(shape);
    if (!topology) return topology.error();
    return types.add({"network", mechanism, cured, 0, ideal, 3, alone}, *std::move(topology), flows,
                     std::move(keys));
  };
  WHARF_TRY(add("PFC alone", false,
                {kNoControl, "fabric.trimming=false", "fabric.flow_control=pause", "fabric.ecn=false"}));
  WHARF_TRY(add("PFC and NSCC", true,
                {"fabric.control=sender", "fabric.trimming=false", "fabric.flow_control=pause"}));
  WHARF_TRY(add("no PFC: trimming, NSCC", true, {"fabric.control=sender"}));
  return {};
}

}  // namespace

Result<StudyResult> congestion_types(const StudyContext& context) {
  // Declared: with its cure, a type ends within 20 % of what the narrowest place needs for the bytes, and two
  // round trips; a victim within 35 % of its own; without, it misses that.
  constexpr double kNear = 1.20;
  constexpr double kVictimNear = 1.35;
  Types types(context);
  WHARF_TRY(add_incast(types));
  WHARF_TRY(add_local(types));
  WHARF_TRY(add_outcast(types));
  WHARF_TRY(add_link(types));
  WHARF_TRY(add_network(types));
  WHARF_TRY(types.batch_.run());

  StudyResult result;
  result.columns = {{"type", "type", 0},
                    {"mechanism", "mechanism", 0},
                    {"limit_us", "limit us", 0},
                    {"last_us", "last us", 0},
                    {"mean_us", "mean us", 0},
                    {"victim_us", "victim us", 0},
                    {"victim_slowdown", "slowed", 2},
                    {"resent_percent", "resent %", 1},
                    {"trimmed", "trims", 0},
                    {"dropped", "drops", 0},
                    {"pauses", "pauses", 0}};
  Plot plot{"ends",
            "When the last flow ends, over what the narrowest place needs",
            "",
            "ratio",
            PlotKind::kBars,
            false,
            false,
            {{"without the cure", {}}, {"with it", {}}}};
  for (const Variant& variant : types.variants_) {
    const std::vector<double> times = types.batch_.times_ns(variant.place);
    const sim::FabricReport& report = types.batch_[variant.place];
    double last = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (i != variant.victim || variant.victim_ideal_us == variant.ideal_us)
        last = std::max(last, times[i] / 1e3);
    }
    const bool has_victim = variant.victim < times.size();
    const double victim = has_victim ? times[variant.victim] / 1e3 : 0;
    const double resent = 100.0 * static_cast<double>(report.totals.retransmitted) /
                          static_cast<double>(report.totals.new_packets);
    result.rows.push_back(
        {{"type", variant.type},
         {"mechanism", variant.mechanism},
         {"limit_us", variant.ideal_us},
         {"last_us", last},
         {"mean_us", mean_of(times) / 1e3},
         {"victim_us", has_victim ? Json(victim) : Json(nullptr)},
         {"victim_slowdown", has_victim ? Json(victim / variant.victim_ideal_us) : Json(nullptr)},
         {"resent_percent", resent},
         {"trimmed", report.totals.trimmed},
         {"dropped", report.totals.dropped},
         {"pauses", report.totals.pause_frames}});
    const std::string what = variant.type + ", " + variant.mechanism;
    if (variant.cured) {
      result.checks.push_back(between(what + ": last end over the limit", last / variant.ideal_us, 1, kNear));
      if (has_victim) {
        result.checks.push_back(
            between(what + ": the victim over its limit", victim / variant.victim_ideal_us, 1, kVictimNear));
      }
    }
    plot.series[variant.cured ? 1 : 0].points.push_back({0, last / variant.ideal_us, what});
  }
  result.checks.push_back(types.batch_.integrity());
  result.plots = {plot};
  return result;
}

}  // namespace wharf::study::fabric
