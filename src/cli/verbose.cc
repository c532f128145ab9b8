// SPDX-License-Identifier: Apache-2.0
#include "cli/verbose.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/counted.h"
#include "sim/protocols/protocols.h"
#include "wharf/data_folders.h"
#include "workload/workload.h"

namespace wharf::cli {
namespace {

void tell_folders(std::string_view kind, const Console& console) {
  if (const auto folders = data_folders(kind))
    console.remark(fmt::format("{} are looked for in {}", kind, folders->list()));
}

void tell_profile(const std::string& profile, const std::vector<std::filesystem::path>& files,
                  const Console& console) {
  for (std::size_t at = 0; at < files.size(); ++at) {
    console.remark(at == 0 ? fmt::format("profile {} is {}", profile, files[at].string())
                           : fmt::format("which extends {}", files[at].string()));
  }
}

void tell_overrides(const ScenarioOptions& options, const Console& console) {
  for (const std::string& assignment : options.overrides)
    console.remark(fmt::format("the command line sets {}", assignment));
}

}  // namespace

void tell_places(const ScenarioOptions& options, const Console& console) {
  if (!options.verbose) return;
  if (!options.file.empty()) console.remark(fmt::format("scenario {} is {}", options.name, options.file));
  for (const std::string_view kind : {"scenarios", "profiles"}) tell_folders(kind, console);
}

void tell_inputs(const ScenarioOptions& options, const sim::Scenario& scenario, const Console& console) {
  if (!options.verbose) return;
  tell_places(options, console);
  const sim::ScenarioConfig& config = scenario.config;
  tell_profile(config.profile, scenario.profile_files, console);
  tell_overrides(options, console);
  const bool replays = config.program == sim::ProgramKind::kReplay;
  if (replays) console.remark(fmt::format("trace is {}", config.replay.trace));
  console.remark(fmt::format("programs: {} over {}, seed {}, {}",
                             replays ? "replay" : workload::name(workload::kind_of(config.workload)),
                             sim::name(config.stack), config.seed,
                             report::counted(scenario.expectations.size(), "expectation", "expectations")));
}

void tell_inputs(const ScenarioOptions& options, const sim::FabricInputs& inputs,
                 const sim::FabricDerived& derived, const Console& console) {
  if (!options.verbose) return;
  tell_places(options, console);
  const sim::FabricSettings& settings = inputs.loaded.settings;
  tell_profile(settings.profile, inputs.loaded.profile_files, console);
  tell_overrides(options, console);
  for (const auto& [file, hash] : inputs.hashes) console.remark(fmt::format("reads {}", file));
  console.remark(fmt::format(
      "flows: {} over {} and {}, seed {}", report::counted(inputs.flows.flows.size(), "flow", "flows"),
      report::counted(inputs.topology.topology.host_count(), "host", "hosts"),
      report::counted(inputs.topology.topology.switch_count(), "switch", "switches"), settings.seed));
  console.remark(fmt::format(
      "derived: base round trip {}, bandwidth-delay product {}, largest window {}, queues {} with marks from "
      "{} to {}, time-out {}",
      format_time(derived.base_rtt), format_bytes(Bytes{derived.bdp}),
      format_bytes(Bytes{derived.max_window}), format_bytes(Bytes{derived.queue_bytes}),
      format_bytes(Bytes{derived.ecn_low}), format_bytes(Bytes{derived.ecn_high}), format_time(derived.rto)));
}

}  // namespace wharf::cli
