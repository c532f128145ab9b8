// SPDX-License-Identifier: Apache-2.0
// The short ways of express.cc against the layers: the same drawn program gives the same packets at the same
// times, the same completions and the same memory. A tracer, which wants to know of every step, keeps an
// engine off the short ways. Memory answers at once and windows are wide: where messages wait for one
// another, the two may take turns in another order.
#include <string>
#include <vector>

#include "engine/ub/ub_engine.h"
#include "tests/support/ub_world.h"
#include "trace/tracer.h"
#include "wire/frame.h"

namespace wharf::ub {
namespace {

using verbs::Verb;

struct Setting {
  const char* name;
  LossRecovery recovery;
  double percent;  ///< Of each fault of the wire.
  std::uint32_t window;
  std::uint32_t acknowledge_every;
  std::uint32_t channels = 1;
  engine::ServiceMode service = engine::ServiceMode::kOrderedByInitiator;
};

/// Everything that a run shows, as text.
struct Outcome {
  std::string packets;
  std::string completions;
  std::vector<std::byte> memory[2];
};

class Program {
 public:
  Program(const Setting& setting, std::uint64_t seed, bool short_ways)
      : random_(seed, "short_ways"),
        world_(config(setting, short_ways ? nullptr : &tracer_), options(setting, seed), 2) {
    world_.pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      note(packet);
      return false;
    };
    for (std::uint32_t host = 0; host < 2; ++host) world_.fill(host, World::kBase, World::kSize, host);
  }

  Outcome run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const auto host = static_cast<std::uint32_t>(random_.below(2));
      if (random_.below(3) != 0) post_receive(host, i);
      post(host, i);
      if (random_.below(200) == 0) fail_and_reset(host);
      if (random_.below(4) == 0)
        world_.pair().run_to(world_.now() + nanoseconds(static_cast<std::int64_t>(random_.below(2000))));
    }
    world_.run();
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (const verbs::Completion& each : world_.pair().host(host).completions) note(host, each);
      const auto bytes = world_.pair().memory(host).at(World::kBase, World::kSize);
      outcome_.memory[host].assign(bytes.begin(), bytes.end());
    }
    EXPECT_EQ(world_.pair().pool().in_use(), 0u);
    return std::move(outcome_);
  }

 private:
  static UbConfig config(const Setting& setting, trace::Tracer* tracer) {
    UbConfig made;
    made.recovery = setting.recovery;
    made.mtu = 256;
    made.segment_bytes = 1024;
    made.send_window = setting.window;
    made.receive_window = 64;
    made.retransmission = {
        .base = microseconds(10), .cap = microseconds(200), .attempts_max = reliability::kUnlimitedAttempts};
    made.min_rnr_timer = 1;
    made.rnr_retry = 3;  // Not every Send finds a receive entry.
    made.acknowledge_every = setting.acknowledge_every;
    made.channels = setting.channels;
    made.service = setting.service;
    made.tracer = tracer;
    return made;
  }
  static test::EnginePairOptions options(const Setting& setting, std::uint64_t seed) {
    return faulty(seed, setting.percent);
  }

  std::uint64_t place() { return World::kBase + 64 * random_.below(World::kSize / 64 - 64); }

  void post_receive(std::uint32_t host, int i) {
    verbs::ReceiveRequest receive;
    receive.id = static_cast<std::uint64_t>(i);
    receive.local_count = static_cast<std::uint8_t>(random_.below(8) == 0 ? 2 : 1);
    for (std::uint8_t part = 0; part < receive.local_count; ++part)
      receive.local[part] = {place(), random_.below(16) == 0 ? 16U : 512U};
    world_.pair().post_receive(host, world_.queue(host, random_.below(2)), receive);
  }

  void post(std::uint32_t host, int i) {
    static constexpr Verb kUsual[] = {Verb::kWrite, Verb::kRead, Verb::kSend, Verb::kFetchAdd};
    static constexpr Verb kOthers[] = {Verb::kWriteImm, Verb::kWriteNotify, Verb::kSendImm,
                                       Verb::kCompareSwap, Verb::kSwap};
    const auto rarely = [this] { return random_.below(20) == 0; };
    const std::size_t queue = random_.below(2);
    const verbs::SegmentToken token = world_.token(1 - host);
    verbs::WorkRequest request;
    request.id = static_cast<std::uint64_t>(i);
    request.verb = rarely() ? kOthers[random_.below(5)] : kUsual[random_.below(4)];
    request.peer = world_.peer(host, queue);
    request.signaled = !rarely();
    request.fence = rarely();
    request.solicited = rarely();
    request.completion_in_order = !rarely();
    if (rarely()) request.order = static_cast<verbs::OrderTag>(random_.below(3));
    request.remote = {place(), token};
    if (rarely()) request.remote.token.value += 1;
    request.notify = {place(), token};
    request.operand[0] = 3;
    const std::uint32_t length =
        rarely() ? 0 : static_cast<std::uint32_t>(random_.below(rarely() ? 900 : 256));
    request.local_count = static_cast<std::uint8_t>(rarely() ? 2 : 1);
    if (verbs::is_atomic(request.verb)) {
      request.width = rarely() ? 4 : 8;
      request.local_count = static_cast<std::uint8_t>(random_.below(2));
      request.local[0] = {place(), 8};
    } else {
      request.length = length;
      const std::uint32_t first = request.local_count == 1 ? length : length / 2;
      request.local[0] = {place(), first};
      request.local[1] = {place(), length - first};
    }
    const auto how = random_.below(4) == 0 ? engine::Submission::kDoorbell : engine::Submission::kInHand;
    outcome_.completions +=
        std::to_string(static_cast<int>(world_.pair().post(host, world_.queue(host, queue), request, how)));
  }

  void fail_and_reset(std::uint32_t host) {
    const engine::QueueId queue = world_.queue(host, random_.below(2));
    EXPECT_TRUE(world_.engine(host).fail_queue(world_.now(), queue).ok());
    world_.pair().drain(host);
    world_.run();
    EXPECT_TRUE(world_.engine(host).reset_queue(world_.now(), queue).ok());
    world_.pair().drain(host);
  }

  void note(const wire::Packet& packet) {
    std::byte frame[2048];
    const std::size_t length = wire::encode(packet, frame);
    outcome_.packets += std::to_string(world_.now().ps) + ' ' + std::to_string(packet.header_bytes) + ' ';
    outcome_.packets.append(reinterpret_cast<const char*>(frame), length);
    outcome_.packets += '\n';
  }

  void note(std::uint32_t host, const verbs::Completion& each) {
    for (const std::uint64_t value :
         {std::uint64_t{host}, each.id, static_cast<std::uint64_t>(each.status),
          static_cast<std::uint64_t>(each.verb), static_cast<std::uint64_t>(each.kind),
          std::uint64_t{each.length}, std::uint64_t{each.queue}, std::uint64_t{each.remote_queue},
          each.immediate, each.atomic_result[0], each.atomic_result[1], std::uint64_t{each.solicited}}) {
      outcome_.completions += std::to_string(value) + ' ';
    }
    outcome_.completions += '\n';
  }

  RandomStream random_;
  trace::Tracer tracer_;
  World world_;
  Outcome outcome_;
};

class UbShortWays : public ::testing::TestWithParam<Setting> {};

TEST_P(UbShortWays, DoWhatTheLayersDo) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const Outcome taken = Program(GetParam(), seed, true).run(400);
    const Outcome avoided = Program(GetParam(), seed, false).run(400);
    EXPECT_TRUE(taken.packets == avoided.packets);
    EXPECT_EQ(taken.completions, avoided.completions);
    EXPECT_TRUE(taken.memory[0] == avoided.memory[0] && taken.memory[1] == avoided.memory[1]);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, UbShortWays,
                         ::testing::Values(Setting{"clean", LossRecovery::kSelective, 0, 1024, 1},
                                           Setting{"clean_coalescing", LossRecovery::kGoBackN, 0, 1024, 16},
                                           Setting{"lossy", LossRecovery::kSelective, 3, 1024, 1},
                                           Setting{"channels", LossRecovery::kSelective, 0, 1024, 1, 2},
                                           Setting{"lossy_channels", LossRecovery::kSelective, 3, 1024, 1, 2},
                                           Setting{"rol", LossRecovery::kSelective, 0, 1024, 1, 1,
                                                   engine::ServiceMode::kOrderedByTransport},
                                           Setting{"lossy_rol", LossRecovery::kSelective, 3, 1024, 4, 1,
                                                   engine::ServiceMode::kOrderedByTransport}),
                         [](const auto& each) { return each.param.name; });

// What the short ways keep about the peer that a jetty asked last is forgotten with the peer, whoever
// imported it.
TEST(UbShortWaysPeers, AreAskedInTurnAndForgotten) {
  World world({}, {}, 2);
  std::vector<verbs::PeerId> peers = {world.peer(0, 0), world.peer(0, 1)};
  for (int i = 0; i < 20; ++i) {
    verbs::WorkRequest request = world.request(Verb::kWrite, 64);
    request.peer = peers[static_cast<std::size_t>(i) % 2];
    EXPECT_TRUE(world.finish(request).ok());
  }
  verbs::WorkRequest request = world.request(Verb::kWrite, 64);
  request.peer = peers[1];
  EXPECT_TRUE(world.finish(request).ok());
  ASSERT_TRUE(world.engine(0).disconnect(world.now(), world.queue(0, 1), peers[1]).ok());
  EXPECT_EQ(world.post(request), engine::PostStatus::kBadRequest);
  request.peer = peers[0];
  EXPECT_TRUE(world.finish(request).ok());
}

}  // namespace
}  // namespace wharf::ub
