// SPDX-License-Identifier: Apache-2.0
// Every byte of every RDMO message, and what decoders refuse.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/packet_generator.h"
#include "wire/hex_bytes_test_support.h"
#include "wire/hex_text.h"
#include "wire/rdmo_control.h"
#include "wire/rdmo_extended.h"
#include "wire/rdmo_message.h"

namespace wharf::wire {
namespace {

using Header = std::array<std::byte, kRdmoHeaderBytesMax>;

template <typename Request>
std::string hex_of(const Request& request) {
  Header header{};
  return hex_text(std::span(header).first(encode(request, header.data())));
}
std::string hex_of(const RdmoRequest& request, RdmoLayout layout) {
  Header header{};
  return hex_text(std::span(header).first(encode(request, layout, header.data())));
}

const RdmoRequest kAppend{.client = 0x0807'0605'0403'0201,
                          .operation = RdmoOperation::kAppend,
                          .fence = true,
                          .cell = 0x1817'1615'1413'1211,
                          .cell_key = 0x2827'2625'2423'2221,
                          .data_key = 0x3837'3635'3433'3231};

// [doca-samples, urom_rdmo: header 16 bytes, append 24, flush 8, scatter 8]
TEST(RdmoMessage, BytesOfTheShippedLayout) {
  EXPECT_EQ(hex_of(kAppend, RdmoLayout::kShipped),
            "0102030405060708"
            "01000000"
            "01000000"
            "1112131415161718"
            "2122232425262728"
            "3132333435363738");
  RdmoRequest flush{.client = 5, .operation = RdmoOperation::kFlush, .flush_id = 0x0706'0504'0302'0100};
  EXPECT_EQ(hex_of(flush, RdmoLayout::kShipped), "050000000000000000000000000000000001020304050607");
  RdmoRequest scatter{.client = 5, .operation = RdmoOperation::kScatter, .count = 3};
  EXPECT_EQ(hex_of(scatter, RdmoLayout::kShipped), "050000000000000002000000000000000300000000000000");
  std::array<std::byte, kRdmoEntryBytes> entry{};
  encode(RdmoEntry{0x0102, 0x0304, 0xfffe}, entry.data());
  EXPECT_EQ(hex_text(entry), "02010000000000000403000000000000feff000000000000");
}

// The flush id follows a 4-byte id directly, so it is unaligned; the whole has 12 bytes.
TEST(RdmoMessage, BytesOfTheFlushResponse) {
  Header header{};
  const std::uint32_t bytes =
      encode_rdmo_response(0x0706'0504'0302'0100, RdmoLayout::kShipped, header.data());
  EXPECT_EQ(hex_text(std::span(header).first(bytes)), "000000000001020304050607");
  const std::uint32_t guide = encode_rdmo_response(0x0706'0504'0302'0100, RdmoLayout::kGuide, header.data());
  EXPECT_EQ(hex_text(std::span(header).first(guide)), "00000001020304050607");
}

// [DOCA UROM RDMO Application Guide: 32-bit client id, 16-bit keys]
TEST(RdmoMessage, BytesOfTheGuidesLayout) {
  RdmoRequest append = kAppend;
  EXPECT_FALSE(fits(append, RdmoLayout::kGuide));
  append.client = 0x0403'0201;
  append.cell_key = 0x2221;
  append.data_key = 0x3231;
  EXPECT_TRUE(fits(append, RdmoLayout::kGuide));
  EXPECT_EQ(hex_of(append, RdmoLayout::kGuide),
            "0102030401000000010000001112131415161718"
            "2122313200000000");
  Header header{};
  encode(append, RdmoLayout::kGuide, header.data());
  RdmoRequest read;
  // The four bytes at its end carry nothing and may be missing.
  EXPECT_EQ(decode(std::span(header).first(24), RdmoLayout::kGuide, read), RdmoError::kNone);
  EXPECT_EQ(read, append);
  EXPECT_EQ(decode(std::span(header).first(23), RdmoLayout::kGuide, read), RdmoError::kShort);
}

RC_GTEST_PROP(RdmoMessage, WhatIsWrittenIsRead, ()) {
  const auto layout = arbitrary_flag() ? RdmoLayout::kShipped : RdmoLayout::kGuide;
  const unsigned bits = layout == RdmoLayout::kShipped ? 63 : 16;
  RdmoRequest request;
  request.client = arbitrary_bits<std::uint64_t>(bits);
  request.operation = static_cast<RdmoOperation>(*rc::gen::inRange<unsigned>(0, 3));
  request.fence = arbitrary_flag();
  if (request.operation == RdmoOperation::kFlush) request.flush_id = arbitrary_word();
  if (request.operation == RdmoOperation::kScatter) request.count = arbitrary_word();
  if (request.operation == RdmoOperation::kAppend) {
    request.cell = arbitrary_word();
    request.cell_key = arbitrary_bits<std::uint64_t>(bits);
    request.data_key = arbitrary_bits<std::uint64_t>(bits);
  }
  RC_ASSERT(fits(request, layout));
  Header header{};
  const std::uint32_t bytes = encode(request, layout, header.data());
  RdmoRequest read;
  RC_ASSERT(decode(std::span(header).first(bytes), layout, read) == RdmoError::kNone);
  RC_ASSERT(read == request);
  // Every shorter one is refused, but for the bytes that carry nothing.
  const bool padded = layout == RdmoLayout::kGuide && request.operation == RdmoOperation::kAppend;
  for (std::uint32_t cut = 0; cut < bytes - (padded ? 4 : 0); ++cut)
    RC_ASSERT(decode(std::span(header).first(cut), layout, read) == RdmoError::kShort);
}

TEST(RdmoMessage, RefusesWhatIsNoRequest) {
  RdmoRequest read;
  const std::vector<std::byte> longer(65);
  EXPECT_EQ(decode(longer, RdmoLayout::kShipped, read), RdmoError::kLong);
  Header header{};
  header[8] = std::byte{3};
  EXPECT_EQ(decode(std::span(header).first(40), RdmoLayout::kShipped, read), RdmoError::kOperation);
  std::uint64_t flush = 0;
  EXPECT_EQ(decode_rdmo_response(std::span(header).first(11), RdmoLayout::kShipped, flush),
            RdmoError::kShort);
  header[0] = std::byte{1};
  EXPECT_EQ(decode_rdmo_response(std::span(header).first(12), RdmoLayout::kShipped, flush),
            RdmoError::kOperation);
}

TEST(RdmoEntries, FollowEachOtherUnaligned) {
  std::vector<std::byte> payload(kRdmoEntryBytes * 2 + 3 + 5);
  encode(RdmoEntry{100, 7, 3}, payload.data());
  encode(RdmoEntry{200, 8, 5}, payload.data() + kRdmoEntryBytes + 3);
  RdmoEntryReader reader(payload);
  RdmoEntry entry;
  std::span<const std::byte> data;
  ASSERT_TRUE(reader.next(entry, data));
  EXPECT_EQ(entry, (RdmoEntry{100, 7, 3}));
  EXPECT_EQ(data.data(), payload.data() + kRdmoEntryBytes);
  EXPECT_FALSE(reader.whole());
  ASSERT_TRUE(reader.next(entry, data));
  EXPECT_EQ(entry, (RdmoEntry{200, 8, 5}));
  EXPECT_TRUE(reader.whole());
  EXPECT_FALSE(reader.next(entry, data));
  // One byte of the last entry's data is missing: it is not given out.
  RdmoEntryReader cut{std::span(payload).first(payload.size() - 1)};
  ASSERT_TRUE(cut.next(entry, data));
  EXPECT_FALSE(cut.next(entry, data));
  EXPECT_FALSE(cut.whole());
}

TEST(RdmoExtended, Bytes) {
  RdmoExtendedRequest append;
  append.operation = RdmoExtendedOperation::kAppend;
  append.flags = RdmoFlag::kFence | RdmoFlag::kCompare;
  append.sequence = 0x0403'0201;
  append.client = 0x11;
  append.cookie = 0x12;
  append.cell = 0x13;
  append.cell_key = 0x14;
  append.data_key = 0x15;
  append.expected = 0x16;
  append.records = 0x1817;
  EXPECT_EQ(hex_of(append),
            "0101050001020304"
            "1100000000000000"
            "1200000000000000"
            "1300000000000000"
            "1400000000000000"
            "1500000000000000"
            "1600000000000000"
            "1718000000000000");
  EXPECT_EQ(hex_of(RdmoAnswer{RdmoExtendedOperation::kAppend, RdmoStatus::kNoRoom, 7, 8, 9, 10}),
            "0101050007000000080000000000000009000000000000000a00000000000000");
}

RC_GTEST_PROP(RdmoExtended, WhatIsWrittenIsRead, ()) {
  RdmoExtendedRequest request;
  request.operation = static_cast<RdmoExtendedOperation>(*rc::gen::inRange<unsigned>(0, 4));
  request.flags = static_cast<std::uint16_t>(arbitrary_bits<std::uint16_t>(4) & flags_of(request.operation));
  request.sequence = arbitrary_bits<std::uint32_t>(32);
  request.client = arbitrary_word();
  request.cookie = arbitrary_word();
  if (request.operation == RdmoExtendedOperation::kScatter) request.count = arbitrary_word();
  if (request.operation == RdmoExtendedOperation::kAppend) {
    request.cell = arbitrary_word();
    request.cell_key = arbitrary_word();
    request.data_key = arbitrary_word();
    request.expected = arbitrary_word();
    request.records = arbitrary_bits<std::uint16_t>(16);
  }
  Header header{};
  const std::uint32_t bytes = encode(request, header.data());
  RdmoExtendedRequest read;
  RC_ASSERT(decode(std::span(header).first(bytes), read) == RdmoError::kNone);
  RC_ASSERT(read == request);
  for (std::uint32_t cut = 0; cut < bytes; ++cut)
    RC_ASSERT(decode(std::span(header).first(cut), read) == RdmoError::kShort);
}

TEST(RdmoExtended, RefusesWhatItDoesNotHave) {
  RdmoExtendedRequest hello;
  Header header{};
  const std::uint32_t bytes = encode(hello, header.data());
  RdmoExtendedRequest read;
  const auto refusal = [&](std::size_t at, unsigned value) {
    Header changed = header;
    changed[at] = std::byte(value);
    return decode(std::span(changed).first(bytes), read);
  };
  EXPECT_EQ(refusal(0, 2), RdmoError::kVersion);
  EXPECT_EQ(refusal(1, 4), RdmoError::kOperation);
  EXPECT_EQ(refusal(2, RdmoFlag::kQueue), RdmoError::kFlags);  // HELLO has no queue.
  EXPECT_EQ(decode(std::span(header).first(bytes + 1), read), RdmoError::kLong);
  RdmoAnswer answer;
  encode(RdmoAnswer{}, header.data());
  header[2] = std::byte{kRdmoStatusLast + 1};
  EXPECT_EQ(decode(std::span(header).first(kRdmoAnswerBytes), answer), RdmoError::kFlags);
}

RdmoCommand register_memory(std::span<const std::byte> rkey, std::span<const std::byte> handle) {
  RdmoCommand command;
  command.plugin = 1;
  command.context = 0x77;
  command.type = RdmoCommandType::kMrRegister;
  command.address = 0x1000;
  command.length = 0x2000;
  command.rkey = rkey;
  command.handle = handle;
  return command;
}

// [doca_urom_plugin.h: wrapper 24 bytes; urom_rdmo: command 56, tail behind it]
TEST(RdmoControl, BytesOfACommand) {
  const std::vector<std::byte> rkey = hex_bytes("aabb");
  const std::vector<std::byte> handle = hex_bytes("cc");
  std::vector<std::byte> bytes;
  encode(register_memory(rkey, handle), bytes);
  EXPECT_EQ(hex_text(bytes),
            "0100000000000000"
            "7700000000000000"
            "3b00000000000000"  // plugin, context, 56 + 3
            "0300000000000000"
            "0010000000000000"
            "0020000000000000"  // MR_REG, va, length
            "0000000000000000"
            "0200000000000000"
            "0000000000000000"
            "0100000000000000"
            "aabbcc");
}

TEST(RdmoControl, BytesOfANotification) {
  RdmoNotification notification;
  notification.plugin = 1;
  notification.context = 0x77;
  notification.status = DocaError::kNotFound;
  notification.type = RdmoCommandType::kMrDeregister;
  notification.value = 0x99;
  std::vector<std::byte> bytes;
  encode(notification, bytes);
  EXPECT_EQ(hex_text(bytes),
            "0100000000000000"
            "7700000000000000"
            "1800000000000000"
            "10000000"
            "00000000"
            "0400000000000000"
            "9900000000000000"
            "0000000000000000");
}

RC_GTEST_PROP(RdmoControl, CommandsAreReadAsWritten, ()) {
  const auto tail = [] { return *rc::gen::container<std::vector<std::byte>>(rc::gen::just(std::byte{9})); };
  RdmoCommand command;
  const std::vector<std::byte> first = tail();
  const std::vector<std::byte> second = tail();
  command.plugin = arbitrary_word();
  command.context = arbitrary_word();
  command.type = static_cast<RdmoCommandType>(*rc::gen::inRange<unsigned>(0, 5));
  switch (command.type) {
    case RdmoCommandType::kClientInit:
      command.id = arbitrary_word();
      command.peer = first;
      break;
    case RdmoCommandType::kRqCreate:
      command.peer = first;
      break;
    case RdmoCommandType::kRqDestroy:
      command.queue = arbitrary_word();
      break;
    case RdmoCommandType::kMrRegister:
      command = register_memory(first, second);
      break;
    case RdmoCommandType::kMrDeregister:
      command.key = arbitrary_word();
      break;
  }
  std::vector<std::byte> bytes;
  encode(command, bytes);
  RdmoCommand read;
  RC_ASSERT(decode(bytes, read) == RdmoControlError::kNone);
  std::vector<std::byte> again;
  encode(read, again);
  RC_ASSERT(again == bytes);
  RC_ASSERT(read.handle.size() == command.handle.size());
  // Neither shorter nor longer: the wrapper's length says how long it is.
  bytes.push_back(std::byte{0});
  RC_ASSERT(decode(bytes, read) == RdmoControlError::kLength);
  bytes.resize(bytes.size() - 2);
  RC_ASSERT(decode(bytes, read) == RdmoControlError::kLength);
  RC_ASSERT(read.context == command.context);
}

TEST(RdmoControl, RefusesLengthsThatWrap) {
  const std::vector<std::byte> rkey = hex_bytes("aabb");
  std::vector<std::byte> bytes;
  encode(register_memory(rkey, {}), bytes);
  RdmoCommand read;
  store_le64(bytes.data() + 24 + 32, ~std::uint64_t{0});  // With 3 more it would be the tail's 2.
  store_le64(bytes.data() + 24 + 48, 3);
  EXPECT_EQ(decode(bytes, read), RdmoControlError::kLength);
  store_le64(bytes.data() + 24, 5);
  EXPECT_EQ(decode(bytes, read), RdmoControlError::kType);
  EXPECT_EQ(decode(std::span(bytes).first(23), read), RdmoControlError::kShort);
}

}  // namespace
}  // namespace wharf::wire
