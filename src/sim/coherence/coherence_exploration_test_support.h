// SPDX-License-Identifier: Apache-2.0
// Every interleaving of a few accesses on a small coherent memory. Apart because sound and mutated machines
// are both explored.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/coherence/coherence_world_test_support.h"

namespace wharf::sim {

/// What cores and devices do, one program each, in order; several accesses of a core may be under way at a
/// time.
struct CoherencePrograms {
  std::vector<std::vector<CoherenceStep>> cores;
  std::vector<std::vector<CoherenceStep>> devices;
};

struct CoherenceExploration {
  std::uint64_t states = 0;
  std::uint64_t moves = 0;
  std::uint64_t ends = 0;  ///< Different states of rest.
  /// States from which no end can be reached: something goes on for ever. Counted when everything was
  /// explored.
  std::uint64_t endless = 0;
  std::string fault;  ///< The first thing that went wrong, or empty.
};

/// Breadth first: which access is issued next, which message and which memory access arrives next are all
/// tried.
class CoherenceExplorer {
 public:
  CoherenceExplorer(const CoherenceWorldConfig& config, CoherencePrograms programs)
      : programs_(std::move(programs)) {
    auto first = std::make_unique<Node>(config);
    first->next.resize(programs_.cores.size() + programs_.devices.size());
    visit(std::move(first));
  }

  CoherenceExploration run(std::uint64_t states_most) {
    while (!frontier_.empty() && result_.fault.empty() && result_.states < states_most) {
      const std::unique_ptr<Node> node = std::move(frontier_.front());
      frontier_.pop_front();
      expand(*node);
    }
    if (frontier_.empty() && result_.fault.empty()) count_endless();
    return result_;
  }

 private:
  struct Node {
    explicit Node(const CoherenceWorldConfig& config) : world(config) {}

    CoherenceWorld world;
    std::vector<std::uint8_t> next;  ///< Of each program, its next step.
    std::uint32_t number = 0;        ///< In order of discovery.
  };

  void expand(const Node& node) {
    from_ = node.number;
    const std::uint32_t deliveries = node.world.choices();
    for (std::uint32_t choice = 0; choice < deliveries; ++choice) {
      auto child = std::make_unique<Node>(node);
      child->world.deliver(choice);
      visit(std::move(child));
    }
    bool ended = true;
    bool holds = false;
    for (std::uint32_t device = 0; device < programs_.devices.size(); ++device) {
      if (!node.world.device_holds(device)) continue;
      holds = true;
      auto child = std::make_unique<Node>(node);
      child->world.device_write(device);
      visit(std::move(child));
    }
    for (std::uint32_t program = 0; program < node.next.size(); ++program) ended &= !try_step(node, program);
    if (deliveries > 0 || holds) return;
    if (!node.world.is_finished()) result_.fault = "stuck while accesses wait";
    if (!ended) return;
    Node rest(node);
    rest.world.check_at_rest();
    if (!rest.world.fault().empty() && result_.fault.empty()) result_.fault = rest.world.fault();
    ++result_.ends;
    ends_.push_back(node.number);
  }

  /// True when the program is not over, whether or not its step is possible now.
  bool try_step(const Node& node, std::uint32_t program) {
    const bool is_core = program < programs_.cores.size();
    const auto index = is_core ? program : program - static_cast<std::uint32_t>(programs_.cores.size());
    const std::vector<CoherenceStep>& steps = is_core ? programs_.cores[index] : programs_.devices[index];
    const std::uint32_t at = node.next[program];
    if (at == steps.size()) return false;
    if (!is_core && !node.world.device_is_idle(index)) return true;
    auto child = std::make_unique<Node>(node);
    ++child->next[program];
    if (is_core) {
      if (!child->world.core_step(index, at, steps[at])) return true;
    } else {
      child->world.device_step(index, steps[at]);
    }
    visit(std::move(child));
    return true;
  }

  void visit(std::unique_ptr<Node> node) {
    ++result_.moves;
    if (!node->world.fault().empty()) {
      if (result_.fault.empty()) result_.fault = node->world.fault();
      return;
    }
    state_.clear();
    node->world.append_state(state_);
    for (std::uint8_t at : node->next) append_bytes(state_, at);
    const auto number = static_cast<std::uint32_t>(result_.states);
    const auto [known, is_new] = seen_.emplace(digest(), number);
    moves_.emplace_back(known->second, from_);
    if (!is_new) return;
    ++result_.states;
    node->number = number;
    frontier_.push_back(std::move(node));
  }

  /// Walks all moves backwards from the ends.
  void count_endless() {
    std::ranges::sort(moves_);
    std::vector<bool> reaches(result_.states);
    std::vector<std::uint32_t> work = ends_;
    for (std::uint32_t end : ends_) reaches[end] = true;
    while (!work.empty()) {
      const std::uint32_t to = work.back();
      work.pop_back();
      auto move = std::ranges::lower_bound(moves_, std::pair(to, 0U));
      for (; move != moves_.end() && move->first == to; ++move) {
        if (reaches[move->second]) continue;
        reaches[move->second] = true;
        work.push_back(move->second);
      }
    }
    result_.endless = static_cast<std::uint64_t>(std::ranges::count(reaches, false));
  }

  /// 128 bits tell a million states apart with a chance of one in 10^26 of an error.
  std::pair<std::uint64_t, std::uint64_t> digest() const {
    std::uint64_t low = 0x9E3779B97F4A7C15U;
    std::uint64_t high = 0xC2B2AE3D27D4EB4FU;
    std::size_t at = 0;
    for (; at < state_.size(); at += 8) {
      std::uint64_t word = 0;
      __builtin_memcpy(&word, state_.data() + at, std::min<std::size_t>(8, state_.size() - at));
      low = (low ^ word) * 0xFF51AFD7ED558CCDU;
      low ^= low >> 32U;
      high = (high + word) * 0xC4CEB9FE1A85EC53U;
      high ^= high >> 29U;
    }
    return {low, high ^ state_.size()};
  }

  CoherencePrograms programs_;
  std::deque<std::unique_ptr<Node>> frontier_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> seen_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moves_;  ///< To, from.
  std::vector<std::uint32_t> ends_;
  std::uint32_t from_ = 0;
  std::vector<std::byte> state_;
  CoherenceExploration result_;
};

}  // namespace wharf::sim
