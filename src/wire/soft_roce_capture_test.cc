// SPDX-License-Identifier: Apache-2.0
// Frames that Linux Soft-RoCE sent: each decodes, has a good ICRC, and encodes to the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "wire/capture_reader.h"
#include "wire/captured_frame.h"
#include "wire/dissect.h"
#include "wire/frame.h"

namespace wharf::wire {
namespace {

constexpr const char* kCapture = "tests/data/captures/linux-soft-roce.pcap.xz";

TEST(SoftRoceCapture, EveryFrameDecodesAndReencodes) {
  Result<CaptureReader> reader = CaptureReader::open(kCapture);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::uint64_t roce = 0;
  std::uint64_t foreign = 0;
  std::map<RoceOpcode, int> opcodes;
  CapturedFrame frame;
  while (true) {
    Result<bool> more = reader->next(frame);
    ASSERT_TRUE(more.ok()) << more.error().message;
    if (!*more) break;
    ASSERT_EQ(frame.link_type, static_cast<std::uint16_t>(LinkType::kEthernet));
    ASSERT_EQ(frame.original_bytes, frame.bytes.size());
    CapturedPacket captured;
    const DropReason reason = decode_captured(frame.bytes, LinkType::kEthernet, captured);
    const Dissection dissection = dissect(frame.bytes, LinkType::kEthernet);
    EXPECT_EQ(dissection.reason, reason);
    if (reason == DropReason::kForeign) {
      ++foreign;
      EXPECT_TRUE(dissection.summary.starts_with("foreign: ")) << dissection.summary;
      continue;
    }
    ASSERT_EQ(reason, DropReason::kNone) << "frame " << frame.number << ": " << drop_reason_text(reason);
    ++roce;
    ++opcodes[captured.packet.roce.bth.opcode];
    EXPECT_TRUE(captured.icrc_matches()) << "frame " << frame.number;
    EXPECT_TRUE(reencode_matches(frame.bytes, LinkType::kEthernet)) << "frame " << frame.number;
    EXPECT_EQ(dissection.icrc, IcrcState::kGood);
    EXPECT_TRUE(dissection.reencodes);
    // The headers of the tree cover the frame without gap or overlap.
    std::uint32_t at = 0;
    for (const DissectLine& line : dissection.lines) {
      if (line.depth != 0) continue;
      EXPECT_EQ(line.offset, at) << "frame " << frame.number << ", " << line.name;
      at = line.offset + line.length;
    }
    EXPECT_EQ(at, frame.bytes.size());
    // 10.77.0.x is inside the address plan, so the engine's own decoder takes the frame too.
    Packet packet;
    EXPECT_EQ(decode(frame.bytes, LinkType::kEthernet, packet), DropReason::kNone);
  }
  EXPECT_EQ(roce, 516U);
  EXPECT_EQ(foreign, 265U);
  EXPECT_EQ(opcodes.size(), 14U);
}

TEST(SoftRoceCapture, DamageIsSeen) {
  Result<CaptureReader> reader = CaptureReader::open(kCapture);
  ASSERT_TRUE(reader.ok());
  CapturedFrame frame;
  Dissection dissection;
  do {
    ASSERT_TRUE(reader->next(frame).ok());
    dissection = dissect(frame.bytes, LinkType::kEthernet);
  } while (dissection.reason != DropReason::kNone);
  std::vector<std::byte> damaged(frame.bytes.begin(), frame.bytes.end());
  damaged[60] ^= std::byte{1};
  dissection = dissect(damaged, LinkType::kEthernet);
  EXPECT_EQ(dissection.icrc, IcrcState::kBad);
  EXPECT_FALSE(dissection.reencodes);
  EXPECT_TRUE(dissection.summary.ends_with("bad ICRC")) << dissection.summary;
}

}  // namespace
}  // namespace wharf::wire
