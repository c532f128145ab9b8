// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/flow_connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/check.h"
#include "sim/fabric/port.h"

namespace wharf::sim {
namespace {

constexpr engine::QueueId kNoQueue = 0xffff'ffff;
constexpr std::uint32_t kDepthMax = 65536;

class FlowConnections {
 public:
  FlowConnections(FlowRun& run, const FlowRules& rules, const FlowEnds& ends)
      : run_(run), rules_(rules), ends_(ends) {
    std::size_t all = 0;
    for (NodeId host = 0; host < run.hosts.size(); ++host) {
      first_.push_back(all);
      all += ports_of(host);
    }
    hosts_.resize(all);
  }

  Result<void> connect() {
    count();
    for (std::size_t at = 0; at < hosts_.size(); ++at) {
      Host& here = hosts_[at];
      if (!here.used) continue;
      here.end = ends_.make(here.host, here.port);
      auto memory = here.end->expose(std::bit_ceil(here.largest));
      if (!memory) return memory.error();
      here.memory = *memory;
    }
    for (std::uint32_t i = 0; i < flows().size(); ++i) WHARF_TRY(connect(i));
    return {};
  }

 private:
  /// One engine of a host.
  struct Host {
    NodeId host = 0;
    std::uint32_t port = 0;
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    bool used = false;          ///< Some flow begins or ends here.
    std::uint64_t largest = 1;  ///< Bytes of a flow from or to it.
    engine::QueueId queue = kNoQueue;
    std::unique_ptr<FlowEnd> end;
    FlowEnd::Memory memory;
  };
  struct Connection {
    std::size_t near = 0;  ///< In hosts_, the ends.
    std::size_t far = 0;
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    engine::QueueId queue = 0;
    engine::QueueId far_queue = 0;
    verbs::PeerId peer = verbs::kNoPeer;
  };

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< Source, destination, number.

  const std::vector<workload::Flow>& flows() const { return run_.list->flows; }
  std::uint32_t ports_of(NodeId host) const { return ends_.ports.empty() ? 1 : ends_.ports[host]; }
  Host& end_of(NodeId host, std::uint32_t port) {
    Host& end = hosts_[first_[host] + port];
    end.host = host;
    end.port = port;
    return end;
  }
  Connection& connection_of(const workload::Flow& flow) {
    return connections_[{flow.source, flow.destination, flow.connection}];
  }

  /// A connection has the port of its source that its numbers say, and at the destination that of the same
  /// plane: ports of the same number, modulo those that are there.
  void place(const workload::Flow& flow, Connection& connection) {
    const std::uint32_t port = flow_port(flow, ports_of(flow.source));
    connection.near = first_[flow.source] + port;
    connection.far = first_[flow.destination] + port % ports_of(flow.destination);
    end_of(flow.source, port);
    end_of(flow.destination, port % ports_of(flow.destination));
  }

  void count() {
    for (const workload::Flow& flow : flows()) {
      Connection& connection = connection_of(flow);
      if (connection.sends == 0) place(flow, connection);
      ++hosts_[connection.near].sends;
      ++connection.sends;
      if (flow.verb == verbs::Verb::kSend) {
        ++hosts_[connection.far].receives;
        ++connection.receives;
      }
      for (const std::size_t end : {connection.near, connection.far}) {
        hosts_[end].used = true;
        hosts_[end].largest = std::max(hosts_[end].largest, flow.bytes);
      }
    }
  }

  Result<engine::QueueId> make_queue(std::size_t host, std::uint32_t sent, std::uint32_t received) {
    engine::QueueConfig depth;
    depth.send_depth = std::clamp(std::bit_ceil(sent), 1U, kDepthMax);
    depth.receive_depth = std::clamp(std::bit_ceil(received), 1U, kDepthMax);
    if (depth.receive_depth < received)
      return input_error(fmt::format("{}: host {} is sent {} messages, expected at most {}", run_.list->name,
                                     hosts_[host].host, received, kDepthMax));
    auto queue = hosts_[host].end->create_queue(depth);
    if (queue) hosts_[host].queue = *queue;
    return queue;
  }

  /// A queue of the connection's own, or the one that serves all connections of the host.
  Result<engine::QueueId> queue_of(std::size_t host, std::uint32_t sent, std::uint32_t received) {
    if (rules_.queue_per_connection) return make_queue(host, sent, received);
    if (hosts_[host].queue != kNoQueue) return hosts_[host].queue;
    return make_queue(host, hosts_[host].sends, hosts_[host].receives);
  }

  Result<void> join(Connection& connection) {
    auto near = queue_of(connection.near, connection.sends, 0);
    if (!near) return near.error();
    auto far = queue_of(connection.far, 0, connection.receives);
    if (!far) return far.error();
    connection.queue = *near;
    connection.far_queue = *far;
    FlowEnd& source = *hosts_[connection.near].end;
    FlowEnd& destination = *hosts_[connection.far].end;
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
    if (connection.peer == verbs::kNoPeer) WHARF_TRY(join(connection));
    const Host& target = hosts_[connection.far];
    run_.requests[index] = {.queue = connection.queue,
                            .peer = connection.peer,
                            .token = target.memory.token,
                            .base = target.memory.base,
                            .port = hosts_[connection.near].port,
                            .far_port = target.port};
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
  const FlowEnds& ends_;
  std::vector<std::size_t> first_;  ///< By host: its first place in hosts_.
  std::vector<Host> hosts_;         ///< Engines, by host and port.
  std::map<Key, Connection> connections_;
};

}  // namespace

std::uint32_t flow_port(const workload::Flow& flow, std::uint32_t ports) {
  if (ports == 1) return 0;
  const auto [low, high] = std::minmax(flow.source, flow.destination);
  const std::uint64_t ends = mix_bits(std::uint64_t{low} << 32U | high);
  return static_cast<std::uint32_t>(mix_bits(ends + flow.connection) % ports);
}

Result<void> connect_flows(FlowRun& run, const FlowRules& rules, const FlowEnds& ends) {
  return FlowConnections(run, rules, ends).connect();
}

void start_flows(FlowRun& run) {
  const std::vector<workload::Flow>& flows = run.list->flows;
  if (!run.ranks.empty()) return;  // Ranks start theirs.
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    if (flows[i].trigger == workload::kNoTrigger) run.wait(flows[i].source, {flows[i].start, i});
  }
}

}  // namespace wharf::sim
