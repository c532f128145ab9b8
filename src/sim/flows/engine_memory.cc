// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/engine_memory.h"

#include <malloc.h>

#include <algorithm>

#include "workload/flow_list.h"

namespace wharf::sim {
namespace {

constexpr std::uint32_t kHosts = 12;
constexpr std::uint32_t kFewHosts = 4;
constexpr std::uint32_t kPeers = 5;
constexpr std::uint32_t kFlowsMost = 64;
constexpr std::uint64_t kBytesMost = 64U << 10U;
/// The last flow begins when the others have ended, so that the run is looked at once more.
constexpr TimePs kLast = milliseconds(2);

std::uint64_t heap_in_use() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Look {
  std::uint64_t before = 0;
  std::uint64_t most = 0;
};

struct SampleShape {
  std::uint32_t hosts = 0;
  std::uint32_t peers = 0;  ///< Of each host.
  std::uint32_t flows_each = 1;
  std::uint64_t bytes = 1;
};

workload::FlowList flows_of(const SampleShape& shape) {
  workload::FlowList list;
  const auto add = [&](std::uint32_t source, std::uint32_t step, std::uint32_t connection, TimePs start) {
    workload::Flow flow;
    flow.id = static_cast<std::uint32_t>(list.flows.size() + 1);
    flow.source = source;
    flow.destination = (source + step) % shape.hosts;
    flow.bytes = shape.bytes;
    flow.start = start;
    flow.connection = connection;
    list.flows.push_back(flow);
  };
  for (std::uint32_t host = 0; host < shape.hosts; ++host) {
    // Peers in turn are the neighbours; one connection each.
    for (std::uint32_t peer = 0; peer < shape.peers; ++peer) {
      for (std::uint32_t i = 0; i < shape.flows_each; ++i)
        add(host, 1 + peer % (shape.hosts - 1), peer, kTimeZero);
    }
  }
  add(0, 1, 0, kLast);
  return list;
}

/// What is on the heap while such flows run.
Result<std::uint64_t> held(const FabricRunConfig& config, const SampleShape& shape) {
  FabricRunConfig own;
  own.protocol = config.protocol;
  own.engines = config.engines;
  own.charge = config.charge;
  own.fabric.profiles = {PortProfile::single_queue()};
  own.time_limit = seconds(1);
  const Topology topology = star(shape.hosts, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const workload::FlowList list = flows_of(shape);
  Look look{heap_in_use(), 0};
  FabricRunOptions options;
  options.progress_context = &look;
  options.progress = [](void* context, const FabricProgress&) {
    Look& seen = *static_cast<Look*>(context);
    const std::uint64_t now = heap_in_use();
    seen.most = std::max(seen.most, now > seen.before ? now - seen.before : 0);
  };
  const auto report = run_flows(topology, list, own, options);
  if (!report) return report.error();
  return look.most;
}

std::uint64_t difference(std::uint64_t more, std::uint64_t less) { return more > less ? more - less : 0; }

}  // namespace

Result<EngineMemory> engine_memory(const FabricRunConfig& config, std::uint32_t flows_each,
                                   std::uint64_t bytes) {
  SampleShape shape{kFewHosts, 1, std::clamp(flows_each, 1U, kFlowsMost),
                    std::clamp<std::uint64_t>(bytes, 1, kBytesMost)};
  const auto few = held(config, shape);
  if (!few) return few.error();
  shape.hosts = kHosts;
  const auto more = held(config, shape);
  if (!more) return more.error();
  shape.peers = kPeers;
  const auto most = held(config, shape);
  if (!most) return most.error();
  EngineMemory memory;
  memory.connection = difference(*most, *more) / (kHosts * (kPeers - 1));
  memory.host = difference(difference(*more, *few) / (kHosts - kFewHosts), memory.connection);
  return memory;
}

}  // namespace wharf::sim
