// SPDX-License-Identifier: Apache-2.0
// Congestion control where packets are lost, late or refused: what the controller is told, that no window
// stays closed, and that everything still arrives exactly once.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"
#include "tests/support/roce_congested_pair.h"

namespace wharf::roce {
namespace {

using test::CongestedPair;
using test::paced_config;
using test::RunEnd;
using verbs::Verb;
using wire::RoceOpcode;

/// Windows of 16 packets of 4096 bytes to begin with; no packet is late.
congestion::SwiftConfig lenient_swift() {
  congestion::SwiftConfig swift;
  swift.base_target = milliseconds(100);
  return swift;
}

RoceConfig swift_config(const congestion::SwiftConfig& swift) {
  RoceConfig config = paced_config();
  config.congestion = swift;
  config.min_time_between_cnps = kTimeZero;
  config.ack_timeout = 4;  // 65.5 us.
  return config;
}

constexpr std::uint64_t kPacket = 4096;  ///< What SwiftSender::window() counts for one.

// --- Round trips ---

TEST(RoceRoundTrips, SwiftSeesThem) {
  CongestedPair world(swift_config(lenient_swift()));
  EXPECT_EQ(world.trace(0).window, 16 * kPacket);
  EXPECT_EQ(world.trace(0).round_trip, kNever);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 3 * 1024));
  world.pair.run_until_idle();
  EXPECT_EQ(world.trace(0).round_trip, nanoseconds(200));
  // [SIGCOMM 2020, Algorithm 1] Three packets, each 1/16: 16 + 3/16.
  EXPECT_EQ(world.trace(0).window, 16 * kPacket + 3 * kPacket / 16);
}

// The answer to a packet that was sent twice may be to its first copy. [Karn's rule]
TEST(RoceRoundTrips, PacketsSentTwiceGiveNone) {
  CongestedPair world(swift_config(lenient_swift()));
  world.lose = [lost = false](const wire::Packet&) mutable { return !std::exchange(lost, true); };
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.counters(0).requests_resent, 1u);
  EXPECT_EQ(world.trace(0).round_trip, kNever);
}

// How long READ data takes depends on how much is asked for.
TEST(RoceRoundTrips, ReadsGiveNone) {
  CongestedPair world(swift_config(lenient_swift()));
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 8 * 1024));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.trace(0).round_trip, kNever);
  EXPECT_EQ(world.trace(0).in_flight, 0u);
  world.pair.post(0, 0, world.request(Verb::kFetchAdd, 0, 0, 8));
  world.pair.run_until_idle();
  EXPECT_EQ(world.trace(0).in_flight, 0u);
  EXPECT_EQ(world.trace(0).round_trip, kNever);
}

// --- Losses ---

// A time-out tells of eight packets once. A controller that were told eight times would take it for eight
// time-outs in a row, and five are enough for Swift's smallest window.
TEST(RoceLosses, ATimeoutIsOneTimeout) {
  CongestedPair world(swift_config(lenient_swift()));
  world.pair.host(1).plugged = false;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 8 * 1024));
  EXPECT_EQ(world.trace(0).in_flight, 8u);
  world.pair.run_to(ack_timeout_duration(4) - picoseconds(1));
  EXPECT_EQ(world.trace(0).window, 16 * kPacket);
  world.pair.run_to(ack_timeout_duration(4));
  EXPECT_EQ(world.counters(0).timeouts, 1u);
  EXPECT_EQ(world.trace(0).window, 8 * kPacket);  // max_mdf is a half.
  EXPECT_EQ(world.trace(0).in_flight, 8u);        // Sent again.
  world.pair.run_to(ack_timeout_duration(4) * 4);
  EXPECT_EQ(world.trace(0).window, kPacket);
  EXPECT_EQ(world.trace(0).in_flight, 1u);
  world.pair.run_to(ack_timeout_duration(4) * 5);
  EXPECT_EQ(world.trace(0).window, 66 * kPacket >> 16U);
}

// A NAK confirms what came before it, and everything from its PSN on leaves flight and is sent again.
TEST(RoceLosses, ASequenceNakIsAGap) {
  CongestedPair world(swift_config(lenient_swift()));
  world.lose = [count = 0](const wire::Packet&) mutable { return count++ == 3; };
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 8 * 1024));
  world.pair.run_to(nanoseconds(200));
  EXPECT_EQ(world.counters(0).sequence_naks_received, 1u);
  EXPECT_EQ(world.counters(0).requests_resent, 5u);
  EXPECT_EQ(world.trace(0).in_flight, 5u);
  EXPECT_EQ(world.trace(0).round_trip, kNever);  // It was sent for a later packet than those it confirms.
  EXPECT_EQ(world.trace(0).window, 8 * kPacket);
  world.pair.run_until_idle();
  EXPECT_EQ(world.trace(0).in_flight, 0u);
  EXPECT_EQ(world.completions(0).size(), 1u);
}

// A receiver without an entry is no sign of congestion.
TEST(RoceLosses, ARefusalLeavesTheWindow) {
  CongestedPair world(swift_config(lenient_swift()));
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 3 * 1024));
  world.pair.run_to(microseconds(10));
  EXPECT_EQ(world.counters(0).rnr_naks_received, 1u);
  EXPECT_EQ(world.trace(0).in_flight, 0u);
  EXPECT_EQ(world.trace(0).window, 16 * kPacket);
  world.pair.post_receive(1, 0, world.receive(8192, 4096));
  world.pair.run_until_idle();
  EXPECT_TRUE(world.completions(0).at(0).ok());
}

// An answer to the first copy of what is being sent again confirms nothing twice.
TEST(RoceLosses, LateAnswersConfirmNothingTwice) {
  RoceConfig config = swift_config(lenient_swift());
  config.congestion = congestion::ConstantWindowConfig{.packets = 8};  // Counts strictly.
  test::EnginePairOptions options;
  options.wire.delay = microseconds(50);  // The answer comes after the time-out.
  CongestedPair world(config, options);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 30 * 1024));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_GT(world.counters(0).timeouts, 0u);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0).at(0).ok());
  EXPECT_EQ(world.trace(0).in_flight, 0u);
}

// --- Liveness ---

// The window shrinks while ten packets are in flight that ask for no answer: one more goes, and asks.
TEST(RoceLiveness, AShrunkenWindowWaitsForNoTimeout) {
  congestion::SwiftConfig swift;
  swift.base_target = nanoseconds(1);
  swift.hops = 0;
  swift.flow_scale_range = kTimeZero;
  test::EnginePairOptions options;
  options.wire.delay = nanoseconds(500);
  options.packet_interval = nanoseconds(100);
  CongestedPair world(swift_config(swift), options);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 40 * 1024));
  world.pair.run_to(nanoseconds(1000));
  EXPECT_EQ(world.trace(0).window, 8 * kPacket);
  EXPECT_GT(world.trace(0).in_flight, 8u);
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 2u);
  EXPECT_EQ(world.counters(0).timeouts, 0u);
}

// Under a window answers come at least twice in each, so that it need not run dry; as it fills again, after
// 1, 2, 4 and 8 packets.
TEST(RoceLiveness, AWindowAsksBeforeItIsUsedUp) {
  RoceConfig config = swift_config(lenient_swift());
  config.congestion = congestion::ConstantWindowConfig{.packets = 8};
  CongestedPair world(config);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 48 * 1024));
  world.pair.run_until_idle();
  std::uint32_t asked = 0;
  for (const auto& each : world.left) asked += each.packet.roce.bth.acknowledge_request ? 1U : 0U;
  EXPECT_GE(asked, 12u);
  EXPECT_LE(asked, 24u);
}

// --- Exactly once ---

struct Chosen {
  const char* name;
  congestion::ControllerConfig controller;
};

std::vector<Chosen> every_controller() {
  congestion::DcqcnConfig dcqcn;
  dcqcn.rpg_min_rate = gigabits_per_second(1);  // So that the runs end soon.
  dcqcn.rpg_time_reset = microseconds(5);
  congestion::SwiftConfig impatient;
  impatient.base_target = nanoseconds(500);
  impatient.hop_scale = kTimeZero;
  return {{"dcqcn", dcqcn},
          {"swift", congestion::SwiftConfig{}},
          {"impatient swift", impatient},
          {"window of 1", congestion::ConstantWindowConfig{.packets = 1}},
          {"window of 5", congestion::ConstantWindowConfig{.packets = 5}}};
}

/// Both hosts write, read, send and add over three queue pairs; of the packets 5 % are lost, as many late,
/// and every fourth is marked.
void run_mixed(const Chosen& chosen, std::uint64_t seed, std::uint32_t cache_entries) {
  SCOPED_TRACE(std::string(chosen.name) + ", seed " + std::to_string(seed));
  constexpr std::uint32_t kQueues = 3;
  constexpr std::uint32_t kOperations = 40;
  constexpr std::uint64_t kCounter = 40960;
  RoceConfig config = paced_config();
  config.path_mtu = 256;
  config.ack_timeout = 4;
  config.unlimited_retries = true;
  config.min_rnr_timer = 1;
  config.congestion = chosen.controller;
  config.min_time_between_cnps = microseconds(2);
  config.queue_cache_entries = cache_entries;
  test::EnginePairOptions options;
  options.seed = seed;
  options.access_shortest = nanoseconds(50);
  options.access_longest = nanoseconds(400);
  options.packet_interval = nanoseconds(20);
  options.wire.loss = options.wire.reorder = Probability::from(0.05);
  options.wire.duplicate = Probability::from(0.02);
  CongestedPair world(config, options, kQueues);
  RandomStream random(seed, "roce.congestion_loss_test");
  world.mark = [&random](const wire::Packet&) { return random.below(4) == 0; };
  for (std::uint32_t host = 0; host < 2; ++host) world.fill(host, 0, 4096, host + 1);

  struct Landing {
    std::uint32_t host = 0;  ///< Where the data is to be; kNobody: nowhere.
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
  };
  constexpr std::uint32_t kNobody = 2;
  std::vector<Landing> landings;
  std::map<std::uint64_t, std::uint32_t> open;  // Completions to come, by id.
  std::uint64_t sum[2] = {0, 0};
  for (std::uint32_t count = 0; count < kOperations; ++count) {
    const std::uint32_t host = count % 2;
    const auto queue = static_cast<engine::QueueId>(random.below(kQueues));
    const std::uint64_t place = 65536 + std::uint64_t{count} * 4096;
    Landing landing{1 - host, place, static_cast<std::uint32_t>(1 + random.below(3000))};
    verbs::WorkRequest work;
    switch (random.below(4)) {
      case 0:
        work = world.request(Verb::kWrite, 0, place, landing.length, host);
        break;
      case 1:
        landing.host = host;
        work = world.request(Verb::kRead, place, 0, landing.length, host);
        break;
      case 2: {
        const verbs::ReceiveRequest receive = world.receive(place, 4096);
        ++open[receive.id];
        ASSERT_EQ(world.pair.post_receive(1 - host, queue, receive), engine::PostStatus::kOk);
        work = world.request(Verb::kSend, 0, 0, landing.length, host);
        break;
      }
      default:
        landing.host = kNobody;
        work = world.request(Verb::kFetchAdd, 32768, kCounter, 8, host);
        work.operand[0] = count + 1;
        sum[1 - host] += count + 1;
    }
    ++open[work.id];
    landings.push_back(landing);
    ASSERT_EQ(world.pair.post(host, queue, work), engine::PostStatus::kOk);
    world.pair.run_to(world.pair.now() + nanoseconds(static_cast<std::int64_t>(random.below(1000))));
  }
  const auto completed = [&] { return world.completions(0).size() + world.completions(1).size(); };
  EXPECT_EQ(world.pair.run_until([&] { return completed() >= open.size(); }, seconds(2)), RunEnd::kDone)
      << world.pair.waiting_report();
  world.pair.run_to(world.pair.now() + milliseconds(1));
  for (std::uint32_t host = 0; host < 2; ++host) {
    for (const verbs::Completion& completion : world.completions(host)) {
      EXPECT_TRUE(completion.ok());
      EXPECT_EQ(open[completion.id]--, 1u);
    }
    EXPECT_EQ(world.pair.memory(host).load64(test::RocePair::kBase + kCounter), sum[host]);
    EXPECT_EQ(world.trace(host).in_flight, 0u);
  }
  for (const Landing& landing : landings) {
    if (landing.host == kNobody) continue;
    EXPECT_TRUE(world.holds(landing.host, landing.offset, landing.length, landing.host == 0 ? 2 : 1));
  }
  EXPECT_GT(world.counters(0).congestion_notifications, 0u);
}

TEST(RoceCongestionLoss, EverythingArrivesExactlyOnce) {
  for (const Chosen& chosen : every_controller()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) run_mixed(chosen, seed, 0);
  }
}

TEST(RoceCongestionLoss, EverythingArrivesExactlyOnceWithOneContextRecord) {
  for (const Chosen& chosen : every_controller()) {
    for (std::uint64_t seed = 7; seed <= 9; ++seed) run_mixed(chosen, seed, 1);
  }
}

}  // namespace
}  // namespace wharf::roce
