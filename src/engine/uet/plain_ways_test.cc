// SPDX-License-Identifier: Apache-2.0
// The short ways of usual inputs against the general ones: two worlds run the same drawn program, and one of
// them knows no short ways. Packets, completions and memory are the same.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_world.h"
#include "wire/frame.h"

namespace wharf::uet {
namespace {

using verbs::Verb;

/// Queues of each host.
constexpr std::uint32_t kQueues = 3;
constexpr std::uint32_t kRegion = 64 * 1024;

std::vector<std::byte> frame_of(const wire::Packet& packet) {
  std::array<std::byte, 10'000> frame;
  const std::size_t length = wire::encode(packet, frame);
  return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length)};
}

UetConfig drawn_config(RandomStream& random) {
  UetConfig config;
  config.payload_mtu = random.below(2) == 0 ? 256 : 4096;
  config.fetch_ahead_packets = static_cast<std::uint32_t>(1 + random.below(16));
  config.default_mpr = static_cast<std::uint32_t>(1 + random.below(3));
  config.path_choice = static_cast<congestion::PathChoice>(random.below(6));
  config.max_ack_data_bytes = random.below(2) == 0 ? 16 : 64;
  config.ack_trigger_bytes = static_cast<std::uint32_t>(1024 + random.below(16'384));
  config.outbound_messages = random.below(4) == 0 ? 8 : 65535;
  config.packets_in_execution = random.below(4) == 0 ? 4 : 4096;
  config.stored_responses = random.below(4) == 0 ? 8 : 4096;
  config.one_sided_delivery = random.below(3) == 0 ? verbs::Delivery::kOrdered : verbs::Delivery::kUnordered;
  config.two_sided_delivery = random.below(3) == 0 ? verbs::Delivery::kUnordered : verbs::Delivery::kOrdered;
  config.medium_headers = random.below(6) == 0;
  config.small_headers = random.below(6) == 0;
  config.use_ri_generation = random.below(6) == 0;
  config.ack_per_packet = random.below(8) == 0;
  config.large_send = static_cast<LargeSend>(random.below(3));
  config.large_send_bytes = 512;
  config.message_retry_time = microseconds(40);
  config.rto_init = microseconds(60);
  config.max_rto_retries = random.below(4) == 0 ? 3 : kRtoRetriesForever;
  config.idle_timeout = random.below(2) == 0 ? microseconds(400) : milliseconds(5000);
  switch (random.below(5)) {
    case 0:
      config.congestion = CongestionControl::kNone;
      break;
    case 1:
      config.congestion = static_cast<CongestionControl>(random.below(4));
      [[fallthrough]];
    case 2:
      config.controller =
          congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4204, true);
      break;
    default:
      config.controller =
          congestion::ConstantWindowConfig{.packets = static_cast<std::uint32_t>(1 + random.below(64))};
  }
  return config;
}

test::EnginePairOptions drawn_wire(RandomStream& random, std::uint64_t seed) {
  constexpr double kPercents[] = {0, 0, 1, 8};
  test::EnginePairOptions options = faulty(seed, kPercents[random.below(4)]);
  options.copy_reads = random.below(2) == 0;
  if (random.below(2) == 0) options.packet_interval = nanoseconds(40);
  if (random.below(2) == 0) {
    options.access_shortest = nanoseconds(20);
    options.access_longest = nanoseconds(900);
  }
  if (random.below(4) == 0) {
    const auto rate = Probability::from(0.2);
    options.wire.transform = [rate](wire::Packet& packet, bool damaged, RandomStream& drawn,
                                    wire::PayloadPool&) {
      if (drawn.chance(rate)) packet.mark = wire::CongestionMark::kExperienced;
      return !damaged;
    };
  } else if (random.below(4) == 0) {
    trim_at(options.wire, 5);
  }
  return options;
}

/// One world, and everything that its hosts said on the wire.
struct Side {
  Side(const UetConfig& config, const test::EnginePairOptions& options) : world(config, options, kQueues) {
    world.pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      frames.push_back(frame_of(packet));
      return false;
    };
    for (const std::uint32_t host : {0U, 1U}) {
      auto bytes = world.pair().memory(host).at(World::kBase, World::kSize);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 31 + host + i / 97);
    }
  }
  World world;
  std::vector<std::vector<std::byte>> frames;
};

verbs::WorkRequest drawn_request(RandomStream& random, const Side& run, std::uint32_t host,
                                 std::uint32_t queue, std::uint64_t id, const UetConfig& config,
                                 World& world) {
  constexpr Verb kVerbs[] = {Verb::kWrite, Verb::kWrite,    Verb::kWrite,    Verb::kRead,
                             Verb::kSend,  Verb::kWriteImm, Verb::kFetchAdd, Verb::kSendImm};
  verbs::WorkRequest request;
  request.id = id;
  request.verb = kVerbs[random.below(8)];
  request.peer = run.world.peer(host, queue);
  request.remote = {World::kRemote + random.below(kRegion / 64) * 64, world.token(1 - host)};
  request.signaled = random.below(8) != 0;
  request.fence = random.below(20) == 0;
  if (random.below(20) == 0) request.remote.address += World::kSize;  // Refused.
  if (verbs::is_atomic(request.verb)) {
    request.operand[0] = 3;
    return request;
  }
  request.length = static_cast<std::uint32_t>(random.below(8) == 0 ? random.below(3 * config.payload_mtu)
                                                                   : random.below(200));
  const std::uint32_t first = random.below(6) == 0 ? request.length / 3 : request.length;
  request.local_count = first == request.length ? 1 : 2;
  request.local[0] = {World::kLocal + random.below(512) * 64, first};
  if (request.local_count == 2) request.local[1] = {World::kLocal + kRegion, request.length - first};
  if (verbs::is_send(request.verb)) request.remote = {};
  request.remote_complete = random.below(20) == 0;
  return request;
}

/// The same step in both worlds.
void step(RandomStream& random, const UetConfig& config, std::array<Side*, 2> runs, std::uint64_t id) {
  const auto host = static_cast<std::uint32_t>(random.below(2));
  const auto queue = static_cast<std::uint32_t>(random.below(kQueues));
  const std::uint64_t what = random.below(24);
  std::array<int, 2> ends{};
  if (what < 12) {
    const std::uint64_t count = random.below(4) == 0 ? 20 : 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto request = drawn_request(random, *runs[0], host, queue, id * 32 + i, config, runs[0]->world);
      const auto submission =
          random.below(10) == 0 ? engine::Submission::kDoorbell : engine::Submission::kInHand;
      const bool drains = random.below(2) == 0;
      for (std::size_t which = 0; which < 2; ++which) {
        World& world = runs[which]->world;
        ends[which] = static_cast<int>(
            drains ? world.pair().post(host, world.queue(host, queue), request, submission)
                   : world.engine(host).post(world.now(), world.queue(host, queue), request, submission));
      }
      ASSERT_EQ(ends[0], ends[1]);
    }
    for (Side* run : runs) run->world.pair().drain(host);
  } else if (what < 18) {
    verbs::ReceiveRequest receive;
    receive.id = id * 32;
    receive.local_count = 1;
    receive.local[0] = {World::kLocal + 2 * kRegion + random.below(256) * 64, 256};
    for (std::size_t which = 0; which < 2; ++which) {
      World& world = runs[which]->world;
      ends[which] = static_cast<int>(world.pair().post_receive(host, world.queue(host, queue), receive));
    }
    ASSERT_EQ(ends[0], ends[1]);
  } else if (what == 18 && random.below(8) == 0) {
    for (Side* run : runs) {
      World& world = run->world;
      ASSERT_TRUE(world.engine(host).fail_queue(world.now(), world.queue(host, queue)).ok());
      world.pair().drain(host);
      ASSERT_TRUE(world.engine(host).reset_queue(world.now(), world.queue(host, queue)).ok());
    }
  } else {
    const TimePs time = nanoseconds(static_cast<std::int64_t>(random.below(what < 22 ? 400 : 20'000)));
    for (Side* run : runs) run->world.pass(time);
  }
}

void compare(std::array<Side*, 2> runs) {
  ASSERT_EQ(runs[0]->frames.size(), runs[1]->frames.size());
  for (std::size_t i = 0; i < runs[0]->frames.size(); ++i)
    ASSERT_EQ(runs[0]->frames[i], runs[1]->frames[i]) << "frame " << i;
  EXPECT_EQ(runs[0]->world.pair().pool().in_use(), runs[1]->world.pair().pool().in_use());
  for (const std::uint32_t host : {0U, 1U}) {
    const auto& one = runs[0]->world.completions(host);
    const auto& other = runs[1]->world.completions(host);
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].id, other[i].id);
      EXPECT_EQ(one[i].status, other[i].status);
      EXPECT_EQ(one[i].length, other[i].length);
      EXPECT_EQ(one[i].verb, other[i].verb);
      EXPECT_EQ(one[i].queue, other[i].queue);
      EXPECT_EQ(one[i].immediate, other[i].immediate);
      EXPECT_EQ(one[i].atomic_result, other[i].atomic_result);
    }
    const auto memory = runs[0]->world.pair().memory(host).at(World::kBase, World::kSize);
    const auto same = runs[1]->world.pair().memory(host).at(World::kBase, World::kSize);
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), same.begin()));
    EXPECT_EQ(runs[0]->world.engine(host).deadline(), runs[1]->world.engine(host).deadline());
  }
}

TEST(UetPlainWays, DoWhatTheGeneralWaysDo) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed, "uet.plain_ways");
    const UetConfig config = drawn_config(random);
    const test::EnginePairOptions options = drawn_wire(random, seed);
    Side usual(config, options);
    Side general(config, options);
    for (const std::uint32_t host : {0U, 1U}) general.world.engine(host).forbid_short_ways();
    const std::array<Side*, 2> runs{&usual, &general};
    for (std::uint64_t id = 0; id < 150; ++id) {
      step(random, config, runs, id);
      if (testing::Test::HasFatalFailure()) return;
    }
    for (Side* run : runs) run->world.pass(milliseconds(3));
    compare(runs);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace wharf::uet
