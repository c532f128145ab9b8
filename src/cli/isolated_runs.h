// SPDX-License-Identifier: Apache-2.0
// Drawn runs in processes of their own, several at a time: one that dies or does not end is a finding, and
// the others go on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/chaos/verdict.h"

namespace wharf::cli {

class IsolatedRuns {
 public:
  /// At most `jobs` at a time. One that uses the processor for longer than `patience`, or waits for five
  /// times as long, is ended: the check "hang".
  IsolatedRuns(std::filesystem::path profiles, std::uint32_t jobs, std::chrono::seconds patience);
  ~IsolatedRuns();
  IsolatedRuns(const IsolatedRuns&) = delete;
  IsolatedRuns& operator=(const IsolatedRuns&) = delete;

  struct Ended {
    sim::DrawnRun run;
    sim::Verdict verdict;
  };

  bool full() const { return running_.size() >= jobs_; }
  bool empty() const { return running_.empty(); }
  /// Not while full().
  Result<void> start(const sim::DrawnRun& run);
  /// Waits for one of those that were started; not while empty(). None once `stop` is set.
  Result<std::optional<Ended>> next(const std::atomic<bool>& stop);

 private:
  struct Running {
    sim::DrawnRun run;
    int process = 0;
    int answer = -1;  ///< The verdict comes from here,
    int words = -1;   ///< and what the process says before it dies.
    std::string text;
    std::chrono::steady_clock::time_point started;
  };

  [[noreturn]] void judge(const sim::DrawnRun& run, int answer) const;
  Result<Ended> finish(std::size_t at, bool hangs);

  std::filesystem::path profiles_;
  std::uint32_t jobs_;
  std::chrono::seconds patience_;
  std::vector<Running> running_;
};

}  // namespace wharf::cli
