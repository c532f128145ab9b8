// SPDX-License-Identifier: Apache-2.0
// Scenario files of many hosts under every command that takes a scenario.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fabric_commands.h"
#include "run_program.h"

namespace wharf::cli_test {
namespace {

using testing::HasSubstr;

/// Four hosts around a switch; two flows in a table beside the scenario.
class FabricScenario : public testing::Test {
 protected:
  FabricScenario() {
    std::ofstream(scratch_ / "two.csv") << "src,dst,bytes,start_ns\n0,1,100000,0\n2,3,100000,0\n";
    write(
        "title = \"Two flows\"\n[topology]\nfrom = \"star:4\"\n[traffic]\ntable = \"two.csv\"\n"
        "[[expect]]\nvalue = \"finished\"\nequals = 2\n");
  }
  void write(const std::string& text) { std::ofstream(file_) << text; }

  ScratchDirectory scratch_;
  std::string file_ = scratch_ / "two.toml";
};

TEST_F(FabricScenario, RunsAndIsJudged) {
  const Outcome outcome = wharf({"run", file_, "--out", scratch_ / "out"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Two flows\n"));
  EXPECT_THAT(outcome.out, HasSubstr("2 of 2 flows finished, 4 hosts, 1 switch"));
  EXPECT_THAT(outcome.out, HasSubstr("finished         2    2 to 2  yes"));
  const auto summary = nlohmann::json::parse(content(scratch_ / "out/summary.json"));
  EXPECT_EQ(summary["title"], "Two flows");
  EXPECT_EQ(summary["expectations"][0]["holds"], true);
  const auto manifest = nlohmann::json::parse(content(scratch_ / "out/manifest.json"));
  EXPECT_EQ(manifest["scenario"], file_);
  EXPECT_EQ(manifest["scenario_hash"].get<std::string>().size(), 18U);
  EXPECT_EQ(manifest["inputs"].size(), 1U);  // The topology is a name.
  EXPECT_TRUE(manifest["inputs"].contains(scratch_ / "two.csv"));
}

TEST_F(FabricScenario, GivesWhatItsOptionsGive) {
  const auto fingerprint = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = wharf(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.json()["fingerprint"];
  };
  const auto first = fingerprint({"run", file_, "--json"});
  EXPECT_EQ(first, fingerprint({"run", "--flows", scratch_ / "two.csv", "--topo", "star:4", "--json"}));
  EXPECT_EQ(first, fingerprint({"run", file_, "--json", "--wire", "bytes"}));
  // An option on the command line wins.
  const auto roce = fingerprint({"run", file_, "--json", "--set", "fabric.protocol=roce"});
  EXPECT_NE(roce, first);
  EXPECT_EQ(roce, fingerprint({"run", "--flows", scratch_ / "two.csv", "--topo", "star:4", "--json", "--set",
                               "fabric.protocol=roce"}));
  EXPECT_EQ(wharf({"run", file_, "--topo", "star:9", "--json"}).json()["hosts"], 9);
}

TEST_F(FabricScenario, WhatItWritesDownIsItselfAScenario) {
  ASSERT_EQ(
      wharf({"run", "scenarios/incast.toml", "--set", "run.seed=3", "--out", scratch_ / "one"}).exit_code, 0);
  ASSERT_EQ(
      wharf({"run", scratch_ / "one/config.effective.toml", "--threads", "2", "--out", scratch_ / "two"})
          .exit_code,
      0);
  for (const char* file : {"flows.csv", "config.effective.toml"})
    EXPECT_EQ(content(scratch_ / (std::string("one/") + file)),
              content(scratch_ / (std::string("two/") + file)));
  EXPECT_EQ(content(scratch_ / "one/summary.json"), content(scratch_ / "two/summary.json"));
}

TEST_F(FabricScenario, MayBeAPipe) {
  const std::string program = WHARF_PROGRAM;
  const Outcome many =
      run({"bash", "-c", "cd " + (scratch_ / "") + " && " + program + " run <(cat two.toml)"});
  EXPECT_EQ(many.exit_code, 0) << many.err;
  EXPECT_THAT(many.out, HasSubstr("2 of 2 flows finished"));
  const Outcome two = run({"bash", "-c", program + " run <(cat scenarios/ping-pong.toml)"});
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("Messages there and back"));
}

TEST_F(FabricScenario, AnExpectationThatFailsIsExitCodeOne) {
  write(
      "[topology]\nfrom = \"star:4\"\n[traffic]\ntable = \"two.csv\"\n"
      "[[expect]]\nvalue = \"packets.retransmitted\"\nmin = 7\nsource = \"a wish\"\n");
  const Outcome outcome = wharf({"run", file_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(file_ + ":5: packets.retransmitted is 0, expected at least 7 (a wish)"));
}

TEST_F(FabricScenario, Refusals) {
  const std::string flows = "[traffic]\ntable = \"two.csv\"\n";
  write(flows);
  expect_refusal({"run", file_}, 3,
                 file_ + ":2: traffic.table names no number of hosts, expected topology.from too");
  write("[traffic]\ncollective = \"incast\"\n");
  expect_refusal({"run", file_}, 3,
                 file_ +
                     ":2: traffic.collective names no number of hosts, expected topology.from or "
                     "traffic.ranks too");
  write("[topology]\nfrom = \"star:4\"\n");
  expect_refusal({"run", file_}, 3, file_ + ": found no flows, expected traffic.cm, traffic.table");
  write("[topology]\nfrom = \"stra:4\"\n" + flows);
  expect_refusal({"run", file_}, 3, file_ + ":2: topology.from: ");
  expect_refusal({"run", file_}, 3, "did you mean star?");
  write("[topology]\nfrom = \"star:4\"\n[traffic]\ncm = \"none.cm\"\n");
  for (const char* command : {"run", "check"})
    expect_refusal({command, file_}, 3, file_ + ":4: traffic.cm: none.cm does not exist, expected a file");
  write("[topology]\nfrom = \"star:2\"\n" + flows);
  for (const char* command : {"run", "check"})
    expect_refusal({command, file_}, 3, "two.csv:3:1: found host 3 in flow 2, expected hosts from 0 to 1");
  write(flows + "[model]\nstack = \"uet\"\n");
  for (const char* command : {"run", "check"})
    expect_refusal({command, file_}, 3,
                   file_ + ":4: model.stack is a key of scenarios of two hosts, but traffic.table");
  expect_refusal({"sweep", file_, "--vary", "run.seed=1,2"}, 3, ":4: model.stack is a key of");
  expect_refusal({"run", file_, "--timeline"}, 2, "--timeline is for runs of programs, not of flows");
}

TEST_F(FabricScenario, RanksThatComputeAndSend) {
  const Outcome outcome = wharf({"run", "scenarios/ring-steps.toml", "--out", scratch_ / "out"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("8 of 8 ranks finished, with 288 operations and 112 messages\n"));
  EXPECT_THAT(outcome.out, HasSubstr("last ranks  host"));
  const std::string csv = content(scratch_ / "out/ranks.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9);
  EXPECT_THAT(csv, HasSubstr("\n7,14,36,14,14,917504,917504,48000.000,"));
  const auto summary = nlohmann::json::parse(content(scratch_ / "out/summary.json"));
  EXPECT_EQ(summary["ranks"]["computed_ns"]["max"], 48000.0);
  for (const char* threads : {"1", "2"}) {
    const Outcome same = wharf({"run", "scenarios/ring-steps.toml", "--threads", threads, "--json"});
    EXPECT_EQ(same.json()["fingerprint"], summary["fingerprint"]);
    EXPECT_EQ(same.json()["ranks"], summary["ranks"]);
  }
}

// Words that a shell gives by accident, files that are none, and bytes that would drive a terminal.
TEST_F(FabricScenario, WrongWordsAndFilesAreRefusedInOneLine) {
  for (const char* option :
       {"--topo", "--profile", "--out", "--cm", "--flows", "--goal", "--collective", "--arrivals"})
    expect_refusal({"run", file_, option, ""}, 2, std::string(option) + ": found no value, expected one");
  for (const char* option : {"--cm", "--flows", "--goal"})
    expect_refusal({"run", option, "/dev/zero"}, 3, "/dev/zero is a device, expected a file");
  expect_refusal({"run", "--collective", "incast", "--topo", "/dev/zero"}, 3, "/dev/zero is a device");
  expect_refusal({"run", "/dev/zero"}, 3, "/dev/zero is a device, expected a file");
  expect_refusal({"run", "--cm", "a\nb\x1b[31m"}, 3, "wharf: a\\nb\\x1b[31m does not exist");
  write(" \n");
  for (const char* command : {"run", "check", "explain"})
    expect_refusal({command, file_}, 3, file_ + " is empty, expected a scenario file");
  write(std::string((std::size_t{16} << 20U) + 1, ' '));
  expect_refusal({"run", file_}, 3, "holds more than 16MiB");
  expect_refusal(
      {"run", "scenarios/fetch-64-bytes.toml", "--set", "fabric.protocol=uet"}, 3,
      "--set: fabric.protocol is a key of runs of many hosts, expected one of scenarios of two hosts");
}

TEST_F(FabricScenario, ExplainTakesTwoHostsAlone) {
  expect_refusal({"explain", file_}, 3,
                 file_ + " is a scenario of many hosts by its key topology.from (" + file_ +
                     ":3), expected one of two hosts");
}

TEST_F(FabricScenario, CheckEstimatesWithoutRunning) {
  const auto checked = wharf({"check", file_, "--json"}).json();
  EXPECT_EQ(checked["valid"], true);
  EXPECT_EQ(checked["flows"], 2);
  EXPECT_EQ(checked["bytes"], 200'000);
  EXPECT_EQ(checked["hosts"], 4);
  EXPECT_EQ(checked["expectations"], 1);
  const double found = wharf({"run", file_, "--json"}).json()["packet_hops"].get<double>();
  EXPECT_NEAR(checked["estimate"]["packet_hops"].get<double>(), found, found / 2);
  const Outcome text = wharf({"check", file_, "--set", "traffic.load=0.5"});
  EXPECT_THAT(text.out, HasSubstr("is valid: 2 flows over 4 hosts and 1 switch,"));
  EXPECT_THAT(text.out, HasSubstr("200000B in all"));
  EXPECT_THAT(text.err, HasSubstr("traffic.load (--set) had no influence: only with traffic.arrivals"));
}

TEST_F(FabricScenario, SweepsRunIntoOneFile) {
  const std::vector<std::string> sweep{"sweep",  file_,
                                       "--vary", "fabric.protocol=uet,ub,roce",
                                       "--vary", "fabric.hop_latency=1us,2us",
                                       "--out",  scratch_ / "out",
                                       "--json"};
  const Outcome outcome = wharf(sweep);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto runs = outcome.json()["runs"];
  ASSERT_EQ(runs.size(), 6U);
  EXPECT_EQ(runs[3]["varied"]["fabric.protocol"], "ub");
  EXPECT_EQ(runs[3]["varied"]["fabric.hop_latency"], "2us");
  // The run alone gives what the sweep gave.
  EXPECT_EQ(runs[3]["summary"]["fingerprint"],
            wharf({"run", file_, "--set", "fabric.protocol=ub", "--set", "fabric.hop_latency=2us", "--json"})
                .json()["fingerprint"]);
  const Outcome again = wharf(sweep);
  EXPECT_THAT(again.err, HasSubstr("6 of 6 runs are in"));
  // Flows are part of what a run is.
  std::ofstream(scratch_ / "two.csv") << "src,dst,bytes,start_ns\n0,1,100001,0\n2,3,100000,0\n";
  EXPECT_EQ(wharf(sweep).exit_code, 3);
}

TEST_F(FabricScenario, ASweepSaysWhichRunDidNotHold) {
  write(
      "[topology]\nfrom = \"star:4\"\n[traffic]\ntable = \"two.csv\"\n"
      "[[expect]]\nvalue = \"fct_ns.max\"\nmax = 15000\n");
  const Outcome outcome = wharf({"sweep", file_, "--vary", "fabric.hop_latency=1us,20us"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("finished"));
  EXPECT_THAT(outcome.err, HasSubstr("run 1 (fabric.hop_latency=20us): " + file_ + ":5: fct_ns.max is"));
  EXPECT_EQ(outcome.err.find("run 0"), std::string::npos);
}

TEST_F(FabricScenario, KeysWithoutInfluenceAreReported) {
  const Outcome outcome = wharf(
      {"run", file_, "--set", "fabric.protocol=ub", "--set", "fabric.paths=8", "--set", "fabric.tiers=2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("fabric.paths (--set) had no influence: only with protocol = \"uet\"\n"));
  EXPECT_THAT(outcome.err, HasSubstr("fabric.tiers (--set) had no influence: only without topology.from\n"));
}

TEST_F(FabricScenario, LinksFailAndReturn) {
  const auto summary = wharf({"run", file_, "--json", "--set",
                              "fabric.link_changes=leaf0-host1 down at 2us, leaf0-host1 up at 30us"})
                           .json();
  EXPECT_GT(summary["switches_did"]["dropped"].get<int>(), 0);  // No way to host 1.
  EXPECT_GT(summary["last_end_ns"].get<double>(), 30e3);
  for (const char* command : {"run", "check"}) {
    expect_refusal({command, file_, "--set", "fabric.link_changes=laef0-host1 down at 2us"}, 3,
                   "fabric.link_changes: found port \"laef0-host1\", expected one like host0-leaf0; did you "
                   "mean leaf0-host1?");
    expect_refusal({command, file_, "--set", "fabric.link_changes=leaf0-host1 off at 2us"}, 3,
                   "--set: fabric.link_changes is \"leaf0-host1 off at 2us\", expected PORT down at TIME");
  }
}

TEST_F(FabricScenario, FlowsAndTopologiesComeThroughPipes) {
  const std::string program = WHARF_PROGRAM;
  const auto shell = [&](const std::string& line) {
    return run({"bash", "-c", "cd " + (scratch_ / "") + " && " + line});
  };
  ASSERT_EQ(wharf({"run", "--flows", scratch_ / "two.csv", "--topo", "star:4", "--out", scratch_ / "file"})
                .exit_code,
            0);
  std::ofstream(scratch_ / "four.graph")
      << "graph\nhosts 4\nswitch s\nlink 0 s 100Gbps 1us\nlink 1 s 100Gbps 1us\n"
         "link 2 s 100Gbps 1us\nlink 3 s 100Gbps 1us\n";
  const std::string flows = content(scratch_ / "file/flows.csv");
  const Outcome piped = shell("cat two.csv | " + program + " run --flows - --topo star:4 --out piped");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("standard input: 2 of 2 flows finished"));
  EXPECT_EQ(content(scratch_ / "piped/flows.csv"), flows);
  const Outcome both =
      shell(program + " run --flows <(cat two.csv) --topo - --out both --verify < four.graph");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_EQ(content(scratch_ / "both/flows.csv"), flows);
  // What went through a pipe has the hash of the file that it came from.
  const auto of_file = nlohmann::json::parse(content(scratch_ / "file/manifest.json"))["inputs"];
  const auto of_pipe = nlohmann::json::parse(content(scratch_ / "piped/manifest.json"))["inputs"];
  EXPECT_EQ(of_pipe["-"], of_file[scratch_ / "two.csv"]);

  const Outcome twice = shell(program + " run --flows - --topo - < two.csv");
  EXPECT_EQ(twice.exit_code, 3);
  EXPECT_THAT(twice.err,
              HasSubstr("--topo: found - a second time, expected standard input to stand for one"));
  const Outcome bad = shell("echo x | " + program + " run --cm -");
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, HasSubstr("standard input:1:"));
  write("[topology]\nfrom = \"star:4\"\n[traffic]\ntable = \"-\"\n");
  const Outcome sweep = shell(program + " sweep two.toml --vary run.seed=1,2 < two.csv");
  EXPECT_EQ(sweep.exit_code, 3);
  EXPECT_THAT(sweep.err,
              HasSubstr("found standard input, which can be read once, expected a file: every run reads it"));
  expect_refusal({"run", "--flows", scratch_ / "", "--topo", "star:4"}, 3, "is a directory, expected a file");
}

TEST_F(FabricScenario, PlotsDrawCompletionTimes) {
  EXPECT_EQ(wharf({"run", file_, "--out", scratch_ / "out", "--plot"}).exit_code, 0);
  const std::string plot = content(scratch_ / "out/plot_completion.csv");
  EXPECT_THAT(plot, HasSubstr("flows,"));
  EXPECT_EQ(std::count(plot.begin(), plot.end(), '\n'), 5) << "a staircase has two corners for each flow";
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "out/plot_goodput.csv"));
  expect_refusal({"run", file_, "--plot"}, 2, "needs --out");
}

TEST(FabricPictures, SayOfWhichScenarioTheyAre) {
  const ScratchDirectory scratch;
  EXPECT_EQ(wharf({"run", "incast", "--plot", "--out", scratch / "out"}).exit_code, 0);
  EXPECT_THAT(content(scratch / "out/plot_completion.gnuplot"),
              HasSubstr("set title 'incast: Flow completion times'"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "out/plot_completion.pdf"));
}

TEST(FabricPictures, ArePdfOnRequest) {
  const ScratchDirectory scratch;
  const std::string out = scratch / "out";
  expect_refusal({"run", "incast", "--out", out, "--pdf"}, 2, "--plot");
  const Outcome without =
      run({"env", "PATH=/nowhere", WHARF_PROGRAM, "run", "incast", "--plot", "--pdf", "--out", out});
  EXPECT_EQ(without.exit_code, 4) << without.err;
  EXPECT_THAT(without.err, HasSubstr("--pdf: gnuplot is missing or has no terminal pdfcairo"));
  EXPECT_FALSE(std::filesystem::exists(out));
  if (run({"bash", "-c", "command -v gnuplot"}).exit_code != 0) GTEST_SKIP() << "gnuplot is missing";
  EXPECT_EQ(wharf({"run", "incast", "--plot", "--pdf", "--out", out}).exit_code, 0);
  EXPECT_EQ(content(out + "/plot_completion.pdf").substr(0, 5), "%PDF-");
  EXPECT_THAT(content(out + "/plot_completion.svg"), HasSubstr("<svg"));
  EXPECT_EQ(wharf({"study", "run", "openurma/figure22", "--pdf", "--out", scratch / "study"}).exit_code, 0);
  std::size_t drawn = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "study"))
    drawn += entry.path().extension() == ".pdf" ? 1U : 0U;
  EXPECT_GT(drawn, 0U);
}

// An incast under pause frames: one port fills, its eight neighbours stay empty.
TEST(FabricPictures, ShowWhatWasObservedWithUnitsAndWithoutEmptyLines) {
  const ScratchDirectory scratch;
  const std::string out = scratch / "out";
  EXPECT_EQ(wharf({"run", "scenarios/pause.toml", "--plot", "--out", out, "--set", "observe.period=2us",
                   "--set", "observe.ports=leaf0-*"})
                .exit_code,
            0);
  const std::string queues = content(out + "/plot_queues.gnuplot");
  EXPECT_THAT(queues, HasSubstr("set title 'pause: Queues of ports: leaf0-host0 (8 of 9 ports stay at 0)'"));
  EXPECT_THAT(queues, HasSubstr("set ylabel 'queued, KB'"));
  EXPECT_THAT(queues, HasSubstr("title ''")) << "one line needs no legend";
  EXPECT_THAT(content(out + "/plot_queues.csv"), HasSubstr("\nleaf0-host0,"));
  EXPECT_THAT(content(out + "/plot_pauses.gnuplot"), HasSubstr("set ylabel 'queues held (means of "));
  EXPECT_THAT(content(out + "/plot_goodput.gnuplot"), HasSubstr("set ylabel 'goodput, Gb/s'"));
  const Outcome one_look = wharf({"run", "scenarios/pause.toml", "--plot", "--out", out, "--force", "--set",
                                  "observe.period=1ms", "--set", "observe.ports=leaf0-*"});
  EXPECT_THAT(one_look.err, HasSubstr("observe.period = 1ms gave 1 look, of which no series is drawn"));
  EXPECT_FALSE(std::filesystem::exists(out + "/plot_queues.csv"));
}

TEST(FabricPictures, TextFitsATerminal) {
  const Outcome run = wharf(
      {"run", "--collective", "ring_all_reduce", "--topo", "fat_tree:16", "--set", "traffic.size=256KiB"});
  const Outcome check = wharf({"check", "scenarios/incast.toml"});
  for (const Outcome* outcome : {&run, &check}) {
    EXPECT_EQ(outcome->exit_code, 0);
    std::istringstream lines(outcome->out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

}  // namespace
}  // namespace wharf::cli_test
