// SPDX-License-Identifier: Apache-2.0
// Cutting accesses into packets: examples by hand, and for any access that the pieces are the access, keep
// the rules that the decoder checks, and are as few as those allow. And what the packets take on the wire.
#include "wire/tlp_split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "base/random.h"
#include "wire/tlp_codec.h"
#include "wire/tlp_framing.h"

namespace wharf::wire {
namespace {

std::vector<std::pair<std::uint64_t, std::uint32_t>> requests(std::uint64_t address, std::uint64_t bytes,
                                                              std::uint32_t limit) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> pieces;
  TlpRequestCutter cutter(address, bytes, limit);
  for (TlpPiece piece; cutter.next(piece);) pieces.emplace_back(piece.address, piece.bytes);
  return pieces;
}

struct Piece {
  std::uint64_t address;
  std::uint32_t bytes;
  std::uint32_t byte_count;
  std::uint32_t lower_address;
  friend bool operator==(const Piece&, const Piece&) = default;
};
std::vector<Piece> completions(std::uint64_t address, std::uint32_t bytes, std::uint32_t boundary,
                               std::uint32_t max_payload) {
  std::vector<Piece> pieces;
  TlpCompletionCutter cutter(address, bytes, boundary, max_payload);
  for (TlpCompletionPiece piece; cutter.next(piece);)
    pieces.push_back({piece.data.address, piece.data.bytes, piece.byte_count, piece.lower_address});
  return pieces;
}

TEST(TlpSplit, RequestsByHand) {
  using Pieces = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  EXPECT_EQ(requests(0x1000, 0, 512), Pieces{});
  EXPECT_EQ(requests(0x1000, 512, 512), (Pieces{{0x1000, 512}}));
  EXPECT_EQ(requests(0x1000, 513, 512), (Pieces{{0x1000, 512}, {0x1200, 1}}));
  // 64 bytes before a page ends.
  EXPECT_EQ(requests(0x1fc0, 512, 512), (Pieces{{0x1fc0, 64}, {0x2000, 448}}));
  // 512 bytes from byte 3 on are 129 double words.
  EXPECT_EQ(requests(0x1003, 512, 512), (Pieces{{0x1003, 509}, {0x1200, 3}}));
  EXPECT_EQ(requests(0xffff'ffff'f000, 0x1800, 4096),
            (Pieces{{0xffff'ffff'f000, 4096}, {0x1'0000'0000'0000, 2048}}));
}

TEST(TlpSplit, CompletionsByHand) {
  // [2.3.1.1] 256 bytes from 0x1'0020 on with a boundary of 64: the first ends at 0x1'0040.
  EXPECT_EQ(completions(0x10020, 256, 64, 64), (std::vector<Piece>{{0x10020, 32, 256, 0x20},
                                                                   {0x10040, 64, 224, 0x40},
                                                                   {0x10080, 64, 160, 0x00},
                                                                   {0x100c0, 64, 96, 0x40},
                                                                   {0x10100, 32, 32, 0x00}}));
  EXPECT_EQ(completions(0x10020, 256, 64, 256),
            (std::vector<Piece>{{0x10020, 224, 256, 0x20}, {0x10100, 32, 32, 0x00}}));
  EXPECT_EQ(completions(0x10020, 100, 128, 128),
            (std::vector<Piece>{{0x10020, 96, 100, 0x20}, {0x10080, 4, 4, 0}}));
  EXPECT_EQ(completions(0x1000, 4096, 64, 4096), (std::vector<Piece>{{0x1000, 4096, 4096, 0}}));
  EXPECT_EQ(completions(0x103f, 1, 64, 64), (std::vector<Piece>{{0x103f, 1, 1, 0x3f}}));
}

/// `tlp` as bytes is a packet that a receiver takes.
bool accepted(const Tlp& tlp, const TlpRules& rules) {
  std::vector<std::byte> bytes(tlp_bytes(tlp));
  encode_tlp(tlp, bytes);
  Tlp read;
  return decode_tlp(bytes, read, rules) == TlpDropReason::kNone;
}

RC_GTEST_PROP(TlpSplit, RequestsAreTheAccess, (std::uint64_t seed)) {
  RandomStream random(seed, "split");
  const std::uint64_t address = random.below(3) * kTlpPageBytes + random.below(kTlpPageBytes);
  const std::uint64_t bytes = 1 + random.below(20'000);
  const std::uint32_t limit = 128U << random.below(6);
  TlpRequestCutter cutter(address, bytes, limit);
  std::uint64_t at = address;
  std::uint64_t cuts_needed = 0;
  for (TlpPiece piece; cutter.next(piece);) {
    RC_ASSERT(piece.address == at && piece.offset == at - address && piece.bytes != 0);
    at += piece.bytes;
    const Tlp read = memory_read_tlp(piece.address, piece.bytes, 0, 0);
    RC_ASSERT(accepted(read, {}));
    RC_ASSERT(4U * read.dwords <= limit);
    RC_ASSERT(tlp_access_address(read) == piece.address && tlp_access_bytes(read) == piece.bytes);
    RC_ASSERT(accepted(memory_write_tlp(piece.address, pattern_payload(1, 0, piece.bytes), 0),
                       {.max_payload = limit}));
    // Every cut is one that a rule wants: one byte more would be too long or in the next page.
    if (at != address + bytes) {
      ++cuts_needed;
      RC_ASSERT(at % kTlpPageBytes == 0 || 4U * read.dwords == limit);
    }
  }
  RC_ASSERT(at == address + bytes);
  RC_ASSERT(cuts_needed <= bytes / limit + bytes / kTlpPageBytes + 2);
}

RC_GTEST_PROP(TlpSplit, CompletionsAreTheRead, (std::uint64_t seed)) {
  RandomStream random(seed, "completions");
  const auto start = static_cast<std::uint32_t>(random.below(kTlpPageBytes));
  const auto bytes = static_cast<std::uint32_t>(1 + random.below(kTlpPageBytes - start));
  const std::uint32_t boundary = 64U << random.below(2);
  const std::uint32_t max_payload = boundary << random.below(6);
  const Tlp request = memory_read_tlp(0x7'0000'0000 + start, bytes, 0x0100, 5);
  TlpCompletionCutter cutter(tlp_access_address(request), tlp_access_bytes(request), boundary, max_payload);
  std::uint64_t at = tlp_access_address(request);
  const std::uint64_t end = at + bytes;
  for (TlpCompletionPiece piece; cutter.next(piece);) {
    RC_ASSERT(piece.data.address == at && piece.data.offset == bytes - (end - at));
    RC_ASSERT(piece.byte_count == end - at && piece.lower_address == (at & 0x7fU));
    at += piece.data.bytes;
    RC_ASSERT(at == end || at % boundary == 0);
    const Tlp tlp = completion_data_tlp(request, 0, piece.data.address, piece.byte_count,
                                        pattern_payload(1, piece.data.offset, piece.data.bytes));
    RC_ASSERT(accepted(tlp, {.max_payload = max_payload, .read_completion_boundary = boundary}));
  }
  RC_ASSERT(at == end);
}

TEST(TlpFraming, BytesByHand) {
  // A write of 64 bytes above 4 GiB: 4 STP and sequence, 16 header, 4 LCRC.
  EXPECT_EQ(tlp_link_bytes(TlpType::kMemoryWrite, 0x1'0000'0000, 64), 64U + 24U);
  EXPECT_EQ(tlp_link_bytes(TlpType::kMemoryWrite, 0x1000, 64), 64U + 20U);
  // Completions have three double words whatever the address was.
  EXPECT_EQ(tlp_link_bytes(TlpType::kCompletionData, 0x1'0000'0000, 128), 128U + 20U);
  EXPECT_EQ(tlp_link_bytes(TlpType::kMemoryRead, 0x1'0000'0000, 64), 24U);
  EXPECT_EQ(tlp_link_bytes(TlpType::kMemoryWrite, 0x1'0000'0003, 2), 8U + 24U);
  EXPECT_EQ(tlp_link_bytes(TlpType::kMemoryWrite, 0x1'0000'0000, 64, 2, true), 64U + 24U + 8U + 4U);
  // "Stop Taking the Scenic Route" 2.5: MMIO writes of 64 bytes take about a fifth more than completions of
  // 128.
  EXPECT_EQ(tlp_link_bytes(TlpType::kMemoryWrite, 0x1'0000'0000, 64) * 2 * 1000 /
                tlp_link_bytes(TlpType::kCompletionData, 0, 128),
            1189U);
  const Tlp write = memory_write_tlp(0x1'0000'0003, pattern_payload(1, 0, 2), 0);
  EXPECT_EQ(tlp_link_bytes(write), 32U);
  EXPECT_EQ(tlp_data_credits(TlpType::kMemoryWrite, 16), 4U);
  EXPECT_EQ(tlp_data_credits(TlpType::kMemoryWrite, 17), 5U);
  EXPECT_EQ(tlp_data_credits(TlpType::kMemoryRead, 16), 0U);
}

}  // namespace
}  // namespace wharf::wire
