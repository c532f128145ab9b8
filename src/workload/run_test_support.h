// SPDX-License-Identifier: Apache-2.0
// Runs all parties of a program on the fake runtime and checks the memory afterwards.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "workload/fake_runtime_test_support.h"
#include "workload/workload.h"

namespace wharf::workload {

/// What a run left behind. The verdict joins what the parties noted and what the memory shows.
struct FakeRun {
  Verdict verdict;
  std::vector<WorkloadResult> results;
  std::vector<std::vector<verbs::OperationRecord>> records;  ///< By party.
  FakeTarget target;
  std::size_t unfinished = 0;  ///< Coroutines that never ended.
  TimePs ended;

  template <typename ProgramResult>
  const ProgramResult& result(std::size_t party = 0) const {
    return std::get<ProgramResult>(results[party]);
  }
  std::uint64_t operations() const {
    std::uint64_t sum = 0;
    for (const WorkloadResult& each : results) sum += loop_result(each).operations;
    return sum;
  }
};

/// A program whose parties reach each other's memory, which `outcome.target` does not show.
inline FakeRun fake_run_of_peers(const WorkloadConfig& config, std::uint32_t parties,
                                 const FakeFaults& faults, std::uint64_t seed) {
  FakeRun outcome;
  FakeScheduler scheduler(seed);
  std::vector<std::unique_ptr<FakeCore>> cores;
  std::deque<FakeTarget> targets(parties);
  std::vector<std::uint64_t> own;
  for (std::uint32_t party = 0; party < parties; ++party) {
    const Party self{party, parties};
    WHARF_CHECK(check(config, self).ok());
    const Bytes length{region_offset(config) + memory_needed(config, self)};
    cores.push_back(std::make_unique<FakeCore>(scheduler));
    own.push_back(cores[party]->allocate(length));
    targets[party].elsewhere = cores[party]->bytes(own[party], length);
    prepare(config, self, targets[party].elsewhere.subspan(region_offset(config)), seed);
    outcome.results.push_back(empty_result(config));
  }
  std::deque<FakeRemote> remotes;
  std::vector<std::vector<FakeRemote*>> tables(parties, std::vector<FakeRemote*>(parties));
  for (std::uint32_t party = 0; party < parties; ++party) {
    for (const std::uint32_t peer : neighbours(config, {party, parties}))
      tables[party][peer] = &remotes.emplace_back(scheduler, *cores[party], targets[peer], faults);
  }
  for (std::uint32_t party = 0; party < parties; ++party) {
    const std::vector<std::uint32_t> others = neighbours(config, {party, parties});
    for (const std::uint32_t peer : others) tables[party][peer]->connect(*tables[peer][party]);
    cores[party]->spawn(run(config, Party{party, parties}, seed, *tables[party][others.front()],
                            *cores[party], outcome.results[party],
                            Peers<FakeRemote>{tables[party], own[party]}));
  }
  scheduler.run();
  outcome.ended = scheduler.now();
  for (std::uint32_t party = 0; party < parties; ++party) {
    outcome.unfinished += cores[party]->unfinished();
    outcome.records.push_back(cores[party]->records);
    // What one party noted is in the sum of each; it counts once.
    Verdict own_memory =
        verify(config, {party, parties}, targets[party].elsewhere.subspan(region_offset(config)), seed,
               outcome.results);
    outcome.verdict += own_memory;
  }
  return outcome;
}

/// `tamper`, if given, changes the prepared memory before the run.
inline FakeRun fake_run(const WorkloadConfig& config, std::uint32_t parties = 1,
                        const FakeFaults& faults = {}, std::uint64_t seed = 1,
                        void (*tamper)(std::span<std::byte>) = nullptr) {
  if (arrangement(config) == Arrangement::kPeers) return fake_run_of_peers(config, parties, faults, seed);
  FakeRun outcome;
  FakeScheduler scheduler(seed);
  const Party all{0, parties};
  WHARF_CHECK(check(config, all).ok());
  const std::uint64_t offset = region_offset(config);
  outcome.target.memory.resize(offset + memory_needed(config, all));
  const std::span<std::byte> region = std::span<std::byte>(outcome.target.memory).subspan(offset);
  prepare(config, all, region, seed);
  if (tamper != nullptr) tamper(region);
  outcome.target.at_begin = outcome.target.memory;

  std::vector<std::unique_ptr<FakeCore>> cores;
  std::vector<std::unique_ptr<FakeRemote>> remotes;
  for (std::uint32_t party = 0; party < parties; ++party) {
    cores.push_back(std::make_unique<FakeCore>(scheduler));
    remotes.push_back(std::make_unique<FakeRemote>(scheduler, *cores[party], outcome.target, faults));
    outcome.results.push_back(empty_result(config));
  }
  for (std::uint32_t party = 0; party < parties; ++party) {
    WHARF_CHECK(check_remote(config, all, *remotes[party]).ok());
    remotes[party]->connect(*remotes[(party + 1) % parties]);
    cores[party]->spawn(
        run(config, Party{party, parties}, seed, *remotes[party], *cores[party], outcome.results[party]));
  }
  scheduler.run();
  outcome.ended = scheduler.now();
  for (const auto& core : cores) {
    outcome.unfinished += core->unfinished();
    outcome.records.push_back(core->records);
  }
  outcome.verdict = verify(config, all, region, seed, outcome.results);
  return outcome;
}

}  // namespace wharf::workload
