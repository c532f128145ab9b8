// SPDX-License-Identifier: Apache-2.0
// How the two ends of a control connection prove to each other that they have the same key, and agree on keys
// that nobody else learns, also if theirs becomes known later. Machines without I/O: messages in, messages
// out.
//
//   client                             server
//     Open ------------------------->          a nonce, whether packets shall be sealed
//          <------------------------- Challenge  the same of the server
//     Prove ------------------------>          an ephemeral key, a proof over all of this
//          <------------------------- Proof     the server's ephemeral key and proof
//
// A stranger costs a hash: curves are computed for those alone who have shown the key. What follows on the
// connection is sealed, which is the client's proof that it could compute the same keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "live/secure/key.h"

namespace wharf::live {

/// What both ends know of their connection beside their messages; who sees it otherwise is another peer.
struct HandshakeBinding {
  std::uint32_t client_address = 0;
  std::uint32_t server_address = 0;
  std::uint8_t protocol = 0;
};

/// What a session is protected with. Each key has one direction and one use.
struct SessionKeys {
  Key control_to_server;
  Key control_to_client;
  Key packets_to_server;
  Key packets_to_client;
  bool seal_packets = false;  ///< One end at least wants it.
};

/// What an end draws for one handshake.
struct HandshakeSecrets {
  static constexpr std::size_t kNonceBytes = 32;

  std::array<std::byte, kNonceBytes> nonce{};
  Key exchange;  ///< The ephemeral secret.

  static Result<HandshakeSecrets> draw();
};

/// Whether `message` is of a handshake, not of a session.
bool is_handshake_message(std::span<const std::byte> message);

namespace handshake {

inline constexpr std::size_t kPublicBytes = 32;
inline constexpr std::size_t kProofBytes = 32;
/// Magic "WHRS", version, type.
inline constexpr std::size_t kHeadBytes = 6;
inline constexpr std::uint8_t kVersion = 1;

/// All that was said, in its order, each field at its place.
struct Transcript {
  HandshakeBinding binding;
  std::array<std::byte, 1 + HandshakeSecrets::kNonceBytes> opened{};      ///< What Open holds.
  std::array<std::byte, 1 + HandshakeSecrets::kNonceBytes> challenged{};  ///< What Challenge holds.
  std::array<std::byte, kPublicBytes> client_public{};
  std::array<std::byte, kPublicBytes> server_public{};  ///< Zeros in the client's proof.
};

}  // namespace handshake

/// Errors: input, one sentence. After one the handshake is over.
class ClientHandshake {
 public:
  ClientHandshake(const Key& shared, const HandshakeBinding& binding, bool seal_packets,
                  const HandshakeSecrets& secrets);

  std::vector<std::byte> open() const;
  /// The answer to Challenge.
  Result<std::vector<std::byte>> prove(std::span<const std::byte> challenge);
  /// What Proof gives.
  Result<SessionKeys> finish(std::span<const std::byte> proof);

 private:
  Key shared_;
  HandshakeSecrets secrets_;
  handshake::Transcript said_;
};

class ServerHandshake {
 public:
  ServerHandshake(const Key& shared, const HandshakeBinding& binding, bool seal_packets,
                  const HandshakeSecrets& secrets);

  /// The answer to the client's next message.
  Result<std::vector<std::byte>> answer(std::span<const std::byte> message);
  /// Once the client has proved itself and the last answer is made.
  const std::optional<SessionKeys>& keys() const { return keys_; }

 private:
  Result<std::vector<std::byte>> challenge(std::span<const std::byte> open);
  Result<std::vector<std::byte>> proof(std::span<const std::byte> prove);

  Key shared_;
  HandshakeSecrets secrets_;
  handshake::Transcript said_;
  bool opened_ = false;
  std::optional<SessionKeys> keys_;
};

}  // namespace wharf::live
