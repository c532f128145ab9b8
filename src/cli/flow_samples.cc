// SPDX-License-Identifier: Apache-2.0
#include "cli/flow_samples.h"

#include <algorithm>
#include <chrono>

#include "base/memory_room.h"
#include "sim/fabric/topology_survey.h"
#include "sim/scenario/fabric_memory.h"

namespace wharf::cli {
namespace {

constexpr std::uint64_t kFlowBytes = 256 << 10U;
constexpr std::uint32_t kMoreHosts = 54;  ///< As a fat tree of three tiers has.
/// Of each flow of an all-to-all.
constexpr std::uint64_t kPairBytes = 4 << 10U;
/// With more connections than so many, a host's pools may be shared out otherwise than with few.
constexpr std::uint64_t kFewPeers = 2 * kSampleHosts;
/// What a run makes of a flow: its record and its place in the results.
constexpr std::uint64_t kRecordBytes = 128;

struct Traffic {
  workload::Collective collective;
  std::uint32_t hosts;
  std::uint64_t bytes;
};

/// One run, and the most that it had in memory.
struct Run {
  double taken_ns = 0;
  double hops = 0;
  double data_hops = 0;
  std::uint64_t held = 0;
  bool ended = false;
};

struct Peak {
  std::uint64_t bytes = 0;
  static void look(void* context, const sim::FabricProgress&) {
    auto& peak = *static_cast<Peak*>(context);
    peak.bytes = std::max(peak.bytes, resident_bytes());
  }
};

sim::FabricSettings plain(const sim::FabricSettings& given, const Traffic& traffic) {
  const sim::FabricSettings usual;
  sim::FabricSettings settings = given;
  settings.link_speed = usual.link_speed;
  settings.hop_latency = usual.hop_latency;
  settings.switch_latency = usual.switch_latency;
  settings.routing = sim::Routing::kMinimal;
  settings.traffic = {};
  settings.traffic.collective = traffic.collective;
  settings.traffic.size = traffic.bytes;
  settings.observation = {};
  settings.slow_links = 0;
  settings.links.changes.clear();
  settings.end = kTimeZero;
  settings.threads = 1;
  return settings;
}

Result<Run> run(const sim::FabricSettings& given, const Traffic& traffic) {
  const sim::FabricSettings settings = plain(given, traffic);
  const auto shape = sim::k_ary_shape(3, traffic.hosts, {settings.link_speed, settings.hop_latency},
                                      settings.switch_latency);
  if (!shape) return shape.error();
  auto tree = sim::fat_tree_of(*shape);
  if (!tree) return tree.error();
  auto flows = sim::generate_flows(settings.traffic, *tree, settings.seed, std::nullopt);
  if (!flows) return flows.error();
  const auto derived = sim::derive_fabric_run(settings, *tree, &*shape, *flows);
  if (!derived) return derived.error();
  return_freed_memory();
  const std::uint64_t before = resident_bytes();
  Peak peak;
  sim::FabricRunOptions options;
  options.progress = Peak::look;
  options.progress_context = &peak;
  const auto begin = std::chrono::steady_clock::now();
  const auto report = sim::run_flows(*tree, *flows, derived->config, options);
  if (!report) return report.error();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  Peak::look(&peak, {});
  return Run{taken.count(), static_cast<double>(std::max<std::uint64_t>(report->hops, 1)),
             static_cast<double>(data_hops(*tree, *flows, settings.payload)),
             peak.bytes - std::min(before, peak.bytes), report->outcome == sim::FabricOutcome::kFinished};
}

std::uint64_t each_more(std::uint64_t few, std::uint64_t many, std::uint64_t more) {
  return many > few ? (many - few) / more : 0;
}

}  // namespace

std::uint64_t data_hops(const sim::Topology& topology, const workload::FlowList& list,
                        std::uint64_t payload) {
  sim::PathSurvey paths(topology);
  std::uint64_t hops = 0;
  for (const workload::Flow& flow : list.flows)
    hops += (flow.bytes + payload - 1) / payload * paths.hops(flow.source, flow.destination);
  return hops;
}

Result<std::optional<FlowSamples>> sample_flows(const sim::FabricSettings& given,
                                                const sim::FabricInputs& inputs) {
  using workload::Collective;
  std::uint64_t longest = 1;
  for (const workload::Flow& flow : inputs.flows.flows) longest = std::max(longest, flow.bytes);
  const std::uint64_t held = std::min(longest, kFlowBytes);
  const auto few = run(given, {Collective::kPermutation, kSampleHosts, kFlowBytes});
  if (!few) return few.error();
  if (!few->ended) return std::optional<FlowSamples>();
  const auto small = held == kFlowBytes ? few : run(given, {Collective::kPermutation, kSampleHosts, held});
  if (!small) return small.error();
  const auto many = run(given, {Collective::kPermutation, kMoreHosts, held});
  if (!many) return many.error();
  const std::uint64_t hosts = inputs.topology.topology.host_count();
  const std::uint64_t connections = sim::connections_of(inputs.flows);
  const bool few_peers = connections <= kFewPeers * hosts;
  const std::uint32_t ranks = few_peers ? kSampleHosts : kMoreHosts;
  const auto pairs = run(given, {Collective::kAllToAll, ranks, std::min(held, kPairBytes)});
  if (!pairs) return pairs.error();
  FlowSamples samples;
  samples.hop_ns = few->taken_ns / few->hops;
  samples.hops_per_hop = std::max(1.0, few->hops / few->data_hops);
  // Whoever is silent holds less, but engines are made for all.
  const std::uint64_t host_bytes = each_more(small->held, many->held, kMoreHosts - kSampleHosts);
  const std::uint64_t connection_bytes =
      each_more((few_peers ? small : many)->held, pairs->held, std::uint64_t{ranks} * (ranks - 2));
  return_freed_memory();
  samples.memory_bytes = resident_bytes() + hosts * host_bytes +
                         (connections - std::min(connections, hosts)) * connection_bytes +
                         inputs.flows.flows.size() * kRecordBytes + inputs.flows.ranks.memory_bytes();
  return std::optional(samples);
}

}  // namespace wharf::cli
