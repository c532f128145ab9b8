// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_survey.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "sim/fabric/route_costs.h"

namespace wharf::sim {
namespace {

std::uint64_t gbps(BitsPerSecond rate) { return rate.value / 1'000'000'000; }

/// From a packet's first bit at the near end to its last at the far end, where it can go on.
TimePs link_time(const Topology& topology, const TopologyPort& port, Bytes bytes) {
  const TimePs time = transfer_time(bytes, port.rate) + port.delay;
  return topology.is_host(port.peer) ? time : time + topology.node(port.peer).latency;
}

}  // namespace

PathSurvey::PathSurvey(const Topology& topology)
    : topology_(&topology),
      alike_(std::all_of(topology.ports().begin(), topology.ports().end(),
                         [](const TopologyPort& port) { return port.cost == 1; })),
      known_(topology.nodes().size()) {}

std::uint32_t PathSurvey::cost(NodeId node, NodeId to) {
  if (node == to) return 0;
  const auto known = [this](NodeId end) -> const std::vector<std::uint16_t>& {
    if (known_[end].empty()) known_[end] = costs_to(*topology_, end);
    return known_[end];
  };
  const TopologyNode& end = topology_->node(to);
  if (end.ports.size() == 1) {
    const TopologyPort& last = topology_->port(topology_->port(end.ports[0]).reverse);
    if (!topology_->is_host(last.node)) {
      const std::uint32_t far = known(last.node)[node];
      return far == kUnreachable ? kUnreachable : far + last.cost;
    }
  }
  return known(to)[node];
}

bool PathSurvey::leads(const TopologyPort& port, NodeId to, std::uint32_t left) {
  return (!topology_->is_host(port.peer) || port.peer == to) && cost(port.peer, to) + port.cost == left;
}

std::uint32_t PathSurvey::hops(NodeId from, NodeId to) {
  const std::uint32_t all = cost(from, to);
  return alike_ || all == kUnreachable ? all : static_cast<std::uint32_t>(path(from, to).size());
}

std::uint64_t PathSurvey::paths(NodeId from, NodeId to) {
  // From far to near: the nodes that are left, with how many ways lead there from `from`.
  std::map<std::uint32_t, std::map<NodeId, std::uint64_t>> nodes;
  nodes[cost(from, to)][from] = 1;
  while (nodes.rbegin()->first != 0) {
    const auto [left, layer] = *nodes.rbegin();
    nodes.erase(left);
    for (const auto& [node, ways] : layer) {
      for (const PortId out : topology_->node(node).ports) {
        const TopologyPort& port = topology_->port(out);
        if (!leads(port, to, left)) continue;
        std::uint64_t& sum = nodes[left - port.cost][port.peer];
        sum = sum + ways < ways ? std::numeric_limits<std::uint64_t>::max() : sum + ways;
      }
    }
  }
  return nodes.begin()->second[to];
}

std::vector<PortId> PathSurvey::path(NodeId from, NodeId to) {
  std::vector<PortId> links;
  NodeId node = from;
  for (std::uint32_t left = cost(from, to); left > 0;) {
    const std::vector<PortId>& ports = topology_->node(node).ports;
    const auto out = std::find_if(ports.begin(), ports.end(),
                                  [&](PortId port) { return leads(topology_->port(port), to, left); });
    WHARF_CHECK(out != ports.end());
    links.push_back(*out);
    node = topology_->port(*out).peer;
    left -= topology_->port(*out).cost;
  }
  return links;
}

std::vector<PortId> PathSurvey::path(NodeId from, NodeId to, std::uint32_t near, std::uint32_t far) {
  const PortId first = topology_->node(from).ports[near];
  const PortId last = topology_->port(topology_->node(to).ports[far]).reverse;
  const NodeId begin = topology_->port(first).peer;
  const NodeId end = topology_->port(last).node;
  if (first == last) return {first};
  if (topology_->is_host(begin) || topology_->is_host(end) || cost(begin, end) == kUnreachable) return {};
  std::vector<PortId> links{first};
  const std::vector<PortId> middle = path(begin, end);
  links.insert(links.end(), middle.begin(), middle.end());
  links.push_back(last);
  return links;
}

std::vector<TimePs> PathSurvey::longest_times(NodeId to, Bytes bytes, bool back) {
  // From near to far: what leads on from a node is known before the node is looked at.
  std::vector<std::vector<NodeId>> by_cost;
  for (NodeId node = 0; node < topology_->nodes().size(); ++node) {
    const std::uint32_t left = cost(node, to);
    if (left == 0 || left == kUnreachable) continue;
    if (by_cost.size() <= left) by_cost.resize(left + 1);
    by_cost[left].push_back(node);
  }
  std::vector<TimePs> times(topology_->nodes().size());
  for (std::uint32_t left = 1; left < by_cost.size(); ++left) {
    for (const NodeId node : by_cost[left]) {
      for (const PortId out : topology_->node(node).ports) {
        const TopologyPort& port = topology_->port(out);
        if (!leads(port, to, left)) continue;
        const TopologyPort& carries = back ? topology_->port(port.reverse) : port;
        times[node] = max(times[node], link_time(*topology_, carries, bytes) + times[port.peer]);
      }
    }
  }
  return times;
}

std::vector<PortId> PathSurvey::longest_path(NodeId from, NodeId to, Bytes bytes) {
  const std::vector<TimePs> times = longest_times(to, bytes);
  std::vector<PortId> links;
  NodeId node = from;
  for (std::uint32_t left = cost(from, to); left > 0;) {
    const std::vector<PortId>& ports = topology_->node(node).ports;
    const auto out = std::find_if(ports.begin(), ports.end(), [&](PortId id) {
      const TopologyPort& port = topology_->port(id);
      return leads(port, to, left) && link_time(*topology_, port, bytes) + times[port.peer] == times[node];
    });
    WHARF_CHECK(out != ports.end());
    links.push_back(*out);
    node = topology_->port(*out).peer;
    left -= topology_->port(*out).cost;
  }
  return links;
}

std::vector<PortId> PathSurvey::detour(NodeId from, NodeId to, Bytes bytes) {
  std::vector<PortId> longest = longest_path(from, to, bytes);
  const auto pod = [this](NodeId host) { return topology_->node(host).pod; };
  std::set<std::uint32_t> seen;
  for (NodeId over = 0; over < topology_->host_count(); ++over) {
    if (pod(over) == pod(from) || pod(over) == pod(to) || !seen.insert(pod(over)).second) continue;
    std::vector<PortId> links = longest_path(from, over, bytes);
    links.pop_back();  // It turns at the switch.
    const std::vector<PortId> rest = longest_path(over, to, bytes);
    links.insert(links.end(), rest.begin() + 1, rest.end());
    if (packet_time(*topology_, links, bytes) > packet_time(*topology_, longest, bytes))
      longest = std::move(links);
  }
  return longest;
}

TimePs packet_time(const Topology& topology, const std::vector<PortId>& path, Bytes bytes) {
  TimePs total;
  for (const PortId link : path) total += link_time(topology, topology.port(link), bytes);
  return total;
}

TimePs train_time(const Topology& topology, const std::vector<PortId>& path, std::uint64_t count, Bytes bytes,
                  Bytes last_bytes) {
  TimePs full_sum;   // Of one full packet on the links so far.
  TimePs full_most;  // On the slowest of them.
  TimePs last;       // When the last packet has left the link, delays and switches left out.
  TimePs fixed;
  for (const PortId link : path) {
    const TopologyPort& port = topology.port(link);
    fixed += port.delay;
    if (!topology.is_host(port.peer)) fixed += topology.node(port.peer).latency;
    const TimePs full = transfer_time(bytes, port.rate);
    full_sum += full;
    full_most = max(full_most, full);
    if (count > 0) last = max(last, full_sum + full_most * static_cast<std::int64_t>(count - 1));
    last += transfer_time(last_bytes, port.rate);
  }
  return fixed + last;
}

TimePs spread_time(const Topology& topology, const std::vector<std::vector<PortId>>& ways,
                   const PacketTrain& train) {
  const auto time_of = [&](std::size_t way, std::uint64_t count, Bytes last_bytes) {
    return train_time(topology, ways[way], count, train.bytes, last_bytes);
  };
  if (ways.size() == 1) return time_of(0, train.count, train.last_bytes);
  // By the rates of their slowest links; what is left goes one by one where it arrives first.
  std::vector<std::uint64_t> rates;
  std::uint64_t together = 0;
  for (const std::vector<PortId>& way : ways) {
    std::uint64_t slowest = std::numeric_limits<std::uint64_t>::max();
    for (const PortId link : way) slowest = std::min(slowest, topology.port(link).rate.value);
    rates.push_back(slowest);
    together += slowest;
  }
  using Wide = unsigned __int128;
  std::vector<std::uint64_t> counts;
  std::uint64_t left = train.count;
  for (const std::uint64_t rate : rates) {
    counts.push_back(static_cast<std::uint64_t>(Wide(train.count) * rate / together));
    left -= counts.back();
  }
  const auto earliest = [&](Bytes bytes) {
    std::size_t best = 0;
    for (std::size_t way = 1; way < ways.size(); ++way) {
      if (time_of(way, counts[way], bytes) < time_of(best, counts[best], bytes)) best = way;
    }
    return best;
  };
  for (; left > 0; --left) ++counts[earliest(train.bytes)];
  const std::size_t ends = earliest(train.last_bytes);
  TimePs time = time_of(ends, counts[ends], train.last_bytes);
  for (std::size_t way = 0; way < ways.size(); ++way) {
    if (way != ends && counts[way] > 0) time = max(time, time_of(way, counts[way] - 1, train.bytes));
  }
  return time;
}

TopologySummary survey(const Topology& topology) {
  TopologySummary summary;
  summary.hosts = topology.host_count();
  summary.switches = topology.switch_count();
  summary.links = static_cast<std::uint32_t>(topology.ports().size() / 2);
  summary.host_ports_min = std::numeric_limits<std::uint32_t>::max();
  for (NodeId id = 0; id < topology.nodes().size(); ++id) {
    const TopologyNode& node = topology.node(id);
    const auto ports = static_cast<std::uint32_t>(node.ports.size());
    if (topology.is_host(id)) {
      summary.host_ports_min = std::min(summary.host_ports_min, ports);
      summary.host_ports_max = std::max(summary.host_ports_max, ports);
      for (const PortId port : node.ports) summary.host_gbps += gbps(topology.port(port).rate);
      continue;
    }
    while (summary.tiers.size() <= node.tier)
      summary.tiers.push_back({.tier = static_cast<std::uint32_t>(summary.tiers.size()),
                               .ports_down_min = std::numeric_limits<std::uint32_t>::max(),
                               .ports_up_min = std::numeric_limits<std::uint32_t>::max(),
                               .link_delay_min = kNever});
    TierSummary& tier = summary.tiers[node.tier];
    ++tier.switches;
    std::uint32_t down = 0;
    std::uint32_t up = 0;
    for (const PortId out : node.ports) {
      const TopologyPort& port = topology.port(out);
      const bool below = topology.is_host(port.peer) || topology.node(port.peer).tier < node.tier;
      const bool above = !below && topology.node(port.peer).tier > node.tier;
      if (below) {
        ++down;
        tier.down_gbps += gbps(port.rate);
        tier.link_delay_min = min(tier.link_delay_min, port.delay);
        tier.link_delay_max = max(tier.link_delay_max, port.delay);
      } else if (above) {
        ++up;
        tier.up_gbps += gbps(port.rate);
      }
    }
    tier.ports_down_min = std::min(tier.ports_down_min, down);
    tier.ports_down_max = std::max(tier.ports_down_max, down);
    tier.ports_up_min = std::min(tier.ports_up_min, up);
    tier.ports_up_max = std::max(tier.ports_up_max, up);
  }

  std::uint64_t thinnest = summary.host_gbps;
  for (TierSummary& tier : summary.tiers) {
    if (tier.switches == 0) tier.ports_down_min = tier.ports_up_min = 0;
    if (tier.link_delay_min == kNever) tier.link_delay_min = kTimeZero;
    if (tier.up_gbps != 0) thinnest = std::min(thinnest, tier.up_gbps);
  }
  summary.bisection_gbps = thinnest / 2;
  if (thinnest != 0)
    summary.oversubscription_permille =
        static_cast<std::uint32_t>((summary.host_gbps * 1000 + thinnest - 1) / thinnest);

  // The first host of every leaf stands for its neighbours, the second for distances within the leaf.
  PathSurvey paths(topology);
  std::vector<NodeId> one_per_leaf;
  std::vector<bool> seen(topology.nodes().size(), false);
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const TopologyNode& node = topology.node(host);
    const NodeId leaf = node.ports.size() == 1 ? topology.port(node.ports[0]).peer : host;
    if (seen[leaf] && topology.host_count() > 2) continue;
    seen[leaf] = true;
    one_per_leaf.push_back(host);
  }
  if (one_per_leaf.size() == 1 && topology.host_count() > 1) one_per_leaf.push_back(1);
  // Trees repeat: from a bounded number of leaves all others are looked at.
  const std::size_t from_count = std::min<std::size_t>(one_per_leaf.size(), 64);
  for (std::size_t i = 0; i < from_count; ++i) {
    for (const NodeId to : one_per_leaf) {
      const std::uint32_t hops = paths.hops(to, one_per_leaf[i]);
      if (hops <= summary.diameter_hops || hops == kUnreachable) continue;
      summary.diameter_hops = hops;
      summary.diameter_from = to;
      summary.diameter_to = one_per_leaf[i];
    }
  }
  if (summary.diameter_hops != 0)
    summary.diameter_paths = paths.paths(summary.diameter_from, summary.diameter_to);
  return summary;
}

std::pair<NodeId, NodeId> longest_pair(const Topology& topology, const TopologySummary& summary, Bytes data,
                                       Bytes answer) {
  std::pair<NodeId, NodeId> longest{summary.diameter_from, summary.diameter_to};
  const auto same_link = [first = topology.port(0)](const TopologyPort& port) {
    return port.rate == first.rate && port.delay == first.delay;
  };
  if (std::ranges::all_of(topology.ports(), same_link)) return longest;  // Time goes by hops.
  const auto own_link = [&](NodeId host) {
    const PortId port = topology.node(host).ports[0];
    return packet_time(topology, {port}, data) + packet_time(topology, {topology.port(port).reverse}, data);
  };
  // By leaf, its two hosts with the slowest links, so that a leaf alone has a pair, too.
  std::map<NodeId, std::vector<NodeId>> leaves;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const TopologyNode& node = topology.node(host);
    std::vector<NodeId>& slowest = leaves[node.ports.size() == 1 ? topology.port(node.ports[0]).peer : host];
    slowest.push_back(host);
    std::ranges::stable_sort(slowest, std::ranges::greater{}, own_link);
    if (slowest.size() > 2) slowest.pop_back();
  }
  PathSurvey paths(topology);
  const auto longest_trip = [&](NodeId from, NodeId to) {
    return paths.longest_times(to, data)[from] + paths.longest_times(to, answer, true)[from];
  };
  TimePs most = longest_trip(longest.first, longest.second);
  const auto look_at = [&](NodeId from, NodeId to, TimePs time) {
    if (time <= most) return;
    most = time;
    longest = {from, to};
  };
  std::vector<NodeId> ends;
  for (const auto& [leaf, slowest] : leaves) {
    ends.push_back(slowest.front());
    if (slowest.size() < 2) continue;
    // Over their leaf there is one way.
    const NodeId from = slowest.back();
    const NodeId to = slowest.front();
    look_at(from, to,
            packet_time(topology, paths.path(from, to), data) +
                packet_time(topology, paths.path(to, from), answer));
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(ends.size(), 64); ++i) {
    const std::vector<TimePs> there = paths.longest_times(ends[i], data);
    const std::vector<TimePs> back = paths.longest_times(ends[i], answer, true);
    for (const NodeId from : ends) {
      if (from != ends[i]) look_at(from, ends[i], there[from] + back[from]);
    }
  }
  return longest;
}

}  // namespace wharf::sim
