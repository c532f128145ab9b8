// SPDX-License-Identifier: Apache-2.0
// What `wharf explain` says of an operation, over every protocol, world and fault: the critical pieces follow
// one another from its begin to its end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/scenario/run.h"
#include "trace/waterfall.h"

namespace wharf::sim {
namespace {

using Keys = std::vector<std::string>;

Keys joined(Keys keys, const Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

RunReport explained(const Keys& keys, std::uint64_t operation) {
  ScenarioSource source;
  source.overrides = keys;
  source.profile_directory = "profiles";
  const auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  if (!scenario) return {};
  RunOptions options;
  options.waterfall_operation = operation;
  auto report = run_scenario(*scenario, options);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  return report ? *std::move(report) : RunReport{};
}

/// Time on the critical path at `stage`.
TimePs time_at(const RunReport& report, trace::Stage stage) {
  const OperationEntry& entry = report.waterfall_operation;
  TimePs sum;
  for (const trace::WaterfallPiece& piece :
       trace::waterfall_pieces({report.waterfall, entry.begin, entry.latency, report.places})) {
    if (piece.critical && piece.stage == stage) sum += piece.end - piece.begin;
  }
  return sum;
}

TEST(ExplainedOperations, CriticalPiecesAreDisjointAndSumToTheTime) {
  const std::vector<Keys> stacks{{"model.stack=ub_urma"}, {"model.stack=roce_dma"}, {"model.stack=uet"}};
  const std::vector<Keys> worlds{{},
                                 {"topology.from=star:4", "hosts.servers=1"},
                                 {"topology.from=fat_tree:16", "hosts.servers=2", "hosts.clients=6"},
                                 {"topology.from=star:4", "hosts.servers=1", "hosts.threads=2"}};
  const std::vector<Keys> faults{
      {},
      {"model.faults.jitter=2us", "model.faults.reordering=0.2", "model.faults.reorder_delay=5us"},
      {"model.faults.loss=0.03", "model.faults.duplication=0.1"}};
  const std::vector<Keys> programs{{"run.workload=verb_loop", "run.verb=write", "run.payload=20KiB"},
                                   {"run.workload=verb_loop", "run.verb=read", "run.payload=64B"},
                                   {"run.workload=verb_loop", "run.verb=send", "run.payload=8KiB"},
                                   {"run.workload=key_value", "run.keys=100", "run.put_fraction=0.5"}};
  std::size_t explained_ones = 0;
  for (std::size_t at = 0; at < stacks.size() * worlds.size() * faults.size(); ++at) {
    Keys keys = joined(stacks[at % 3], worlds[at / 3 % 4]);
    keys = joined(keys, faults[at / 12]);
    keys = joined(keys, programs[at % 4]);
    keys = joined(keys, {"run.operations=30", "run.concurrency=4", "run.seed=" + std::to_string(at + 1)});
    const std::uint64_t operation = at * 7 % 30;
    std::string what = "operation " + std::to_string(operation) + " of";
    for (const std::string& key : keys) what += " " + key;
    SCOPED_TRACE(what);
    const RunReport report = explained(keys, operation);
    ASSERT_FALSE(report.waterfall.empty());
    ++explained_ones;
    const OperationEntry& entry = report.waterfall_operation;
    TimePs reached = entry.begin;
    for (const trace::WaterfallPiece& piece :
         trace::waterfall_pieces({report.waterfall, entry.begin, entry.latency, report.places})) {
      EXPECT_LT(piece.begin, piece.end);
      if (!piece.critical) continue;
      EXPECT_EQ(piece.begin, reached) << "a hole or an overlap at " << trace::name(piece.stage);
      reached = piece.end;
    }
    EXPECT_EQ(reached, entry.begin + entry.latency);
  }
  EXPECT_EQ(explained_ones, 36U);
}

/// Nothing is lost, so nothing waits to be sent again: what a link adds is time on it.
TEST(ExplainedOperations, JitterAndReorderingAreTimeOnTheLink) {
  for (const char* stack : {"model.stack=ub_urma", "model.stack=roce_dma", "model.stack=uet"}) {
    for (const char* world : {"run.seed=1", "topology.from=star:3"}) {
      Keys keys{stack,
                world,
                "run.workload=verb_loop",
                "run.verb=read",
                "run.operations=5",
                "model.faults.jitter=3us"};
      if (std::string(world) != "run.seed=1") keys.emplace_back("hosts.servers=1");
      const RunReport report = explained(keys, 2);
      SCOPED_TRACE(std::string(stack) + " " + world);
      EXPECT_EQ(time_at(report, trace::Stage::kRetransmissionWait), kTimeZero);
      EXPECT_GT(time_at(report, trace::Stage::kWireForward) + time_at(report, trace::Stage::kWireBack),
                nanoseconds(300));
    }
  }
}

}  // namespace
}  // namespace wharf::sim
