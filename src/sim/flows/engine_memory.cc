// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/engine_memory.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "sim/flows/flow_connections.h"
#include "workload/flow_list.h"

namespace wharf::sim {
namespace {

/// The first engine is connected with each of the others.
constexpr std::uint32_t kEngines = 4;
constexpr std::uint64_t kFlowBytes = 4096;

workload::FlowList flows_to(std::uint32_t peers, std::uint32_t flows_each) {
  workload::FlowList list;
  for (std::uint32_t peer = 1; peer <= peers; ++peer) {
    for (std::uint32_t i = 0; i < flows_each; ++i) {
      workload::Flow flow;
      flow.id = static_cast<std::uint32_t>(list.flows.size() + 1);
      flow.source = 0;
      flow.destination = peer;
      flow.bytes = kFlowBytes;
      list.flows.push_back(flow);
    }
  }
  return list;
}

/// What the arenas of all engines hold when the first has `peers` peers.
template <typename P>
Result<std::uint64_t> held(const typename P::Config& config, std::uint32_t peers, std::uint32_t flows_each) {
  wire::PayloadPool payloads;
  std::array<Arena, kEngines> arenas{Arena{4U << 10U}, Arena{4U << 10U}, Arena{4U << 10U}, Arena{4U << 10U}};
  typename P::Engines maker;
  std::vector<typename P::Engine> engines;
  engines.reserve(kEngines);
  for (std::uint32_t host = 0; host < kEngines; ++host) {
    auto made = maker.make(config, host, payloads, arenas[host]);
    if (!made) return made.error();
    engines.push_back(*std::move(made));
  }
  const workload::FlowList list = flows_to(peers, flows_each);
  FlowRun run(list, kEngines);
  WHARF_TRY(connect_flows(run, P::kRules.flows, {[&](NodeId host, std::uint32_t) {
                            return std::make_unique<EngineFlowEnd<typename P::Engine>>(engines[host],
                                                                                       1U << 20U);
                          }}));
  std::uint64_t bytes = 0;
  for (const Arena& arena : arenas) bytes += arena.bytes_held();
  return bytes;
}

}  // namespace

Result<EngineMemory> engine_memory(const FabricRunConfig& config, std::uint32_t flows_each) {
  return visit_protocol(config.protocol, [&]<typename P>(std::type_identity<P>) -> Result<EngineMemory> {
    const auto& own = std::get<typename P::Config>(config.engines);
    const auto none = held<P>(own, 0, flows_each);
    if (!none) return none.error();
    const auto some = held<P>(own, kEngines - 2, flows_each);
    if (!some) return some.error();
    const auto more = held<P>(own, kEngines - 1, flows_each);
    if (!more) return more.error();
    return EngineMemory{*none / kEngines + sizeof(typename P::Engine), *more - *some};
  });
}

}  // namespace wharf::sim
