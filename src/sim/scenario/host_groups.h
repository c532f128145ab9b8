// SPDX-License-Identifier: Apache-2.0
// Hosts that differ from the others of their world: sections "group.NAME", each with a list of hosts and the
// keys of "model.*" that are different there.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/binder.h"
#include "sim/scenario/host_settings.h"
#include "sim/scenario/world_roles.h"

namespace wharf::sim {

struct ScenarioConfig;

/// The keys of a section "group.NAME".
struct GroupKeys {
  std::string name;
  ConfigValue hosts;
  std::map<std::string, ConfigValue> model;  ///< By the key that it replaces: "model.host.memory.rate".
};

/// A group, with everything that its hosts are.
struct HostGroupSettings {
  std::string name;
  std::string hosts;  ///< As hosts_of() reads it.
  HostSettings settings;
};

/// Takes the sections "group.NAME" out of `document`. Refuses keys that no group has, and what all hosts
/// share: the network, and what a program is.
Result<std::vector<GroupKeys>> take_groups(ConfigDocument& document);

/// `document`, the keys of all hosts with their profile, with those of `group` in their place.
/// `profiles`: where NAME.toml of a profile lies.
Result<ConfigDocument> document_of(const GroupKeys& group, const ConfigDocument& document,
                                   const std::filesystem::path& profiles,
                                   std::vector<std::filesystem::path>& profile_files);

/// What each host is: null where it is as most are. Refuses a host in two groups.
Result<std::vector<const HostSettings*>> settings_by_host(const std::vector<HostGroupSettings>& groups,
                                                          const WorldRoles& roles);

/// The keys of any group, for the key reference.
std::vector<KeyDoc> group_keys();

}  // namespace wharf::sim
