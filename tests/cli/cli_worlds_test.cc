// SPDX-License-Identifier: Apache-2.0
// Runs of programs on many hosts as users see them: captures of ports, series and plots, by the same options
// and keys as runs of flows.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric_commands.h"

namespace wharf::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Two clients of a server, which two thin hosts write to beside.
class World : public testing::Test {
 protected:
  World() {
    std::ofstream(file_) << "[model]\nstack = \"roce_dma\"\n[topology]\nfrom = \"star:5\"\n"
                            "[hosts]\nclients = 2\ntraffic_root = \"server\"\n"
                            "[run]\nworkload = \"key_value\"\noperations = 200\nkeys = 1000\n"
                            "[traffic]\ncollective = \"incast\"\nsize = \"64KiB\"\n";
  }
  Outcome run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"run", file_});
    return wharf(more);
  }

  ScratchDirectory scratch_;
  std::string file_ = scratch_ / "world.toml";
};

TEST_F(World, CapturesHoldThinHostsBesideFullOnes) {
  const std::string port = scratch_ / "port.pcapng";
  const Outcome outcome = run({"--out", scratch_ / "out", "--capture", "--capture", "laef0-host4=" + port});
  ASSERT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean leaf0-host4?"));
  const Outcome again =
      run({"--force", "--out", scratch_ / "out", "--capture", "--capture", "leaf0-host4=" + port});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (const std::string& capture : {scratch_ / "out/capture.pcapng", port}) {
    const auto seen = wharf({"dissect", capture, "--json"}).json();
    EXPECT_EQ(seen["malformed"], 0) << capture;
    EXPECT_EQ(seen["icrc_bad"], 0) << capture;
    EXPECT_EQ(seen["not_reencoded"], 0) << capture;
    EXPECT_GT(seen["decoded"], 100) << capture;
  }
  // An interface for each host that sends, in the file of all hosts; the server's acknowledgements among
  // them.
  const std::string all = content(scratch_ / "out/capture.pcapng");
  for (const char* host : {"host0 out", "host1 out", "host2 out", "host3 out", "host4 out"})
    EXPECT_NE(all.find(host), std::string::npos) << host;
  EXPECT_NE(content(port).find("leaf0-host4"), std::string::npos);
  if (cli_test::run({"sh", "-c", "command -v tshark"}).exit_code != 0)
    GTEST_SKIP() << "tshark is not installed";
  const Outcome bad =
      cli_test::run({"sh", "-c",
                     "tshark -r " + port +
                         " --disable-heuristic rpcrdma_infiniband --disable-heuristic smb_direct_infiniband "
                         "-Y '_ws.malformed || _ws.expert.severity >= 0x600000'"});
  EXPECT_EQ(bad.exit_code, 0) << bad.err;
  EXPECT_EQ(bad.out, "");
}

TEST_F(World, CapturesOfPortsDoNotDependOnThreadsNorChangeTheRun) {
  const auto fingerprint = [this](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.json()["fingerprint"];
  };
  const auto plain = fingerprint({});
  const std::string one = scratch_ / "one.pcapng";
  const std::string two = scratch_ / "two.pcapng";
  EXPECT_EQ(fingerprint({"--capture", "*=" + one}), plain);
  EXPECT_EQ(fingerprint({"--capture", "*=" + two, "--set", "hosts.threads=2", "--verify"}), plain);
  EXPECT_TRUE(content(one) == content(two));
  EXPECT_EQ(fingerprint({"--threads", "3"}), plain);
  EXPECT_EQ(
      fingerprint({"--out", scratch_ / "out", "--set", "observe.period=1us", "--set", "observe.ports=*"}),
      plain)
      << "a look changes nothing";
}

TEST_F(World, SeriesAndPlotsShowProgramsAndNetwork) {
  const std::string out = scratch_ / "out";
  const Outcome outcome = run({"--out", out, "--plot", "--set", "observe.period=1us", "--set",
                               "observe.ports=leaf0-*", "--set", "observe.fullest_ports=2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"ports.csv", "series_goodput.csv", "series_ports.csv", "series_fullest.csv"})
    EXPECT_GT(content(out + "/" + file).size(), 50U) << file;
  for (const char* plot : {"plot_latency", "plot_verbs", "plot_operations", "plot_bytes",
                           "plot_latency_over_time", "plot_queues", "plot_loads"}) {
    EXPECT_GT(content(out + "/" + plot + ".csv").size(), 50U) << plot;
    EXPECT_THAT(content(out + "/" + plot + ".gnuplot"), HasSubstr("set ylabel")) << plot;
  }
  EXPECT_THAT(content(out + "/plot_latency.gnuplot"),
              HasSubstr("set title 'world: Latency of the programs'' operations: key_value'"));
  EXPECT_FALSE(std::filesystem::exists(out + "/plot_pauses.csv"));
  EXPECT_FALSE(std::filesystem::exists(out + "/plot_goodput.csv")) << "no thin host takes anything in";
}

TEST_F(World, TwoHostsOnAWireHaveTheSame) {
  const std::string out = scratch_ / "out";
  const std::string port = scratch_ / "port.pcapng";
  const Outcome outcome = wharf({"run", "scenarios/key-value.toml", "--set", "run.operations=300", "--out",
                                 out, "--plot", "--capture", "host1-host0=" + port});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(wharf({"dissect", port, "--json"}).json()["decoded"], 100);
  EXPECT_THAT(content(out + "/plot_latency.csv"), HasSubstr("key_value,"));
  EXPECT_FALSE(std::filesystem::exists(out + "/ports.csv"));
}

TEST_F(World, Refusals) {
  expect_refusal({"run", "scenarios/key-value.toml", "--threads", "2"}, 3,
                 "wharf: --threads stands without topology.from");
  expect_refusal({"run", file_, "--plot"}, 2, "needs --out");
  expect_refusal({"run", file_, "--capture"}, 2, "need --out DIR");
  expect_refusal({"run", file_, "--capture", "=x"}, 2, "expected --capture PORT=FILE");
  expect_refusal({"run", file_, "--capture", "host0-laef0=x"}, 3, "did you mean host0-leaf0?");
  expect_refusal({"run", file_, "--capture", "host0-leaf0=/none/x.pcapng"}, 4, "/none/x.pcapng");
  expect_refusal({"run", file_, "--set", "observe.period=1us", "--set", "observe.ports=laef0-host0"}, 3,
                 "--set: observe.ports: ");
  expect_refusal({"run", file_, "--set", "observe.period=1ns"}, 3, "expected 0ns or at least 10ns");
}

TEST_F(World, ATraceThatCanBeReadOnceIsReadByOneRun) {
  const std::string pipe = scratch_ / "trace";
  ASSERT_EQ(cli_test::run({"mkfifo", pipe}).exit_code, 0);
  const std::string replay = scratch_ / "replay.toml";
  std::ofstream(replay) << "model.stack = \"ub_ldst\"\n[run]\nworkload = \"replay\"\ntrace = \"" << pipe
                        << "\"\n";
  const char* const kText = "run.trace: found ";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"run", replay, "--verify"}, {"sweep", replay, "--vary", "run.seed=1,2"}}) {
    const Outcome refused = wharf(arguments);
    EXPECT_EQ(refused.exit_code, 3) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(kText));
    EXPECT_THAT(refused.err, HasSubstr("which can be read once, expected a file: every run reads it"));
  }
}

}  // namespace
}  // namespace wharf::cli_test
