// SPDX-License-Identifier: Apache-2.0
#include "workload/rank_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace wharf::workload {

RankRun::RankRun(const RankProgram& program, std::uint32_t rank)
    : program_(&program),
      first_(program.first[rank]),
      left_(program.first[rank + 1] - first_),
      states_(left_) {
  for (std::uint32_t own = 0; own < states_.size(); ++own) {
    states_[own].needs = op_at(own).needs;
    if (op_at(own).kind == RankOpKind::kCalc)
      cpus_.resize(std::max<std::size_t>(cpus_.size(), op_at(own).cpu + std::size_t{1}));
  }
}

void RankRun::advance(TimePs now) {
  if (stopped_) return;
  if (!begun_) {
    begun_ = true;
    if (left_ == 0) finish_ = now;
    for (std::uint32_t own = 0; own < states_.size(); ++own) {
      if (states_[own].needs == 0) ready_.push(own);
    }
    settle(now);
  }
  while (!running_.empty() && running_.top().first <= now) {
    const auto [at, own] = running_.top();
    running_.pop();
    computed_ += op_at(own).time;
    cpus_[op_at(own).cpu].busy = false;
    woken_.push_back(op_at(own).cpu);
    end(at, own);
    // All that end at one instant have ended before anything that waits for them starts.
    if (running_.empty() || running_.top().first != at) settle(at);
  }
}

void RankRun::sent(TimePs now, std::uint32_t flow) {
  if (stopped_) return;
  end(now, program_->messages[flow].send - first_);
  settle(now);
}

void RankRun::received(TimePs now, std::uint32_t flow) {
  if (stopped_) return;
  const std::uint32_t own = program_->messages[flow].receive - first_;
  WHARF_CHECK(own < states_.size() && !states_[own].arrived);
  states_[own].arrived = true;
  if (states_[own].started) end(now, own);
  settle(now);
}

TimePs RankRun::next_time() const {
  if (stopped_) return kNever;
  if (!begun_) return kTimeZero;
  return running_.empty() ? kNever : running_.top().first;
}

std::string RankRun::waiting() const {
  const auto found =
      std::find_if(states_.begin(), states_.end(), [](const State& state) { return !state.ended; });
  if (found == states_.end()) return "nothing";
  const RankOp& op = op_at(static_cast<std::uint32_t>(found - states_.begin()));
  constexpr std::string_view kNames[] = {"calc", "send", "recv"};
  return fmt::format("the {} in line {}, which has {}", kNames[static_cast<std::size_t>(op.kind)], op.line,
                     found->started ? "started" : "not started");
}

void RankRun::start(TimePs now, std::uint32_t own) {
  const RankOp& op = op_at(own);
  if (op.kind == RankOpKind::kCalc) {
    cpus_[op.cpu].ready.emplace(now, own);
    woken_.push_back(op.cpu);
    return;
  }
  states_[own].started = true;
  if (op.kind == RankOpKind::kSend) starting_.push_back(op.message);
  release(own, true);
  if (op.kind == RankOpKind::kReceive && states_[own].arrived) end(now, own);
}

void RankRun::end(TimePs now, std::uint32_t own) {
  WHARF_CHECK(own < states_.size() && states_[own].started && !states_[own].ended);
  states_[own].ended = true;
  if (--left_ == 0) finish_ = now;
  release(own, false);
}

void RankRun::release(std::uint32_t own, bool started) {
  const std::uint32_t op = first_ + own;
  for (std::uint32_t a = program_->ops[op].after; a < program_->after_end(op); ++a) {
    const std::uint32_t next = program_->after[a];
    if (((next & kOnStart) != 0) != started) continue;
    const std::uint32_t waiting = (next & ~kOnStart) - first_;
    if (--states_[waiting].needs == 0) ready_.push(waiting);
  }
}

void RankRun::settle(TimePs now) {
  do {
    while (!ready_.empty()) {
      const std::uint32_t own = ready_.top();
      ready_.pop();
      start(now, own);
    }
    run_cpus(now);
  } while (!ready_.empty());
}

void RankRun::run_cpus(TimePs now) {
  // Computations that take no time make more ready, of this cpu too.
  for (std::size_t i = 0; i < woken_.size(); ++i) {
    Cpu& cpu = cpus_[woken_[i]];
    if (cpu.busy || cpu.ready.empty()) continue;
    const std::uint32_t own = cpu.ready.top().second;
    cpu.ready.pop();
    states_[own].started = true;
    release(own, true);
    if (op_at(own).time == kTimeZero) {
      end(now, own);
      woken_.push_back(woken_[i]);
      continue;
    }
    cpu.busy = true;
    // Later than any run can go on, if need be; never "not at all".
    const TimePs longest = kNever - picoseconds(1) - now;
    running_.emplace(now + min(op_at(own).time, longest), own);
  }
  woken_.clear();
}

}  // namespace wharf::workload
