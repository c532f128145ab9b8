// SPDX-License-Identifier: Apache-2.0
// The numbers of a public series of articles about Ultra Ethernet (November 2025 to January 2026), each
// beside what the engine, the controllers and the fabric make of it. Its bytes and packet sequences are tests
// of the engine.
#include <fmt/format.h>

#include "engine/congestion/nscc.h"
#include "engine/congestion/rccc.h"
#include "study/frame/fabric_batch.h"
#include "study/ultra_ethernet/ultra_ethernet.h"

namespace wharf::study::ultra_ethernet {
namespace {

constexpr BitsPerSecond kRate = gigabits_per_second(100);

double bdp_bytes(BitsPerSecond rate, TimePs round_trip) {
  return static_cast<double>(rate.value) / 8 * static_cast<double>(round_trip.ps) / 1e12;
}

/// How long a 9216-byte frame takes over four links with three switches, and another of the same size back,
/// in nanoseconds: 50 m of fibre, 400 ns per switch, 150 ns of FEC per link, cut-through. The article doubles
/// the way of the data.
struct MeasuredTrip {
  double there = 0;
  double back = 0;
};
Result<MeasuredTrip> measured_trip(const StudyContext& context) {
  const sim::LinkSpec link{kRate, picoseconds(62'500)};
  sim::Topology topology;
  topology.add_host();
  topology.add_host();
  sim::NodeId before = 0;
  for (int i = 0; i < 3; ++i) {
    const sim::NodeId middle = topology.add_switch(0, nanoseconds(400));
    topology.connect(before, middle, link);
    before = middle;
  }
  topology.connect(before, 1, link);
  // A frame there and, when its acknowledgement is long past, one back; the end of each way starts a flow.
  constexpr std::uint32_t kFlowBytes = 8192;
  workload::FlowList flows;
  flows.flows = {{.id = 0, .source = 0, .destination = 1, .bytes = kFlowBytes},
                 {.id = 1, .source = 1, .destination = 0, .bytes = kFlowBytes, .start = microseconds(100)},
                 {.id = 2, .source = 1, .destination = 0, .bytes = 1, .trigger = 0},
                 {.id = 3, .source = 0, .destination = 1, .bytes = 1, .trigger = 1}};
  flows.triggers = {{.id = 0}, {.id = 1}};
  workload::set_activations(flows, {{0, 0 | workload::kOnReceipt}, {1, 1 | workload::kOnReceipt}});
  auto made = case_by_keys(context, "round trip", std::move(topology), std::move(flows),
                           {"fabric.payload=8192B", "fabric.header=1024B", "fabric.switching=cut_through",
                            "fabric.fec_delay=150ns"});
  if (!made) return made.error();
  const auto report = run_case(context, *made);
  if (!report) return report.error();
  const auto& records = report->records;
  return MeasuredTrip{as_nanoseconds(records[2].start - records[0].start),
                      as_nanoseconds(records[3].start - records[1].start)};
}

/// First transmissions of one write of `bytes`.
Result<double> packets_of(const StudyContext& context, std::uint64_t bytes) {
  workload::FlowList flows;
  flows.flows = {{.source = 0, .destination = 1, .bytes = bytes}};
  auto made = case_by_keys(context, fmt::format("write of {} B", bytes),
                           sim::back_to_back({kRate, nanoseconds(500)}), std::move(flows), {});
  if (!made) return made.error();
  FabricBatch batch(context);
  batch.add(*std::move(made));
  WHARF_TRY(batch.run());
  return static_cast<double>(batch[0].totals.new_packets);
}

}  // namespace

Result<StudyResult> worked_examples(const StudyContext& context) {
  StudyResult result;
  result.columns = {{"example", "example", 0},
                    {"quantity", "quantity", 0},
                    {"printed", "printed", 3},
                    {"here", "here", 3},
                    {"note", "", 0}};
  const auto row = [&result](const char* example, const char* quantity, double printed, double here,
                             const char* note) {
    result.rows.push_back(
        {{"example", example}, {"quantity", quantity}, {"printed", printed}, {"here", here}, {"note", note}});
  };
  /// Printed and found must agree.
  const auto same = [&](const char* example, const char* quantity, double printed, double here,
                        const char* note = "") {
    row(example, quantity, printed, here, note);
    result.checks.push_back({CheckKind::kAccounting, fmt::format("{}: {}", example, quantity), here,
                             printed - 0.001 * printed, printed + 0.001 * printed});
  };

  // Bandwidth-delay product and windows.
  const auto six = congestion::RcccConfig::for_network(kRate, microseconds(6), 4204);
  const auto nscc_six = congestion::NsccConfig::for_network(kRate, microseconds(6), 4204, true);
  same("BDP", "100 Gb/s x 6 us, B", 75'000, bdp_bytes(kRate, microseconds(6)));
  same("BDP", "MaxWnd of RCCC, B", 112'500, static_cast<double>(six.max_window));
  same("BDP", "MaxWnd of NSCC, B", 112'500,
       static_cast<double>(congestion::NsccSender(nscc_six).max_window()));
  const auto reference = congestion::NsccConfig::for_network(kRate, microseconds(12), 4096, true);
  same("reference network", "Base_BDP, B", 150'000,
       static_cast<double>(congestion::NsccSender(reference).max_window()) / 1.5);
  same("reference network", "400 Gb/s x 6 us, B", 300'000,
       bdp_bytes(gigabits_per_second(400), microseconds(6)));
  row("reference network", "added per period, B", 146.484, static_cast<double>(reference.eta), "simplified");

  // Round trip.
  const auto trip = measured_trip(context);
  if (!trip) return trip.error();
  same("round trip", "9216 B at 100 Gb/s, us", 0.737, 9216 * 8 / 100e3);
  row("round trip", "one way, us", 2.787, trip->there / 1e3, "plus 3 x 5.1 ns");
  row("round trip", "round trip, us", 5.574, (trip->there + trip->back) / 1e3, "configured: 6.0");
  // By hand: 737.28, 4 x (62.5 + 150), 3 x (400 + 5.12), twice.
  result.checks.push_back(equal("one way by hand, ns", trip->there, 737.28 + 850 + 1215.36));
  result.checks.push_back(
      equal("round trip by hand, ns", trip->there + trip->back, 2 * (737.28 + 850 + 1215.36)));
  row("round trip", "RS(544,514) codeword, 400 Gb/s, ns", 150, 5440 / 400.0, "whole decoder");

  // Messages.
  const auto write = packets_of(context, 16'384);
  const auto gradients = packets_of(context, 3 * 1024 * 4);
  if (!write) return write.error();
  if (!gradients) return gradients.error();
  same("16 KiB write", "fragments of 4096 B", 4, *write);
  same("gradients", "packets of 3 rows", 3, *gradients);
  row("gradients", "bytes of all rows", 12'280, 3 * 1024 * 4, "misprint");
  result.sentences = {
      "Windows, packets and times are those of the engine's own controllers and of a packet sent through a "
      "fabric. A power of two of the window is a simplification of what NSCC adds per period (0.15 MTU, and "
      "what is due over the window); a switch that cuts through waits for 64 B; 150 ns is what a FEC decoder "
      "takes, its codeword passes in 13.6 ns; three rows of 4096 B are 12,288 B and end at 4092, 8188 and "
      "12284.",
      "Headers, acknowledgements and packet sequences of the examples are compared byte for byte by the "
      "engine's tests."};
  return result;
}

}  // namespace wharf::study::ultra_ethernet
