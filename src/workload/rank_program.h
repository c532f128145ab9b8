// SPDX-License-Identifier: Apache-2.0
// What ranks do, as a schedule: computations, sends and receives, and which of them wait for which. Sends are
// flows of the list that the program belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wharf::workload {

inline constexpr std::uint32_t kRankOpsMax = 1U << 24U;
inline constexpr std::uint32_t kRequirementsMax = 1U << 25U;
inline constexpr std::uint32_t kRankCpusMax = 256;
/// All computation of one rank together.
inline constexpr TimePs kRankCalcMax = seconds(1'000'000);
/// In RankProgram::after: when the operation starts, not when it ends.
inline constexpr std::uint32_t kOnStart = 0x8000'0000;

enum class RankOpKind : std::uint8_t { kCalc, kSend, kReceive };

struct RankOp {
  RankOpKind kind = RankOpKind::kCalc;
  std::uint8_t cpu = 0;       ///< Of a calc; those of one cpu run one after the other.
  std::uint32_t message = 0;  ///< Of a send or receive: the flow that carries it.
  TimePs time{};              ///< Of a calc.
  std::uint32_t line = 0;     ///< Of the file.
  std::uint32_t needs = 0;    ///< Requirements of its own.
  std::uint32_t after = 0;    ///< Where those who wait for it begin in RankProgram::after.
};

struct RankMessage {
  std::uint32_t send = 0;  ///< Operations.
  std::uint32_t receive = 0;
};

struct RankProgram {
  std::vector<RankOp> ops{};            ///< Rank by rank, as they stand in the text.
  std::vector<std::uint32_t> first{};   ///< Of each rank's operations; and their end.
  std::vector<std::uint32_t> after{};   ///< Operations that wait for one; kOnStart may be added.
  std::vector<RankMessage> messages{};  ///< By flow.
  std::vector<std::uint32_t> hosts{};   ///< By rank.

  bool empty() const { return first.empty(); }
  std::uint32_t ranks() const { return empty() ? 0 : static_cast<std::uint32_t>(first.size() - 1); }
  std::uint32_t rank_of(std::uint32_t op) const;
  std::uint32_t after_end(std::uint32_t op) const {
    return op + 1 < ops.size() ? ops[op + 1].after : static_cast<std::uint32_t>(after.size());
  }
  TimePs calc_of(std::uint32_t rank) const;
  /// What it takes while it runs, states included.
  std::uint64_t memory_bytes() const;
};

/// `before` must have happened before `op` starts: its end, or its start.
struct Requirement {
  std::uint32_t op = 0;
  std::uint32_t before = 0;
  bool on_start = false;
};
/// Fills in `after` and `needs`.
void set_requirements(RankProgram& program, const std::vector<Requirement>& requirements);

/// Refuses a program in which some operation can never start or end: those that wait for one another are
/// named. `name`: of the file.
Result<void> check_runs_to_end(const RankProgram& program, const std::string& name);

/// Multiplies every computation; refuses a rank that would compute for longer than kRankCalcMax.
Result<void> scale_calc(RankProgram& program, double factor);

}  // namespace wharf::workload
