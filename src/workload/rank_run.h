// SPDX-License-Identifier: Apache-2.0
// One rank of a program while it runs. It is told the time, and what became of its messages; it says which
// sends start and when it wants to be called next. No network in it.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "workload/rank_program.h"

namespace wharf::workload {

class RankRun {
 public:
  /// `program` outlives it.
  RankRun(const RankProgram& program, std::uint32_t rank);

  /// Everything up to `now` happens. The first call is the rank's start.
  void advance(TimePs now);
  /// The source of the flow has heard that it is done. Only for sends of this rank.
  void sent(TimePs now, std::uint32_t flow);
  /// All of the flow has arrived. Only for receives of this rank.
  void received(TimePs now, std::uint32_t flow);

  /// Flows that start now, in the order in which their sends became ready; the caller takes them.
  std::vector<std::uint32_t>& starting() { return starting_; }
  /// When advance() is wanted next: at the end of a computation, or at the start.
  TimePs next_time() const;
  /// Nothing starts any more.
  void stop() { stopped_ = true; }

  bool done() const { return left_ == 0; }
  TimePs finish() const { return finish_; }      ///< Of its last operation; kNever before.
  TimePs computed() const { return computed_; }  ///< Of all computations that have ended.
  /// What holds it up: the first operation that has not ended. For messages about runs that stall.
  std::string waiting() const;

 private:
  struct State {
    std::uint32_t needs = 0;
    bool started = false;
    bool ended = false;
    bool arrived = false;
  };
  using Timed = std::pair<TimePs, std::uint32_t>;  ///< An instant and an operation.
  template <typename T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  struct Cpu {
    bool busy = false;
    Earliest<Timed> ready{};  ///< By when they became ready, then as in the text.
  };

  const RankOp& op_at(std::uint32_t own) const { return program_->ops[first_ + own]; }
  void start(TimePs now, std::uint32_t own);
  void end(TimePs now, std::uint32_t own);
  void release(std::uint32_t own, bool started);
  /// Starts what has become ready, until nothing more does at this instant.
  void settle(TimePs now);
  void run_cpus(TimePs now);

  const RankProgram* program_;
  std::uint32_t first_;
  std::uint32_t left_;  ///< Operations that have not ended.
  bool begun_ = false;
  bool stopped_ = false;
  TimePs finish_ = kNever;
  TimePs computed_{};
  std::vector<State> states_;  ///< Operations are counted from the rank's first.
  std::vector<Cpu> cpus_;
  std::vector<std::uint32_t> woken_;  ///< Cpus to look at.
  Earliest<std::uint32_t> ready_;
  Earliest<Timed> running_;  ///< Computations, by their end.
  std::vector<std::uint32_t> starting_;
};

}  // namespace wharf::workload
