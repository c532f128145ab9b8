// SPDX-License-Identifier: Apache-2.0
#include "study/registry.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "study/fabric/fabric.h"
#include "study/mmio/mmio.h"
#include "study/openurma/openurma.h"
#include "study/ordering/ordering.h"
#include "study/rdmo/rdmo.h"
#include "study/ultra_ethernet/ultra_ethernet.h"

namespace wharf::study {
namespace {

constexpr auto kOthers = std::to_array<Study>({
    {"openurma/table4", "NIC state, field by field", "OpenURMA, arXiv 2605.28717, Table 4", openurma::table4},
    {"openurma/table5", "NIC state against endpoints and hosts", "OpenURMA, arXiv 2605.28717, Table 5",
     openurma::table5},
    {"openurma/table6", "Latency of every verb over four stacks", "OpenURMA, arXiv 2605.28717, Table 6",
     openurma::table6},
    {"openurma/table7", "Where the nanoseconds of one 64-byte fetch go",
     "OpenURMA, arXiv 2605.28717, Table 7", openurma::table7},
    {"openurma/figure12", "RoCE writes against published ConnectX-7 latencies",
     "OpenURMA, arXiv 2605.28717, Figure 12", openurma::figure12},
    {"openurma/figure13", "NIC state as both endpoints and hosts grow",
     "OpenURMA, arXiv 2605.28717, Figure 13", openurma::figure13},
    {"openurma/figure14", "The context cache's cliff", "OpenURMA, arXiv 2605.28717, Figure 14",
     openurma::figure14},
    {"openurma/figure17", "Latency as a cluster grows", "OpenURMA, arXiv 2605.28717, Figure 17",
     openurma::figure17},
    {"openurma/figure19", "The headline: 64 bytes from another machine",
     "OpenURMA, arXiv 2605.28717, Figure 19", openurma::figure19},
    {"openurma/figure20", "Operation rate against operations in flight",
     "OpenURMA, arXiv 2605.28717, Figure 20", openurma::figure20},
    {"openurma/figure21", "Latency against link delay", "OpenURMA, arXiv 2605.28717, Figure 21",
     openurma::figure21},
    {"openurma/figure22", "Cost of one 64-byte fetch, stacked", "OpenURMA, arXiv 2605.28717, Figure 22",
     openurma::figure22},
    {"openurma/figure23", "Verb coverage", "OpenURMA, arXiv 2605.28717, Figure 23", openurma::figure23},
    {"openurma/figure24", "Loads with locality, by cache policy", "OpenURMA, arXiv 2605.28717, Figure 24",
     openurma::figure24},
    {"openurma/figure25", "Far memory by line against far memory by page",
     "OpenURMA, arXiv 2605.28717, Figure 25", openurma::figure25},
    {"openurma/figure26", "Latency against payload", "OpenURMA, arXiv 2605.28717, Figure 26",
     openurma::figure26},
    {"openurma/figure29", "Reads against writes", "OpenURMA, arXiv 2605.28717, Figure 29",
     openurma::figure29},
    {"openurma/figure30", "Latency against offered load", "OpenURMA, arXiv 2605.28717, Figure 30",
     openurma::figure30},
    {"openurma/figure44", "Loss: selective repair, Go-Back-N and time-outs",
     "OpenURMA, arXiv 2605.28717, Figure 44", openurma::figure44},
    {"openurma/figure45", "Congestion control: DCQCN against C-AQM", "OpenURMA, arXiv 2605.28717, Figure 45",
     openurma::figure45},
    {"fabric/congestion-types", "Five places where a fabric congests, and what cures each",
     "Ultra Ethernet 1.0, 3.6 and 4.1", fabric::congestion_types},
    {"mmio/figure2", "What one core writes to a NIC and to DRAM, with and without fences",
     "HotOS '25, Figure 2", mmio::figure2},
    {"mmio/figure3", "What BlueFlame saves", "HotOS '25, Figure 3", mmio::figure3},
    {"mmio/figure4", "Throughput of writes against their size", "HotOS '25, Figure 4", mmio::figure4},
    {"mmio/rates", "Latencies and rates of the way from core to NIC", "HotOS '25, 2.1, 2.3 and 3.2",
     mmio::rates},
    {"mmio/transmit", "Doorbell, BlueFlame and a stream of stores for each protocol", "Beyond HotOS '25, 3",
     mmio::transmit},
    {"ordering/table1", "What PCIe keeps in order", "ASPLOS '26, Table 1", ordering::table1},
    {"ordering/figure2", "RDMA WRITE latency: what one DMA read after another costs", "ASPLOS '26, Figure 2",
     ordering::figure2},
    {"ordering/figure3", "Pipelined READs against WRITEs, and what limits READs", "ASPLOS '26, Figure 3",
     ordering::figure3},
    {"ordering/figure4", "Messages written to a network card: no order, fences", "ASPLOS '26, Figure 4",
     ordering::figure4},
    {"ordering/figure5", "Ordered DMA reads: at the NIC, at the root complex, not at all",
     "ASPLOS '26, Figure 5", ordering::figure5, true},
    {"ordering/figure6a", "Key-value gets against item size, one queue pair", "ASPLOS '26, Figure 6a",
     ordering::figure6a},
    {"ordering/figure6b", "Key-value gets against queue pairs", "ASPLOS '26, Figure 6b", ordering::figure6b},
    {"ordering/figure6c", "Key-value gets against item size, 16 queue pairs", "ASPLOS '26, Figure 6c",
     ordering::figure6c},
    {"ordering/figure7", "Key-value gets on network cards, four protocols",
     "ASPLOS '26, Figure 7 and Table 4", ordering::figure7},
    {"ordering/figure8", "Simulated gets against those of network cards", "ASPLOS '26, Figure 8",
     ordering::figure8},
    {"ordering/figure9", "A slow peer device behind the same switch", "ASPLOS '26, Figure 9",
     ordering::figure9},
    {"ordering/figure10", "Messages written by a core: no order, fences, sequence numbers",
     "ASPLOS '26, Figure 10", ordering::figure10},
    {"ordering/table5", "Silicon area of the ordering queue and the reorder buffer", "ASPLOS '26, Table 5",
     ordering::table5},
    {"ordering/table6", "Static power of the ordering queue and the reorder buffer", "ASPLOS '26, Table 6",
     ordering::table6},
    {"ordering/gets-correctness",
     "Get protocols under every order of their reads: what is torn, and what is not", "ASPLOS '26, 6.4",
     ordering::gets_correctness},
    {"ordering/gets-over-stacks", "The same over RoCE and UB between two hosts",
     "ASPLOS '26, 6.4, over whole protocol stacks", ordering::gets_over_stacks},
    {"ordering/writer-conflicts", "Reads ahead that writers hit, and what that costs",
     "Beyond ASPLOS '26: its figures have no writers", ordering::writer_conflicts},
    {"ordering/queue-size", "How many entries and trackers the ordering queue needs",
     "Beyond ASPLOS '26: 256 entries in Table 2", ordering::queue_size},
    {"ordering/rob-size", "How many entries the MMIO reorder buffer needs",
     "Beyond ASPLOS '26: 16 entries in 6.8", ordering::rob_size},
    {"ordering/acquire-or-total", "What each annotation of a get costs, and which of them are enough",
     "Beyond ASPLOS '26: its get protocols with its labels", ordering::acquire_or_total},
    {"ordering/two-root-complexes", "Ordered reads across two root complexes of one host",
     "Beyond ASPLOS '26: one root complex there", ordering::two_root_complexes},
    {"ordering/on-bus", "Get protocols over a UB controller on the on-chip bus and behind PCIe",
     "Beyond ASPLOS '26: the on-bus controller of OpenURMA", ordering::on_bus},
    {"rdmo/append", "Appends of 1 to 256 clients: a worker near the memory, and what one does without it",
     "DOCA UROM RDMO's question; unpublished", rdmo::append},
    {"rdmo/size", "Appends of 16 B to 64 KiB, five ways", "DOCA UROM RDMO's question; unpublished",
     rdmo::size},
    {"rdmo/load", "Appends while the target's core has other work", "DOCA UROM RDMO's question; unpublished",
     rdmo::load},
    {"rdmo/worker-time", "How fast a card's core must be to append faster than clients alone",
     "DOCA UROM RDMO's question; unpublished", rdmo::worker_time},
});

/// By document.
constexpr auto kStudies = [] {
  std::array<Study, kOthers.size() + ultra_ethernet::kStudies.size()> all{};
  std::copy(ultra_ethernet::kStudies.begin(), ultra_ethernet::kStudies.end(),
            std::copy(kOthers.begin(), kOthers.end(), all.begin()));
  return all;
}();

}  // namespace

std::span<const Study> all_studies() { return kStudies; }

Result<std::vector<const Study*>> find_studies(const std::string& name) {
  std::vector<const Study*> found;
  std::vector<std::string_view> names;
  for (const Study& study : kStudies) {
    const std::string id(study.id);
    const std::string_view document = study.id.substr(0, study.id.find('/'));
    if (study.id == name) return std::vector<const Study*>{&study};
    if (document == name || ::fnmatch(name.c_str(), id.c_str(), 0) == 0) found.push_back(&study);
    if (names.empty() || names.back() != document) names.push_back(document);
  }
  if (!found.empty()) return found;
  for (const Study& study : kStudies) names.push_back(study.id);
  const auto nearest = nearest_name(name, names);
  return input_error(fmt::format(
      "unknown study \"{}\", expected one of those that `wharf study list` shows, a document or a pattern of "
      "names{}",
      name, nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

}  // namespace wharf::study
