// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "sim/litmus/state_set.h"

namespace wharf::sim {
namespace {

constexpr std::uint64_t kTransitionsPerReport = 1024;

/// One search: the states seen, those to be followed, and how each was reached.
class Search {
 public:
  Search(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps, LitmusLimits limits,
         const LitmusProgress& progress, LitmusTarget target)
      : program_(program),
        design_(design),
        steps_(steps),
        limits_(limits),
        progress_(progress),
        target_(target) {
    found_.seen.resize(program.outcomes.size());
  }

  LitmusExploration run();
  std::vector<std::string> trace() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// How a state was reached first.
  struct Node {
    std::uint32_t parent = kNone;
    LitmusStep step;
  };
  struct Open {
    std::unique_ptr<LitmusWorld> world;
    StateFingerprint state{};
    std::uint32_t node = 0;
  };

  bool is_shortest() const { return target_.kind != LitmusTarget::Kind::kNone; }
  StateFingerprint fingerprint(const LitmusWorld& world);
  bool goes_on();
  void expand(Open open);
  void stop(const LitmusWorld& world, std::uint32_t node);
  void reach(LitmusTarget::Kind kind, std::size_t outcome, std::uint32_t node);

  const LitmusProgram& program_;
  LitmusDesign design_;
  LitmusSteps steps_;
  LitmusLimits limits_;
  const LitmusProgress& progress_;
  LitmusTarget target_;

  LitmusExploration found_;
  StateSet visited_;
  std::deque<Open> open_;
  std::vector<Node> nodes_;  ///< For traces only.
  std::uint32_t reached_ = kNone;
  std::vector<std::byte> bytes_;
  std::vector<LitmusStep> choices_;
};

StateFingerprint Search::fingerprint(const LitmusWorld& world) {
  bytes_.clear();
  world.append_state(bytes_);
  return fingerprint_of(bytes_);
}

LitmusExploration Search::run() {
  auto first = std::make_unique<LitmusWorld>(program_, design_, steps_);
  const StateFingerprint state = fingerprint(*first);
  visited_.insert(state);
  nodes_.push_back({});
  open_.push_back({std::move(first), state, 0});
  found_.is_complete = true;
  while (!open_.empty() && reached_ == kNone && found_.is_complete) {
    if (visited_.size() >= limits_.states || !goes_on()) {
      found_.is_complete = false;
      break;
    }
    ++found_.states;
    if (is_shortest()) {
      Open next = std::move(open_.front());
      open_.pop_front();
      expand(std::move(next));
    } else {
      Open next = std::move(open_.back());
      open_.pop_back();
      expand(std::move(next));
    }
  }
  return found_;
}

/// False when the worlds that are still to be followed are too many, or the caller has enough. One world may
/// have thousands of steps, so this is asked between them, too.
bool Search::goes_on() {
  // A world takes several times the bytes that tell it from others.
  constexpr std::uint64_t kBytesPerByte = 6;
  found_.is_too_large = open_.size() * bytes_.size() * kBytesPerByte > limits_.bytes;
  if (found_.is_too_large) return false;
  return !progress_ || found_.transitions % kTransitionsPerReport != 0 || progress_(found_.states);
}

void Search::expand(Open open) {
  if (const std::string violation = open.world->violation(); !violation.empty()) {
    if (found_.violation.empty()) found_.violation = violation;
    reach(LitmusTarget::Kind::kViolation, 0, open.node);
    return;
  }
  choices_.clear();
  open.world->list_steps(choices_);
  bool moves = false;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (!goes_on()) {
      found_.is_complete = false;
      return;
    }
    const LitmusStep step = choices_[i];
    const bool is_last = i + 1 == choices_.size() && moves;  // Otherwise the world is still needed.
    auto world = is_last ? std::move(open.world) : std::make_unique<LitmusWorld>(*open.world);
    world->take(step);
    ++found_.transitions;
    const StateFingerprint state = fingerprint(*world);
    moves = moves || state != open.state;
    if (!visited_.insert(state)) continue;
    std::uint32_t node = 0;
    if (is_shortest()) {
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({open.node, step});
    }
    open_.push_back({std::move(world), state, node});
  }
  if (!moves) stop(*open.world, open.node);
}

// Nothing can happen any more.
void Search::stop(const LitmusWorld& world, std::uint32_t node) {
  if (!world.is_finished()) {
    if (found_.deadlock.empty()) found_.deadlock = world.who_waits();
    if (found_.deadlock.empty())
      found_.deadlock.push_back("something is unfinished, and nobody waits for it");
    reach(LitmusTarget::Kind::kDeadlock, 0, node);
    return;
  }
  const std::vector<std::uint64_t> memory = world.memory();
  for (std::size_t outcome = 0; outcome < program_.outcomes.size(); ++outcome) {
    if (!program_.outcomes[outcome].condition.holds(world.registers(), memory)) continue;
    found_.seen[outcome] = true;
    reach(LitmusTarget::Kind::kOutcome, outcome, node);
  }
  if (!is_shortest()) ++found_.finals[final_text(program_, world.registers(), memory)];
}

void Search::reach(LitmusTarget::Kind kind, std::size_t outcome, std::uint32_t node) {
  if (reached_ == kNone && target_.kind == kind && target_.outcome == outcome) reached_ = node;
}

std::vector<std::string> Search::trace() const {
  if (reached_ == kNone) return {};
  std::vector<LitmusStep> steps;
  for (std::uint32_t node = reached_; nodes_[node].parent != kNone; node = nodes_[node].parent)
    steps.push_back(nodes_[node].step);
  std::reverse(steps.begin(), steps.end());
  std::vector<std::string> lines;
  auto world = std::make_unique<LitmusWorld>(program_, design_, steps_);
  for (const LitmusStep step : steps) {
    lines.push_back(world->describe(step));
    world->take(step);
  }
  const std::string violation = world->violation();
  if (!violation.empty()) {
    lines.push_back(violation);
  } else if (world->is_finished()) {
    lines.push_back(final_text(program_, world->registers(), world->memory()));
  } else {
    for (const std::string& line : world->who_waits()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::string final_text(const LitmusProgram& program, const std::vector<std::uint64_t>& registers,
                       const std::vector<std::uint64_t>& memory) {
  std::string text;
  for (const LitmusAgent& agent : program.agents) {
    for (std::size_t i = 0; i < agent.registers.size(); ++i) {
      text += fmt::format("{}{}:{}={}", text.empty() ? "" : " ", agent.name, agent.registers[i],
                          registers[agent.first_register + i]);
    }
  }
  for (std::size_t i = 0; i < memory.size(); ++i)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", program.variables[i].name, memory[i]);
  return text;
}

LitmusExploration explore(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps,
                          LitmusLimits limits, const LitmusProgress& progress) {
  return Search(program, design, steps, limits, progress, {}).run();
}

std::vector<std::string> shortest_trace(const LitmusProgram& program, LitmusDesign design, LitmusSteps steps,
                                        LitmusTarget target, LitmusLimits limits,
                                        const LitmusProgress& progress) {
  Search search(program, design, steps, limits, progress, target);
  search.run();
  return search.trace();
}

}  // namespace wharf::sim
