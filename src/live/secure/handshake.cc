// SPDX-License-Identifier: Apache-2.0
#include "live/secure/handshake.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "live/secure/octets.h"

namespace wharf::live {
namespace {

using handshake::kHeadBytes;
using handshake::kProofBytes;
using handshake::kPublicBytes;
using handshake::kVersion;
using handshake::Transcript;

constexpr std::uint32_t kMagic = 0x57485253;  // "WHRS"

enum class Type : std::uint8_t { kOpen = 1, kChallenge, kProve, kProof };
constexpr std::size_t kWishBytes = 1 + HandshakeSecrets::kNonceBytes;
constexpr std::size_t kProveBytes = kPublicBytes + kProofBytes;

static_assert(kPublicBytes == crypto_scalarmult_BYTES && Key::kBytes == crypto_scalarmult_SCALARBYTES);
static_assert(kProofBytes == Key::kBytes);

/// Keyed BLAKE2b [RFC 7693] over a label, which says what the result is for, and parts of fixed lengths.
class Hash {
 public:
  Hash(std::span<const std::byte> key, std::size_t length, std::string_view label) : length_(length) {
    WHARF_CHECK(crypto_generichash_init(&state_, octets(key.data()), key.size(), length) == 0);
    // The end of the label is a zero, so that none is the beginning of another.
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(label.data()), label.size());
    const unsigned char end = 0;
    crypto_generichash_update(&state_, &end, 1);
  }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  ~Hash() { sodium_memzero(&state_, sizeof state_); }

  Hash& add(std::span<const std::byte> part) {
    crypto_generichash_update(&state_, octets(part.data()), part.size());
    return *this;
  }
  Hash& add(const Transcript& said) {
    std::array<std::byte, 9> binding{};
    store_be32(binding.data(), said.binding.client_address);
    store_be32(binding.data() + 4, said.binding.server_address);
    binding[8] = std::byte{said.binding.protocol};
    return add(binding).add(said.opened).add(said.challenged).add(said.client_public).add(said.server_public);
  }
  void finish(std::byte* out) { crypto_generichash_final(&state_, octets(out), length_); }

 private:
  crypto_generichash_state state_;
  std::size_t length_;
};

std::span<const std::byte> bytes_of(const Key& key) { return {key.data(), Key::kBytes}; }

/// Longer than a key, and as secret.
struct Root {
  Root() = default;
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() { sodium_memzero(bytes.data(), bytes.size()); }
  Key derive(std::string_view label) const {
    Key key;
    Hash(bytes, Key::kBytes, label).finish(key.data());
    return key;
  }
  std::array<std::byte, crypto_generichash_KEYBYTES_MAX> bytes{};
};

using Proof = std::array<std::byte, kProofBytes>;

Proof client_proof(const Key& shared, const Transcript& said) {
  Proof proof{};
  Hash(bytes_of(shared), kProofBytes, "wharf 1 client proof").add(said).finish(proof.data());
  return proof;
}
Proof server_proof(const Root& root, const Transcript& said) {
  Proof proof{};
  const Key key = root.derive("wharf 1 server proof key");
  Hash(bytes_of(key), kProofBytes, "wharf 1 server proof").add(said).finish(proof.data());
  return proof;
}
bool same(const Proof& expected, std::span<const std::byte> found) {
  return found.size() == kProofBytes && sodium_memcmp(expected.data(), found.data(), kProofBytes) == 0;
}

std::array<std::byte, kPublicBytes> public_of(const Key& secret) {
  std::array<std::byte, kPublicBytes> out{};
  WHARF_CHECK(crypto_scalarmult_base(octets(out.data()), octets(secret.data())) == 0);
  return out;
}

/// The root of a session's keys. False: `other` is a point that would give anybody the same.
bool make_root(const Key& shared, const Key& own, std::span<const std::byte, kPublicBytes> other,
               const Transcript& said, Root& root) {
  Key agreed;
  if (crypto_scalarmult(octets(agreed.data()), octets(own.data()), octets(other.data())) != 0) return false;
  Hash(bytes_of(shared), root.bytes.size(), "wharf 1 session")
      .add(bytes_of(agreed))
      .add(said)
      .finish(root.bytes.data());
  return true;
}

SessionKeys keys_of(const Root& root, const Transcript& said) {
  return {root.derive("wharf 1 control to server"), root.derive("wharf 1 control to client"),
          root.derive("wharf 1 packets to server"), root.derive("wharf 1 packets to client"),
          said.opened[0] != std::byte{0} || said.challenged[0] != std::byte{0}};
}

std::vector<std::byte> make(Type type, std::span<const std::byte> first,
                            std::span<const std::byte> second = {}) {
  std::vector<std::byte> out(kHeadBytes);
  store_be32(out.data(), kMagic);
  out[4] = std::byte{kVersion};
  out[5] = std::byte{static_cast<std::uint8_t>(type)};
  out.insert(out.end(), first.begin(), first.end());
  out.insert(out.end(), second.begin(), second.end());
  return out;
}

/// The `size` bytes behind the head of a message of `type`.
Result<std::span<const std::byte>> read(Type type, std::size_t size, std::span<const std::byte> message) {
  if (!is_handshake_message(message)) return input_error("the peer does not speak wharf's handshake");
  const auto version = std::to_integer<unsigned>(message[4]);
  if (version != kVersion) {
    return input_error(
        fmt::format("the peer speaks version {} of the handshake, expected {}", version, kVersion));
  }
  const auto found = std::to_integer<unsigned>(message[5]);
  if (found != static_cast<unsigned>(type)) {
    return input_error(fmt::format("a handshake message of type {} came out of turn, expected type {}", found,
                                   static_cast<unsigned>(type)));
  }
  if (message.size() != kHeadBytes + size)
    return input_error("handshake message: its length does not fit its type");
  return message.subspan(kHeadBytes);
}

/// A wish and a nonce, as Open and Challenge hold them.
Result<void> read_wish(Type type, std::span<const std::byte> message,
                       std::array<std::byte, kWishBytes>& out) {
  const auto body = read(type, kWishBytes, message);
  if (!body) return body.error();
  if (std::to_integer<unsigned>((*body)[0]) > 1)
    return input_error("handshake message: expected 0 or 1 for whether packets shall be sealed");
  std::copy(body->begin(), body->end(), out.begin());
  return {};
}

void set_wish(std::array<std::byte, kWishBytes>& out, bool seal_packets, const HandshakeSecrets& secrets) {
  out[0] = std::byte{seal_packets};
  std::copy(secrets.nonce.begin(), secrets.nonce.end(), out.begin() + 1);
}

}  // namespace

Result<HandshakeSecrets> HandshakeSecrets::draw() {
  HandshakeSecrets out;
  auto nonce = Key::draw();
  if (!nonce) return nonce.error();
  std::copy_n(nonce->data(), kNonceBytes, out.nonce.begin());
  auto exchange = Key::draw();
  if (!exchange) return exchange.error();
  out.exchange = *exchange;
  return out;
}

bool is_handshake_message(std::span<const std::byte> message) {
  return message.size() >= kHeadBytes && load_be32(message.data()) == kMagic;
}

ClientHandshake::ClientHandshake(const Key& shared, const HandshakeBinding& binding, bool seal_packets,
                                 const HandshakeSecrets& secrets)
    : shared_(shared), secrets_(secrets) {
  said_.binding = binding;
  set_wish(said_.opened, seal_packets, secrets);
}

std::vector<std::byte> ClientHandshake::open() const { return make(Type::kOpen, said_.opened); }

Result<std::vector<std::byte>> ClientHandshake::prove(std::span<const std::byte> challenge) {
  WHARF_TRY(read_wish(Type::kChallenge, challenge, said_.challenged));
  said_.client_public = public_of(secrets_.exchange);
  return make(Type::kProve, said_.client_public, client_proof(shared_, said_));
}

Result<SessionKeys> ClientHandshake::finish(std::span<const std::byte> proof) {
  const auto body = read(Type::kProof, kProveBytes, proof);
  if (!body) return body.error();
  const auto other = body->first<kPublicBytes>();
  std::copy(other.begin(), other.end(), said_.server_public.begin());
  Root root;
  if (!make_root(shared_, secrets_.exchange, other, said_, root) ||
      !same(server_proof(root, said_), body->subspan(kPublicBytes))) {
    return input_error("the server did not prove that it has the key of --psk, expected one that has");
  }
  return keys_of(root, said_);
}

ServerHandshake::ServerHandshake(const Key& shared, const HandshakeBinding& binding, bool seal_packets,
                                 const HandshakeSecrets& secrets)
    : shared_(shared), secrets_(secrets) {
  said_.binding = binding;
  set_wish(said_.challenged, seal_packets, secrets);
}

Result<std::vector<std::byte>> ServerHandshake::answer(std::span<const std::byte> message) {
  if (keys_) return input_error("a handshake message came out of turn");
  return opened_ ? proof(message) : challenge(message);
}

Result<std::vector<std::byte>> ServerHandshake::challenge(std::span<const std::byte> open) {
  WHARF_TRY(read_wish(Type::kOpen, open, said_.opened));
  opened_ = true;
  return make(Type::kChallenge, said_.challenged);
}

Result<std::vector<std::byte>> ServerHandshake::proof(std::span<const std::byte> prove) {
  const auto body = read(Type::kProve, kProveBytes, prove);
  if (!body) return body.error();
  const auto other = body->first<kPublicBytes>();
  std::copy(other.begin(), other.end(), said_.client_public.begin());
  if (!same(client_proof(shared_, said_), body->subspan(kPublicBytes)))
    return input_error("the key that the client has is another, expected that of the server's --psk");
  said_.server_public = public_of(secrets_.exchange);
  Root root;
  if (!make_root(shared_, secrets_.exchange, other, said_, root))
    return input_error("handshake message: expected an ephemeral key that is no weak point");
  keys_ = keys_of(root, said_);
  return make(Type::kProof, said_.server_public, server_proof(root, said_));
}

}  // namespace wharf::live
