// SPDX-License-Identifier: Apache-2.0
// Sealed frames: the published vectors of the cipher, and that nothing but the untouched frame, once, is
// taken.
#include "live/secure/seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace wharf::live {
namespace {

using Bytes = std::vector<std::byte>;

Bytes from_hex(std::string_view text) {
  Bytes out(text.size() / 2);
  std::size_t length = 0;
  EXPECT_EQ(sodium_hex2bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(), text.size(),
                           nullptr, &length, nullptr),
            0);
  EXPECT_EQ(length, out.size());
  return out;
}

Key key_of(std::uint8_t first) {
  Key key;
  for (std::size_t at = 0; at < Key::kBytes; ++at)
    key.data()[at] = std::byte(static_cast<std::uint8_t>(first + at));
  return key;
}

Bytes sealed(Sealer& sealer, const Bytes& plain) {
  Bytes room(plain.size() + kSealBytes);
  std::copy(plain.begin(), plain.end(), room.begin() + kSealHeadBytes);
  EXPECT_EQ(sealer.seal(room, plain.size()), room.size());
  return room;
}

SealDrop open(Opener& opener, const Bytes& frame, Bytes& plain) {
  plain.assign(frame.size() > kSealBytes ? frame.size() - kSealBytes : 0, std::byte{0});
  return opener.open(frame, plain);
}

Bytes some_bytes(std::size_t count) {
  Bytes out(count);
  for (std::size_t at = 0; at < count; ++at) out[at] = std::byte(static_cast<std::uint8_t>(at * 7 + 1));
  return out;
}

// RFC 8439 appendix A.5: the ciphertext of a library that was built or chosen wrongly would differ. Its text
// has associated data, which frames have not, so this is about the library alone.
TEST(Seal, TheLibraryComputesThePublishedVector) {
  const Bytes key = from_hex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
  const Bytes nonce = from_hex("000000000102030405060708");
  const Bytes associated = from_hex("f33388860000000000004e91");
  const Bytes cipher = from_hex(
      "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d26b0bdb7b7"
      "3c321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c8559797a06ef4f0"
      "ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee2"
      "82a1b0a06c523eaf4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a0bb2316053fa76991955ebd6"
      "3159434ecebb4e466dae5a1073a6727627097a1049e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c"
      "29a6ad5cb4022b02709beead9d67890cbb22392336fea1851f38");
  std::string text(cipher.size() - 16, ' ');
  ASSERT_EQ(crypto_aead_chacha20poly1305_ietf_decrypt(
                reinterpret_cast<unsigned char*>(text.data()), nullptr, nullptr,
                reinterpret_cast<const unsigned char*>(cipher.data()), cipher.size(),
                reinterpret_cast<const unsigned char*>(associated.data()), associated.size(),
                reinterpret_cast<const unsigned char*>(nonce.data()),
                reinterpret_cast<const unsigned char*>(key.data())),
            0);
  EXPECT_THAT(text,
              testing::StartsWith("Internet-Drafts are draft documents valid for a maximum of six months"));
}

// Number, ciphertext, tag, the nonce made of the number: written down, so that ends of different age agree.
TEST(Seal, AFrameIsWhatTheCipherSaysOfItsNumber) {
  ASSERT_GE(sodium_init(), 0);
  const Key key = key_of(3);
  Sealer sealer(key, 0x0001030405060708);
  const Bytes plain = some_bytes(33);
  const Bytes frame = sealed(sealer, plain);
  EXPECT_EQ(sealer.next(), 0x0001030405060709U);
  const Bytes nonce = from_hex("000000000001030405060708");
  EXPECT_TRUE(std::equal(nonce.begin() + 4, nonce.end(), frame.begin()));
  Bytes expected(plain.size() + kSealTagBytes);
  crypto_aead_chacha20poly1305_ietf_encrypt(reinterpret_cast<unsigned char*>(expected.data()), nullptr,
                                            reinterpret_cast<const unsigned char*>(plain.data()),
                                            plain.size(), nullptr, 0, nullptr,
                                            reinterpret_cast<const unsigned char*>(nonce.data()),
                                            reinterpret_cast<const unsigned char*>(key.data()));
  EXPECT_EQ(Bytes(frame.begin() + kSealHeadBytes, frame.end()), expected);
}

TEST(Seal, FramesOfEveryLengthComeBack) {
  const Key key = key_of(1);
  Sealer sealer(key);
  Opener opener(key);
  for (const std::size_t length : {1U, 2U, 15U, 16U, 17U, 63U, 64U, 65U, 1024U, 4096U, 9000U}) {
    const Bytes plain = some_bytes(length);
    const Bytes frame = sealed(sealer, plain);
    Bytes back;
    EXPECT_EQ(open(opener, frame, back), SealDrop::kNone) << length;
    EXPECT_EQ(back, plain) << length;
  }
}

TEST(Seal, AFrameOfWhichAnyByteDiffersIsDropped) {
  const Key key = key_of(1);
  Sealer sealer(key);
  Opener opener(key);
  const Bytes frame = sealed(sealer, some_bytes(100));
  Bytes plain;
  std::uint64_t changed = 0;
  for (std::size_t at = 0; at < frame.size(); ++at) {
    for (const unsigned mask : {0x01U, 0x80U, 0xffU}) {
      Bytes other = frame;
      other[at] ^= std::byte(static_cast<std::uint8_t>(mask));
      EXPECT_EQ(open(opener, other, plain), SealDrop::kBadSeal) << at;
      ++changed;
    }
  }
  EXPECT_EQ(opener.forgeries(), changed);
  // None of them has moved the window.
  EXPECT_EQ(open(opener, frame, plain), SealDrop::kNone);
}

TEST(Seal, AShorterOrLongerFrameIsDropped) {
  const Key key = key_of(1);
  Sealer sealer(key);
  Opener opener(key);
  const Bytes frame = sealed(sealer, some_bytes(40));
  Bytes plain;
  for (std::size_t length = 0; length < frame.size(); ++length) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(open(opener, cut, plain), length <= kSealBytes ? SealDrop::kShort : SealDrop::kBadSeal)
        << length;
  }
  Bytes longer = frame;
  longer.push_back(std::byte{0});
  EXPECT_EQ(open(opener, longer, plain), SealDrop::kBadSeal);
}

TEST(Seal, AFrameIsTakenOnce) {
  const Key key = key_of(1);
  Sealer sealer(key);
  Opener opener(key);
  const Bytes first = sealed(sealer, some_bytes(10));
  const Bytes second = sealed(sealer, some_bytes(10));
  Bytes plain;
  EXPECT_EQ(open(opener, second, plain), SealDrop::kNone);
  EXPECT_EQ(open(opener, first, plain), SealDrop::kNone);
  EXPECT_EQ(open(opener, first, plain), SealDrop::kReplayed);
  EXPECT_EQ(open(opener, second, plain), SealDrop::kReplayed);
  for (std::uint64_t later = 0; later < ReplayWindow::kWidth; ++later)
    EXPECT_EQ(open(opener, sealed(sealer, some_bytes(10)), plain), SealDrop::kNone);
  const Bytes late = sealed(sealer, some_bytes(10));
  for (std::uint64_t later = 0; later < ReplayWindow::kWidth; ++later)
    EXPECT_EQ(open(opener, sealed(sealer, some_bytes(10)), plain), SealDrop::kNone);
  EXPECT_EQ(open(opener, late, plain), SealDrop::kReplayed) << "nobody knows any more";
}

TEST(Seal, AnotherKeyOrTheOtherDirectionOpensNothing) {
  const Key to_server = key_of(1);
  const Key to_client = key_of(2);
  PacketSeal client(to_server, to_client);
  PacketSeal server(to_client, to_server);
  const Bytes frame = sealed(client.out, some_bytes(20));
  Bytes plain;
  EXPECT_EQ(open(client.in, frame, plain), SealDrop::kBadSeal) << "sent back to where it came from";
  EXPECT_EQ(open(server.in, frame, plain), SealDrop::kNone);
}

TEST(Seal, AKeyEndsLongBeforeItsNumbers) {
  const Key key = key_of(1);
  PacketSeal seal(key, key);
  SealLimits limits{.frames = 3, .forgeries = 2};
  for (int frame = 0; frame < 3; ++frame) sealed(seal.out, some_bytes(1));
  EXPECT_FALSE(seal.over(limits));
  sealed(seal.out, some_bytes(1));
  EXPECT_TRUE(seal.over(limits));

  PacketSeal hears(key, key);
  Sealer far(key, 3);
  Bytes plain;
  EXPECT_EQ(open(hears.in, sealed(far, some_bytes(1)), plain), SealDrop::kNone);
  EXPECT_TRUE(hears.over(limits)) << "the other one's numbers count too";

  PacketSeal attacked(key, key);
  for (int forgery = 0; forgery < 3; ++forgery) {
    EXPECT_FALSE(attacked.over(limits));
    EXPECT_EQ(open(attacked.in, some_bytes(60), plain), SealDrop::kBadSeal);
  }
  EXPECT_TRUE(attacked.over(limits));

  Sealer last(key, Sealer::kLastNumber);
  EXPECT_FALSE(last.spent());
  sealed(last, some_bytes(1));
  EXPECT_TRUE(last.spent());
  // What the key itself has sealed, with a number behind the last.
  const std::uint64_t number = ~std::uint64_t{0};
  Bytes beyond(1 + kSealBytes);
  store_be64(beyond.data(), number);
  const Bytes nonce = from_hex("00000000ffffffffffffffff");
  crypto_aead_chacha20poly1305_ietf_encrypt(reinterpret_cast<unsigned char*>(beyond.data() + kSealHeadBytes),
                                            nullptr, reinterpret_cast<const unsigned char*>(beyond.data()), 1,
                                            nullptr, 0, nullptr,
                                            reinterpret_cast<const unsigned char*>(nonce.data()),
                                            reinterpret_cast<const unsigned char*>(key.data()));
  Opener opener(key);
  EXPECT_EQ(open(opener, beyond, plain), SealDrop::kBadSeal);
  EXPECT_GT(Sealer::kLastNumber, SealLimits{}.frames);
}

TEST(MessageSeal, OpensTheNextMessageAndNoOther) {
  MessageSeal client(key_of(1), key_of(2));
  MessageSeal server(key_of(2), key_of(1));
  const Bytes first = client.seal(some_bytes(5));
  const Bytes second = client.seal({});
  EXPECT_FALSE(server.open(second)) << "the first is missing";
  EXPECT_FALSE(client.open(first)) << "sent back";
  Bytes changed = first;
  changed.back() ^= std::byte{1};
  EXPECT_FALSE(server.open(changed));
  EXPECT_FALSE(server.open(Bytes(3)));
  EXPECT_EQ(server.open(first), some_bytes(5));
  EXPECT_FALSE(server.open(first)) << "a second time";
  EXPECT_EQ(server.open(second), Bytes());
}

}  // namespace
}  // namespace wharf::live
