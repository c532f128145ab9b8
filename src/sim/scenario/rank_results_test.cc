// SPDX-License-Identifier: Apache-2.0
// Traces of ranks as traffic of scenarios: where ranks stand, what is refused, and what the results say.
#include "sim/scenario/rank_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/expectation.h"
#include "sim/scenario/fabric_memory.h"
#include "sim/scenario/fabric_results.h"
#include "sim/scenario/run.h"
#include "sim/scenario/run_request.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Three ranks, of which the last has nothing to do.
constexpr const char* kTrace =
    "num_ranks 3\nrank 0 { a: calc 1000 b: send 50000b to 1 nic 1 c: send 8b to 1 tag 2 b requires a c "
    "requires a }\n"
    "rank 1 { recv 50000b from 0 recv 8b from 0 tag 2 }\nrank 2 { }\n";

class RankResults : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(file_) << kTrace; }
  void TearDown() override { std::filesystem::remove(file_); }

  Result<FabricInputs> inputs(std::vector<std::string> overrides) {
    RunRequest request;
    request.profile_directory = "profiles";
    request.overrides = std::move(overrides);
    request.options = {{"traffic.goal", file_.string(), "--goal"}};
    return prepare_flows(request);
  }
  std::string refusal(std::vector<std::string> overrides) {
    const auto prepared = inputs(std::move(overrides));
    EXPECT_FALSE(prepared.ok());
    return prepared.ok() ? "" : prepared.error().message;
  }
  FabricResults run(std::vector<std::string> overrides, FabricReport* out = nullptr) {
    const auto prepared = inputs(std::move(overrides));
    EXPECT_TRUE(prepared.ok()) << (prepared.ok() ? "" : prepared.error().message);
    const auto derived = derive(*prepared, {prepared->topology.topology, {}});
    EXPECT_TRUE(derived.ok()) << (derived.ok() ? "" : derived.error().message);
    const auto report = run_flows(prepared->topology.topology, prepared->flows, derived->config, {});
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    if (out != nullptr) *out = *report;
    return results_of(*prepared, derived->derived, *report);
  }

  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("wharf_rank_results_" + std::to_string(::getpid()) + ".goal");
};

TEST_F(RankResults, RanksHaveHostsOfATopologyThatHoldsThem) {
  const auto alone = inputs({});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(alone->topology.topology.host_count(), 16U);
  EXPECT_THAT(alone->flows.ranks.hosts, ElementsAre(0U, 1U, 2U));
  const auto placed = inputs({"topology.from=star:8", "traffic.placement=7,2,0"});
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  EXPECT_EQ(placed->flows.flows[0].source, 7U);
  EXPECT_EQ(placed->flows.flows[0].destination, 2U);
  EXPECT_EQ(inputs({"traffic.placement=0,1,20"})->topology.topology.host_count(), 54U);
  EXPECT_EQ(inputs({"traffic.placement=stride:4"})->flows.ranks.hosts[1], 4U);
}

TEST_F(RankResults, RefusesPlacesAndScales) {
  EXPECT_EQ(refusal({"topology.from=back_to_back"}),
            file_.string() + ": found 3 ranks, expected at most 2, one for each host");
  EXPECT_EQ(refusal({"traffic.placement=0,1"}),
            "traffic.placement: found 2 hosts, expected one for each of the 3 ranks of " + file_.string());
  EXPECT_THAT(refusal({"traffic.calc_scale=2e6"}),
              HasSubstr("--set: traffic.calc_scale is \"2e6\", expected a number from 0 to 1000000"));
  EXPECT_THAT(refusal({"traffic.collective=incast"}), HasSubstr("traffic.collective"));
}

TEST_F(RankResults, MessagesOfANicShareAConnection) {
  EXPECT_EQ(inputs({})->flows.flows[0].connection, 1U);
  EXPECT_EQ(inputs({})->flows.flows[1].connection, 0U);
  EXPECT_EQ(inputs({"fabric.connections=pair"})->flows.flows[0].connection, 0U);
  EXPECT_EQ(inputs({"fabric.connections=flow"})->flows.flows[1].connection, 1U);
}

TEST_F(RankResults, TheSummarySaysWhenEachRankFinished) {
  FabricReport report;
  const FabricResults results = run({"topology.from=star:4", "traffic.calc_scale=2.5"}, &report);
  const auto& ranks = results.summary["ranks"];
  EXPECT_EQ(ranks["count"], 3U);
  EXPECT_EQ(ranks["finished"], 3U);
  EXPECT_EQ(ranks["operations"], 5U);
  EXPECT_EQ(ranks["messages"], 2U);
  EXPECT_EQ(ranks["computed_ns"]["max"], 2500.0);
  EXPECT_EQ(ranks["finish_ns"]["min"], 0.0);
  EXPECT_EQ(ranks["finish_ns"]["max"], as_nanoseconds(report.ranks[0].finish));
  EXPECT_EQ(ranks["finish_ns"]["p50"], as_nanoseconds(report.ranks[1].finish));
  EXPECT_EQ(ranks["each"][1]["host"], 1U);
  EXPECT_EQ(report.records[0].start, nanoseconds(2500));
  // Every path that an expectation may name, and no other number.
  std::vector<std::string> paths = rank_summary_paths();
  nlohmann::ordered_json whole{{"ranks", ranks}};
  whole["ranks"].erase("each");
  std::vector<std::string> numbers = number_paths(whole);
  std::sort(paths.begin(), paths.end());
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, paths);
}

TEST_F(RankResults, TheTableHasARowForEachRank) {
  FabricReport report;
  (void)run({"topology.from=star:4"}, &report);
  const std::string csv = ranks_csv(inputs({"topology.from=star:4"})->flows, report.ranks);
  EXPECT_THAT(csv,
              HasSubstr("rank,host,operations,sent,received,bytes_sent,bytes_received,computed_ns,finish_ns\n"
                        "0,0,3,2,0,50008,0,1000.000,"));
  EXPECT_THAT(csv, HasSubstr("\n2,2,0,0,0,0,0,0.000,0.000\n"));
  report.ranks[1].finish = kNever;
  EXPECT_THAT(ranks_csv(inputs({"topology.from=star:4"})->flows, report.ranks),
              HasSubstr("\n1,1,2,0,2,0,50008,0.000,\n"));
  const RankStatistics statistics = statistics_of(report.ranks);
  EXPECT_EQ(statistics.finished, 2U);
  EXPECT_THAT(statistics.slowest, ElementsAre(0U, 2U));
}

TEST_F(RankResults, AnEstimateKnowsOfOperations) {
  const auto few = inputs({"topology.from=star:4"});
  ASSERT_TRUE(few.ok());
  std::string text = kTrace;
  for (int i = 0; i < 10'000; ++i) text.insert(text.find("rank 2 { ") + 9, "calc 5 ");
  std::ofstream(file_) << text;
  const auto many = inputs({"topology.from=star:4"});
  ASSERT_TRUE(many.ok());
  const auto derived = derive(*few, {few->topology.topology, {}});
  ASSERT_TRUE(derived.ok());
  const std::uint64_t more = estimate_memory(many->topology.topology, many->flows, derived->config) -
                             estimate_memory(few->topology.topology, few->flows, derived->config);
  EXPECT_EQ(more, 10'000 * (sizeof(workload::RankOp) + 16));
}

TEST_F(RankResults, RanksAreThinHostsOfAWorld) {
  ScenarioSource source;
  source.text =
      "[model]\nstack = \"ub_urma\"\n[topology]\nfrom = \"fat_tree:16\"\n[hosts]\nclients = 4\n"
      "[traffic]\ngoal = \"" +
      file_.string() + "\"\n[run]\nworkload = \"key_value\"\noperations = 50\nkeys = 100\n";
  source.profile_directory = "profiles";
  const auto scenario = load_scenario(source);
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->background["flows"], 2U);
  EXPECT_EQ(report->background["finished"], 2U);
  EXPECT_EQ(report->background["ranks"]["finished"], 3U);
  EXPECT_EQ(report->background["ranks"]["each"][0]["host"], 4U);
  source.overrides = {"traffic.placement=3,4,5"};
  const auto refused = load_scenario(source);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("traffic.placement: found host 3, expected hosts from 4 to 14, "
                        "which make traffic alone"));
}

}  // namespace
}  // namespace wharf::sim
