// SPDX-License-Identifier: Apache-2.0
// The five places where a fabric congests (Ultra Ethernet 1.0 3.6 deals with each): into one receiver, inside
// a host, out of one sender, on one link, and through a network that pauses. Each without and with what
// cures it.
#include <fmt/format.h>

#include <algorithm>

#include "sim/fabric/topology_fat_tree.h"
#include "study/fabric/fabric.h"
#include "study/frame/fabric_batch.h"
#include "study/frame/three_steps.h"

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
  WHARF_TRY(types.add({type, "none, drop tail", false, 0, ideal}, star(), flows,
                      {kNoControl, "fabric.trimming=false", "fabric.rto_back_off=false"}));
  WHARF_TRY(types.add({type, "NSCC, trimming", true, 0, ideal}, star(), flows, {"fabric.control=sender"}));
  WHARF_TRY(types.add({type, "RCCC, trimming", true, 0, ideal}, star(), flows, {"fabric.control=receiver"}));
  return {};
}

/// One flow into a host whose memory takes half of what its link brings.
Result<void> add_local(Types& types) {
  constexpr BitsPerSecond kMemory = gigabits_per_second(50);
  constexpr std::uint64_t kLocalBytes = 4 * kBytes;
  constexpr std::uint64_t kWaiting = 200'000;  ///< In front of the memory, at most.
  const workload::FlowList flows = writes({{.source = 0, .destination = 1, .bytes = kLocalBytes}});
  // What waits in the interface at the end has been acknowledged.
  const double ideal = wire_us(kLocalBytes, kMemory, kEfficiency) - wire_us(kWaiting, kMemory, 1);
  const auto add = [&](const char* mechanism, bool cured, const char* control,
                       BitsPerSecond credit) -> Result<void> {
    auto made = types.prepare({"local", mechanism, cured, 0, ideal}, sim::star(2, kLink, kTimeZero), flows,
                              {control});
    if (!made) return made.error();
    made->config.fabric.ingest = {kMemory, kWaiting};
    // Credit that follows the memory instead of the link.
    sim::visit_protocol(made->config.protocol, [&]<typename P>(std::type_identity<P>) {
      if constexpr (requires { P::set_credit_rate; }) {
        P::set_credit_rate(std::get<typename P::Config>(made->config.engines), credit,
                           types.derived_.base_rtt);
      }
    });
    types.add(*std::move(made));
    return {};
  };
  WHARF_TRY(add("none", false, kNoControl.c_str(), kLink.rate));
  WHARF_TRY(add("NSCC", true, "fabric.control=sender", kLink.rate));
  WHARF_TRY(add("RCCC at its rate", true, "fabric.control=receiver", kMemory));
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
  WHARF_TRY(add("RCCC", true, "fabric.control=receiver"));
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
  WHARF_TRY(add("64 entropies", true, {"fabric.path_selection=oblivious"}));
  WHARF_TRY(add("switches spray", true, {"fabric.path_selection=flow", "fabric.load_balancing=spray"}));
  WHARF_TRY(add("adaptive", true, {"fabric.path_selection=flow", "fabric.load_balancing=adaptive"}));
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
  WHARF_TRY(add("no PFC, NSCC", true, {"fabric.control=sender"}));
  return {};
}

// Declared: nothing ends before the narrowest place can have carried its bytes, and what each type suffers
// from is less with any of its cures than without. How much less is a result, not a promise.
constexpr double kAnyTime = 1e9;
constexpr double kLess = 1 - 1e-9;

class CongestionTypes {
 public:
  explicit CongestionTypes(const StudyContext& context) : types_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  void judge_variant(const Variant& variant);
  /// What `type` suffers from is less with each cure than without.
  void promise(std::string_view type, const char* key);
  double cell(std::size_t row, const char* key) const { return result.rows[row][key].get<double>(); }
  std::size_t row_of(std::string_view type, std::string_view mechanism) const {
    std::size_t row = 0;
    while (types_.variants_[row].type != type || !types_.variants_[row].mechanism.starts_with(mechanism))
      ++row;
    return row;
  }

  Types types_;
  Plot plot_{"ends",
             "When the last flow ends, over what the narrowest place needs",
             "",
             "ratio",
             PlotKind::kBars,
             AxisScale::kLinear,
             AxisScale::kLinear,
             {{"without the cure", {}}, {"with it", {}}}};
};

Result<void> CongestionTypes::run() {
  WHARF_TRY(add_incast(types_));
  WHARF_TRY(add_local(types_));
  WHARF_TRY(add_outcast(types_));
  WHARF_TRY(add_link(types_));
  WHARF_TRY(add_network(types_));
  return types_.batch_.run();
}

Result<void> CongestionTypes::judge() {
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
  for (const Variant& variant : types_.variants_) judge_variant(variant);
  promise("incast", "last_us");
  promise("incast", "resent_percent");
  promise("local", "resent_percent");
  promise("outcast", "resent_percent");
  promise("link", "last_us");
  promise("network", "victim_slowdown");
  result.checks.push_back(
      between("network, PFC alone: pauses", cell(row_of("network", "PFC alone"), "pauses"), 1, 1e9));
  result.plots = {plot_};
  return {};
}

void CongestionTypes::judge_variant(const Variant& variant) {
  const std::vector<double> times = types_.batch_.times_ns(variant.place);
  const sim::FabricReport& report = types_.batch_[variant.place];
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
  const double over = last / variant.ideal_us;
  result.checks.push_back(between(what + ": last end over the limit", over, 1, kAnyTime));
  plot_.series[variant.cured ? 1 : 0].points.push_back({0, over, what});
}

void CongestionTypes::promise(std::string_view type, const char* key) {
  double without = 0;
  for (std::size_t row = 0; row < types_.variants_.size(); ++row) {
    const Variant& variant = types_.variants_[row];
    if (variant.type != type) continue;
    if (!variant.cured) {
      without = cell(row, key);
      continue;
    }
    result.checks.push_back(between(fmt::format("{}, {}: {} over that without", type, variant.mechanism, key),
                                    cell(row, key) / without, 0, kLess));
  }
}

Result<void> CongestionTypes::tell() {
  const std::size_t one_path = row_of("link", "one path");
  result.sentences = {
      fmt::format(
          "Incast: without control 16 senders lose most of what they send, and the last ends {:.1f} "
          "times later than the receiver's link needs; windows (NSCC) or credit (RCCC) keep it within "
          "{:.0f} %.",
          cell(row_of("incast", "none"), "last_us") / cell(row_of("incast", "none"), "limit_us"),
          100 * (cell(row_of("incast", "RCCC"), "last_us") / cell(row_of("incast", "RCCC"), "limit_us") - 1)),
      fmt::format(
          "Local: a memory at half of the link's speed makes {:.0f} % of the packets cross it twice; "
          "what the host refuses comes back as trimmed at the last hop, so NSCC slows down ({:.0f} %), "
          "and credit at the memory's rate leaves nothing to refuse.",
          cell(row_of("local", "none"), "resent_percent"), cell(row_of("local", "NSCC"), "resent_percent")),
      fmt::format("Outcast: one sender's link is shared by four receivers; the sender's windows, or a demand "
                  "for credit divided among the receivers, leave the rest of a receiver's link to others "
                  "({:.1f} % sent twice without).",
                  cell(row_of("outcast", "none"), "resent_percent")),
      fmt::format("Link: with one path per flow {:.1f} flows meet on the worst uplink; entropy in turn, "
                  "spraying or adaptive routing use all of them. 64 entropies per flow, hashed on four "
                  "uplinks by four flows, are 256 draws and load them unevenly, with a standard deviation of "
                  "11 %.",
                  cell(one_path, "last_us") / cell(one_path, "limit_us")),
      fmt::format("Network: pauses spread to the shared uplink and slow a flow that goes elsewhere {:.1f} "
                  "times; NSCC above PFC leaves {:.1f} times (the first windows still pause), and a network "
                  "that trims instead of pausing {:.2f} times.",
                  cell(row_of("network", "PFC alone"), "victim_slowdown"),
                  cell(row_of("network", "PFC and NSCC"), "victim_slowdown"),
                  cell(row_of("network", "no PFC"), "victim_slowdown"))};
  result.checks.push_back(types_.batch_.integrity());
  return {};
}

}  // namespace

Result<StudyResult> congestion_types(const StudyContext& context) {
  return in_three_steps<CongestionTypes>(context);
}

}  // namespace wharf::study::fabric
