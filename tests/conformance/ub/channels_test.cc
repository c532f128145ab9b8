// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 6.3.2 (as public documents show it): several reliable TP channels between two hosts,
// the members of a TP group, and how requests are spread over them.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using engine::ServiceMode;
using verbs::CompletionStatus;
using verbs::OrderTag;
using verbs::Verb;

UbConfig with_channels(std::uint32_t channels, ChannelSpread spread = ChannelSpread::kFlow) {
  UbConfig config;
  config.channels = channels;
  config.spread = spread;
  config.min_rnr_timer = 1;
  return config;
}

/// Sees every packet that carries a request of host 0; drops those that `drop` says.
class Requests {
 public:
  explicit Requests(World& world) {
    world.pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      if (packet.source.number == 0 && packet.ub.transaction == wire::UbTransaction::kRequest)
        seen.push_back(packet);
      return drop && drop(packet);
    };
  }
  std::vector<wire::Packet> seen;
  std::function<bool(const wire::Packet&)> drop;

  /// The channels of all requests of that jetty.
  std::set<std::uint32_t> channels_of(engine::QueueId jetty) const {
    std::set<std::uint32_t> found;
    for (const wire::Packet& packet : seen) {
      if (packet.ub.request.requester_id == jetty) found.insert(packet.ub.rtph.destination_tpn);
    }
    return found;
  }
};

/// A request of host 0's queue `queue`.
verbs::WorkRequest request_of(World& world, std::size_t queue, Verb verb, std::uint32_t length,
                              std::uint64_t offset = 0) {
  verbs::WorkRequest made = world.request(verb, length, offset);
  made.peer = world.peer(0, queue);
  made.operation = {made.id};
  return made;
}

engine::PostStatus post(World& world, std::size_t queue, const verbs::WorkRequest& request) {
  return world.pair().post(0, world.queue(0, queue), request);
}

void post_receives(World& world, std::size_t queue, int count) {
  for (int i = 0; i < count; ++i) {
    verbs::ReceiveRequest receive{.id = static_cast<std::uint64_t>(i), .local_count = 1};
    receive.local[0] = {World::kRemote + 0x8000, 64};
    world.pair().post_receive(1, world.queue(1, queue), receive);
  }
}

std::vector<std::uint64_t> finished(World& world) {
  std::vector<std::uint64_t> ids;
  for (const verbs::Completion& each : world.pair().host(0).completions) {
    EXPECT_EQ(each.status, CompletionStatus::kSuccess) << each.id;
    ids.push_back(each.id);
  }
  return ids;
}

// A jetty keeps to one of them, and they are all in use.
TEST(Channels, JettiesAreSpreadOverThem) {
  World world(with_channels(4), {}, 8);
  Requests wire(world);
  for (std::size_t queue = 0; queue < 8; ++queue) {
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(post(world, queue, request_of(world, queue, Verb::kWrite, 64)), engine::PostStatus::kOk);
  }
  world.run();
  EXPECT_EQ(finished(world).size(), 24u);
  std::map<std::uint32_t, int> jetties;
  for (std::size_t queue = 0; queue < 8; ++queue) {
    const auto channels = wire.channels_of(world.queue(0, queue));
    ASSERT_EQ(channels.size(), 1u);
    ++jetties[*channels.begin()];
  }
  EXPECT_EQ(jetties.size(), 4u);
  for (const auto& [channel, count] : jetties) EXPECT_EQ(count, 2) << channel;
}

// A pair of hosts has as many as both want.
TEST(Channels, BothEndsWantThem) {
  World world(with_channels(4), {}, 2);
  Requests wire(world);
  ASSERT_TRUE(world.finish(request_of(world, 0, Verb::kWrite, 64)).ok());
  const auto third = *world.engine(0).create_queue(world.now(), {});
  auto blob = decode_queue_blob(*world.engine(1).export_queue(world.queue(1)));
  ASSERT_TRUE(blob.ok());
  blob->channels = 2;
  verbs::WorkRequest request = world.request(Verb::kWrite, 64);
  request.peer = *world.engine(0).connect(world.now(), third, encode(*blob));
  ASSERT_EQ(world.pair().post(0, third, request), engine::PostStatus::kOk);
  world.run();
  EXPECT_EQ(wire.channels_of(third), wire.channels_of(world.queue(0, 0)));
}

TEST(Channels, TheirNumberIsChecked) {
  UbConfig config;
  config.channels = 9;
  EXPECT_EQ(validate(config).error().message, "ub.channels: found 9, expected 1 to 8");
  config.channels = 0;
  EXPECT_FALSE(validate(config).ok());
  World world;
  auto blob = decode_queue_blob(*world.engine(1).export_queue(world.queue(1)));
  for (const std::uint32_t channels : {0U, 9U}) {
    blob->channels = channels;
    EXPECT_FALSE(world.engine(0).connect(world.now(), world.queue(0), encode(*blob)).ok());
  }
}

// A small message of one jetty and large ones of another: on one channel it waits behind those that came
// before it, on two it takes turns with their packets.
TEST(Channels, ASmallMessageDoesNotWaitBehindLargeOnes) {
  for (const std::uint32_t channels : {1U, 2U}) {
    SCOPED_TRACE(channels);
    UbConfig config = with_channels(channels);
    config.send_window = 8;
    test::EnginePairOptions options;
    options.packet_interval = nanoseconds(80);
    World world(config, options, 2);
    Requests wire(world);
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
      const auto large = request_of(world, 0, Verb::kWrite, 65536);
      last = large.id;
      ASSERT_EQ(post(world, 0, large), engine::PostStatus::kOk);
    }
    const auto small = request_of(world, 1, Verb::kWrite, 64);
    ASSERT_EQ(post(world, 1, small), engine::PostStatus::kOk);
    world.run();
    std::size_t packets_before = 0;
    while (wire.seen[packets_before].operation.value != small.id) ++packets_before;
    const auto ids = finished(world);
    if (channels == 1) {
      EXPECT_EQ(packets_before, 16u);  // One segment.
      EXPECT_NE(ids.front(), small.id);
    } else {
      EXPECT_LE(packets_before, 2u);
      EXPECT_EQ(ids.front(), small.id);
    }
    EXPECT_EQ(ids.size(), 4u);
    EXPECT_TRUE(std::find(ids.begin(), ids.end(), last) != ids.end());
  }
}

// What one jetty has lost holds back what another sends on the same channel, and nothing on another one.
TEST(Channels, LossOnOneHoldsNoOtherBack) {
  for (const std::uint32_t channels : {1U, 2U}) {
    SCOPED_TRACE(channels);
    World world(with_channels(channels), {}, 2);
    post_receives(world, 1, 8);
    Requests wire(world);
    const auto lost = request_of(world, 0, Verb::kWrite, 64);
    bool heals = false;
    wire.drop = [&](const wire::Packet& packet) { return packet.operation.value == lost.id && !heals; };
    ASSERT_EQ(post(world, 0, lost), engine::PostStatus::kOk);
    for (int i = 0; i < 8; ++i)
      ASSERT_EQ(post(world, 1, request_of(world, 1, Verb::kSend, 64)), engine::PostStatus::kOk);
    world.pair().run_to(world.now() + microseconds(100));
    EXPECT_EQ(finished(world).size(), channels == 1 ? 0u : 8u);
    heals = true;
    world.run();
    EXPECT_EQ(finished(world).size(), 9u);
  }
}

/// The 99th percentile of 2,000 Writes of four jetties, one at a time each, that share their channels with a
/// jetty whose relaxed Send never finds a receive entry and whose strong Write waits for it for ever.
TimePs p99_of_others(bool stalled, std::uint32_t channels, double loss) {
  World world(with_channels(channels), {}, 5);
  const RandomStream draws(7, "channels_test.loss");
  std::map<std::uint64_t, std::uint32_t> sendings;
  Requests wire(world);
  // Whether a packet is lost depends on its request, and on nothing that the stalled jetty sends.
  wire.drop = [&](const wire::Packet& packet) {
    if (packet.operation.value < 1000) return false;
    const std::uint64_t kind = packet.operation.value * 2 + packet.source.number;
    RandomStream one = draws.substream(kind).substream(sendings[kind]++);
    return one.chance(Probability::from(loss));
  };
  if (stalled) {
    auto never = request_of(world, 0, Verb::kSend, 64);
    never.order = OrderTag::kRelaxed;
    EXPECT_EQ(post(world, 0, never), engine::PostStatus::kOk);
    auto held = request_of(world, 0, Verb::kWrite, 64);
    held.order = OrderTag::kStrong;
    EXPECT_EQ(post(world, 0, held), engine::PostStatus::kOk);
  }
  constexpr std::uint64_t kEach = 500;
  std::vector<TimePs> begun(5 * 1000 + 1000);
  std::vector<TimePs> latencies;
  const auto next = [&](std::uint64_t queue, std::uint64_t i) {
    auto request = request_of(world, queue, Verb::kWrite, 64);
    request.id = 1000 * queue + i;
    request.operation = {request.id};
    begun[request.id] = world.now();
    EXPECT_EQ(world.engine(0).post(world.now(), world.queue(0, queue), request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
  };
  world.pair().on_completion = [&](std::uint32_t, const verbs::Completion& completion) {
    EXPECT_TRUE(completion.ok());
    latencies.push_back(world.now() - begun[completion.id]);
    if (completion.id % 1000 + 1 < kEach) next(completion.id / 1000, completion.id % 1000 + 1);
  };
  for (std::uint64_t queue = 1; queue < 5; ++queue) next(queue, 0);
  world.pair().drain(0);
  world.pair().run_until([&] { return latencies.size() == 4 * kEach; }, world.now() + seconds(1));
  EXPECT_EQ(latencies.size(), 4 * kEach);
  std::sort(latencies.begin(), latencies.end());
  return latencies[latencies.size() * 99 / 100];
}

// [OpenURMA, Figure 34b] An initiator that is stalled for ever costs the others nothing without loss, and at
// most one round trip with it.
TEST(Channels, AStalledInitiatorHoldsNoOtherBack) {
  const TimePs round_trip = nanoseconds(200);
  for (const std::uint32_t channels : {1U, 4U}) {
    SCOPED_TRACE(channels);
    EXPECT_EQ(p99_of_others(true, channels, 0).ps, p99_of_others(false, channels, 0).ps);
    EXPECT_EQ(p99_of_others(true, channels, 0).ps, round_trip.ps);
    const TimePs alone = p99_of_others(false, channels, 0.01);
    EXPECT_GT(alone.ps, round_trip.ps);
    EXPECT_LE(p99_of_others(true, channels, 0.01).ps, (alone + round_trip).ps);
  }
}

// --- Spreading by request

// A jetty's requests take turns; all segments of one are on one channel, so that an immediate comes last.
TEST(ChannelSpreading, RequestsTakeTurns) {
  UbConfig config = with_channels(4, ChannelSpread::kRequest);
  config.mtu = 256;
  config.segment_bytes = 1024;
  World world(config);
  Requests wire(world);
  post_receives(world, 0, 4);
  std::vector<std::uint64_t> posted;
  for (int i = 0; i < 8; ++i) {
    const auto request = request_of(world, 0, i % 2 == 0 ? Verb::kWrite : Verb::kWriteImm, 4096);
    posted.push_back(request.id);
    ASSERT_EQ(post(world, 0, request), engine::PostStatus::kOk);
  }
  world.run();
  EXPECT_EQ(finished(world), posted);
  EXPECT_EQ(wire.channels_of(world.queue(0)).size(), 4u);
  std::map<std::uint64_t, std::set<std::uint32_t>> of;
  for (const wire::Packet& packet : wire.seen)
    of[packet.operation.value].insert(packet.ub.rtph.destination_tpn);
  for (const auto& [id, channels] : of) EXPECT_EQ(channels.size(), 1u) << id;
  EXPECT_NE(of[posted[0]], of[posted[1]]);
  EXPECT_EQ(of[posted[0]], of[posted[4]]);
}

// ROI and ROT: strong requests keep their order whatever the channels and the wire do.
TEST(ChannelSpreading, StrongRequestsTakeEffectInPostingOrder) {
  for (const ServiceMode service : {ServiceMode::kOrderedByInitiator, ServiceMode::kOrderedByTarget}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(std::string(engine::name(service)) + ", seed " + std::to_string(seed));
      UbConfig config = with_channels(3, ChannelSpread::kRequest);
      config.service = service;
      test::EnginePairOptions options = faulty(seed, seed % 2 == 0 ? 5 : 0);
      options.access_shortest = nanoseconds(50);
      options.access_longest = nanoseconds(900);
      options.wire.jitter = nanoseconds(300);
      World world(config, options);
      constexpr std::uint64_t kPairs = 20;
      for (std::uint64_t i = 0; i < kPairs; ++i) {
        std::memcpy(world.pair().memory(0).at(World::kLocal + i * 8, 8).data(), &i, 8);
        auto write = request_of(world, 0, Verb::kWrite, 8);
        write.order = OrderTag::kStrong;
        write.local[0].address = World::kLocal + i * 8;
        ASSERT_EQ(world.post(write), engine::PostStatus::kOk);
        auto read = request_of(world, 0, Verb::kRead, 8);
        read.order = OrderTag::kStrong;
        read.local[0].address = World::kLocal + 0x4000 + i * 8;
        ASSERT_EQ(world.post(read), engine::PostStatus::kOk);
      }
      ASSERT_EQ(world.pair().run_until_idle(world.now() + milliseconds(50)), test::RunEnd::kDone)
          << world.pair().waiting_report();
      for (std::uint64_t i = 0; i < kPairs; ++i)
        EXPECT_EQ(world.pair().memory(0).load64(World::kLocal + 0x4000 + i * 8), i);
      EXPECT_EQ(world.pair().pool().in_use(), 0u);
    }
  }
}

// ROL has one channel whatever the others have.
TEST(ChannelSpreading, RolKeepsToOneChannel) {
  UbConfig config = with_channels(4, ChannelSpread::kRequest);
  config.service = ServiceMode::kOrderedByTransport;
  World world(config);
  Requests wire(world);
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(post(world, 0, request_of(world, 0, Verb::kWrite, 64)), engine::PostStatus::kOk);
  world.run();
  EXPECT_EQ(finished(world).size(), 8u);
  EXPECT_EQ(wire.channels_of(world.queue(0)).size(), 1u);
}

// Where requests take turns, one silent channel ends all of them; after both have connected again all go on.
TEST(ChannelSpreading, TheChannelsFailTogether) {
  for (const ChannelSpread spread : {ChannelSpread::kFlow, ChannelSpread::kRequest}) {
    const bool together = spread == ChannelSpread::kRequest;
    SCOPED_TRACE(together);
    UbConfig config = with_channels(2, spread);
    config.retransmission.attempts_max = 3;
    World world(config, {}, 2);
    Requests wire(world);
    ASSERT_TRUE(world.finish(request_of(world, 0, Verb::kWrite, 64)).ok());
    const std::uint32_t silent = wire.seen.back().ub.rtph.destination_tpn;
    wire.drop = [&](const wire::Packet& packet) { return packet.ub.rtph.destination_tpn == silent; };
    world.pair().host(0).completions.clear();
    for (std::size_t queue = 0; queue < 2; ++queue) {
      for (int i = 0; i < 2; ++i)
        ASSERT_EQ(post(world, queue, request_of(world, queue, Verb::kWrite, 64)), engine::PostStatus::kOk);
    }
    world.run();
    EXPECT_EQ(world.counters(0).channels_failed, together ? 2u : 1u);
    std::size_t ended = 0;
    for (const auto& each : world.pair().host(0).completions)
      ended += each.status == CompletionStatus::kRetryExhausted;
    EXPECT_EQ(ended, 2u);
    wire.drop = nullptr;
    world.pair().host(0).completions.clear();
    verbs::PeerId peers[2];
    for (std::size_t queue = 0; queue < 2; ++queue) {
      const auto blobs = std::pair(*world.engine(0).export_queue(world.queue(0, queue)),
                                   *world.engine(1).export_queue(world.queue(1, queue)));
      ASSERT_TRUE(world.engine(1).connect(world.now(), world.queue(1, queue), blobs.first).ok());
      peers[queue] = *world.engine(0).connect(world.now(), world.queue(0, queue), blobs.second);
    }
    for (std::size_t queue = 0; queue < 2; ++queue) {
      for (int i = 0; i < 4; ++i) {
        auto request = request_of(world, queue, Verb::kWrite, 64);
        request.peer = peers[queue];
        ASSERT_EQ(post(world, queue, request), engine::PostStatus::kOk);
      }
    }
    world.run();
    EXPECT_EQ(finished(world).size(), 8u);
  }
}

// The peer's next life has one channel: what was under way on the others has ended with the old one, and does
// not end the new one later.
TEST(ChannelSpreading, ANewLifeWithFewerChannelsEndsAll) {
  UbConfig config = with_channels(4, ChannelSpread::kRequest);
  config.retransmission.attempts_max = 3;
  World world(config);
  Requests wire(world);
  wire.drop = [](const wire::Packet&) { return true; };
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(post(world, 0, request_of(world, 0, Verb::kWrite, 64)), engine::PostStatus::kOk);
  auto blob = decode_queue_blob(*world.engine(1).export_queue(world.queue(1)));
  ASSERT_TRUE(blob.ok());
  blob->channels = 1;
  ++blob->first_incarnation;
  ASSERT_TRUE(world.engine(0).connect(world.now(), world.queue(0), encode(*blob)).ok());
  world.pair().drain(0);
  EXPECT_EQ(world.pair().host(0).completions.size(), 8u);
  world.run();
  EXPECT_EQ(world.counters(0).channels_failed, 0u);
}

// While the memory of the target works on a Write, somebody there connects to the same jetty once more.
TEST(ChannelSpreading, AConnectionBesideAWriteOfRol) {
  UbConfig config;
  config.service = ServiceMode::kOrderedByTransport;
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(5);
  World world(config, options);
  ASSERT_EQ(post(world, 0, request_of(world, 0, Verb::kWrite, 64)), engine::PostStatus::kOk);
  world.pair().run_until([&] { return world.pair().host(1).delayed.next_time() != kNever; });
  ASSERT_TRUE(world.engine(1)
                  .connect(world.now(), world.queue(1), *world.engine(0).export_queue(world.queue(0)))
                  .ok());
  world.run();
  EXPECT_EQ(finished(world).size(), 1u);
}

// --- Spreading by packet

// [ns-3-UB] Every data packet has the next UDP source port, and its numbers are those of one channel.
TEST(ChannelSpreading, EachPacketTakesTheNextPath) {
  UbConfig config = with_channels(1, ChannelSpread::kPacket);
  config.mtu = 1024;
  config.segment_bytes = 65536;
  test::EnginePairOptions options;
  options.wire.jitter = microseconds(2);
  World world(config, options);
  Requests wire(world);
  world.fill(0, World::kLocal, 65536);
  ASSERT_TRUE(world.finish(request_of(world, 0, Verb::kWrite, 65536)).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 65536));
  ASSERT_GE(wire.seen.size(), 64u);
  EXPECT_EQ(wire.channels_of(world.queue(0)).size(), 1u);
  for (std::size_t i = 1; i < wire.seen.size(); ++i)
    EXPECT_EQ(wire.seen[i].entropy, wire.seen[i - 1].entropy + 1) << i;
  EXPECT_GE(wire.seen.front().entropy, 49152);
}

}  // namespace
}  // namespace wharf::ub
