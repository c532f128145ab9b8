// SPDX-License-Identifier: Apache-2.0
// The RDMO worker on full hosts: every use and protocol over every stack ends whole, at the target and beside
// it, on any number of threads; what cannot be is refused by its key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

Result<Scenario> load(const std::vector<std::string>& overrides) {
  ScenarioSource source;
  source.text =
      "[topology]\nfrom = \"star:6\"\n[hosts]\nservers = 2\n"
      "[run]\nworkload = \"rdmo\"\noperations = 20\nconcurrency = 2\n";
  source.overrides = overrides;
  source.profile_directory = "profiles";
  return load_scenario(source);
}

RunReport run(const std::vector<std::string>& overrides) {
  const auto scenario = load(overrides);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  auto report = run_scenario(scenario.value(), {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  return *std::move(report);
}

void expect_whole(const RunReport& report, std::uint64_t operations) {
  EXPECT_EQ(report.verdict, "");
  EXPECT_EQ(report.program_operations, operations);
  EXPECT_EQ(report.program_errors, 0U);
  EXPECT_GT(report.memory_checks, 0U);
}

TEST(RdmoWorld, EveryUseOverEveryStackAtTheTargetAndBesideIt) {
  for (const std::string stack : {"roce_bf", "ub_urma", "uet"}) {
    for (const std::string use : {"append", "log", "queue", "scatter", "write_ahead"}) {
      for (const std::string place : {"target", "beside"}) {
        SCOPED_TRACE(stack + " " + use + " " + place);
        const std::uint64_t writers = use == "log" || use == "queue" ? 3 : 4;
        const bool beside = place == "beside";
        const RunReport report = run({"model.stack=" + stack, "run.use=" + use, "run.worker_at=" + place,
                                      std::string("run.servers=") + (beside ? "4,5" : "5"), "run.batch=2"});
        expect_whole(report, writers * 20);
        EXPECT_GE(report.counters["program"]["worker_messages"], writers * 20);
      }
    }
  }
}

TEST(RdmoWorld, WhatOneDoesWithoutAWorkerLeavesTheSameLog) {
  for (const std::string stack : {"roce_dma", "ub_urma", "uet"}) {
    for (const std::string protocol : {"two_step", "client_lock", "server_thread"}) {
      SCOPED_TRACE(stack + " " + protocol);
      expect_whole(run({"model.stack=" + stack, "run.protocol=" + protocol, "run.servers=5"}), 80);
    }
  }
}

TEST(RdmoWorld, LongRecordsAreReadFromTheirClients) {
  for (const std::string place : {"target", "beside"}) {
    SCOPED_TRACE(place);
    expect_whole(run({"run.payload=16KiB", "run.worker_at=" + place, "run.operations=10",
                      place == "beside" ? "run.servers=4,5" : "run.servers=5"}),
                 40);
  }
}

TEST(RdmoWorld, CoherentMemoryHoldsTheSameLog) {
  for (const std::string place : {"target", "beside"}) {
    SCOPED_TRACE(place);
    expect_whole(run({"model.profile=coherent-host", "run.worker_at=" + place, "run.use=log",
                      place == "beside" ? "run.servers=4,5" : "run.servers=5"}),
                 60);
  }
}

TEST(RdmoWorld, ThreadsChangeNothing) {
  const std::vector<std::string> keys{"run.worker_at=beside", "run.use=queue", "run.queue_bytes=512B"};
  const RunReport one = run(keys);
  std::vector<std::string> more = keys;
  more.emplace_back("hosts.threads=2");
  const RunReport two = run(more);
  EXPECT_GT(one.counters["program"]["retries"], 0);
  EXPECT_EQ(one.fingerprint, two.fingerprint);
  EXPECT_EQ(one.counters, two.counters);
  EXPECT_EQ(one.events, two.events);
}

TEST(RdmoWorld, TheWorkersTimeIsThatOfItsHost) {
  const std::vector<std::string> keys{"run.worker_at=beside", "group.card.hosts=4"};
  const auto with = [&](const char* time) {
    std::vector<std::string> more = keys;
    more.emplace_back(std::string("group.card.model.rdmo.request=") + time);
    return run(more).program_latency.p50_ns;
  };
  EXPECT_GT(with("2us"), with("100ns") + 1900);
}

TEST(RdmoWorld, LoadOnTheTargetsCoreSlowsItsThread) {
  const std::vector<std::string> keys{"run.servers=5", "run.protocol=server_thread"};
  std::vector<std::string> loaded = keys;
  loaded.emplace_back("run.load_percent=50");
  EXPECT_GT(run(loaded).program_latency.p99_ns, run(keys).program_latency.p99_ns + 1000);
}

TEST(RdmoWorld, WhatCannotBeIsRefused) {
  const auto refusal = [](const std::vector<std::string>& keys) {
    const auto scenario = load(keys);
    return scenario.ok() ? std::string("accepted") : scenario.error().message;
  };
  EXPECT_THAT(refusal({"run.worker_at=beside", "run.servers=5"}), HasSubstr("expected an even number"));
  EXPECT_THAT(refusal({"run.worker_at=beside", "run.clients=0-4"}),
              HasSubstr("a client of the worker that it runs"));
  EXPECT_THAT(refusal({"run.protocol=two_step", "run.use=queue"}), HasSubstr("run.use is queue"));
  EXPECT_THAT(refusal({"run.protocol=two_step", "run.load_percent=10"}), HasSubstr("run.load_percent is 10"));
  EXPECT_THAT(refusal({"run.payload=20B"}), HasSubstr("run.payload is 20"));
  EXPECT_THAT(refusal({"run.operations=1000000", "run.payload=1MiB"}), HasSubstr("run.payload is 1MiB"));
}

}  // namespace
}  // namespace wharf::sim
