// SPDX-License-Identifier: Apache-2.0
#include "examples/add_a_workload/strided_sum.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "live/udp/live_remote.h"
#include "sim/two_hosts/two_hosts.h"

namespace wharf::examples {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr workload::Party kAlone{};

StridedSumConfig small_config(std::uint64_t stride) {
  StridedSumConfig config;
  config.loop.operations = 512;
  config.words = 512;
  config.stride = stride;
  return config;
}

std::uint64_t expected_sum(const StridedSumConfig& config) {
  std::uint64_t sum = 0;
  for (std::uint64_t word = 0; word < config.words; ++word) sum += workload::mix(kSeed, word, 0);
  return sum;
}

// guide: begin
StridedSumResult simulate(sim::Stack stack, const StridedSumConfig& config) {
  sim::TwoHostsConfig system;
  system.stack = stack;
  const std::unique_ptr<sim::TwoHosts> hosts = sim::TwoHosts::create(system).value();
  const Bytes size{memory_needed(config, kAlone)};
  const verbs::RemoteSegment segment = hosts->expose(1, size).value();
  prepare(config, kAlone, hosts->host(1).core().bytes(segment.base, size), kSeed);
  sim::SimRemote& remote = *hosts->connect(segment).value().near;

  StridedSumResult result;
  sim::SimCore& core = hosts->host(0).core();
  core.spawn(run(config, kAlone, kSeed, remote, core, result));
  hosts->run();
  EXPECT_TRUE(hosts->programs_ended());
  return result;
}

TEST(StridedSum, SumsTheSameWordsOnEveryStack) {
  const StridedSumConfig config = small_config(64);
  for (const auto& [name, stack] : sim::kStacks) {
    const StridedSumResult result = simulate(stack, config);
    EXPECT_EQ(result.sum, expected_sum(config)) << name;
    EXPECT_EQ(result.loop.verdict.checks, config.words) << name;
    EXPECT_TRUE(result.loop.verdict.holds()) << name;
  }
}
// guide: end

TEST(StridedSum, OnlyLoadsFindSevenOfEightWordsInTheLine) {
  const auto mean = [](sim::Stack stack, std::uint64_t stride) {
    const StridedSumResult result = simulate(stack, small_config(stride));
    EXPECT_EQ(result.loop.operations, 512U);
    return result.loop.latency.mean();
  };
  EXPECT_GT(mean(sim::Stack::kUbLoadStore, 64), 7 * mean(sim::Stack::kUbLoadStore, 8));
  EXPECT_LT(mean(sim::Stack::kUbUrma, 64), 1.01 * mean(sim::Stack::kUbUrma, 8));
}

TEST(StridedSum, ManyWorkersSumEachWordOnce) {
  StridedSumConfig config = small_config(64);
  config.loop.concurrency = 8;
  EXPECT_EQ(simulate(sim::Stack::kUbUrma, config).sum, expected_sum(config));
}

TEST(StridedSum, RefusesAStrideThatCutsWords) {
  EXPECT_FALSE(check(small_config(12), kAlone).ok());
  EXPECT_FALSE(check(small_config(0), kAlone).ok());
}

/// One end of a live pair in this process: an engine, a socket on the loopback interface, real memory.
struct LiveEnd {
  LiveEnd(std::uint32_t number, const live::LiveClock& clock)
      : host(make_engine(number), {number}, pool,
             std::make_unique<live::UdpSocket>(live::UdpSocket::open({0x7f00'0001, 0}).value()), clock, kSeed,
             {}) {
    queue = host.engine().create_queue(host.now(), {}).value();
  }
  std::unique_ptr<ub::UbEngine> make_engine(std::uint32_t number) {
    ub::UbConfig config;
    config.host = {number};
    return std::make_unique<ub::UbEngine>(ub::UbEngine::create(config, pool, arena).value());
  }
  /// Memory that the peer may use, as the segment that names it.
  verbs::RemoteSegment expose(Bytes size) {
    verbs::SegmentConfig config;
    config.base = host.core().allocate(size);
    config.length = size.count;
    const verbs::SegmentToken token = host.engine().register_segment(host.now(), config).value();
    return {config.base, config.length, token, config.rights};
  }
  verbs::PeerId connect(LiveEnd& other) {
    host.add_peer({other.host.engine().config().host}, other.host.port().local());
    return host.engine()
        .connect(host.now(), queue, other.host.engine().export_queue(other.queue).value())
        .value();
  }

  wire::PayloadPool pool;
  Arena arena;
  live::LiveHost<ub::UbEngine> host;
  verbs::QueueId queue = 0;
};

/// Runs the program from one end against the memory of the other; both take turns on this thread.
StridedSumResult run_live(const StridedSumConfig& config) {
  const live::LiveClock clock;
  LiveEnd near(0, clock);
  LiveEnd far(1, clock);
  const Bytes size{memory_needed(config, kAlone)};
  const verbs::RemoteSegment segment = far.expose(size);
  prepare(config, kAlone, far.host.core().bytes(segment.base, size), kSeed);
  const verbs::PeerId peer = near.connect(far);
  far.connect(near);

  // guide: begin
  StridedSumResult result;
  live::LiveRemote<ub::UbEngine> remote(near.host, near.queue, peer, segment);
  live::LiveCore& core = near.host.core();
  core.spawn(run(config, kAlone, kSeed, remote, core, result));
  while (!core.finished()) {
    near.host.step();
    far.host.step();
  }
  // guide: end
  return result;
}

TEST(StridedSum, SumsTheSameWordsLive) {
  const StridedSumConfig config = small_config(64);
  const StridedSumResult result = run_live(config);
  EXPECT_EQ(result.sum, expected_sum(config));
  EXPECT_EQ(result.loop.verdict.checks, config.words);
  EXPECT_TRUE(result.loop.verdict.holds());
}

}  // namespace
}  // namespace wharf::examples
