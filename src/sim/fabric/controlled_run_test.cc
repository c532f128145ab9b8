// SPDX-License-Identifier: Apache-2.0
// Every congestion controller on real queues, each with a number computed by hand. Links have 100 Gb/s (80 ps
// a byte) and 1 us; a full packet is 4198 bytes on a link (335.84 ns), an answer 84 (6.72 ns), so that a lone
// packet through one switch is answered after 4685.12 ns.
#include "sim/fabric/controlled_run.h"

#include <gtest/gtest.h>

#include "sim/fabric/topology.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::int64_t kPacketPs = 4198 * 80;
constexpr std::int64_t kAnswerPs = 84 * 80;
constexpr std::int64_t kRoundPs = 2 * (kPacketPs + kAnswerPs) + 4'000'000;
constexpr std::uint64_t kEndless = std::uint64_t{1} << 40U;
/// Bytes that a link carries in a microsecond.
constexpr double kBytesPerUs = 12'500;

/// `senders` hosts around a switch send to host 0, without end.
ControlledRun incast(std::uint32_t senders, const congestion::ControllerConfig& controller) {
  ControlledRun run;
  run.topology = star(senders + 1, kLink, kTimeZero);
  PortProfile profile;
  profile.queue_of_class = {0, 0, 1, 1, 1, 1, 1, 1};
  profile.queues[1].priority = 1;
  run.fabric.profiles = {profile};
  run.traffic.controller = controller;
  for (NodeId host = 1; host <= senders; ++host)
    run.flows.push_back({host, {.destination = 0, .bytes = kEndless}});
  run.fabric.sampled_ports = {1};
  run.fabric.sample_interval = microseconds(1);
  return run;
}

ControlledReport report_of(const ControlledRun& run) {
  auto report = run_controlled(run);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->dropped, 0U);
  return *std::move(report);
}

/// Mean bytes queued at the port to host 0 from `run.from` on.
double mean_queue(const ControlledRun& run, const ControlledReport& report) {
  double sum = 0;
  double count = 0;
  for (const OccupancySample& sample : report.samples) {
    if (sample.at < run.from) continue;
    sum += sample.queued_bytes;
    ++count;
  }
  return sum / count;
}

/// Share of the link to host 0 that was used.
double utilisation(const ControlledRun& run, const ControlledReport& report) {
  return static_cast<double>(report.sent_bytes[1]) /
         (kBytesPerUs * static_cast<double>((run.to - run.from).ps) / 1e6);
}

TEST(ControlledRun, AConstantWindowMovesItselfOncePerRoundTrip) {
  ControlledRun run = incast(1, congestion::ConstantWindowConfig{.packets = 4});
  run.flows[0].flow.bytes = 40 * 4096;
  const ControlledReport report = report_of(run);
  // Packet n + 4 leaves when packet n is answered: ten rounds, and three packets behind the first of the
  // last.
  EXPECT_EQ(report.flows[0].end.ps, 10 * kRoundPs + 3 * kPacketPs);
}

TEST(ControlledRun, AConstantWindowBeyondTheRoundTripStandsInTheQueue) {
  // 2 x 40 packets; a round trip holds 13.95; the rest waits in front of the receiver.
  ControlledRun run = incast(2, congestion::ConstantWindowConfig{.packets = 40});
  run.from = microseconds(100);
  run.to = microseconds(200);
  const ControlledReport report = report_of(run);
  EXPECT_NEAR(utilisation(run, report), 1, 0.005);
  EXPECT_NEAR(mean_queue(run, report), (80 - 13.95) * 4198, 1.5 * 4198);
}

TEST(ControlledRun, DcqcnHalvesItsRateAtTheFirstNotification) {
  congestion::DcqcnConfig dcqcn;
  ControlledRun run = incast(1, dcqcn);
  run.traffic.notification_spacing = dcqcn.min_time_between_cnps;
  run.fabric.profiles[0].queues[1].mark_min_bytes = 0;  // Every packet is marked.
  run.fabric.profiles[0].queues[1].mark_max_bytes = 0;
  run.from = microseconds(10);
  run.to = microseconds(50);
  const ControlledReport report = report_of(run);
  // The first notification is back after 4.7 us, the second 50 us later. Between them a packet each 671.68
  // ns: 59.6 in 40 us.
  EXPECT_NEAR(static_cast<double>(report.flows[0].bytes) / 4096, 59.6, 1);
  EXPECT_EQ(report.notifications, 1U);
}

TEST(ControlledRun, DcqcnRecoversHalfOfTheCutPerTimer) {
  congestion::DcqcnConfig dcqcn;
  ControlledRun run = incast(1, dcqcn);
  run.traffic.notification_spacing = milliseconds(100);  // One notification.
  run.fabric.profiles[0].queues[1].mark_min_bytes = 0;
  run.fabric.profiles[0].queues[1].mark_max_bytes = 0;
  // Cut to 50 Gb/s at 4.7 us. The timer (55 us) halves the distance to 100 Gb/s: 75 from 59.7 us, 87.5 from
  // 114.7 us on.
  run.from = microseconds(70);
  run.to = microseconds(110);
  EXPECT_NEAR(utilisation(run, report_of(run)), 0.75, 0.01);
  run.from = microseconds(125);
  run.to = microseconds(165);
  EXPECT_NEAR(utilisation(run, report_of(run)), 0.875, 0.01);
}

TEST(ControlledRun, CaqmDoublesWhileSwitchesGrantEverything) {
  ControlledRun run = incast(1, congestion::CaqmConfig{.initial_packets = 2});
  run.fabric.caqm = congestion::CaqmPortConfig{};
  run.to = picoseconds(2 * kRoundPs);
  // The window of 2 is answered after one round trip; each of the two packets has brought an MTU, so 4 go out
  // then and are on their way when the second round ends.
  const ControlledReport report = report_of(run);
  EXPECT_EQ(report.marked, 0U);
  EXPECT_EQ(report.flows[0].bytes / 4096, 2U);
  EXPECT_EQ(report.sent_bytes[2], 6U * 4198);
}

TEST(ControlledRun, CaqmKeepsTheQueueNearItsTarget) {
  for (const std::uint32_t target : {20'480U, 81'920U}) {
    ControlledRun run = incast(4, congestion::CaqmConfig{.initial_rtt = microseconds(5)});
    run.fabric.caqm = congestion::CaqmPortConfig{.target_queue_bytes = target};
    run.from = milliseconds(1);
    run.to = milliseconds(3);
    const ControlledReport report = report_of(run);
    // Credit is half of what the queue lacks to the target: growth ends there.
    EXPECT_GT(utilisation(run, report), 0.95) << target;
    EXPECT_GT(mean_queue(run, report), 0.25 * target) << target;
    EXPECT_LT(mean_queue(run, report), 1.5 * target) << target;
  }
}

TEST(ControlledRun, LdcpSwingsAroundTheMarkingThreshold) {
  ControlledRun run = incast(2, congestion::LdcpConfig{});
  run.fabric.profiles[0].queues[1].mark_min_bytes = 100'000;
  run.fabric.profiles[0].queues[1].mark_max_bytes = 100'000;
  run.from = milliseconds(1);
  run.to = milliseconds(3);
  const ControlledReport report = report_of(run);
  EXPECT_NEAR(utilisation(run, report), 1, 0.005);
  // Each marked packet takes half an MTU, so that a round of marks halves what is above the threshold.
  EXPECT_NEAR(mean_queue(run, report), 100'000, 40'000);
}

TEST(ControlledRun, SwiftHoldsTheRoundTripAtItsTarget) {
  congestion::SwiftConfig swift;
  swift.flow_scale_range = kTimeZero;  // Target 25 us and 4 us for hops.
  ControlledRun run = incast(2, swift);
  run.from = milliseconds(2);
  run.to = milliseconds(6);
  const ControlledReport report = report_of(run);
  EXPECT_NEAR(utilisation(run, report), 1, 0.005);
  // 29 us less the unloaded 4.685 us wait in the queue: 304 kB.
  EXPECT_NEAR(mean_queue(run, report) / (kBytesPerUs * (29 - 4.685)), 1, 0.1);
}

TEST(ControlledRun, NsccKeepsItsQueueAtTheTargetDelay) {
  const TimePs base = picoseconds(kRoundPs);
  const auto nscc = congestion::NsccConfig::for_network(kLink.rate, base, 4096, true);
  ControlledRun run = incast(4, nscc);
  // Marks from 0.2 to 0.8 of the bandwidth-delay product (58.6 kB), as the specification sets switches.
  run.fabric.profiles[0].queues[1].mark_min_bytes = 11'700;
  run.fabric.profiles[0].queues[1].mark_max_bytes = 46'900;
  run.from = milliseconds(1);
  run.to = milliseconds(3);
  const ControlledReport report = report_of(run);
  EXPECT_GT(utilisation(run, report), 0.98);
  // The target is 0.75 of the base round trip: 3.51 us, 43.9 kB. Below it windows grow, and above it marked
  // packets cut them once their average delay is above it, too.
  EXPECT_NEAR(mean_queue(run, report) / 43'900, 1, 0.15);
}

TEST(ControlledRun, LinearMarkingEndsAtItsHighestProbability) {
  ControlledRun run = incast(1, congestion::ConstantWindowConfig{.packets = 1});
  run.flows[0].flow.bytes = 20'000ULL * 4096;
  run.to = seconds(1);
  PortQueueConfig& queue = run.fabric.profiles[0].queues[1];
  queue.mark_min_bytes = 0;
  queue.mark_max_bytes = 2 * 4198;
  queue.mark_most_ppm = 200'000;
  // Each packet leaves at half of the range: with probability 0.1.
  EXPECT_NEAR(static_cast<double>(report_of(run).marked) / 20'000, 0.1, 0.0085);  // Four standard deviations.
}

}  // namespace
}  // namespace wharf::sim
