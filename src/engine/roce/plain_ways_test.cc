// SPDX-License-Identifier: Apache-2.0
// The short ways of usual inputs against what may hold a request back or make a packet unusual, and against
// the general ways: the same drawn program gives the same packets at the same times, the same completions,
// the same counters and the same memory. An interface whose context cache is finite, though it has room for
// everything, goes no short way.
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"
#include "wire/frame.h"

namespace wharf::roce {
namespace {

using engine::Access;
using engine::AccessKind;
using engine::AccessResult;
using engine::PostStatus;
using engine::Submission;
using test::RocePair;
using verbs::Verb;

/// Answers the next access of `engine`, a read of 64 bytes.
void answer_read(TimePs now, RoceEngine& engine, const std::byte* bytes) {
  Access access;
  ASSERT_TRUE(engine.next_access(access));
  ASSERT_EQ(access.kind, AccessKind::kRead);
  AccessResult result;
  result.data = wire::bytes_payload(bytes, 64);
  engine.access_done(now, access.id, result);
}

// A packet that leaves makes room for the next request, whose entry is on its way.
TEST(RocePlainWays, RequestWaitsForItsEntryWhenThereIsRoomForItsPacket) {
  RoceConfig config;
  config.transmit_ahead = 1;
  RocePair world(config);
  RoceEngine& engine = world.pair.engine(0);
  const TimePs now = world.pair.now();
  const std::byte bytes[64] = {};
  wire::Packet packet;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(engine.post(now, 0, world.request(Verb::kWrite, 0, 4096, 64), Submission::kInHand),
              PostStatus::kOk);
    answer_read(now, engine, bytes);
    if (i == 1) {
      ASSERT_EQ(engine.post(now, 0, world.request(Verb::kWrite, 0, 4096, 64), Submission::kDoorbell),
                PostStatus::kOk);
    }
    ASSERT_TRUE(engine.transmit(now, 0, wire::kAllTrafficClasses, packet));
  }
  Access fetch;
  ASSERT_TRUE(engine.next_access(fetch));
  ASSERT_EQ(fetch.kind, AccessKind::kFetchWorkRequest);
  Access other;
  EXPECT_FALSE(engine.next_access(other));
  engine.access_done(now, fetch.id, {});
  answer_read(now, engine, bytes);
  EXPECT_TRUE(engine.transmit(now, 0, wire::kAllTrafficClasses, packet));
}

// With congestion control on, packets take the general way; their payload is kept until it is placed.
TEST(RocePlainWays, PacedQueuePairsPlaceTheirData) {
  RoceConfig config;
  config.min_time_between_cnps = microseconds(50);
  RocePair world(config);
  world.fill(0, 0, 64, 7);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64)), PostStatus::kOk);
  }
  EXPECT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 8u);
  EXPECT_TRUE(world.holds(1, 4096, 64, 7));
  EXPECT_EQ(world.pair.pool().in_use(), 0u);
}

struct Setting {
  const char* name;
  double percent;         ///< Of each fault of the wire.
  TimePs access_longest;  ///< Zero: memory answers at once.
  bool copy_reads;        ///< Payloads lie in buffers of the pool.
  std::uint32_t window;   ///< In packets.
  std::uint32_t access_slots;
  bool one_by_one;  ///< Each request has an acknowledgement of its own; credits are advertised.
};

/// Everything that a run shows.
struct Outcome {
  std::string packets;
  std::string completions;
  std::vector<std::byte> memory[2];
  Counters counters[2];
};

class Program {
 public:
  static constexpr std::uint32_t kQueues = 2;
  static constexpr std::uint64_t kBytes = 1U << 14U;

  Program(const Setting& setting, std::uint64_t seed, bool short_ways)
      : random_(seed, "plain_ways"),
        world_(config(setting, short_ways), options(setting, seed), kQueues,
               {.send_depth = 32, .receive_depth = 32}) {
    world_.pair.wire().options().drop_if = [this](const wire::Packet& packet) {
      note(packet);
      return false;
    };
    for (std::uint32_t host = 0; host < 2; ++host) world_.fill(host, 0, kBytes, host + 1);
  }

  Outcome run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const auto host = static_cast<std::uint32_t>(random_.below(2));
      const auto queue = static_cast<engine::QueueId>(random_.below(kQueues));
      const std::uint64_t burst = 1 + random_.below(16);
      for (std::uint64_t i = 0; i < burst; ++i) post_receive(1 - host, queue);
      for (std::uint64_t i = 0; i < burst; ++i) post(host, queue);
      if (random_.below(60) == 0) fail_and_connect(host, queue);
      if (random_.below(3) != 0)
        world_.pair.run_to(world_.pair.now() + nanoseconds(static_cast<std::int64_t>(random_.below(3000))));
    }
    EXPECT_EQ(world_.pair.run_until_idle(), test::RunEnd::kDone);
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (const verbs::Completion& each : world_.completions(host)) note(host, each);
      const auto bytes = world_.pair.memory(host).at(RocePair::kBase, kBytes);
      outcome_.memory[host].assign(bytes.begin(), bytes.end());
      outcome_.counters[host] = world_.pair.engine(host).counters();
    }
    EXPECT_EQ(world_.pair.pool().in_use(), 0u);
    return std::move(outcome_);
  }

 private:
  static RoceConfig config(const Setting& setting, bool short_ways) {
    RoceConfig made;
    made.path_mtu = 256;
    made.window_packets = setting.window;
    made.access_slots = setting.access_slots;
    made.ack_timeout = 3;
    made.retry_count = 7;
    made.rnr_retry = 3;  // Not every Send finds a receive entry, nor every packet a queue pair that listens.
    made.min_rnr_timer = 1;
    made.transmit_ahead = 16;
    made.acknowledge_every_request = made.advertise_credits = setting.one_by_one;
    made.queue_cache_entries = short_ways ? 0 : 64;
    return made;
  }
  static test::EnginePairOptions options(const Setting& setting, std::uint64_t seed) {
    test::EnginePairOptions made;
    made.seed = seed;
    made.access_longest = setting.access_longest;
    made.copy_reads = setting.copy_reads;
    made.packet_interval = setting.access_longest == kTimeZero ? kTimeZero : nanoseconds(20);
    made.wire.loss = made.wire.duplicate = made.wire.reorder = Probability::from(setting.percent / 100);
    return made;
  }

  bool rarely() { return random_.below(20) == 0; }
  std::uint64_t place() { return 8 * random_.below(kBytes / 8 - 128); }

  void post_receive(std::uint32_t host, engine::QueueId queue) {
    if (rarely()) return;
    verbs::ReceiveRequest receive = world_.receive(place(), 1024);
    if (rarely()) {
      receive.local_count = 2;
      receive.local[1] = {RocePair::kBase + place(), 64};
    }
    note(world_.pair.post_receive(host, queue, receive));
  }

  void post(std::uint32_t host, engine::QueueId queue) {
    static constexpr Verb kUsual[] = {Verb::kWrite, Verb::kWrite, Verb::kSend, Verb::kRead, Verb::kFetchAdd};
    static constexpr Verb kOthers[] = {Verb::kWriteImm, Verb::kSendImm, Verb::kCompareSwap};
    const Verb verb = rarely() ? kOthers[random_.below(3)] : rarely() ? kUsual[random_.below(5)] : verb_;
    if (rarely()) verb_ = kUsual[random_.below(5)];
    const std::uint32_t length = verbs::is_atomic(verb) ? 8
                                 : rarely()             ? static_cast<std::uint32_t>(random_.below(1000))
                                                        : 64;
    verbs::WorkRequest request = world_.request(verb, place(), place(), length, host);
    request.operation = {request.id};
    request.operand[0] = 3;
    request.immediate = random_.below(100);
    request.signaled = !rarely();
    request.fence = rarely();
    request.solicited = rarely();
    if (random_.below(1000) == 0) request.remote.token.id += 1;
    if (rarely() && length > 16 && !verbs::is_atomic(verb)) {
      request.local_count = 2;
      request.local[0].length = 16;
      request.local[1] = {RocePair::kBase + place(), length - 16};
    }
    const auto how = rarely() ? Submission::kDoorbell : Submission::kInHand;
    note(world_.pair.post(host, queue, request, how));
  }

  void fail_and_connect(std::uint32_t host, engine::QueueId queue) {
    EXPECT_TRUE(world_.pair.engine(host).fail_queue(world_.pair.now(), queue).ok());
    world_.pair.drain(host);
    for (std::uint32_t each = 0; each < 2; ++each) {
      EXPECT_TRUE(world_.pair.engine(each).reset(world_.pair.now(), queue).ok());
      world_.pair.drain(each);
    }
    world_.connect(queue);
  }

  void note(PostStatus status) { outcome_.completions += std::to_string(static_cast<int>(status)); }
  void note(const wire::Packet& packet) {
    std::byte frame[2048];
    const std::size_t length = wire::encode(packet, frame);
    outcome_.packets += std::to_string(world_.pair.now().ps) + ' ' + std::to_string(packet.header_bytes) +
                        ' ' + std::to_string(packet.operation.value) + ' ';
    outcome_.packets.append(reinterpret_cast<const char*>(frame), length);
    outcome_.packets += '\n';
  }
  void note(std::uint32_t host, const verbs::Completion& each) {
    for (const std::uint64_t value :
         {std::uint64_t{host}, each.id, static_cast<std::uint64_t>(each.status),
          static_cast<std::uint64_t>(each.verb), static_cast<std::uint64_t>(each.kind),
          std::uint64_t{each.length}, std::uint64_t{each.queue}, std::uint64_t{each.remote_queue},
          each.immediate, each.atomic_result[0], std::uint64_t{each.solicited}, each.operation.value}) {
      outcome_.completions += std::to_string(value) + ' ';
    }
    outcome_.completions += '\n';
  }

  RandomStream random_;
  RocePair world_;
  Verb verb_ = Verb::kWrite;
  Outcome outcome_;
};

class RocePlainPrograms : public ::testing::TestWithParam<Setting> {};

TEST_P(RocePlainPrograms, DoWhatTheGeneralWaysDo) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const Outcome taken = Program(GetParam(), seed, true).run(120);
    const Outcome avoided = Program(GetParam(), seed, false).run(120);
    EXPECT_TRUE(taken.packets == avoided.packets);
    EXPECT_EQ(taken.completions, avoided.completions);
    for (int host = 0; host < 2; ++host) {
      EXPECT_TRUE(taken.memory[host] == avoided.memory[host]);
      EXPECT_EQ(std::memcmp(&taken.counters[host], &avoided.counters[host], sizeof(Counters)), 0);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, RocePlainPrograms,
                         ::testing::Values(Setting{"at_once", 0, kTimeZero, false, 128, 512, false},
                                           Setting{"copied", 0, kTimeZero, true, 128, 512, false},
                                           Setting{"slow_memory", 0, nanoseconds(400), false, 128, 512,
                                                   false},
                                           Setting{"narrow", 0, nanoseconds(400), false, 8, 64, false},
                                           Setting{"one_by_one", 0, nanoseconds(400), false, 128, 512, true},
                                           Setting{"lossy", 2, nanoseconds(400), false, 128, 512, false}),
                         [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace wharf::roce
