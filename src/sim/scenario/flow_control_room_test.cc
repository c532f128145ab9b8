// SPDX-License-Identifier: Apache-2.0
// Short queues under flow control: refused, or long enough that an incast loses nothing.
#include "sim/scenario/flow_control_room.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/run_request.h"

namespace wharf::sim {
namespace {

struct Incast {
  std::string refusal;
  FabricTotals totals;
};

/// Fifteen hosts send 512 KiB each to the sixteenth, as fast as flow control lets them.
Incast incast(const std::vector<std::string>& more) {
  RunRequest request;
  request.profile_directory = "profiles";
  request.overrides = {"traffic.collective=incast", "traffic.size=512KiB", "topology.from=star:16",
                       "fabric.protocol=roce", "fabric.controller=none"};
  request.overrides.insert(request.overrides.end(), more.begin(), more.end());
  const auto inputs = prepare_flows(request);
  if (!inputs) return {inputs.error().message, {}};
  const auto derived = derive(*inputs, PortNames(inputs->topology.topology, inputs->topology.names));
  if (!derived) return {derived.error().message, {}};
  const auto report = run_flows(inputs->topology.topology, inputs->flows, derived->config, {});
  if (!report) return {report.error().message, {}};
  return {"", report->totals};
}

/// The number in "expected at least N packets".
int packets_wanted(const std::string& refusal) {
  constexpr std::string_view kBefore = "expected at least ";
  const std::size_t at = refusal.find(kBefore);
  return at == std::string::npos ? 0 : std::stoi(refusal.substr(at + kBefore.size()));
}

TEST(FlowControlRoom, AnIncastOnTheShortestQueueLosesNothingAndAShorterOneIsRefused) {
  const std::vector<std::vector<std::string>> cases{
      {"fabric.flow_control=pause"},
      {"fabric.flow_control=pause", "fabric.hop_latency=5us", "fabric.pfc_xoff=20KB", "fabric.pfc_xon=10KB"},
      {"fabric.flow_control=pause", "fabric.pfc_xoff=4KiB", "fabric.pfc_xon=1KiB", "fabric.fec_delay=200ns"},
      {"fabric.flow_control=pause", "fabric.switch_latency=500ns", "fabric.link_speed=400Gbps"},
      {"fabric.flow_control=credit"},
      {"fabric.flow_control=credit", "fabric.credit_limit=20KB", "fabric.credit_overhead=-16"},
  };
  for (std::vector<std::string> keys : cases) {
    SCOPED_TRACE(fmt::format("{}", keys.back()));
    keys.emplace_back("fabric.queue_packets=1");
    const int least = packets_wanted(incast(keys).refusal);
    ASSERT_GT(least, 15);
    keys.back() = fmt::format("fabric.queue_packets={}", least - 1);
    EXPECT_EQ(packets_wanted(incast(keys).refusal), least);
    keys.back() = fmt::format("fabric.queue_packets={}", least);
    const Incast shortest = incast(keys);
    EXPECT_EQ(shortest.refusal, "");
    EXPECT_EQ(shortest.totals.dropped, 0U);
    EXPECT_EQ(shortest.totals.retransmitted, 0U);
  }
}

}  // namespace
}  // namespace wharf::sim
