// SPDX-License-Identifier: Apache-2.0
// The serving side: exposes memory to several clients at once, in turn, until it is told to stop. Clients may
// vanish at any time; what they held is freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "live/reactor/idle_policy.h"
#include "live/secure/key.h"
#include "live/secure/seal.h"
#include "live/udp/capture_orders.h"
#include "live/udp/live_engine.h"
#include "live/udp/live_host.h"
#include "live/udp/place.h"
#include "wire/packet.h"

namespace wharf::live {

/// How often a server looks at its control connections, and how many messages it answers then: of each client
/// one at most, so that nobody can keep it from the others and from the packets.
inline constexpr TimePs kControlInterval = milliseconds(2);
inline constexpr std::size_t kMessagesPerLook = 16;
inline constexpr std::size_t kAcceptsPerLook = 4;
/// Connections whose queue is not connected yet; one more sends the oldest of them away.
inline constexpr std::size_t kHalfOpenMax = 64;

/// What one client may do to the others.
struct ClientLimits {
  /// A client that has said nothing for so long leaves when another needs its place.
  TimePs idle = seconds(10);
  /// Clients at once from one address; 0: half of all, at least 1, and from a loopback address all, for the
  /// users of one machine share it.
  std::uint32_t per_address = 0;
  /// Answers that it has no right to what it asked for; one more ends the session.
  std::uint64_t refused_accesses = 64;
};

struct ServerConfig {
  wire::Protocol protocol{};
  Place listen;  ///< Port 0: the system chooses. The UDP port is the same where that is free.
  std::uint64_t memory_bytes = std::uint64_t{64} << 20U;
  std::uint32_t clients_max =
      16;                      ///< At once; each gets an equal slice of the memory, and no access to others.
  bool shared_memory = false;  ///< Every client gets access to all of the memory.
  bool once = false;           ///< End when the last client has left.
  TimePs set_up_patience = seconds(5);  ///< For a connection until its queue is connected.
  FaultConfig faults;
  IdleConfig idle;
  std::uint64_t seed = 1;  ///< Draws initial sequence numbers.
  /// Draws the secrets of the sessions, for runs that must repeat; none: they come from the kernel.
  std::optional<std::uint64_t> secrets_seed;
  ClientLimits limits;
  std::optional<Key> psk;     ///< Lets in only clients that have it. Not in shared memory.
  bool seal_packets = false;  ///< Of every client, else of those that want it. With `psk`.
  SealLimits seal_limits;
  RepetitionTimes repetition{};
  bool unlimited_retries = false;
  /// Payload bytes of a packet at most: a power of two from 256 to 4096. 0: what the interface listened on
  /// takes, where all clients must have the same, else what the path to each takes.
  std::uint32_t mtu = 0;
  std::uint32_t congestion = 0;   ///< EngineSettings::congestion.
  DeliveryChoice delivery{};      ///< Of what the server sends.
  std::filesystem::path capture;  ///< Where to write the datagrams, or empty.
  /// Where captures go that `capture_orders` asks for (ordered_capture.h); without `capture`.
  std::filesystem::path ordered_capture;
  CaptureOrders* capture_orders = nullptr;
  std::filesystem::path metrics;  ///< Where to keep the counters while it runs (metrics_file.h), or empty.
};

/// What a server tells while it runs; called on its thread.
struct ServerObserver {
  struct Ready {
    UdpEndpoint control;          ///< Where clients connect, unless in shared memory.
    std::uint16_t udp_port = 0;   ///< Where packets go.
    std::span<std::byte> memory;  ///< What is exposed; valid until serve() returns.
  };
  std::function<void(const Ready&)> ready;
  std::function<void(std::string_view)> remark;  ///< One line about a client that came, left or was refused.
};

struct ServerSummary {
  std::uint64_t clients = 0;   ///< Sessions that were set up.
  std::uint64_t messages = 0;  ///< That arrived in receive entries.
  LiveCounters counters;
  std::uint64_t half_open = 0;  ///< Connections that ended without a session.
  std::uint64_t keyless = 0;    ///< Of them: that did not show the key.
  /// What the engine held at the end; grows with clients at once, not with all.
  std::uint64_t engine_bytes = 0;
  std::uint64_t payload_bytes = 0;  ///< Of the buffers in which packets waited, likewise.
  bool stopped = false;             ///< `stop` ended it.
};

/// Serves until `stop` becomes true, or until the last client has left when `once` is set. A busy port or
/// memory that the system does not give is an environment error.
Result<ServerSummary> serve(const ServerConfig& config, const ServerObserver& observer,
                            const std::atomic<bool>& stop);

}  // namespace wharf::live
