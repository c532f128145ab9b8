// SPDX-License-Identifier: Apache-2.0
// Queues, memory and peers for every connection that a list of flows needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/contract.h"
#include "sim/fabric/topology.h"
#include "sim/flows/flow_driver.h"
#include "sim/protocols/protocol.h"

namespace wharf::sim {

/// Which of the `ports` of its source a flow takes that keeps to one: as bonded interfaces choose, by both
/// ends, whichever begins, and by the number of its connection. At its destination it takes that of the same
/// plane.
std::uint32_t flow_port(const workload::Flow& flow, std::uint32_t ports);

/// Where a flow begins or ends, while it is being connected.
class FlowEnd {
 public:
  virtual ~FlowEnd() = default;
  virtual Result<engine::QueueId> create_queue(const engine::QueueConfig& config) = 0;
  virtual Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) = 0;
  virtual Result<engine::PeerId> connect(engine::QueueId queue, std::span<const std::byte> blob) = 0;
  virtual engine::PostStatus post_receive(engine::QueueId queue, const verbs::ReceiveRequest& request) = 0;
  /// Memory of `length` bytes that flows read and write.
  struct Memory {
    std::uint64_t base = 0;
    verbs::SegmentToken token{};
  };
  virtual Result<Memory> expose(std::uint64_t length) = 0;
};

/// The end of an engine whose memory is described: flows find it at `base`.
template <engine::Engine E>
class EngineFlowEnd final : public FlowEnd {
 public:
  EngineFlowEnd(E& engine, std::uint64_t base) : engine_(engine), base_(base) {}

  Result<engine::QueueId> create_queue(const engine::QueueConfig& config) override {
    return engine_.create_queue(kTimeZero, config);
  }
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) override {
    return engine_.export_queue(queue);
  }
  Result<engine::PeerId> connect(engine::QueueId queue, std::span<const std::byte> blob) override {
    return engine_.connect(kTimeZero, queue, blob);
  }
  engine::PostStatus post_receive(engine::QueueId queue, const verbs::ReceiveRequest& request) override {
    return engine_.post_receive(kTimeZero, queue, request);
  }
  Result<Memory> expose(std::uint64_t length) override {
    const auto token = engine_.register_segment(kTimeZero, {.base = base_, .length = length});
    if (!token) return token.error();
    return Memory{base_, *token};
  }

 private:
  E& engine_;
  std::uint64_t base_;
};

/// All places where flows begin or end.
struct FlowEnds {
  /// Asked once for each host, and for each port where the ports of a host have engines of their own.
  std::function<std::unique_ptr<FlowEnd>(NodeId host, std::uint32_t port)> make;
  std::vector<std::uint32_t> ports{};  ///< By host, that have engines of their own; empty: one engine each.
};

/// Makes every connection and fills in `run.requests`, in the order of the list, so that queue
/// numbers depend on nothing else. Refuses what the engines refuse.
Result<void> connect_flows(FlowRun& run, const FlowRules& rules, const FlowEnds& ends);

/// Every partition of `fabric` hears what activates triggers that reach from host to host. Empty where none
/// does; else it outlives the run.
template <typename Fabric>
std::vector<std::unique_ptr<RemoteTriggers>> listen_for_triggers(FlowRun& run, Fabric& fabric) {
  std::vector<std::unique_ptr<RemoteTriggers>> listeners;
  if (run.triggers.stays_on_hosts()) return listeners;
  const auto hosts = static_cast<NodeId>(run.hosts.size());
  for (std::uint32_t i = 0; i < fabric.partition_count(); ++i) {
    std::vector<bool> own(hosts);
    for (NodeId host = 0; host < hosts; ++host) own[host] = fabric.partition_of(host) == i;
    auto& context = fabric.context(i);
    listeners.push_back(std::make_unique<RemoteTriggers>(run, context, std::move(own)));
    context.listener = listeners.back().get();
  }
  return listeners;
}

/// Flows that wait for nothing but their time are handed to their sources.
void start_flows(FlowRun& run);

}  // namespace wharf::sim
