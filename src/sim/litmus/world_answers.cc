// SPDX-License-Identifier: Apache-2.0
// Answers that stay behind posted writes: those of the device to a core, and what the link holds before those
// of a root complex to a device. Apart from the steps, because it is one rule of PCIe (D2a).
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/litmus/fabric.h"
#include "sim/litmus/world.h"

namespace wharf::sim {

// A device answers MMIO loads. What another device has sent travels on another link.
void LitmusWorld::take_mmio_answers() {
  LitmusMmioPath::Answer answer;
  while (mmio_->next_answer(answer)) {
    Completion made{answer, {}};
    for (const PostedLine& line : posted_) {
      if (program_->agents[line.agent].registers_of == answer.device) made.behind.push_back(line);
    }
    completions_.push_back(std::move(made));
  }
}

// The core has what no posted write is before any more.
void LitmusWorld::finish_mmio_loads() {
  for (std::size_t at = 0; at < completions_.size();) {
    if (!completions_[at].behind.empty()) {
      ++at;
      continue;
    }
    const LitmusMmioPath::Answer answer = completions_[at].answer;
    completions_.erase(completions_.begin() + static_cast<std::ptrdiff_t>(at));
    mmio_->loaded(answer.thread);
    for (std::size_t agent = 0; agent < places_.size(); ++agent) {
      if (!is_host(agent) || places_[agent] != answer.thread) continue;
      registers_of(agent)[program_->agents[agent].operations[answer.tag].registers[0]] = answer.value;
      LitmusHostThread& host = hosts_[places_[agent]];
      if (host.is_waiting() && host.position() == answer.tag) host.finish_wait();
    }
  }
}

/// A posted write is performed: everybody sees it.
void LitmusWorld::written(const ordering::Response& response) {
  if (!orders_completions_) return;
  const PostedLine line{static_cast<std::uint32_t>(agent_of(response.domain)), response.tag};
  std::erase(posted_, line);
  for (Completion& completion : completions_) std::erase(completion.behind, line);
}

/// Posted writes of cores on the link to the device that an answer which enters it now may not pass.
std::uint32_t LitmusWorld::writes_before(const ordering::Response& response) const {
  if (!mmio_) return 0;
  const LitmusAgent& agent = program_->agents[agent_of(response.domain)];
  const std::uint32_t writes = mmio_->ordered_writes(agent.registers_of);
  if (writes == 0) return 0;
  const LitmusOperation& operation = agent.operations[tag_names(response.tag).operation];
  if (sim::way_of(*program_, agent, operation) != mmio_way(agent.registers_of)) return 0;
  return completion_may_pass_writes(design_, program_->settings, operation.label) ? 0 : writes;
}

}  // namespace wharf::sim
