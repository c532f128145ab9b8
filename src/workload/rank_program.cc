// SPDX-License-Identifier: Apache-2.0
#include "workload/rank_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"

namespace wharf::workload {
namespace {

constexpr std::uint32_t kNobody = 0xffff'ffff;

std::string_view name(RankOpKind kind) {
  switch (kind) {
    case RankOpKind::kCalc:
      return "calc";
    case RankOpKind::kSend:
      return "send";
    case RankOpKind::kReceive:
      return "recv";
  }
  WHARF_CHECK(false);
}

/// A program run without time: what happens at all.
class DryRun {
 public:
  explicit DryRun(const RankProgram& program) : program_(program), states_(program.ops.size()) {
    for (std::uint32_t op = 0; op < states_.size(); ++op) {
      states_[op].needs = program.ops[op].needs;
      if (states_[op].needs == 0) pending_.push_back(op);
    }
    while (!pending_.empty()) {
      const std::uint32_t op = pending_.back();
      pending_.pop_back();
      start(op);
    }
  }

  /// An operation that has not ended, or kNobody.
  std::uint32_t stuck() const {
    const auto found =
        std::find_if(states_.begin(), states_.end(), [](const State& state) { return !state.ended; });
    return found == states_.end() ? kNobody : static_cast<std::uint32_t>(found - states_.begin());
  }

  /// Operations from `op` on, each of which waits for the next, and the last for one of them: that one is
  /// the second.
  std::pair<std::vector<std::uint32_t>, std::uint32_t> way_from(std::uint32_t op) const {
    std::vector<std::uint32_t> blocker(states_.size(), kNobody);
    for (std::uint32_t before = 0; before < states_.size(); ++before) {
      for (std::uint32_t a = program_.ops[before].after; a < program_.after_end(before); ++a) {
        const std::uint32_t next = program_.after[a];
        const bool happened = (next & kOnStart) != 0 ? states_[before].started : states_[before].ended;
        if (!happened) blocker[next & ~kOnStart] = before;
      }
    }
    std::vector<std::uint32_t> way;
    std::vector<bool> passed(states_.size(), false);
    while (!passed[op]) {
      passed[op] = true;
      way.push_back(op);
      // One that has started and not ended is a receive.
      op = states_[op].started ? program_.messages[program_.ops[op].message].send : blocker[op];
      WHARF_CHECK(op != kNobody);
    }
    return {std::move(way), op};
  }

 private:
  struct State {
    std::uint32_t needs = 0;
    bool started = false;
    bool ended = false;
    bool arrived = false;
  };

  void start(std::uint32_t op) {
    const RankOp& what = program_.ops[op];
    states_[op].started = true;
    release(op, true);
    if (what.kind != RankOpKind::kReceive || states_[op].arrived) end(op);
    if (what.kind != RankOpKind::kSend) return;
    const std::uint32_t receive = program_.messages[what.message].receive;
    states_[receive].arrived = true;
    if (states_[receive].started && !states_[receive].ended) end(receive);
  }
  void end(std::uint32_t op) {
    states_[op].ended = true;
    release(op, false);
  }
  void release(std::uint32_t op, bool started) {
    for (std::uint32_t a = program_.ops[op].after; a < program_.after_end(op); ++a) {
      const std::uint32_t next = program_.after[a];
      if (((next & kOnStart) != 0) == started && --states_[next & ~kOnStart].needs == 0)
        pending_.push_back(next & ~kOnStart);
    }
  }

  const RankProgram& program_;
  std::vector<State> states_;
  std::vector<std::uint32_t> pending_;
};

}  // namespace

std::uint32_t RankProgram::rank_of(std::uint32_t op) const {
  const auto next = std::upper_bound(first.begin(), first.end(), op);
  return static_cast<std::uint32_t>(next - first.begin() - 1);
}

TimePs RankProgram::calc_of(std::uint32_t rank) const {
  TimePs sum;
  for (std::uint32_t op = first[rank]; op < first[rank + 1]; ++op) sum += ops[op].time;
  return sum;
}

std::uint64_t RankProgram::memory_bytes() const {
  constexpr std::uint64_t kStateBytes = 16;
  constexpr std::uint64_t kRankBytes = 256;
  return ops.size() * (sizeof(RankOp) + kStateBytes) + after.size() * sizeof(std::uint32_t) +
         messages.size() * sizeof(RankMessage) + hosts.size() * kRankBytes;
}

void set_requirements(RankProgram& program, const std::vector<Requirement>& requirements) {
  std::vector<std::uint32_t> place(program.ops.size() + 1, 0);
  for (const Requirement& each : requirements) {
    ++place[each.before + 1];
    ++program.ops[each.op].needs;
  }
  for (std::size_t op = 1; op < place.size(); ++op) place[op] += place[op - 1];
  for (std::size_t op = 0; op < program.ops.size(); ++op) program.ops[op].after = place[op];
  program.after.resize(requirements.size());
  for (const Requirement& each : requirements)
    program.after[place[each.before]++] = each.on_start ? each.op | kOnStart : each.op;
}

Result<void> check_runs_to_end(const RankProgram& program, const std::string& file) {
  const DryRun run(program);
  if (run.stuck() == kNobody) return {};
  const auto [way, ring] = run.way_from(run.stuck());
  constexpr std::size_t kShownMost = 8;
  const auto told = [&program](std::uint32_t op) {
    return fmt::format("rank {}'s {} in line {}", program.rank_of(op), name(program.ops[op].kind),
                       program.ops[op].line);
  };
  std::string text;
  std::size_t shown = 0;
  for (auto each = std::find(way.begin(), way.end(), ring); each != way.end(); ++each) {
    if (++shown > kShownMost) {
      text += "... waits for ";
      break;
    }
    text += fmt::format("{} waits for ", told(*each));
  }
  return input_error(
      fmt::format("{}:{}:1: operations wait for one another in a ring: {}{}, expected a start for each", file,
                  program.ops[ring].line, text, told(ring)));
}

Result<void> scale_calc(RankProgram& program, double factor) {
  for (std::uint32_t rank = 0; rank < program.ranks(); ++rank) {
    const double sum = static_cast<double>(program.calc_of(rank).ps) * factor;
    if (sum > static_cast<double>(kRankCalcMax.ps)) {
      return input_error(fmt::format(
          "traffic.calc_scale: found {} with which rank {} computes for {:.0f} s, expected at most {} s",
          factor, rank, sum / 1e12, kRankCalcMax / seconds(1)));
    }
  }
  for (RankOp& op : program.ops)
    op.time = picoseconds(std::llround(static_cast<double>(op.time.ps) * factor));
  return {};
}

}  // namespace wharf::workload
