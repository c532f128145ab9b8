// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/simulation.h"

#include <utility>

namespace wharf::sim {

ComponentId Simulation::add(Component& component, std::string name) {
  WHARF_CHECK(slots_.size() < kComponentsLimit);
  component.id_ = ComponentId{static_cast<std::uint32_t>(slots_.size())};
  slots_.push_back(Slot{&component, Fingerprint(), 0});
  names_.push_back(std::move(name));
  return component.id_;
}

RunResult Simulation::run(TimePs end, std::uint64_t count) {
  WHARF_CHECK(end >= now_);
  RunResult result;
  stop_requested_ = false;
  while (result.events < count) {
    const Event* next = queue_.pop_until(end);
    if (next == nullptr) {
      result.end = queue_.empty() ? RunEnd::kDrained : RunEnd::kTimeReached;
      if (!queue_.empty()) now_ = end;
      break;
    }
    // Field by field: the time goes on in a register instead of through a store and a load of another width.
    const Event event{next->time, next->order, next->argument, next->kind, next->extra};
    now_ = event.time;
    Slot& slot = slots_[event.target().value];
    add_event(slot.history, event);
    slot.component->handle(event);
    ++result.events;
    if (stop_requested_) {
      result.end = RunEnd::kStopped;
      break;
    }
    if (result.events == count) result.end = RunEnd::kBudgetSpent;
  }
  events_executed_ += result.events;
  return result;
}

std::uint64_t Simulation::fingerprint() const {
  Fingerprint all;
  for (const Slot& slot : slots_) all.add(slot.history.value());
  return all.value();
}

StallReport Simulation::stall_report() const {
  StallReport report{now_, {}};
  std::vector<std::string> lines;
  for (const Slot& slot : slots_) {
    lines.clear();
    slot.component->describe_waiting(lines);
    for (const std::string& line : lines)
      report.waiting.push_back(names_[slot.component->id_.value] + ": " + line);
  }
  return report;
}

}  // namespace wharf::sim
