// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figure 45: C-AQM against DCQCN. The published model steps a window once per packet against a
// threshold on its own size, without a queue; here both controllers, as their own documents have them, share
// queues of a simulated fabric.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "base/random.h"
#include "sim/fabric/controlled_run.h"
#include "sim/fabric/topology_fat_tree.h"
#include "study/fabric_batch.h"
#include "study/openurma.h"
#include "study/parallel.h"

namespace wharf::study::openurma {
namespace {

/// The published model: a window against a capacity of 64 packets, marks by chance above a threshold, the
/// share of marks among the last 32 packets. (Artifact of arXiv 2605.28717.)
struct Toy {
  double threshold;  ///< Of utilisation.
  double slope;      ///< Marking probability per utilisation above the threshold.
  double most;       ///< Highest marking probability.
  double cut;        ///< Part of the window that a full share of marks takes per packet.
  double growth;     ///< Packets that each packet adds.
};
constexpr Toy kToyCaqm{0.97, 1 / 0.03, 1, 0.1, 4};
constexpr Toy kToyDcqcn{0.5, 0.2, 0.1, 0.5, 0.5};

/// Mean of min(window, capacity) / capacity over the last 60 % of 10,000 packets, in percent.
double toy_utilisation(const Toy& toy, std::string_view name) {
  constexpr int kPackets = 10'000;
  constexpr double kCapacity = 64;
  RandomStream random(45, name);
  std::bitset<32> marks;
  double window = 32;
  double sum = 0;
  for (int i = 0; i < kPackets; ++i) {
    const double over = (window / kCapacity - toy.threshold) * toy.slope;
    marks <<= 1;
    marks[0] = random.uniform01() < std::clamp(over, 0.0, toy.most);
    window = window * (1 - toy.cut * static_cast<double>(marks.count()) / 32) + toy.growth;
    if (i >= kPackets * 2 / 5) sum += std::min(window, kCapacity) / kCapacity;
  }
  return 100 * sum / (kPackets * 3 / 5);
}

const std::array<AccountingRule, 3> kToyRules{{
    {"congestion.queue", "none", "output queues", "the published model has no queue and no round trip"},
    {"congestion.utilisation", "window / 64 packets, at most 1", "bytes on the bottleneck link",
     "a window above the capacity counts as full use and costs nothing"},
    {"congestion.dcqcn", "a window, cut per packet", "rate, alpha, notifications and timers",
     "what is called DCQCN there has none of its state (SIGCOMM 2015)"},
}};

constexpr BitsPerSecond kRate = gigabits_per_second(100);
constexpr sim::LinkSpec kLink{kRate, microseconds(1)};
constexpr std::uint32_t kSenders = 8;
/// What comes before the steady state of an incast.
constexpr TimePs kStart = milliseconds(10);
constexpr std::uint64_t kEndless = std::uint64_t{1} << 40U;

enum class Controller : std::uint8_t { kNone, kDcqcn, kCaqm };

struct Setting {
  Controller controller;
  std::string_view threshold;  ///< For people.
  std::uint32_t mark_min = sim::kUnlimitedBytes;
  std::uint32_t mark_max = sim::kUnlimitedBytes;
  std::uint32_t mark_most_ppm = 1'000'000;
  std::uint32_t target_queue = 0;  ///< C-AQM.
};
constexpr std::array<Setting, 7> kSettings{{
    {Controller::kNone, "PFC alone"},
    {Controller::kDcqcn, "5/200, 1%", 5'000, 200'000, 10'000},  // The paper's.
    {Controller::kDcqcn, "50/400, 10%", 50'000, 400'000, 100'000},
    {Controller::kDcqcn, "100/400, 20%", 100'000, 400'000, 200'000},
    {Controller::kCaqm, "Qt 20 KB", 0, 0, 0, 20'480},
    {Controller::kCaqm, "Qt 40 KB", 0, 0, 0, 40'960},
    {Controller::kCaqm, "Qt 160 KB", 0, 0, 0, 163'840},
}};
constexpr std::string_view name_of(Controller controller) {
  switch (controller) {
    case Controller::kNone:
      return "none";
    case Controller::kDcqcn:
      return "dcqcn";
    case Controller::kCaqm:
      return "c-aqm";
  }
  return "";
}

/// Leaves of four hosts and four uplinks.
sim::FatTreeShape permutation_tree() {
  sim::FatTreeShape shape;
  shape.leaves_per_pod = 4;
  shape.hosts_per_leaf = 4;
  shape.middles_per_pod = 4;
  shape.link = {kLink, kLink, kLink};
  return shape;
}

/// Everything of a run but who sends to whom.
sim::ControlledRun prepared(const Setting& setting, sim::Topology topology) {
  sim::ControlledRun run;
  run.topology = std::move(topology);
  // Answers go before data, and nothing is dropped: pauses hold what does not fit.
  sim::PortProfile profile;
  profile.queue_of_class = {0, 0, 1, 1, 1, 1, 1, 1};
  profile.queues[1] = {.mark_min_bytes = setting.mark_min,
                       .mark_max_bytes = setting.mark_max,
                       .mark_most_ppm = setting.mark_most_ppm,
                       .priority = 1};
  run.fabric.profiles = {profile};
  run.fabric.flow_control = {
      .kind = sim::FlowControl::kPause, .queues = 0b10, .xoff_bytes = 200'000, .xon_bytes = 160'000};
  run.traffic.controller = congestion::ConstantWindowConfig{.packets = 1024};
  if (setting.controller == Controller::kDcqcn) {
    congestion::DcqcnConfig dcqcn;
    dcqcn.link = kRate;
    run.traffic.notification_spacing = dcqcn.min_time_between_cnps;
    run.traffic.controller = dcqcn;
  }
  if (setting.controller == Controller::kCaqm) {
    run.traffic.controller = congestion::CaqmConfig{.initial_rtt = microseconds(5)};
    run.fabric.caqm = congestion::CaqmPortConfig{.target_queue_bytes = setting.target_queue};
  }
  return run;
}

sim::ControlledRun incast(const Setting& setting) {
  sim::ControlledRun run = prepared(setting, sim::star(kSenders + 1, kLink, kTimeZero));
  for (sim::NodeId host = 1; host <= kSenders; ++host)
    run.flows.push_back({host, {.destination = 0, .bytes = kEndless}});
  run.fabric.sampled_ports = {run.topology.port(run.topology.node(0).ports[0]).reverse};
  run.fabric.sample_interval = microseconds(1);
  // DCQCN as published needs about 15 ms from a start of all at once; see kStart.
  run.from = milliseconds(20);
  run.to = milliseconds(40);
  return run;
}

/// Every host to one of another leaf; ECMP puts some flows on the same uplink.
Result<sim::ControlledRun> permutation(const Setting& setting) {
  auto topology = sim::fat_tree_of(permutation_tree());
  if (!topology) return topology.error();
  sim::ControlledRun run = prepared(setting, *std::move(topology));
  const std::uint32_t hosts = run.topology.host_count();
  for (sim::NodeId host = 0; host < hosts; ++host)
    run.flows.push_back({host, {.destination = (host + 5) % hosts, .bytes = kEndless}});
  for (sim::PortId port = 0; port < run.topology.ports().size(); ++port) {
    if (!run.topology.is_host(run.topology.port(port).node)) run.fabric.sampled_ports.push_back(port);
  }
  run.fabric.sample_interval = microseconds(5);
  run.from = milliseconds(6);
  run.to = milliseconds(10);
  return run;
}

/// What a run shows.
struct Shown {
  double goodput_percent = 0;      ///< Payload of all flows, of what the receivers' links carry as payload.
  double utilisation_percent = 0;  ///< Of the busiest switch port's link.
  double queue_mean_kb = 0;        ///< Of the fullest port at each instant.
  double queue_p99_kb = 0;
  double fairness = 0;  ///< Jain's index of the flows.
  double pauses = 0;
};

Shown shown(const sim::ControlledRun& run, const sim::ControlledReport& report, std::uint32_t receivers) {
  Shown values;
  const double seconds = static_cast<double>((run.to - run.from).ps) / 1e12;
  const double link = static_cast<double>(kRate.value) / 8 * seconds;
  double sum = 0;
  double squares = 0;
  for (const auto& flow : report.flows) {
    const auto bytes = static_cast<double>(flow.bytes);
    sum += bytes;
    squares += bytes * bytes;
  }
  const double payload_share = 4096.0 / (4096 + run.traffic.header_bytes);
  values.goodput_percent = 100 * sum / (link * payload_share * receivers);
  values.fairness = sum * sum / (squares * static_cast<double>(report.flows.size()));
  std::uint64_t busiest = 0;
  for (const sim::PortId port : run.fabric.sampled_ports)
    busiest = std::max(busiest, report.sent_bytes[port]);
  values.utilisation_percent = 100 * static_cast<double>(busiest) / link;
  std::vector<double> fullest;
  TimePs at;
  for (const sim::OccupancySample& sample : report.samples) {
    if (sample.at < run.from) continue;
    if (sample.at != at) fullest.push_back(0);
    at = sample.at;
    fullest.back() = std::max(fullest.back(), sample.queued_bytes / 1e3);
  }
  values.queue_mean_kb = mean_of(fullest);
  values.queue_p99_kb = percentile_of(fullest, 99);
  values.pauses = static_cast<double>(report.pause_frames);
  return values;
}

}  // namespace

Result<StudyResult> figure45(const StudyContext& context) {
  // Declared. Accounting: 6000 draws that depend on one another, two points. Mechanism: 8 senders keep the
  // link of their receiver busy, with DCQCN to 75 % at least and with C-AQM to 85 %, C-AQM's queue stays
  // within a few targets, and neither lies 33 points behind the other. The steady part was first declared as
  // 4 to 12 ms; DCQCN had not recovered from its start by then, so the start has a column of its own.
  constexpr double kToyTolerance = 2;
  constexpr double kDcqcnLeast = 75;
  constexpr double kCaqmLeast = 85;
  const auto published = reference(context, "F45_congestion.csv");
  if (!published) return published.error();
  const auto paper_caqm = published->at("C-AQM steady utilisation", "60% tail");
  const auto paper_dcqcn = published->at("DCQCN steady utilisation", "60% tail");
  if (!paper_caqm) return paper_caqm.error();
  if (!paper_dcqcn) return paper_dcqcn.error();

  std::vector<sim::ControlledRun> runs;
  for (const Setting& setting : kSettings) runs.push_back(incast(setting));
  for (const Setting& setting : kSettings) {
    auto run = permutation(setting);
    if (!run) return run.error();
    runs.push_back(*std::move(run));
  }
  const std::size_t steady = runs.size();
  for (const Setting& setting : kSettings) {
    runs.push_back(incast(setting));
    runs.back().from = kTimeZero;
    runs.back().to = kStart;
  }
  std::vector<Shown> values(runs.size());
  std::vector<std::uint64_t> dropped(runs.size());
  WHARF_TRY(for_each_in_parallel(context, runs.size(), [&](std::size_t i) -> Result<void> {
    const auto report = sim::run_controlled(runs[i]);
    if (!report) return report.error();
    const bool permuted = i >= kSettings.size() && i < steady;
    values[i] = shown(runs[i], *report, permuted ? runs[i].topology.host_count() : 1);
    dropped[i] = report->dropped;
    return {};
  }));

  StudyResult result;
  result.columns = {{"what", "what", 0},
                    {"controller", "by", 0},
                    {"threshold", "KB, P", 0},
                    {"paper_percent", "paper %", 1},
                    {"accounting_percent", "acct %", 1},
                    {"start_percent", "start %", 1},
                    {"utilisation_percent", "link %", 1},
                    {"goodput_percent", "net %", 1},
                    {"queue_mean_kb", "KB", 0},
                    {"queue_p99_kb", "p99", 0},
                    {"fairness", "fair", 3},
                    {"pauses", "pauses", 0}};
  const auto model = [&](std::string_view name, const Toy& toy, const std::optional<double>& paper) {
    const double value = toy_utilisation(toy, name);
    result.rows.push_back({{"what", "published"},
                           {"controller", name},
                           {"threshold", fmt::format("{:.2f}", toy.threshold)},
                           {"paper_percent", json_or_null(paper)},
                           {"accounting_percent", value}});
    return value;
  };
  const double toy_caqm = model("c-aqm", kToyCaqm, *paper_caqm);
  const double toy_dcqcn = model("dcqcn", kToyDcqcn, *paper_dcqcn);
  Toy lower = kToyCaqm;
  lower.threshold = 0.90;
  lower.slope = 1 / 0.10;
  const double toy_lower = model("c-aqm", lower, std::nullopt);
  Toy raised = kToyDcqcn;
  raised.threshold = 0.65;
  const double toy_raised = model("dcqcn", raised, std::nullopt);
  result.checks.push_back({CheckKind::kAccounting, "C-AQM as published", toy_caqm,
                           *paper_caqm - kToyTolerance, *paper_caqm + kToyTolerance});
  result.checks.push_back({CheckKind::kAccounting, "DCQCN as published", toy_dcqcn,
                           *paper_dcqcn - kToyTolerance, *paper_dcqcn + kToyTolerance});

  Plot trade{"trade",
             "Incast of 8: use of the link against the queue",
             "99th percentile of the queue, KB",
             "use of the link, %",
             PlotKind::kLines,
             true,
             false,
             {}};
  double losses = 0;
  for (const std::uint64_t packets : dropped) losses += static_cast<double>(packets);
  for (std::size_t i = 0; i < steady; ++i) {
    const bool into_one = i < kSettings.size();
    const Setting& setting = kSettings[i % kSettings.size()];
    const Shown& value = values[i];
    result.rows.push_back(
        {{"what", into_one ? "incast" : "permute"},
         {"controller", name_of(setting.controller)},
         {"threshold", setting.threshold},
         {"start_percent", into_one ? Json(values[steady + i].utilisation_percent) : Json(nullptr)},
         {"utilisation_percent", value.utilisation_percent},
         {"goodput_percent", value.goodput_percent},
         {"queue_mean_kb", value.queue_mean_kb},
         {"queue_p99_kb", value.queue_p99_kb},
         {"fairness", value.fairness},
         {"pauses", value.pauses}});
    if (!into_one || setting.controller == Controller::kNone) continue;
    const std::string name(name_of(setting.controller));
    if (trade.series.empty() || trade.series.back().name != name) trade.series.push_back({name, {}});
    trade.series.back().points.push_back({value.queue_p99_kb, value.utilisation_percent, ""});
    const bool caqm = setting.controller == Controller::kCaqm;
    result.checks.push_back(between(fmt::format("incast, {} {}: use of the link, %", name, setting.threshold),
                                    value.utilisation_percent, caqm ? kCaqmLeast : kDcqcnLeast, 100.1));
    if (caqm) {
      result.checks.push_back(between(
          fmt::format("incast, {} {}: 99th percentile of the queue over its target", name, setting.threshold),
          value.queue_p99_kb * 1e3 / setting.target_queue, 0.2, 4));
    }
  }
  result.checks.push_back(
      between("incast, PFC alone: use of the link, %", values[0].utilisation_percent, 99, 100.1));
  result.checks.push_back(between("incast, C-AQM at 40 KB: points more than DCQCN as published",
                                  values[5].utilisation_percent - values[1].utilisation_percent, -15, 25));
  result.checks.push_back(equal("packets dropped", losses, 0));
  result.plots = {trade};
  result.rules.assign(kToyRules.begin(), kToyRules.end());
  result.sentences = {
      fmt::format(
          "The published {:.1f} % against {:.1f} % is the mean size of a window that no queue answers: "
          "what is called DCQCN there has neither rate nor timer. On a queue the two are {:.1f} % "
          "(C-AQM, target 40 KB) and {:.1f} % (DCQCN with its paper's thresholds) in an incast of 8; "
          "what differs is the queue, {:.0f} KB against {:.0f} KB at the 99th percentile, and the start: of "
          "the first 10 ms DCQCN uses {:.1f} % and C-AQM {:.1f} %, because with DCQCN all cut at once and "
          "rise again by 40 Mb/s per 55 us.",
          *paper_caqm, *paper_dcqcn, values[5].utilisation_percent, values[1].utilisation_percent,
          values[5].queue_p99_kb, values[1].queue_p99_kb, values[steady + 1].utilisation_percent,
          values[steady + 5].utilisation_percent),
      fmt::format(
          "The text lets C-AQM lose 5 points when its threshold falls from 97 % to 90 %; the published "
          "model loses {:.1f}. A threshold of its DCQCN raised by 0.15 gains {:.1f} points because "
          "the threshold is the operating point there.",
          toy_caqm - toy_lower, toy_raised - toy_dcqcn)};
  return result;
}

}  // namespace wharf::study::openurma
