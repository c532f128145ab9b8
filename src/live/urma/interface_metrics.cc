// SPDX-License-Identifier: Apache-2.0
// What an interface counts, in a file for `wharf top` and monitoring systems.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "live/udp/ub_live.h"
#include "live/urma/identity.h"
#include "live/urma/interface.h"
#include "live/urma/library.h"

namespace wharf::live::urma {
namespace {

/// Peers in the file: of others there is the sum alone.
constexpr std::size_t kPeersShown = 1024;

/// "127.0.0.1:4793"; in shared memory "shm:1:4793".
std::string place_of(const UdpEndpoint& endpoint) {
  return is_shared_memory(endpoint.address) ? fmt::format("shm:{}:{}", endpoint.address, endpoint.port)
                                            : format_endpoint(endpoint);
}

}  // namespace

void Interface::begin_metrics() {
  const char* const folder = std::getenv("WHARF_URMA_METRICS");
  if (folder == nullptr || *folder == '\0') return;
  if (::access(folder, W_OK | X_OK) != 0) {
    log(URMA_VLOG_LEVEL_WARNING, "WHARF_URMA_METRICS: no files can be written in %s: %s", folder,
        std::strerror(errno));
    return;
  }
  std::string place = place_of(endpoint());
  std::replace(place.begin(), place.end(), ':', '-');
  metrics_path_ = std::filesystem::path(folder) / fmt::format("{}-{}.prom", ::getpid(), place);
  metrics_ = MetricsFile(metrics_path_);
  metrics_due_ = now_;
}

ServerState Interface::metrics_state() const {
  ServerState out;
  out.protocol = LiveProtocol<ub::UbEngine>::kDescription.name;
  out.address = place_of(endpoint());
  out.process = static_cast<std::uint32_t>(::getpid());
  out.uptime = now_;
  out.counters.datagrams_received = counters_.datagrams_received;
  out.counters.datagrams_sent = counters_.datagrams_sent;
  out.counters.bytes_received = counters_.bytes_received;
  out.counters.bytes_sent = counters_.bytes_sent;
  out.counters.unknown_sender = counters_.unknown_sender;
  out.counters.undecodable = counters_.malformed;
  out.counters.undecodable_by = counters_.malformed_by;
  out.counters.completions = counters_.completions;
  out.messages = counters_.messages;
  out.queues = static_cast<std::size_t>(
      std::count_if(owners_.begin(), owners_.end(), [](const QueueOwner* each) { return each != nullptr; }));
  out.clients_max = static_cast<std::uint32_t>(kPeersMost + GreetedPeers::kMost);
  for (const MemoryUse& use : engine_->memory_use()) out.engine_bytes += use.bytes;
  out.payload_bytes = memory_.payloads.reserved_bytes();
  out.engine = LiveProtocol<ub::UbEngine>::counters(*engine_);
  out.engine.push_back({"datagrams_without_memory", counters_.no_memory});
  for (const auto& [number, peer] : peer_of_number_) {
    ++out.clients;
    if (out.peers.size() == kPeersShown) continue;
    PeerState& shown = out.peers.emplace_back();
    shown.number = number;
    shown.address = place_of(peer->endpoint);
    shown.traffic = peer->traffic;
  }
  std::sort(out.peers.begin(), out.peers.end(),
            [](const PeerState& left, const PeerState& right) { return left.number < right.number; });
  return out;
}

}  // namespace wharf::live::urma
