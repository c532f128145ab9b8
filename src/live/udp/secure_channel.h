// SPDX-License-Identifier: Apache-2.0
// A control connection whose ends have a key in common: they prove it to each other, and seal what follows.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "live/secure/handshake.h"
#include "live/secure/key.h"
#include "live/secure/seal.h"
#include "live/udp/control_channel.h"
#include "live/udp/place.h"
#include "wire/packet.h"

namespace wharf::live {

/// Refuses a key for shared memory, and sealed packets without one.
Result<void> check_key(const std::optional<Key>& key, bool seal_packets, const Place& place);

/// Proves that this side has `shared` and that the server has it, and seals `channel` from then on.
/// `patience`: for each answer.
Result<SessionKeys> secure_as_client(ControlChannel& channel, const Key& shared, wire::Protocol protocol,
                                     bool seal_packets, TimePs patience);

/// A server's side, for one connection.
class Doorkeeper {
 public:
  /// Whether `message` comes before those of the session. `shared`: the server's key, if it has one.
  bool wants(const std::optional<Key>& shared, std::span<const std::byte> message) const {
    return !keys_ && (shared || is_handshake_message(message));
  }
  /// Answers it on `channel`, which is sealed once the client has shown the key. After an error the
  /// connection is to be refused.
  Result<void> answer(ControlChannel& channel, const std::optional<Key>& shared, wire::Protocol protocol,
                      bool seal_packets, std::span<const std::byte> message);

  bool seals_packets() const { return keys_ && keys_->seal_packets; }
  /// For the server's end; null unless seals_packets().
  std::unique_ptr<PacketSeal> packet_seal() const;

 private:
  std::optional<ServerHandshake> handshake_;  ///< Until there are keys.
  std::optional<SessionKeys> keys_;
};

}  // namespace wharf::live
