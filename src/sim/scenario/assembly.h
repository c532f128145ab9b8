// SPDX-License-Identifier: Apache-2.0
// What running a program and replaying a trace share: the object graph of a scenario, the run loop, and the
// part of the report that comes from the hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "sim/scenario/run.h"
#include "sim/two_hosts/two_hosts.h"

namespace wharf::sim {

/// The two hosts that `config` asks for.
TwoHostsConfig two_hosts_config(const ScenarioConfig& config, const RunOptions& options);
/// What only a run decides. Refuses captures of ports that do not exist.
Result<void> apply_options(const RunOptions& options, WorldConfig& world);

/// Adds `finding` to what the run's memory did wrong.
void add_to_verdict(RunReport& report, std::string_view finding);

/// What happens while a run goes on; both are called between its slices, when all hosts have come to now.
struct RunHooks {
  std::function<double()> fraction;         ///< How far it has come.
  std::function<void()> at_rest = nullptr;  ///< May look at what the programs have noted so far.
};

/// Runs until the programs have ended, the run stalls (`waiting` then says why) or an interrupt arrives.
RunOutcome run_to_the_end(World& world, TimePs limit, const RunOptions& options, const RunHooks& hooks,
                          std::vector<std::string>& waiting);

/// Statistics of `picoseconds`, which it sorts.
LatencySummary exact_latency(std::vector<std::int64_t>& picoseconds);

/// Statistics of `histogram`; its percentiles are not exact.
LatencySummary histogram_latency(const Histogram& histogram);

/// Everything that the hosts themselves can tell.
void fill_from(World& world, const ScenarioConfig& config, RunReport& report);

}  // namespace wharf::sim
