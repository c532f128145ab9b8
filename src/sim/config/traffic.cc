// SPDX-License-Identifier: Apache-2.0
#include "sim/config/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/nearest_name.h"
#include "workload/connection_matrix.h"
#include "workload/flow_table.h"
#include "workload/goal_trace.h"

namespace wharf::sim {
namespace {

constexpr std::string_view kFixed = "fixed";
constexpr std::array<Choice<workload::ArrivalPattern>, 3> kPatterns{
    {{"uniform", workload::ArrivalPattern::kUniform},
     {"permutation", workload::ArrivalPattern::kPermutation},
     {"incast", workload::ArrivalPattern::kIncast}}};

std::vector<std::string_view> sizes_by_name() {
  std::vector<std::string_view> names;
  for (const workload::PublishedSizes& each : workload::published_sizes()) names.push_back(each.name);
  names.push_back(kFixed);
  return names;
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view each : names) text += fmt::format("{}{}", text.empty() ? "" : ", ", each);
  return text;
}

/// " did you mean" with what stands nearest, if anything does.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> names) {
  const auto nearest = nearest_name(wrong, names);
  return nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string();
}

bool looks_like_file(std::string_view text) { return text.find_first_of("./") != std::string_view::npos; }

/// Keys of which one gives the flows.
constexpr std::array<std::string_view, 5> kSources{"traffic.cm", "traffic.table", "traffic.goal",
                                                   "traffic.collective", "traffic.arrivals"};
constexpr std::array<TrafficFile, 3> kFiles{{{"traffic.cm", "--cm", &TrafficSettings::matrix},
                                             {"traffic.table", "--flows", &TrafficSettings::table},
                                             {"traffic.goal", "--goal", &TrafficSettings::goal}}};
constexpr std::string_view kNone = "none";

void bind_sources(Binder& binder, TrafficSettings& traffic) {
  binder.text("cm", traffic.matrix, "flows from a connection matrix of htsim; --cm is its short form");
  binder.text("table", traffic.table,
              "flows from CSV, src,dst,bytes,start_ns[,op,priority,after]; --flows is its short form");
  binder.text("goal", traffic.goal,
              "ranks that compute, send and receive, from a text in the Group Operation Assembly Language; "
              "--goal is its short form");
  std::vector<Choice<std::optional<workload::Collective>>> collectives{{kNone, std::nullopt}};
  for (std::size_t i = 0; i < workload::collective_names().size(); ++i)
    collectives.push_back({workload::collective_names()[i], static_cast<workload::Collective>(i)});
  binder.choice<std::optional<workload::Collective>>(
      "collective", traffic.collective, collectives,
      "the flows of one collective operation; --collective is its short form");
  const std::vector<std::string_view> names = sizes_by_name();
  binder.text("arrivals", traffic.arrivals,
              fmt::format("flows that arrive at random, with sizes of {} or a CSV file "
                          "size_bytes,cumulative; --arrivals is its short form",
                          listed(names)));
  const bool known = std::find(names.begin(), names.end(), traffic.arrivals) != names.end();
  if (!traffic.arrivals.empty() && !known && !looks_like_file(traffic.arrivals))
    binder.refuse_last(fmt::format("{} or a CSV file{}", listed(names), suggestion(traffic.arrivals, names)));
}

void bind_ranks(Binder& binder, TrafficSettings& traffic) {
  {
    const Binder::Section given(binder, "", traffic.given(),
                                "only with traffic.collective or traffic.arrivals");
    binder.integer("ranks", traffic.ranks, "hosts that take part; 0: all, or as many as the placement lists",
                   0, workload::kFlowHostsMax);
  }
  const Binder::Section section(binder, "", traffic.given() || !traffic.goal.empty(),
                                "only with traffic.collective, traffic.arrivals or traffic.goal");
  std::string placement = "linear";
  constexpr std::array<std::string_view, 3> kWords{"linear", "stride", "random"};
  binder.text("placement", placement, fmt::format("the host of each rank: {}", workload::kPlacementForms));
  if (auto parsed = workload::parse_placement(placement)) {
    traffic.placement = *std::move(parsed);
  } else {
    const std::string word = placement.substr(0, placement.find(':'));
    const bool known = std::find(kWords.begin(), kWords.end(), word) != kWords.end();
    binder.refuse_last(
        fmt::format("{}{}", workload::kPlacementForms, known ? std::string() : suggestion(word, kWords)));
  }
}

}  // namespace

std::span<const TrafficFile> traffic_files() { return kFiles; }

const TrafficFile* traffic_file(const TrafficSettings& traffic) {
  for (const TrafficFile& each : kFiles) {
    if (!(traffic.*each.file).empty()) return &each;
  }
  return nullptr;
}

Result<workload::FlowList> read_traffic_file(const TrafficSettings& traffic, std::string_view text,
                                             const std::string& name, bool connection_reuse) {
  if (!traffic.matrix.empty())
    return workload::read_connection_matrix(text, name, {.connection_reuse = connection_reuse});
  if (!traffic.goal.empty()) return workload::read_goal_trace(text, name);
  return workload::read_flow_table(text, name);
}

bool TrafficSettings::sizes_from_file() const {
  return looks_like_file(arrivals) && !workload::published_distribution(arrivals);
}

std::uint32_t TrafficSettings::hosts_needed() const {
  std::uint32_t needed = ranks;
  for (const std::uint32_t host : placement.hosts) needed = std::max(needed, host + 1);
  return needed;
}

Result<std::vector<std::string>> keep_one_traffic(ConfigDocument& document) {
  std::string_view kept;
  int layer = 0;
  for (const std::string_view key : kSources) {
    const ConfigValue* given = document.peek(key);
    if (given == nullptr || given->text.empty() || given->text == kNone || given->layer < layer) continue;
    if (given->layer == layer) {
      return input_error(fmt::format("{}: {} stands beside {} ({}), expected flows from one place",
                                     given->origin, key, kept, document.peek(kept)->origin));
    }
    kept = key;
    layer = given->layer;
  }
  std::vector<std::string> replaced;
  for (const std::string_view key : kSources) {
    const ConfigValue* given = document.peek(key);
    if (given == nullptr || key == kept || given->layer >= layer) continue;
    if (given->layer == kScenarioLayer) {
      replaced.push_back(fmt::format("{} ({}) had no influence: {} ({}) gives the flows", key, given->origin,
                                     kept, document.peek(kept)->origin));
    }
    document.erase(key);
  }
  return replaced;
}

void bind_traffic(Binder& binder, TrafficSettings& traffic) {
  const Binder::Section section(binder, "traffic");
  bind_sources(binder, traffic);
  {
    const Binder::Section sized(binder, "", traffic.collective || traffic.arrivals == kFixed,
                                "only with traffic.collective, or traffic.arrivals = \"fixed\"");
    binder.bytes("size", traffic.size,
                 "of a collective: what a rank starts with, sends or receives (all_reduce: the vector; "
                 "all_to_all: to each other); of a fixed arrival",
                 1);
  }
  {
    const Binder::Section windowed(binder, "", traffic.collective == workload::Collective::kAllToAll,
                                   "only with traffic.collective = \"all_to_all\"");
    binder.integer("window", traffic.window, "destinations that a rank sends to at a time", 1,
                   workload::kFlowHostsMax);
  }
  bind_ranks(binder, traffic);
  {
    const Binder::Section computed(binder, "", !traffic.goal.empty(), "only with traffic.goal");
    binder.number("calc_scale", traffic.calc_scale,
                  "times what every calc of the trace takes, which is in nanoseconds there", 0, 1e6);
  }
  const Binder::Section arriving(binder, "", !traffic.arrivals.empty(), "only with traffic.arrivals");
  binder.choice<workload::ArrivalPattern>("pattern", traffic.pattern, kPatterns,
                                          "who sends to whom; incast: everybody to rank 0");
  binder.number("load", traffic.load,
                "mean rate of each sender (incast: of all together), in speeds of a host's link, headers "
                "not counted",
                0.0001, 2);
  binder.integer("flows", traffic.flows,
                 "arrivals end after so many; 0: 1000, or all of traffic.duration if that is given", 0,
                 workload::kFlowsMax);
  binder.time("duration", traffic.duration, "arrivals end at this time; 0ns: after traffic.flows");
  binder.time(
      "warm_up", traffic.warm_up,
      "flows that arrive before this time run, but are not judged: completion times, slowdowns, bytes "
      "and goodput leave them out");
  if (traffic.arrivals.empty()) traffic.warm_up = kTimeZero;  // All flows begin as their list says.
}

std::string_view name(workload::ArrivalPattern pattern) {
  for (const auto& each : kPatterns) {
    if (each.value == pattern) return each.name;
  }
  WHARF_CHECK(false);
}

Result<std::vector<std::uint32_t>> place(const TrafficSettings& traffic, std::uint32_t hosts,
                                         std::uint64_t seed) {
  auto placed = workload::place_ranks(traffic.placement, traffic.ranks, hosts, seed);
  if (!placed) return input_error("traffic." + placed.error().message);
  return placed;
}

Result<void> place_program(const TrafficSettings& traffic, std::uint32_t first, std::uint32_t count,
                           std::uint64_t seed, workload::FlowList& list) {
  const std::uint32_t ranks = list.ranks.ranks();
  const workload::Placement& placement = traffic.placement;
  const bool listed = placement.kind == workload::PlacementKind::kListed;
  if (listed && placement.hosts.size() != ranks) {
    return input_error(
        fmt::format("traffic.placement: found {} hosts, expected one for each of the {} ranks "
                    "of {}",
                    placement.hosts.size(), ranks, list.name));
  }
  if (ranks > count) {
    return input_error(fmt::format("{}: found {} ranks, expected at most {}, one for each host{}", list.name,
                                   ranks, count, first == 0 ? "" : " that makes traffic alone"));
  }
  auto hosts = workload::place_ranks(placement, ranks, listed ? first + count : count, seed);
  if (!hosts) return input_error("traffic." + hosts.error().message);
  for (std::uint32_t& host : *hosts) {
    if (!listed) host += first;
    if (host < first) {
      return input_error(
          fmt::format("traffic.placement: found host {}, expected hosts from {} to {}, which "
                      "make traffic alone",
                      host, first, first + count - 1));
    }
  }
  workload::move_ranks(list, *hosts);
  return workload::scale_calc(list.ranks, traffic.calc_scale);
}

BitsPerSecond host_rate(const Topology& topology) {
  BitsPerSecond slowest{~std::uint64_t{0}};
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    BitsPerSecond own;
    for (const PortId port : topology.node(host).ports) own.value += topology.port(port).rate.value;
    slowest = std::min(slowest, own);
  }
  return slowest;
}

Result<workload::FlowList> generate_flows(const TrafficSettings& traffic, const Topology& topology,
                                          std::uint64_t seed,
                                          const std::optional<workload::SizeDistribution>& table) {
  WHARF_CHECK(traffic.given());
  auto ranks = place(traffic, topology.host_count(), seed);
  if (!ranks) return ranks.error();
  Result<workload::FlowList> list = workload::FlowList{};
  if (traffic.collective) {
    list = workload::collective_flows({.kind = *traffic.collective,
                                       .bytes = traffic.size,
                                       .ranks = *std::move(ranks),
                                       .seed = seed,
                                       .window = traffic.window});
  } else {
    std::optional<workload::SizeDistribution> sizes = table;
    if (traffic.arrivals == kFixed) {
      if (traffic.size > workload::kFlowBytesMax)
        return input_error(fmt::format("traffic.size: found {}, expected at most {} for a flow",
                                       format_bytes(Bytes{traffic.size}),
                                       format_bytes(Bytes{workload::kFlowBytesMax})));
      sizes = workload::SizeDistribution::fixed(traffic.size);
    } else if (!sizes) {
      sizes = workload::published_distribution(traffic.arrivals);
    }
    WHARF_CHECK(sizes);
    const bool counted = traffic.flows != 0 || traffic.duration == kTimeZero;
    list = workload::arriving_flows(
        {.name = traffic.arrivals,
         .pattern = traffic.pattern,
         .ranks = *std::move(ranks),
         .link = host_rate(topology),
         .load_ppm = static_cast<std::uint32_t>(std::lround(traffic.load * 1e6)),
         .flows = counted ? (traffic.flows != 0 ? traffic.flows : kArrivingFlows) : 0,
         .duration = traffic.duration,
         .seed = seed},
        *sizes);
    if (list && !list->flows.empty() && list->flows.back().start < traffic.warm_up) {
      return input_error(
          fmt::format("traffic.warm_up: found {}, expected at most {}, when the last flow of {} "
                      "arrives",
                      format_time(traffic.warm_up), format_time(list->flows.back().start), list->name));
    }
  }
  if (list) list->hosts = topology.host_count();
  return list;
}

}  // namespace wharf::sim
