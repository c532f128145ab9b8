// SPDX-License-Identifier: Apache-2.0
// How a server and its clients meet, over the network or in shared memory: a control connection for each
// client, and a port for frames. What follows is the same for both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "live/reactor/datagram_port.h"
#include "live/udp/control_channel.h"
#include "live/udp/live_engine.h"
#include "live/udp/place.h"

namespace wharf::live {

/// The server's side of control connections.
class ServerEntrance {
 public:
  virtual ~ServerEntrance() = default;
  /// Where clients connect; port 0: not over the network.
  virtual UdpEndpoint local() const = 0;
  /// Bytes of the largest IP packet that every way to this server carries, as far as the system knows.
  virtual std::uint32_t path_bytes() const = 0;
  /// A connection that has arrived, or nothing. Never waits.
  virtual std::optional<ControlChannel> accept() = 0;
  /// The session of `channel`, which accept() gave, is over.
  virtual void left(const ControlChannel& channel) = 0;
};

struct ServerDoor {
  std::unique_ptr<ServerEntrance> entrance;  ///< Uses `port` while it lets clients in and out.
  std::unique_ptr<DatagramPort> port;
};
Result<ServerDoor> open_door(const Place& place, const ProtocolDescription& protocol);

struct ClientDoor {
  ControlChannel channel;
  std::unique_ptr<DatagramPort> port;
};
/// Tries again until `patience` is over; then an environment error.
Result<ClientDoor> enter(const Place& server, const ProtocolDescription& protocol, TimePs patience);

}  // namespace wharf::live
