// SPDX-License-Identifier: Apache-2.0
#include "wire/ring_entry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

#include "tests/support/packet_generator.h"

namespace wharf::wire {
namespace {

template <typename Entry>
std::vector<std::byte> bytes_of(const Entry& entry) {
  if constexpr (std::is_same_v<Entry, WorkEntry>) {
    std::vector<std::byte> bytes(encoded_bytes(entry));
    encode(entry, bytes);
    return bytes;
  } else {
    std::vector<std::byte> bytes(kRingEntryBytes);
    encode(entry, std::span<std::byte, kRingEntryBytes>(bytes));
    return bytes;
  }
}

WorkEntry arbitrary_work_entry() {
  WorkEntry entry;
  entry.id = arbitrary_word();
  entry.opcode = static_cast<RingOpcode>(*rc::gen::inRange<unsigned>(2, 18));
  entry.signaled = arbitrary_flag();
  entry.fence = arbitrary_flag();
  entry.solicited = arbitrary_flag();
  entry.completion_in_order = arbitrary_flag();
  entry.order = static_cast<std::uint8_t>(*rc::gen::inRange<unsigned>(0, 3));
  entry.hint = arbitrary_bits<std::uint8_t>(8);
  entry.peer = arbitrary_bits<std::uint32_t>(32);
  entry.remote_address = arbitrary_word();
  entry.remote = {arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint32_t>(32)};
  const bool atomic = is_atomic(entry.opcode);
  if (atomic) {
    entry.width = *rc::gen::element<std::uint8_t>(4, 8, 16);
    entry.operand[0] = arbitrary_word();
    entry.compare[0] = arbitrary_word();
  } else {
    entry.immediate = arbitrary_word();
    entry.invalidate = {arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint32_t>(32)};
  }
  const bool may_inline = carries_payload(entry.opcode) && entry.opcode != RingOpcode::kWriteNotify;
  entry.is_inline = may_inline && arbitrary_flag();
  if (entry.is_inline) {
    entry.length = *rc::gen::inRange<std::uint32_t>(0, kRingInlineBytes + 1);
    for (std::byte& byte : entry.inline_data) byte = arbitrary_bits<std::byte>(8);
  } else {
    entry.piece_count = static_cast<std::uint8_t>(*rc::gen::inRange<unsigned>(0, 5));
  }
  entry.is_long = needs_long_entry(entry) || arbitrary_flag();
  if (entry.is_long && !entry.is_inline) {
    if (atomic) {
      entry.operand[1] = arbitrary_word();
      entry.compare[1] = arbitrary_word();
    } else {
      entry.notify_address = arbitrary_word();
      entry.notify = {arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint32_t>(32)};
    }
  }
  if (entry.is_inline) return entry;
  entry.pieces[0] = {arbitrary_word(), 0, arbitrary_bits<std::uint32_t>(32)};
  for (std::size_t i = 1; i < entry.piece_count; ++i) {
    entry.pieces[i] = {arbitrary_word(), atomic ? 1U : arbitrary_bits<std::uint32_t>(28),
                       arbitrary_bits<std::uint32_t>(32)};
    if (!atomic) entry.length += entry.pieces[i].length;
  }
  if (!atomic) {
    entry.pieces[0].length = entry.piece_count == 0 ? 0 : arbitrary_bits<std::uint32_t>(28);
    entry.length += entry.pieces[0].length;
  } else if (entry.piece_count > 0) {
    entry.pieces[0].length = entry.width - (entry.piece_count - 1U);
  }
  return entry;
}

RC_GTEST_PROP(RingEntry, WorkEntriesComeBack, ()) {
  const WorkEntry entry = arbitrary_work_entry();
  WorkEntry read;
  RC_ASSERT(decode(bytes_of(entry), read) == RingEntryError::kNone);
  RC_ASSERT(read == entry);
}

RC_GTEST_PROP(RingEntry, ReceiveEntriesComeBack, ()) {
  ReceiveEntry entry;
  entry.id = arbitrary_word();
  entry.piece_count = static_cast<std::uint8_t>(*rc::gen::inRange<unsigned>(0, kReceivePieces + 1));
  for (RingPiece& piece : entry.pieces) {
    piece = {arbitrary_word(), arbitrary_bits<std::uint32_t>(32), arbitrary_bits<std::uint32_t>(32)};
  }
  ReceiveEntry read;
  RC_ASSERT(decode(bytes_of(entry), read) == RingEntryError::kNone);
  RC_ASSERT(read == entry);
}

RC_GTEST_PROP(RingEntry, CompletionEntriesComeBack, ()) {
  CompletionEntry entry;
  entry.id = arbitrary_word();
  entry.status = arbitrary_bits<std::uint8_t>(8);
  entry.is_receive = arbitrary_flag();
  entry.has_immediate = arbitrary_flag();
  entry.solicited = arbitrary_flag();
  entry.opcode = static_cast<RingOpcode>(*rc::gen::inRange<unsigned>(2, 18));
  entry.length = arbitrary_bits<std::uint32_t>(32);
  entry.queue = arbitrary_bits<std::uint32_t>(32);
  entry.remote_host = arbitrary_bits<std::uint32_t>(32);
  entry.remote_queue = arbitrary_bits<std::uint32_t>(32);
  entry.immediate = arbitrary_word();
  entry.atomic_result = {arbitrary_word(), arbitrary_word()};
  entry.lap = arbitrary_flag();
  CompletionEntry read;
  RC_ASSERT(decode(bytes_of(entry), read) == RingEntryError::kNone);
  RC_ASSERT(read == entry);
}

/// Bytes with a plausible beginning: whatever is accepted is written back as it was.
RC_GTEST_PROP(RingEntry, AcceptedBytesComeBack, ()) {
  std::vector<std::byte> bytes(kLongWorkEntryBytes);
  for (std::byte& byte : bytes) byte = arbitrary_bits<std::byte>(arbitrary_flag() ? 8 : 2);
  WorkEntry work;
  if (decode(bytes, work) == RingEntryError::kNone) {
    std::vector<std::byte> head(bytes.begin(), bytes.begin() + encoded_bytes(work));
    RC_ASSERT(bytes_of(work) == head);
  }
  bytes.resize(kRingEntryBytes);
  ReceiveEntry receive;
  if (decode(bytes, receive) == RingEntryError::kNone) RC_ASSERT(bytes_of(receive) == bytes);
  CompletionEntry completion;
  if (decode(bytes, completion) == RingEntryError::kNone) RC_ASSERT(bytes_of(completion) == bytes);
}

/// A valid entry of 8 bytes, and what decode() says when byte `at` is `value` instead.
RingEntryError with_byte(WorkEntry entry, std::size_t at, unsigned value) {
  std::vector<std::byte> bytes = bytes_of(entry);
  bytes[at] = static_cast<std::byte>(value);
  WorkEntry read;
  return decode(bytes, read);
}

TEST(RingEntry, RefusesWhatNoDriverMeans) {
  WorkEntry write;
  write.opcode = RingOpcode::kWrite;
  write.length = 8;
  write.piece_count = 1;
  EXPECT_EQ(with_byte(write, 8, 3), RingEntryError::kNone);
  for (const unsigned opcode : {0U, 1U, 18U, 255U}) {
    EXPECT_EQ(with_byte(write, 8, opcode), RingEntryError::kOpcode) << opcode;
  }
  EXPECT_EQ(with_byte(write, 9, 0x30), RingEntryError::kReserved);  // Order 3.
  EXPECT_EQ(with_byte(write, 8, 5), RingEntryError::kTooShort);     // A notification needs a long entry.
  EXPECT_EQ(with_byte(write, 9, 0x80), RingEntryError::kTooShort);  // Long, and there is no more.
  EXPECT_EQ(with_byte(write, 9, 0x40), RingEntryError::kInline);    // Inline without a second half.
  EXPECT_EQ(with_byte(write, 10, 2), RingEntryError::kPieces);      // Two pieces in a short entry.
  EXPECT_EQ(with_byte(write, 10, 0x31), RingEntryError::kWidth);    // No atomic.
  EXPECT_EQ(with_byte(write, 10, 0x11), RingEntryError::kWidth);    // Two bytes.
  EXPECT_EQ(with_byte(write, 8, 13), RingEntryError::kWidth);       // An atomic without a width.

  WorkEntry atomic;
  atomic.opcode = RingOpcode::kFetchAdd;
  atomic.width = 8;
  EXPECT_EQ(with_byte(atomic, 12, 0), RingEntryError::kNone);
  EXPECT_EQ(with_byte(atomic, 12, 1), RingEntryError::kReserved);  // A length beside the width.
  EXPECT_EQ(with_byte(atomic, 10, 0x40), RingEntryError::kWidth);  // 16 bytes in a short entry.

  WorkEntry gather = write;
  gather.is_long = true;
  gather.piece_count = 2;
  gather.pieces[1].length = 8;
  EXPECT_EQ(with_byte(gather, 12, 8), RingEntryError::kNone);
  EXPECT_EQ(with_byte(gather, 12, 7), RingEntryError::kPieces);  // The second piece alone is longer.
  EXPECT_EQ(with_byte(gather, 10, 5), RingEntryError::kPieces);

  WorkEntry inlined;
  inlined.opcode = RingOpcode::kSend;
  inlined.is_inline = inlined.is_long = true;
  inlined.length = 64;
  EXPECT_EQ(with_byte(inlined, 12, 64), RingEntryError::kNone);
  EXPECT_EQ(with_byte(inlined, 12, 65), RingEntryError::kInline);
  EXPECT_EQ(with_byte(inlined, 10, 1), RingEntryError::kInline);  // A piece beside it.
  EXPECT_EQ(with_byte(inlined, 8, 2), RingEntryError::kInline);   // A Read sends nothing.
}

TEST(RingEntry, RefusesShortBytesAndReservedBits) {
  std::array<std::byte, kRingEntryBytes> bytes{};
  for (std::size_t length = 0; length < kRingEntryBytes; ++length) {
    WorkEntry work;
    ReceiveEntry receive;
    CompletionEntry completion;
    const auto part = std::span(bytes).first(length);
    EXPECT_EQ(decode(part, work), RingEntryError::kTooShort);
    EXPECT_EQ(decode(part, receive), RingEntryError::kTooShort);
    EXPECT_EQ(decode(part, completion), RingEntryError::kTooShort);
  }
  ReceiveEntry receive;
  EXPECT_EQ(decode(bytes, receive), RingEntryError::kNone);
  bytes[8] = std::byte{4};
  EXPECT_EQ(decode(bytes, receive), RingEntryError::kPieces);
  bytes[8] = std::byte{0};
  bytes[9] = std::byte{1};
  EXPECT_EQ(decode(bytes, receive), RingEntryError::kReserved);

  CompletionEntry completion;
  EXPECT_EQ(decode(bytes_of(completion), completion), RingEntryError::kNone);
  for (const std::size_t at : {9U, 11U, 28U, 31U, 56U, 62U, 63U}) {
    std::vector<std::byte> bad = bytes_of(CompletionEntry{});
    bad[at] = std::byte{0x82};
    EXPECT_EQ(decode(bad, completion), RingEntryError::kReserved) << at;
  }
}

}  // namespace
}  // namespace wharf::wire
