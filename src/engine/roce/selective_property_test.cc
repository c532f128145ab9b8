// SPDX-License-Identifier: Apache-2.0
// Selective repeat against Go-Back-N: the same program over wires that lose, double and overtake leaves the
// same memory and the same completions, whatever is drawn.
#include <map>

#include "base/random.h"
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::RocePair;
using test::RunEnd;
using verbs::Verb;

struct Outcome {
  std::vector<std::vector<std::byte>> memory;
  /// Of each host and queue, by kind: id, verb, status, length, value.
  std::map<std::tuple<std::uint32_t, engine::QueueId, verbs::CompletionKind>, std::vector<std::string>> told;
  std::uint64_t resent = 0;
  bool operator==(const Outcome& other) const { return memory == other.memory && told == other.told; }
};

constexpr std::uint64_t kTargets = 256 * 1024;   ///< What requests write and read, in turn, each place once.
constexpr std::uint64_t kReceives = 512 * 1024;  ///< Receive entries.
constexpr std::uint64_t kCounters = 768 * 1024;
constexpr std::uint32_t kQueues = 2;

void post_drawn(RocePair& world, RandomStream& random, std::uint32_t host, engine::QueueId queue,
                std::uint64_t& place) {
  constexpr std::array kVerbs{Verb::kRead,     Verb::kWrite,    Verb::kWriteImm, Verb::kSend, Verb::kSendImm,
                              Verb::kFetchAdd, Verb::kFetchAdd, Verb::kWrite,    Verb::kRead};
  const Verb verb = kVerbs[random.below(kVerbs.size())];
  const auto length = verbs::is_atomic(verb)
                          ? 8U
                          : static_cast<std::uint32_t>(random.below(random.below(4) == 0 ? 4000 : 600));
  // What hosts write and what they read lie apart, so that the result does not depend on time.
  const bool reads = verb == Verb::kRead;
  auto request = world.request(verb, place,
                               verbs::is_atomic(verb) ? kCounters + 8 * queue
                               : reads                ? 128 * 1024 + random.below(64) * 512
                                                      : kTargets + host * 128 * 1024 + place,
                               length, host);
  if (!reads) world.fill(host, place, length, static_cast<std::uint32_t>(request.id));
  if (verbs::is_atomic(verb)) request.operand = {random.below(100), 0};
  request.immediate = request.id;
  request.fence = random.below(8) == 0;
  place += 4096;
  world.pair.post(host, queue, request);
}

Outcome run(std::uint64_t seed, LossRecovery recovery) {
  RandomStream random(seed, "selective.property");
  RoceConfig config = test::small_packets();
  config.recovery = recovery;
  config.window_packets = std::vector<std::uint32_t>{1, 5, 16, 128}[random.below(4)];
  config.path_mtu = std::vector<std::uint32_t>{256, 512}[random.below(2)];
  config.transmit_ahead = 1U << random.below(6);
  config.responses_ahead = 1U << (2 + random.below(5));
  config.max_read_atomic = static_cast<std::uint8_t>(1 + random.below(4));
  config.min_rnr_timer = 1;
  config.queue_cache_entries = static_cast<std::uint32_t>(random.below(3) == 0);
  config.key_cache_entries = config.queue_cache_entries;
  config.advertise_credits = random.below(4) == 0;
  config.unlimited_retries = true;
  config.starting_psn = random.below(2) == 0 ? 100 : 0xffffe0;
  test::EnginePairOptions options;
  options.seed = seed;
  options.memory_bytes = 1U << 20U;
  options.wire.loss = Probability::from(0.02 * static_cast<double>(1 + random.below(6)));
  options.wire.duplicate = Probability::from(0.02 * static_cast<double>(random.below(4)));
  options.wire.reorder = Probability::from(0.03 * static_cast<double>(random.below(4)));
  if (random.below(2) == 1) {
    options.access_shortest = nanoseconds(20);
    options.access_longest = nanoseconds(900);
  }
  RocePair world(config, options, kQueues);
  for (std::uint32_t host = 0; host < 2; ++host) world.fill(host, 128 * 1024, 64 * 1024, 99 + host);
  std::uint64_t place[2] = {0, 0};
  for (std::uint32_t round = 0; round < 12; ++round) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto queue = static_cast<engine::QueueId>(random.below(kQueues));
      post_drawn(world, random, host, queue, place[host]);
    }
  }
  // Receives come late: some messages are refused first.
  for (std::uint32_t at = 0; at < 12; ++at) {
    if (at % 3 == 0) world.pair.run_to(world.pair.now() + microseconds(15));
    for (std::uint32_t host = 0; host < 2; ++host) {
      for (engine::QueueId queue = 0; queue < kQueues; ++queue)
        world.pair.post_receive(host, queue, world.receive(kReceives + (at * kQueues + queue) * 4096, 4096));
    }
  }
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone) << seed;
  EXPECT_EQ(world.pair.pool().in_use(), 0u) << seed;
  Outcome outcome;
  for (std::uint32_t host = 0; host < 2; ++host) {
    const auto bytes = world.pair.memory(host).at(RocePair::kBase, world.pair.memory(host).size());
    outcome.memory.emplace_back(bytes.begin(), bytes.end());
    for (const verbs::Completion& each : world.completions(host)) {
      outcome.told[{host, each.queue, each.kind}].push_back(
          std::to_string(each.id) + " " + std::string(verbs::name(each.verb)) + " " +
          std::to_string(static_cast<int>(each.status)) + " " + std::to_string(each.length) + " " +
          std::to_string(each.atomic_result[0]) + " " + std::to_string(each.immediate));
    }
    outcome.resent += world.pair.engine(host).counters().requests_resent;
  }
  return outcome;
}

TEST(RoceSelectiveProperty, MemoryAndCompletionsAreThoseOfGoBackN) {
  std::uint64_t by_going_back = 0;
  std::uint64_t selectively = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Outcome back = run(seed, LossRecovery::kGoBackN);
    const Outcome selective = run(seed, LossRecovery::kSelective);
    ASSERT_EQ(back.told, selective.told) << "seed " << seed;
    ASSERT_TRUE(back == selective) << "memory, seed " << seed;
    by_going_back += back.resent;
    selectively += selective.resent;
  }
  EXPECT_LT(selectively, by_going_back);
}

}  // namespace
}  // namespace wharf::roce
