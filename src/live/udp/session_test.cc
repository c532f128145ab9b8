// SPDX-License-Identifier: Apache-2.0
// Session messages: what is encoded reads back, and nothing else is accepted.
#include "live/udp/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::live {
namespace {

Hello some_hello() {
  return {.protocol = wire::Protocol::kRoce,
          .arrivals = ArrivalRule::kReturn,
          .udp_port = 40000,
          .mtu = 1024,
          .queue_depth = 256,
          .receive_entries = 16,
          .receive_bytes = 4096,
          .tagged = true,
          .tag = 0x1122'3344'5566'7788,
          .rights = verbs::kReadOnly};
}

Welcome some_welcome() { return {.server = {0}, .client = {7}, .mtu = 1024}; }

Connected some_connected() {
  Connected connected;
  connected.udp_port = 4792;
  connected.segment = {0x10000, 0x8000, {5, 6}, verbs::kFullAccess};
  connected.slice_offset = 0x1000;
  connected.slice_bytes = 0x7000;
  connected.slice_key = 0x1234'5678'9abc'def1;
  connected.queue = {std::byte{1}, std::byte{2}};
  return connected;
}

std::vector<SessionMessage> every_message() {
  return {some_hello(),
          some_welcome(),
          Connect{{std::byte{9}}},
          some_connected(),
          ReportRequest{},
          Report{12, 34},
          Refusal{ErrorKind::kEnvironment, "it is full"}};
}

TEST(Session, EveryMessageReadsBack) {
  for (const SessionMessage& message : every_message()) {
    const auto decoded = decode_session_message(encode(message));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_TRUE(*decoded == message) << message.index();
  }
}

TEST(Session, EveryShorterMessageIsRefusedUnlessItsTailIsFree) {
  for (const SessionMessage& message : every_message()) {
    const std::vector<std::byte> bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto decoded = decode_session_message(std::span(bytes).first(length));
      if (decoded.ok()) {
        EXPECT_EQ(encode(*decoded).size(), length);
      }
    }
  }
}

TEST(Session, LongerMessagesOfFixedLengthAreRefused) {
  for (const SessionMessage& message :
       {SessionMessage(some_hello()), SessionMessage(some_welcome()), SessionMessage(Report{1, 2})}) {
    std::vector<std::byte> bytes = encode(message);
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_session_message(bytes).ok()) << message.index();
  }
}

TEST(Session, RefusesForeignBytesAndVersions) {
  std::vector<std::byte> bytes = encode(ReportRequest{});
  bytes[4] = std::byte{9};
  EXPECT_THAT(decode_session_message(bytes).error().message, testing::HasSubstr("version 9"));
  bytes[0] = std::byte{'G'};
  EXPECT_THAT(decode_session_message(bytes).error().message, testing::HasSubstr("does not speak"));
}

TEST(Session, RefusesWishesBeyondTheLimits) {
  const auto refused = [](auto change) {
    Hello hello = some_hello();
    change(hello);
    return !decode_session_message(encode(hello)).ok();
  };
  EXPECT_FALSE(refused([](Hello&) {}));
  EXPECT_TRUE(refused([](Hello& hello) { hello.udp_port = 0; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.mtu = 1000; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.mtu = 8192; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.queue_depth = 0; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.queue_depth = 2 * kQueueDepthMax; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.receive_entries = kReceiveEntriesMax + 1; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.receive_bytes = 0xffff'ffff; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.tagged = false; }));  // With a tag.
  EXPECT_TRUE(refused([](Hello& hello) { hello.slice_key = 1; }));   // With receive entries.
  EXPECT_TRUE(refused([](Hello& hello) { hello.rights = {.remote_write = true}; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.rights = {.remote_read = true, .remote_atomic = true}; }));
}

TEST(Session, RefusesASliceOutsideItsSegment) {
  Connected connected = some_connected();
  connected.slice_bytes = 0x7001;
  EXPECT_FALSE(decode_session_message(encode(connected)).ok());
  connected = some_connected();
  connected.slice_offset = ~std::uint64_t{0};
  EXPECT_FALSE(decode_session_message(encode(connected)).ok());
}

TEST(Session, ARefusalCarriesNoControlCharacters) {
  const auto decoded = decode_session_message(encode(Refusal{ErrorKind::kInput, "a\x1b[31mb\n"}));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Refusal>(*decoded).reason, "a?[31mb?");
  std::vector<std::byte> bytes = encode(Refusal{ErrorKind::kInput, "ab"});
  bytes.back() = std::byte{0x1b};
  EXPECT_FALSE(decode_session_message(bytes).ok());
}

RC_GTEST_PROP(Session, AcceptedBytesEncodeToThemselves, ()) {
  auto messages = every_message();
  std::vector<std::byte> bytes = encode(messages[*rc::gen::inRange<std::size_t>(0, messages.size())]);
  const auto changes = *rc::gen::inRange(0, 4);
  for (int i = 0; i < changes; ++i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = std::byte(*rc::gen::inRange(0, 256));
  }
  const auto decoded = decode_session_message(bytes);
  if (decoded.ok()) RC_ASSERT(encode(*decoded) == bytes);
}

}  // namespace
}  // namespace wharf::live
