// SPDX-License-Identifier: Apache-2.0
// Ring entries that must not change: drivers and hardware read and write these bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/golden_test_support.h"
#include "wire/ring_entry.h"

namespace wharf::wire {
namespace {

std::string hex(const std::string& title, std::span<const std::byte> bytes) {
  std::string text = title + "\n";
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at % 16 == 0) text += fmt::format("{:3}  ", at);
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[at]));
    text += at % 16 == 15 ? "\n" : at % 4 == 3 ? " " : "";
  }
  return text;
}

std::string work(const std::string& title, const WorkEntry& entry) {
  std::vector<std::byte> bytes(encoded_bytes(entry));
  encode(entry, bytes);
  return hex("# work entry: " + title, bytes);
}

WorkEntry common(RingOpcode opcode) {
  WorkEntry entry;
  entry.id = 0x0102'0304'0506'0708;
  entry.opcode = opcode;
  entry.peer = 0x21222324;
  entry.piece_count = 1;
  entry.pieces[0] = {0x3132'3334'3536'3738, 0, 0x41424344};
  entry.remote_address = 0x5152'5354'5556'5758;
  entry.remote = {0x61626364, 0x71727374};
  entry.length = 0x1000;
  return entry;
}

TEST(GoldenRingEntries, Bytes) {
  std::string text = "# Layout: docs/engine-contract.md, \"Rings of bytes\"\n";
  text += work("write of 4096 bytes", common(RingOpcode::kWrite));
  WorkEntry entry = common(RingOpcode::kWriteImm);
  entry.immediate = 0x8182'8384'8586'8788;
  entry.solicited = entry.fence = true;
  entry.order = 2;
  text += work("write with immediate, solicited, fence, strong order", entry);
  entry = common(RingOpcode::kSendInvalidate);
  entry.invalidate = {0x91929394, 0xa1a2a3a4};
  entry.hint = 5;
  text += work("send with invalidate, hint 5", entry);
  entry = common(RingOpcode::kCompareSwap);
  entry.length = 0;
  entry.width = 8;
  entry.operand[0] = 0xb1b2'b3b4'b5b6'b7b8;
  entry.compare[0] = 0xc1c2'c3c4'c5c6'c7c8;
  text += work("compare and swap of 8 bytes", entry);
  entry.width = 16;
  entry.is_long = true;
  entry.operand[1] = 0xd1d2'd3d4'd5d6'd7d8;
  entry.compare[1] = 0xe1e2'e3e4'e5e6'e7e8;
  text += work("compare and swap of 16 bytes", entry);
  entry = common(RingOpcode::kWriteNotify);
  entry.is_long = true;
  entry.piece_count = 4;
  entry.immediate = 1;
  entry.notify_address = 0xf1f2'f3f4'f5f6'f7f8;
  entry.notify = {0x11121314, 0x15161718};
  for (std::uint32_t i = 1; i < 4; ++i) entry.pieces[i] = {0x100ULL * i, 0x10 * i, i};
  text += work("write with notification from four pieces", entry);
  entry = common(RingOpcode::kSend);
  entry.is_long = entry.is_inline = true;
  entry.piece_count = 0;
  entry.pieces[0] = {};
  entry.length = 64;
  for (std::size_t i = 0; i < 64; ++i) entry.inline_data[i] = static_cast<std::byte>(i);
  text += work("send of 64 bytes inline", entry);

  std::vector<std::byte> bytes(kRingEntryBytes);
  const std::span<std::byte, kRingEntryBytes> out(bytes);
  ReceiveEntry receive;
  receive.id = 0x0102'0304'0506'0708;
  receive.piece_count = 3;
  for (std::uint32_t i = 0; i < 3; ++i) receive.pieces[i] = {0x1000ULL * (i + 1), 0x100 * (i + 1), i + 1};
  encode(receive, out);
  text += hex("# receive entry of three pieces", bytes);
  CompletionEntry completion;
  completion.id = 0x0102'0304'0506'0708;
  completion.status = 11;
  completion.is_receive = completion.has_immediate = completion.solicited = true;
  completion.opcode = RingOpcode::kSendImm;
  completion.length = 0x11121314;
  completion.queue = 0x21222324;
  completion.remote_host = 0x31323334;
  completion.remote_queue = 0x41424344;
  completion.immediate = 0x5152'5354'5556'5758;
  completion.atomic_result = {0x6162'6364'6566'6768, 0x7172'7374'7576'7778};
  encode(completion, out);
  text += hex("# completion entry, first lap", bytes);
  expect_golden("wire/ring/entries.hex", text);
}

}  // namespace
}  // namespace wharf::wire
