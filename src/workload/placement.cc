// SPDX-License-Identifier: Apache-2.0
#include "workload/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "workload/flow_list.h"

namespace wharf::workload {
namespace {

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

/// 0 .. count-1 with the first `shuffled` drawn from all of them.
std::vector<std::uint32_t> shuffle(std::uint32_t count, std::uint32_t shuffled, RandomStream random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = 0; i < shuffled; ++i) std::swap(order[i], order[i + random.below(count - i)]);
  return order;
}

Result<void> check_listed(const std::vector<std::uint32_t>& listed, std::uint32_t hosts) {
  std::vector<bool> taken(hosts, false);
  for (const std::uint32_t host : listed) {
    if (host >= hosts)
      return input_error(
          fmt::format("placement: found host {}, expected hosts from 0 to {}", host, hosts - 1));
    if (taken[host])
      return input_error(fmt::format("placement: found host {} twice, expected it once", host));
    taken[host] = true;
  }
  return {};
}

}  // namespace

std::optional<Placement> parse_placement(std::string_view text) {
  constexpr std::string_view kStride = "stride:";
  Placement placement;
  if (text == "linear") return placement;
  if (text == "random") {
    placement.kind = PlacementKind::kRandom;
    return placement;
  }
  if (text.starts_with(kStride)) {
    const auto stride = number_of(text.substr(kStride.size()));
    if (!stride || *stride == 0) return std::nullopt;
    placement.kind = PlacementKind::kStrided;
    placement.stride = *stride;
    return placement;
  }
  placement.kind = PlacementKind::kListed;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t last = std::min(text.find(',', first), text.size());
    const auto host = number_of(text.substr(first, last - first));
    if (!host || *host >= kFlowHostsMax) return std::nullopt;
    placement.hosts.push_back(*host);
    first = last + 1;
  }
  return placement;
}

Result<std::vector<std::uint32_t>> place_ranks(const Placement& placement, std::uint32_t ranks,
                                               std::uint32_t hosts, std::uint64_t seed) {
  const bool listed = placement.kind == PlacementKind::kListed;
  const auto places = listed ? static_cast<std::uint32_t>(placement.hosts.size()) : hosts;
  if (ranks == 0) ranks = places;
  if (ranks > places || (listed && ranks != places)) {
    return input_error(listed
                           ? fmt::format("ranks: found {}, expected the {} of the placement", ranks, places)
                           : fmt::format("ranks: found {}, expected at most the {} hosts", ranks, hosts));
  }
  std::vector<std::uint32_t> placed;
  switch (placement.kind) {
    case PlacementKind::kLinear:
      placed.resize(ranks);
      std::iota(placed.begin(), placed.end(), 0U);
      break;
    case PlacementKind::kStrided:
      if (placement.stride >= hosts)
        return input_error(fmt::format("placement: found a stride of {}, expected less than the {} hosts",
                                       placement.stride, hosts));
      for (std::uint32_t first = 0; first < placement.stride; ++first) {
        for (std::uint32_t host = first; host < hosts && placed.size() < ranks; host += placement.stride)
          placed.push_back(host);
      }
      break;
    case PlacementKind::kRandom:
      placed = shuffle(hosts, ranks, RandomStream(seed, "placement"));
      placed.resize(ranks);
      break;
    case PlacementKind::kListed:
      WHARF_TRY(check_listed(placement.hosts, hosts));
      placed = placement.hosts;
      break;
  }
  return placed;
}

std::vector<std::uint32_t> permutation_cycle(std::uint32_t count, std::uint64_t seed) {
  WHARF_CHECK(count >= 2);
  const std::vector<std::uint32_t> order = shuffle(count, count, RandomStream(seed, "permutation"));
  std::vector<std::uint32_t> next(count);
  for (std::uint32_t i = 0; i < count; ++i) next[order[i]] = order[(i + 1) % count];
  return next;
}

}  // namespace wharf::workload
