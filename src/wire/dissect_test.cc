// SPDX-License-Identifier: Apache-2.0
// Dissection of frames that are not whole packets, and of packets of every protocol in every form.
#include "wire/dissect.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/packet_generator.h"
#include "wire/capture_reader.h"
#include "wire/frame.h"
#include "wire/hex_bytes_test_support.h"
#include "wire/ipv4.h"
#include "wire/tlp_codec.h"
#include "wire/tlp_generator_test_support.h"

namespace wharf::wire {
namespace {

/// Headers, data and trailers of any packet of ours follow one another, cover the frame, and encode to the
/// same bytes.
RC_GTEST_PROP(Dissect, HeadersTileEveryFrame, ()) {
  Packet packet = (*rc::gen::element(arbitrary_roce_packet, arbitrary_ub_packet, arbitrary_uet_packet))();
  if (packet.protocol == Protocol::kUet && arbitrary_flag()) packet.uet.protection = UetProtection::kNone;
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

/// A live host listens where it is told to: its packets are read when its port is named, in both directions.
RC_GTEST_PROP(Dissect, ReadsAPortThatIsNamed, (bool answer)) {
  Packet packet = (*rc::gen::element(arbitrary_roce_packet, arbitrary_ub_packet, arbitrary_uet_packet))();
  // The checksums of RoCE and Ultra Ethernet cover the ports, which are not those of the sender any more.
  if (packet.protocol == Protocol::kUet) packet.uet.protection = UetProtection::kNone;
  std::vector<std::byte> frame(encoded_bytes(packet));
  encode(packet, frame);
  FrameLayout layout;
  RC_ASSERT(locate(frame, link_type(packet), layout) == DropReason::kNone);
  RC_PRE(layout.has_ip && layout.encapsulation == UbEncapsulation::kUdp);
  RC_PRE(layout.uet_encapsulation == UetEncapsulation::kUdp);
  constexpr std::uint16_t kOwn = 9000;
  constexpr std::uint16_t kOther = 40'000;
  store_be16(frame.data() + layout.udp_at, answer ? kOwn : kOther);
  store_be16(frame.data() + layout.udp_at + 2, answer ? kOther : kOwn);
  const Dissection unknown = dissect(frame, link_type(packet));
  RC_ASSERT(unknown.reason == DropReason::kForeign);
  RC_ASSERT(unknown.foreign == fmt::format("{} UDP to port {}",
                                           layout.ip_version == IpVersion::kV4 ? "IPv4" : "IPv6",
                                           answer ? kOther : kOwn));
  const ProtocolPort named{kOwn, packet.protocol};
  const Dissection known = dissect(frame, link_type(packet), {&named, 1});
  RC_ASSERT(known.reason == DropReason::kNone);
  RC_ASSERT(known.reencodes || packet.protocol == Protocol::kRoce);
}

/// A port that a specification gives to another protocol is what it is said to be; the destination comes
/// first.
RC_GTEST_PROP(Dissect, ANamedPortComesBeforeTheSpecifications, (bool answer)) {
  Packet packet = arbitrary_ub_packet();
  std::vector<std::byte> frame(encoded_bytes(packet));
  encode(packet, frame);
  FrameLayout layout;
  RC_ASSERT(locate(frame, link_type(packet), layout) == DropReason::kNone);
  RC_PRE(layout.has_ip && layout.encapsulation == UbEncapsulation::kUdp);
  constexpr std::uint16_t kOther = 40'000;
  store_be16(frame.data() + layout.udp_at, answer ? kRocePort : kOther);
  store_be16(frame.data() + layout.udp_at + 2, answer ? kOther : kRocePort);
  const std::array<ProtocolPort, 2> named{{{kRocePort, Protocol::kUb}, {kOther, Protocol::kUet}}};
  const Dissection known = dissect(frame, link_type(packet), std::span(named).first(1));
  RC_ASSERT(known.reason == DropReason::kNone);
  RC_ASSERT(known.reencodes);
  const Dissection destination = dissect(frame, link_type(packet), named);
  RC_ASSERT((destination.reason == DropReason::kNone && destination.summary == known.summary) == !answer);
}

/// Prefixes, header, data and digest of any TLP follow one another and cover it.
RC_GTEST_PROP(Dissect, HeadersTileEveryTlp, (std::uint64_t seed)) {
  const Tlp tlp = arbitrary_tlp(seed);
  std::vector<std::byte> bytes(tlp_bytes(tlp));
  encode_tlp(tlp, bytes);
  const Dissection dissection = dissect(bytes, LinkType::kPcieTlp);
  RC_ASSERT(dissection.reason == DropReason::kNone);
  RC_ASSERT(dissection.reencodes);
  RC_ASSERT(dissection.icrc == (tlp.digest ? IcrcState::kGood : IcrcState::kAbsent));
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  for (const DissectLine& line : dissection.lines) {
    if (line.depth == 1) {
      RC_ASSERT(line.offset >= begin);
      RC_ASSERT(line.offset + line.length <= end);
      continue;
    }
    RC_ASSERT(line.offset == end);
    begin = line.offset;
    end = begin + line.length;
  }
  RC_ASSERT(end == bytes.size());
}

/// The capture was written by text2pcap from bytes worked out by hand.
TEST(Dissect, SaysWhatTlpsDo) {
  auto reader = CaptureReader::open("tests/data/captures/pcie-tlp.pcap");
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> lines;
  for (CapturedFrame frame; reader->next(frame).value();) {
    const Dissection dissection = dissect(frame.bytes, static_cast<LinkType>(frame.link_type));
    EXPECT_TRUE(dissection.reencodes) << dissection.summary;
    lines.push_back(dissection.source + " > " + dissection.destination + ": " + dissection.summary);
  }
  const std::vector<std::string> expected = {
      "01:00.0 > memory: PCIe CAS, 32 bytes at 0x1010, tag 171, data 32",
      "01:00.0 > 02:1f.3: PCIe CfgRd0, register 0x104, tag 171",
      "00:00.0 > 01:00.0: PCIe Cpl, UR, byte count 64, lower address 0x0, tag 171",
      "00:00.0 > 01:00.0: PCIe CplD, SC, byte count 64, lower address 0x0, tag 171, data 64",
      "01:00.0 > memory: PCIe FetchAdd, 8 bytes at 0x1008, tag 171, data 8",
      "01:00.0 > I/O: PCIe IORd, 4 bytes at 0x3f8, tag 171",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x1000, tag 171",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x100002000, tag 171",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x1000, tag 171, acquire, thread 7",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x1000, tag 939",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x1000, tag 171",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x1000, tag 171",
      "01:00.0 > memory: PCIe MRd, 64 bytes at 0x1000, tag 171, read-release, thread 7",
      "01:00.0 > local: PCIe Msg, Assert_INTA, local",
      "01:00.0 > 02:00.0: PCIe MsgD, Vendor_Defined Type 1, by ID, data 4",
      "01:00.0 > memory: PCIe MWr, 8 bytes at 0x1000, data 8",
      "01:00.0 > memory: PCIe MWr, 6 bytes at 0x100002005, data 8",
      "01:00.0 > memory: PCIe MWr, 8 bytes at 0x1000, data 8",
      "01:00.0 > memory: PCIe MWr, 8 bytes at 0x1000, relaxed, thread 3, number 258, data 8",
      "01:00.0 > memory: PCIe MWr, 8 bytes at 0x1000, release, thread 7, data 8",
      "01:00.0 > memory: PCIe Swap, 4 bytes at 0x100002004, tag 171, data 4"};
  EXPECT_EQ(lines, expected);
}

TEST(Dissect, RefusesTlpsWithTheirRule) {
  const Dissection crossing = dissect(hex_bytes("00000010 0100abff 00001fc4"), LinkType::kPcieTlp);
  EXPECT_EQ(crossing.reason, DropReason::kBadTlp);
  EXPECT_EQ(crossing.tlp_reason, TlpDropReason::kCrossesPage);
  EXPECT_EQ(crossing.summary, "refused: crosses a 4 KiB boundary");
  EXPECT_EQ(dissection_status(crossing), "crosses a 4 KiB boundary");
  EXPECT_EQ(dissect({}, LinkType::kPcieTlp).tlp_reason, TlpDropReason::kTruncated);
  // A wrong digest is said and shown, like a wrong ICRC.
  const Dissection digest = dissect(hex_bytes("00008010 0100abff 00001000 00000000"), LinkType::kPcieTlp);
  EXPECT_EQ(digest.reason, DropReason::kNone);
  EXPECT_EQ(digest.icrc, IcrcState::kBad);
  EXPECT_THAT(digest.summary, testing::EndsWith("bad ECRC"));
  EXPECT_FALSE(digest.reencodes);
  // The order fields say what both readings of the same bits are.
  const std::string text =
      dissection_text(dissect(hex_bytes("40002001 0100000f 00001000 00000000"), LinkType::kPcieTlp));
  EXPECT_THAT(text, testing::HasSubstr("order today: relaxed ordering"));
  EXPECT_THAT(text, testing::HasSubstr("order as proposed: release"));
}

/// A link type that nobody here reads is another protocol, not a broken packet of ours.
TEST(Dissect, OtherLinkTypesAreForeign) {
  const Dissection dissection = dissect(hex_bytes("00000010 0100abff 00001000"), static_cast<LinkType>(113));
  EXPECT_EQ(dissection.reason, DropReason::kForeign);
  EXPECT_EQ(dissection.summary, "foreign: link type 113");
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

/// A fragment of a write that opens its context, with data.
Packet uet_write() {
  Packet packet = uet_packet();
  packet.destination.number = 1;
  packet.entropy = 0x1234;
  packet.uet.prologue.flags = kUetAckRequested | kUetSyn;
  UetRequest& pds = use_pds_request(packet.uet, UetPdsType::kRudRequest);
  pds.psn = 73'729;
  pds.clear_psn_offset = -2;
  pds.source_pdcid = 0x4001;
  pds.destination_pdcid = uet_syn_word(1);
  UetSesRequest& ses = use_ses_request(packet.uet, UetNextHeader::kRequestStandard, UetOpcode::kWrite);
  ses.flags = kUetRelative;
  ses.message_id = 1;
  ses.job_id = 101;
  ses.resource_index = 10;
  ses.memory_key = 0xacce5;
  ses.message_offset = 40;
  ses.request_length = 160;
  packet.payload = pattern_payload(1, 0, 40);
  return packet;
}

std::vector<std::byte> frame_of(const Packet& packet) {
  std::vector<std::byte> frame(encoded_bytes(packet));
  encode(packet, frame);
  return frame;
}

TEST(Dissect, SaysWhatAUetPacketDoes) {
  const Packet packet = uet_write();
  const Dissection dissection = dissect(frame_of(packet), LinkType::kEthernet);
  EXPECT_EQ(
      dissection.summary,
      "UET RUD_REQ, PDC 0x4001 SYN, PSN 73729, WRITE, job 101, message 1, 0+40 of 160 bytes, payload 40");
  EXPECT_EQ(dissection.icrc, IcrcState::kGood);
  const std::string text = dissection_text(dissection);
  for (const char* line : {"  34+8    UDP: 4660 > 4793",
                           "  42+12   PDS: RUD_REQ",
                           "type: RUD_REQ (2)",
                           "next header: REQUEST_STD (3)",
                           "acknowledge request (AR): yes",
                           "opens a PDC (SYN): yes",
                           "retransmitted (RETX): no",
                           "clear PSN offset: -2 (CLEAR_PSN 73727)",
                           "PSN: 73729",
                           "source PDCID: 0x4001",
                           "PSN offset: 1",
                           "  54+44   SES: REQUEST_STD WRITE",
                           "relative (REL): yes",
                           "job id: 101",
                           "resource index: 0x00a",
                           "memory key or match bits: 0x00000000000acce5",
                           "payload length: 40",
                           "message offset: 40",
                           "request length: 160",
                           "  98+40   payload: 40 bytes",
                           " 138+4    CRC: 0x"})
    EXPECT_THAT(text, testing::HasSubstr(line));
}

TEST(Dissect, SaysWhatUetAcknowledgementsSay) {
  Packet packet = uet_packet();
  packet.uet.prologue.flags = kUetMarked | uet_request_flags(UetAckRequest::kClear);
  use_ack(packet.uet) = UetAck{100, 0x8001, 0x4001, 2};
  UetAckCongestion& cc = use_ack_congestion(packet.uet);
  cc.sack_psn_offset = 2;
  cc.sack_bitmap = 5;
  cc.mpr = 8;
  cc.byte_units = 17;
  cc.service_time = 10;
  cc.out_of_order = 2;
  use_ses_response(packet.uet, UetNextHeader::kResponse).message_id = 9;
  const Dissection dissection = dissect(frame_of(packet), LinkType::kEthernet);
  EXPECT_EQ(dissection.summary, "UET ACK_CC, PDC 0x8001 > 0x4001, CACK 100, DEFAULT_RESPONSE, RC_OK");
  const std::string text = dissection_text(dissection);
  for (const char* line :
       {"ECN marked (M): yes", "target asks for (REQ): clear", "ACK PSN offset: 2 (ACK_PSN 102)",
        "CC type: NSCC (0)", "maximum PSN range: 8 (1024 PSNs)", "SACK PSN offset: 2 (base 102)",
        "SACK bitmap: 0x0000000000000005", "service time: 10 (1280 ns)", "received bytes: 17 x 256",
        "out of order: 2", "list: EXPECTED (0)", "return code: RC_OK (0x01)", "message id: 9"})
    EXPECT_THAT(text, testing::HasSubstr(line));

  use_nack(packet.uet, UetNackCode::kRodOutOfOrder).psn = 7;
  EXPECT_EQ(dissect(frame_of(packet), LinkType::kEthernet).summary, "UET NACK ROD_OOO, PSN 7");
  packet.uet.prologue.flags = 0;
  use_control(packet.uet, UetControlType::kProbe).probe_opaque = 0xbeef;
  const Dissection probe = dissect(frame_of(packet), LinkType::kEthernet);
  EXPECT_EQ(probe.summary, "UET CP PROBE, PDC 0x0 > 0x0, PSN 0");
  EXPECT_THAT(dissection_text(probe), testing::HasSubstr("probe opaque: 0xbeef"));
}

TEST(Dissect, UetTrailersAreFoundOut) {
  Packet packet = uet_write();
  std::vector<std::byte> frame = frame_of(packet);
  // The length of a segment says that the last four bytes are a CRC, so it is a wrong one.
  frame.back() ^= std::byte{1};
  Dissection dissection = dissect(frame, LinkType::kEthernet);
  EXPECT_EQ(dissection.icrc, IcrcState::kBad);
  EXPECT_THAT(dissection.summary, testing::EndsWith("bad CRC"));
  EXPECT_FALSE(dissection.reencodes);
  packet.uet.protection = UetProtection::kNone;
  dissection = dissect(frame_of(packet), LinkType::kEthernet);
  EXPECT_EQ(dissection.icrc, IcrcState::kAbsent);
  EXPECT_TRUE(dissection.reencodes);
  // The other byte order is understood too.
  WireOptions options;
  options.uet.crc_order = UetCrcOrder::kMostFirst;
  frame.resize(encode(uet_write(), frame, options));
  dissection = dissect(frame, LinkType::kEthernet);
  EXPECT_EQ(dissection.icrc, IcrcState::kGood);
  EXPECT_TRUE(dissection.reencodes);
}

TEST(Dissect, TrimmedUetFramesShowWhatIsLeft) {
  for (const std::size_t kept : {std::size_t{58}, std::size_t{98}, std::size_t{120}}) {
    std::vector<std::byte> frame = frame_of(uet_write());
    frame.resize(kept);
    Ipv4Header ip = decode_ipv4(frame.data() + 14);
    ip.type_of_service = UetDscp{}.trimmed << 2U;
    encode(ip, frame.data() + 14);
    const Dissection dissection = dissect(frame, LinkType::kEthernet);
    EXPECT_EQ(dissection.reason, DropReason::kNone) << kept;
    EXPECT_TRUE(dissection.reencodes) << kept;
    EXPECT_THAT(dissection.summary, testing::HasSubstr("PSN 73729"));
    EXPECT_THAT(dissection.summary, testing::EndsWith(", trimmed"));
    const DissectLine& last = dissection.lines.back();
    EXPECT_EQ(last.offset + last.length, kept);
    EXPECT_EQ(last.name == "left over", kept != 98);
  }
}

TEST(Dissect, SecuredUetPacketsShowTheirTssHeader) {
  std::vector<std::byte> frame = frame_of(uet_write());
  const auto tss = hex_bytes("0dabcdef1122334455aa0123456789ab");
  std::copy(tss.begin(), tss.end(), frame.begin() + 42);
  const Dissection dissection = dissect(frame, LinkType::kEthernet);
  EXPECT_EQ(dissection.reason, DropReason::kSecured);
  EXPECT_EQ(dissection.summary, "refused: secured packet without keys");
  const std::string text = dissection_text(dissection);
  EXPECT_THAT(text, testing::HasSubstr("  42+16   TSS: secure domain 11259375"));
  EXPECT_THAT(text, testing::HasSubstr("source identifier (SSI): 0x11223344"));
  EXPECT_THAT(text, testing::HasSubstr("epoch: 21930"));
}

}  // namespace
}  // namespace wharf::wire
