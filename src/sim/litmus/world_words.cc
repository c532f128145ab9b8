// SPDX-License-Identifier: Apache-2.0
// The steps of a world in words, for traces.
#include <fmt/format.h>

#include "base/check.h"
#include "sim/litmus/world.h"

namespace wharf::sim {
namespace {

std::string variable_in(const LitmusProgram& program, LineNumber line) {
  std::string names;
  for (const LitmusVariable& variable : program.variables) {
    if (variable.is_mmio || variable.address / kLineBytes != line) continue;
    names += (names.empty() ? "" : "+") + variable.name;
  }
  return names;
}

}  // namespace

std::string LitmusWorld::agent_name(AgentId id) const {
  if (is_root(id)) {
    return roots_.size() == 1 ? "the root complex" : fmt::format("root complex {}", id - hosts_.size() + 1);
  }
  for (std::size_t agent = 0; agent < places_.size(); ++agent) {
    if (is_host(agent) && places_[agent] == id) return program_->agents[agent].name;
  }
  WHARF_UNREACHABLE();
}

/// Which line of a request of several it is.
std::string LitmusWorld::line_of(const LitmusTransfer& transfer) const {
  const LitmusOperation& operation = operation_of(transfer);
  if (operation.lines() == 1) return "";
  return fmt::format(" ({})",
                     program_->variables[operation.variables[operation.line_begins[transfer.line]]].name);
}

std::string LitmusWorld::describe(LitmusStep step) const {
  switch (step.kind) {
    case LitmusStep::Kind::kExecute: {
      const LitmusAgent& agent = program_->agents[step.index];
      return fmt::format("{} executes {}", agent.name, hosts_[places_[step.index]].next(agent)->text);
    }
    case LitmusStep::Kind::kDrain:
      return fmt::format("{}: the oldest store leaves the store buffer", program_->agents[step.index].name);
    case LitmusStep::Kind::kSend: {
      const LitmusAgent& agent = program_->agents[step.index];
      const LitmusOperation& next = agent.operations[devices_[places_[step.index]].at];
      return fmt::format("{} {} {}", agent.name, is_request(next.action) ? "sends" : "does", next.text);
    }
    case LitmusStep::Kind::kArrive: {
      const LitmusTransfer& transfer = fabric_[step.index];
      const std::uint8_t way = way_of(transfer);
      return fmt::format("{}{} of {} arrives at {}", operation_of(transfer).text, line_of(transfer),
                         program_->agents[transfer.agent].name,
                         way == kLitmusPeerWay
                             ? "the peer device"
                             : agent_name(static_cast<AgentId>(hosts_.size() + root_of(way))));
    }
    case LitmusStep::Kind::kMessage: {
      const Flight& flight = network_[step.index];
      const std::string name = agent_name(flight.message.agent);
      return fmt::format("{} for {} arrives {} {}", name_of(flight.message.kind),
                         variable_in(*program_, flight.message.line),
                         flight.to_home ? "at the home, from" : "at", name);
    }
    case LitmusStep::Kind::kMemory: {
      const MemoryAccess& access = accesses_[step.index];
      return fmt::format("memory {} {}", access.is_write ? "has written" : "answers with",
                         variable_in(*program_, access.line));
    }
    case LitmusStep::Kind::kClose:
      return fmt::format("{} closes a write-combining line", agent_name(static_cast<AgentId>(step.index)));
    case LitmusStep::Kind::kLeave:
      return fmt::format("an MMIO store leaves {}", agent_name(static_cast<AgentId>(step.index)));
    case LitmusStep::Kind::kMove:
      return mmio_->describe_moving(step.index);
    case LitmusStep::Kind::kAnswer:
      return fmt::format("an answer with {} arrives at its device",
                         variable_in(*program_, answers_[step.index].response.line));
  }
  WHARF_UNREACHABLE();
}

std::vector<std::string> LitmusWorld::who_waits() const {
  std::vector<std::string> lines;
  for (std::size_t agent = 0; agent < places_.size(); ++agent) {
    const LitmusAgent& program = program_->agents[agent];
    if (is_host(agent)) {
      hosts_[places_[agent]].who_waits(program, lines);
      continue;
    }
    const LitmusDeviceThread& device = devices_[places_[agent]];
    if (device.at < program.operations.size())
      lines.push_back(fmt::format("{} has not sent {}", program.name, program.operations[device.at].text));
    if (device.awaited > 0)
      lines.push_back(fmt::format("{} waits for {} line(s)", program.name, device.awaited));
  }
  for (const LitmusTransfer& transfer : fabric_) {
    const LitmusAgent& agent = program_->agents[transfer.agent];
    lines.push_back(fmt::format("{}{} of {} is held in the fabric", agent.operations[transfer.operation].text,
                                line_of(transfer), agent.name));
  }
  for (const RlsqAgent& root : roots_) root.who_waits(lines);
  if (mmio_) mmio_->who_waits(lines);
  if (!completions_.empty())
    lines.push_back(
        fmt::format("{} MMIO load(s) wait for posted writes before their answer", completions_.size()));
  if (!home_.is_idle()) lines.push_back("the home has a transaction that does not end");
  return lines;
}

}  // namespace wharf::sim
