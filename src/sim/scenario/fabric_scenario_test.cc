// SPDX-License-Identifier: Apache-2.0
// Scenario files of many hosts: what tells them apart, where their files are looked for, what wins over what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/fabric/topology_fat_tree.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/fabric_summary.h"
#include "sim/scenario/scenario_kind.h"
#include "sim/scenario/traffic_results.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

/// A folder with one scenario in it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "wharf-fabric-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

FabricSettingsSource source(const fs::path& file, std::vector<std::string> overrides = {}) {
  FabricSettingsSource from{"", std::move(overrides), "profiles"};
  from.file = file;
  return from;
}

std::string refusal(const FabricSettingsSource& from) {
  const auto loaded = load_fabric_settings(from);
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? "" : loaded.error().message;
}

TEST(FabricScenario, WhatTheNetworkRefusesNamesTheLineThatAskedForIt) {
  const Folder folder;
  const auto refused = [&](const std::string& fabric, std::vector<std::string> overrides = {}) {
    const fs::path file = folder.write(
        "x.toml", "[topology]\nfrom = \"fat_tree:16\"\n[traffic]\ncollective = \"incast\"\n" + fabric);
    auto loaded = load_fabric_settings(source(file, std::move(overrides)));
    if (!loaded) return loaded.error().message;
    auto inputs = read_inputs(*std::move(loaded));
    if (!inputs) return inputs.error().message;
    const PortNames names(inputs->topology.topology, inputs->topology.names);
    const auto derived = derive(*inputs, names);
    return derived ? "" : derived.error().message;
  };
  EXPECT_THAT(refused("[fabric]\nrouting = \"valiant\"\n"),
              HasSubstr("x.toml:6: fabric.routing: found valiant, expected minimal"));
  EXPECT_THAT(refused("[fabric]\necn_low_packets = 90\necn_high_packets = 20\n"),
              HasSubstr("x.toml:6: fabric.ecn_low_packets"));
  // Whoever typed an option sees it.
  EXPECT_THAT(refused("", {"fabric.routing=valiant"}), StartsWith("fabric.routing: found valiant"));
}

TEST(FabricScenario, AFilesSectionsTellItsKind) {
  const auto kind = [](const std::string& text) { return *kind_of_text(text, "x.toml"); };
  EXPECT_EQ(kind("").kind, ScenarioKind::kTwoHosts);
  EXPECT_EQ(kind("title = \"t\"\nfabrics = 1\n[model]\nprofile = \"a\"\n[run]\nseed = 3\n").kind,
            ScenarioKind::kTwoHosts);
  for (const char* section : {"fabric", "observe", "topology", "traffic"}) {
    const auto many = kind(std::string("[run]\nseed = 3\n[") + section + "]\nx = 1\n");
    EXPECT_EQ(many.kind, ScenarioKind::kManyHosts) << section;
    EXPECT_EQ(many.reason, std::string(section) + ".x (x.toml:4)");
  }
}

TEST(FabricScenario, KeysOfTwoHostsInOneOfManyAreRefusedWithBothPlaces) {
  const Folder folder;
  const fs::path file =
      folder.write("x.toml", "[traffic]\ncollective = \"incast\"\n[model]\nstack = \"uet\"\n");
  EXPECT_EQ(refusal(source(file)),
            file.string() + ":4: model.stack is a key of scenarios of two hosts, but traffic.collective (" +
                file.string() + ":2) makes this one of many hosts, expected keys of one kind");
  folder.write("x.toml", "[traffic]\ncollective = \"incast\"\n[run]\nworkload = \"ping_pong\"\n");
  EXPECT_THAT(refusal(source(file)), HasSubstr("x.toml:4: run.workload is a key of scenarios of two hosts"));
  folder.write("x.toml", "[traffic]\ncollective = \"incast\"\n[run]\nworklod = \"ping_pong\"\n");
  EXPECT_THAT(refusal(source(file)), HasSubstr("x.toml:4: unknown key run.worklod"));
  folder.write("x.toml", "[traffic]\ncollective = \"incast\"\n[topolgy]\nfrom = \"star:3\"\n");
  EXPECT_THAT(refusal(source(file)),
              HasSubstr("x.toml:4: unknown key topolgy.from; did you mean topology.from?"));
}

TEST(FabricScenario, FilesAreLookedForBesideTheScenarioThenFromHere) {
  const Folder folder;
  folder.write("beside.cm", "");
  const auto matrix = [&](const std::string& name) {
    const auto loaded =
        load_fabric_settings(source(folder.write("x.toml", "[traffic]\ncm = \"" + name + "\"\n")));
    EXPECT_TRUE(loaded.ok());
    return loaded->settings.traffic.matrix;
  };
  EXPECT_EQ(matrix("beside.cm"), (folder / "beside.cm").string());
  EXPECT_EQ(matrix("elsewhere.cm"), "elsewhere.cm");
  // What the command line names is seen from here.
  const auto given = load_fabric_settings(source(folder / "x.toml", {"traffic.cm=beside.cm"}));
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->settings.traffic.matrix, "beside.cm");
}

TEST(FabricScenario, TheCommandLineWinsOverTheFileAndSaysWhatItReplaced) {
  const Folder folder;
  const fs::path file = folder.write(
      "x.toml",
      "[traffic]\ncollective = \"incast\"\nranks = 4\n[topology]\nfrom = \"star:9\"\n[run]\nseed = 5\n");
  FabricSettingsSource from = source(file, {"run.seed=6"});
  from.options = {{"traffic.cm", "m.cm", "--cm"}, {"topology.from", "star:4", "--topo"}};
  const auto loaded = load_fabric_settings(from);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->settings.seed, 6U);
  EXPECT_EQ(loaded->settings.topology, "star:4");
  EXPECT_EQ(loaded->settings.traffic.matrix, "m.cm");
  EXPECT_FALSE(loaded->settings.traffic.given());
  EXPECT_THAT(loaded->no_influence,
              ElementsAre("traffic.collective (" + file.string() +
                              ":2) had no influence: traffic.cm (--cm) gives the flows",
                          HasSubstr("traffic.ranks (" + file.string() + ":3) had no influence")));
  EXPECT_EQ(refusal(source(folder.write("y.toml", "[traffic]\ncollective = \"incast\"\ncm = \"m.cm\"\n"))),
            (folder / "y.toml").string() + ":2: traffic.collective stands beside traffic.cm (" +
                (folder / "y.toml").string() + ":3), expected flows from one place");
}

TEST(FabricScenario, ExpectationsAreOfNumbersThatItsSummaryHas) {
  const Folder folder;
  const auto expecting = [&](const std::string& value) {
    return source(folder.write(
        "x.toml", "[traffic]\ncollective = \"incast\"\n[[expect]]\nvalue = \"" + value + "\"\nmin = 1\n"));
  };
  const auto loaded = load_fabric_settings(expecting("collective.completion_ns"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->expectations.size(), 1U);
  EXPECT_THAT(refusal(expecting("fct_ns.maen")),
              HasSubstr("x.toml:3: expect.value is \"fct_ns.maen\", which is no number of summary.json, "
                        "expected the path of one; did "
                        "you mean \"fct_ns.mean\"?"));
  EXPECT_THAT(refusal(expecting("arrivals.load")), HasSubstr("no number of summary.json"));
  // Counters of links are there with what they count, 0 or not.
  EXPECT_THAT(refusal(expecting("link_retry.timeouts")), HasSubstr("no number of summary.json"));
  FabricSettingsSource retrying = expecting("link_retry.timeouts");
  retrying.overrides = {"fabric.link_retry=true"};
  EXPECT_TRUE(load_fabric_settings(retrying).ok());
}

TEST(FabricScenario, ExpectationsThatNothingCanMeetAreRefused) {
  const Folder folder;
  const auto refused = [&](const std::string& lines) {
    return refusal(source(folder.write(
        "x.toml", "[traffic]\ncollective = \"incast\"\n[[expect]]\nvalue = \"finished\"\n" + lines)));
  };
  EXPECT_THAT(refused("min = 3\nmax = 2\n"),
              HasSubstr("x.toml:5: expect.min is 3, expected at most expect.max, 2"));
  EXPECT_THAT(refused("equals = 1\ntolerance = -1\n"),
              HasSubstr("x.toml:6: expect.tolerance is -1, expected at least 0"));
  EXPECT_THAT(refused("min = 1\ntolerance = 1\n"), HasSubstr("expect.tolerance stands beside min or max"));
  EXPECT_THAT(refused("equals = nan\n"), HasSubstr("expect.equals is \"nan\", expected a number"));
  EXPECT_THAT(refused("equals = 1\nmin = 1\n"), HasSubstr("has equals beside min or max"));
  EXPECT_THAT(refused("vrole = 1\n"),
              HasSubstr("x.toml:5: unknown key expect.vrole, expected one of value, equals, "));
  EXPECT_THAT(refused("min = [1]\n"),
              HasSubstr("x.toml:5: expect.min is no single value, expected a string"));
  EXPECT_THAT(refused(""), HasSubstr("has neither equals nor min nor max"));
  EXPECT_THAT(refusal(source(
                  folder.write("y.toml", "[traffic]\ncollective = \"incast\"\n[expect]\nvalue = \"x\"\n"))),
              HasSubstr("found expect.value in a table [expect], expected a list of tables, [[expect]]"));
}

// toml++ 3.3 asserts on such texts.
TEST(FabricScenario, TextsThatTheParserDidNotForeseeAreRefused) {
  for (const char* text : {"[[[", "[[[a", "[[\n", "[[ ["}) {
    const auto kind = kind_of_text(text, "x.toml");
    ASSERT_FALSE(kind.ok()) << text;
    EXPECT_THAT(kind.error().message,
                testing::AllOf(testing::StartsWith("x.toml:"), HasSubstr("expected valid TOML")));
  }
}

TEST(FabricScenario, OnlyStringsAndCommentsHoldMoreThanAscii) {
  EXPECT_EQ(kind_of_text("a = 1\n\xc3\x92 = 2\n", "x.toml").error().message,
            "x.toml:2:1: found the byte 0xc3 outside of a string, expected valid TOML");
  for (const char* text :
       {"\xef\xbb\xbf"
        "a = 1\n",
        "a = \"\xc3\x92 \\\" \xc3\x92\" # \xc3\x92\n", "a = '\xc3\x92\\'\n",
        "a = \"\"\"\n\xc3\x92 \" \xc3\x92\"\"\"\n", "a = '' # \xc3\x92\nb = '''\xc3\x92\n'\xc3\x92'''\n"})
    EXPECT_TRUE(kind_of_text(text, "x.toml").ok()) << text;
}

TEST(FabricScenario, WhatWasGivenIsItselfAScenarioOfTheSameRun) {
  const Folder folder;
  const auto first = load_fabric_settings(
      source(folder.write("x.toml",
                          "title = \"a \\\"quoted\\\" one\"\n[traffic]\ncollective = \"incast\"\nranks = 4\n"
                          "[[expect]]\nvalue = \"finished\"\nequals = 3\n"),
             {"fabric.paths=8"}));
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = load_fabric_settings(source(folder.write("y.toml", first->effective)));
  ASSERT_TRUE(second.ok()) << second.error().message << "\n" << first->effective;
  EXPECT_EQ(second->effective, first->effective);
  EXPECT_EQ(ends_of<UetProtocol>(second->settings.ends).paths, 8U);
  EXPECT_EQ(second->expectations.size(), 1U);
  const auto other = load_fabric_settings(source(folder / "x.toml", {"fabric.paths=16"}));
  EXPECT_NE(other->identity, first->identity);
}

// The list of what can be expected against what runs of every kind of generated traffic give.
TEST(FabricScenario, TheSchemaHoldsEveryNumberOfASummary) {
  const auto shape = k_ary_shape(3, 16, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const Topology tree = fat_tree_of(*shape).value();
  for (const char* traffic : {"traffic.collective=incast", "traffic.arrivals=fixed"}) {
    const auto loaded = load_fabric_settings(
        {"", {traffic, "traffic.size=8KiB", "traffic.ranks=5", "fabric.protocol=roce"}, "profiles"});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const auto flows = generate_flows(loaded->settings.traffic, tree, 1, std::nullopt);
    const auto run = derive_fabric_run(loaded->settings, tree, &*shape, *flows);
    const auto report = run_flows(tree, *flows, run->config, {});
    ASSERT_TRUE(report.ok()) << report.error().message;
    const auto ideal = ideal_times(tree, *flows, loaded->settings, run->derived);
    auto summary = fabric_summary(*flows, tree, loaded->settings, run->derived, *report,
                                  statistics_of(*flows, *report, ideal));
    add_traffic_results(summary, loaded->settings.traffic, tree, *flows, *report, ideal);
    std::vector<std::string> numbers = number_paths(summary);
    std::vector<std::string> paths = fabric_summary_paths(loaded->settings);
    std::sort(numbers.begin(), numbers.end());
    std::sort(paths.begin(), paths.end());
    EXPECT_EQ(numbers, paths) << traffic;
  }
}

}  // namespace
}  // namespace wharf::sim
