// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/link_changes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace wharf::sim {

bool fails_one_way(const std::vector<LinkChange>& changes, const Topology& topology) {
  std::vector<LinkChange> sorted = changes;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
  // When each port goes down and comes up, in turns.
  std::map<PortId, std::vector<TimePs>> turns;
  for (const LinkChange& change : sorted) {
    std::vector<TimePs>& own = turns[change.port];
    const bool up = own.size() % 2 == 0;
    if (up == change.up) continue;
    own.push_back(change.at);
    // Down and up again at one time is nothing.
    if (own.size() > 1 && own[own.size() - 2] == change.at) own.resize(own.size() - 2);
  }
  return std::any_of(turns.begin(), turns.end(), [&](const auto& each) {
    const auto other = turns.find(topology.port(each.first).reverse);
    return !each.second.empty() && (other == turns.end() || other->second != each.second);
  });
}

}  // namespace wharf::sim
