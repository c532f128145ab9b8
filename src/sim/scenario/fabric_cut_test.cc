// SPDX-License-Identifier: Apache-2.0
// Runs of flows that end before their flows do, hosts that are slower than their links, paths so short that
// a packet is most of a round trip, and long silences on two threads.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/scenario/fabric_results.h"
#include "sim/scenario/run_request.h"

namespace wharf::sim {
namespace {

struct Ended {
  FabricReport report;
  nlohmann::ordered_json summary;
};

Ended run(std::vector<std::string> keys) {
  RunRequest request;
  request.profile_directory = "profiles";
  request.overrides = std::move(keys);
  const auto inputs = prepare_flows(request);
  EXPECT_TRUE(inputs.ok()) << (inputs.ok() ? "" : inputs.error().message);
  if (!inputs) return {};
  const PortNames names(inputs->topology.topology, inputs->topology.names);
  const auto derived = derive(*inputs, names);
  EXPECT_TRUE(derived.ok()) << (derived.ok() ? "" : derived.error().message);
  auto report = run_flows(inputs->topology.topology, inputs->flows, derived->config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  FabricResults results = results_of(*inputs, derived->derived, *report);
  return {*std::move(report), std::move(results.summary)};
}

const std::vector<std::string> kIncast{"traffic.collective=incast", "topology.from=star:9",
                                       "traffic.size=1MiB"};

std::vector<std::string> incast(std::vector<std::string> keys) {
  keys.insert(keys.begin(), kIncast.begin(), kIncast.end());
  return keys;
}

/// 100 Gb/s for 100 us are 1.25 MB, less the headers, the first round trip, and what senders hold back.
TEST(FabricCut, WhatArrivedUntilThenIsCounted) {
  for (const char* protocol : {"fabric.protocol=uet", "fabric.protocol=roce", "fabric.protocol=ub"}) {
    const Ended cut = run(incast({protocol, "run.end=100us"}));
    EXPECT_EQ(cut.report.outcome, FabricOutcome::kTimeReached);
    EXPECT_EQ(cut.summary["finished"], 0) << protocol;
    EXPECT_TRUE(cut.summary["cut"].get<bool>());
    EXPECT_GT(cut.summary["bytes"].get<std::uint64_t>(), 500'000U) << protocol;
    EXPECT_LT(cut.summary["bytes"].get<std::uint64_t>(), 1'250'000U) << protocol;
    EXPECT_GT(cut.summary["goodput_gbps"].get<double>(), 40) << protocol;
  }
  const Ended whole = run(incast({}));
  EXPECT_FALSE(whole.summary["cut"].get<bool>());
  EXPECT_EQ(whole.summary["bytes"], 8U << 20U);
  EXPECT_EQ(whole.report.delivered_bytes, 8U << 20U);
}

TEST(FabricCut, WhatSlowHostsRefuseIsInTheSummary) {
  const Ended slow = run(incast({"fabric.pcie_rate=0.05"}));
  EXPECT_GT(slow.summary["hosts_did"]["refused"].get<std::uint64_t>(), 100U);
  EXPECT_EQ(run(incast({})).summary["hosts_did"]["refused"], 0);
}

/// What a slow host cannot take it refuses; with target flow control its sources learn of it before.
TEST(FabricCut, ATargetThatIsBehindHoldsItsSourcesBack) {
  const auto slow = [](const char* key) {
    return run({"traffic.collective=incast", "topology.from=fat_tree:16", "traffic.ranks=9",
                "traffic.size=8MiB", "fabric.pcie_rate=0.5", key});
  };
  const Ended without = slow("fabric.target_flow_control=false");
  const Ended with = slow("fabric.target_flow_control=true");
  EXPECT_GT(without.summary["hosts_did"]["refused"].get<std::uint64_t>(), 1000U);
  EXPECT_EQ(with.summary["hosts_did"]["refused"], 0);
  EXPECT_LT(with.summary["packets"]["retransmitted"].get<std::uint64_t>(), 500U) << "trims of the network";
  // 50 Gb/s less the headers.
  EXPECT_GT(with.summary["goodput_gbps"].get<double>(), 47);
}

/// With a port for each flow every port has an engine, and each hears of what waits for the host's memory.
TEST(FabricCut, EveryPortOfATargetThatIsBehindHoldsItsSourcesBack) {
  const auto refused = [](const char* key) {
    const Ended ended =
        run({"traffic.collective=incast", "topology.from=rail_servers:1x9x2x1", "traffic.ranks=9",
             "traffic.size=4MiB", "fabric.pcie_rate=0.5", "fabric.path_selection=flow", key});
    return ended.summary["hosts_did"]["refused"].get<std::uint64_t>();
  };
  EXPECT_LT(refused("fabric.target_flow_control=true"), refused("fabric.target_flow_control=false") / 2);
}

/// A small probe finds a round trip that lacks the time of a full packet: the window must still hold one on
/// the link and one on its way.
TEST(FabricCut, NsccFillsAShortPath) {
  for (const char* hop : {"fabric.hop_latency=10ns", "fabric.hop_latency=100ns"}) {
    const Ended pair =
        run({"traffic.collective=permutation", "topology.from=back_to_back", "traffic.size=4MiB", hop});
    EXPECT_GT(pair.summary["goodput_gbps"].get<double>(), 2 * 80) << hop;
  }
}

/// A loss in a path that is then silent for ten time-outs of 50 ms.
TEST(FabricCut, SilenceIsTheSameOnTwoThreads) {
  const auto silent = [](const char* threads) {
    return run({"traffic.collective=permutation", "topology.from=leaf_spine:8", "traffic.size=20KiB",
                "fabric.loss=0.2", "fabric.rto=50ms", "run.time_limit=100s", threads});
  };
  const Ended one = silent("run.threads=1");
  const Ended two = silent("run.threads=2");
  EXPECT_GT(one.report.simulated, milliseconds(50));
  EXPECT_EQ(one.summary, two.summary);
}

}  // namespace
}  // namespace wharf::sim
