// SPDX-License-Identifier: Apache-2.0
// Payload from a memory that takes its time: what has been fetched is no packet yet, and becomes one, with a
// number and a place in the window, when it leaves. [UE 1.0 3.5.11, 3.6.12]
#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using congestion::ConstantWindowConfig;
using congestion::NsccConfig;
using congestion::NsccSender;
using verbs::Delivery;
using verbs::Verb;

/// A full packet counts 4096 + 44 + 12 + 4 + 8 + 40.
constexpr std::uint32_t kMtu = 4204;

const CongestionContext& context(World& world, std::uint32_t ccc = 0) {
  return world.engine(0).parts().cms[ccc];
}

test::EnginePairOptions slow_memory(TimePs shortest, TimePs longest, TimePs wire) {
  test::EnginePairOptions options;
  options.access_shortest = shortest;
  options.access_longest = longest;
  options.wire.delay = wire;
  return options;
}

UetConfig window_of(std::uint32_t packets) {
  UetConfig config;
  config.controller = ConstantWindowConfig{.packets = packets};
  return config;
}

bool is_data(const wire::Packet& packet) {
  return packet.uet.prologue.type == wire::UetPdsType::kRudRequest ||
         packet.uet.prologue.type == wire::UetPdsType::kRodRequest;
}

TEST(Departure, Uet_3_6_12_APacketCountsFromItsDepartureOn) {
  UetConfig config = window_of(2);
  config.fetch_ahead_packets = 4;
  World world(config, slow_memory(microseconds(5), microseconds(5), microseconds(10)));
  world.watch();
  world.fill(0, World::kLocal, 10 * 4096, 3);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 10 * 4096)), engine::PostStatus::kOk);
  world.pass(microseconds(4));
  EXPECT_EQ(context(world).fetched, 4U) << "more than the window has room for";
  EXPECT_EQ(context(world).in_flight, 0U);
  EXPECT_EQ(world.engine(0).parts().pds.pdc(0).tx.outstanding(), 0U);
  world.pass(microseconds(2));
  EXPECT_EQ(context(world).in_flight, 2U);
  EXPECT_EQ(world.sent.size(), 2U);
  EXPECT_EQ(context(world).fetched, 4U) << "the next two have been asked for";
  world.run();
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 10 * 4096));
  EXPECT_EQ(context(world).fetched, 0U);
}

TEST(Departure, Uet_3_6_12_AWindowThatShrankMeanwhileHoldsBackWhatWasFetched) {
  // Every packet is marked, and 30 us there and back are more than the target: the window falls once a round
  // trip, also while payload is on its way from memory.
  UetConfig config;
  NsccConfig chosen = NsccConfig::for_network(gigabits_per_second(100), microseconds(12), kMtu, true);
  chosen.initial_window = 10 * kMtu;
  chosen.delay_gain_q20 = 1U << 20U;
  config.controller = chosen;
  config.base_rtt_probe = false;
  test::EnginePairOptions options = slow_memory(microseconds(5), microseconds(5), microseconds(15));
  options.wire.transform = [](wire::Packet& packet, bool damaged, RandomStream&, wire::PayloadPool&) {
    if (is_data(packet)) packet.mark = wire::CongestionMark::kExperienced;
    return !damaged;
  };
  World world(config, options);
  const auto nscc = [&]() -> const NsccSender& { return *context(world).controller.as<NsccSender>(); };
  world.watch();
  std::uint32_t offset = 0;
  wire::UetPsn psn = 0;
  std::uint32_t packets = 0;
  world.lose = [&](const wire::Packet& packet) {
    if (!is_data(packet)) return false;
    EXPECT_TRUE(nscc().in_flight() <= static_cast<std::int64_t>(nscc().window()) ||
                nscc().in_flight() == kMtu)
        << nscc().in_flight() << " in flight, window " << nscc().window();
    if (packets++ > 0) {
      EXPECT_EQ(packet.uet.request.psn, psn + 1);
      EXPECT_EQ(packet.uet.ses.message_offset, offset + 4096);
      offset += 4096;
    }
    psn = packet.uet.request.psn;
    return false;
  };
  world.fill(0, World::kLocal, 60 * 4096, 5);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 60 * 4096)), engine::PostStatus::kOk);
  bool held = false;
  while (world.completions(0).empty()) {
    world.pass(microseconds(1));
    held = held || (context(world).state == CccState::kActive && context(world).fetched > 0 &&
                    nscc().window() < 5 * kMtu);
  }
  EXPECT_TRUE(held) << "nothing that was fetched had to wait behind a smaller window";
  EXPECT_EQ(packets, 60U);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 60 * 4096));
}

TEST(Departure, Uet_3_6_12_RepetitionsAreFetchedAgainAndLeaveFirst) {
  // Go-Back-N over a memory that answers in any order: the lost packet comes before all others again, though
  // the payload of later ones was there before.
  UetConfig config = window_of(6);
  config.rto_init = microseconds(60);
  config.ack_per_packet = true;
  World world(config, slow_memory(microseconds(1), microseconds(9), microseconds(5)));
  world.watch();
  std::optional<wire::UetPsn> lost;
  wire::UetPsn due = 0;
  world.lose = [&](const wire::Packet& packet) {
    if (packet.uet.prologue.type != wire::UetPdsType::kRodRequest) return false;
    const wire::UetPsn psn = packet.uet.request.psn;
    if (due == 0) due = psn;
    if (packet.uet.prologue.retransmitted() && psn == lost) due = psn;
    EXPECT_EQ(psn, due++) << "in order, but for going back to the gap";
    if (lost || packet.uet.ses.message_offset != 4 * 4096) return false;
    lost = psn;
    return true;
  };
  world.fill(0, World::kLocal, 30 * 4096, 7);
  verbs::WorkRequest request = world.request(Verb::kWrite, 30 * 4096);
  request.delivery = Delivery::kOrdered;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_TRUE(lost.has_value());
  EXPECT_GT(world.counters(0).packets_retransmitted, 0U);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 30 * 4096));
  EXPECT_EQ(context(world).fetched, 0U);
}

TEST(Departure, AMessageThatEndsGivesBackWhatWasFetchedForIt) {
  UetConfig config = window_of(1);
  config.fetch_ahead_packets = 8;
  World world(config, slow_memory(microseconds(5), microseconds(5), nanoseconds(100)));
  verbs::WorkRequest wrong = world.request(Verb::kWrite, 32 * 4096);
  wrong.remote.token.value ^= 0xffU;
  ASSERT_EQ(world.post(wrong), engine::PostStatus::kOk);
  world.fill(0, World::kLocal, 32 * 4096, 9);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 32 * 4096)), engine::PostStatus::kOk);
  // The refusal comes while some of the payload has been read and some is being read.
  world.run();
  ASSERT_EQ(world.completions(0).size(), 2U);
  for (const verbs::Completion& each : world.completions(0)) EXPECT_EQ(each.ok(), each.id != wrong.id);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 32 * 4096));
  EXPECT_EQ(context(world).fetched, 0U);
  EXPECT_EQ(world.pair().pool().in_use(), 0U);
}

TEST(Departure, ARepetitionThatIsAnsweredMeanwhileGivesBackItsPayload) {
  // The acknowledgement of the original comes while the payload is being fetched again.
  UetConfig config = window_of(1);
  config.rto_init = microseconds(40);
  World world(config, slow_memory(microseconds(5), microseconds(5), microseconds(1)));
  world.watch();
  std::optional<wire::Packet> late;
  world.lose = [&](const wire::Packet& packet) {
    if (late || !wire::is_uet_ack(packet.uet.prologue.type)) return false;
    late = packet;
    return true;
  };
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 4096)), engine::PostStatus::kOk);
  while (world.counters(0).timeouts == 0) world.pass(microseconds(1));
  EXPECT_EQ(context(world).fetched, 1U);
  world.pair().inject(0, *late);
  EXPECT_EQ(context(world).fetched, 0U);
  world.run();
  EXPECT_EQ(world.completions(0).size(), 1U);
  EXPECT_EQ(world.counters(0).packets_retransmitted, 0U);
  EXPECT_EQ(world.pair().pool().in_use(), 0U);
}

TEST(Departure, ADestinationThatIsSilentDoesNotKeepAnothersPayloadOut) {
  UetConfig config = window_of(8);
  config.fetch_ahead_packets = 4;
  config.rto_init = milliseconds(100);
  std::deque<Arena> arenas;
  test::EnginePairOptions options = slow_memory(nanoseconds(500), nanoseconds(500), microseconds(1));
  options.hosts = 3;
  test::EnginePair<UetEngine> hosts(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
    UetConfig own = config;
    own.host = {host};
    arenas.emplace_back();
    return std::make_unique<UetEngine>(std::move(UetEngine::create(own, pool, arenas.back()).value()));
  });
  const engine::QueueId queue = hosts.engine(0).create_queue(hosts.now(), {}).value();
  hosts.host(1).plugged = false;
  for (std::uint32_t host : {1U, 2U}) {
    const engine::QueueId there = hosts.engine(host).create_queue(hosts.now(), {}).value();
    const auto token =
        hosts.engine(host).register_segment(hosts.now(), {.base = 0x10000, .length = 1U << 20U}).value();
    const auto blob = hosts.engine(host).export_queue(there).value();
    verbs::WorkRequest request;
    request.id = host;
    request.verb = Verb::kWrite;
    request.peer = hosts.engine(0).connect(hosts.now(), queue, blob).value();
    request.remote = {0x10000, token};
    request.length = 64 * 4096;
    request.local_count = 1;
    request.local[0] = {0x10000, 64 * 4096};
    ASSERT_EQ(hosts.post(0, queue, request), engine::PostStatus::kOk);
    hosts.run_to(hosts.now() + microseconds(10));
  }
  // 64 packets, two at a time in 500 ns: 16 us; their window of 8 is one round trip of 2 us: 16 us.
  hosts.run_to(microseconds(50));
  ASSERT_EQ(hosts.host(0).completions.size(), 1U);
  EXPECT_EQ(hosts.host(0).completions[0].id, 2U);
  EXPECT_GT(hosts.engine(0).parts().cms[0].fetched, 0U);
}

TEST(Departure, Uet_3_4_ADeferredSendIsReadAgainFromWhereTheTargetAsks) {
  UetConfig config = window_of(4);
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  World world(config, slow_memory(microseconds(2), microseconds(4), microseconds(1)));
  world.fill(0, World::kLocal, 60000, 6);
  ASSERT_EQ(world.post(world.request(Verb::kSend, 60000)), engine::PostStatus::kOk);
  world.pass(microseconds(200));
  EXPECT_EQ(world.counters(0).messages_deferred, 1U);
  EXPECT_EQ(context(world).fetched, 0U) << "what was fetched for packets that no longer leave";
  EXPECT_EQ(world.pair().pool().in_use(), 0U);
  // What is read again is what memory holds now.
  world.fill(0, World::kLocal, 60000, 8);
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 60000)), engine::PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.completions(0).size(), 1U);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 60000));
}

}  // namespace
}  // namespace wharf::uet
