// SPDX-License-Identifier: Apache-2.0
#include "workload/flow_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace wharf::workload {

std::uint32_t FlowList::largest_host() const {
  std::uint32_t largest = 0;
  for (const Flow& flow : flows) largest = std::max({largest, flow.source, flow.destination});
  return largest;
}

void FlowList::share_connections(SharedConnections shared) {
  if (shared == SharedConnections::kAsRead) return;
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    Flow& flow = flows[i];
    flow.connection = shared == SharedConnections::kAll    ? 0
                      : shared == SharedConnections::kById ? flow.id
                                                           : i;
  }
}

FlowTriggers::FlowTriggers(const FlowList& list) : list_(&list), states_(list.triggers.size()) {
  for (const Flow& flow : list.flows) {
    if (flow.trigger != kNoTrigger) ++states_[flow.trigger].count;
  }
  std::uint32_t first = 0;
  for (State& state : states_) {
    state.first = first;
    first += std::exchange(state.count, 0);
  }
  targets_.resize(first);
  constexpr std::uint32_t kNobody = 0xffff'ffff;
  std::vector<std::uint32_t> host(states_.size(), kNobody);
  const auto seen = [&](std::uint32_t trigger, std::uint32_t at) {
    if (host[trigger] != kNobody && host[trigger] != at) stays_on_hosts_ = states_[trigger].stays = false;
    host[trigger] = at;
  };
  for (std::uint32_t i = 0; i < list.flows.size(); ++i) {
    const Flow& flow = list.flows[i];
    if (flow.trigger != kNoTrigger) {
      State& state = states_[flow.trigger];
      targets_[state.first + state.count++] = i;
      seen(flow.trigger, flow.source);
    }
    for (std::uint32_t a = 0; a < flow.activation_count; ++a) {
      const std::uint32_t activation = list.activations[flow.first_activation + a];
      const bool on_receipt = (activation & kOnReceipt) != 0;
      waits_for_receipts_ = waits_for_receipts_ || on_receipt;
      seen(activation & ~kOnReceipt, on_receipt ? flow.destination : flow.source);
    }
  }
}

std::span<const std::uint32_t> FlowTriggers::started_by(std::uint32_t trigger, std::uint32_t nth) const {
  const State& state = states_[trigger];
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  switch (list_->triggers[trigger].kind) {
    case TriggerKind::kOneShot:
      if (nth == 1) to = state.count;
      break;
    case TriggerKind::kMultiShot:
      from = std::min(nth - 1, state.count);
      to = std::min(nth, state.count);
      break;
    case TriggerKind::kBarrier:
      if (nth == list_->triggers[trigger].count) to = state.count;
      break;
  }
  return std::span(targets_).subspan(state.first + from, to - from);
}

void FlowTriggers::happened(std::uint32_t flow, FlowEvent event, std::vector<std::uint32_t>& started) {
  for_each_activated(flow, event, [&](std::uint32_t trigger) {
    for (const std::uint32_t next : activate(trigger)) started.push_back(next);
  });
}

std::string FlowList::place_of(const Flow& flow) const {
  return flow.line == 0 ? name : fmt::format("{}:{}:1", name, flow.line);
}

Result<void> check_startable(const FlowList& list) {
  FlowTriggers triggers(list);
  std::vector<bool> runs(list.flows.size(), false);
  std::vector<std::uint32_t> pending;
  for (std::uint32_t i = 0; i < list.flows.size(); ++i) {
    if (list.flows[i].trigger == kNoTrigger) pending.push_back(i);
  }
  while (!pending.empty()) {
    const std::uint32_t flow = pending.back();
    pending.pop_back();
    runs[flow] = true;
    triggers.received(flow, pending);
    triggers.finished(flow, pending);
  }
  const auto stuck = std::find(runs.begin(), runs.end(), false);
  if (stuck == runs.end()) return {};

  // Backwards from flow to trigger to a flow that never runs and would activate it, until one comes twice.
  std::vector<std::uint32_t> activator(list.triggers.size(), kNoTrigger);
  for (std::uint32_t i = 0; i < list.flows.size(); ++i) {
    for (std::uint32_t a = 0; a < list.flows[i].activation_count; ++a) {
      if (!runs[i]) activator[list.activations[list.flows[i].first_activation + a] & ~kOnReceipt] = i;
    }
  }
  std::vector<std::uint32_t> way;
  auto at = static_cast<std::uint32_t>(stuck - runs.begin());
  while (at != kNoTrigger && std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    at = activator[list.flows[at].trigger];
  }
  if (at == kNoTrigger) {
    const Trigger& trigger = list.triggers[list.flows[way.back()].trigger];
    return input_error(fmt::format(
        "{}: flow {} never starts: too few flows activate its trigger {}{}, expected every flow to start",
        list.place_of(list.flows[way.back()]), list.flows[way.back()].id, trigger.id,
        trigger.kind == TriggerKind::kBarrier ? fmt::format(", which waits for {}", trigger.count) : ""));
  }
  std::string ring;
  for (auto each = std::find(way.begin(), way.end(), at); each != way.end(); ++each) {
    if (ring.size() > 200) {
      ring += "... waits for ";
      break;
    }
    ring += fmt::format("flow {} waits for ", list.flows[*each].id);
  }
  return input_error(
      fmt::format("{}: flows wait for one another in a ring: {}flow {}, expected a start for each",
                  list.place_of(list.flows[at]), ring, list.flows[at].id));
}

void set_activations(FlowList& list, std::vector<std::pair<std::uint32_t, std::uint32_t>> edges) {
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  list.activations.clear();
  for (const auto& [flow, trigger] : edges) {
    Flow& from = list.flows[flow];
    if (from.activation_count++ == 0)
      from.first_activation = static_cast<std::uint32_t>(list.activations.size());
    list.activations.push_back(trigger);
  }
}

FlowListBuilder::FlowListBuilder(std::string name, std::uint32_t hosts) {
  list_.name = std::move(name);
  list_.hosts = hosts;
}

std::uint32_t FlowListBuilder::add(Flow flow) {
  const std::uint32_t number = size();
  WHARF_CHECK(number < kFlowsMax);
  flow.id = number + 1;
  list_.flows.push_back(flow);
  return number;
}

std::uint32_t FlowListBuilder::when(FlowEvent event, const std::vector<std::uint32_t>& before) {
  WHARF_CHECK(!before.empty());
  const auto trigger = static_cast<std::uint32_t>(list_.triggers.size());
  list_.triggers.push_back({trigger + 1, TriggerKind::kBarrier, static_cast<std::uint32_t>(before.size())});
  for (const std::uint32_t flow : before) {
    WHARF_CHECK(flow < size());
    edges_.emplace_back(flow, event == FlowEvent::kReceived ? trigger | kOnReceipt : trigger);
  }
  return trigger;
}

std::uint32_t FlowListBuilder::in_turn() {
  const auto trigger = static_cast<std::uint32_t>(list_.triggers.size());
  list_.triggers.push_back({.id = trigger + 1, .kind = TriggerKind::kMultiShot});
  return trigger;
}

FlowList FlowListBuilder::take() {
  set_activations(list_, std::move(edges_));
  return std::move(list_);
}

}  // namespace wharf::workload
