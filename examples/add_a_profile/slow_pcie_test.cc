// SPDX-License-Identifier: Apache-2.0
// Example of docs/guides/add-a-profile.md: a profile that changes two values of another one, and what that
// does to a RoCE read.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace wharf::examples {
namespace {

namespace fs = std::filesystem;

/// A profile lies beside the one that it extends: a folder with the shipped profiles and the example.
class SlowPcie : public ::testing::Test {
 protected:
  void SetUp() override {
    profiles_ = fs::path(::testing::TempDir()) / "wharf_example_slow_pcie";
    fs::remove_all(profiles_);
    fs::create_directories(profiles_);
    for (const auto& entry : fs::directory_iterator("profiles")) fs::copy(entry.path(), profiles_);
    fs::copy("examples/add_a_profile/slow-pcie.toml", profiles_);
  }
  void TearDown() override { fs::remove_all(profiles_); }

  // guide: begin
  /// Latency of one RoCE read of 64 bytes on an idle machine, in nanoseconds.
  double read_latency_ns(const std::string& profile) const {
    sim::ScenarioSource source;
    source.text = R"(
        model.stack = "roce_dma"
        [run]
        workload = "verb_loop"
        verb = "read"
        payload = "64B"
        operations = 1)";
    source.profile = profile;
    source.profile_directory = profiles_;
    const sim::Scenario scenario = sim::load_scenario(source).value();
    const sim::RunReport report = sim::run_scenario(scenario, {}).value();
    return report.find(verbs::Verb::kRead)->latency.mean_ns;
  }
  // guide: end

  fs::path profiles_;
};

// guide: begin
TEST_F(SlowPcie, ReadsAndWritesOverPcieOnTheCriticalPathTakeLonger) {
  const double entry_fetch = 800 - 500;     // The NIC reads the work-queue entry.
  const double target_read = 800 - 500;     // The target's NIC reads the data.
  const double response_write = 550 - 250;  // Data and completion go to memory together.
  EXPECT_NEAR(read_latency_ns("slow-pcie") - read_latency_ns("connectx7-class"),
              entry_fetch + target_read + response_write, 1e-6);
}
// guide: end

}  // namespace
}  // namespace wharf::examples
