// SPDX-License-Identifier: Apache-2.0
// Runs of many hosts from the command line: matrices and topologies as their users have them, the files that
// are left, and each refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "fabric_commands.h"
#include "run_program.h"

namespace wharf::cli_test {
namespace {

using testing::HasSubstr;

const std::string kData = "studies/ultra_ethernet/";

TEST(CliFabric, AMatrixGivesATableAndFiles) {
  const ScratchDirectory scratch;
  const Outcome outcome = wharf(
      {"run", "--cm", kData + "perm_16n_16c_2MB.cm", "--profile", "htsim-uec", "--out", scratch / "out"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("16 of 16 flows finished, 16 hosts"));
  EXPECT_THAT(outcome.out, HasSubstr("flow completion, us"));
  const std::string flows = content(scratch / "out/flows.csv");
  EXPECT_THAT(
      flows,
      testing::StartsWith(
          "flow,src,dst,bytes,op,start_ns,end_ns,fct_ns,ideal_ns,slowdown,status,retransmitted,trimmed\n"
          "1000000001,13,6,"));
  EXPECT_EQ(std::count(flows.begin(), flows.end(), '\n'), 17);
  const auto summary = nlohmann::json::parse(content(scratch / "out/summary.json"));
  EXPECT_EQ(summary["packets"]["new"], 7840);
  EXPECT_GE(summary["slowdown"]["p50"].get<double>(), 1.0);
  for (const char* file : {"fct_cdf.csv", "ports.csv", "manifest.json", "config.effective.toml"})
    EXPECT_TRUE(std::filesystem::exists(scratch / (std::string("out/") + file))) << file;
}

/// What the UEC's public simulator gives for a matrix, 3 tiers, NSCC; times in microseconds.
struct Reference {
  const char* matrix;
  const char* paths;
  double fct_min, fct_mean, fct_max;
  int retransmitted, acks, nacks;
};

TEST(CliFabric, RunsAgreeWithTheUecSimulator) {
  // The study uet/htsim-reference compares more of them.
  constexpr Reference kReferences[] = {{"one.cm", "64", 176.2, 176.2, 176.2, 0, 124, 0},
                                       {"perm_16n_16c_2MB.cm", "128", 188.0, 190.9, 194.0, 0, 2547, 0},
                                       {"perm_128n_128c_2MB.cm", "128", 180.6, 192.6, 200.9, 0, 21372, 0}};
  for (const Reference& reference : kReferences) {
    SCOPED_TRACE(reference.matrix);
    const Outcome outcome = wharf({"run", "--cm", kData + reference.matrix, "--profile", "htsim-uec", "--set",
                                   std::string("fabric.paths=") + reference.paths, "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto summary = nlohmann::json::parse(outcome.out);
    const auto near = [&](const char* what, double ours, double theirs) {
      if (theirs > 0) {
        EXPECT_NEAR(ours, theirs, 0.03 * theirs) << what;
      }
    };
    near("min", summary["fct_ns"]["min"].get<double>() / 1e3, reference.fct_min);
    near("mean", summary["fct_ns"]["mean"].get<double>() / 1e3, reference.fct_mean);
    near("max", summary["fct_ns"]["max"].get<double>() / 1e3, reference.fct_max);
    const auto& packets = summary["packets"];
    const double slack = 0.001 * packets["new"].get<double>();
    const auto count = [&](const char* what, int theirs) {
      EXPECT_NEAR(packets[what].get<double>(), theirs, std::max(slack, 0.1 * theirs)) << what;
    };
    count("retransmitted", reference.retransmitted);
    count("acknowledgements", reference.acks);
    count("negative_acknowledgements", reference.nacks);
  }
}

TEST(CliFabric, ThreadsAndBytesChangeNoFile) {
  const ScratchDirectory scratch;
  const auto run_into = [&](const std::string& directory, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "run", "--cm", kData + "perm_16n_16c_2MB.cm", "--profile", "htsim-uec", "--out", scratch / directory};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(wharf(arguments).exit_code, 0);
    return content(scratch / (directory + "/flows.csv")) + content(scratch / (directory + "/summary.json"));
  };
  const std::string one = run_into("one", {});
  EXPECT_EQ(run_into("three", {"--threads", "3"}), one);
  EXPECT_EQ(run_into("bytes", {"--wire", "bytes"}), one);
}

TEST(CliFabric, ACollectiveHasATimeAndABandwidth) {
  const Outcome outcome =
      wharf({"run", "--collective", "ring_all_reduce", "--set", "traffic.ranks=9", "--set",
             "traffic.size=900KB", "--set", "traffic.placement=random", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto summary = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(summary["hosts"], 16);
  EXPECT_EQ(summary["flows"], 9 * 16);
  EXPECT_EQ(summary["bytes"], 16 * 900'000);
  const auto& collective = summary["collective"];
  EXPECT_EQ(collective["ranks"], 9);
  const double completion = collective["completion_ns"].get<double>();
  EXPECT_EQ(completion, summary["last_end_ns"].get<double>());
  EXPECT_DOUBLE_EQ(collective["algorithm_bandwidth_gbps"].get<double>(), 900e3 * 8 / completion);
  EXPECT_DOUBLE_EQ(collective["bus_bandwidth_gbps"].get<double>(), 1600e3 * 8 / completion);
}

TEST(CliFabric, ArrivalsHaveSlowdownsBySizeAndTheirFileIsAnInput) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "sizes.csv") << "size_bytes,cumulative\n1000,0.5\n50000,0.5\n200000,1\n";
  const Outcome outcome =
      wharf({"run", "--arrivals", scratch / "sizes.csv", "--topo", "leaf_spine:18", "--set",
             "traffic.flows=200", "--set", "traffic.pattern=incast", "--out", scratch / "out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("200 of 200 flows finished"));
  EXPECT_THAT(outcome.out, HasSubstr("slowdown by size"));
  EXPECT_THAT(outcome.out, HasSubstr("up to 1MB"));
  const auto summary = nlohmann::json::parse(content(scratch / "out/summary.json"));
  ASSERT_EQ(summary["slowdown_by_size"].size(), 3U);
  EXPECT_EQ(summary["arrivals"]["pattern"], "incast");
  // Half of the receiver's 100 Gb/s; 200 flows of 63 kB that vary by as much are within a fifth of it.
  EXPECT_NEAR(summary["arrivals"]["offered_gbps"].get<double>(), 50, 15);
  EXPECT_GE(summary["slowdown_by_size"][0]["p50"].get<double>(), 1);
  const auto manifest = nlohmann::json::parse(content(scratch / "out/manifest.json"));
  EXPECT_TRUE(manifest["inputs"].contains(scratch / "sizes.csv"));
  EXPECT_THAT(content(scratch / "out/config.effective.toml"), HasSubstr("traffic.pattern = \"incast\""));
}

TEST(CliFabric, GeneratedTrafficIsTheSameFromAnyNumberOfThreads) {
  const ScratchDirectory scratch;
  const std::vector<std::vector<std::string>> kinds{
      {"--arrivals", "hadoop", "--set", "traffic.flows=150"},
      {"--collective", "all_to_all", "--set", "traffic.size=20KB"},
      {"--collective", "tree_all_reduce", "--set", "traffic.size=50KB"}};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    std::string first;
    for (const char* threads : {"1", "2", "3", "8"}) {
      const std::string out = scratch / (std::to_string(kind) + "-" + threads);
      std::vector<std::string> arguments{"run", "--topo", "fat_tree:16", "--threads", threads, "--out", out};
      arguments.insert(arguments.end(), kinds[kind].begin(), kinds[kind].end());
      const Outcome outcome = wharf(arguments);
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      const std::string files = content(out + "/flows.csv") + content(out + "/summary.json");
      if (first.empty()) first = files;
      EXPECT_EQ(files, first) << threads;
      const auto manifest = nlohmann::json::parse(content(out + "/manifest.json"));
      EXPECT_EQ(manifest["threads"], std::stoi(threads));
    }
    const std::string out = scratch / (std::to_string(kind) + "-bytes");
    std::vector<std::string> arguments{"run", "--topo", "fat_tree:16", "--wire", "bytes", "--out", out};
    arguments.insert(arguments.end(), kinds[kind].begin(), kinds[kind].end());
    EXPECT_EQ(wharf(arguments).exit_code, 0);
    EXPECT_EQ(content(out + "/flows.csv") + content(out + "/summary.json"), first) << "bytes";
  }
}

TEST(CliFabric, WhatThereIsToGenerateIsListed) {
  EXPECT_THAT(wharf({"list", "collectives"}).out, HasSubstr("star_all_reduce"));
  EXPECT_THAT(wharf({"list", "sizes"}).out, HasSubstr("SIGCOMM 2010"));
  const std::string keys = wharf({"list", "keys"}).out;
  EXPECT_THAT(keys, HasSubstr("traffic.placement"));
  EXPECT_THAT(keys, HasSubstr("fabric.load_balancing"));
  EXPECT_THAT(keys, HasSubstr("observe.fullest_ports"));
}

TEST(CliFabric, WhatWasObservedIsInFiles) {
  const ScratchDirectory scratch;
  const auto run_into = [&](const std::string& directory, const std::string& threads) {
    const Outcome outcome =
        wharf({"run", "--cm", kData + "perm_16n_16c_2MB.cm", "--profile", "htsim-uec", "--out",
               scratch / directory, "--threads", threads, "--set", "observe.period=10us", "--set",
               "observe.flows=1000000001,1000000003", "--set", "observe.ports=leaf0-middle*", "--capture",
               "leaf0-host0=" + scratch / (directory + ".pcapng"), "--plot"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::string all = content(scratch / (directory + ".pcapng"));
    for (const char* file :
         {"flows", "ports", "paths", "series_goodput", "series_ports", "series_fullest", "series_flows",
          "plot_goodput", "plot_flow_goodput", "plot_queues", "plot_windows", "plot_round_trips"}) {
      const std::string text = content(scratch / (directory + "/" + file + ".csv"));
      EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 16) << file;
      all += text;
    }
    return all;
  };
  const std::string one = run_into("one", "1");
  EXPECT_TRUE(run_into("three", "3") == one);
  const auto seen = wharf({"dissect", scratch / "one.pcapng", "--json"}).json();
  EXPECT_GT(seen["frame_count"], 490);
  EXPECT_EQ(seen["decoded"], seen["frame_count"]);
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) return;  // Wireshark has no opinion here.
  // The source port is the entropy value, which may be that of another protocol.
  const Outcome tshark = run({"tshark", "-n", "-r", scratch / "one.pcapng", "-d", "udp.port==4793,data", "-Y",
                              "_ws.malformed || _ws.expert.severity >= 0x600000 || !udp"});
  EXPECT_EQ(tshark.exit_code, 0) << tshark.err;
  EXPECT_EQ(tshark.out, "");
}

TEST(CliFabric, WithoutPeriodOrCaptureNothingMoreIsWritten) {
  const ScratchDirectory scratch;
  EXPECT_EQ(wharf({"run", "--cm", kData + "one.cm", "--out", scratch / "out"}).exit_code, 0);
  for (const auto& file : std::filesystem::directory_iterator(scratch / "out"))
    EXPECT_EQ(file.path().filename().string().find("series"), std::string::npos) << file.path();
}

TEST(CliFabric, ADeadlockEndsTheRunWithItsRing) {
  const ScratchDirectory scratch;
  std::ofstream graph(scratch / "five.topo");
  graph << "graph\nhosts 5\n";
  for (const char* name : {"a", "b", "c", "d", "e"}) graph << "switch " << name << "\n";
  const std::string names = "abcde";
  for (std::size_t i = 0; i < 5; ++i)
    graph << "link " << i << " " << names[i] << " 100Gbps 1us\nlink " << names[i] << " " << names[(i + 1) % 5]
          << " 100Gbps 1us\n";
  graph.close();
  std::ofstream flows(scratch / "flows.csv");
  flows << "src,dst,bytes,start_ns\n";
  for (int i = 0; i < 5; ++i) flows << i << "," << (i + 2) % 5 << ",8000000,0\n";
  flows.close();
  const Outcome outcome = wharf({"run", "--flows", scratch / "flows.csv", "--topo", scratch / "five.topo",
                                 "--set", "fabric.flow_control=pause", "--set", "fabric.trimming=false",
                                 "--set", "fabric.queue_packets=10000", "--set", "fabric.controller=constant",
                                 "--set", "fabric.window_packets=1000"});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("deadlock by flow control: "));
  EXPECT_THAT(outcome.err, HasSubstr("waits for b-c"));
}

TEST(CliFabric, ATopologyFileAndItsMatrix) {
  const Outcome outcome =
      wharf({"run", "--cm", kData + "incast_128.cm", "--topo", kData + "fat_tree_128_4os.topo", "--profile",
             "htsim-uec", "--set", "run.end=300us", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto summary = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(summary["end"], "end_reached");
  EXPECT_GT(summary["switches_did"]["trimmed"].get<int>(), 0);
}

TEST(CliFabric, PortsHaveTheNamesThatAreListed) {
  const Outcome listed = wharf({"topo", "show", "star:2", "--ports"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("host1-leaf0"));
  EXPECT_EQ(wharf({"topo", "show", "star:2", "--ports", "--json"}).json()["ports"][1]["port"], "leaf0-host0");
}

TEST(CliFabric, TopologiesAreDrawnAndChecked) {
  const Outcome drawn = wharf({"topo", "show", kData + "fat_tree_128_4os.topo"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr("oversubscribed 4.000 to 1"));
  const auto json = nlohmann::json::parse(wharf({"topo", "show", "rails:2x4x8x4", "--json"}).out);
  EXPECT_EQ(json["hosts"], 64);
  EXPECT_EQ(json["diameter"]["links"], 4);
}

TEST(CliFabric, Refusals) {
  const ScratchDirectory scratch;
  const std::string one = kData + "one.cm";
  std::ofstream(scratch / "bad.cm") << "Nodes 16\nConnections 1\n0->99 start 0 size 5\n";
  expect_refusal({"run", "--cm", scratch / "bad.cm"}, 3,
                 "bad.cm:3:4: found \"99\", expected a node below Nodes 16");
  expect_refusal(
      {"run", "--cm", one, "--set", "fabric.planes=2"}, 3,
      "fabric.planes is \"2\", but this key was dropped: all switches are one network; leave it out");
  expect_refusal({"run", "--cm", one, "--set", "fabric.controller=dctcp"}, 3,
                 "fabric.controller: dctcp is known but not supported");
  expect_refusal({"run", "--cm", one, "--set", "fabric.path=2"}, 3, "fabric.paths");
  expect_refusal({"run", "--cm", "none.cm"}, 3, "none.cm does not exist, expected a file");
  expect_refusal({"run", "--cm", one, "--topo", "fat_trea:16"}, 3, "did you mean fat_tree?");
  expect_refusal({"run", "--cm", one, "--topo", "star:4"}, 3,
                 "one.cm:1:7: found Nodes 16, expected at most 4 as star:4 has them");
  expect_refusal({"run", "--cm", one, "--flows", one}, 2,
                 "expected one of --cm, --flows, --goal, --collective");
  expect_refusal({"run", "--topo", "star:4"}, 2, "expected --cm, --flows");
  expect_refusal({"run", "--cm", one, "--capture", "laef0-host0=x"}, 3, "did you mean leaf0-host0?");
  expect_refusal({"run", "--cm", one, "--plot"}, 2, "so it needs --out");
  expect_refusal({"run", "--cm", one, "--force"}, 2, "so it needs --out");
  expect_refusal({"run", "--cm", one, "--capture"}, 2, "need --out DIR");
  expect_refusal({"run", "--cm", one, "--capture", "host0-leaf0=/none/x.pcapng"}, 4, "/none/x.pcapng");
  expect_refusal({"run", "scenarios/fetch-64-bytes.toml", "--capture", "host0-leaf0=x"}, 3,
                 "found port \"host0-leaf0\", expected one like host0-host1");
  expect_refusal({"run", "--cm", one, "--set", "observe.period=1us", "--set", "observe.flows=77"}, 3,
                 "observe.flows: found \"77\"");
  expect_refusal({"run", "scenarios/fetch-64-bytes.toml", "--cm", one}, 3,
                 "is a key of scenarios of two hosts, but traffic.cm (--cm) makes this one of many hosts");
  expect_refusal({"run", "--collective", "incast", "--cm", one}, 2, "found flows from several places");
  expect_refusal({"run", "--collective", "incast", "--arrivals", "fixed"}, 2,
                 "found flows from several places");
  expect_refusal({"run", "--cm", one, "--set", "traffic.collective=incast"}, 3,
                 "--set: traffic.collective stands beside traffic.cm (--cm), expected flows from one place");
  expect_refusal({"run", "--collective", "incost", "--topo", "star:4"}, 3, "did you mean \"incast\"?");
  expect_refusal({"run", "--collective", "incast"}, 2, "expected --topo or --set traffic.ranks=N");
  expect_refusal({"run", "--arrivals", "none.csv"}, 3, "none.csv does not exist");
  std::ofstream(scratch / "queues.topo") << content(kData + "fat_tree_128_1os.topo") << "\nQueue_Down 100\n";
  expect_refusal({"run", "--cm", one, "--topo", scratch / "queues.topo", "--set", "fabric.queue_packets=9"},
                 3, "found queue sizes beside fabric.queue_packets = 9, expected one of the two");
  expect_refusal({"run", "--arrivals", "none.csv", "--topo", "star:4"}, 3, "none.csv does not exist");
  std::ofstream(scratch / "sizes.csv") << "size_bytes,cumulative\n100,0.5\n50,1\n";
  expect_refusal({"run", "--arrivals", scratch / "sizes.csv", "--topo", "star:4"}, 3,
                 "sizes.csv:3:1: found \"50\", expected a size above 100");
  expect_refusal({"topo", "show", "fat_tree:100"}, 3, "expected K^3/4 with K even");
  std::ofstream(scratch / "ring.cm") << "Nodes 16\nConnections 2\nTriggers 2\n"
                                        "0->1 id 1 trigger 2 size 5 send_done_trigger 1\n"
                                        "1->2 id 2 trigger 1 size 5 send_done_trigger 2\n"
                                        "trigger id 1 oneshot\ntrigger id 2 oneshot\n";
  expect_refusal({"run", "--cm", scratch / "ring.cm"}, 3, "flows wait for one another in a ring");
}

// A forbidden outcome that is seen, a program that is stuck, a file that is wrong.
TEST(CliLitmus, EndsWithTheCodeOfWhatItFound) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "seen.litmus")
      << "litmus Seen { x; f }\nhost P | device D ;\nW x 1 | r = R f ;\n"
         "W f 1 | s = R x ;\nexists (D:r=1 /\\ D:s=0) forbidden baseline\n";
  const Outcome seen = wharf({"litmus", scratch / "seen.litmus"});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.out, HasSubstr("FAILS: forbidden, but seen"));
  EXPECT_THAT(seen.out, HasSubstr("A shortest way to exists (D:r=1 /\\ D:s=0) under baseline:"));
  const Outcome document = wharf({"litmus", scratch / "seen.litmus", "--json"});
  EXPECT_EQ(document.exit_code, 1);
  EXPECT_EQ(nlohmann::json::parse(document.out)["failing"], 1);
  EXPECT_EQ(wharf({"litmus", scratch / "seen.litmus", "--design", "speculative"}).exit_code, 0);
  expect_refusal({"litmus", scratch / "seen.litmus", "--design", "basline"}, 3, "did you mean baseline?");
  expect_refusal({"litmus", scratch / "seen.litmus", "--design", "rob_device"}, 3, "no MMIO operation");
  // A file that states nothing prints every final state.
  std::ofstream(scratch / "open.litmus") << "litmus Open { x }\nhost P | device D ;\nW x 1 | r = R x ;\n";
  const Outcome open = wharf({"litmus", scratch / "open.litmus"});
  EXPECT_EQ(open.exit_code, 0);
  EXPECT_THAT(open.out, HasSubstr("Final states under baseline, all of them:\n  D:r=0 x=1\n  D:r=1 x=1\n"));
  expect_refusal({"litmus", scratch / "none.litmus"}, 3,
                 "none.litmus does not exist, expected a litmus file");
  expect_refusal({"litmus", "tests/litmus"}, 3, "tests/litmus is a directory, expected a litmus file");
  expect_refusal({"litmus", "/dev/zero"}, 3, "found more than 1048576 bytes, expected a litmus file");
  expect_refusal({"litmus", "tests/data/litmus-bad/unknown-agent.litmus"}, 3,
                 "8:9: found \"E\", expected an agent of this program");
}

}  // namespace
}  // namespace wharf::cli_test
