// SPDX-License-Identifier: Apache-2.0
// Every congestion controller under its protocol on real queues, each with a number computed by hand. Links
// have 100 Gb/s (80 ps a byte) and 1 us, and all headers of a packet count 102 bytes: a full packet is 4198
// bytes on a link (335.84 ns), an acknowledgement 102 (8.16 ns), so that a lone packet through one switch is
// answered after 4688 ns.
#include <gtest/gtest.h>

#include <functional>
#include <variant>

#include "sim/fabric/topology_named.h"
#include "sim/flows/fabric_run.h"
#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::int64_t kPacketPs = 4198 * 80;
constexpr std::int64_t kAnswerPs = 102 * 80;
constexpr std::int64_t kRoundPs = 2 * (kPacketPs + kAnswerPs) + 4'000'000;
constexpr std::uint64_t kEndless = std::uint64_t{1} << 29U;
/// Bytes that a link carries in a microsecond.
constexpr double kBytesPerUs = 12'500;

/// `senders` hosts around a switch send to host 0, looked at every microsecond.
struct Incast {
  Topology topology;
  workload::FlowList flows;
  FabricRunConfig config;
  FabricReport report{};
  PortId narrow = 0;  ///< To host 0.
  TimePs from{};      ///< What is measured begins here.

  Incast(std::uint32_t senders, std::vector<std::string> keys, std::uint64_t bytes = kEndless)
      : topology(star(senders + 1, kLink, kTimeZero)) {
    for (std::uint32_t host = 1; host <= senders; ++host)
      flows.flows.push_back({.id = host, .source = host, .destination = 0, .bytes = bytes});
    keys.insert(keys.begin(), {"fabric.header=102B", "fabric.queue_packets=10000", "fabric.trimming=false"});
    const auto loaded = load_fabric_settings({"", keys, "profiles"});
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    auto derived = derive_fabric_run(loaded->settings, topology, nullptr, flows);
    EXPECT_TRUE(derived.ok()) << (derived.ok() ? "" : derived.error().message);
    config = std::move(derived->config);
    narrow = topology.port(topology.node(0).ports[0]).reverse;
    config.observation = {.period = microseconds(1), .flows = {0}, .ports = {narrow}};
  }

  PortQueueConfig& queue() { return config.fabric.profiles[0].queues[1]; }
  /// Every packet to host 0 is marked.
  void mark_everything() {
    config.fabric.profiles.push_back(config.fabric.profiles[0]);
    config.fabric.port_profile.assign(topology.ports().size(), 0);
    config.fabric.port_profile[narrow] = 1;
    PortQueueConfig& marked = config.fabric.profiles[1].queues[1];
    marked.mark_min_bytes = marked.mark_max_bytes = 0;
  }

  void run(TimePs measured_from, TimePs to) {
    from = measured_from;
    config.end = to;
    auto done = run_flows(topology, flows, config, {});
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    report = *std::move(done);
    EXPECT_EQ(report.totals.dropped, 0U);
    EXPECT_EQ(report.totals.retransmitted, 0U);
  }

  /// Mean bytes queued at the port to host 0.
  double mean_queue() const {
    double sum = 0;
    double count = 0;
    for (const OccupancySample& sample : report.seen.ports) {
      if (sample.at < from) continue;
      sum += sample.queued_bytes;
      ++count;
    }
    return sum / count;
  }
  /// Bytes that the port to host 0 has sent by `at`.
  std::uint64_t sent_by(TimePs at) const {
    std::uint64_t sent = 0;
    for (const OccupancySample& sample : report.seen.ports) {
      if (sample.at <= at) sent = sample.sent_bytes;
    }
    return sent;
  }
  /// Share of the link to host 0 that was used from `begin` to `end`.
  double utilisation(TimePs begin, TimePs end) const {
    return static_cast<double>(sent_by(end) - sent_by(begin)) /
           (kBytesPerUs * static_cast<double>((end - begin).ps) / 1e6);
  }
  double utilisation() const { return utilisation(from, config.end); }
};

/// The parameters of the controller that the run has over UB or RoCEv2.
template <typename Config>
Config& controller_of(FabricRunConfig& config) {
  return std::get<Config>(config.protocol == wire::Protocol::kUb
                              ? *std::get<ub::UbConfig>(config.engines).congestion
                              : *std::get<roce::RoceConfig>(config.engines).congestion);
}

TEST(FabricControllers, AConstantWindowMovesItselfOncePerRoundTrip) {
  Incast incast(1, {"fabric.protocol=ub", "fabric.controller=constant", "fabric.window_packets=4"},
                40 * 4096);
  incast.run(kTimeZero, kNever);
  // Packet n + 4 leaves when packet n is answered: ten rounds, and three packets behind the first of the
  // last. The answer of the transaction comes behind that of its last packet.
  EXPECT_EQ(incast.report.records[0].end.ps, 10 * kRoundPs + 3 * kPacketPs + kAnswerPs);
}

TEST(FabricControllers, AConstantWindowBeyondTheRoundTripStandsInTheQueue) {
  Incast incast(2, {"fabric.protocol=ub", "fabric.controller=constant", "fabric.window_packets=40"});
  incast.run(microseconds(100), microseconds(200));
  // 2 x 40 packets; a round trip holds 13.96; the rest waits in front of the receiver.
  EXPECT_NEAR(incast.utilisation(), 1, 0.005);
  EXPECT_NEAR(incast.mean_queue(), (80 - 13.96) * 4198, 1.5 * 4198);
}

TEST(FabricControllers, DcqcnHalvesItsRateAtTheFirstNotification) {
  for (const std::string protocol : {"ub", "roce"}) {
    Incast incast(1, {"fabric.protocol=" + protocol, "fabric.controller=dcqcn"});
    incast.mark_everything();
    incast.run(microseconds(10), microseconds(50));
    // The first notification is back after 4.7 us, the second 50 us later. Between them rates count whole
    // frames, 4158 bytes of RoCE, which 50 Gb/s take each 665.28 ns: 60.1 in 40 us. UB's have some more.
    EXPECT_NEAR(incast.utilisation() * 40 * kBytesPerUs / 4198, 60.1, 1) << protocol;
    EXPECT_EQ(incast.report.totals.control_packets, 1U) << protocol;
  }
}

TEST(FabricControllers, DcqcnRecoversHalfOfTheCutPerTimer) {
  for (const std::string protocol : {"ub", "roce", "uet"}) {
    Incast incast(1, {"fabric.protocol=" + protocol, "fabric.controller=dcqcn",
                      "fabric.dcqcn.min_time_between_cnps=100ms"});  // One notification.
    incast.mark_everything();
    incast.run(kTimeZero, microseconds(165));
    // Cut to 50 Gb/s at 4.7 us. The timer (55 us) halves the distance to 100 Gb/s: 75 from 59.7 us, 87.5 from
    // 114.7 us on.
    EXPECT_NEAR(incast.utilisation(microseconds(70), microseconds(110)), 0.75, 0.01) << protocol;
    EXPECT_NEAR(incast.utilisation(microseconds(125), microseconds(165)), 0.875, 0.01) << protocol;
  }
}

TEST(FabricControllers, CaqmDoublesWhileSwitchesGrantEverything) {
  Incast incast(1, {"fabric.protocol=ub", "fabric.controller=caqm", "fabric.caqm.initial_packets=2"});
  incast.run(kTimeZero, picoseconds(2 * kRoundPs));
  // The window of 2 is answered after one round trip; each of the two packets has brought an MTU, so 4 go out
  // then and are on their way when the second round ends.
  EXPECT_EQ(incast.report.totals.marked, 0U);
  EXPECT_EQ(incast.report.totals.new_packets, 6U);
  const auto& seen = incast.report.seen.flows;
  EXPECT_EQ(seen[3].trace.window, 2U * 4096) << "at 4 us";
  EXPECT_EQ(seen[4].trace.window, 3U * 4096) << "at 5 us: the second answer comes at 5.024 us";
  EXPECT_EQ(seen[5].trace.window, 4U * 4096) << "at 6 us";
}

TEST(FabricControllers, CaqmKeepsTheQueueNearItsTarget) {
  for (const std::uint32_t target : {20'480U, 81'920U}) {
    Incast incast(4, {"fabric.protocol=ub", "fabric.controller=caqm",
                      "fabric.caqm.target_queue=" + std::to_string(target) + "B"});
    incast.run(milliseconds(1), milliseconds(3));
    // Credit is half of what the queue lacks to the target: growth ends there.
    EXPECT_GT(incast.utilisation(), 0.95) << target;
    EXPECT_GT(incast.mean_queue(), 0.25 * target) << target;
    EXPECT_LT(incast.mean_queue(), 1.5 * target) << target;
  }
}

TEST(FabricControllers, LdcpSwingsAroundTheMarkingThreshold) {
  Incast incast(2, {"fabric.protocol=ub", "fabric.controller=ldcp"});
  incast.queue().mark_min_bytes = incast.queue().mark_max_bytes = 100'000;
  incast.run(milliseconds(1), milliseconds(3));
  EXPECT_NEAR(incast.utilisation(), 1, 0.005);
  // Each marked packet takes half an MTU, so that a round of marks halves what is above the threshold.
  EXPECT_NEAR(incast.mean_queue(), 100'000, 40'000);
}

TEST(FabricControllers, SwiftHoldsTheRoundTripAtItsTarget) {
  for (const std::string protocol : {"ub", "roce"}) {
    Incast incast(2, {"fabric.protocol=" + protocol, "fabric.controller=swift"});
    // Target 25 us and 4 us for hops.
    controller_of<congestion::SwiftConfig>(incast.config).flow_scale_range = kTimeZero;
    incast.run(milliseconds(2), milliseconds(6));
    EXPECT_NEAR(incast.utilisation(), 1, 0.005) << protocol;
    // 29 us less the unloaded 4.688 us wait in the queue: 304 kB.
    EXPECT_NEAR(incast.mean_queue() / (kBytesPerUs * (29 - 4.688)), 1, 0.1) << protocol;
  }
}

TEST(FabricControllers, NsccKeepsItsQueueAtTheTargetDelay) {
  Incast incast(4, {"fabric.protocol=uet", "fabric.trimming=true"});
  // Marks from 0.2 to 0.8 of the bandwidth-delay product (58.6 kB), as the specification sets switches.
  incast.queue().mark_min_bytes = 11'700;
  incast.queue().mark_max_bytes = 46'900;
  incast.run(milliseconds(1), milliseconds(3));
  EXPECT_GT(incast.utilisation(), 0.98);
  // The target is 0.75 of the base round trip: 3.51 us, 43.9 kB. Below it windows grow, and above it marked
  // packets cut them once their average delay is above it, too.
  EXPECT_NEAR(incast.mean_queue() / 43'900, 1, 0.15);
}

TEST(FabricControllers, LinearMarkingEndsAtItsHighestProbability) {
  Incast incast(1, {"fabric.protocol=ub", "fabric.controller=constant", "fabric.window_packets=1"},
                20'000ULL * 4096);
  incast.queue().mark_min_bytes = 0;
  incast.queue().mark_max_bytes = 2 * 4198;
  incast.queue().mark_most_ppm = 200'000;
  incast.run(kTimeZero, kNever);
  // Each packet leaves at half of the range: with probability 0.1; four standard deviations.
  EXPECT_EQ(incast.report.totals.new_packets, 20'000U + 20'000 / 16) << "an answer for each 64 KiB";
  EXPECT_NEAR(static_cast<double>(incast.report.totals.marked) / 20'000, 0.1, 0.0085);
}

}  // namespace
}  // namespace wharf::sim
