// SPDX-License-Identifier: Apache-2.0
// The shipped scenarios: each runs, gives the same files twice and through bytes, and leaves a capture that
// Wireshark reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include "run_program.h"
#include "tests/support/sanitized.h"
#include "trace/decoded_timeline_test_support.h"

namespace wharf::cli_test {
namespace {

std::vector<std::string> scenarios() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Scenarios, RunTwiceAndThroughBytesGiveTheSameFiles) {
  ASSERT_GE(scenarios().size(), 10U);
  for (const std::string& file : scenarios()) {
    SCOPED_TRACE(file);
    const ScratchDirectory scratch;
    if (kSanitized) {  // One run is what they look at, through the codecs; the plain program compares.
      const Outcome outcome = wharf({"run", file, "--wire", "bytes", "--out", scratch / "out"});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
      continue;
    }
    const Outcome first = wharf({"run", file, "--wire", "structs", "--out", scratch / "first"});
    ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
    EXPECT_EQ(wharf({"run", file, "--wire", "bytes", "--out", scratch / "bytes"}).exit_code, 0);
    const Outcome same = wharf({"compare", scratch / "first", scratch / "bytes"});
    EXPECT_EQ(same.exit_code, 0) << same.out;
  }
}

/// The summary of a run of `file` on so many threads; empty where it cannot have several.
std::string summary_on(const std::string& file, const std::string& threads) {
  const Outcome outcome = wharf({"run", file, "--threads", threads, "--json"});
  if (outcome.exit_code == 3) {
    EXPECT_NE(outcome.err.find("threads stands without topology.from"), std::string::npos) << outcome.err;
    return {};
  }
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

TEST(Scenarios, OnSeveralThreadsGiveTheSameBytes) {
  if (kSanitized) GTEST_SKIP() << "threads are looked at in wharf_sim_world_test, under ThreadSanitizer";
  int several = 0;
  for (const std::string& file : scenarios()) {
    SCOPED_TRACE(file);
    const std::string one = summary_on(file, "1");
    if (one.empty()) continue;
    ++several;
    for (const char* const threads : {"2", "3"})
      EXPECT_TRUE(summary_on(file, threads) == one) << threads << " threads";
  }
  EXPECT_GE(several, 20);
}

TEST(Scenarios, TheCaptureOfALossyRunOpensInWiresharkWithoutMalformedPackets) {
  if (run({"sh", "-c", "command -v tshark"}).exit_code != 0) GTEST_SKIP() << "tshark is not installed";
  const ScratchDirectory scratch;
  ASSERT_EQ(wharf({"run", "scenarios/lossy-roce-reads.toml", "--set", "run.operations=100", "--capture",
                   "--timeline", "--out", scratch / "out"})
                .exit_code,
            0);
  const std::string capture = scratch / "out/capture.pcapng";
  // The two heuristics take short payloads for other protocols.
  const Outcome all =
      run({"tshark", "-r", capture, "--disable-heuristic", "rpcrdma_infiniband", "--disable-heuristic",
           "smb_direct_infiniband", "-Y", "infiniband", "-T", "fields", "-e", "frame.number"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_GT(std::count(all.out.begin(), all.out.end(), '\n'), 100);
  const Outcome bad =
      run({"tshark", "-r", capture, "--disable-heuristic", "rpcrdma_infiniband", "--disable-heuristic",
           "smb_direct_infiniband", "-Y", "_ws.malformed || _ws.expert.severity >= 0x600000"});
  EXPECT_EQ(bad.exit_code, 0) << bad.err;
  EXPECT_EQ(bad.out, "");
  EXPECT_GT(std::filesystem::file_size(scratch / "out/timeline.pftrace"), 1000U);

  const auto ours = wharf({"dissect", capture, "--json"}).json();
  EXPECT_EQ(ours["malformed"], 0);
  EXPECT_EQ(ours["icrc_bad"], 0);
  EXPECT_EQ(ours["not_reencoded"], 0);
  EXPECT_GT(ours["decoded"], 100);
}

/// Frames of a capture that are earlier than the one before them.
int frames_out_of_order(const std::string& capture) {
  const auto read = wharf({"dissect", capture, "--json"}).json();
  EXPECT_GT(read["frame_count"], 100) << capture;
  std::int64_t last = 0;
  int early = 0;
  for (const auto& frame : read["frames"]) {
    const std::int64_t at = frame["time_ps"];
    early += at < last ? 1 : 0;
    last = at;
  }
  return early;
}

// Of one host and of many, whose links hand out packets ahead of their time.
TEST(Scenarios, CapturesAreInTheOrderOfTime) {
  const ScratchDirectory scratch;
  for (const char* scenario : {"lossy-writes", "key-value-fat-tree", "loads-in-flight"}) {
    const std::string out = scratch / scenario;
    ASSERT_EQ(wharf({"run", scenario, "--set", "run.operations=100", "--capture", "--out", out}).exit_code, 0)
        << scenario;
    EXPECT_EQ(frames_out_of_order(out + "/capture.pcapng"), 0) << scenario;
  }
}

// Each protocol as each kind of run frames it.
TEST(Scenarios, EveryCaptureOfARunIsDissected) {
  const ScratchDirectory scratch;
  const auto expect_read = [](const std::string& file) {
    const auto read = wharf({"dissect", file, "--json"}).json();
    EXPECT_GT(read["decoded"], 10) << file;
    for (const char* none : {"foreign", "malformed", "icrc_bad", "not_reencoded"})
      EXPECT_EQ(read[none], 0) << file;
  };
  const std::vector<std::vector<std::string>> pairs{
      {"model.stack=ub_urma"}, {"model.stack=ub_urma", "model.ub.encapsulation=ip_on_link"},
      {"model.stack=ub_ldst"}, {"model.stack=ub_urma", "model.ub.encapsulation=cna24"},
      {"model.stack=roce_bf"}, {"model.stack=uet"}};
  for (const std::vector<std::string>& keys : pairs) {
    const std::string out = scratch / keys.back();
    std::vector<std::string> command{"run",       "fetch-64-bytes", "--set", "run.operations=20",
                                     "--capture", "--out",          out};
    for (const std::string& key : keys) command.insert(command.end(), {"--set", key});
    ASSERT_EQ(wharf(command).exit_code, 0) << keys.back();
    expect_read(out + "/capture.pcapng");
  }
  for (const char* protocol : {"ub", "roce", "uet"}) {
    const std::string file = scratch / (std::string(protocol) + ".pcapng");
    const Outcome outcome = wharf({"run", "permutation", "--set", std::string("fabric.protocol=") + protocol,
                                   "--set", "traffic.size=64KiB", "--capture", "host0-leaf0=" + file});
    ASSERT_LE(outcome.exit_code, 1) << outcome.err;  // What the scenario expects is expected of its own keys.
    expect_read(file);
  }
}

TEST(Scenarios, TheTimelineHasASliceForEachOperationThatLastsAsLongAsTheOperation) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "reads.toml") << "model.stack = \"roce_dma\"\n[run]\nworkload = \"verb_loop\"\n"
                                           "verb = \"read\"\npayload = \"256B\"\noperations = 7\n";
  const Outcome outcome = wharf({"run", scratch / "reads.toml", "--timeline", "--out", scratch / "out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::ifstream file(scratch / "out/timeline.pftrace", std::ios::binary);
  const trace::Decoded timeline =
      trace::decode(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  // begin_ns and latency_ns of operations.csv, in picoseconds.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  std::ifstream rows(scratch / "out/operations.csv");
  std::string row;
  std::getline(rows, row);
  while (std::getline(rows, row)) {
    std::istringstream fields(row);
    std::vector<std::string> values;
    for (std::string field; std::getline(fields, field, ',');) values.push_back(field);
    told.emplace_back(std::llround(std::stod(values.at(4)) * 1e3),
                      std::llround(std::stod(values.at(5)) * 1e3));
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> drawn;
  std::size_t arrows_ended = 0;
  for (const trace::DecodedEvent& event : timeline.events) {
    arrows_ended += event.ended_flows.size();
    if (event.name != "read 256 B") continue;
    EXPECT_EQ(timeline.tracks.at(event.track).thread_name, "operations");
    drawn.emplace_back(event.arguments.at("begin_ps"), event.arguments.at("length_ps"));
  }
  EXPECT_GE(told.size(), 7U);
  EXPECT_EQ(drawn, told);
  EXPECT_EQ(arrows_ended, told.size());
}

TEST(Scenarios, ALineWhoseWriteBackFailsMakesTheRunFail) {
  const ScratchDirectory scratch;
  // Stores hit the caches and end well; what they wrote leaves later, over a link that loses a third.
  std::ofstream(scratch / "stores.toml")
      << "[model]\nstack = \"ub_ldst\"\nfaults.loss = 0.3\nub.reissue_attempts = 1\ncache.l1.lines = 8\n"
         "cache.l1.ways = 8\ncache.l2.lines = 0\ncache.llc.lines = 0\n[run]\nworkload = \"verb_loop\"\n"
         "verb = \"store\"\npayload = \"8B\"\nregion_bytes = \"64KiB\"\noperations = 2000\n";
  const Outcome outcome = wharf({"run", scratch / "stores.toml", "--json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const std::uint64_t lost = outcome.json()["counters"]["host0"]["load_store"]["lines_lost"];
  EXPECT_GT(lost, 0U);
  EXPECT_NE(outcome.err.find(std::to_string(lost) + " dirty lines are lost"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace wharf::cli_test
