// SPDX-License-Identifier: Apache-2.0
// Flows: who sends how much to whom, when, and after which others. What every description of traffic becomes
// (connection matrices, tables, collectives, random arrivals) before a run takes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "verbs/verb.h"
#include "workload/rank_program.h"

namespace wharf::workload {

inline constexpr std::uint32_t kNoTrigger = 0xffff'ffff;
/// In an activation: when all of the flow has reached its destination, not when its source has heard of that.
inline constexpr std::uint32_t kOnReceipt = 0x8000'0000;
inline constexpr std::uint32_t kFlowsMax = 1U << 24U;
inline constexpr std::uint32_t kFlowHostsMax = 1U << 17U;
/// Of one flow: the longest message of the verbs.
inline constexpr std::uint64_t kFlowBytesMax = std::uint64_t{1} << 31U;

/// What starts flows when others have finished.
enum class TriggerKind : std::uint8_t {
  kOneShot,    ///< Starts all its flows; activated once.
  kMultiShot,  ///< Each activation starts the next of its flows.
  kBarrier,    ///< Starts all its flows after `count` activations.
};

struct Trigger {
  std::uint32_t id = 0;  ///< The name in the file.
  TriggerKind kind = TriggerKind::kOneShot;
  std::uint32_t count = 1;
};

struct Flow {
  std::uint32_t id = 0;  ///< The name in the file or, without one, given by the reader.
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  verbs::Verb verb = verbs::Verb::kWrite;  ///< kWrite, kRead (data flows to `source`) or kSend.
  std::uint64_t bytes = 0;
  TimePs start{};                      ///< Not before this instant.
  std::uint32_t trigger = kNoTrigger;  ///< Index of the trigger that starts it, if one does.
  std::uint32_t first_activation = 0;  ///< Its range in FlowList::activations.
  std::uint32_t activation_count = 0;
  std::uint32_t line = 0;        ///< Of the file; 0: it comes from none.
  std::uint32_t connection = 0;  ///< Flows of a pair of hosts with the same number share a connection.
};

/// Where a link has failed, as connection matrices say it.
struct LinkFailure {
  std::uint32_t switch_id = 0;  ///< Of the middle tier, pod by pod.
  std::uint32_t link_id = 0;    ///< Of its links upwards.
  std::uint32_t line = 0;
  std::uint32_t switch_column = 1;  ///< Of the number of the switch,
  std::uint32_t link_column = 1;    ///< and of the link.
};

/// Which flows from one host to another share a connection.
enum class SharedConnections : std::uint8_t {
  kAll,     ///< All of them.
  kNone,    ///< Each has its own.
  kById,    ///< Those with the same id.
  kAsRead,  ///< As the reader has numbered them: those of one NIC of a rank.
};

struct FlowList {
  std::string name;                ///< File or collective, for messages.
  std::uint32_t hosts = 0;         ///< As declared; 0: whatever the topology has.
  std::uint32_t hosts_line = 0;    ///< Where that stands: in this line, if any,
  std::uint32_t hosts_column = 1;  ///< at this column.
  std::vector<Flow> flows{};
  std::vector<Trigger> triggers{};
  std::vector<std::uint32_t> activations{};  ///< Indices of triggers, flow by flow; kOnReceipt may be added.
  std::vector<LinkFailure> failures{};
  RankProgram ranks{};  ///< If there are any, they say when flows start, in place of times and triggers.
  std::vector<std::string> remarks{};  ///< Sentences: what was read and does not count.

  std::uint32_t largest_host() const;
  /// Numbers the connections of all flows.
  void share_connections(SharedConnections shared);
  /// Where a flow stands, for the beginning of messages: "FILE:LINE:1", or the name alone.
  std::string place_of(const Flow& flow) const;
};

/// What activates triggers.
enum class FlowEvent : std::uint8_t {
  kFinished,  ///< Its source has heard that it is done; happens at the source.
  kReceived,  ///< All of it has reached its destination; happens there.
};

/// The triggers of a list while its flows run. Plain counting, no time. A trigger stays on a host when all
/// that activates it happens at the host from which all its flows start; then that host alone needs its
/// count.
class FlowTriggers {
 public:
  explicit FlowTriggers(const FlowList& list);

  /// Calls visit(trigger) for each trigger that `event` of `flow` activates.
  template <typename Visit>
  void for_each_activated(std::uint32_t flow, FlowEvent event, Visit&& visit) const {
    const Flow& done = list_->flows[flow];
    const std::uint32_t wanted = event == FlowEvent::kReceived ? kOnReceipt : 0;
    for (std::uint32_t a = 0; a < done.activation_count; ++a) {
      const std::uint32_t activation = list_->activations[done.first_activation + a];
      if ((activation & kOnReceipt) == wanted) visit(activation & ~kOnReceipt);
    }
  }
  /// The flows that one more activation of `trigger` starts, in the order of the list.
  std::span<const std::uint32_t> activate(std::uint32_t trigger) {
    return started_by(trigger, ++states_[trigger].activations);
  }
  /// The flows that its activation number `nth`, counted from 1, starts: for those who count by themselves.
  std::span<const std::uint32_t> started_by(std::uint32_t trigger, std::uint32_t nth) const;

  /// `flow` has finished: appends to `started` the flows that start now, in the order of the list.
  void finished(std::uint32_t flow, std::vector<std::uint32_t>& started) {
    happened(flow, FlowEvent::kFinished, started);
  }
  /// All of `flow` has reached its destination: likewise.
  void received(std::uint32_t flow, std::vector<std::uint32_t>& started) {
    happened(flow, FlowEvent::kReceived, started);
  }

  bool stays_on_host(std::uint32_t trigger) const { return states_[trigger].stays; }
  /// For every trigger.
  bool stays_on_hosts() const { return stays_on_hosts_; }
  /// Whether some trigger is activated by a receipt.
  bool waits_for_receipts() const { return waits_for_receipts_; }

 private:
  struct State {
    std::uint32_t first = 0;  ///< Its flows, in targets_.
    std::uint32_t count = 0;
    std::uint32_t activations = 0;
    bool stays = true;  ///< On a host.
  };

  void happened(std::uint32_t flow, FlowEvent event, std::vector<std::uint32_t>& started);

  const FlowList* list_;
  std::vector<State> states_;
  std::vector<std::uint32_t> targets_;
  bool stays_on_hosts_ = true;
  bool waits_for_receipts_ = false;
};

/// Refuses a list with flows that can never start, naming one of them and what it waits for; a ring of flows
/// that wait for one another is named as such.
Result<void> check_startable(const FlowList& list);

/// Builds lists flow by flow, with dependencies between flows.
class FlowListBuilder {
 public:
  explicit FlowListBuilder(std::string name, std::uint32_t hosts);

  /// Returns its number in the list. Without a trigger it starts at `flow.start`.
  std::uint32_t add(Flow flow);
  /// A trigger that starts the flows it is given to when all of `before` (at least one) have finished.
  std::uint32_t when_finished(const std::vector<std::uint32_t>& before) {
    return when(FlowEvent::kFinished, before);
  }
  /// Likewise when all of each of them has reached its destination.
  std::uint32_t when_received(const std::vector<std::uint32_t>& before) {
    return when(FlowEvent::kReceived, before);
  }
  /// A trigger whose flows start one by one in the order of the list, each when one more of those that
  /// goes_on() names has finished.
  std::uint32_t in_turn();
  void goes_on(std::uint32_t flow, std::uint32_t trigger) { edges_.emplace_back(flow, trigger); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(list_.flows.size()); }
  FlowList take();

 private:
  std::uint32_t when(FlowEvent event, const std::vector<std::uint32_t>& before);

  FlowList list_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< Flow, trigger as in activations.
};

/// Fills `activations` from pairs (flow, trigger as it stands there), which it sorts by flow.
void set_activations(FlowList& list, std::vector<std::pair<std::uint32_t, std::uint32_t>> edges);

}  // namespace wharf::workload
