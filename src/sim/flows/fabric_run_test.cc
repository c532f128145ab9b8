// SPDX-License-Identifier: Apache-2.0
// Lists of flows over engines on fabrics: unloaded times computed by hand, triggers, and each protocol.
#include "sim/flows/fabric_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/partitioning.h"
#include "sim/fabric/topology_fat_tree.h"
#include "workload/connection_matrix.h"
#include "workload/flow_table.h"

namespace wharf::sim {
namespace {

Topology tree(std::uint32_t hosts = 16) {
  return fat_tree_of(*k_ary_shape(3, hosts, {gigabits_per_second(100), microseconds(1)}, kTimeZero)).value();
}

FabricRunConfig plain(wire::Protocol protocol) {
  FabricRunConfig config;
  config.protocol = protocol;
  config.fabric.profiles = {PortProfile::single_queue()};
  return config;
}

/// Sizes as htsim counts them: 4150 bytes a packet, of which 64 are headers, and 64-byte answers.
FabricRunConfig nominal() {
  FabricRunConfig config = plain(wire::Protocol::kUet);
  std::get<uet::UetConfig>(config.engines).payload_mtu = 4086;
  std::get<uet::UetConfig>(config.engines).window_overhead_bytes = 64;
  std::get<uet::UetConfig>(config.engines).nominal_header_bytes = 64;
  std::get<uet::UetConfig>(config.engines).controller = congestion::ConstantWindowConfig{.packets = 63};
  config.charge = {.count_gaps = false, .nominal_header_bytes = 64};
  return config;
}

workload::FlowList matrix(const std::string& text) {
  auto list = workload::read_connection_matrix(text, "m.cm");
  EXPECT_TRUE(list.ok()) << list.error().message;
  return *std::move(list);
}

FabricReport run(const Topology& topology, const workload::FlowList& flows, const FabricRunConfig& config) {
  auto report = run_flows(topology, flows, config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->outcome, FabricOutcome::kFinished) << report->waiting;
  EXPECT_EQ(report->failed, 0U);
  return *std::move(report);
}

TEST(FabricRun, AnUnloadedFlowTakesTheTimeOfItsBytesAndOneRoundTrip) {
  // 2,000,000 B are 489 packets of 4150 B and one of 2010 B: 162.5088 us. Six links of 1 us, five more
  // serialisations of the packet before the last (332 ns), and back: six us and six times 5.12 ns.
  const FabricReport report =
      run(tree(), matrix("Nodes 16\nConnections 1\n0->13 start 0 size 2000000\n"), nominal());
  EXPECT_EQ(report.totals.new_packets, 490U);
  EXPECT_EQ(report.totals.retransmitted, 0U);
  const double us = as_nanoseconds(report.records[0].end - report.records[0].start) / 1e3;
  EXPECT_NEAR(us, 176.2, 0.3);
}

TEST(FabricRun, ATriggerStartsAFlowOfAnotherHostTheDelayOfALinkLater) {
  const FabricReport report =
      run(tree(),
          matrix("Nodes 16\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 1000000 send_done_trigger 1\n"
                 "1->2 id 2 trigger 1 size 1000000\ntrigger id 1 oneshot\n"),
          nominal());
  EXPECT_GT(report.records[0].end, microseconds(80));
  EXPECT_EQ(report.records[1].start, report.records[0].end + microseconds(1));
  EXPECT_GT(report.records[1].end, report.records[1].start + microseconds(80));
}

TEST(FabricRun, ATriggerOfAReceiptFiresWhenTheDestinationHasAll) {
  const auto starts = [](const std::string& other) {
    const auto flows = workload::read_connection_matrix(
        "Nodes 16\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 1000000 recv_done_trigger 1\n" + other +
            " id 2 trigger 1 size 1000000\ntrigger id 1 oneshot\n",
        "m.cm", {.connection_reuse = true});
    EXPECT_TRUE(flows.ok()) << flows.error().message;
    const FabricReport report = run(tree(), *flows, nominal());
    // Its source hears of it two links of 1 us and two answers of 5.12 ns later.
    const TimePs received = report.records[0].end - nanoseconds(2010) - picoseconds(240);
    return report.records[1].start - received;
  };
  EXPECT_EQ(starts("1->3"), kTimeZero) << "where it was received";
  EXPECT_EQ(starts("2->3"), microseconds(1)) << "the delay of a link later elsewhere";
}

TEST(FabricRun, AMessageThatNoEngineCarriesIsRefusedByItsPlace) {
  const auto of = [](std::uint64_t bytes, verbs::Verb verb) {
    workload::FlowList list;
    list.name = "flows.csv";
    list.flows.push_back({.id = 7, .source = 0, .destination = 1, .verb = verb, .bytes = bytes});
    return list;
  };
  const FabricRunConfig config = plain(wire::Protocol::kUb);
  EXPECT_TRUE(check_flows(tree(), of(65'536, verbs::Verb::kSend), config).ok());
  EXPECT_TRUE(check_flows(tree(), of(65'537, verbs::Verb::kWrite), config).ok());
  const auto refused = run_flows(tree(), of(65'537, verbs::Verb::kSend), config, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kInput);
  EXPECT_THAT(
      refused.error().message,
      testing::HasSubstr("found a send of 65537 bytes in flow 7, expected at most 65536 bytes in one message "
                         "over ub, or a write"));
  EXPECT_TRUE(check_flows(tree(), of(5'000'000, verbs::Verb::kSend), plain(wire::Protocol::kRoce)).ok());
}

/// Rounds of all 16 hosts, each of which starts the next in another way, from host to host; and a chain of
/// receipts beside them.
workload::FlowList rounds_and_a_chain() {
  workload::FlowList list;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  const auto round = [&](std::uint32_t shift, std::uint64_t bytes, std::uint32_t trigger) {
    const auto first = static_cast<std::uint32_t>(list.flows.size());
    for (std::uint32_t host = 0; host < 16; ++host)
      list.flows.push_back({.id = first + host,
                            .source = host,
                            .destination = (host + shift) % 16,
                            .bytes = bytes,
                            .trigger = trigger});
    return first;
  };
  const auto trigger = [&](workload::TriggerKind kind, std::uint32_t count) {
    const auto number = static_cast<std::uint32_t>(list.triggers.size());
    list.triggers.push_back({number, kind, count});
    return number;
  };
  const std::uint32_t first = round(1, 20'000, workload::kNoTrigger);
  const std::uint32_t all_done = trigger(workload::TriggerKind::kBarrier, 16);
  const std::uint32_t second = round(5, 9'000, all_done);
  const std::uint32_t one_by_one = trigger(workload::TriggerKind::kMultiShot, 1);
  const std::uint32_t third = round(11, 5'000, one_by_one);
  const std::uint32_t at_once = trigger(workload::TriggerKind::kOneShot, 1);
  round(8, 30'000, at_once);
  for (std::uint32_t host = 0; host < 16; ++host) {
    edges.emplace_back(first + host, all_done);
    edges.emplace_back(second + host, one_by_one | workload::kOnReceipt);
  }
  edges.emplace_back(third + 9, at_once);
  // Twice around: a host goes on when it has what the one before it sent.
  std::uint32_t before = first;
  for (std::uint32_t step = 1; step <= 32; ++step) {
    const std::uint32_t next = trigger(workload::TriggerKind::kBarrier, 1);
    edges.emplace_back(before, next | workload::kOnReceipt);
    before = static_cast<std::uint32_t>(list.flows.size());
    list.flows.push_back(
        {.id = before, .source = step % 16, .destination = (step + 1) % 16, .bytes = 6'000, .trigger = next});
  }
  workload::set_activations(list, std::move(edges));
  return list;
}

TEST(FabricRun, TriggersAreTheSameOnAnyNumberOfThreads) {
  const Topology topology = tree();
  const workload::FlowList flows = rounds_and_a_chain();
  ASSERT_TRUE(workload::check_startable(flows).ok());
  for (const wire::Protocol protocol : {wire::Protocol::kUet, wire::Protocol::kUb, wire::Protocol::kRoce}) {
    FabricRunConfig config = plain(protocol);
    const FabricReport one = run(topology, flows, config);
    TimePs all_done;
    for (std::uint32_t host = 0; host < 16; ++host) all_done = max(all_done, one.records[host].end);
    for (std::uint32_t host = 16; host < 32; ++host)
      EXPECT_EQ(one.records[host].start, all_done + notice_delay(topology));
    const auto same = [&](const FabricReport& other, const char* what) {
      EXPECT_EQ(other.history, one.history) << what;
      for (std::size_t i = 0; i < one.records.size(); ++i) {
        EXPECT_EQ(other.records[i].start, one.records[i].start) << what << ", flow " << i;
        EXPECT_EQ(other.records[i].end, one.records[i].end) << what << ", flow " << i;
      }
    };
    for (const std::uint32_t threads : {2U, 3U, 8U}) {
      config.threads = threads;
      const FabricReport other = run(topology, flows, config);
      EXPECT_EQ(other.threads, threads);
      EXPECT_EQ(other.events, one.events);
      same(other, "threads");
    }
    config.wire = WireMode::kBytes;
    same(run(topology, flows, config), "bytes");
    config.wire = WireMode::kStructs;
    config.fabric.turns = false;
    same(run(topology, flows, config), "events");
  }
}

TEST(FabricRun, EveryProtocolAndOperationOnOneAndMoreThreads) {
  const auto flows = workload::read_flow_table(
      "src,dst,bytes,start_ns,op,after\n0,5,100000,0,write,\n5,0,70000,500,read,\n3,12,30000,0,send,\n"
      "3,12,20000,0,send,\n3,1,40000,0,write,3;4\n",
      "f.csv");
  ASSERT_TRUE(flows.ok()) << flows.error().message;
  const Topology topology = tree();
  for (const wire::Protocol protocol : {wire::Protocol::kUet, wire::Protocol::kUb, wire::Protocol::kRoce}) {
    FabricRunConfig config = plain(protocol);
    std::get<uet::UetConfig>(config.engines).max_message_bytes = 1U << 30U;
    const FabricReport one = run(topology, *flows, config);
    EXPECT_GE(one.records[4].start, max(one.records[2].end, one.records[3].end));
    config.threads = 3;
    const FabricReport three = run(topology, *flows, config);
    EXPECT_EQ(three.threads, 3U);
    EXPECT_EQ(three.history, one.history);
    for (std::size_t i = 0; i < one.records.size(); ++i) EXPECT_EQ(three.records[i].end, one.records[i].end);
  }
}

TEST(FabricRun, ManyFlowsThroughAQueueThatIsShorter) {
  std::string text = "src,dst,bytes,start_ns\n";
  for (int i = 0; i < 300; ++i) text += "0,5,5000,0\n";
  const FabricReport report =
      run(tree(), *workload::read_flow_table(text, "f.csv"), plain(wire::Protocol::kUet));
  EXPECT_EQ(report.finished, 300U);
}

TEST(FabricRun, RefusalsAndStalls) {
  const Topology topology = tree();
  const auto refused = [&](const workload::FlowList& flows, const FabricRunConfig& config) {
    const auto report = run_flows(topology, flows, config, {});
    EXPECT_FALSE(report.ok());
    return report.ok() ? "" : report.error().message;
  };
  EXPECT_THAT(refused(matrix("Nodes 99\nConnections 1\n0->98 start 0 size 2\n"), nominal()),
              testing::HasSubstr(":3:1: found host 98 in flow 1000000001, expected hosts from 0 to 15"));
  EXPECT_THAT(refused(matrix("Nodes 16\n"), nominal()), testing::HasSubstr("found no flows"));
  FabricRunConfig wrong = nominal();
  std::get<uet::UetConfig>(wrong.engines).payload_mtu = 4085;
  const auto one = matrix("Nodes 16\nConnections 1\n0->1 start 0 size 2\n");
  EXPECT_THAT(refused(one, wrong), testing::HasSubstr("uet.payload_mtu"));

  // Everything is lost, and the sender never gives up.
  FabricRunConfig lossy = nominal();
  lossy.fabric.faults = {{.loss = 1}};
  std::get<uet::UetConfig>(lossy.engines).max_rto_retries = uet::kRtoRetriesForever;
  lossy.time_limit = milliseconds(20);
  const auto stalled = run_flows(topology, one, lossy, {});
  ASSERT_TRUE(stalled.ok());
  EXPECT_EQ(stalled->outcome, FabricOutcome::kStalled);
  EXPECT_THAT(
      stalled->waiting,
      testing::StartsWith("run.time_limit of 20ms was reached; 1 of 1 flows have not finished at 20ms"));

  lossy.end = milliseconds(5);
  EXPECT_EQ(run_flows(topology, one, lossy, {})->outcome, FabricOutcome::kTimeReached);
}

}  // namespace
}  // namespace wharf::sim
