// SPDX-License-Identifier: Apache-2.0
// The channels between two hosts: which there are, and what each is for. [UB-Base 2.0.1 6.1, 6.3.2, 7.4]
#pragma once

#include <cstdint>

#include "engine/queues.h"

namespace wharf::ub {

/// What a channel does with a request.
enum class ChannelKind : std::uint8_t {
  kReliable,    ///< RTP: numbered, confirmed when it arrives, answered when it has been executed.
  kFused,       ///< RTP of service mode ROL: confirmed when it has been executed, which is the answer.
  kUnreliable,  ///< UTP: sent, and forgotten. Its records are addresses and room, no state of the wire.
  kCompact,     ///< CTP: sent, and forgotten by the transport; the transaction waits for its answer.
};

/// Whether packets stay until the peer confirms them, and are sent again until then.
constexpr bool repeats(ChannelKind kind) { return kind < ChannelKind::kUnreliable; }

/// Which of the channels to one host. Both ends open the same, because each learns the other's service modes
/// when they connect.
using Lane = std::uint8_t;
inline constexpr Lane kFirstLane = 0;  ///< Reliable. There is one to every host that anything is imported of.
/// Two hosts have as many reliable channels as both want, at most this many, on lanes 0 to 7. (OpenURMA: a TP
/// group has up to eight members.)
inline constexpr std::uint32_t kChannelsMax = 8;
inline constexpr Lane kFusedLane = 8;       ///< Jetties whose service mode is ROL.
inline constexpr Lane kUnreliableLane = 9;  ///< Those of UNO.
inline constexpr Lane kCompactLane = 10;    ///< Those whose transport is CTP.
inline constexpr Lane kLaneCount = 11;

constexpr ChannelKind kind_of(Lane lane) {
  return lane == kFusedLane        ? ChannelKind::kFused
         : lane == kUnreliableLane ? ChannelKind::kUnreliable
         : lane == kCompactLane    ? ChannelKind::kCompact
                                   : ChannelKind::kReliable;
}

/// How the requests to one host are spread over its reliable channels, the members of a TP group.
enum class ChannelSpread : std::uint8_t {
  kFlow,     ///< A jetty keeps to one channel, and a channel to one path.
  kRequest,  ///< A jetty's requests take turns; all segments of one are on the same channel.
  kPacket,   ///< As kFlow, and each packet of a channel has other entropy than the one before.
};

/// The reliable lane of request `number` of jetty `jetty`, with `channels` of them.
constexpr Lane reliable_lane(std::uint32_t jetty, std::uint64_t number, std::uint32_t channels) {
  return static_cast<Lane>((jetty + number) % channels);
}

/// The lane of requests of a jetty with this service mode and transport, where there is one reliable channel.
constexpr Lane lane_of(engine::ServiceMode service, engine::TransportMode transport) {
  if (transport == engine::TransportMode::kCompact) return kCompactLane;
  switch (service) {
    case engine::ServiceMode::kOrderedByTransport:
      return kFusedLane;
    case engine::ServiceMode::kUnordered:
      return kUnreliableLane;
    case engine::ServiceMode::kDefault:
    case engine::ServiceMode::kOrderedByInitiator:
    case engine::ServiceMode::kOrderedByTarget:
    case engine::ServiceMode::kUnreliable:  // Refused where a jetty is made.
      break;
  }
  return kFirstLane;
}

/// [UB-Base 2.0.1 6.1, 7.4] ROT counts the requests of a jetty, and CTP those of a pair of entities; the
/// answers of ROL are acknowledgements of RTP; what UNO sends goes over UTP.
constexpr bool travels_compactly(engine::ServiceMode service) {
  return service == engine::ServiceMode::kDefault || service == engine::ServiceMode::kOrderedByInitiator;
}

/// Whether the target keeps the order of such a jetty's requests: it has one peer at a time then, which knows
/// it.
constexpr bool is_sequenced(engine::ServiceMode service) {
  return service == engine::ServiceMode::kOrderedByTarget ||
         service == engine::ServiceMode::kOrderedByTransport;
}

}  // namespace wharf::ub
