// SPDX-License-Identifier: Apache-2.0
// Keys of programs that others make idle: `check` and `run` name them there, and nowhere else.
#include "sim/scenario/idle_keys.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {
namespace {

/// What is said about `key`, after its name; "": nothing; "refused ...": the scenario is.
std::string remark_on(const std::string& key, std::vector<std::string> overrides,
                      const std::string& program = "run") {
  ScenarioSource source;
  source.profile_directory = "profiles";
  source.overrides = std::move(overrides);
  const auto loaded = load_scenario(source);
  if (!loaded.ok()) return "refused " + loaded.error().message;
  const std::string start = program + "." + key + " (--set) had no influence: ";
  for (const std::string& line : loaded->no_influence) {
    if (line.starts_with(start)) return line.substr(start.size());
  }
  return "";
}

/// `key` with `value` is named as `needs` says under `idle`, and not with `acts` besides.
struct Rule {
  std::string key;
  std::string value;
  std::vector<std::string> idle;
  std::vector<std::string> acts;
  std::string needs;
};

void expect(const std::vector<Rule>& rules, const std::vector<std::string>& base) {
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.key + " " + rule.needs);
    std::vector<std::string> keys = base;
    keys.push_back("run." + rule.key + "=" + rule.value);
    std::vector<std::string> idle = keys;
    idle.insert(idle.end(), rule.idle.begin(), rule.idle.end());
    EXPECT_EQ(remark_on(rule.key, idle), rule.needs);
    keys.insert(keys.end(), rule.acts.begin(), rule.acts.end());
    EXPECT_EQ(remark_on(rule.key, keys), "");
  }
}

TEST(IdleKeys, PacingDecidesAboutThinkTimeAndArrivals) {
  for (const std::string program : {"pointer_chase", "bulk_read", "cas_lock", "verb_loop", "item_gets"}) {
    expect({{"think_time", "1us", {"run.pacing=open"}, {}, "only with pacing = \"closed\""},
            {"arrivals_per_second", "7000", {}, {"run.pacing=open"}, "only with pacing = \"open\""}},
           {"model.stack=ub_urma", "run.workload=" + program});
  }
}

TEST(IdleKeys, TheWayToMemoryDecides) {
  const std::string requests = "run.access=work_request";
  expect({{"local_load", "false", {"run.access=load_store"}, {requests}, "only with access by work requests"},
          {"local_load", "false", {}, {"model.stack=ub_urma"}, "only with access by work requests"}},
         {"model.stack=ub_ldst", "run.workload=pointer_chase"});
  expect({{"load_step", "32B", {requests}, {}, "only with access by loads and stores"},
          {"load_step", "32B", {"model.stack=ub_urma"}, {}, "only with access by loads and stores"}},
         {"model.stack=ub_ldst", "run.workload=sequential_scan"});
}

TEST(IdleKeys, TheVerbDecides) {
  const std::string region = "only with verbs that reach the region";
  const std::string hot = "only with a hot_fraction above 0";
  const std::string ub = "only with work requests of Unified Bus";
  expect(
      {{"region_bytes", "2MiB", {"run.verb=send"}, {}, region},
       {"order", "random", {"run.verb=send_imm"}, {"run.verb=write_imm"}, region},
       {"hot_fraction", "0.5", {"run.verb=send"}, {"run.verb=write"}, region},
       {"hot_blocks", "9", {}, {"run.hot_fraction=0.1"}, hot},
       {"start_delay", "1us", {}, {"run.verb=send"}, "only with verbs that take a receive entry"},
       {"order_tag", "strong", {"model.stack=roce_bf"}, {}, ub},
       {"completion_in_order", "false", {"model.stack=uet"}, {}, ub},
       {"completion_in_order", "false", {"model.stack=ub_ldst", "run.verb=load", "run.payload=8B"}, {}, ub},
       {"fence",
        "true",
        {"model.stack=ub_ldst", "run.verb=load", "run.payload=8B"},
        {},
        "only with work requests"}},
      {"model.stack=ub_urma", "run.workload=verb_loop"});
}

TEST(IdleKeys, TheWriterAndTheProtocolOfGetsDecide) {
  const std::string writer = "only with a writer";
  expect({{"posting",
           "together",
           {"run.protocol=farm"},
           {"run.protocol=pessimistic"},
           "only with protocol = \"pessimistic\" or \"validation\""},
          {"copy_line",
           "1ns",
           {"run.protocol=validation"},
           {"run.protocol=farm"},
           "only with protocol = \"farm\""},
          {"writers", "2", {"run.writer=none"}, {"run.writer=core"}, writer},
          {"write_gap", "2us", {"run.writer=none"}, {"run.writer=remote"}, writer},
          {"start_delay", "2us", {"run.writer=remote"}, {"run.writer=core"}, "only with writer = \"core\""}},
         {"model.stack=ub_urma", "run.workload=item_gets"});
  expect({{"read_order",
           "ascending",
           {},
           {"model.profile=coherent-host"},
           "only with memory.system = coherent"}},
         {"model.stack=roce_bf", "run.workload=item_gets"});
}

TEST(IdleKeys, PutsRingsAndRemoteOperationsDecide) {
  const std::string world = "topology.from=star:4";
  expect({{"torn_retries",
           "7",
           {"run.put_fraction=0"},
           {"run.put_fraction=0.5"},
           "only with a put_fraction above 0"}},
         {"model.stack=ub_urma", "run.workload=key_value"});
  expect({{"time_per_mib",
           "7us",
           {"run.collective=all_gather"},
           {"run.collective=all_reduce"},
           "only with collective = \"all_reduce\" or \"reduce_scatter\""}},
         {world, "hosts.servers=1", "run.workload=ring_collective"});
  const std::string watched = "only with use = \"log\" or \"queue\"";
  const std::string attended = "only with protocol = \"worker\" or \"server_thread\"";
  expect({{"queue_bytes", "1KiB", {"run.use=log"}, {"run.use=queue"}, "only with use = \"queue\""},
          {"readers", "1", {"run.use=queue"}, {"run.use=log"}, "only with use = \"log\""},
          {"rows", "2048", {}, {"run.use=scatter"}, "only with use = \"scatter\""},
          {"log_bytes", "1MiB", {"run.use=scatter"}, {}, "only with a use that keeps a log"},
          {"publish_delay", "1us", {}, {"run.use=log"}, watched},
          {"retry_wait",
           "2us",
           {},
           {"run.protocol=client_lock"},
           "only with protocol = \"client_lock\", or use = \"log\" or \"queue\""},
          {"flush_every",
           "3",
           {"run.use=write_ahead"},
           {},
           "not with use = \"write_ahead\", which waits for each flush"},
          {"eager_most", "4KiB", {"run.protocol=two_step"}, {"run.protocol=server_thread"}, attended},
          {"start_delay", "1us", {"run.protocol=client_lock"}, {}, attended},
          {"load_burst", "1us", {}, {"run.load_percent=9"}, "only with a load_percent above 0"}},
         {world, "hosts.servers=1", "run.workload=rdmo"});
}

// A program beside the first has rules of its own.
TEST(IdleKeys, ProgramsBesideTheFirstAreNamedByTheirName) {
  const std::vector<std::string> keys{"model.stack=ub_urma",
                                      "topology.from=star:4",
                                      "hosts.servers=1",
                                      "run.workload=bulk_read",
                                      "program.more.workload=bulk_read",
                                      "program.more.arrivals_per_second=9"};
  EXPECT_EQ(remark_on("arrivals_per_second", keys, "program.more"), "only with pacing = \"open\"");
  EXPECT_EQ(remark_on("arrivals_per_second", keys), "");
}

}  // namespace
}  // namespace wharf::sim
