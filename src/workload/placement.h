// SPDX-License-Identifier: Apache-2.0
// Which host each rank of a collective, or each end of random arrivals, runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf::workload {

enum class PlacementKind : std::uint8_t {
  kLinear,   ///< Rank r on host r.
  kStrided,  ///< Every stride-th host, then those after them: stride 4 on 8 hosts is 0, 4, 1, 5, 2, 6, 3, 7.
  kRandom,   ///< Any order of hosts equally likely.
  kListed,   ///< The hosts of a list, in its order.
};

struct Placement {
  PlacementKind kind = PlacementKind::kLinear;
  std::uint32_t stride = 1;
  std::vector<std::uint32_t> hosts{};  ///< kListed.
};

/// What parse_placement() reads, for messages.
inline constexpr std::string_view kPlacementForms = "linear, stride:N, random, or hosts such as 0,4,8";

/// Nothing for any other text. Strides are positive.
std::optional<Placement> parse_placement(std::string_view text);

/// The host of each rank, all different. `ranks` 0: as many as there are hosts, or as the list has. Refusals
/// begin with "ranks: " or "placement: ".
Result<std::vector<std::uint32_t>> place_ranks(const Placement& placement, std::uint32_t ranks,
                                               std::uint32_t hosts, std::uint64_t seed);

/// A random cycle through 0 .. count-1: entry r is whom r sends to, never r itself. `count` is at least 2.
std::vector<std::uint32_t> permutation_cycle(std::uint32_t count, std::uint64_t seed);

}  // namespace wharf::workload
