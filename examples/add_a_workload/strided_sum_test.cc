// SPDX-License-Identifier: Apache-2.0
#include "examples/add_a_workload/strided_sum.h"

#include <gtest/gtest.h>

#include <memory>

#include "sim/scenario/two_hosts.h"

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

TEST(StridedSum, AStrideOfAWordFindsSevenOfEightInTheLine) {
  const auto mean = [](sim::Stack stack, std::uint64_t stride) {
    return simulate(stack, small_config(stride)).loop.latency.mean();
  };
  EXPECT_GT(mean(sim::Stack::kUbLoadStore, 64), 7 * mean(sim::Stack::kUbLoadStore, 8));
  EXPECT_LT(mean(sim::Stack::kUbUrma, 64), 1.01 * mean(sim::Stack::kUbUrma, 8)) << "no cache in front";
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

}  // namespace
}  // namespace wharf::examples
