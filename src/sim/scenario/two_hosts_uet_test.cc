// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet between two hosts: what an operation costs, its keys and their rules, losses, full rate, and
// every program that its verbs serve. What all stacks have in common is in two_hosts_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/assembly.h"
#include "sim/scenario/run.h"
#include "sim/two_hosts/two_hosts_test_support.h"
#include "sim/world/engine_of.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;
using testing::latency_of;
using testing::mechanism;
using testing::Pair;
using trace::Stage;
using verbs::CompletionStatus;
using verbs::Verb;

ScenarioSource source(std::vector<std::string> overrides) {
  ScenarioSource out;
  out.overrides = std::move(overrides);
  out.overrides.insert(out.overrides.begin(), "model.stack=uet");
  out.profile_directory = "profiles";
  return out;
}

std::string refusal(std::vector<std::string> overrides) {
  const auto scenario = load_scenario(source(std::move(overrides)));
  return scenario.ok() ? "accepted" : scenario.error().message;
}

RunReport report_of(std::vector<std::string> overrides) {
  const auto scenario = load_scenario(source(std::move(overrides)));
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  if (!scenario) return {};
  auto report = run_scenario(*scenario, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  if (!report) return {};
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  EXPECT_EQ(report->verdict, "");
  EXPECT_EQ(report->program_errors, 0U);
  return *std::move(report);
}

// connectx7_class() of two_hosts_test_support.h, a doorbell, 64 B, everything idle; in nanoseconds:
//   library 50, entry 30; doorbell of 8 B: 150 + 32 B at 504 Gb/s = 150.508
//   fetch of the entry, 64 B: 500 + 84 B at 504 Gb/s = 501.333; fetch of the payload: the same
//   request of 14 + 20 + 8 + 12 + 44 + 4 + 4 = 106 B and 64 B: 6 flits, (9 + 5) cycles of 3.106 = 43.484
//   link 100 (400 Gb/s are faster than the flits); first flit through the receive pipeline: 9 cycles = 27.954
//   the write is posted, its acknowledgement of 74 or 94 B takes 3 flits: (9 + 2) cycles = 34.166;
//   100; 27.954 completion record of 64 B: 250 + 88 B at 504 Gb/s = 251.397; poll 70, library 30.
TEST(TwoHostsUet, AWriteTakesTheSumOfItsSteps) {
  const double sum =
      80 + 150.508 + 2 * 501.333 + 43.484 + 100 + 27.954 + 34.166 + 100 + 27.954 + 251.397 + 100;
  EXPECT_NEAR(as_nanoseconds(latency_of(mechanism(Stack::kUet), {Verb::kWrite, 64})), sum, 0.005);
}

// As above up to the request, which has no payload: 4 flits, 12 cycles = 37.272. At the target a DMA read of
// 64 B and a row of DRAM, 30. The answer is a packet of 82 B of headers and 64
// B, 5 flits: 13 cycles = 40.378. The data is written, 88 B at 504 Gb/s, and the completion record behind it.
TEST(TwoHostsUet, AReadTakesTheSumOfItsSteps) {
  const double sum = 80 + 150.508 + 501.333 + 37.272 + 100 + 27.954 + 501.333 + 30 + 40.378 + 100 + 27.954 +
                     1.397 + 251.397 + 100;
  EXPECT_NEAR(as_nanoseconds(latency_of(mechanism(Stack::kUet), {Verb::kRead, 64})), sum, 0.005);
}

TEST(TwoHostsUet, KeysThatMakeNoSenseAreRefusedInOneSentence) {
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(
      refusal({"model.uet.controller=dctcp"}),
      "--set: model.uet.controller: dctcp is known but not supported, expected nscc, constant, swift or "
      "dcqcn");
  EXPECT_EQ(refusal({"model.uet.payload=1001B"}),
            "--set: model.uet.payload: found 1001, expected a multiple of 2");
  EXPECT_THAT(refusal({"model.uet.window_packets=1000"}),
              HasSubstr("model.uet.window_packets: found 1000, expected at most the"));
  EXPECT_THAT(refusal({"model.uet.sleek=true", "model.uet.control=none"}), HasSubstr("model.uet.sleek"));
  EXPECT_THAT(refusal({"run.workload=verb_loop", "run.verb=load", "run.payload=8B"}),
              HasSubstr("needs load, which model.stack = \"uet\" does not have"));
  EXPECT_THAT(refusal({"run.workload=verb_loop", "run.verb=write_notify"}),
              HasSubstr("which model.stack = \"uet\" does not have"));
  EXPECT_THAT(refusal({"model.attachment=on_chip_bus"}),
              HasSubstr("model.submission is a PCIe path, but the NIC sits on the on-chip bus"));
}

TEST(TwoHostsUet, KeysOfOtherStacksHaveNoInfluenceAndTheirsHaveNoneElsewhere) {
  const auto uet = load_scenario(source({"model.roce.window=5", "model.uet.payload=2048B"}));
  ASSERT_TRUE(uet.ok());
  ASSERT_EQ(uet->no_influence.size(), 1U);
  EXPECT_THAT(uet->no_influence[0], HasSubstr("model.roce.window"));
  const auto roce = load_scenario(source({"model.stack=roce_dma", "model.uet.payload=2048B"}));
  ASSERT_TRUE(roce.ok());
  ASSERT_EQ(roce->no_influence.size(), 1U);
  EXPECT_THAT(roce->no_influence[0], HasSubstr("model.uet.payload"));
}

// profiles/connectx7-class.toml: 32 B per 3.106 ns are 82.4 Gb/s, slower than the link. 4096 + 126 B and 114
// B take 409.8 ns and 11.1 ns at that rate; four pipelines of 9 cycles 111.8 ns, the link 200 ns.
// The fetch of the payload, 500 ns and more, comes before the packet counts.
TEST(TwoHostsUet, TheRulesSeeTheSlowerOfLinkAndDataPath) {
  const auto scenario = load_scenario(source({}));
  ASSERT_TRUE(scenario.ok());
  const ScenarioConfig& config = scenario->config;
  const EndNetwork network =
      network_of(std::get<UetSettings>(config.protocols), config.link, config.host.nic);
  EXPECT_EQ(network.link.value / 1'000'000, 82'421U);
  EXPECT_NEAR(as_nanoseconds(network.base_rtt), 409.8 + 11.1 + 111.8 + 200, 0.2);
  EXPECT_NEAR(static_cast<double>(network.max_window), 1.5 * 82.421 / 8 * 732.7, 5);
  EXPECT_EQ(
      network.rto,
      microseconds(15) + max(transfer_time(Bytes{network.max_window}, network.link), network.base_rtt) * 6);
  const auto given = load_scenario(source({"model.uet.rto=1ms", "model.uet.payload=1024B"}));
  ASSERT_TRUE(given.ok());
  const uet::UetConfig engine = std::get<uet::UetConfig>(derive_engines(given->config, given->config.link));
  EXPECT_EQ(engine.rto_init, milliseconds(1));
  EXPECT_EQ(engine.payload_mtu, 1024U);
}

TEST(TwoHostsUet, ADeadLinkIsGivenUp) {
  TwoHostsConfig config = mechanism(Stack::kUet);
  config.link.faults.loss = 1;
  std::get<uet::UetConfig>(config.engines).max_rto_retries = 2;
  Pair pair(config);
  CompletionStatus status = CompletionStatus::kSuccess;
  pair.run(testing::do_once(pair, {Verb::kWrite, 64}, status));
  EXPECT_EQ(status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(engine_of<UetProtocol>(pair.two->world(), 0)->counters().timeouts, 3U);
  EXPECT_EQ(pair.two->host(0).nic().counters().peers_unreachable, 1U);
  EXPECT_EQ(engine_of<RoceProtocol>(pair.two->world(), 0), nullptr);
  EXPECT_EQ(engine_of<UbProtocol>(pair.two->world(), 0), nullptr);
}

// Nothing tuned: long writes and reads fill the link, whoever holds packets back. The window is that of the
// wire's round trip; were the fetch of payload in it, 500 ns more, about half would be left.
TEST(TwoHostsUet, TheRulesFillTheLink) {
  const auto default_control = load_scenario(source({"model.profile=ultra-ethernet-host"}));
  ASSERT_TRUE(default_control.ok());
  EXPECT_EQ(std::get<UetSettings>(default_control->config.protocols).control,
            uet::CongestionControl::kSender);
  // connectx7-class: the data path of 82.4 Gb/s is the limit.
  for (const auto& [profile, rate] :
       {std::pair<std::string, double>{"ultra-ethernet-host", 400e9}, {"connectx7-class", 82.4e9}}) {
    for (const std::string control : {"sender", "receiver", "both"}) {
      for (const std::string verb : {"write", "read"}) {
        const RunReport report =
            report_of({"model.profile=" + profile, "model.uet.control=" + control, "run.workload=verb_loop",
                       "run.verb=" + verb, "run.payload=64KiB", "run.concurrency=16", "run.operations=300"});
        EXPECT_GT(report.goodput_bps, 0.9 * rate) << profile << " " << control << " " << verb;
      }
    }
  }
}

// Two writes as in AWriteTakesTheSumOfItsSteps, from two programs of one core, and a window of one packet.
// The second program has the core 80 ns later, and its payload by as much: at 80 + 1233.174. The first
// packet left at 1233.174; its answer is there 43.484 + 100 + 27.954 + 34.166 + 100 + 27.954 later.
TEST(TwoHostsUet, TimeBehindAClosedWindowIsAStageOfItsOwn) {
  TwoHostsConfig config = mechanism(Stack::kUet);
  std::get<uet::UetConfig>(config.engines).congestion = uet::CongestionControl::kSender;
  std::get<uet::UetConfig>(config.engines).controller = congestion::ConstantWindowConfig{.packets = 1};
  Pair pair(config);
  CompletionStatus first = CompletionStatus::kFlushed;
  CompletionStatus second = CompletionStatus::kFlushed;
  pair.two->host(0).core().spawn(testing::do_once(pair, {Verb::kWrite, 64}, first));
  pair.run(testing::do_once(pair, {Verb::kWrite, 64}, second));
  EXPECT_EQ(first, CompletionStatus::kSuccess);
  EXPECT_EQ(second, CompletionStatus::kSuccess);
  const trace::OperationPath& path = pair.two->log().totals(Verb::kWrite).path;
  EXPECT_EQ(path.unattributed, kTimeZero);
  const double answer = 43.484 + 100 + 27.954 + 34.166 + 100 + 27.954;
  EXPECT_NEAR(as_nanoseconds(path.critical[static_cast<std::size_t>(Stage::kWindowWait)]), answer - 80, 0.01);
}

// An idle connection is closed, and the next message opens another one, over a NIC that takes its time too.
TEST(TwoHostsUet, AnIdleConnectionIsClosedAndOpenedAgain) {
  TwoHostsConfig config = mechanism(Stack::kUet);
  std::get<uet::UetConfig>(config.engines).idle_timeout = microseconds(20);
  Pair pair(config);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    CompletionStatus status = CompletionStatus::kFlushed;
    pair.run(testing::do_once(pair, {Verb::kWrite, 10'000}, status));
    EXPECT_EQ(status, CompletionStatus::kSuccess);
    EXPECT_EQ(engine_of<UetProtocol>(pair.two->world(), 0)->counters().pdcs_opened, round);
    EXPECT_EQ(engine_of<UetProtocol>(pair.two->world(), 0)->counters().pdcs_closed, round - 1);
    const TimePs end = pair.two->now();
    pair.two->run(end + microseconds(15));
    EXPECT_EQ(engine_of<UetProtocol>(pair.two->world(), 0)->counters().pdcs_closed, round - 1)
        << "not idle for long enough";
    pair.two->settle();
    EXPECT_EQ(engine_of<UetProtocol>(pair.two->world(), 0)->counters().pdcs_closed, round);
    EXPECT_EQ(engine_of<UetProtocol>(pair.two->world(), 0)->counters().timeouts, 0U);
  }
  std::vector<std::string> waiting = pair.two->describe_waiting();
  EXPECT_TRUE(waiting.empty()) << waiting.front();
}

TEST(TwoHostsUet, LossesAreRepairedInBothWireModes) {
  const std::vector<std::string> keys{
      "run.workload=verb_loop", "run.verb=write",         "run.payload=10000B",          "run.concurrency=4",
      "run.operations=200",     "model.faults.loss=0.02", "model.faults.reordering=0.02"};
  const auto scenario = load_scenario(source(keys));
  ASSERT_TRUE(scenario.ok());
  RunOptions options;
  const auto structs = run_scenario(*scenario, options);
  options.wire = WireMode::kBytes;
  const auto bytes = run_scenario(*scenario, options);
  ASSERT_TRUE(structs.ok() && bytes.ok());
  EXPECT_EQ(structs->program_errors, 0U);
  EXPECT_EQ(structs->verdict, "");
  EXPECT_EQ(structs->fingerprint, bytes->fingerprint);
  EXPECT_GT(structs->counters["host0"]["engine"]["packets_retransmitted"].get<int>(), 0);
}

// verb_loop repeats a READ unless told otherwise.
TEST(TwoHostsUet, ProgramsRunToTheirEnd) {
  for (const std::string_view each : workload::workload_names()) {
    const std::string program(each);
    SCOPED_TRACE(program);
    for (const std::string memory : {"flat", "coherent"})
      (void)report_of({"run.workload=" + program, "run.operations=50", "model.memory.system=" + memory});
  }
}

/// Of both engines.
std::uint64_t counted(const RunReport& report, const char* name) {
  std::uint64_t sum = 0;
  for (const char* host : {"host0", "host1"}) {
    if (report.counters.contains(host)) sum += report.counters[host]["engine"].value(name, std::uint64_t{0});
  }
  return sum;
}

TEST(TwoHostsUet, IdempotentDeliveryNeedsNoConnectionAndRepeatsWhatIsLost) {
  for (const char* verb : {"read", "write"}) {
    const RunReport report = report_of({"run.workload=verb_loop", std::string("run.verb=") + verb,
                                        "run.payload=16KiB", "run.operations=100", "run.concurrency=4",
                                        "model.uet.one_sided=rudi", "model.faults.loss=0.02"});
    EXPECT_EQ(counted(report, "rudi_requests_sent"), 400U) << verb;  // First transmissions.
    EXPECT_GT(counted(report, "packets_retransmitted"), 0U) << verb;
    EXPECT_EQ(counted(report, "pdcs_opened"), 0U) << verb;
  }
  EXPECT_THAT(refusal({"run.workload=barrier", "model.uet.one_sided=rudi"}),
              HasSubstr("which must happen once, and model.uet.one_sided = \"rudi\" may repeat it"));
  EXPECT_THAT(refusal({"run.workload=verb_loop", "run.verb=write_imm", "model.uet.one_sided=rudi"}),
              HasSubstr("needs write_imm, which must happen once"));
}

TEST(TwoHostsUet, DatagramsAreSendsOfOnePacket) {
  const std::vector<std::string> sends{"run.workload=verb_loop", "run.verb=send", "run.operations=100",
                                       "model.uet.two_sided=uud"};
  const auto with = [&](const char* more) {
    std::vector<std::string> all = sends;
    all.emplace_back(more);
    return all;
  };
  const RunReport report = report_of(with("run.payload=4KiB"));
  EXPECT_GE(counted(report, "datagrams_sent"), 100U);
  EXPECT_THAT(refusal(with("run.payload=5KiB")),
              HasSubstr("run.payload is 5KiB, expected at most 4KiB, one packet of model.uet.payload"));
}

TEST(TwoHostsUet, SendsAreMatchedByTheirTags) {
  const RunReport report = report_of({"run.workload=verb_loop", "run.verb=send", "run.operations=200",
                                      "run.concurrency=4", "run.tags=16", "model.faults.loss=0.02"});
  EXPECT_EQ(report.program_errors, 0U);
  EXPECT_THAT(refusal({"run.workload=verb_loop", "run.verb=send", "run.tags=5"}),
              HasSubstr("expected at most 4, the receives that are posted"));
  ScenarioSource other = source({"run.workload=verb_loop", "run.verb=send", "run.tags=2"});
  other.overrides.front() = "model.stack=roce_dma";
  EXPECT_THAT(load_scenario(other).error().message,
              HasSubstr("run.tags is 2, expected 0: model.stack = \"roce_dma\" matches no messages by tags"));
}

TEST(TwoHostsUet, HeadersSayWhatKeysSayOfTheirEnds) {
  const auto scenario = load_scenario(source(
      {"model.uet.job_id=101", "model.uet.pid_on_fep=2", "model.uet.resource_index=10",
       "model.uet.relative_addresses=false", "model.uet.initiator_id=7", "model.uet.start_psn=73728"}));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const EngineConfigs engines = two_hosts_config(scenario->config, {}).engines;
  const auto& uet = std::get<uet::UetConfig>(engines);
  EXPECT_EQ(uet.endpoint, (uet::EndpointAddress{101, 2, 10, false}));
  EXPECT_EQ(uet.initiator_id, 7U);
  EXPECT_EQ(uet.start_psn, 73728U);
  // They work, too.
  report_of({"run.operations=20", "model.uet.job_id=101", "model.uet.pid_on_fep=2",
             "model.uet.resource_index=10", "model.uet.relative_addresses=false", "model.uet.initiator_id=7",
             "model.uet.start_psn=73728"});
  EXPECT_THAT(refusal({"model.uet.job_id=0"}), HasSubstr("model.uet.job_id"));
  EXPECT_THAT(refusal({"model.uet.start_psn=somewhere"}), HasSubstr("\"drawn\""));
}

}  // namespace
}  // namespace wharf::sim
