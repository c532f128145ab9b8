// SPDX-License-Identifier: Apache-2.0
#include "live/udp/secure_channel.h"

#include <fmt/format.h>

#include <variant>
#include <vector>

#include "live/udp/session.h"

namespace wharf::live {
namespace {

/// Sends `message` and waits for the answer; a refusal becomes its error.
Result<std::vector<std::byte>> ask(ControlChannel& channel, std::span<const std::byte> message,
                                   TimePs patience) {
  WHARF_TRY(channel.send(message, patience));
  auto answer = channel.receive(patience);
  if (!answer || is_handshake_message(*answer)) return answer;
  const auto said = decode_session_message(*answer);
  if (!said) return said.error();
  if (const auto* refusal = std::get_if<Refusal>(&*said))
    return Error{refusal->kind, fmt::format("the server refuses: {}", refusal->reason)};
  return input_error("the server sent a session message, expected one of the handshake");
}

/// What the proofs of a connection cover beside its messages. `of_server`: `channel` is the server's end.
HandshakeBinding binding_of(const ControlChannel& channel, wire::Protocol protocol, bool of_server) {
  const std::uint32_t own = channel.local_address();
  const std::uint32_t other = channel.peer_address();
  return {of_server ? other : own, of_server ? own : other, static_cast<std::uint8_t>(protocol)};
}

}  // namespace

Result<void> check_key(const std::optional<Key>& key, bool seal_packets, const Place& place) {
  if (seal_packets && !key) return input_error("--encrypt: there is no key, expected --psk FILE");
  if (!key || !place.shared()) return {};
  return input_error(
      fmt::format("--psk: {} is shared memory, where the kernel tells each end who the other is, expected an "
                  "address such as 127.0.0.1",
                  format_place(place)));
}

Result<SessionKeys> secure_as_client(ControlChannel& channel, const Key& shared, wire::Protocol protocol,
                                     bool seal_packets, TimePs patience) {
  const auto secrets = HandshakeSecrets::draw();
  if (!secrets) return secrets.error();
  ClientHandshake handshake(shared, binding_of(channel, protocol, false), seal_packets, *secrets);
  const auto challenge = ask(channel, handshake.open(), patience);
  if (!challenge) return challenge.error();
  const auto prove = handshake.prove(*challenge);
  if (!prove) return prove.error();
  const auto proof = ask(channel, *prove, patience);
  if (!proof) return proof.error();
  auto keys = handshake.finish(*proof);
  if (keys) channel.seal(keys->control_to_server, keys->control_to_client);
  return keys;
}

Result<void> Doorkeeper::answer(ControlChannel& channel, const std::optional<Key>& shared,
                                wire::Protocol protocol, bool seal_packets,
                                std::span<const std::byte> message) {
  if (!shared) return input_error("it has no key, expected clients without --psk");
  if (!is_handshake_message(message))
    return input_error("it lets in only clients that have its key, expected --psk FILE");
  if (!handshake_) {
    const auto secrets = HandshakeSecrets::draw();
    if (!secrets) return secrets.error();
    handshake_.emplace(*shared, binding_of(channel, protocol, true), seal_packets, *secrets);
  }
  const auto answer = handshake_->answer(message);
  if (!answer) return answer.error();
  // Who does not read is not waited for.
  WHARF_TRY(channel.send(*answer, kTimeZero));
  if (!handshake_->keys()) return {};
  keys_ = handshake_->keys();
  handshake_.reset();
  channel.seal(keys_->control_to_client, keys_->control_to_server);
  return {};
}

std::unique_ptr<PacketSeal> Doorkeeper::packet_seal() const {
  if (!seals_packets()) return nullptr;
  return std::make_unique<PacketSeal>(keys_->packets_to_client, keys_->packets_to_server);
}

}  // namespace wharf::live
