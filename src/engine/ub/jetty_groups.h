// SPDX-License-Identifier: Apache-2.0
// Jetty groups: up to 32 receive ends behind one number, and who of them takes a message. The target chooses,
// once per message. [URMA API, jetty groups; UB-Base 2.0.1 8.2]
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/queues.h"

namespace wharf::ub {

class JettyGroups {
 public:
  static constexpr std::uint32_t kMost = 1U << 16U;
  static constexpr std::uint32_t kMembersMost = 32;

  // --- Control. Takes memory.
  Result<engine::QueueId> create(const engine::GroupConfig& config);
  /// Refused while it has members.
  Result<void> destroy(engine::QueueId id);
  bool exists(engine::QueueId id) const { return find(engine::table_index(id)) != nullptr; }
  const engine::GroupConfig& config(engine::QueueId id) const {
    return groups_[engine::table_index(id)].config;
  }
  /// Whether a jetty with this token may join.
  Result<void> may_join(engine::QueueId id, std::uint32_t token) const;
  void join(engine::QueueId id, std::uint32_t jetty);
  void leave(engine::QueueId id, std::uint32_t jetty);

  /// The member that takes the next message to the group with this number on the wire; nothing when there is
  /// no such group, or nobody in it. `in_work(jetty)`: messages that a member has.
  template <typename InWork>
  const std::uint32_t* choose(std::uint32_t number, std::uint8_t hint, InWork&& in_work) {
    Group* const group = find(number);
    if (group == nullptr || group->members.empty()) return nullptr;
    const std::vector<std::uint32_t>& members = group->members;
    std::size_t chosen = 0;
    switch (group->config.policy) {
      case engine::GroupPolicy::kRoundRobin:
        chosen = group->turn % members.size();
        group->turn = static_cast<std::uint32_t>(chosen + 1);
        break;
      case engine::GroupPolicy::kHint:
        chosen = hint % members.size();
        break;
      case engine::GroupPolicy::kShallowest:
        for (std::size_t at = 1; at < members.size(); ++at) {
          if (in_work(members[at]) < in_work(members[chosen])) chosen = at;
        }
        break;
    }
    return &members[chosen];
  }

 private:
  struct Group {
    bool used = false;
    engine::GroupConfig config;
    std::uint32_t turn = 0;              ///< kRoundRobin: whose turn it is.
    std::vector<std::uint32_t> members;  ///< In the order in which they joined.
  };

  const Group* find(std::uint32_t number) const {
    return number < groups_.size() && groups_[number].used ? &groups_[number] : nullptr;
  }
  Group* find(std::uint32_t number) {
    return number < groups_.size() && groups_[number].used ? &groups_[number] : nullptr;
  }

  std::vector<Group> groups_;
};

}  // namespace wharf::ub
