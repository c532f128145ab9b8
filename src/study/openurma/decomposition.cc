// SPDX-License-Identifier: Apache-2.0
#include "study/openurma/decomposition.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace wharf::study {
namespace {

using trace::Stage;

/// Below this a stage took no time: sums of doubles.
constexpr double kNothingNs = 1e-6;

struct PublishedRow {
  std::string_view name;
  std::array<Stage, 3> stages;  ///< The first, repeated where there are fewer.
};

/// OpenURMA Table 7, in its order.
constexpr std::array<PublishedRow, 18> kPublishedRows{{
    {"Verb library post", {Stage::kLibraryPost, Stage::kLibraryPost, Stage::kLibraryPost}},
    {"WQE construct", {Stage::kWorkRequestBuild, Stage::kWorkRequestBuild, Stage::kWorkRequestBuild}},
    {"Doorbell MMIO", {Stage::kDoorbell, Stage::kDoorbell, Stage::kDoorbell}},
    {"DMA WQE fetch", {Stage::kWorkRequestFetch, Stage::kWorkRequestFetch, Stage::kWorkRequestFetch}},
    {"Submit (membus)", {Stage::kSubmitBus, Stage::kSubmitBus, Stage::kSubmitBus}},
    {"NIC TX pipeline", {Stage::kNicTransmit, Stage::kNicTransmit, Stage::kNicTransmit}},
    {"Wire forward", {Stage::kWireForward, Stage::kWireForward, Stage::kWireForward}},
    {"NIC RX (stack proc.)", {Stage::kNicReceive, Stage::kNicReceive, Stage::kNicReceive}},
    {"Target NIC<->DRAM", {Stage::kTargetBus, Stage::kTargetPcieRead, Stage::kTargetPcieWrite}},
    {"Target DRAM row hit", {Stage::kTargetMemory, Stage::kTargetMemory, Stage::kTargetMemory}},
    {"NIC TX (response)",
     {Stage::kNicTransmitResponse, Stage::kNicTransmitResponse, Stage::kNicTransmitResponse}},
    {"Wire back", {Stage::kWireBack, Stage::kWireBack, Stage::kWireBack}},
    {"NIC RX (response)",
     {Stage::kNicReceiveResponse, Stage::kNicReceiveResponse, Stage::kNicReceiveResponse}},
    {"Initiator resp DMA", {Stage::kResponseWrite, Stage::kResponseWrite, Stage::kResponseWrite}},
    {"DMA CQE write", {Stage::kCompletionWrite, Stage::kCompletionWrite, Stage::kCompletionWrite}},
    {"Complete (membus)", {Stage::kCompleteBus, Stage::kCompleteBus, Stage::kCompleteBus}},
    {"CQE poll", {Stage::kCompletionPoll, Stage::kCompletionPoll, Stage::kCompletionPoll}},
    {"Verb library poll", {Stage::kLibraryPoll, Stage::kLibraryPoll, Stage::kLibraryPoll}},
}};

/// A pipeline visit or wire crossing before it is rounded.
struct Visit {
  double published = 0;  ///< Depth of the pipeline, or delay of the wire.
  double extra = 0;      ///< Further flits, or serialisation.
  bool wire = false;
};

double extra_flits_ns(const PathCosts& costs, std::uint32_t bytes) {
  const std::uint32_t flits = (bytes + costs.bytes_per_cycle - 1) / costs.bytes_per_cycle;
  return flits > 1 ? as_nanoseconds(costs.nic_cycle) * (flits - 1) : 0.0;
}

double serialisation_ns(const PathCosts& costs, std::uint32_t bytes) {
  const auto rate = static_cast<double>(costs.link_rate.value);
  return rate > 0 ? bytes * 8.0 / rate * 1e9 : 0.0;
}

/// The visit that `stage` is, if it is one.
bool is_visit(Stage stage, const PathCosts& costs, Visit& visit) {
  const double depth = as_nanoseconds(costs.nic_cycle) * costs.nic_cycles;
  if (stage == Stage::kNicTransmit || stage == Stage::kNicReceive) {
    visit = {depth, extra_flits_ns(costs, costs.request_bytes), false};
  } else if (stage == Stage::kNicTransmitResponse || stage == Stage::kNicReceiveResponse) {
    visit = {depth, extra_flits_ns(costs, costs.response_bytes), false};
  } else if (stage == Stage::kWireForward) {
    visit = {as_nanoseconds(costs.link_delay), serialisation_ns(costs, costs.request_bytes), true};
  } else if (stage == Stage::kWireBack) {
    visit = {as_nanoseconds(costs.link_delay), serialisation_ns(costs, costs.response_bytes), true};
  } else {
    return false;
  }
  return true;
}

bool is_published(Stage stage) {
  return std::any_of(kPublishedRows.begin(), kPublishedRows.end(), [stage](const PublishedRow& row) {
    return std::find(row.stages.begin(), row.stages.end(), stage) != row.stages.end();
  });
}

/// Time of a published row's stages, each counted once.
double row_ns(const StageTimes& stages, const PublishedRow& row) {
  double total = 0;
  for (std::size_t i = 0; i < row.stages.size(); ++i) {
    if (i > 0 && row.stages[i] == row.stages[0]) continue;
    total += stages[static_cast<std::size_t>(row.stages[i])];
  }
  return total;
}

/// Stages that no published row names, each under its own name.
void append_other_stages(std::vector<Part>& parts, const StageTimes& stages) {
  for (int i = 0; i < trace::kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    const double ns = stages[static_cast<std::size_t>(i)];
    if (!is_published(stage) && std::abs(ns) > kNothingNs) {
      parts.push_back({std::string(trace::name(stage)), PartOrigin::kLeftOut, ns});
    }
  }
}

}  // namespace

std::vector<Part> decompose(const StageTimes& stages, const PathCosts& costs) {
  std::vector<Part> parts;
  double flits = 0;
  double serialisation = 0;
  double rounding = 0;
  for (const PublishedRow& row : kPublishedRows) {
    const double measured = row_ns(stages, row);
    Visit visit;
    if (!is_visit(row.stages[0], costs, visit)) {
      parts.push_back({std::string(row.name), PartOrigin::kPublishedRow, measured});
      continue;
    }
    parts.push_back({std::string(row.name), PartOrigin::kPublishedRow, visit.published});
    (visit.wire ? serialisation : flits) += visit.extra;
    rounding += measured - visit.published - visit.extra;
  }
  append_other_stages(parts, stages);
  if (flits > kNothingNs) parts.push_back({"extra flits", PartOrigin::kLeftOut, flits});
  if (serialisation > kNothingNs) parts.push_back({"serialisation", PartOrigin::kLeftOut, serialisation});
  if (std::abs(rounding) > kNothingNs) parts.push_back({"rounding", PartOrigin::kLeftOut, rounding});
  return parts;
}

std::vector<Part> group_stages(const StageTimes& stages) {
  std::vector<Part> parts;
  for (const PublishedRow& row : kPublishedRows) {
    parts.push_back({std::string(row.name), PartOrigin::kPublishedRow, row_ns(stages, row)});
  }
  append_other_stages(parts, stages);
  return parts;
}

double sum(const std::vector<Part>& parts) {
  double total = 0;
  for (const Part& part : parts) total += part.ns;
  return total;
}

double rounding_max_ns(const StageTimes& stages, const PathCosts& costs) {
  double largest = 0;
  for (const PublishedRow& row : kPublishedRows) {
    Visit visit;
    if (!is_visit(row.stages[0], costs, visit)) continue;
    largest = std::max(largest, std::abs(row_ns(stages, row) - visit.published - visit.extra));
  }
  return largest;
}

}  // namespace wharf::study
