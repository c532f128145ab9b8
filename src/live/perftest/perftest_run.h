// SPDX-License-Identifier: Apache-2.0
// One test of perftest, as its client or its server, from the first connection to the good-bye.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/named_counter.h"
#include "live/ethernet/ethernet_port.h"
#include "live/perftest/traffic.h"
#include "live/reactor/idle_policy.h"
#include "live/udp/live_engine.h"
#include "live/udp/live_host.h"
#include "wire/packet.h"
#include "wire/udp.h"

namespace wharf::live {

/// Where perftest's server listens.
inline constexpr std::uint16_t kPerftestPort = 18515;
inline constexpr wire::Protocol kPerftestProtocol = wire::Protocol::kRoce;

struct PerftestConfig {
  TrafficConfig traffic;
  UdpEndpoint meeting;  ///< TCP: where the server listens, at either side.
  EthernetConfig ethernet{.port = wire::kRocePort};
  FaultConfig faults;  ///< Of what arrives.
  std::uint32_t path_mtu = 4096;
  IdleConfig idle;
  RepetitionTimes repetition{};
  std::uint64_t seed = 1;
  std::filesystem::path capture;  ///< Where to write the datagrams, or empty.
  TimePs connect_patience = seconds(10);
  TimePs stall_patience = seconds(20);  ///< Without any packet for so long the run counts as stalled.
};

struct PerftestResult {
  TrafficResult traffic;
  /// What lies in the end where the messages land, or what was read: as many bytes as one has.
  std::vector<std::byte> landed;
  std::uint32_t path_mtu = 0;
  UdpEndpoint peer;  ///< Of the RoCE frames; none when the run was interrupted before that.
  LiveCounters counters;
  EthernetCounters ethernet;
  std::vector<engine::NamedCounter> engine;
  bool interrupted = false;  ///< By `stop`: partial, from whenever it was.
};

/// Refuses what cannot work, before anybody is asked.
Result<void> check(const PerftestConfig& config);

/// Runs it. `listening` is called when a server waits for its client. Errors: kInput for what the peer says
/// that cannot be, kEnvironment when it cannot be reached, kStalled when it stops answering.
Result<PerftestResult> run_perftest(const PerftestConfig& config, const std::function<void()>& listening,
                                    const std::atomic<bool>& stop);

}  // namespace wharf::live
