// SPDX-License-Identifier: Apache-2.0
// What loss costs a stream of RoCE between two hosts, by how it is repaired. [decision 0110]
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

constexpr double kLoss = 0.01;
constexpr std::uint32_t kWindow = 128;

/// A NIC of 82 Gb/s (32 B in 3106 ps) in front of a link.
struct Path {
  const char* name;
  const char* rate;
  const char* delay;  ///< A round trip of a third of the window, or less.
};
const std::vector<Path> kPaths{{"the NIC is faster", "model.link.rate=40Gbps", "model.link.delay=10us"},
                               {"the link is faster", "model.link.rate=400Gbps", "model.link.delay=5us"}};

/// Payload per second of WRITEs of 4 KiB, and what was sent.
RunReport stream(const Path& path, const std::string& recovery, double loss) {
  ScenarioSource source;
  source.profile_directory = "profiles";
  source.overrides = {"model.stack=roce_bf",
                      "run.workload=verb_loop",
                      "run.verb=write",
                      "run.payload=4KiB",
                      "run.operations=12000",
                      "run.concurrency=" + std::to_string(kWindow),
                      "model.roce.mtu=4KiB",
                      "model.roce.window=" + std::to_string(kWindow),
                      "model.roce.ack_timeout=4",
                      "model.roce.unlimited_retries=true",
                      "model.roce.recovery=" + recovery,
                      "model.nic.port_buffer=0B",
                      "model.faults.loss=" + std::to_string(loss),
                      path.rate,
                      path.delay};
  const auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  if (!scenario) return {};
  auto report = run_scenario(*scenario, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  if (!report) return {};
  EXPECT_EQ(report->end, RunOutcome::kDone) << path.name;
  EXPECT_EQ(report->program_errors, 0U);
  return *std::move(report);
}

TEST(RoceRecovery, SelectiveRepeatKeepsItsGoodput) {
  for (const Path& path : kPaths) {
    const double whole = stream(path, "selective", 0).goodput_bps;
    EXPECT_GE(stream(path, "selective", kLoss).goodput_bps, 0.95 * whole) << path.name;
  }
}

}  // namespace
}  // namespace wharf::sim
