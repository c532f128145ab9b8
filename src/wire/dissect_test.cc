// SPDX-License-Identifier: Apache-2.0
// Dissection of frames that are not whole packets, and of Unified Bus packets in every form.
#include "wire/dissect.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/frame.h"
#include "wire/hex_bytes.h"
#include "wire/packet_generator.h"

namespace wharf::wire {
namespace {

/// Headers, data and trailers of any packet of ours follow one another, cover the frame, and encode to the
/// same bytes.
RC_GTEST_PROP(Dissect, HeadersTileEveryFrame, ()) {
  const Packet packet = arbitrary_flag() ? arbitrary_roce_packet() : arbitrary_ub_packet();
  std::vector<std::byte> frame(encoded_bytes(packet));
  encode(packet, frame);
  const Dissection dissection = dissect(frame, link_type(packet));
  RC_ASSERT(dissection.reason == DropReason::kNone);
  RC_ASSERT(dissection.reencodes);
  std::uint32_t at = 0;
  std::uint32_t header_end = 0;
  for (const DissectLine& line : dissection.lines) {
    if (line.depth == 1) {
      RC_ASSERT(line.offset + line.length <= header_end);
      continue;
    }
    // An OPtag stands between the Ethernet addresses and the type that ends the Ethernet header.
    if (line.name == "OPtag") continue;
    if (line.name == "Ethernet" && packet.protocol == Protocol::kUb && packet.ub.operator_tag) {
      at = header_end = line.length + kOpTagBytes;
      continue;
    }
    RC_ASSERT(line.offset == at);
    at = header_end = line.offset + line.length;
  }
  RC_ASSERT(at == frame.size());
}

TEST(Dissect, ForeignFramesAreNamed) {
  const auto arp = hex_bytes("ffffffffffff 020000000001 0806 00010800060400010200000000010a000001");
  const Dissection dissection = dissect(arp, LinkType::kEthernet);
  EXPECT_EQ(dissection.reason, DropReason::kForeign);
  EXPECT_EQ(dissection.summary, "foreign: ARP");
  EXPECT_EQ(dissection.source, "02:00:00:00:00:01");
  const auto tagged = hex_bytes("ffffffffffff 020000000001 8100 2064 88cc 0207");
  EXPECT_EQ(dissect(tagged, LinkType::kEthernet).summary, "foreign: EtherType 0x88cc");
  EXPECT_THAT(dissection_text(dissect(tagged, LinkType::kEthernet)),
              testing::HasSubstr("VLAN: id 100, priority 1"));
}

TEST(Dissect, CutFramesAreRefusedWithTheirPlace) {
  // An operator tag that the frame has no room for.
  const Dissection dissection =
      dissect(hex_bytes("ffffffffffff 000000000000 88b6 0000000000"), LinkType::kEthernet);
  EXPECT_EQ(dissection.reason, DropReason::kTruncated);
  EXPECT_EQ(dissection.summary, "refused: truncated");
  EXPECT_EQ(dissection.lines.back().name, "refused");
  EXPECT_EQ(dissect({}, LinkType::kEthernet).reason, DropReason::kTruncated);
  EXPECT_EQ(dissect({}, LinkType::kUbLink).reason, DropReason::kTruncated);
}

TEST(Dissect, SaysWhatAUbPacketDoes) {
  Packet packet = ub_packet();
  packet.destination.number = 1;
  Btah& btah = use_request(packet.ub);
  btah.opcode = TaOpcode::kWriteNotify;
  btah.tassn = 7;
  packet.ub.rtph.psn = 5;
  packet.ub.extension.maetah = Maetah{0x1000, 3, 64};
  packet.payload = pattern_payload(1, 0, 64);
  std::vector<std::byte> frame(encoded_bytes(packet));
  encode(packet, frame);
  const Dissection dissection = dissect(frame, LinkType::kEthernet);
  EXPECT_EQ(dissection.summary,
            "UB Write_notify, TP 0 > 0, PSN 5, TASSN 7, address 0x1000, 64 bytes, payload 64");
  EXPECT_EQ(dissection.source, "10.0.0.1");
  EXPECT_EQ(dissection.destination, "10.0.0.2");
  EXPECT_EQ(dissection.icrc, IcrcState::kAbsent);
}

}  // namespace
}  // namespace wharf::wire
