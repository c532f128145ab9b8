// SPDX-License-Identifier: Apache-2.0
// Frames that must not change: one file for each opcode, which holds the bytes in hex and says which sections
// lay them out. Our encoder must write exactly these bytes, and our decoder must read them and lose nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/golden_test_support.h"
#include "wire/frame.h"
#include "wire/packet.h"
#include "wire/tlp_codec.h"
#include "wire/tlp_ordering_label.h"

namespace wharf::wire {
namespace {

/// Packets from host 1 to host 2 with a payload that is not a multiple of four.
void address(Packet& packet) {
  packet.source.number = 1;
  packet.destination.number = 2;
  packet.entropy = 0xc123;
  packet.mark = CongestionMark::kCapable;
}

/// Lower-case letters and digits, with underscores for whatever stands between them.
std::string file_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (plain) {
      text += lower;
    } else if (!text.empty() && text.back() != '_') {
      text += '_';
    }
  }
  while (text.ends_with('_')) text.pop_back();
  return text;
}

/// The golden text of a frame.
std::string hex_lines(const std::string& title, const std::string& sections,
                      std::span<const std::byte> frame) {
  std::string text = "# " + title + "\n# " + sections + "\n";
  for (std::size_t at = 0; at < frame.size(); ++at) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(frame[at]));
    text += at % 32 == 31 || at + 1 == frame.size() ? "\n" : at % 4 == 3 ? " " : "";
  }
  return text;
}

void expect_frame(const std::string& file, const std::string& title, const std::string& sections,
                  const Packet& packet) {
  SCOPED_TRACE(file);
  std::vector<std::byte> frame(encoded_bytes(packet));
  ASSERT_EQ(encode(packet, frame), frame.size());
  expect_golden("wire/" + file + ".hex", hex_lines(title, sections, frame));

  Packet read;
  ASSERT_EQ(decode(frame, link_type(packet), read), DropReason::kNone);
  std::vector<std::byte> again(encoded_bytes(read));
  encode(read, again);
  EXPECT_EQ(again, frame);
}

TEST(GoldenFrames, Roce) {
  for (unsigned op = 0; op < 256; ++op) {
    const auto opcode = static_cast<RoceOpcode>(op);
    const std::uint16_t headers = roce_headers(opcode);
    if (headers == 0) continue;
    Packet packet = roce_packet();
    address(packet);
    RocePacket& roce = packet.roce;
    roce.bth.opcode = opcode;
    roce.bth.destination_queue_pair = 0x123456;
    roce.bth.psn = 0x00'0abc;
    roce.bth.acknowledge_request = true;
    std::string sections = "IBTA vol 1 9.2 (BTH)";
    if ((headers & kRoceDeth) != 0) {
      roce.deth = Deth{0x1111'1111, 0x22'3344};
      sections += ", 9.3.2 (DETH)";
    }
    if ((headers & kRoceReth) != 0) {
      roce.reth = Reth{0x7f00'0000'1000, 0x0000'1234, 101};
      sections += ", 9.3.3 (RETH)";
    }
    if ((headers & kRoceAtomicEth) != 0) {
      roce.atomic = AtomicEth{0x7f00'0000'1000, 5, 6, 0x0000'1234};
      sections += ", 9.3.4 (AtomicETH)";
    }
    if ((headers & kRoceAeth) != 0) {
      roce.ack = RocePacket::AckExtension{};
      roce.ack.aeth = Aeth{kAckUnlimited, 3};
      sections += ", 9.3.5 (AETH)";
    }
    if ((headers & kRoceAtomicAckEth) != 0) {
      roce.ack.atomic_original = 77;
      sections += ", 9.3.6 (AtomicAckETH)";
    }
    if ((headers & kRoceImmediate) != 0) {
      roce.immediate = 0xdead'beef;
      sections += ", 9.3.7 (ImmDt)";
    }
    if ((headers & kRoceIeth) != 0) {
      roce.invalidate_key = 0x0000'5678;
      sections += ", 9.3.8 (IETH)";
    }
    if ((headers & kRocePayload) != 0)
      packet.payload = pattern_payload(1, 0, opcode == RoceOpcode::kRcAtomicWrite ? 8 : 21);
    expect_frame("roce/" + file_name(roce_opcode_name(opcode)),
                 fmt::format("{} ({:#04x}), Ethernet, IPv4, UDP 4791", roce_opcode_name(opcode), op),
                 sections + "; Annex A17 (UDP, ICRC)", packet);
  }
}

/// One profile of UB: how its files are called, and who lays its transaction headers out.
struct Profile {
  const char* prefix;
  const char* framing;
  const char* sections;
  UbEncapsulation encapsulation;
  UbTransport transport;
};
constexpr Profile kNative{"rtp", "Ethernet, IPv4, UDP 4792, RTPH", "UB-Base 2.0.1 6.2, 7.2",
                          UbEncapsulation::kUdp, UbTransport::kRtp};
constexpr Profile kOpenUrma{"openurma", "Ethernet 0x88b5, NTH, RTPH", "OpenURMA 5.2",
                            UbEncapsulation::kRawEthernet, UbTransport::kRtp};
constexpr Profile kCompact{"compact", "LPH configuration 9, CNA16 NTH, no transport header",
                           "UB-Base 2.0.1 7.2, 8.3", UbEncapsulation::kMemoryOnLink, UbTransport::kBypass};
constexpr Profile kCtp{"ctp", "Ethernet, IPv4, UDP 4792, CTPH, UPIH, EIDH", "UB-Base 2.0.1 6.1, 6.2, 7.2",
                       UbEncapsulation::kUdp, UbTransport::kCtp};
constexpr Profile kCtpLink{"ctp_cna24", "LPH configuration 7, CNA24 NTH, CTPH, UPIH, EIDH",
                           "UB-Base 2.0.1 6.1, 6.2, 7.2", UbEncapsulation::kCna24OnLink, UbTransport::kCtp};
constexpr Profile kCtpShortLink{"ctp_cna16", "LPH configuration 6, CNA16 NTH, CTPH, UPIH, EIDH",
                                "UB-Base 2.0.1 6.1, 6.2, 7.2", UbEncapsulation::kCna16OnLink,
                                UbTransport::kCtp};

Packet ub_frame(const Profile& profile) {
  Packet packet = ub_packet();
  address(packet);
  UbPacket& ub = packet.ub;
  ub.encapsulation = profile.encapsulation;
  ub.transport = profile.transport;
  if (profile.encapsulation != UbEncapsulation::kUdp) {
    packet.entropy = 0x23;  // Eight bits of load balancing.
    packet.mark = CongestionMark::kCapable;
  }
  if (ub.transport == UbTransport::kRtp) {
    ub.rtph.opcode = TpOpcode::kReliable;
    ub.rtph.source_tpn = 0x00'0102;
    ub.rtph.destination_tpn = 0x00'0304;
    ub.rtph.psn = 0x12'3456;
    ub.rtph.tpmsn = 0x00'0077;
    ub.rtph.last = true;
  }
  if (ub.transport == UbTransport::kCtp) {
    use_ctp(ub).entities = {1, 2};
    ub.entities = UbEntities::kCompact;
    ub.transport_partition = kDefaultUpi;
  }
  return packet;
}

bool offered(const Profile& profile, TaOpcode opcode) {
  const bool openurma_only = opcode >= TaOpcode::kOpenUrmaLoad;
  if (openurma_only != (profile.encapsulation == UbEncapsulation::kRawEthernet) && openurma_only)
    return false;
  // Compact headers have no room for operands.
  return profile.encapsulation != UbEncapsulation::kMemoryOnLink || (ta_layout(opcode) & kTaOperand) == 0;
}

void fill_request(Packet& packet, TaOpcode opcode) {
  UbPacket& ub = packet.ub;
  const bool compact = compact_transaction(ub);
  const bool openurma = ub.encapsulation == UbEncapsulation::kRawEthernet;
  const std::uint16_t layout = ta_layout(opcode);
  Btah& btah = use_request(ub);
  btah.opcode = opcode;
  btah.tassn = 0x0abc;
  UbPacket::RequestExtension& extension = ub.extension;
  if (!compact) {
    btah.requester_id = 0x1'2345;
    btah.order = 2;
    if (!openurma || (layout & kTaAddress) != 0) {
      btah.token_value_present = true;
      extension.token_value = 0xfeed'f00d;
    }
  }
  if ((layout & kTaPayload) != 0) packet.payload = pattern_payload(1, 0, 64);
  if ((layout & kTaAddress) != 0) {
    extension.maetah = Maetah{0x7f00'0000'1000, 0x5'4321, compact ? 64U : packet.payload.length};
    if ((layout & kTaByteEnable) != 0) {
      extension.maetah.length = 64;
      packet.payload = pattern_payload(1, 0, 64 + byte_enable_bytes(64));
    }
  }
  if ((layout & kTaTarget) != 0) extension.mtetah = Mtetah{0x2'0001, TargetContextType::kJetty, 0};
  if ((layout & kTaImmediate) != 0) extension.immediate = 0x0123'4567'89ab'cdef;
  if ((layout & kTaNotify) != 0)
    extension.notify = Notify{0x1122'3344'5566'7788, 0x7f00'0000'2000, 0x4'0004, 9};
  if ((layout & kTaInvalidate) != 0) extension.invalidate = Invalidate{0x3'0003, 0x0000'0005};
  if ((layout & kTaMessage) != 0) extension.message = MessageExtension{1, 2, 3, 4, true};
  if ((layout & kTaOperand) != 0) {
    extension.maetah.length = 8;
    if (openurma && opcode == TaOpcode::kAtomicCompareSwap) {
      extension.operands.compare = 6;
    } else {
      extension.operands.operand = 5;
      if ((layout & kTaCompare) != 0) extension.operands.compare = 6;
    }
  }
}

void fill_response(Packet& packet, TaOpcode opcode) {
  Atah& atah = use_response(packet.ub);
  atah.opcode = opcode;
  atah.tassn = 0x0abc;
  if (!compact_transaction(packet.ub)) atah.requester_id = 0x1'2345;
  if ((ta_layout(opcode) & kTaPayload) != 0) packet.payload = pattern_payload(1, 0, 64);
}

TEST(GoldenFrames, UbTransactions) {
  for (const Profile& profile : {kNative, kOpenUrma, kCompact}) {
    for (unsigned op = 0; op < 256; ++op) {
      const auto opcode = static_cast<TaOpcode>(op);
      if (ta_layout(opcode) == 0 || !offered(profile, opcode)) continue;
      Packet packet = ub_frame(profile);
      const bool response = (ta_layout(opcode) & kTaResponse) != 0;
      if (response) {
        fill_response(packet, opcode);
      } else {
        fill_request(packet, opcode);
      }
      expect_frame(fmt::format("ub/{}_{}", profile.prefix, file_name(ta_opcode_name(opcode))),
                   fmt::format("{} ({:#04x}), {}", ta_opcode_name(opcode), op, profile.framing),
                   std::string(profile.sections) + (response ? " (ATAH)" : " (BTAH and its extensions)"),
                   packet);
    }
  }
}

// Full transaction headers behind one byte of transport and seven of partition and entities.
TEST(GoldenFrames, UbCompactTransport) {
  for (const Profile& profile : {kCtp, kCtpLink, kCtpShortLink}) {
    for (const TaOpcode opcode : {TaOpcode::kSend, TaOpcode::kWrite, TaOpcode::kRead,
                                  TaOpcode::kAtomicFetchAdd, TaOpcode::kTaack, TaOpcode::kReadResponse}) {
      Packet packet = ub_frame(profile);
      const bool response = (ta_layout(opcode) & kTaResponse) != 0;
      if (response) {
        fill_response(packet, opcode);
      } else {
        fill_request(packet, opcode);
      }
      if (opcode == TaOpcode::kWrite) {  // Three bytes of padding.
        packet.payload = pattern_payload(1, 0, 21);
        packet.ub.extension.maetah.length = 21;
      }
      expect_frame(fmt::format("ub/{}_{}", profile.prefix, file_name(ta_opcode_name(opcode))),
                   fmt::format("{} ({:#04x}), {}", ta_opcode_name(opcode), static_cast<unsigned>(opcode),
                               profile.framing),
                   std::string(profile.sections) + (response ? " (ATAH)" : " (BTAH and its extensions)"),
                   packet);
    }
    Packet packet = ub_frame(profile);
    packet.ub.ctp.opcode = CtpOpcode::kCnp;
    use_ack(packet.ub).cnp = Cnpetph{1, false};
    expect_frame(fmt::format("ub/{}_tp_cnp", profile.prefix), fmt::format("CNP, {}", profile.framing),
                 "UB-Base 2.0.1 6.2, 6.6 (CTPH opcode 1, CNPETPH)", packet);
  }
}

TEST(GoldenFrames, UbAcknowledgements) {
  for (const Profile& profile : {kNative, kOpenUrma}) {
    for (const TpOpcode opcode : {TpOpcode::kAck, TpOpcode::kAckCetph, TpOpcode::kNakDeprecated,
                                  TpOpcode::kSack, TpOpcode::kSackCetph, TpOpcode::kCnp}) {
      Packet packet = ub_frame(profile);
      UbPacket& ub = packet.ub;
      ub.rtph.opcode = opcode;
      ub.rtph.last = false;
      if (has_cetph(ub) || has_saetph(ub) || has_cnpetph(ub)) {
        UbPacket::AckExtension& ack = use_ack(ub);
        ack = {};
        if (has_cetph(ub)) ack.cetph = Cetph{0x0102'0304, 0x0506, 7, false, false};
        if (has_cnpetph(ub)) ack.cnp = Cnpetph{1, false};
        if (has_saetph(ub)) {
          ack.saetph = Saetph{0x12'3480, 0};
          for (std::uint32_t at = 0; at < sack_bitmap_bytes(0); ++at)
            ack.sack_bitmap[at] = static_cast<std::uint8_t>(at * 3);
        }
      }
      expect_frame(fmt::format("ub/{}_tp_{}", profile.prefix, file_name(tp_opcode_name(opcode))),
                   fmt::format("{} ({:#04x}), {}", tp_opcode_name(opcode), static_cast<unsigned>(opcode),
                               profile.framing),
                   profile.encapsulation == UbEncapsulation::kUdp
                       ? "UB-Base 2.0.1 6.2, 6.4.2 (RTPH and its extensions)"
                       : "OpenURMA 5.2 (RTPH and its extensions)",
                   packet);
    }
  }
}

constexpr PcieId kDevice = pcie_id(1, 0, 0);

/// These files were worked out by hand, the digest with another CRC-32; they were never accepted from our
/// encoder.
void expect_tlp(const std::string& file, const std::string& title, const std::string& sections,
                const Tlp& tlp) {
  SCOPED_TRACE(file);
  std::vector<std::byte> bytes(tlp_bytes(tlp));
  encode_tlp(tlp, bytes);
  expect_golden("wire/tlp/" + file + ".hex", hex_lines(title, sections, bytes));
  Tlp read;
  ASSERT_EQ(decode_tlp(bytes, read), TlpDropReason::kNone);
  std::vector<std::byte> again(tlp_bytes(read));
  encode_tlp(read, again);
  EXPECT_EQ(again, bytes);
}

/// Bytes 0, 1, 2 and so on.
Payload counting(std::uint32_t length) {
  static const std::vector<std::byte> bytes = [] {
    std::vector<std::byte> made(64);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::byte>(i);
    return made;
  }();
  return bytes_payload(bytes.data(), length);
}

Tlp ordered(Tlp tlp, const TlpOrderingLabel& label) {
  set_ordering_label(label, TlpOrderingForm::kProposed, tlp);
  return tlp;
}

TEST(GoldenFrames, TlpRequests) {
  const std::string base = "PCIe Base 5.0 ";
  const Tlp read = memory_read_tlp(0x1000, 64, kDevice, 0xab);
  expect_tlp("mrd_32", "MRd, 64 bytes at 0x1000, 01:00.0, tag 0xab", base + "2.2.7 (3DW header)", read);
  expect_tlp("mrd_64", "MRd, 64 bytes at 0x100002000", base + "2.2.7 (4DW header)",
             memory_read_tlp(0x1'0000'2000, 64, kDevice, 0xab));
  Tlp attributes = memory_read_tlp(0x1000, 64, kDevice, 0x3ab);
  attributes.traffic_class = 5;
  attributes.id_based_ordering = attributes.relaxed_ordering = attributes.no_snoop = true;
  attributes.address_type = TlpAddressType::kTranslated;
  expect_tlp("mrd_attributes", "MRd, tag 0x3ab (T9, T8), TC 5, IDO, RO, NS, AT 2",
             base + "2.2.1, 2.2.6 (T9 TC T8 IDO; RO NS AT)", attributes);
  Tlp hints = read;
  hints.hints = true;
  hints.steering_tag = 0x5a;
  hints.processing_hint = 2;
  expect_tlp("mrd_hints", "MRd with hints, steering tag 0x5a, PH 2",
             base + "2.2.7.1 (TH, ST in the place of the byte enables, PH)", hints);
  Tlp pasid = read;
  pasid.prefixes.add(TlpPrefixType::kPasid, pasid_value({0xa'bcde, false, true}));
  expect_tlp("mrd_pasid", "MRd, PASID 0xabcde, privileged mode", base + "2.2.10.2, 6.20 (PASID prefix)",
             pasid);
  Tlp write = memory_write_tlp(0x1000, counting(8), kDevice);
  expect_tlp("mwr_32", "MWr, 8 bytes at 0x1000", base + "2.2.7 (3DW header, data)", write);
  expect_tlp("mwr_64_unaligned", "MWr, 6 bytes at 0x100002005",
             base + "2.2.5, 2.2.7 (byte enables 1110 and 0111)",
             memory_write_tlp(0x1'0000'2005, counting(6), kDevice));
  write.digest = true;
  expect_tlp("mwr_digest", "MWr, 8 bytes at 0x1000, ECRC",
             base + "2.7.1 (TD; CRC-32 with Type bit 0 and EP as ones)", write);
  expect_tlp("fetch_add", "FetchAdd, 8 bytes at 0x1008", base + "2.2.7 (Type 0x0c, byte enables reserved)",
             atomic_tlp(TlpType::kFetchAdd, 0x1008, counting(8), kDevice, 0xab));
  expect_tlp("swap_64", "Swap, 4 bytes at 0x100002004", base + "2.2.7 (Type 0x0d)",
             atomic_tlp(TlpType::kSwap, 0x1'0000'2004, counting(4), kDevice, 0xab));
  expect_tlp("cas_128", "CAS, two operands of 16 bytes at 0x1010",
             base + "2.2.7 (Type 0x0e; compare value, swap value)",
             atomic_tlp(TlpType::kCompareSwap, 0x1010, counting(32), kDevice, 0xab));
}

TEST(GoldenFrames, TlpOthers) {
  const std::string base = "PCIe Base 5.0 ";
  const Tlp read = memory_read_tlp(0x1000, 64, kDevice, 0xab);
  expect_tlp("cpl_unsupported", "Cpl, UR, 64 bytes missing", base + "2.2.9 (status 1)",
             completion_tlp(read, 0, TlpStatus::kUnsupportedRequest, 64));
  expect_tlp("cpld", "CplD, 64 bytes, the last of tag 0xab", base + "2.2.9 (byte count 64, lower address 0)",
             completion_data_tlp(read, 0, 0x1000, 64, counting(64)));
  Tlp message;
  message.type = TlpType::kMessage;
  message.requester = kDevice;
  message.routing = TlpRouting::kLocal;
  message.message_code = 0x20;
  expect_tlp("msg_assert_inta", "Msg, Assert_INTA, local", base + "2.2.8.1 (Type 0x14, code 0x20)", message);
  message.type = TlpType::kMessageData;
  message.routing = TlpRouting::kById;
  message.message_code = 0x7f;
  message.message = 0x0200'1d0f'0000'0007;
  message.dwords = 1;
  message.payload = counting(4);
  expect_tlp("msgd_vendor", "MsgD, Vendor_Defined Type 1 to 02:00.0", base + "2.2.8.6 (Type 0x12, code 0x7f)",
             message);
  Tlp other;
  other.type = TlpType::kIoRead;
  other.requester = kDevice;
  other.tag = 0xab;
  other.dwords = 1;
  other.first_enables = 15;
  other.address = 0x3f8;
  expect_tlp("iord", "IORd, 4 bytes at 0x3f8", base + "2.2.7 (Type 0x02)", other);
  other.type = TlpType::kConfigRead0;
  other.address = 0;
  other.destination = pcie_id(2, 31, 3);
  other.register_offset = 0x104;
  expect_tlp("cfgrd0", "CfgRd0, register 0x104 of 02:1f.3", base + "2.2.7 (Type 0x04)", other);
}

TEST(GoldenFrames, TlpProposedOrder) {
  const std::string choice = "; thread, codes and numbers: Choice of wire/tlp_ordering_label.h";
  const std::string paper = "\"Efficient Remote Memory Ordering\" ";
  const Tlp read = memory_read_tlp(0x1000, 64, kDevice, 0xab);
  const Tlp write = memory_write_tlp(0x1000, counting(8), kDevice);
  expect_tlp("mrd_acquire", "MRd, acquire, thread 7", paper + "4.1, 5.1" + choice,
             ordered(read, {TlpOrder::kAcquire, 7}));
  expect_tlp("mrd_read_release", "MRd, read-release, thread 7", "beyond the paper" + choice,
             ordered(read, {TlpOrder::kReadRelease, 7}));
  expect_tlp("mwr_release", "MWr, release, thread 7", paper + "4.1, 5.1" + choice,
             ordered(write, {TlpOrder::kRelease, 7}));
  expect_tlp("mwr_mmio_store", "MWr, MMIO store number 0x0102 of thread 3", paper + "4.2, 5.2" + choice,
             ordered(write, {TlpOrder::kRelaxed, 3, TlpSequence{0x0102}}));
}

}  // namespace
}  // namespace wharf::wire
