// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet over links with an MTU of 9000 and up to what its length field and a frame's buffer hold:
// frames, windows, trimming and credits at that size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {
namespace {

using testing::HasSubstr;

Result<LoadedFabricSettings> load(std::vector<std::string> overrides) {
  return load_fabric_settings({"", std::move(overrides), "profiles"});
}

struct Done {
  FabricReport report;
  FabricDerived derived;
  FabricConfig fabric;
};

/// Three megabytes from each of four hosts to host 0, 100 Gb/s and 1 us.
Done incast(std::vector<std::string> overrides) {
  const Topology topology = star(5, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const auto loaded = load(std::move(overrides));
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  workload::FlowList flows;
  flows.name = "test";
  for (const std::uint32_t source : {1U, 2U, 3U, 4U})
    flows.flows.push_back({.id = source, .source = source, .destination = 0, .bytes = 3'000'000});
  auto derived = derive_fabric_run(loaded->settings, topology, nullptr, flows);
  EXPECT_TRUE(derived.ok()) << (derived.ok() ? "" : derived.error().message);
  const FabricConfig fabric = derived->config.fabric;
  auto report = run_flows(topology, flows, derived->config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->finished, flows.flows.size()) << report->waiting;
  EXPECT_EQ(report->failed, 0U);
  return {*std::move(report), derived->derived, fabric};
}

/// Packets of 3 MB in each of four flows.
constexpr std::uint64_t packets(std::uint64_t payload) { return 4 * ((3'000'000 + payload - 1) / payload); }

TEST(FabricJumbo, WindowsAndThresholdsCountInLongPackets) {
  // MTU 9000 with the 64 bytes that the simulator's packets have for headers.
  const Done done = incast({"fabric.payload=8936B", "fabric.header=64B"});
  EXPECT_EQ(done.derived.full_packet, 9000U);
  // [htsim's rule] 2 links of 1 us there and back, 9000 B and 64 B on each of two.
  const std::uint64_t rtt_ps = 4'000'000 + 2 * 9064 * 80;
  EXPECT_EQ(static_cast<std::uint64_t>(done.derived.base_rtt.ps), rtt_ps);
  EXPECT_EQ(done.derived.bdp, rtt_ps / 80);
  EXPECT_EQ(done.derived.max_window, rtt_ps / 80 * 3 / 2);
  const std::uint64_t bdp_packets = (rtt_ps / 80 + 8999) / 9000;
  EXPECT_EQ(done.derived.queue_bytes, bdp_packets * 9000);
  EXPECT_EQ(done.report.totals.new_packets, packets(8936));
}

TEST(FabricJumbo, FullQueuesTrimLongPacketsAndTheyComeAgain) {
  for (const std::uint64_t payload : {8936U, 15872U}) {
    const Done done = incast({"fabric.payload=" + std::to_string(payload) + "B", "fabric.queue_packets=4"});
    EXPECT_EQ(done.report.totals.new_packets, packets(payload));
    EXPECT_GT(done.report.totals.trimmed, 0U);
    EXPECT_GE(done.report.totals.retransmitted, done.report.totals.trimmed);
    EXPECT_EQ(done.report.totals.dropped, 0U);
  }
}

TEST(FabricJumbo, ReceiverCreditPacesLongPackets) {
  for (const std::uint64_t payload : {8936U, 15872U}) {
    const Done done = incast({"fabric.payload=" + std::to_string(payload) + "B", "fabric.control=receiver"});
    EXPECT_EQ(done.report.totals.new_packets, packets(payload));
    EXPECT_GT(done.report.totals.credits, 0U);
    EXPECT_EQ(done.report.totals.timeouts, 0U);
    // 12 MB take 960 us; what is left over is headers, the first round trip and the end.
    TimePs end{};
    for (const FlowRecord& record : done.report.records) end = max(end, record.end);
    EXPECT_LT(end, microseconds(1100));
  }
}

TEST(FabricJumbo, PausesAndLinkCreditsHoldLongPacketsBack) {
  for (const char* flow_control : {"fabric.flow_control=pause", "fabric.flow_control=credit"}) {
    const Done done = incast({"fabric.payload=8936B", "fabric.trimming=false", "fabric.controller=constant",
                              flow_control, "fabric.link_retry=true"});
    EXPECT_EQ(done.report.totals.dropped, 0U);
    EXPECT_EQ(done.report.totals.retransmitted, 0U);
  }
  EXPECT_THAT(incast({"fabric.payload=8936B", "fabric.trimming=false", "fabric.flow_control=pause"})
                  .report.totals.new_packets,
              packets(8936));
}

TEST(FabricJumbo, LongerPacketsAndOtherProtocolsAreRefused) {
  EXPECT_THAT(load({"fabric.payload=15874B"}).error().message,
              HasSubstr("expected a size from 256B to 15872B"));
  const Topology topology = star(2, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const auto refused = [&](const char* protocol) {
    const auto loaded = load({protocol, "fabric.payload=9216B"});
    EXPECT_TRUE(loaded.ok());
    const auto derived = derive_fabric_run(loaded->settings, topology, nullptr, {});
    return derived.ok() ? "" : derived.error().message;
  };
  EXPECT_THAT(refused("fabric.protocol=roce"), HasSubstr("fabric.payload: found 9216B, expected 256B, 512B"));
  EXPECT_THAT(refused("fabric.protocol=ub"),
              HasSubstr("fabric.payload: found 9216B, expected a power of two"));
}

}  // namespace
}  // namespace wharf::sim
