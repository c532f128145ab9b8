// SPDX-License-Identifier: Apache-2.0
// Answers that stay behind posted writes: those of the device to a core, and what the link holds before those
// of a root complex to a device. Apart from the steps, because it is one rule of PCIe (D2a).
#include <cstddef>
#include <vector>

#include "sim/litmus/fabric.h"
#include "sim/litmus/world.h"

namespace wharf::sim {

// The device answers MMIO loads.
void LitmusWorld::take_mmio_answers() {
  LitmusMmioPath::Answer answer;
  while (mmio_->next_answer(answer)) completions_.push_back({answer, posted_});
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
  if (!mmio_ || mmio_->ordered_writes() == 0) return 0;
  const LitmusAgent& agent = program_->agents[agent_of(response.domain)];
  const LitmusOperation& operation = agent.operations[tag_names(response.tag).operation];
  if (way_of(*program_, operation) != kLitmusMmioWay) return 0;
  return completion_may_pass_writes(design_, program_->settings, operation.label) ? 0
                                                                                  : mmio_->ordered_writes();
}

}  // namespace wharf::sim
