// SPDX-License-Identifier: Apache-2.0
// What is seen of a run: series with values computed by hand, counts that agree with the totals, the same on
// any number of threads; and runs that cannot finish.
#include "sim/scenario/observation_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include "sim/fabric/topology_fat_tree.h"
#include "sim/flows/fabric_run.h"
#include "wire/capture_reader.h"
#include "wire/dissect.h"
#include "wire/frame.h"
#include "workload/connection_matrix.h"
#include "workload/flow_table.h"

namespace wharf::sim {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};

Topology tree() { return fat_tree_of(*k_ary_shape(3, 16, kLink, kTimeZero)).value(); }

/// Sizes as htsim counts them: 4150 bytes a packet, of which 64 are headers, and 64-byte answers.
FabricRunConfig nominal() {
  FabricRunConfig config;
  config.fabric.profiles = {PortProfile::single_queue()};
  std::get<uet::UetConfig>(config.engines).payload_mtu = 4086;
  std::get<uet::UetConfig>(config.engines).window_overhead_bytes = 64;
  std::get<uet::UetConfig>(config.engines).nominal_header_bytes = 64;
  std::get<uet::UetConfig>(config.engines).controller = congestion::ConstantWindowConfig{.packets = 63};
  config.charge = {.count_gaps = false, .nominal_header_bytes = 64};
  return config;
}

/// NSCC, trimming and marking, in queues that overflow.
FabricRunConfig congested() {
  FabricRunConfig config = nominal();
  config.fabric.profiles = {PortProfile::composite(20 * 4150, 5 * 4150, 15 * 4150)};
  std::get<uet::UetConfig>(config.engines).controller =
      congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(14), 4150, true);
  std::get<uet::UetConfig>(config.engines).max_nack_retries = uet::kNackRetriesForever;
  return config;
}

workload::FlowList table(const std::string& rows) {
  auto list = workload::read_flow_table("src,dst,bytes,start_ns\n" + rows, "f.csv");
  EXPECT_TRUE(list.ok()) << list.error().message;
  return *std::move(list);
}

workload::FlowList incast() {
  std::string rows;
  for (int i = 1; i < 12; ++i) rows += std::to_string(i) + ",0,200000,0\n";
  return table(rows);
}

FabricReport run(const Topology& topology, const workload::FlowList& flows, const FabricRunConfig& config) {
  auto report = run_flows(topology, flows, config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  return *std::move(report);
}

TEST(Observation, AnUnloadedFlowDeliversWhatTheLinkCarries) {
  FabricRunConfig config = nominal();
  config.observation = {.period = microseconds(10), .flows = {0}};
  const Topology topology = tree();
  const PortNames names(topology, {});
  config.observation.ports = *names.find("host0-leaf0,middle0-*");
  const FabricReport report = run(topology, table("0,13,2000000,0\n"), config);
  // Packet n, from 1, is there after six links of 1 us and n + 5 times 332 ns: at 50 us, 127 packets of 4086
  // bytes of data.
  ASSERT_EQ(report.seen.deliveries.size(), 18U) << "17 looks, and one at the end";
  EXPECT_EQ(report.seen.deliveries[4].at, microseconds(50));
  EXPECT_EQ(report.seen.deliveries[4].bytes, 127U * 4086);
  EXPECT_EQ(report.seen.deliveries.back().bytes, 2'000'000U);
  ASSERT_EQ(report.seen.flows.size(), report.seen.deliveries.size());
  const FlowSample& flow = report.seen.flows[4];
  EXPECT_EQ(flow.delivered_bytes, 127U * 4086);
  EXPECT_EQ(flow.trace.window, kNoWindow);
  // Data there and an answer back: 14.02 us, and at most what the receiver waits before it answers.
  EXPECT_GE(flow.trace.round_trip, picoseconds(14'022'720));
  EXPECT_LT(flow.trace.round_trip, microseconds(16));
  // The host has begun to send its 151st packet: 150 * 332 ns = 49.8 us.
  const auto first = std::find_if(report.seen.ports.begin(), report.seen.ports.end(), [](const auto& sample) {
    return sample.at == microseconds(50) && sample.port == 0;
  });
  ASSERT_NE(first, report.seen.ports.end());
  EXPECT_EQ(first->sent_bytes, 151U * 4150);
  EXPECT_TRUE(report.seen.fullest.empty()) << "nobody waits";
}

TEST(Observation, ALookSeesWhatASenderHasDoneUntilThen) {
  FabricRunConfig config = nominal();
  config.observation = {.period = nanoseconds(9962), .flows = {0}};
  const FabricReport report = run(tree(), table("0,13,2000000,0\n"), config);
  // Packets start at multiples of 332 ns: the 31st at 9960 ns. The leaf has last looked at its link at 9632
  // ns.
  EXPECT_EQ(report.seen.flows.at(0).trace.in_flight, 31U);
}

TEST(Observation, TheFullestPortIsTheOneBehindTheIncast) {
  FabricRunConfig config = nominal();
  std::get<uet::UetConfig>(config.engines).controller = congestion::ConstantWindowConfig{.packets = 4};
  config.observation = {.period = microseconds(5), .fullest_ports = 2};
  const Topology topology = star(4, kLink, kTimeZero);
  const FabricReport report = run(topology, table("1,0,40860,0\n2,0,40860,0\n3,0,40860,0\n"), config);
  // At 5 us all three have sent their window of four by 1.328 us and 12 packets have reached the switch by
  // 2.328 us; it sends one each 332 ns from 1.332 us on, and the 12th from 4.984 us on. The next is on its
  // way from a host that has heard of its first after 4.66 us.
  ASSERT_FALSE(report.seen.fullest.empty());
  const OccupancySample& most = report.seen.fullest[0];
  EXPECT_EQ(most.at, microseconds(5));
  EXPECT_EQ(PortNames(topology, {})[most.port], "leaf0-host0");
  EXPECT_EQ(most.queued_bytes, 4150U);
}

TEST(Observation, CountsOfFlowsAddUpToTheTotals) {
  FabricRunConfig config = congested();
  config.observation = {.period = microseconds(20), .flows = {3}};
  const FabricReport report = run(tree(), incast(), config);
  EXPECT_EQ(report.outcome, FabricOutcome::kFinished);
  std::uint64_t again = 0;
  std::uint64_t trimmed = 0;
  for (const FlowRecord& record : report.records) {
    again += record.retransmissions();
    trimmed += record.trims();
  }
  EXPECT_GT(again, 0U);
  EXPECT_EQ(again, report.totals.retransmitted);
  EXPECT_EQ(trimmed, report.totals.trimmed);
  EXPECT_EQ(report.seen.deliveries.back().bytes, 11U * 200'000);

  const FlowSample& last = report.seen.flows.back();
  EXPECT_EQ(last.flow, 3U);
  EXPECT_EQ(last.delivered_bytes, 200'000U);
  EXPECT_EQ(last.retransmitted, report.records[3].retransmissions());
  EXPECT_LT(last.trace.window, 200'000U);
  EXPECT_GE(last.trace.round_trip, last.trace.base_round_trip);
  std::uint64_t packets = 0;
  std::uint64_t trimmed_paths = 0;
  for (const PathUse& path : report.seen.paths) {
    EXPECT_EQ(path.flow, 3U);
    packets += path.packets;
    trimmed_paths += path.trimmed;
  }
  EXPECT_EQ(packets, 49U + report.records[3].retransmissions()) << "200000 bytes are 49 packets";
  EXPECT_EQ(trimmed_paths, report.records[3].trims());
  EXPECT_GT(report.seen.paths.size(), 8U);
}

TEST(Observation, TheLoadOfAPortIsThatOfTheRateItHad) {
  const Topology topology = tree();
  const std::vector<LinkChange> changes = {
      {.at = microseconds(8), .port = 3, .rate = gigabits_per_second(400)},
      {.at = microseconds(2), .port = 3, .rate = gigabits_per_second(25)},
      {.at = microseconds(1), .port = 4, .up = false},
      {.at = microseconds(10), .port = 5, .rate = gigabits_per_second(25)}};
  const std::vector<BitsPerSecond> means = mean_rates(topology, changes, microseconds(10));
  ASSERT_EQ(topology.port(3).rate, gigabits_per_second(100));
  // 2 us of 100 Gb/s, 6 of 25, 2 of 400.
  EXPECT_EQ(means[3], gigabits_per_second(115));
  EXPECT_EQ(means[4], topology.port(4).rate);
  EXPECT_EQ(means[5], topology.port(5).rate);
  const std::string csv = ports_csv({{.packets = 10, .bytes = 71'875, .counters = {}, .rate = means[3]}},
                                    PortNames(topology, {}), microseconds(10));
  EXPECT_THAT(csv, HasSubstr(",115.000,10,71875,0.5000,"));
}

std::string everything(const FabricReport& report, const workload::FlowList& list, const Topology& topology) {
  const PortNames names(topology, {});
  return goodput_csv(report.seen) + port_series_csv(report.seen.ports, names) +
         fullest_csv(report.seen.fullest, names) + pauses_csv(report.seen.pauses, names) +
         flow_series_csv(report.seen.flows, list) + paths_csv(report.seen.paths, list) +
         ports_csv(report.ports, names, report.simulated);
}

TEST(Observation, IsTheSameOnAnyNumberOfThreadsAndChangesNothing) {
  const Topology topology = tree();
  const workload::FlowList list = incast();
  for (const bool pause : {false, true}) {
    FabricRunConfig config = congested();
    if (pause) {
      config.fabric.profiles[0].queues[1].overflow = OverflowRule::kDrop;
      config.fabric.profiles[0].queues[1].capacity_bytes = kUnlimitedBytes;
      config.fabric.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 20'000, .xon_bytes = 10'000};
    }
    const std::uint64_t history = run(topology, list, config).history;
    config.observation = {.period = microseconds(3), .flows = {0, 5}, .fullest_ports = 4};
    config.observation.ports = *PortNames(topology, {}).find("leaf0-*,host5-*");
    const FabricReport one = run(topology, list, config);
    EXPECT_EQ(one.history, history);
    EXPECT_EQ(one.seen.pauses.empty(), !pause);
    const std::string text = everything(one, list, topology);
    for (const std::uint32_t threads : {2U, 3U, 8U}) {
      config.threads = threads;
      EXPECT_EQ(everything(run(topology, list, config), list, topology), text) << threads;
    }
  }
}

TEST(Observation, KeysNameFlowsAndPortsThatExist) {
  const Topology topology = tree();
  const PortNames names(topology, {});
  const workload::FlowList list = table("0,1,10,0\n1,2,10,0\n");
  const auto refusal = [&](const ObservationSettings& settings) {
    const auto resolved = resolve(settings, list, names);
    EXPECT_FALSE(resolved.ok());
    return resolved.ok() ? "" : resolved.error().message;
  };
  const TimePs period = microseconds(1);
  const auto good = resolve({.period = period, .flows = "2, 1", .ports = "host3-leaf1"}, list, names);
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_THAT(good->flows, testing::ElementsAre(0U, 1U));
  EXPECT_EQ(good->ports.size(), 1U);
  EXPECT_FALSE(resolve({.flows = "nonsense"}, list, names)->any()) << "not looked at without a period";
  EXPECT_THAT(refusal({.period = period, .flows = "17"}),
              HasSubstr("observe.flows: found \"17\", expected the id"));
  EXPECT_THAT(refusal({.period = period, .ports = "host3-leaf2"}),
              HasSubstr("observe.ports: found port \"host3-leaf2\""));
  EXPECT_THAT(refusal({.period = nanoseconds(1)}),
              HasSubstr("observe.period: found 1ns, expected 0ns or at least 10ns"));
}

TEST(Observation, PausesBecomeIntervals) {
  const PortNames names(star(2, kLink, kTimeZero), {});
  EXPECT_EQ(pauses_csv({{microseconds(1), 0, 1, true},
                        {microseconds(2), 0, 1, true},
                        {microseconds(3), 2, 0, true},
                        {microseconds(4), 0, 1, false}},
                       names),
            "port,queue,begin_ns,end_ns,duration_ns\nhost0-leaf0,1,1000.000,4000.000,3000.000\n"
            "host1-leaf0,0,3000.000,,\n");
}

/// A file of the test's own.
class CaptureFile {
 public:
  CaptureFile()
      : path_(std::filesystem::temp_directory_path() /
              ("wharf_ports_" + std::to_string(::getpid()) + ".pcapng")) {}
  ~CaptureFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::string bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path path_;
};

TEST(PortCaptures, HoldWhatLeavesAPortAsItLeavesIt) {
  const Topology topology = tree();
  const workload::FlowList list = incast();
  const PortNames names(topology, {});
  const CaptureFile file;
  FabricRunConfig config = congested();
  for (const char* port : {"leaf0-host0", "host1-leaf0"})
    config.captures.push_back({names.find(port)->front(), file.path()});
  const FabricReport report = run(topology, list, config);
  const std::string one = file.bytes();

  auto reader = wire::CaptureReader::open(file.path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::uint64_t frames = 0;
  std::uint64_t trimmed = 0;
  std::uint64_t before_ps = 0;
  wire::CapturedFrame frame;
  for (;;) {
    const auto more = reader->next(frame);
    ASSERT_TRUE(more.ok());
    if (!*more) break;
    ++frames;
    const wire::Dissection seen = wire::dissect(frame.bytes, static_cast<wire::LinkType>(frame.link_type));
    EXPECT_EQ(seen.reason, wire::DropReason::kNone) << frames;
    wire::Packet packet;
    ASSERT_EQ(wire::decode(frame.bytes, wire::LinkType::kEthernet, packet), wire::DropReason::kNone);
    trimmed += packet.trim == wire::TrimState::kWhole ? 0 : 1;
    EXPECT_GE(frame.picoseconds, before_ps) << "a run of a few hundred microseconds";
    before_ps = frame.picoseconds;
  }
  const auto& down = report.ports[names.find("leaf0-host0")->front()];
  EXPECT_EQ(frames, down.packets + report.ports[names.find("host1-leaf0")->front()].packets);
  EXPECT_EQ(trimmed, report.totals.trimmed) << "every packet is trimmed before host 0 or on the way to it";
  EXPECT_GT(trimmed, 0U);

  for (const std::uint32_t threads : {2U, 8U}) {
    config.threads = threads;
    run(topology, list, config);
    EXPECT_TRUE(file.bytes() == one) << threads;
  }
}

TEST(PortCaptures, TheTimeIsWhenTheLastByteLeaves) {
  const CaptureFile file;
  FabricRunConfig config = nominal();
  config.captures = {{1, file.path()}, {2, file.path()}};
  run(star(2, kLink, kTimeZero), table("1,0,4086,0\n"), config);
  auto reader = wire::CaptureReader::open(file.path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  wire::CapturedFrame frame;
  // 4150 bytes at 100 Gb/s are 332 ns; 1 us later the switch sends them on.
  ASSERT_TRUE(*reader->next(frame));
  EXPECT_EQ(frame.picoseconds, 332'000U);
  ASSERT_TRUE(*reader->next(frame));
  EXPECT_EQ(frame.picoseconds, 332'000U + 1'000'000 + 332'000);
}

/// Five switches in a ring, a host at each; link i of the ring is switch i's to the next.
Topology ring() {
  Topology topology;
  for (int i = 0; i < 5; ++i) topology.add_host();
  for (int i = 0; i < 5; ++i) topology.add_switch(0, kTimeZero);
  for (NodeId i = 0; i < 5; ++i) topology.connect(i, 5 + i, kLink);
  for (NodeId i = 0; i < 5; ++i) topology.connect(5 + i, 5 + (i + 1) % 5, kLink);
  return topology;
}

FabricRunConfig lossless() {
  FabricRunConfig config = nominal();
  std::get<uet::UetConfig>(config.engines).controller = congestion::ConstantWindowConfig{.packets = 1000};
  std::get<uet::UetConfig>(config.engines).rto_init = microseconds(500);
  std::get<uet::UetConfig>(config.engines).max_rto_retries = uet::kRtoRetriesForever;
  config.fabric.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 40'000, .xon_bytes = 20'000};
  config.stall_after = milliseconds(5);
  return config;
}

TEST(Stalls, ADeadlockByPauseIsFoundEarlyAndNamed) {
  const workload::FlowList list =
      table("0,2,8000000,0\n1,3,8000000,0\n2,4,8000000,0\n3,0,8000000,0\n4,1,8000000,0\n");
  FabricRunConfig config = lossless();
  config.switch_names = {"a", "b", "c", "d", "e"};
  const FabricReport one = run(ring(), list, config);
  EXPECT_EQ(one.outcome, FabricOutcome::kStalled);
  EXPECT_LT(one.simulated, milliseconds(10));
  EXPECT_THAT(one.waiting, HasSubstr("5 of 5 flows have not finished"));
  EXPECT_THAT(one.waiting, HasSubstr("nothing has arrived since"));
  for (const char* link : {"a-b", "b-c", "c-d", "d-e", "e-a"})
    EXPECT_THAT(one.waiting, HasSubstr(std::string(link))) << one.waiting;
  for (const std::uint32_t threads : {2U, 3U}) {
    config.threads = threads;
    EXPECT_EQ(run(ring(), list, config).waiting, one.waiting);
  }
}

TEST(Stalls, ADeadlockIsFoundWhileOthersGoOn) {
  // Hosts 5 and 6 keep a switch of their own busy for 100 ms.
  Topology topology;
  for (int i = 0; i < 7; ++i) topology.add_host();
  for (int i = 0; i < 5; ++i) topology.add_switch(0, kTimeZero);
  for (NodeId i = 0; i < 5; ++i) topology.connect(i, 7 + i, kLink);
  for (NodeId i = 0; i < 5; ++i) topology.connect(7 + i, 7 + (i + 1) % 5, kLink);
  topology.connect(5, 7, kLink);
  topology.connect(6, 7, {gigabits_per_second(1), microseconds(1)});
  FabricRunConfig config = lossless();
  config.stall_after = milliseconds(2);
  // Ports of a ring under credits go on telling one another what they have consumed.
  for (const FlowControl kind : {FlowControl::kPause, FlowControl::kCredit}) {
    config.fabric.flow_control.kind = kind;
    config.fabric.flow_control.credit_limit_bytes = 40'000;
    const FabricReport report = run(topology,
                                    table("0,2,8000000,0\n1,3,8000000,0\n2,4,8000000,0\n3,0,8000000,0\n"
                                          "4,1,8000000,0\n5,6,12000000,0\n"),
                                    config);
    EXPECT_EQ(report.outcome, FabricOutcome::kStalled);
    EXPECT_LT(report.simulated, milliseconds(20));
    EXPECT_THAT(report.waiting, HasSubstr("deadlock by flow control: "));
  }
}

TEST(Stalls, RetriesThatNeverHelpAreASilence) {
  FabricRunConfig config = nominal();
  config.fabric.faults = {{.loss = 1}};
  std::get<uet::UetConfig>(config.engines).max_rto_retries = uet::kRtoRetriesForever;
  config.stall_after = milliseconds(30);
  const FabricReport report = run(tree(), table("0,1,100,0\n"), config);
  EXPECT_EQ(report.outcome, FabricOutcome::kStalled);
  EXPECT_EQ(report.simulated, milliseconds(30));
  EXPECT_THAT(report.waiting, HasSubstr("flow 1 (0->1), which has started; nothing has arrived since 0ns"));
}

TEST(Stalls, WhoeverStartsLaterIsWaitedFor) {
  FabricRunConfig config = nominal();
  config.stall_after = microseconds(100);
  const FabricReport report = run(tree(), table("0,1,100,0\n0,1,100,20000000\n"), config);
  EXPECT_EQ(report.outcome, FabricOutcome::kFinished);
  EXPECT_GT(report.simulated, milliseconds(20));
}

TEST(Stalls, AWindowOfNothingIsRefusedOrEndsAtOnce) {
  FabricRunConfig config = nominal();
  std::get<uet::UetConfig>(config.engines).controller = congestion::ConstantWindowConfig{.packets = 0};
  const auto refused = run_flows(tree(), table("0,1,100,0\n"), config, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("packets is 0, expected at least 1"));

  // Links that have credit for less than a packet.
  config = nominal();
  config.fabric.flow_control = {
      .kind = FlowControl::kCredit, .credit_limit_bytes = 4096, .update_spacing_bytes = 1};
  config.stall_after = milliseconds(10);
  const FabricReport report = run(tree(), table("0,1,100000,0\n"), config);
  EXPECT_EQ(report.outcome, FabricOutcome::kStalled);
  EXPECT_LT(report.simulated, seconds(1));
  EXPECT_THAT(report.waiting, HasSubstr("flow control holds 1 port, the first host0-leaf0"));
}

}  // namespace
}  // namespace wharf::sim
