// SPDX-License-Identifier: Apache-2.0
// The controllers of Unified Bus and RoCEv2 over whole fabrics, chosen by keys: what they do to queues,
// losses and completion times, against the same runs without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fabric/topology_named.h"
#include "sim/flows/fabric_run.h"
#include "sim/scenario/fabric_settings.h"
#include "workload/flow_table.h"

namespace wharf::sim {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::uint32_t kSenders = 8;
const std::string kShortQueue = "fabric.queue_packets=100";
const std::string kLongQueue = "fabric.queue_packets=1000";
constexpr std::uint64_t kBytes = 1'000'000;
/// 8 MB at 4096 of 4198 bytes: what the link of the receiver takes.
constexpr TimePs kLinkTime = microseconds(656);

workload::FlowList into_host_0() {
  std::string text = "src,dst,bytes,start_ns\n";
  for (std::uint32_t host = 1; host <= kSenders; ++host)
    text += std::to_string(host) + ",0," + std::to_string(kBytes) + ",0\n";
  return *workload::read_flow_table(text, "f.csv");
}

struct Incast {
  FabricReport report;
  TimePs last;
  std::uint64_t fullest = 0;  ///< Of the port before the receiver, bytes, at samples of 1 us.
};

/// Eight hosts send to one over one switch.
Incast incast(const std::vector<std::string>& keys, std::uint32_t threads = 1) {
  const auto loaded = load_fabric_settings({"ultra-ethernet", keys, "profiles"});
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  const Topology topology = star(kSenders + 1, kLink, kTimeZero);
  const workload::FlowList flows = into_host_0();
  auto derived = derive_fabric_run(loaded->settings, topology, nullptr, flows);
  EXPECT_TRUE(derived.ok()) << (derived.ok() ? "" : derived.error().message);
  derived->config.threads = threads;
  derived->config.observation.period = microseconds(1);
  derived->config.observation.ports = {topology.port(topology.node(0).ports[0]).reverse};
  auto report = run_flows(topology, flows, derived->config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->outcome, FabricOutcome::kFinished) << report->waiting;
  EXPECT_EQ(report->finished, kSenders);
  Incast seen{*std::move(report), kTimeZero};
  for (const FlowRecord& record : seen.report.records) seen.last = max(seen.last, record.end);
  for (const OccupancySample& sample : seen.report.seen.ports)
    seen.fullest = std::max<std::uint64_t>(seen.fullest, sample.queued_bytes);
  return seen;
}

TEST(FabricCongestion, WithoutControlAnIncastOverflowsTheQueue) {
  for (const std::string protocol : {"ub", "roce"}) {
    const Incast free = incast({"fabric.protocol=" + protocol, "fabric.controller=none", kShortQueue});
    EXPECT_GT(free.report.totals.dropped, 500U) << protocol;
    EXPECT_GT(free.report.totals.retransmitted, 500U) << protocol;
  }
}

TEST(FabricCongestion, CaqmKeepsTheQueueNearItsTargetAndTheLinkBusy) {
  const Incast seen = incast({"fabric.protocol=ub", kShortQueue});
  EXPECT_EQ(seen.report.totals.dropped, 0U) << "ten packets of each sender come first";
  EXPECT_EQ(seen.report.totals.retransmitted, 0U);
  EXPECT_GE(seen.last, kLinkTime);
  EXPECT_LT(seen.last, kLinkTime * 3 / 2);
  EXPECT_EQ(seen.report.totals.control_packets, 0U) << "grants come back on acknowledgements";
}

TEST(FabricCongestion, DcqcnSendsNotificationsAndCutsRates) {
  for (const std::string protocol : {"ub", "roce"}) {
    const Incast seen =
        incast({"fabric.protocol=" + protocol, "fabric.controller=dcqcn", "fabric.flow_control=pause"});
    EXPECT_EQ(seen.report.totals.dropped, 0U) << protocol;
    EXPECT_GT(seen.report.totals.marked, 50U) << protocol;
    // One per sender in 50 us at most, and one each for the first marks.
    EXPECT_GE(seen.report.totals.control_packets, kSenders) << protocol;
    EXPECT_LE(seen.report.totals.control_packets,
              kSenders * (1 + static_cast<std::uint64_t>(seen.last.ps / microseconds(50).ps)))
        << protocol;
  }
}

TEST(FabricCongestion, UnderPauseATimeOutOutlastsWhatAllLinksMayHaveSent) {
  const auto loaded =
      load_fabric_settings({"ultra-ethernet",
                            {"fabric.protocol=roce", "fabric.flow_control=pause", "fabric.rto=0ns"},
                            "profiles"});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto run = derive_fabric_run(loaded->settings, star(9, kLink, kTimeZero), nullptr, {});
  ASSERT_TRUE(run.ok());
  // Nine links into the switch of 100,000 bytes each are 72 us of 100 Gb/s, and 15 us: the next code is 5,
  // 4.096 us * 32. A queue holds them as 215 packets of 4194 bytes: the headers of a WRITE in one packet
  // take 98.
  EXPECT_EQ(run->derived.rto, microseconds(87));
  EXPECT_EQ(std::get<roce::RoceConfig>(run->config.engines).ack_timeout, 5);
  EXPECT_EQ(run->derived.queue_bytes, 215U * 4194);
  EXPECT_EQ(run->config.fabric.profiles[0].queues[1].capacity_bytes, kUnlimitedBytes);
}

TEST(FabricCongestion, AWindowOfOnePacketPerSenderNeverQueuesMoreThanThose) {
  for (const std::string protocol : {"ub", "roce"}) {
    const Incast seen = incast({"fabric.protocol=" + protocol, "fabric.controller=constant",
                                "fabric.window_packets=1", kShortQueue});
    EXPECT_EQ(seen.report.totals.dropped, 0U) << protocol;
    EXPECT_EQ(seen.report.totals.retransmitted, 0U) << protocol;
    EXPECT_LE(seen.fullest, kSenders * 4300U) << protocol;
    EXPECT_GT(seen.fullest, 4300U) << protocol;
  }
}

TEST(FabricCongestion, SwiftAndLdcpFinishWithoutLoss) {
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"fabric.protocol=ub", "fabric.controller=swift",
                                 "fabric.queue_packets=1000"},
        {"fabric.protocol=roce", "fabric.controller=swift", kLongQueue},
        {"fabric.protocol=ub", "fabric.controller=ldcp", kLongQueue}}) {
    const Incast seen = incast(keys);
    EXPECT_EQ(seen.report.totals.retransmitted, 0U) << keys[0] << keys[1];
    EXPECT_LT(seen.last, kLinkTime * 2) << keys[0] << keys[1];
  }
}

TEST(FabricCongestion, ResultsDependNeitherOnThreadsNorOnTheWire) {
  for (const std::string protocol : {"ub", "roce"}) {
    const Incast one = incast({"fabric.protocol=" + protocol});
    const Incast three = incast({"fabric.protocol=" + protocol}, 3);
    EXPECT_EQ(one.report.history, three.report.history) << protocol;
    EXPECT_EQ(one.last, three.last) << protocol;
  }
}

TEST(FabricCongestion, ControllersAndPayloadsThatAProtocolDoesNotHaveAreRefused) {
  const auto refused = [](const std::vector<std::string>& keys) {
    const auto loaded = load_fabric_settings({"ultra-ethernet", keys, "profiles"});
    if (!loaded.ok()) return loaded.error().message;
    const auto run = derive_fabric_run(loaded->settings, star(4, kLink, kTimeZero), nullptr, {});
    return run.ok() ? std::string() : run.error().message;
  };
  EXPECT_THAT(
      refused({"fabric.protocol=roce", "fabric.controller=nscc"}),
      HasSubstr("expected one that the protocol has signals for: default, constant, swift, dcqcn, none"));
  EXPECT_THAT(refused({"fabric.protocol=uet", "fabric.controller=caqm"}), HasSubstr("nscc"));
  EXPECT_THAT(refused({"fabric.protocol=uet", "fabric.controller=none"}), HasSubstr("fabric.controller"));
  EXPECT_THAT(refused({"fabric.protocol=roce", "fabric.payload=4086B"}),
              HasSubstr("fabric.payload: found 4086B, expected 256B, 512B, 1024B, 2048B or 4096B"));
  EXPECT_THAT(refused({"fabric.protocol=ub", "fabric.payload=4086B"}),
              HasSubstr("fabric.payload: found 4086B, expected a power of two"));
  EXPECT_THAT(refused({"fabric.protocol=ub", "fabric.controller=swift", "fabric.window_packets=100000"}),
              HasSubstr("fabric.window_packets: found 100000"));
}

TEST(FabricCongestion, KeysOfTheControllersReachThem) {
  const auto derived = [](const std::vector<std::string>& keys) {
    const auto loaded = load_fabric_settings({"ultra-ethernet", keys, "profiles"});
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    auto run = derive_fabric_run(loaded->settings, star(4, kLink, kTimeZero), nullptr, {});
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    return run->config;
  };
  const auto roce = derived({"fabric.protocol=roce", "fabric.dcqcn.parameters=connectx",
                             "fabric.dcqcn.rpg_ai_rate=7Mbps", "fabric.rto=30us"});
  const auto& dcqcn = std::get<congestion::DcqcnConfig>(*std::get<roce::RoceConfig>(roce.engines).congestion);
  EXPECT_EQ(dcqcn.rpg_ai_rate.value, 7'000'000U);
  EXPECT_EQ(dcqcn.dce_tcp_g, 1019U) << "the others are ConnectX's";
  EXPECT_EQ(dcqcn.link, gigabits_per_second(100));
  EXPECT_EQ(std::get<roce::RoceConfig>(roce.engines).min_time_between_cnps, microseconds(4));
  EXPECT_EQ(std::get<roce::RoceConfig>(roce.engines).ack_timeout, 3) << "4.096 us * 8 = 32.768 us";
  const auto ub = derived({"fabric.protocol=ub", "fabric.caqm.initial_packets=3",
                           "fabric.caqm.target_queue=20KiB", "fabric.rto=30us"});
  EXPECT_EQ(std::get<congestion::CaqmConfig>(*std::get<ub::UbConfig>(ub.engines).congestion).initial_packets,
            3U);
  EXPECT_EQ(ub.fabric.caqm->target_queue_bytes, 20'480U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub.engines).retransmission.base, microseconds(30));
  EXPECT_FALSE(roce.fabric.caqm.has_value());
  const auto uet = derived({"fabric.controller=dcqcn", "fabric.dcqcn.rpg_threshold=3"});
  EXPECT_EQ(std::get<congestion::DcqcnConfig>(std::get<uet::UetConfig>(uet.engines).controller).rpg_threshold,
            3U);
}

}  // namespace
}  // namespace wharf::sim
