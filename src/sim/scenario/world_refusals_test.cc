// SPDX-License-Identifier: Apache-2.0
// What is refused about a world of full hosts, and where each refusal says that it is: file, line and key, or
// the option that set it.
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {
namespace {

namespace fs = std::filesystem;

class WorldRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / fs::path(std::string("world_refusals_") + test.name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  /// The refusal of a scenario file with these lines; the folder is left out.
  std::string refusal(const std::string& text, std::vector<std::string> overrides = {}) const {
    ScenarioSource source;
    source.file = write("s.toml", text);
    source.overrides = std::move(overrides);
    source.profile_directory = "profiles";
    const auto scenario = load_scenario(source);
    if (scenario.ok()) return "accepted";
    EXPECT_EQ(scenario.error().kind, ErrorKind::kInput);
    std::string message = scenario.error().message;
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }

  fs::path folder_;
};

/// A leaf-spine network of 32 hosts.
constexpr const char* kLeafSpine =
    "Nodes 32\nTiers 2\nPodsize 32\n\n"
    "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\nDownlink_Latency_ns 1000\nOversubscribed 4\n"
    "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n";

TEST_F(WorldRefusals, NameTheirPlace) {
  struct Case {
    const char* text;
    std::vector<std::string> overrides;
    const char* message;
  };
  const std::array<Case, 22> cases{{
      // The keys of hosts.*.
      {"[hosts]\nservers = 1\n",
       {},
       "s.toml:2: hosts.servers stands without topology.from, expected a topology, "
       "such as \"fat_tree:54\""},
      {"",
       {"hosts.servers=1"},
       "--set: hosts.servers stands without topology.from, expected a topology, such as "
       "\"fat_tree:54\""},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 4\n",
       {},
       "s.toml:4: hosts.servers is 4, expected at most 3 of the 4 hosts"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nclients = 4\n",
       {},
       "s.toml:4: hosts.clients is 4, expected at most 3: 1 of the 4 hosts are servers"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n",
       {"hosts.servers=9"},
       "--set: hosts.servers is 9, expected at most 3 of the 4 hosts"},
      {"[topology]\nfrom = \"star:1\"\n[hosts]\nservers = 1\n",
       {},
       "s.toml:2: topology.from has 1 host, expected at least 2"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 0\n",
       {},
       "s.toml:4: hosts.servers is \"0\", expected an integer from 1 to 65534"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nthreads = 65\n",
       {},
       "s.toml:4: hosts.threads is \"65\", expected an integer from 1 to 64"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nclients = 65535\n",
       {},
       "s.toml:4: hosts.clients is \"65535\", expected an integer from 0 to 65534"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nserver = 1\n",
       {},
       "s.toml:4: unknown key hosts.server; did you mean hosts.servers?"},
      // What a program needs when so many share a server.
      {"[topology]\nfrom = \"star:40\"\n[hosts]\nservers = 1\n[run]\nworkload = \"key_value\"\nkeys = 20\n",
       {},
       "s.toml:7: run.keys is 20, expected at least one key per party (run.workload = \"key_value\")"},
      {"[topology]\nfrom = \"star:40\"\n[hosts]\nservers = 1\n[run]\nworkload = \"bulk_write\"\npayload = "
       "\"64KiB\"\n",
       {},
       "s.toml: run.region_bytes is 1048576, expected at least one block of `payload` bytes per worker "
       "(run.workload = \"bulk_write\")"},
      // The topology.
      {"[topology]\nfrom = \"fat_treee:54\"\n[hosts]\nservers = 1\n",
       {},
       "s.toml:2: topology.from: found topology \"fat_treee:54\", expected a file, or back_to_back, "
       "star:HOSTS, "
       "fat_tree:HOSTS, leaf_spine:HOSTS, rails:SEGMENTSxSERVERSxRAILSxSPINES, rail_servers likewise, or "
       "dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS]; did you mean fat_tree?"},
      {"[hosts]\nservers = 1\n",
       {"topology.from=star:x"},
       "--set: topology.from: found topology \"star:x\", expected star:HOSTS with at most 131072 hosts, such "
       "as "
       "star:128"},
      {"[topology]\nfrom = \"none.topo\"\n[hosts]\nservers = 1\n",
       {},
       "s.toml:2: topology.from: none.topo does not exist, expected a file"},
      {"[topology]\nfrom = \"-\"\n[hosts]\nservers = 1\n",
       {},
       "s.toml:2: topology.from: found standard input, which can be read once, expected a file: every run "
       "reads it"},
      {"[topology]\nfrom = \"pipe\"\n[hosts]\nservers = 1\n",
       {},
       "s.toml:2: topology.from: found pipe, which can be read once, expected a file: every run reads it"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nclients = 1\n[traffic]\ntable = \"pipe\"\n",
       {},
       "s.toml:6: traffic.table: found pipe, which can be read once, expected a file: every run reads it"},
      {"[topology]\nfrom = \"bad.topo\"\n[hosts]\nservers = 1\n", {}, "bad.topo:1:7: "},
      // The network between the hosts.
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n[fabric]\nloss = 0.1\n[model.faults]\nloss = "
       "0.1\n",
       {},
       "s.toml:8: model.faults.loss stands beside fabric.loss or fabric.damage, expected faults of links "
       "from one "
       "place"},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n[fabric]\necn_low_packets = 9\necn_high_packets "
       "= 3\n",
       {"model.stack=roce_dma"},
       "s.toml:6: fabric.ecn_low_packets: found "},
      {"[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n[fabric]\nslow_links = 2\n",
       {},
       "s.toml:6: fabric.slow_links: found 2, expected at most 0 links below the top tier"},
  }};
  write("bad.topo", "Nodes x\n");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const Case& each : cases) {
    EXPECT_THAT(refusal(each.text, each.overrides), ::testing::StartsWith(each.message)) << each.text;
  }
}

TEST_F(WorldRefusals, ATopologyFileLiesBesideItsScenarioFirst) {
  const std::string scenario = "[topology]\nfrom = \"own.topo\"\n[hosts]\nservers = 1\n";
  EXPECT_THAT(refusal(scenario), ::testing::StartsWith("s.toml:2: topology.from: own.topo does not exist"));
  write("own.topo", kLeafSpine);
  ScenarioSource source;
  source.file = write("s.toml", scenario);
  source.profile_directory = "profiles";
  const auto loaded = load_scenario(source);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->config.world.fabric.topology, (folder_ / "own.topo").string());
  EXPECT_EQ(plan_world(loaded->config)->roles.hosts, 32U);
  // What the command line names lies where the command runs.
  source.overrides = {"topology.from=own.topo"};
  EXPECT_THAT(load_scenario(source).error().message,
              ::testing::StartsWith("--set: topology.from: own.topo does not exist"));
}

TEST_F(WorldRefusals, KeysOfRunsOfFlowsNameThoseThatHostsHave) {
  const std::string hosts = "[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n";
  EXPECT_EQ(
      refusal(hosts + "[model]\nstack = \"uet\"\n[fabric]\ncontroller = \"nscc\"\n"),
      "s.toml:8: fabric.controller is a key of runs of flows, but hosts.servers (s.toml:4) makes this one "
      "of hosts with programs, expected model.uet.controller");
  EXPECT_THAT(refusal(hosts + "[fabric]\nprotocol = \"ub\"\n"), ::testing::EndsWith("expected model.stack"));
  EXPECT_THAT(refusal(hosts + "[fabric]\nheader = \"64B\"\n"),
              ::testing::EndsWith("expected none: leave it out"));
  EXPECT_EQ(refusal(hosts, {"fabric.connections=own"}).substr(0, 30), "--set: fabric.connections is a");
}

// Ultra Ethernet's queues trim unless they are told not to.
TEST_F(WorldRefusals, QueuesThatTrimHoldNoLinkBack) {
  const std::string hosts = "[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n[model]\nstack = \"uet\"\n";
  EXPECT_EQ(refusal(hosts + "[fabric]\nflow_control = \"pause\"\n"),
            "s.toml:8: fabric.flow_control: found pause beside fabric.trimming = true, expected one or the "
            "other: a queue that holds the link back cuts nothing");
  EXPECT_EQ(refusal(hosts + "[fabric]\nflow_control = \"credit\"\ntrimming = false\n"), "accepted");
}

TEST_F(WorldRefusals, AFileOfFlowsTakesNoHosts) {
  FabricSettingsSource source;
  source.file = "scenarios/permutation.toml";
  source.profile_directory = "profiles";
  source.overrides = {"hosts.clients=2"};
  EXPECT_EQ(load_fabric_settings(source).error().message,
            "--set: hosts.clients makes hosts that run programs, but the file is one of flows without them, "
            "expected a file with [hosts], such as key-value-fat-tree");
}

}  // namespace
}  // namespace wharf::sim
