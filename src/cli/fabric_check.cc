// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/flow_samples.h"
#include "cli/verbose.h"
#include "report/counted.h"
#include "report/wrapped_text.h"
#include "sim/scenario/fabric_memory.h"
#include "sim/scenario/run_request.h"

namespace wharf::cli {

Result<ExitCode> check_fabric(const ScenarioOptions& scenario, const Console& console) {
  const auto asked = scenario.request();
  if (!asked) return asked.error();
  const auto inputs = sim::prepare_flows(*asked);
  if (!inputs) return inputs.error();
  const sim::Topology& topology = inputs->topology.topology;
  const auto derived = sim::derive(*inputs, {topology, inputs->topology.names});
  if (!derived) return derived.error();
  tell_inputs(scenario, *inputs, derived->derived, console);
  WHARF_TRY(sim::check_flows(topology, inputs->flows, derived->config));
  const sim::FabricSettings& settings = inputs->loaded.settings;
  std::uint64_t bytes = 0;
  for (const workload::Flow& flow : inputs->flows.flows) bytes += flow.bytes;
  const auto sample = sample_flows(settings, *inputs);
  if (!sample) return sample.error();
  const FlowSamples of = sample->value_or(FlowSamples());
  const double hops =
      static_cast<double>(data_hops(topology, inputs->flows, settings.payload)) * of.hops_per_hop;
  const double seconds_taken = hops * of.hop_ns / 1e9;
  const std::uint64_t memory =
      *sample ? of.memory_bytes : sim::estimate_memory(topology, inputs->flows, derived->config);
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
