// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/jetty_groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace wharf::ub {

using engine::QueueId;

Result<QueueId> JettyGroups::create(const engine::GroupConfig& config) {
  std::uint32_t number = 0;
  while (number < groups_.size() && groups_[number].used) ++number;
  if (number == kMost)
    return input_error(fmt::format("jetty groups: {} exist, expected at most {}", kMost, kMost));
  if (number == groups_.size()) groups_.emplace_back();
  Group& made = groups_[number];
  made = Group{};
  made.config = config;
  made.members.reserve(kMembersMost);
  made.used = true;  // Last: before, memory may run out.
  return engine::kGroupBit | number;
}

Result<void> JettyGroups::destroy(QueueId id) {
  Group* const group = find(engine::table_index(id));
  if (group == nullptr) return input_error(fmt::format("there is no jetty group {}", id));
  if (!group->members.empty()) {
    return input_error(
        fmt::format("jetty group {}: it has {} members, expected none", id, group->members.size()));
  }
  group->used = false;
  return {};
}

Result<void> JettyGroups::may_join(QueueId id, std::uint32_t token) const {
  const Group* const group = engine::is_group(id) ? find(engine::table_index(id)) : nullptr;
  if (group == nullptr) return input_error(fmt::format("there is no jetty group {} to join", id));
  if (group->members.size() == kMembersMost) {
    return input_error(fmt::format("jetty group {}: it has {} members, expected fewer", id, kMembersMost));
  }
  if (group->config.token != token) {
    return input_error(fmt::format("jetty group {}: a member has the token of its group, found another", id));
  }
  return {};
}

void JettyGroups::join(QueueId id, std::uint32_t jetty) {
  groups_[engine::table_index(id)].members.push_back(jetty);
}

void JettyGroups::leave(QueueId id, std::uint32_t jetty) {
  std::vector<std::uint32_t>& members = groups_[engine::table_index(id)].members;
  members.erase(std::remove(members.begin(), members.end(), jetty), members.end());
}

}  // namespace wharf::ub
