// SPDX-License-Identifier: Apache-2.0
#include "live/secure/seal.h"

#include <sodium.h>

#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "live/secure/octets.h"

namespace wharf::live {
namespace {

static_assert(kSealTagBytes == crypto_aead_chacha20poly1305_IETF_ABYTES);
static_assert(Key::kBytes == crypto_aead_chacha20poly1305_IETF_KEYBYTES);

using Nonce = std::array<std::byte, crypto_aead_chacha20poly1305_IETF_NPUBBYTES>;

/// A key has one direction, so the number alone is never used twice with it.
Nonce nonce_of(std::uint64_t number) {
  Nonce nonce{};
  store_be64(nonce.data() + nonce.size() - 8, number);
  return nonce;
}

/// `plain` and `sealed` may be the same place; kSealTagBytes follow there.
void encrypt(const Key& key, std::uint64_t number, const std::byte* plain, std::size_t length,
             std::byte* sealed) {
  const Nonce nonce = nonce_of(number);
  crypto_aead_chacha20poly1305_ietf_encrypt(octets(sealed), nullptr, octets(plain), length, nullptr, 0,
                                            nullptr, octets(nonce.data()), octets(key.data()));
}

/// `sealed` with its tag, which is at least as long.
bool decrypt(const Key& key, std::uint64_t number, std::span<const std::byte> sealed, std::byte* plain) {
  const Nonce nonce = nonce_of(number);
  return crypto_aead_chacha20poly1305_ietf_decrypt(octets(plain), nullptr, nullptr, octets(sealed.data()),
                                                   sealed.size(), nullptr, 0, octets(nonce.data()),
                                                   octets(key.data())) == 0;
}

}  // namespace

std::string_view seal_drop_text(SealDrop reason) {
  switch (reason) {
    case SealDrop::kNone:
      return "none";
    case SealDrop::kShort:
      return "short seal";
    case SealDrop::kBadSeal:
      return "bad seal";
    case SealDrop::kReplayed:
      return "replayed";
  }
  WHARF_UNREACHABLE();
}

std::size_t Sealer::seal(std::span<std::byte> room, std::size_t length) {
  WHARF_CHECK(!spent() && room.size() >= length + kSealBytes);
  std::byte* const plain = room.data() + kSealHeadBytes;
  store_be64(room.data(), next_);
  encrypt(key_, next_, plain, length, plain);
  ++next_;
  return length + kSealBytes;
}

SealDrop Opener::open(std::span<const std::byte> frame, std::span<std::byte> plain) {
  if (frame.size() <= kSealBytes) return SealDrop::kShort;
  WHARF_CHECK(plain.size() == frame.size() - kSealBytes);
  const std::uint64_t number = load_be64(frame.data());
  if (window_.seen(number)) return SealDrop::kReplayed;
  if (number > Sealer::kLastNumber || !decrypt(key_, number, frame.subspan(kSealHeadBytes), plain.data())) {
    ++forgeries_;
    return SealDrop::kBadSeal;
  }
  window_.accept(number);
  return SealDrop::kNone;
}

std::vector<std::byte> MessageSeal::seal(std::span<const std::byte> message) {
  std::vector<std::byte> sealed(message.size() + kSealTagBytes);
  encrypt(out_, sent_, message.data(), message.size(), sealed.data());
  ++sent_;
  return sealed;
}

std::optional<std::vector<std::byte>> MessageSeal::open(std::span<const std::byte> sealed) {
  if (sealed.size() < kSealTagBytes) return std::nullopt;
  std::vector<std::byte> message(sealed.size() - kSealTagBytes);
  if (!decrypt(in_, received_, sealed, message.data())) return std::nullopt;
  ++received_;
  return message;
}

}  // namespace wharf::live
