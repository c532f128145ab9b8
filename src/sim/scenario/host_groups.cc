// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/host_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/config/profile.h"
#include "sim/scenario/host_list.h"

namespace wharf::sim {
namespace {

constexpr std::string_view kSection = "group.";
constexpr std::string_view kHosts = "hosts";
constexpr std::string_view kModel = "model.";

/// Sections of "model.*" that no group has of its own.
struct SharedSection {
  std::string_view prefix;
  std::string_view whose;
};
constexpr std::array<SharedSection, 4> kShared{{
    {"model.link.", "the network, which all hosts share"},
    {"model.faults.", "the network, which all hosts share"},
    {"model.replay.", "the program"},
    {"model.paging.", "the program"},
}};

}  // namespace

Result<std::vector<GroupKeys>> take_groups(ConfigDocument& document) {
  std::vector<GroupKeys> groups;
  for (const auto& [key, value] : document.values()) {
    if (!key.starts_with(kSection)) continue;
    const std::string_view rest = std::string_view(key).substr(kSection.size());
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos || dot == 0)
      return input_error(
          fmt::format("{}: {} has no name of a group, expected group.NAME.hosts or "
                      "group.NAME.model.KEY",
                      value.origin, key));
    const std::string_view name = rest.substr(0, dot);
    const std::string_view own = rest.substr(dot + 1);
    if (groups.empty() || groups.back().name != name) groups.push_back({std::string(name), {}, {}});
    GroupKeys& group = groups.back();
    if (own == kHosts) {
      group.hosts = value;
    } else if (own.starts_with(kModel)) {
      for (const SharedSection& shared : kShared) {
        if (own.starts_with(shared.prefix))
          return input_error(
              fmt::format("{}: {} belongs to {}, expected a key of the machine or its protocol", value.origin,
                          key, shared.whose));
      }
      group.model.emplace(own, value);
    } else {
      return input_error(fmt::format("{}: unknown key {}, expected group.{}.hosts or group.{}.model.KEY",
                                     value.origin, key, name, name));
    }
  }
  for (const GroupKeys& group : groups) {
    if (group.hosts.origin.empty())
      return input_error(
          fmt::format("{}: group.{} has no hosts, expected group.{}.hosts, such as \"servers\"",
                      group.model.begin()->second.origin, group.name, group.name));
    document.erase(fmt::format("{}{}.{}", kSection, group.name, kHosts));
    for (const auto& [key, value] : group.model)
      document.erase(fmt::format("{}{}.{}", kSection, group.name, key));
  }
  return groups;
}

Result<ConfigDocument> document_of(const GroupKeys& group, const ConfigDocument& document,
                                   const std::filesystem::path& profiles,
                                   std::vector<std::filesystem::path>& profile_files) {
  ConfigDocument own = document;
  if (const auto profile = group.model.find("model.profile"); profile != group.model.end()) {
    for (const auto& [key, value] : document.values()) {
      if (value.layer == kProfileLayer) own.erase(key);
    }
    const ConfigValue& given = profile->second;
    WHARF_TRY(add_profile(own, profile_files, profiles, {given.text, given.origin, profile_beside(&given)},
                          std::string(kModel)));
  }
  for (const auto& [key, value] : group.model) {
    ConfigValue nearer = value;
    nearer.layer = kOverrideLayer;  // What is said of some hosts counts before what is said of all.
    own.merge(key, nearer);
  }
  return own;
}

Result<std::vector<const HostSettings*>> settings_by_host(const std::vector<HostGroupSettings>& groups,
                                                          const WorldRoles& roles) {
  std::vector<const HostSettings*> by_host(roles.hosts);
  std::vector<std::string_view> group_of(roles.hosts);
  for (const HostGroupSettings& group : groups) {
    const std::string key = fmt::format("{}{}.{}", kSection, group.name, kHosts);
    const auto hosts = hosts_of(group.hosts, key, roles);
    if (!hosts) return hosts.error();
    for (const std::uint32_t host : *hosts) {
      if (by_host[host] != nullptr)
        return input_error(
            fmt::format("{} names host {}, which is in group.{} too, expected each host in one "
                        "group",
                        key, host, group_of[host]));
      by_host[host] = &group.settings;
      group_of[host] = group.name;
    }
  }
  return by_host;
}

std::vector<KeyDoc> group_keys() {
  return {{"group.NAME.hosts", "text", "",
           "the hosts of this group: \"clients\", \"servers\", \"all\" or numbers such as \"0-7,12\"", ""},
          {"group.NAME.model.KEY", "as model.KEY", "",
           "what is different there: profile, attachment, memory, NIC, protocol; not the network", ""}};
}

}  // namespace wharf::sim
