// SPDX-License-Identifier: Apache-2.0
// Tries every order of steps of a litmus program under one design. Apart from the world, which knows the
// steps, and from the verdict, which knows what should have been found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/litmus/program.h"
#include "sim/litmus/world.h"

namespace wharf::sim {

struct LitmusLimits {
  std::uint64_t states = 20'000'000;
  /// Of the worlds that are still to be followed, about. A program of many lines or agents has large worlds
  /// and many steps in each: its search would run into the machine's memory long before it ends.
  std::uint64_t bytes = std::uint64_t{2} << 30U;
};

struct LitmusExploration {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  bool is_complete = false;   ///< Nothing was left out for a limit.
  bool is_too_large = false;  ///< That limit was the one of bytes.
  std::vector<bool> seen;     ///< By outcome of the program.
  /// Final registers and memory, as text, and in how many final states.
  std::map<std::string, std::uint64_t> finals;
  std::string violation;              ///< What the observer saw first; empty if nothing.
  std::vector<std::string> deadlock;  ///< Who waits for what in the first world that was stuck.
};

/// What a trace should lead to.
struct LitmusTarget {
  enum class Kind : std::uint8_t { kNone, kOutcome, kViolation, kDeadlock };
  Kind kind = Kind::kNone;
  std::size_t outcome = 0;
};

/// Called now and then with the states so far; false stops the search.
using LitmusProgress = std::function<bool(std::uint64_t states)>;

/// Visits every state that can be reached, depth first. A violated or stuck world is noted and not followed.
LitmusExploration explore(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps,
                          LitmusLimits limits = {}, const LitmusProgress& progress = {});

/// A final state as the keys of `finals` have it: registers of all agents, then the words of all variables.
std::string final_text(const LitmusProgram& program, const std::vector<std::uint64_t>& registers,
                       const std::vector<std::uint64_t>& memory);

/// The steps of one shortest way to `target`, in words, the last line what it ends in; empty when there is
/// none within the limits. Breadth first.
std::vector<std::string> shortest_trace(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps,
                                        LitmusTarget target, LitmusLimits limits = {},
                                        const LitmusProgress& progress = {});

}  // namespace wharf::sim
