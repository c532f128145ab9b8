// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/program.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, kLitmusDesignCount> kDesigns{
    "source_line",     "source_message", "baseline",         "release_acquire",
    "thread_specific", "speculative",    "strict_blocking",  "strict_speculative",
    "mmio_today",      "mmio_unordered", "rob_root_complex", "rob_device",
};
constexpr std::array<std::string_view, 3> kClasses{"forbidden", "allowed", "required"};

bool is_about_mmio(const LitmusProgram& program, const LitmusOperation& operation) {
  if (operation.action < LitmusAction::kLocalRead) return false;
  return operation.variables.empty() || program.variables[operation.variables[0]].is_mmio;
}

}  // namespace

std::string_view name(LitmusDesign design) { return kDesigns[static_cast<std::size_t>(design)]; }
std::optional<LitmusDesign> parse_litmus_design(std::string_view text) {
  const auto found = std::find(kDesigns.begin(), kDesigns.end(), text);
  if (found == kDesigns.end()) return std::nullopt;
  return static_cast<LitmusDesign>(found - kDesigns.begin());
}
std::span<const std::string_view> litmus_design_names() { return kDesigns; }

std::string_view name(LitmusClass what) { return kClasses[static_cast<std::size_t>(what)]; }

// From the front, because a chain of thousands of /\ is as deep as it is long.
bool LitmusCondition::holds(const std::vector<std::uint64_t>& registers,
                            const std::vector<std::uint64_t>& memory) const {
  std::vector<bool> holds(nodes.size());
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const Node& it = nodes[at];
    switch (it.kind) {
      case Kind::kRegister:
        holds[at] = registers[it.index] == it.value;
        break;
      case Kind::kMemory:
        holds[at] = memory[it.index] == it.value;
        break;
      case Kind::kNot:
        holds[at] = !holds[it.left];
        break;
      case Kind::kAnd:
        holds[at] = holds[it.left] && holds[it.right];
        break;
      case Kind::kOr:
        holds[at] = holds[it.left] || holds[it.right];
        break;
    }
  }
  return holds[root];
}

const LitmusJudgement* LitmusOutcome::judgement(LitmusDesign design) const {
  for (const LitmusJudgement& each : judgements) {
    if (each.design == design) return &each;
  }
  return nullptr;
}

std::uint32_t LitmusProgram::registers() const {
  const LitmusAgent& last = agents.back();
  return last.first_register + static_cast<std::uint32_t>(last.registers.size());
}

bool LitmusProgram::uses_mmio() const {
  return std::any_of(agents.begin(), agents.end(), [this](const LitmusAgent& agent) {
    return std::any_of(agent.operations.begin(), agent.operations.end(),
                       [this](const LitmusOperation& operation) { return is_about_mmio(*this, operation); });
  });
}

bool LitmusProgram::uses_devices() const {
  return std::any_of(agents.begin(), agents.end(), [](const LitmusAgent& agent) { return agent.is_device; });
}

std::uint32_t LitmusProgram::root_complexes() const {
  std::uint32_t found = 1;
  for (const LitmusAgent& agent : agents) {
    for (const LitmusOperation& operation : agent.operations)
      found = std::max(found, std::uint32_t{operation.root} + 1);
  }
  return found;
}

std::uint32_t LitmusProgram::mmio_devices() const {
  std::uint32_t found = 1;
  for (const LitmusVariable& variable : variables) found = std::max(found, variable.device + 1U);
  return found;
}

std::string LitmusProgram::why_not(LitmusDesign design) const {
  const bool has_gaps = settings.counters == ordering::CounterScope::kThread && mmio_devices() > 1;
  if (design == LitmusDesign::kRobDevice && has_gaps)
    return "\"set rob.counters device\" before it, because each of two devices would miss the other's "
           "numbers";
  if (settings.on_chip_bus && has_rob(design))
    return "a design for the on-chip bus, where no MMIO reorder buffer applies";
  if (uses_mmio() == is_mmio(design)) return {};
  return uses_mmio() ? "a design for MMIO, because the program has MMIO operations"
                     : "a design for memory, because the program has no MMIO operation";
}

bool LitmusProgram::has_statements() const {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const LitmusOutcome& outcome) { return !outcome.judgements.empty(); });
}

std::vector<LitmusDesign> LitmusProgram::designs() const {
  std::vector<LitmusDesign> found;
  for (int index = 0; index < kLitmusDesignCount; ++index) {
    const auto design = static_cast<LitmusDesign>(index);
    const bool named = std::any_of(outcomes.begin(), outcomes.end(), [&](const LitmusOutcome& outcome) {
      return outcome.judgement(design) != nullptr;
    });
    if (named || (!has_statements() && why_not(design).empty())) found.push_back(design);
  }
  return found;
}

}  // namespace wharf::sim
