// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_named.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "base/nearest_name.h"
#include "sim/fabric/topology_dragonfly.h"
#include "sim/fabric/topology_rails.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, 7> kFamilies{"back_to_back", "star",         "fat_tree", "leaf_spine",
                                                    "rails",        "rail_servers", "dragonfly"};

/// The numbers after the colon, or nothing when they are not `count` positive numbers joined by x.
std::vector<std::uint32_t> numbers(std::string_view text, std::size_t count) {
  std::vector<std::uint32_t> all;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t last = std::min(text.find('x', first), text.size());
    std::uint32_t value = 0;
    const char* end = text.data() + last;
    const auto parsed = std::from_chars(text.data() + first, end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value == 0) return {};
    all.push_back(value);
    first = last + 1;
  }
  return all.size() == count ? all : std::vector<std::uint32_t>{};
}

Result<TopologyFile> tree_of(std::uint32_t tiers, std::uint32_t hosts, const LinkSpec& link,
                             TimePs switch_latency) {
  auto shape = k_ary_shape(tiers, hosts, link, switch_latency);
  if (!shape) return shape.error();
  auto topology = fat_tree_of(*shape);
  if (!topology) return topology.error();
  return TopologyFile{.topology = *std::move(topology), .fat_tree = *shape};
}

}  // namespace

bool names_topology(std::string_view text) {
  const std::string_view family = text.substr(0, text.find(':'));
  for (const std::string_view known : kFamilies) {
    if (family == known) return true;
  }
  return false;
}

Result<TopologyFile> named_topology(std::string_view text, const LinkSpec& link, TimePs switch_latency) {
  const std::size_t colon = text.find(':');
  const std::string_view family = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto form = [&](std::string_view expected) {
    return input_error(fmt::format("found topology \"{}\", expected {}", text, expected));
  };
  if (family == "back_to_back") {
    if (colon != std::string_view::npos) return form("back_to_back");
    return TopologyFile{.topology = back_to_back(link), .fat_tree = {}};
  }
  if (family == "rails" || family == "rail_servers") {
    const auto given = numbers(rest, 4);
    if (given.empty())
      return form(fmt::format("{0}:SEGMENTSxSERVERSxRAILSxSPINES, such as {0}:2x4x8x4", family));
    RailShape shape;
    if (family == "rail_servers") shape.hosts = RailHosts::kOnePerServer;
    shape.segments = given[0];
    shape.servers_per_segment = given[1];
    shape.rails = given[2];
    shape.spines = given[3];
    shape.host_link = shape.spine_link = link;
    shape.rail_latency = shape.spine_latency = switch_latency;
    auto topology = rail_network(shape);
    if (!topology) return topology.error();
    return TopologyFile{.topology = *std::move(topology), .fat_tree = {}};
  }
  if (family == "dragonfly") {
    auto given = numbers(rest, 3);
    if (given.empty()) given = numbers(rest, 4);
    if (given.empty()) return form("dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS], such as dragonfly:2x4x2");
    DragonflyShape shape{.hosts = given[0], .routers = given[1], .globals = given[2]};
    if (given.size() == 4) shape.groups = given[3];
    shape.host_link = shape.local_link = shape.global_link = link;
    shape.router_latency = switch_latency;
    auto topology = dragonfly(shape);
    if (!topology) return topology.error();
    return TopologyFile{.topology = *std::move(topology), .fat_tree = {}};
  }
  if (family == "star" || family == "fat_tree" || family == "leaf_spine") {
    const auto given = numbers(rest, 1);
    if (given.empty() || given[0] > kTopologyHostsMax) {
      return form(
          fmt::format("{0}:HOSTS with at most {1} hosts, such as {0}:128", family, kTopologyHostsMax));
    }
    if (family != "star") return tree_of(family == "fat_tree" ? 3 : 2, given[0], link, switch_latency);
    return TopologyFile{.topology = star(given[0], link, switch_latency), .fat_tree = {}};
  }
  const auto nearest = nearest_name(family, kFamilies);
  return form(
      fmt::format("a file, or back_to_back, star:HOSTS, fat_tree:HOSTS, leaf_spine:HOSTS, "
                  "rails:SEGMENTSxSERVERSxRAILSxSPINES, rail_servers likewise, or "
                  "dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS]{}",
                  nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

}  // namespace wharf::sim
