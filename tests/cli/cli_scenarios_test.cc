// SPDX-License-Identifier: Apache-2.0
// The shipped scenarios: each runs, gives the same files twice and through bytes, and leaves a capture that
// Wireshark reads.
#include <gtest/gtest.h>

#include <algorithm>

#include "run_program.h"

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
    const Outcome first = wharf({"run", file, "--out", scratch / "first"});
    ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
    EXPECT_EQ(wharf({"run", file, "--out", scratch / "second"}).exit_code, 0);
    EXPECT_EQ(wharf({"run", file, "--wire", "bytes", "--out", scratch / "bytes"}).exit_code, 0);
    for (const char* other : {"second", "bytes"}) {
      const Outcome same = wharf({"compare", scratch / "first", scratch / other});
      EXPECT_EQ(same.exit_code, 0) << other << "\n" << same.out;
    }
  }
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

}  // namespace
}  // namespace wharf::cli_test
