// SPDX-License-Identifier: Apache-2.0
// Several programs in one run, on the hosts that each names, and hosts that differ from the others.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/estimate.h"
#include "sim/scenario/host_list.h"
#include "sim/scenario/memory_estimate.h"
#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Scenario> load(const std::string& text, std::vector<std::string> overrides = {}) {
  ScenarioSource source;
  source.text = text;
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  return load_scenario(source);
}

RunReport run(const std::string& text, std::vector<std::string> overrides = {}) {
  const auto scenario = load(text, std::move(overrides));
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  auto report = run_scenario(scenario.value(), {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->end, RunOutcome::kDone);
  EXPECT_EQ(report->verdict, "");
  return *std::move(report);
}

constexpr const char* kReads = "[run]\nworkload = \"pointer_chase\"\noperations = 200\nlines = 512\n";
constexpr const char* kWorld =
    "[model]\nstack = \"roce_dma\"\n[topology]\nfrom = \"star:6\"\n[hosts]\nservers = 2\n"
    "[run]\nworkload = \"key_value\"\noperations = 60\nkeys = 64\n";

TEST(HostList, ReadsWordsAndNumbers) {
  WorldRoles roles;
  roles.clients = 3;
  roles.servers = 2;
  roles.hosts = 8;
  EXPECT_THAT(hosts_of("clients", "k", roles).value(), ElementsAre(0, 1, 2));
  EXPECT_THAT(hosts_of("servers", "k", roles).value(), ElementsAre(6, 7));
  EXPECT_EQ(hosts_of("all", "k", roles)->size(), 8U);
  EXPECT_THAT(hosts_of("5,0-2,4-4", "k", roles).value(), ElementsAre(5, 0, 1, 2, 4));
  for (const char* bad :
       {"", ",", "1,", "-", "1-", "-1", "2-1", "x", "1 - 2", "0x1", "99999999999", "client"})
    EXPECT_THAT(hosts_of(bad, "k", roles).error().message, HasSubstr("expected \"clients\"")) << bad;
  EXPECT_EQ(hosts_of("6-8", "k", roles).error().message, "k names host 8, expected hosts from 0 to 7");
  EXPECT_EQ(hosts_of("1-3,2", "k", roles).error().message, "k names host 2 twice, expected each host once");
}

TEST(Programs, BesideAnotherTakeItsTime) {
  const RunReport alone = run(kReads);
  const RunReport beside = run(kReads, {"program.copy.workload=bulk_read", "program.copy.payload=64KiB",
                                        "program.copy.region_bytes=1MiB", "program.copy.operations=40"});
  ASSERT_EQ(beside.programs.size(), 1U);
  EXPECT_EQ(beside.programs[0].name, "copy");
  EXPECT_EQ(beside.programs[0].operations, 40U);
  EXPECT_GT(beside.programs[0].goodput_bps, 0);
  EXPECT_EQ(beside.program_operations, alone.program_operations);
  EXPECT_GT(beside.program_latency.mean_ns, alone.program_latency.mean_ns);
  EXPECT_GT(beside.memory_checks, alone.memory_checks);
}

TEST(Programs, RunWhereTheyAreTold) {
  const RunReport report =
      run(kWorld, {"run.clients=0,2", "program.other.workload=barrier", "program.other.operations=5",
                   "program.other.clients=0-3", "program.other.servers=5"});
  EXPECT_EQ(report.program_operations, 120U);
  EXPECT_EQ(report.programs.at(0).operations, 20U);
  ASSERT_EQ(report.programs[0].counts.size(), 1U);
  EXPECT_EQ(report.programs[0].counts[0].name, "polls");
  // The other way round: the server reads from a client.
  const RunReport back = run(kReads, {"run.clients=servers", "run.servers=clients"});
  EXPECT_EQ(back.program_operations, 200U);
  const RunReport forth = run(kReads);
  EXPECT_EQ(back.counters["host1"], forth.counters["host0"]);
  EXPECT_EQ(back.counters["host0"], forth.counters["host1"]);
}

TEST(Programs, OfPairsHaveAPartnerAtTheServerOfEachClient) {
  const RunReport report = run(kWorld, {"program.echo.workload=ping_pong", "program.echo.operations=10"});
  EXPECT_EQ(report.programs.at(0).operations, 40U);
  EXPECT_EQ(report.programs[0].errors, 0U);
}

TEST(Programs, ClientsOfDifferentServersDrawApart) {
  const std::string two =
      "[model]\nstack = \"roce_dma\"\n[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 2\n"
      "[run]\nworkload = \"bulk_read\"\noperations = 50\nregion_bytes = \"1MiB\"\n"
      "order = \"random\"\npacing = \"open\"\n";
  const RunReport report = run(two);
  std::array<std::vector<std::int64_t>, 2> issued;
  for (const OperationEntry& entry : report.log.entries())
    if (entry.host < 2) issued.at(entry.host).push_back(entry.begin.ps);
  ASSERT_EQ(issued[0].size(), issued[1].size());
  EXPECT_NE(issued[0], issued[1]);
}

TEST(Programs, GiveTheSameOnAnyNumberOfThreads) {
  const std::vector<std::string> more{"program.log.workload=bulk_write", "program.log.clients=1-3",
                                      "program.log.operations=20", "group.far.hosts=servers",
                                      "group.far.model.nic.cycle=8ns"};
  const auto with = [&](const char* threads) {
    std::vector<std::string> overrides = more;
    overrides.emplace_back(threads);
    return run(kWorld, overrides);
  };
  const RunReport one = with("hosts.threads=1");
  const RunReport three = with("hosts.threads=3");
  EXPECT_EQ(one.fingerprint, three.fingerprint);
  EXPECT_EQ(one.programs.at(0).operations, three.programs.at(0).operations);
  EXPECT_EQ(one.counters, three.counters);
}

TEST(Groups, ThatSayNothingNewChangeNothing) {
  EXPECT_EQ(run(kWorld, {"group.a.hosts=all"}).fingerprint, run(kWorld).fingerprint);
  EXPECT_EQ(run(kReads, {"group.a.hosts=1", "group.a.model.profile=connectx7-class"}).fingerprint,
            run(kReads).fingerprint);
}

TEST(Groups, DifferWhereTheyAreToldTo) {
  const char* reads =
      "[model]\nstack = \"roce_dma\"\n[run]\nworkload = \"pointer_chase\"\noperations = 100\n";
  const double plain = run(reads).program_latency.mean_ns;
  const double server =
      run(reads, {"group.s.hosts=servers", "group.s.model.pcie.read_round_trip=2us"}).program_latency.mean_ns;
  const double client =
      run(reads, {"group.c.hosts=clients", "group.c.model.pcie.mmio_write=1us"}).program_latency.mean_ns;
  EXPECT_GT(server, plain + 1000);
  EXPECT_GT(client, plain + 500);
  // A key of some hosts counts before the same key of all, wherever it was set.
  EXPECT_EQ(run(reads, {"model.pcie.read_round_trip=9us", "group.all.hosts=all",
                        "group.all.model.pcie.read_round_trip=2us"})
                .fingerprint,
            run(reads, {"model.pcie.read_round_trip=2us"}).fingerprint);
}

TEST(Groups, MayHaveAnotherAttachmentMemoryAndProfile) {
  const char* world =
      "[model]\nstack = \"ub_urma\"\n[topology]\nfrom = \"star:4\"\n[hosts]\nservers = 1\n"
      "[run]\nworkload = \"pointer_chase\"\noperations = 50\n";
  const double bus = run(world).program_latency.mean_ns;
  const double pcie = run(world, {"group.s.hosts=servers", "group.s.model.attachment=pcie",
                                  "group.s.model.submission=doorbell"})
                          .program_latency.mean_ns;
  EXPECT_GT(pcie, bus + 200);
  const RunReport coherent =
      run(world, {"group.s.hosts=servers", "group.s.model.attachment=pcie",
                  "group.s.model.submission=doorbell", "group.s.model.profile=coherent-host"});
  EXPECT_NE(coherent.program_latency.mean_ns, pcie);
  const auto scenario = load(world, {"group.s.hosts=servers", "group.s.model.roce.mtu=2KiB"});
  ASSERT_TRUE(scenario.ok());
  EXPECT_THAT(scenario->no_influence,
              ElementsAre(HasSubstr("group.s.model.roce.mtu (--set) had no influence")));
}

constexpr const char* kRing =
    "[topology]\nfrom = \"star:6\"\n[hosts]\nservers = 1\n"
    "[run]\nworkload = \"ring_collective\"\noperations = 3\nbuffer_bytes = \"100KiB\"\n";

TEST(RanksOfARing, ReachEachOthersMemoryOverEveryStack) {
  for (const char* stack : {"ub_urma", "ub_ldst", "roce_dma", "roce_bf", "uet"}) {
    SCOPED_TRACE(stack);
    const RunReport report = run(kRing, {"model.stack=" + std::string(stack)});
    EXPECT_EQ(report.program_operations, 18U);
    EXPECT_EQ(report.program_errors, 0U);
    EXPECT_EQ(report.counters["program"]["steps"], 6 * 3 * 10);
    // All sums of all ranks, when each collective ends and when the run does.
    EXPECT_GE(report.memory_checks, 6U * 3U * 12'800U);
  }
}

TEST(RanksOfARing, AreSlowerWhereTheyCompute) {
  const double idle = run(kRing, {"run.time_per_mib=0ns"}).program_latency.mean_ns;
  const double busy = run(kRing, {"run.time_per_mib=0ns", "run.step_time=10us"}).program_latency.mean_ns;
  EXPECT_GT(busy, idle + 5 * 9'000);  // Five steps of each reduction.
}

TEST(RanksOfARing, GiveTheSameOnAnyNumberOfThreadsAndUnderLoss) {
  const RunReport one = run(kRing);
  const RunReport three = run(kRing, {"hosts.threads=3"});
  EXPECT_EQ(one.fingerprint, three.fingerprint);
  EXPECT_EQ(one.counters, three.counters);
  const RunReport lossy = run(kRing, {"fabric.loss=1%"});
  EXPECT_EQ(lossy.program_operations, 18U);
  EXPECT_NE(lossy.fingerprint, one.fingerprint);
}

TEST(RanksOfARing, MayStandBesideOtherProgramsAndNeedTwoHosts) {
  const RunReport report =
      run(kReads, {"program.sum.workload=ring_collective", "program.sum.buffer_bytes=64KiB"});
  EXPECT_EQ(report.programs.at(0).operations, 2U);
  const auto alone = load(kReads, {"program.sum.workload=ring_collective", "program.sum.clients=1"});
  ASSERT_FALSE(alone.ok());
  EXPECT_THAT(alone.error().message,
              HasSubstr("program.sum.clients lists 1 host, expected at least 2 for program.sum.workload = "
                        "\"ring_collective\", such as \"all\""));
  const auto small = load(kRing, {"run.buffer_bytes=40B"});
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(small.error().message,
              HasSubstr("run.buffer_bytes is 40, expected at least 8 bytes for each rank"));
}

TEST(ProgramsAndGroups, AreRefusedByKey) {
  struct Case {
    std::vector<std::string> overrides;
    const char* message;
  };
  const std::array<Case, 21> cases{{
      {{"program.a.workload=bulk_raed"}, "did you mean \"bulk_read\"?"},
      {{"program.a.workload=replay"}, "program.a.workload is \"replay\", expected one of"},
      {{"program.a=3"}, "unknown key program.a"},
      {{"program.a.payloda=3"}, "unknown key program.a.payloda"},
      {{"program.a.clients=4"}, "program.a.clients has host 4 use its own memory"},
      {{"program.a.clients=7"}, "program.a.clients names host 7, expected hosts from 0 to 5"},
      {{"program.a.servers=0,0"}, "program.a.servers names host 0 twice"},
      {{"program.a.workload=verb_loop", "program.a.verb=load", "program.a.payload=8B"},
       "program.a.workload = \"verb_loop\" needs load, which model.stack = \"roce_dma\" does not have"},
      {{"program.a.workload=bulk_read", "program.a.region_bytes=999PiB"}, "program.a."},
      {{"run.clients=clints"}, "--set: run.clients is \"clints\", expected \"clients\""},
      {{"group.g.hosts=3", "group.h.hosts=all"},
       "--set: group.h.hosts names host 3, which is in group.g too"},
      {{"group.g.hosts=9"}, "--set: group.g.hosts names host 9, expected hosts from 0 to 5"},
      {{"group.g.model.nic.cycle=1ns"}, "group.g has no hosts, expected group.g.hosts"},
      {{"group.g.hosts=0", "group.g.model.link.rate=1Gbps"},
       "group.g.model.link.rate belongs to the network, which all hosts share"},
      {{"group.g.hosts=0", "group.g.model.stack=uet"},
       "--set: group.g.model.stack is \"uet\" in group.g and \"roce_dma\" elsewhere, expected one protocol"},
      {{"group.g.hosts=0", "group.g.run.workload=barrier"}, "unknown key group.g.run.workload, expected"},
      {{"group.g.hosts=0", "group.g.model.nic.cyle=1ns"},
       "--set: unknown key group.g.model.nic.cyle; did you mean group.g.model.nic.cycle"},
      {{"group.g.hosts=0", "group.g.model.nic.cycle=1"},
       "--set: group.g.model.nic.cycle is \"1\", expected a time with a unit"},
      {{"group.g.hosts=0", "group.g.model.attachment=on_chip_bus"},
       "group.g.model.submission is a PCIe path, but the NIC sits on the on-chip bus, expected "
       "group.g.model.submission = \"bus_store\" or group.g.model.attachment"},
      {{"program.a.concurrency=none"}, "--set: program.a.concurrency is \"none\", expected"},
      {{"program.a.wrkload=barrier"},
       "--set: unknown key program.a.wrkload; did you mean program.a.workload?"},
  }};
  for (const Case& each : cases) {
    const auto scenario = load(kWorld, each.overrides);
    ASSERT_FALSE(scenario.ok()) << each.overrides.front();
    EXPECT_EQ(scenario.error().kind, ErrorKind::kInput);
    EXPECT_THAT(scenario.error().message, HasSubstr(each.message));
  }
  const auto thin =
      load(kWorld, {"hosts.clients=2", "traffic.collective=permutation", "program.a.clients=0-2"});
  ASSERT_FALSE(thin.ok());
  EXPECT_THAT(thin.error().message, HasSubstr("program.a.clients names host 2, which makes traffic alone"));
}

TEST(ProgramsAndGroups, AreEstimated) {
  const auto one = load(kWorld);
  const auto two = load(kWorld, {"program.a.workload=bulk_write", "program.a.region_bytes=64MiB"});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_GT(estimate_memory(two->config).value(), estimate_memory(one->config).value());
  const Scenario sample = sample_of(*two, 16);
  EXPECT_LT(workload::loop_config(sample.config.programs[0].workload).operations,
            workload::loop_config(two->config.programs[0].workload).operations);
}

}  // namespace
}  // namespace wharf::sim
