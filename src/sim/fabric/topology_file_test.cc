// SPDX-License-Identifier: Apache-2.0
// Topology files: those that people have, what is derived from them, and what is refused with which sentence.
#include "sim/fabric/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/fabric/topology_survey.h"

namespace wharf::sim {
namespace {

using testing::HasSubstr;

constexpr const char* kTiny =
    "# A leaf-spine network, 4 to 1.\n"
    "Nodes 32\nTiers 2\nPodsize 32\n\n"
    "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\nDownlink_Latency_ns 1000\nOversubscribed 4\n"
    "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  const auto file = read_topology(text, "t.topo");
  EXPECT_FALSE(file.ok());
  return file.ok() ? "" : file.error().message;
}

TopologyFile shipped(const std::string& name) {
  std::ifstream stream("studies/ultra_ethernet/" + name);
  EXPECT_TRUE(stream) << name;
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  auto file = read_topology(text, name);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return *std::move(file);
}

TEST(TopologyFile, TheExampleOfTheFormat) {
  const auto file = read_topology(kTiny, "t.topo");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->topology.host_count(), 32U);
  EXPECT_EQ(file->fat_tree->leaves_per_pod, 4U);
  EXPECT_EQ(file->fat_tree->middles_per_pod, 2U);
  EXPECT_EQ(file->fat_tree->tiers(), 2U);
  EXPECT_TRUE(file->remarks.empty());
  EXPECT_EQ(survey(file->topology).oversubscription_permille, 4000U);
}

TEST(TopologyFile, EveryReferenceFile) {
  const TopologyFile spine = shipped("leaf_spine_1024.topo");
  EXPECT_EQ(spine.topology.host_count(), 1024U);
  EXPECT_EQ(spine.topology.switch_count(), 32U + 32U);
  EXPECT_EQ(survey(spine.topology).diameter_hops, 4U);
  EXPECT_EQ(survey(spine.topology).diameter_paths, 32U);

  const TopologyFile even = shipped("fat_tree_128_1os.topo");
  EXPECT_EQ(even.topology.switch_count(), 32U + 32U + 16U);
  EXPECT_EQ(survey(even.topology).oversubscription_permille, 1000U);
  EXPECT_EQ(survey(even.topology).diameter_paths, 16U);

  const TopologyFile thin = shipped("fat_tree_128_4os.topo");
  EXPECT_EQ(thin.topology.switch_count(), 32U + 32U + 4U);
  EXPECT_EQ(survey(thin.topology).oversubscription_permille, 4000U);
  EXPECT_EQ(survey(thin.topology).diameter_paths, 4U);

  const TopologyFile large = shipped("fat_tree_1024_1os.topo");
  EXPECT_EQ(large.topology.host_count(), 1024U);
  EXPECT_EQ(large.fat_tree->link[0].rate, gigabits_per_second(200));
  EXPECT_EQ(survey(large.topology).diameter_hops, 6U);
}

TEST(TopologyFile, KeysMayBeInAnyLetterCaseAndHeaderLinesUnknown) {
  const std::string text = replaced(replaced(kTiny, "Radix_Down 8", "radix_down 8"), "Podsize 32\n",
                                    "PODSIZE 32\nColour blue\nX\n");
  const auto file = read_topology(text, "t.topo");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->remarks.size(), 1U);
  EXPECT_EQ(file->remarks[0],
            "t.topo:5: the format ignores the header line \"Colour\" and 1 more header lines");
}

TEST(TopologyFile, QueueSizesHaveNoInfluenceAndThatIsSaid) {
  const auto file = read_topology(std::string(kTiny) + "Queue_Down 100\n", "t.topo");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->remarks.size(), 1U);
  EXPECT_THAT(file->remarks[0], HasSubstr("t.topo:16: queue sizes"));
  EXPECT_EQ(file->queue_line, 16U);
}

// Twelve hosts of 100 Gb/s under eight links of 150: not oversubscribed, however uneven the numbers.
TEST(TopologyFile, OversubscriptionGoesBySpeedNotByNumberOfLinks) {
  const TopologyFile file = shipped("leaf_spine_96_uneven.topo");
  EXPECT_EQ(file.topology.host_count(), 96U);
  EXPECT_EQ(file.topology.switch_count(), 8U + 8U);
  EXPECT_EQ(survey(file.topology).oversubscription_permille, 1000U);
}

// All pairs are four links apart; one link is far longer than the others.
TEST(TopologyFile, TheLongestPairGoesByTimeNotByHops) {
  const auto file = read_topology(
      "graph\nhosts 3\nswitch a\nswitch b\nswitch c\nswitch s tier 1\nlink 0 a 100Gbps 1us\n"
      "link 1 b 100Gbps 1us\nlink 2 c 100Gbps 1us\nlink a s 100Gbps 1us\nlink b s 100Gbps 1us\n"
      "link c s 100Gbps 2ms\n",
      "g.txt");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const TopologySummary summary = survey(file->topology);
  EXPECT_EQ(summary.diameter_hops, 4U);
  const auto [from, to] = longest_pair(file->topology, summary, Bytes{4160}, Bytes{64});
  EXPECT_EQ(std::max(from, to), 2U);
  // Where links are alike it is the pair of the diameter.
  const TopologyFile even = shipped("fat_tree_128_1os.topo");
  const TopologySummary far = survey(even.topology);
  EXPECT_EQ(longest_pair(even.topology, far, Bytes{4160}, Bytes{64}),
            std::pair(far.diameter_from, far.diameter_to));
  // In a leaf alone, the two hosts with the slowest links.
  const auto leaf = read_topology(
      "graph\nhosts 3\nswitch a\nlink 0 a 100Gbps 1us\nlink 1 a 100Gbps 3us\nlink 2 a 100Gbps 2us\n", "g");
  ASSERT_TRUE(leaf.ok());
  EXPECT_EQ(longest_pair(leaf->topology, survey(leaf->topology), Bytes{4160}, Bytes{64}),
            (std::pair<NodeId, NodeId>(2, 1)));
  // So may be those of one leaf among several.
  const auto near = read_topology(
      "graph\nhosts 3\nswitch a\nswitch b\nswitch s tier 1\nlink 0 a 100Gbps 4ms\nlink 1 a 100Gbps 4ms\n"
      "link 2 b 100Gbps 1us\nlink a s 100Gbps 1us\nlink b s 100Gbps 1us\n",
      "g");
  ASSERT_TRUE(near.ok()) << near.error().message;
  EXPECT_EQ(longest_pair(near->topology, survey(near->topology), Bytes{4160}, Bytes{64}),
            (std::pair<NodeId, NodeId>(1, 0)));
}

// Two ways of four links, and of equal cost, whichever stands first in the file.
TEST(TopologyFile, TheLongestPathIsTheSlowestOfThoseThatCostTheSame) {
  const std::string begin =
      "graph\nhosts 3\nswitch a\nswitch b\nswitch s tier 1\nswitch t tier 1\nlink 0 a 100Gbps 1us\n"
      "link 1 b 100Gbps 1us\nlink 2 b 100Gbps 1us\n";
  const std::string over_s = "link a s 100Gbps 1us\nlink s b 100Gbps 1us\n";
  const std::string over_t = "link a t 100Gbps 2ms\nlink t b 100Gbps 2ms\n";
  for (const std::string& lines : {over_s + over_t, over_t + over_s}) {
    const auto file = read_topology(begin + lines, "g");
    ASSERT_TRUE(file.ok()) << file.error().message;
    PathSurvey survey_of(file->topology);
    for (const auto& [from, to] : {std::pair<NodeId, NodeId>(0, 1), std::pair<NodeId, NodeId>(1, 0)}) {
      const std::vector<PortId> path = survey_of.longest_path(from, to, Bytes{4160});
      ASSERT_EQ(path.size(), 4U);
      EXPECT_EQ(file->topology.port(path.front()).node, from);
      EXPECT_EQ(file->topology.port(path.back()).peer, to);
      const TimePs time = packet_time(file->topology, path, Bytes{4160});
      EXPECT_EQ(time,
                microseconds(2) + milliseconds(4) + transfer_time(Bytes{4160}, gigabits_per_second(100)) * 4);
      EXPECT_EQ(survey_of.longest_times(to, Bytes{4160})[from], time);
      EXPECT_EQ(survey_of.longest_times(from, Bytes{4160}, true)[to], time);
    }
    EXPECT_EQ(survey_of.path(1, 2), survey_of.longest_path(1, 2, Bytes{4160}));
  }
}

// 0 and 1 are 3 us apart in each direction by the way that is found first, 12 us by the other one; 0 and 2
// are 6 us apart.
TEST(TopologyFile, TheLongestPairGoesByTheLongestPathOfEach) {
  const auto file = read_topology(
      "graph\nhosts 3\nswitch a\nswitch b\nswitch c\nswitch s tier 1\nswitch t tier 1\n"
      "link 0 a 100Gbps 1us\nlink 1 b 100Gbps 1us\nlink 2 c 100Gbps 1us\nlink a s 100Gbps 1us\n"
      "link s b 100Gbps 1us\nlink s c 100Gbps 4us\nlink a t 100Gbps 5us\nlink t b 100Gbps 5us\n",
      "g");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto [from, to] = longest_pair(file->topology, survey(file->topology), Bytes{4160}, Bytes{64});
  EXPECT_EQ(std::min(from, to), 0U);
  EXPECT_EQ(std::max(from, to), 1U);
}

TEST(TopologyFile, RefusalsNameLineTokenAndRule) {
  const std::string tiny = kTiny;
  EXPECT_EQ(refusal(replaced(tiny, "Radix_Up 2", "Radix_Upp 2")),
            "t.topo:9:1: found \"Radix_Upp\", expected a key of a tier; did you mean Radix_Up?");
  EXPECT_EQ(refusal(replaced(tiny, "Nodes 32", "Nodes 3x")),
            "t.topo:2:7: found \"3x\", expected a value of Nodes, an integer from 1 to 131072");
  EXPECT_THAT(refusal(replaced(tiny, "Nodes 32", "Nodes  32")), HasSubstr("two separators in a row"));
  EXPECT_THAT(refusal(replaced(tiny, "Nodes 32", "Nodes 32 hosts")),
              HasSubstr("t.topo:2:10: found \"hosts\", expected the end of the line"));
  EXPECT_THAT(refusal(replaced(tiny, "Radix_Up 2", "Radix_Down 2")),
              HasSubstr("found Radix_Down again, expected it once (the first is in line 8)"));
  EXPECT_THAT(refusal(replaced(tiny, "Tier 1", "Tier 0")), HasSubstr("found Tier 0 again"));
  EXPECT_THAT(refusal(replaced(tiny, "Radix_Down 8", "Radix_Down 7")),
              HasSubstr("t.topo:8:1: found 32 as Podsize, expected a multiple of 7 (Radix_Down of Tier 0)"));
  EXPECT_THAT(refusal(replaced(tiny, "Oversubscribed 4", "Oversubscribed 3")),
              HasSubstr("t.topo:11:1: found Oversubscribed 3 in Tier 0, expected Radix_Down * speed below / "
                        "(Radix_Up * speed above) = 800 / 200"));
  EXPECT_THAT(refusal(replaced(tiny, "Oversubscribed 4\n", "")), HasSubstr("Oversubscribed 1 (the default)"));
  EXPECT_THAT(refusal(replaced(tiny, "Podsize 32", "Podsize 16")),
              HasSubstr("expected 32 (Nodes) in two tiers"));
  EXPECT_THAT(refusal(replaced(tiny, "Downlink_Latency_ns 1000\nOver", "Downlink_Latency_ns 0\nOver")),
              HasSubstr("expected a value of Downlink_Latency_ns, an integer from 1"));
  EXPECT_THAT(refusal(replaced(tiny, "Tiers 2", "Tiers 3")), HasSubstr("without a section Tier 2"));
  EXPECT_THAT(refusal(tiny + "Tier 2\nRadix_Down 3\n"), HasSubstr("found Tier 2, expected tiers 0 to 1"));
  EXPECT_THAT(refusal(tiny + "Bundle 3\n"), HasSubstr("Bundle 3 in Tier 1, expected a divisor"));
  EXPECT_THAT(refusal(replaced(tiny, "Radix_Down 4", "Radix_Down 8")),
              HasSubstr("found Radix_Up 2 in Tier 0, expected 1: a pod has 1 switches in Tier 1"));
  EXPECT_THAT(refusal(""), HasSubstr("the file ends without Nodes"));
  EXPECT_THAT(refusal("Nodes 4\nTier 7\n"), HasSubstr("t.topo:2:6: found \"7\", expected a value of Tier"));
}

TEST(GraphFile, HostsSwitchesAndLinks) {
  const auto file = read_topology(
      "# A dumbbell.\ngraph\nhosts 2 pod 0\nhosts 2 pod 1\nswitch left latency 100ns\nswitch right tier 1\n"
      "link 0 left 100Gbps 500ns\nlink 1 left 100Gbps 500ns\nlink 2 right 100Gbps 500ns\n"
      "link 3 right 100Gbps 500ns\nlink left right 40Gbps 2us bundle 2\n",
      "d.graph");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->topology.host_count(), 4U);
  EXPECT_EQ(file->topology.node(3).pod, 1U);
  EXPECT_EQ(file->topology.node(4).latency, nanoseconds(100));
  EXPECT_EQ(file->names, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(PathSurvey(file->topology).paths(0, 3), 2U);
  EXPECT_FALSE(file->fat_tree.has_value());
}

TEST(GraphFile, Refusals) {
  const std::string head = "graph\nhosts 2\nswitch a\n";
  EXPECT_EQ(refusal(head + "link 0 b 1Gbps 1us\n"),
            "t.topo:4:8: found \"b\", expected a switch defined above or a host from 0 to 1");
  EXPECT_THAT(refusal(head + "link 0 a 1Gbp 1us\n"), HasSubstr("t.topo:4:10: "));
  EXPECT_THAT(refusal(head + "lnk 0 a 1Gbps 1us\n"), HasSubstr("did you mean link?"));
  EXPECT_THAT(refusal(head + "link 0 a 1Gbps 1us\n"), HasSubstr("t.topo:4:1: host 1 has no link"));
  EXPECT_THAT(refusal(head + "switch b\nlink 0 a 1Gbps 1us\nlink 1 b 1Gbps 1us\n"),
              HasSubstr("the graph is disconnected: host 1 cannot reach host 0"));
  EXPECT_THAT(refusal(head + "hosts 2\n"), HasSubstr("expected all hosts first"));
  EXPECT_EQ(refusal(head + "switch b tier\n"), "t.topo:4:14: found no value of tier, expected one");
  EXPECT_THAT(refusal(head + "switch a\n"), HasSubstr("expected a new name"));
  EXPECT_THAT(refusal(head + "link a a 1Gbps 1us\n"), HasSubstr("a link to itself"));
}

}  // namespace
}  // namespace wharf::sim
