// SPDX-License-Identifier: Apache-2.0
// What a protocol tells about itself so that it can run live. One header per protocol specialises
// LiveProtocol for its engine; live_protocol.h lists them. Nothing else in this folder knows a protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/arena.h"
#include "base/time.h"
#include "engine/named_counter.h"
#include "engine/queues.h"
#include "live/udp/secret_source.h"
#include "live/udp/udp_socket.h"
#include "verbs/segment.h"
#include "verbs/work_request.h"
#include "wire/host_address.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::live {

/// What an engine allocates from. Outlives it.
struct EngineMemory {
  wire::PayloadPool payloads;
  Arena arena;
};

/// One way to deliver that a user can ask for.
struct DeliveryChoice {
  std::string_view name = "default";
  verbs::Delivery delivery = verbs::Delivery::kDefault;         ///< Of each request.
  engine::ServiceMode service = engine::ServiceMode::kDefault;  ///< Of queues.
  bool reliable = true;  ///< False: nobody repeats what is lost, and nothing comes back.
  engine::TransportMode transport = engine::TransportMode::kDefault;  ///< Of queues.
};

/// What a user sees of a protocol.
struct ProtocolDescription {
  wire::Protocol protocol{};
  std::string_view name;
  /// Its own UDP port: of packets, and of the control connection, unless others are given.
  std::uint16_t port = 0;
  SocketConfig socket;
  /// Packets to different peers may differ in size; else those of an engine have one size for all.
  bool mtu_per_peer = true;
  /// Ways of congestion control, the default first; a protocol has one at least.
  std::span<const std::string_view> congestion;
  /// Ways to deliver besides the protocol's own; may be empty.
  std::span<const DeliveryChoice> delivery;
  bool tagged = false;  ///< Sends may carry tags, and receives ask for them.
  /// For the help of the commands: what follows `wharf serve` and `wharf perf`.
  std::string_view serve_example{};
  std::string_view perf_example{};
};

/// When packets that nobody answers go again: after the round trip to that peer and four deviations of it
/// [RFC 6298], between these two; each further time after twice as long. A peer that is silent for eight such
/// waits is given up.
struct RepetitionTimes {
  TimePs floor = milliseconds(2);
  TimePs cap = milliseconds(512);

  /// Before the first round trip is known.
  TimePs first() const { return max(milliseconds(4), floor); }
};

struct EngineSettings {
  wire::HostAddress host;
  std::uint32_t mtu = 4096;
  std::uint64_t seed = 1;
  RepetitionTimes repetition{};
  /// Send again for ever, every 16 ms at least, instead of giving a silent peer up.
  bool unlimited_retries = false;
  std::uint32_t congestion = 0;  ///< Index into ProtocolDescription::congestion.
  DeliveryChoice delivery{};     ///< Of this end's requests.
};

/// What a session's queue and memory are protected with: drawn anew for each, void when it ends. A protocol
/// uses as many bits of the secrets as its headers carry.
struct SessionSecrets {
  std::uint32_t domain = 0;  ///< A number that no other session has: the client's.
  std::uint64_t queue = 0;   ///< Accompanies what the client sends to the queue.
  std::uint64_t memory = 0;  ///< Accompanies its accesses to the memory.

  static Result<SessionSecrets> draw(wire::HostAddress client, SecretSource& source) {
    auto queue = source.next();
    if (!queue) return queue.error();
    auto memory = source.next();
    if (!memory) return memory.error();
    return SessionSecrets{client.number, *queue, *memory};
  }
};

/// The only names of a server's objects that a session can use. Who says another session's name, known or
/// guessed, is refused as if there were no such object: names are bound to the session, and so to its
/// address.
struct SessionNames {
  SessionSecrets secrets;
  verbs::QueueId queue;
  verbs::SegmentToken token;
};

/// What an engine has counted of packets that were on the wire before.
struct Repetitions {
  std::uint64_t sent = 0;      ///< It grows when such a packet is handed out.
  std::uint64_t received = 0;  ///< It grows while such a packet is taken in.
};

/// Where a datagram came from and went to, and how the network marked it.
struct Arrival {
  UdpEndpoint from;
  UdpEndpoint to;
  std::uint8_t service = 0;  ///< The TOS byte, if the socket tells it.
  IpIdentity ip{};
};

/// Specialised for every engine that runs live, with these static members:
///
///   kDescription                                     ProtocolDescription
///   make(settings, memory)                           Result<std::unique_ptr<E>>: an engine for real time
///   exporter(blob)                                   Result<wire::HostAddress>: the host that the blob of a
///                                                    queue names, which a stranger may have written
///   create_queue(engine, now, config, secrets)       Result<engine::QueueId>: the queue of one session
///   expose(engine, now, config, secrets)             Result<verbs::SegmentToken>: its memory
///   encode(packet, from, to, room)                   std::size_t: writes what follows the UDP header, the
///                                                    length; the room is one of UdpSocket::queue()
///   decode(bytes, arrival, packet)                   wire::DropReason: on kNone, `packet` is set but for its
///                                                    hosts, its payload points into `bytes`; everything
///                                                    that a hostile sender can do ends in a reason
///   confine(packet, names)                           void: turns names in a request that are not among
///                                                    `names` into ones that nothing has, so that the engine
///                                                    refuses them by the protocol's rule
///   refuses_access(packet)                           bool: `packet`, which leaves, says that its receiver
///   had
///                                                    no right to what it asked for
///   counters(engine)                                 std::vector<engine::NamedCounter>: all that it counted
///   repetitions(engine)                              Repetitions; asked for every packet
///   service(packet)                                  std::uint8_t: the TOS byte that `packet` leaves with
template <typename E>
struct LiveProtocol;

}  // namespace wharf::live
