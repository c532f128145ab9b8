// SPDX-License-Identifier: Apache-2.0
// Runs all parties of a program on the fake runtime and checks the memory afterwards.
#pragma once

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

/// `tamper`, if given, changes the prepared memory before the run.
inline FakeRun fake_run(const WorkloadConfig& config, std::uint32_t parties = 1,
                        const FakeFaults& faults = {}, std::uint64_t seed = 1,
                        void (*tamper)(std::span<std::byte>) = nullptr) {
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
