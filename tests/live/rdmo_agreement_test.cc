// SPDX-License-Identifier: Apache-2.0
// The same program and seed, simulated over an engine of wharf and live over UCX: with one client memory is
// the same byte for byte, with several the same records are there in each client's order.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "live/rdmo/rdmo_workload.h"
#include "sim/two_hosts/two_hosts.h"
#include "workload/rdmo.h"

namespace wharf {
namespace {

using workload::RdmoConfig;
using workload::RdmoUse;

constexpr std::uint64_t kSeed = 77;

/// Memory in the end; the worker is a core of the second host, all clients run on the first.
std::vector<std::byte> simulate(sim::Stack stack, const RdmoConfig& config, std::uint32_t clients) {
  sim::TwoHostsConfig system;
  system.stack = stack;
  const std::unique_ptr<sim::TwoHosts> hosts = sim::TwoHosts::create(system).value();
  const std::uint32_t parties = clients + 1;
  const workload::Party all{0, parties};
  const Bytes needed{memory_needed(config, all)};
  const verbs::RemoteSegment segment = hosts->expose(1, needed).value();
  const std::span<std::byte> region = hosts->host(1).core().bytes(segment.base, needed);
  prepare(config, all, region, kSeed);
  std::vector<std::vector<sim::SimRemote*>> tables(parties, std::vector<sim::SimRemote*>(parties));
  std::vector<std::uint64_t> own(parties, segment.base);
  for (std::uint32_t party = 0; party < parties; ++party) {
    if (party == 1) continue;
    const verbs::RemoteSegment back = hosts->expose(0, Bytes{own_memory_needed(config)}).value();
    const sim::RemotePair pair = hosts->connect(segment, back, 256).value();
    own[party] = back.base;
    tables[party][1] = pair.near;
    tables[1][party] = pair.far;
  }
  std::vector<workload::RdmoResult> results(parties);
  for (std::uint32_t party = 0; party < parties; ++party) {
    sim::SimCore& core = hosts->host(party == 1 ? 1 : 0).core();
    core.spawn(run(config, {party, parties}, kSeed, *(party == 1 ? tables[1][0] : tables[party][1]), core,
                   results[party], workload::Peers<sim::SimRemote>{tables[party], own[party]}));
  }
  hosts->run();
  EXPECT_TRUE(hosts->programs_ended());
  EXPECT_TRUE(verify(config, all, region, kSeed, results).holds());
  return {region.begin(), region.end()};
}

std::vector<std::byte> live(const RdmoConfig& config, std::uint32_t clients) {
  live::RdmoWorkloadConfig asked;
  asked.program = config;
  asked.clients = clients;
  asked.seed = kSeed;
  const std::atomic<bool> stop{false};
  const auto done = run_rdmo_workload(asked, stop);
  if (!done) {
    ADD_FAILURE() << done.error().message;
    return {};
  }
  EXPECT_TRUE(done->verdict.holds()) << describe(done->verdict);
  return done->memory;
}

RdmoConfig config_of(RdmoUse use, std::uint32_t batch) {
  RdmoConfig config;
  config.use = use;
  config.batch = batch;
  config.payload = 48;
  config.loop.operations = 300;
  config.loop.concurrency = 5;
  return config;
}

TEST(RdmoAgreement, OneClientLeavesTheSameBytes) {
  for (const RdmoUse use : {RdmoUse::kAppend, RdmoUse::kScatter, RdmoUse::kWriteAhead}) {
    for (const std::uint32_t batch : {1U, 8U}) {
      RdmoConfig config = config_of(use, batch);
      // Which worker of a client does how many scatters is a matter of time.
      if (use == RdmoUse::kScatter) config.loop.concurrency = 1;
      const std::vector<std::byte> over_ucx = live(config, 1);
      for (const sim::Stack stack : {sim::Stack::kRoceBlueFlame, sim::Stack::kUbUrma, sim::Stack::kUet})
        EXPECT_TRUE(simulate(stack, config, 1) == over_ucx) << static_cast<int>(use) << " batch " << batch;
    }
  }
}

TEST(RdmoAgreement, PublishedMessagesLeaveThemToo) {
  RdmoConfig config = config_of(RdmoUse::kAppend, 1);
  config.messages = workload::RdmoMessages::kPublished;
  config.flush_every = 4;
  EXPECT_EQ(simulate(sim::Stack::kRoceBlueFlame, config, 1), live(config, 1));
}

/// Record numbers by writer, in the order of their places.
std::map<std::uint32_t, std::vector<std::uint64_t>> by_writer(const RdmoConfig& config,
                                                              std::span<const std::byte> memory) {
  std::map<std::uint32_t, std::vector<std::uint64_t>> found;
  for (std::size_t at = workload::kRdmoData; at + config.payload <= memory.size(); at += config.payload) {
    const std::uint64_t number = load_le64(memory.data() + at);
    found[workload::sealed_value(load_le64(memory.data() + at + 8))].push_back(number);
  }
  return found;
}

TEST(RdmoAgreement, SeveralClientsLeaveTheSameRecordsInTheirOrder) {
  const RdmoConfig config = config_of(RdmoUse::kAppend, 2);
  const auto simulated = by_writer(config, simulate(sim::Stack::kUbUrma, config, 4));
  EXPECT_EQ(simulated.size(), 4U);
  EXPECT_EQ(simulated, by_writer(config, live(config, 4)));
}

}  // namespace
}  // namespace wharf
