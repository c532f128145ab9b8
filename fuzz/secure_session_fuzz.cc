// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to both sides of the handshake and to what opens sealed datagrams and control messages. The
// first byte says to which; messages follow, each behind two bytes with its length. Inputs of the corpus have
// right proofs and seals, for the key and the drawn secrets are always the same here.
// LINK: wharf_live_secure
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "fuzz/input_bytes.h"
#include "live/secure/handshake.h"
#include "live/secure/seal.h"

namespace {

using namespace wharf;
using Message = std::vector<std::byte>;

constexpr live::HandshakeBinding kBinding{0x7f000001, 0x7f000001, 1};

live::Key key_of(std::uint8_t first) {
  live::Key key;
  for (std::size_t at = 0; at < live::Key::kBytes; ++at)
    key.data()[at] = std::byte(static_cast<std::uint8_t>(first + at));
  return key;
}

live::HandshakeSecrets secrets_of(std::uint8_t first) {
  live::HandshakeSecrets out;
  std::copy_n(key_of(first).data(), out.nonce.size(), out.nonce.begin());
  out.exchange = key_of(static_cast<std::uint8_t>(first + 100));
  return out;
}

/// A copy of its own, so that reading past the end is seen.
Message next(InputBytes& input) {
  Message out(std::min<std::uint32_t>(input.word(), 2048));
  for (std::byte& each : out) each = std::byte{input.byte()};
  return out;
}

void serve(InputBytes& input) {
  live::ServerHandshake server(key_of(1), kBinding, false, secrets_of(2));
  std::size_t answers = 0;
  while (!input.empty()) {
    const auto answer = server.answer(next(input));
    if (!answer) return;
    WHARF_CHECK(live::is_handshake_message(*answer));
    WHARF_CHECK(++answers <= 2);
    WHARF_CHECK(server.keys().has_value() == (answers == 2));
  }
}

void be_client(InputBytes& input) {
  live::ClientHandshake client(key_of(1), kBinding, false, secrets_of(1));
  if (!client.prove(next(input)).ok()) return;
  static_cast<void>(client.finish(next(input)));
}

void take_datagrams(InputBytes& input) {
  live::Opener opener(key_of(1));
  std::set<std::uint64_t> taken;
  while (!input.empty()) {
    const Message frame = next(input);
    Message plain(frame.size() > live::kSealBytes ? frame.size() - live::kSealBytes : 0);
    if (opener.open(frame, plain) != live::SealDrop::kNone) continue;
    WHARF_CHECK(taken.insert(load_be64(frame.data())).second);
    // Only who has the key makes what is taken.
    live::Sealer sealer(key_of(1), load_be64(frame.data()));
    Message again(frame.size());
    std::copy(plain.begin(), plain.end(), again.begin() + live::kSealHeadBytes);
    WHARF_CHECK(sealer.seal(again, plain.size()) == frame.size() && again == frame);
  }
}

void take_control_messages(InputBytes& input) {
  live::MessageSeal seal(key_of(2), key_of(1));
  live::MessageSeal other(key_of(1), key_of(2));
  while (!input.empty()) {
    const Message sealed = next(input);
    const auto message = seal.open(sealed);
    if (!message) return;
    WHARF_CHECK(other.seal(*message) == sealed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputBytes input(data, size);
  switch (input.number() % 4) {
    case 0:
      serve(input);
      break;
    case 1:
      be_client(input);
      break;
    case 2:
      take_datagrams(input);
      break;
    default:
      take_control_messages(input);
  }
  return 0;
}
