// SPDX-License-Identifier: Apache-2.0
// The handshake: keys come of the right key alone, and of messages that nobody has touched.
#include "live/secure/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::live {
namespace {

using Message = std::vector<std::byte>;

constexpr HandshakeBinding kBinding{0x0a000001, 0x0a000002, 3};

Key key_of(std::uint8_t first) {
  Key key;
  for (std::size_t at = 0; at < Key::kBytes; ++at)
    key.data()[at] = std::byte(static_cast<std::uint8_t>(first + at));
  return key;
}

/// What a test changes of a handshake.
struct Case {
  Key client_key = key_of(1);
  Key server_key = key_of(1);
  HandshakeBinding client_binding = kBinding;
  HandshakeBinding server_binding = kBinding;
  bool client_seals = false;
  bool server_seals = false;
};

struct Outcome {
  std::vector<Message> said;  ///< Open, Challenge, Prove, Proof, as far as it came.
  std::optional<SessionKeys> client;
  std::optional<SessionKeys> server;
  std::string error;
};

/// `tamper(which, message)` may change messages on their way.
template <typename Tamper>
Outcome shake_hands(const Case& with, Tamper tamper) {
  Outcome out;
  ClientHandshake client(with.client_key, with.client_binding, with.client_seals,
                         HandshakeSecrets::draw().value());
  ServerHandshake server(with.server_key, with.server_binding, with.server_seals,
                         HandshakeSecrets::draw().value());
  const auto carry = [&](const Result<Message>& message) {
    if (!message) {
      out.error = message.error().message;
      EXPECT_EQ(message.error().kind, ErrorKind::kInput);
      return false;
    }
    out.said.push_back(*message);
    tamper(out.said.size() - 1, out.said.back());
    return true;
  };
  if (!carry(client.open()) || !carry(server.answer(out.said[0])) || !carry(client.prove(out.said[1])) ||
      !carry(server.answer(out.said[2])))
    return out;
  out.server = server.keys();
  auto keys = client.finish(out.said[3]);
  if (keys)
    out.client = *keys;
  else
    out.error = keys.error().message;
  return out;
}
Outcome shake_hands(const Case& with) {
  return shake_hands(with, [](std::size_t, Message&) {});
}

bool agree(const Outcome& outcome) {
  return outcome.client && outcome.server &&
         outcome.client->control_to_server == outcome.server->control_to_server &&
         outcome.client->control_to_client == outcome.server->control_to_client &&
         outcome.client->packets_to_server == outcome.server->packets_to_server &&
         outcome.client->packets_to_client == outcome.server->packets_to_client &&
         outcome.client->seal_packets == outcome.server->seal_packets;
}

TEST(Handshake, TheRightKeyGivesBothTheSameKeys) {
  const Outcome outcome = shake_hands({});
  EXPECT_EQ(outcome.error, "");
  ASSERT_TRUE(agree(outcome));
  EXPECT_FALSE(outcome.client->seal_packets);
  // Four keys, all different, and others the next time.
  const SessionKeys& keys = *outcome.client;
  const std::vector<Key> all{keys.control_to_server, keys.control_to_client, keys.packets_to_server,
                             keys.packets_to_client};
  for (std::size_t left = 0; left < all.size(); ++left) {
    for (std::size_t right = left + 1; right < all.size(); ++right) EXPECT_FALSE(all[left] == all[right]);
    EXPECT_FALSE(all[left] == Key());
    EXPECT_FALSE(all[left] == key_of(1));
  }
  EXPECT_FALSE(shake_hands({}).client->packets_to_server == keys.packets_to_server);
}

TEST(Handshake, OneEndsWishSealsThePackets) {
  for (const bool client : {false, true}) {
    for (const bool server : {false, true}) {
      Case with;
      with.client_seals = client;
      with.server_seals = server;
      const Outcome outcome = shake_hands(with);
      ASSERT_TRUE(agree(outcome));
      EXPECT_EQ(outcome.client->seal_packets, client || server);
    }
  }
}

TEST(Handshake, AnotherKeyIsRefusedByTheServer) {
  Case with;
  with.client_key = key_of(2);
  const Outcome outcome = shake_hands(with);
  EXPECT_EQ(outcome.said.size(), 3U);
  EXPECT_FALSE(outcome.server);
  EXPECT_EQ(outcome.error, "the key that the client has is another, expected that of the server's --psk");
  // Of which one bit differs, anywhere.
  for (std::size_t bit = 0; bit < 8 * Key::kBytes; bit += 31) {
    Case near;
    near.client_key.data()[bit / 8] ^= std::byte(static_cast<std::uint8_t>(1U << (bit % 8)));
    EXPECT_FALSE(shake_hands(near).server) << bit;
  }
}

TEST(Handshake, AServerWithoutTheKeyIsRefusedByTheClient) {
  // It knows what everybody knows, and takes every client.
  ClientHandshake client(key_of(1), kBinding, true, HandshakeSecrets::draw().value());
  ClientHandshake fooled(key_of(9), kBinding, true, HandshakeSecrets::draw().value());
  ServerHandshake other(key_of(9), kBinding, true, HandshakeSecrets::draw().value());
  const auto challenge = other.answer(fooled.open()).value();
  ASSERT_TRUE(client.prove(challenge).ok());
  const auto proof = other.answer(fooled.prove(challenge).value()).value();
  const auto keys = client.finish(proof);
  ASSERT_FALSE(keys.ok());
  EXPECT_EQ(keys.error().message,
            "the server did not prove that it has the key of --psk, expected one that has");
}

TEST(Handshake, WhateverOneEndSeesOtherwiseEndsIt) {
  std::vector<Case> cases(3);
  cases[0].client_binding.client_address ^= 1U;
  cases[1].client_binding.server_address ^= 0x80000000U;
  cases[2].client_binding.protocol ^= 1U;
  for (const Case& each : cases) {
    const Outcome outcome = shake_hands(each);
    EXPECT_FALSE(outcome.client);
    EXPECT_FALSE(outcome.server);
  }
}

// The wish to seal is among them: nobody in the middle talks the ends out of it.
TEST(Handshake, AChangedByteOfAnyMessageEndsIt) {
  const Outcome whole = shake_hands({});
  for (std::size_t which = 0; which < whole.said.size(); ++which) {
    for (std::size_t at = 0; at < whole.said[which].size(); ++at) {
      // The top bit of a point does not count. [RFC 7748 5] The proofs cover it.
      for (const unsigned mask : {0x01U, 0x80U}) {
        const Outcome outcome = shake_hands({}, [&](std::size_t now, Message& message) {
          if (now == which) message[at] ^= std::byte(static_cast<std::uint8_t>(mask));
        });
        EXPECT_FALSE(outcome.client) << which << " " << at << " " << mask;
        EXPECT_NE(outcome.error, "") << which << " " << at << " " << mask;
        if (which < 3) {
          EXPECT_FALSE(outcome.server) << which << " " << at << " " << mask;
        }
      }
    }
  }
}

TEST(Handshake, AWrongLengthOfAnyMessageEndsIt) {
  const Outcome whole = shake_hands({});
  for (std::size_t which = 0; which < whole.said.size(); ++which) {
    for (std::size_t length = 0; length <= whole.said[which].size() + 1; ++length) {
      if (length == whole.said[which].size()) continue;
      EXPECT_FALSE(shake_hands({},
                               [&](std::size_t now, Message& message) {
                                 if (now == which) message.resize(length);
                               })
                       .client)
          << which << " " << length;
    }
  }
}

TEST(Handshake, AWishThatIsNoneIsRefusedAtOnce) {
  Message open = shake_hands({}).said[0];
  open[handshake::kHeadBytes] = std::byte{2};
  ServerHandshake server(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  EXPECT_FALSE(server.answer(open).ok());
}

TEST(Handshake, MessagesOfAnotherTimeAreRefused) {
  const Outcome before = shake_hands({});
  // Of a client, to the server that took them.
  ServerHandshake server(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  ASSERT_TRUE(server.answer(before.said[0]).ok());
  EXPECT_FALSE(server.answer(before.said[2]).ok());
  EXPECT_FALSE(server.keys());
  // Of a server, to a client.
  ClientHandshake client(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  ASSERT_TRUE(client.prove(before.said[1]).ok());
  EXPECT_FALSE(client.finish(before.said[3]).ok());
  // Out of turn, and what the server itself says.
  for (const std::size_t which : {1U, 2U, 3U}) {
    ServerHandshake fresh(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
    EXPECT_FALSE(fresh.answer(before.said[which]).ok());
  }
}

TEST(Handshake, AfterItsEndTheServerAnswersNoMore) {
  ClientHandshake client(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  ServerHandshake server(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  const auto prove = client.prove(server.answer(client.open()).value()).value();
  ASSERT_TRUE(server.answer(prove).ok());
  EXPECT_EQ(server.answer(prove).error().message, "a handshake message came out of turn");
  EXPECT_TRUE(server.keys().has_value());
}

// The proof by its definition, so that ends of different age agree; and points that give everybody the same
// secret [RFC 7748 6.1], from one who has the key.
TEST(Handshake, AProofIsAKeyedHashAndAWeakPointIsRefused) {
  const auto prove_with = [](const std::vector<std::byte>& point, ServerHandshake& server) {
    const ClientHandshake client(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
    const Message open = client.open();
    const Message challenge = server.answer(open).value();
    const std::string_view label("wharf 1 client proof", 21);  // With its end.
    Message over;
    for (const char each : label) over.push_back(static_cast<std::byte>(each));
    for (const unsigned each : {10, 0, 0, 1, 10, 0, 0, 2, 3}) over.push_back(static_cast<std::byte>(each));
    over.insert(over.end(), open.begin() + 6, open.end());
    over.insert(over.end(), challenge.begin() + 6, challenge.end());
    over.insert(over.end(), point.begin(), point.end());
    over.resize(over.size() + 32);
    Message proof(32);
    const Key key = key_of(1);
    crypto_generichash(reinterpret_cast<unsigned char*>(proof.data()), proof.size(),
                       reinterpret_cast<const unsigned char*>(over.data()), over.size(),
                       reinterpret_cast<const unsigned char*>(key.data()), Key::kBytes);
    Message prove(open.begin(), open.begin() + 5);
    prove.push_back(std::byte{3});
    prove.insert(prove.end(), point.begin(), point.end());
    prove.insert(prove.end(), proof.begin(), proof.end());
    return server.answer(prove);
  };
  Message base(32);
  base[0] = std::byte{9};
  ServerHandshake honest(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  EXPECT_TRUE(prove_with(base, honest).ok());
  ServerHandshake server(key_of(1), kBinding, false, HandshakeSecrets::draw().value());
  const auto answer = prove_with(Message(32), server);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "handshake message: expected an ephemeral key that is no weak point");
  EXPECT_FALSE(server.keys());
}

TEST(Handshake, ItsMessagesAreNoOthers) {
  const Outcome whole = shake_hands({});
  for (const Message& each : whole.said) EXPECT_TRUE(is_handshake_message(each));
  EXPECT_FALSE(is_handshake_message({}));
  EXPECT_FALSE(is_handshake_message(Message(64)));
}

}  // namespace
}  // namespace wharf::live
