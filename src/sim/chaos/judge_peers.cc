// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/judge_peers.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "sim/chaos/peers_plan.h"
#include "sim/chaos/peers_world.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/run_request.h"

namespace wharf::sim {
namespace {

/// The keys of the hosts' model, as a scenario with any program.
RunRequest model_of(const DrawnRun& run, const std::filesystem::path& profiles) {
  RunRequest request;
  request.profile_directory = profiles;
  request.file = fmt::format("chaos-{}.toml", run.seed);
  request.text = "run.workload = \"verb_loop\"\n";
  for (const DrawnKey& each : run.keys) {
    if (each.key.starts_with("model.")) request.text += fmt::format("{} = {}\n", each.key, each.value);
  }
  return request;
}

template <typename P>
Verdict judge(const PeersPlan& plan, const typename P::Config& config) {
  Verdict verdict;
  PeersWorld<P> world(plan, config);
  if (const auto ran = world.run(); !ran) {
    verdict.refused = ran.error().message;
    return verdict;
  }
  verdict.operations = world.operations();
  if (world.fault()) verdict.findings.push_back({world.fault()->check, world.fault()->what});
  std::set<std::string> known;
  std::set<std::string> reached;
  world.each_counters([&](const typename P::Counters& counters) {
    for (const NamedCounter& each : P::counters(counters)) {
      const std::string name = fmt::format("{}.{}", wire::key_of(P::kProtocol), each.name);
      known.insert(name);
      if (each.value > 0) reached.insert(name);
    }
  });
  verdict.known.assign(known.begin(), known.end());
  verdict.reached.assign(reached.begin(), reached.end());
  return verdict;
}

}  // namespace

Result<Verdict> judge_peers(const DrawnRun& run, const std::filesystem::path& profiles) {
  const auto plan = plan_of(run);
  if (!plan) return plan.error();
  const auto scenario = prepare_programs(model_of(run, profiles));
  if (!scenario) {
    Verdict verdict;
    verdict.refused = scenario.error().message;
    return verdict;
  }
  const ScenarioConfig& config = scenario->config;
  return visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
    return judge<P>(*plan,
                    P::derive(std::get<typename P::Settings>(config.protocols), config.link, config.host));
  });
}

}  // namespace wharf::sim
