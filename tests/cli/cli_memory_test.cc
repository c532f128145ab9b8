// SPDX-License-Identifier: Apache-2.0
// What `wharf check` says that a run takes, against what the run then takes; and runs that find too little
// memory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_program.h"
#include "tests/support/sanitized.h"

namespace wharf::cli_test {
namespace {

void expect_within_factor_of_two(double estimate, double real, const std::string& what) {
  EXPECT_GE(estimate, real / 2) << what;
  EXPECT_LE(estimate, real * 2) << what;
}

TEST(CliEstimate, OperationsEventsAndMemoryAreWithinAFactorOfTwo) {
  struct World {
    const char* topology;
    const char* servers;
    const char* workload;
  };
  const ScratchDirectory scratch;
  std::ofstream(scratch / "w.toml") << "title = \"A world.\"\n";
  constexpr World kWorlds[] = {{"back_to_back", "1", "key_value"},
                               {"star:4", "1", "pointer_chase"},
                               {"fat_tree:54", "1", "key_value"},
                               {"fat_tree:128", "16", "bulk_read"}};
  for (const char* stack : {"ub_urma", "ub_ldst", "roce_dma", "uet"}) {
    for (const World& world : kWorlds) {
      std::vector<std::string> arguments{"check", scratch / "w.toml", "--json"};
      for (const std::string& each :
           {std::string("topology.from=") + world.topology, std::string("hosts.servers=") + world.servers,
            std::string("run.workload=") + world.workload, std::string("model.stack=") + stack,
            std::string("run.operations=100")}) {
        arguments.emplace_back("--set");
        arguments.push_back(each);
      }
      // Lines that several hosts store to are not cached.
      for (const char* each : {"--set", "model.cache.write_policy=uncached"}) {
        if (world.workload == std::string("key_value") && stack == std::string("ub_ldst"))
          arguments.emplace_back(each);
      }
      std::string what;
      for (const std::string& each : arguments) what += each + " ";
      const Outcome checked = wharf(arguments);
      ASSERT_EQ(checked.exit_code, 0) << what << checked.err;
      arguments[0] = "run";
      const Outcome ran = wharf(arguments);
      ASSERT_EQ(ran.exit_code, 0) << what << ran.err;
      const auto estimate = checked.json()["estimate"];
      const auto summary = ran.json();
      EXPECT_EQ(estimate["operations"], summary["program"]["operations"]) << what;
      expect_within_factor_of_two(estimate["events"].get<double>(), summary["events"].get<double>(), what);
      if (!kSanitized) {
        expect_within_factor_of_two(estimate["memory_bytes"].get<double>(),
                                    static_cast<double>(ran.resident_bytes), what);
      }
    }
  }
}

TEST(CliEstimate, MemoryOfFlowsIsWithinAFactorOfTwo) {
  if (kSanitized) return;
  struct Flows {
    const char* topology;
    const char* collective;
    const char* size;
  };
  const ScratchDirectory scratch;
  for (const char* protocol : {"uet", "ub", "roce"}) {
    for (const Flows& flows :
         {Flows{"fat_tree:1024", "permutation", "64KiB"}, Flows{"fat_tree:54", "all_to_all", "32KiB"},
          Flows{"fat_tree:432", "incast", "16KiB"}}) {
      std::ofstream(scratch / "f.toml")
          << "[topology]\nfrom = \"" << flows.topology << "\"\n[traffic]\ncollective = \"" << flows.collective
          << "\"\nsize = \"" << flows.size << "\"\n[fabric]\nprotocol = \"" << protocol << "\"\n";
      std::vector<std::string> arguments{"check", scratch / "f.toml", "--json"};
      const std::string what = std::string(protocol) + " " + flows.collective;
      const Outcome checked = wharf(arguments);
      ASSERT_EQ(checked.exit_code, 0) << what << checked.err;
      arguments[0] = "run";
      const Outcome ran = wharf(arguments);
      ASSERT_EQ(ran.exit_code, 0) << what << ran.err;
      expect_within_factor_of_two(checked.json()["estimate"]["memory_bytes"].get<double>(),
                                  static_cast<double>(ran.resident_bytes), what);
    }
  }
}

// The study with the largest runs: 64 nodes, each connected with all others, many times one after another. A
// run must not find its tables on pages that earlier ones left; then it took 550 MB, now less than 200.
TEST(CliStudyMemory, ManyLargeRunsTakeAsMuchAsTheLargest) {
  if (kSanitized) return;
  // On one processor, so that no more than one is under way.
  const Outcome ran = run({"bash", "-c",
                           "exec taskset -c \"$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')\" '" +
                               std::string(WHARF_PROGRAM) + "' study run openurma/figure17 --brief"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_LT(ran.resident_bytes, 400'000'000U);
}

/// wharf with `arguments`, which can have so many kibibytes of addresses.
Outcome wharf_within(std::uint64_t kibibytes, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"bash", "-c", "ulimit -v " + std::to_string(kibibytes) + " && exec \"$@\"",
                                   "bash", WHARF_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command);
}

constexpr std::uint64_t kFewAddresses = 400'000;

/// Exit code 4, one sentence, and nothing that was begun.
void expect_too_little_memory(const Outcome& outcome, const std::string& sentence,
                              const std::string& folder) {
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(entry.path().extension(), ".toml") << entry.path();
}

class CliMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    // A sanitizer takes more addresses for itself than any limit here leaves.
    if (kSanitized) GTEST_SKIP() << "sanitizers need more addresses";
    std::ofstream(scratch_ / "w.toml")
        << "title = \"A world.\"\n[run]\nworkload = \"key_value\"\nkeys = 10000\n"
           "[topology]\nfrom = \"star:400\"\n[hosts]\nservers = 8\n";
    std::ofstream(scratch_ / "two.toml")
        << "title = \"Two hosts.\"\n[run]\nworkload = \"bulk_read\"\n"
           "region_bytes = \"64MiB\"\npayload = \"64MiB\"\nconcurrency = 16\n";
  }
  ScratchDirectory scratch_;
};

TEST_F(CliMemory, ARunThatClearlyNeedsMoreThanThereIsIsRefusedBeforeItStarts) {
  for (const char* command : {"run", "explain"}) {
    expect_too_little_memory(wharf_within(kFewAddresses, {command, scratch_ / "w.toml"}),
                             "of memory, and the limit of addresses (ulimit -v) leaves ", scratch_ / "");
  }
  const Outcome refused =
      wharf_within(kFewAddresses, {"run", scratch_ / "w.toml", "--out", scratch_ / "out"});
  expect_too_little_memory(
      refused,
      "expected fewer hosts (topology.from, hosts.clients) or smaller regions (run.*), or --any-memory",
      scratch_ / "");
  // What fits is not asked anything.
  EXPECT_EQ(wharf_within(kFewAddresses, {"run", "scenarios/fetch-64-bytes.toml"}).exit_code, 0);
}

TEST_F(CliMemory, RunsOfFlowsEndLikewise) {
  const std::vector<std::string> many{"--set", "traffic.collective=all_to_all", "--set",
                                      "topology.from=star:512"};
  std::ofstream(scratch_ / "flows.toml") << "[traffic]\nsize = \"1MiB\"\n";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", scratch_ / "flows.toml"},
        std::vector<std::string>{"sweep", scratch_ / "flows.toml", "--vary", "run.seed=1,2"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), many.begin(), many.end());
    arguments.push_back("--quiet");  // No lines of progress, however long it takes.
    expect_too_little_memory(wharf_within(kFewAddresses, arguments), "memory", scratch_ / "");
  }
}

TEST_F(CliMemory, WhoeverTriesAllTheSameEndsWithASentenceToo) {
  const std::string folder = scratch_ / "";
  expect_too_little_memory(
      wharf_within(kFewAddresses, {"run", scratch_ / "w.toml", "--any-memory", "--out", scratch_ / "out"}),
      "wharf: out of memory: ", folder);
  // The programs themselves find none left, in the middle of a run.
  expect_too_little_memory(
      wharf_within(kFewAddresses, {"run", scratch_ / "two.toml", "--any-memory", "--out", scratch_ / "out"}),
      "wharf: out of memory: ", folder);
  expect_too_little_memory(
      wharf_within(kFewAddresses, {"sweep", scratch_ / "w.toml", "--vary", "run.seed=1,2", "--any-memory"}),
      "wharf: out of memory: ", folder);
}

}  // namespace
}  // namespace wharf::cli_test
