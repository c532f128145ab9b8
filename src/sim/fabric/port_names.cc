// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/port_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/nearest_name.h"

namespace wharf::sim {
namespace {

/// Whether `name` looks like `pattern`, in which * stands for any characters.
bool looks_like(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_at = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[at]) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

PortNames::PortNames(const Topology& topology, const std::vector<std::string>& switches) {
  WHARF_CHECK(switches.empty() || switches.size() == topology.switch_count());
  constexpr std::array<std::string_view, 3> kTiers{"leaf", "middle", "top"};
  std::array<std::uint32_t, 256> in_tier{};
  for (NodeId id = 0; id < topology.nodes().size(); ++id) {
    if (topology.is_host(id)) {
      nodes_.push_back(fmt::format("host{}", id));
    } else if (!switches.empty()) {
      nodes_.push_back(switches[id - topology.host_count()]);
    } else {
      const std::uint8_t tier = topology.node(id).tier;
      const std::uint32_t number = in_tier[tier]++;
      nodes_.push_back(tier < kTiers.size() ? fmt::format("{}{}", kTiers[tier], number)
                                            : fmt::format("tier{}_{}", tier, number));
    }
  }
  for (PortId id = 0; id < topology.ports().size(); ++id) {
    const TopologyPort& port = topology.port(id);
    std::string name = nodes_[port.node] + "-" + nodes_[port.peer];
    if (port.bundle != 0) name += fmt::format(".{}", port.bundle);
    ports_.emplace(name, id);
    names_.push_back(std::move(name));
  }
}

Result<std::vector<PortId>> PortNames::find(std::string_view list) const {
  std::vector<PortId> found;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t before = found.size();
    if (one.find('*') == std::string_view::npos) {
      if (const auto at = ports_.find(one); at != ports_.end()) found.push_back(at->second);
    } else {
      for (PortId id = 0; id < names_.size(); ++id) {
        if (looks_like(names_[id], one)) found.push_back(id);
      }
    }
    if (found.size() == before) {
      const std::vector<std::string_view> all(names_.begin(), names_.end());
      const auto near = nearest_name(one, all);
      return input_error(
          fmt::format("found port \"{}\", expected one like {}{} (wharf topo show --ports lists them)", one,
                      names_.empty() ? "" : names_.front(),
                      near ? fmt::format("; did you mean {}?", *near) : std::string()));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string describe_cycle(const PortNames& names, const std::vector<PortId>& cycle) {
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i)
    text +=
        fmt::format("{}{}", i == 0 ? "" : (i == 1 ? " waits for " : ", which waits for "), names[cycle[i]]);
  if (!cycle.empty())
    text += fmt::format("{}{}", cycle.size() == 1 ? " waits for " : ", which waits for ", names[cycle[0]]);
  return text;
}

}  // namespace wharf::sim
