// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/flow_connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/check.h"

namespace wharf::sim {
namespace {

constexpr engine::QueueId kNoQueue = 0xffff'ffff;
constexpr std::uint32_t kDepthMax = 65536;

class FlowConnections {
 public:
  FlowConnections(FlowRun& run, const FlowRules& rules,
                  const std::function<std::unique_ptr<FlowEnd>(NodeId)>& end)
      : run_(run), rules_(rules), make_end_(end), hosts_(run.hosts.size()) {}

  Result<void> connect() {
    count();
    for (NodeId host = 0; host < hosts_.size(); ++host) {
      Host& here = hosts_[host];
      if (!here.used) continue;
      here.end = make_end_(host);
      auto memory = here.end->expose(std::bit_ceil(here.largest));
      if (!memory) return memory.error();
      here.memory = *memory;
    }
    for (std::uint32_t i = 0; i < flows().size(); ++i) WHARF_TRY(connect(i));
    return {};
  }

 private:
  struct Host {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    bool used = false;          ///< Some flow begins or ends here.
    std::uint64_t largest = 1;  ///< Bytes of a flow from or to it.
    engine::QueueId queue = kNoQueue;
    std::unique_ptr<FlowEnd> end;
    FlowEnd::Memory memory;
  };
  struct Connection {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    engine::QueueId queue = 0;
    engine::QueueId far_queue = 0;
    verbs::PeerId peer = verbs::kNoPeer;
  };

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< Source, destination, number.

  const std::vector<workload::Flow>& flows() const { return run_.list->flows; }
  Connection& connection_of(const workload::Flow& flow) {
    return connections_[{flow.source, flow.destination, flow.connection}];
  }

  void count() {
    for (const workload::Flow& flow : flows()) {
      Connection& connection = connection_of(flow);
      ++hosts_[flow.source].sends;
      ++connection.sends;
      if (flow.verb == verbs::Verb::kSend) {
        ++hosts_[flow.destination].receives;
        ++connection.receives;
      }
      for (const std::uint32_t host : {flow.source, flow.destination}) {
        hosts_[host].used = true;
        hosts_[host].largest = std::max(hosts_[host].largest, flow.bytes);
      }
    }
  }

  Result<engine::QueueId> make_queue(NodeId host, std::uint32_t sent, std::uint32_t received) {
    engine::QueueConfig depth;
    depth.send_depth = std::clamp(std::bit_ceil(sent), 1U, kDepthMax);
    depth.receive_depth = std::clamp(std::bit_ceil(received), 1U, kDepthMax);
    if (depth.receive_depth < received)
      return input_error(fmt::format("{}: host {} is sent {} messages, expected at most {}", run_.list->name,
                                     host, received, kDepthMax));
    auto queue = hosts_[host].end->create_queue(depth);
    if (queue) hosts_[host].queue = *queue;
    return queue;
  }

  /// A queue of the connection's own, or the one that serves all connections of the host.
  Result<engine::QueueId> queue_of(NodeId host, std::uint32_t sent, std::uint32_t received) {
    if (rules_.queue_per_connection) return make_queue(host, sent, received);
    if (hosts_[host].queue != kNoQueue) return hosts_[host].queue;
    return make_queue(host, hosts_[host].sends, hosts_[host].receives);
  }

  Result<void> join(const workload::Flow& flow, Connection& connection) {
    auto near = queue_of(flow.source, connection.sends, 0);
    if (!near) return near.error();
    auto far = queue_of(flow.destination, 0, connection.receives);
    if (!far) return far.error();
    connection.queue = *near;
    connection.far_queue = *far;
    FlowEnd& source = *hosts_[flow.source].end;
    FlowEnd& destination = *hosts_[flow.destination].end;
    const auto near_blob = source.export_queue(connection.queue);
    const auto far_blob = destination.export_queue(connection.far_queue);
    if (!near_blob || !far_blob) return (near_blob ? far_blob : near_blob).error();
    const auto peer = source.connect(connection.queue, *far_blob);
    if (!peer) return peer.error();
    connection.peer = *peer;
    if (!rules_.both_connect) return {};
    const auto back = destination.connect(connection.far_queue, *near_blob);
    if (!back) return back.error();
    return {};
  }

  Result<void> connect(std::uint32_t index) {
    const workload::Flow& flow = flows()[index];
    Connection& connection = connection_of(flow);
    if (connection.peer == verbs::kNoPeer) WHARF_TRY(join(flow, connection));
    const Host& target = hosts_[flow.destination];
    run_.requests[index] = {connection.queue, connection.peer, target.memory.token, target.memory.base};
    if (flow.verb != verbs::Verb::kSend) return {};
    verbs::ReceiveRequest receive;
    receive.id = index;
    receive.local_count = 1;
    receive.local[0] = {target.memory.base, static_cast<std::uint32_t>(std::bit_ceil(target.largest))};
    if (target.end->post_receive(connection.far_queue, receive) == engine::PostStatus::kOk) return {};
    return input_error(fmt::format("{}: {} takes no receive for flow {}, expected fewer sends",
                                   run_.list->name, rules_.name, flow.id));
  }

  FlowRun& run_;
  const FlowRules& rules_;
  const std::function<std::unique_ptr<FlowEnd>(NodeId)>& make_end_;
  std::vector<Host> hosts_;
  std::map<Key, Connection> connections_;
};

}  // namespace

Result<void> connect_flows(FlowRun& run, const FlowRules& rules,
                           const std::function<std::unique_ptr<FlowEnd>(NodeId)>& end) {
  return FlowConnections(run, rules, end).connect();
}

void start_flows(FlowRun& run) {
  const std::vector<workload::Flow>& flows = run.list->flows;
  if (!run.ranks.empty()) return;  // Ranks start theirs.
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    if (flows[i].trigger == workload::kNoTrigger) run.wait(flows[i].source, {flows[i].start, i});
  }
}

}  // namespace wharf::sim
