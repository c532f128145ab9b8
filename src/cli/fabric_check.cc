// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/counted.h"
#include "report/wrapped_text.h"
#include "sim/fabric/topology_survey.h"
#include "sim/scenario/fabric_memory.h"
#include "sim/scenario/run_request.h"

namespace wharf::cli {
namespace {

constexpr std::uint32_t kSampleHosts = 16;
constexpr std::uint64_t kSampleBytes = 256 << 10U;

/// Hops of packets with data, if each is sent once.
std::uint64_t data_hops(const sim::Topology& topology, const workload::FlowList& list,
                        std::uint64_t payload) {
  sim::PathSurvey paths(topology);
  std::uint64_t hops = 0;
  for (const workload::Flow& flow : list.flows)
    hops += (flow.bytes + payload - 1) / payload * paths.hops(flow.source, flow.destination);
  return hops;
}

struct Sample {
  double hop_ns = 0;          ///< Wall time of one packet-hop.
  double hops_per_hop = 1.0;  ///< All packet-hops over those of data.
};

/// Tens of milliseconds of a permutation over a small fat tree of usual links, with the other keys of the
/// scenario. Nothing where it does not end: then there is no time to tell.
Result<std::optional<Sample>> measure(const sim::FabricSettings& given) {
  const sim::FabricSettings usual;
  sim::FabricSettings settings = given;
  settings.link_speed = usual.link_speed;
  settings.hop_latency = usual.hop_latency;
  settings.switch_latency = usual.switch_latency;
  settings.routing = sim::Routing::kMinimal;
  settings.traffic = {};
  settings.traffic.collective = workload::Collective::kPermutation;
  settings.traffic.size = kSampleBytes;
  settings.observation = {};
  settings.slow_links = 0;
  settings.links.changes.clear();
  settings.end = kTimeZero;
  settings.threads = 1;
  sim::FabricInputs inputs;
  inputs.loaded.settings = settings;
  const auto shape =
      sim::k_ary_shape(3, kSampleHosts, {settings.link_speed, settings.hop_latency}, settings.switch_latency);
  if (!shape) return shape.error();
  auto tree = sim::fat_tree_of(*shape);
  if (!tree) return tree.error();
  auto flows = sim::generate_flows(settings.traffic, *tree, settings.seed, std::nullopt);
  if (!flows) return flows.error();
  const auto run = sim::derive_fabric_run(settings, *tree, &*shape, *flows);
  if (!run) return run.error();
  const auto begin = std::chrono::steady_clock::now();
  const auto report = sim::run_flows(*tree, *flows, run->config, {});
  if (!report) return report.error();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  if (report->outcome != sim::FabricOutcome::kFinished) return std::optional<Sample>();
  const auto hops = static_cast<double>(std::max<std::uint64_t>(report->hops, 1));
  const auto data = static_cast<double>(data_hops(*tree, *flows, settings.payload));
  return std::optional(Sample{taken.count() / hops, std::max(1.0, hops / data)});
}

}  // namespace

Result<ExitCode> check_fabric(const ScenarioOptions& scenario, const Console& console) {
  const auto asked = scenario.request();
  if (!asked) return asked.error();
  const auto inputs = sim::prepare_flows(*asked);
  if (!inputs) return inputs.error();
  const sim::Topology& topology = inputs->topology.topology;
  const auto derived = sim::derive(*inputs, {topology, inputs->topology.names});
  if (!derived) return derived.error();
  WHARF_TRY(sim::check_flows(topology, inputs->flows, derived->config));
  const sim::FabricSettings& settings = inputs->loaded.settings;
  const auto sample = measure(settings);
  if (!sample) return sample.error();
  const Sample of = sample->value_or(Sample());
  const double hops =
      static_cast<double>(data_hops(topology, inputs->flows, settings.payload)) * of.hops_per_hop;
  const double seconds_taken = hops * of.hop_ns / 1e9;
  std::uint64_t bytes = 0;
  for (const workload::Flow& flow : inputs->flows.flows) bytes += flow.bytes;
  const std::uint64_t memory = sim::estimate_memory(topology, inputs->flows, derived->config);
  for (const auto* remarks : {&inputs->remarks, &derived->remarks}) {
    for (const std::string& line : *remarks) console.remark(line);
  }
  nlohmann::ordered_json estimate{{"packet_hops", static_cast<std::uint64_t>(hops)},
                                  {"memory_bytes", memory}};
  if (*sample) {
    estimate["seconds"] = seconds_taken;
    estimate["sample"] = {{"packet_hop_ns", of.hop_ns}};
  }
  console.print(nlohmann::ordered_json{{"scenario", scenario.file},
                                       {"valid", true},
                                       {"flows", inputs->flows.flows.size()},
                                       {"bytes", bytes},
                                       {"hosts", topology.host_count()},
                                       {"switches", topology.switch_count()},
                                       {"expectations", inputs->loaded.expectations.size()},
                                       {"estimate", estimate},
                                       {"without_influence", inputs->loaded.no_influence}});
  const std::string time =
      *sample
          ? fmt::format(
                "{:.1f} s on one core, {} MiB (a permutation of {} hosts took {:.0f} ns per packet-hop here "
                "just now; what is sent again comes on top)",
                seconds_taken, memory >> 20U, kSampleHosts, of.hop_ns)
          : fmt::format(
                "{} MiB (a permutation of {} hosts does not end with these keys, so nothing tells the time)",
                memory >> 20U, kSampleHosts);
  console.print(report::in_lines(fmt::format(
      "{} is valid: {} over {} and {}, {} in all, {}; about {:.0f} packet-hops, {}", scenario.file,
      report::counted(inputs->flows.flows.size(), "flow", "flows"),
      report::counted(topology.host_count(), "host", "hosts"),
      report::counted(topology.switch_count(), "switch", "switches"), format_bytes(Bytes{bytes}),
      report::counted(inputs->loaded.expectations.size(), "expectation", "expectations"), hops, time)));
  return ExitCode::kDone;
}

}  // namespace wharf::cli
