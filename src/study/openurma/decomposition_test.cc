// SPDX-License-Identifier: Apache-2.0
#include "study/openurma/decomposition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace wharf::study {
namespace {

using trace::Stage;

double& at(StageTimes& stages, Stage stage) { return stages[static_cast<std::size_t>(stage)]; }

double part(const std::vector<Part>& parts, std::string_view name) {
  for (const Part& each : parts) {
    if (each.name == name) return each.ns;
  }
  ADD_FAILURE() << "no part " << name;
  return 0;
}

PathCosts load_costs() {
  PathCosts costs;
  costs.nic_cycle = picoseconds(3106);
  costs.nic_cycles = 8;
  costs.bytes_per_cycle = 32;
  costs.link_delay = nanoseconds(100);
  costs.link_rate = gigabits_per_second(400);
  costs.request_bytes = 64;
  costs.response_bytes = 64;
  return costs;
}

/// The published load: 500 ns, each visit rounded down to whole nanoseconds.
StageTimes load_stages() {
  StageTimes stages{};
  at(stages, Stage::kMissDetection) = 70;
  at(stages, Stage::kSubmitBus) = 30;
  for (const Stage visit :
       {Stage::kNicTransmit, Stage::kNicReceive, Stage::kNicTransmitResponse, Stage::kNicReceiveResponse}) {
    at(stages, visit) = 27;
  }
  at(stages, Stage::kWireForward) = 101;
  at(stages, Stage::kWireBack) = 101;
  at(stages, Stage::kTargetBus) = 30;
  at(stages, Stage::kTargetMemory) = 30;
  at(stages, Stage::kCompleteBus) = 30;
  return stages;
}

TEST(Decomposition, PublishedLoadIsFourHundredTwentyAndEightyThatTheTableLeavesOut) {
  const auto parts = decompose(load_stages(), load_costs());
  EXPECT_NEAR(sum(parts), 500, 1e-9);
  EXPECT_NEAR(part(parts, "NIC TX pipeline"), 24.848, 1e-9);
  EXPECT_NEAR(part(parts, "Wire back"), 100, 1e-9);
  EXPECT_NEAR(part(parts, "miss_detection"), 70, 1e-9);
  EXPECT_NEAR(part(parts, "extra flits"), 4 * 3.106, 1e-9);
  EXPECT_NEAR(part(parts, "serialisation"), 2 * 1.28, 1e-9);
  EXPECT_NEAR(part(parts, "rounding"), 4 * (27 - 27.954) + 2 * (101 - 101.28), 1e-9);
  double published = 0;
  for (const Part& each : parts) published += each.origin == PartOrigin::kPublishedRow ? each.ns : 0;
  EXPECT_NEAR(published, 419.392, 1e-9);
  EXPECT_LT(rounding_max_ns(load_stages(), load_costs()), 1.0);
}

TEST(Decomposition, PublishedRowsComeFirstAndAreAlwaysEighteen) {
  const auto parts = decompose(StageTimes{}, load_costs());
  std::size_t published = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].origin == PartOrigin::kPublishedRow) {
      EXPECT_EQ(i, published);
      ++published;
    }
  }
  EXPECT_EQ(published, 18U);
}

TEST(Decomposition, AVisitThatTookLongerThanItsPartsShowsAsLargeRounding) {
  StageTimes stages = load_stages();
  at(stages, Stage::kNicReceive) += 5;
  EXPECT_GT(rounding_max_ns(stages, load_costs()), 4.0);
}

TEST(Decomposition, TargetAccessCountsBusAndBothKindsOfPcie) {
  StageTimes stages{};
  at(stages, Stage::kTargetBus) = 1;
  at(stages, Stage::kTargetPcieRead) = 2;
  at(stages, Stage::kTargetPcieWrite) = 4;
  EXPECT_DOUBLE_EQ(part(group_stages(stages), "Target NIC<->DRAM"), 7);
}

TEST(Decomposition, StagesWithoutARowKeepTheirOwnNames) {
  StageTimes stages{};
  at(stages, Stage::kRetransmissionWait) = 12;
  const auto parts = group_stages(stages);
  EXPECT_EQ(parts.back().name, "retransmission_wait");
  EXPECT_EQ(parts.back().origin, PartOrigin::kLeftOut);
}

RC_GTEST_PROP(Decomposition, NoTimeIsLostWhateverTheStages, ()) {
  StageTimes stages{};
  for (double& ns : stages) ns = *rc::gen::inRange(0, 5000) / 4.0;
  PathCosts costs = load_costs();
  costs.request_bytes = *rc::gen::inRange(0u, 70000u);
  costs.response_bytes = *rc::gen::inRange(0u, 70000u);
  const double whole = std::accumulate(stages.begin(), stages.end(), 0.0);
  RC_ASSERT(std::abs(sum(decompose(stages, costs)) - whole) < 1e-3);
  RC_ASSERT(std::abs(sum(group_stages(stages)) - whole) < 1e-3);
}

}  // namespace
}  // namespace wharf::study
