// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/flow_watch.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::sim {

FlowWatch::FlowWatch(const workload::FlowList& list, const std::vector<std::uint32_t>& flows,
                     std::uint32_t hosts)
    : hosts_(hosts), flows_(flows), index_(list.flows.size(), kUnwatched), sends_(hosts), receives_(hosts) {
  std::sort(flows_.begin(), flows_.end());
  for (std::uint32_t at = 0; at < flows_.size(); ++at) {
    const workload::Flow& flow = list.flows[flows_[at]];
    const bool read = flow.verb == verbs::Verb::kRead;
    const std::uint32_t from = read ? flow.destination : flow.source;
    const std::uint32_t to = read ? flow.source : flow.destination;
    index_[flows_[at]] = at;
    senders_.push_back({.host = from, .remote = to, .answers = read});
    receivers_.push_back({.host = to});
    sends_[from].push_back(at);
    receives_[to].push_back(at);
  }
}

void FlowWatch::sent(std::uint32_t host, const wire::Packet& packet, bool again) {
  const std::uint32_t at = index_of(packet.operation);
  // The request of a read belongs to the flow, too, but it goes the other way.
  if (at == kUnwatched || senders_[at].host != host) return;
  Sender& sender = senders_[at];
  sender.retransmitted += again ? 1U : 0U;
  PathUse& path = sender.paths[packet.entropy];
  ++path.packets;
  path.bytes += wire::frame_bytes(packet);
}

void FlowWatch::arrived(std::uint32_t host, const wire::Packet& packet) {
  if (packet.trim == wire::TrimState::kWhole) return;
  const std::uint32_t at = index_of(packet.operation);
  if (at == kUnwatched || receivers_[at].host != host) return;
  ++receivers_[at].trimmed;
  ++receivers_[at].trimmed_paths[packet.entropy];
}

void FlowWatch::written(std::uint32_t host, const engine::Access& access) {
  const std::uint32_t at = index_of(access.operation);
  if (at != kUnwatched && receivers_[at].host == host) receivers_[at].delivered += access.length;
}

std::vector<std::uint32_t> FlowWatch::hosts() const {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t host = 0; host < sends_.size(); ++host) {
    if (!sends_[host].empty() || !receives_[host].empty()) hosts.push_back(host);
  }
  return hosts;
}

std::vector<FlowSample> FlowWatch::samples() const {
  std::vector<FlowSample> all;
  const std::size_t instants = senders_.empty() ? 0 : senders_[0].samples.size();
  for (std::size_t i = 0; i < instants; ++i) {
    for (std::size_t at = 0; at < flows_.size(); ++at) {
      const Sent& sent = senders_[at].samples[i];
      const Received& received = receivers_[at].samples[i];
      WHARF_CHECK(sent.at == received.at);
      all.push_back(
          {sent.at, flows_[at], sent.trace, received.delivered, sent.retransmitted, received.trimmed});
    }
  }
  return all;
}

std::vector<PathUse> FlowWatch::paths() const {
  std::vector<PathUse> all;
  for (std::size_t at = 0; at < flows_.size(); ++at) {
    for (const auto& [entropy, use] : senders_[at].paths) {
      PathUse& row = all.emplace_back(use);
      row.flow = flows_[at];
      row.entropy = entropy;
      const auto trimmed = receivers_[at].trimmed_paths.find(entropy);
      if (trimmed != receivers_[at].trimmed_paths.end()) row.trimmed = trimmed->second;
    }
  }
  return all;
}

}  // namespace wharf::sim
