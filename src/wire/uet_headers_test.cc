// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet headers one by one: where each field stands, the values of the prologue, sizes, names.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "wire/hex_bytes_test_support.h"
#include "wire/uet_codec.h"
#include "wire/uet_names.h"
#include "wire/uet_tss.h"

namespace wharf::wire {
namespace {

std::uint16_t prologue_word(UetPdsType type, UetNextHeader next, std::uint8_t flags = 0) {
  std::byte bytes[2];
  encode(UetPrologue{type, next, UetControlType::kNoop, flags}, bytes);
  return load_be16(bytes);
}
std::uint16_t control_word(UetControlType control, std::uint8_t flags = 0) {
  std::byte bytes[2];
  encode(UetPrologue{UetPdsType::kControl, UetNextHeader::kNone, control, flags}, bytes);
  return load_be16(bytes);
}

TEST(UetPrologue, CheckValues) {
  using Type = UetPdsType;
  using Next = UetNextHeader;
  EXPECT_EQ(prologue_word(Type::kRudRequest, Next::kRequestStandard, kUetAckRequested | kUetSyn), 0x118c);
  EXPECT_EQ(prologue_word(Type::kRodRequest, Next::kRequestStandard), 0x1980);
  EXPECT_EQ(prologue_word(Type::kUudRequest, Next::kRequestStandard), 0x3180);
  EXPECT_EQ(prologue_word(Type::kAck, Next::kResponse), 0x3a00);
  EXPECT_EQ(prologue_word(Type::kAckCc, Next::kResponse, uet_request_flags(UetAckRequest::kClear)), 0x4202);
  EXPECT_EQ(prologue_word(Type::kNack, Next::kNone), 0x5000);
  EXPECT_EQ(control_word(UetControlType::kClearCommand), 0x5900);
  EXPECT_EQ(control_word(UetControlType::kCloseCommand, kUetAckRequested), 0x5a08);
  EXPECT_EQ(control_word(UetControlType::kProbe), 0x5b00);
  EXPECT_EQ(prologue_word(Type::kNackCcx, Next::kNone), 0x6000);
  EXPECT_EQ(prologue_word(Type::kRudCcRequest, Next::kRequestStandard), 0x6980);
  EXPECT_EQ(prologue_word(Type::kRodCcRequest, Next::kRequestStandard), 0x7180);
}

TEST(UetPrologue, FlagsByType) {
  EXPECT_EQ(uet_defined_flags(UetPdsType::kRudRequest), 0x1c);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kRodCcRequest), 0x1c);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kAckCc), 0x3e);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kNackCcx), 0x38);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kControl), 0x3c);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kRudiRequest), 0x10);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kRudiResponse), 0x30);
  EXPECT_EQ(uet_defined_flags(UetPdsType::kUudRequest), 0);
  UetPrologue prologue;
  prologue.flags = 0x04;
  EXPECT_EQ(prologue.ack_request(), UetAckRequest::kClose);
  prologue.flags = 0x02;
  EXPECT_EQ(prologue.ack_request(), UetAckRequest::kClear);
}

TEST(UetHeaders, Sizes) {
  const std::pair<UetPdsType, std::uint32_t> pds[] = {
      {UetPdsType::kRudRequest, 12},   {UetPdsType::kRodRequest, 12}, {UetPdsType::kRudCcRequest, 16},
      {UetPdsType::kRodCcRequest, 16}, {UetPdsType::kAck, 12},        {UetPdsType::kAckCc, 32},
      {UetPdsType::kAckCcx, 40},       {UetPdsType::kNack, 16},       {UetPdsType::kNackCcx, 32},
      {UetPdsType::kControl, 16},      {UetPdsType::kRudiRequest, 8}, {UetPdsType::kRudiResponse, 8},
      {UetPdsType::kUudRequest, 4},    {UetPdsType::kReserved, 0},    {UetPdsType::kTss, 0},
  };
  for (const auto& [type, bytes] : pds) EXPECT_EQ(uet_pds_bytes(type), bytes) << uet_pds_type_name(type);
  const std::uint32_t ses[] = {0, 20, 32, 44, 12, 20, 12};
  for (std::uint32_t next = 0; next < 7; ++next)
    EXPECT_EQ(uet_ses_bytes(static_cast<UetNextHeader>(next)), ses[next]);
  UetPacket uet;
  uet.prologue.next = UetNextHeader::kRequestStandard;
  uet.ses.opcode = UetOpcode::kRendezvousSend;
  EXPECT_EQ(uet_header_bytes(uet), 12U + 44 + 24);
  uet.ses.opcode = UetOpcode::kFetchingAtomic;
  uet.atomic.opcode = UetAtomicOpcode::kSum;
  EXPECT_EQ(uet_header_bytes(uet), 12U + 44 + 4);
  uet.atomic.opcode = UetAtomicOpcode::kMaskedSwap;
  EXPECT_EQ(uet_header_bytes(uet), 12U + 44 + 36);
}

/// The headers of a packet with one field set, minus those of the packet without: which bits the field sets.
struct Field {
  const char* name;
  std::function<void(UetPacket&)> set;
  std::uint32_t first_bit;  ///< Counted from the first bit sent.
  std::uint32_t bits;
};

/// Sets each field of a packet to all ones and expects exactly its bits in the bytes, and the bytes to decode
/// to the same headers again.
void expect_fields(const UetPacket& model, const std::vector<Field>& fields,
                   std::uint32_t payload_length = 0) {
  const std::uint32_t length = uet_header_bytes(model);
  std::vector<std::byte> base(length);
  encode_uet_headers(model, payload_length, base.data());
  std::uint32_t covered = 0;
  for (const Field& field : fields) {
    UetPacket changed = model;
    field.set(changed);
    ASSERT_EQ(uet_header_bytes(changed), length) << field.name;
    std::vector<std::byte> bytes(length);
    encode_uet_headers(changed, payload_length, bytes.data());
    for (std::uint32_t bit = 0; bit < 8 * length; ++bit) {
      const bool expected = bit >= field.first_bit && bit < field.first_bit + field.bits;
      const bool differs = ((bytes[bit / 8] ^ base[bit / 8]) & (std::byte{0x80} >> bit % 8)) != std::byte{0};
      EXPECT_EQ(differs, expected) << field.name << " bit " << bit;
    }
    std::vector<std::byte> with_payload = bytes;
    with_payload.resize(length + payload_length);
    UetPacket decoded;
    std::uint32_t header_bytes = 0;
    ASSERT_EQ(decode_uet_trimmed(with_payload, decoded, header_bytes), DropReason::kNone) << field.name;
    EXPECT_EQ(header_bytes, length) << field.name;
    std::vector<std::byte> again(length);
    encode_uet_headers(decoded, payload_length, again.data());
    EXPECT_EQ(hex_text(again), hex_text(bytes)) << field.name;
    covered += field.bits;
  }
  EXPECT_LE(covered, 8 * length);
}

UetPacket request_packet(UetPdsType type = UetPdsType::kRudRequest,
                         UetNextHeader next = UetNextHeader::kRequestStandard,
                         UetOpcode opcode = UetOpcode::kNoOp) {
  UetPacket uet;
  uet.prologue.type = type;
  uet.prologue.next = next;
  uet.ses.opcode = opcode;
  uet.ses.flags = 0;
  return uet;
}

TEST(UetFields, Request) {
  expect_fields(request_packet(UetPdsType::kRudCcRequest),
                {{"RETX", [](auto& p) { p.prologue.flags = kUetRetransmit; }, 11, 1},
                 {"AR", [](auto& p) { p.prologue.flags = kUetAckRequested; }, 12, 1},
                 {"SYN", [](auto& p) { p.prologue.flags = kUetSyn; }, 13, 1},
                 {"clear_psn_offset", [](auto& p) { p.request.clear_psn_offset = -1; }, 16, 16},
                 {"psn", [](auto& p) { p.request.psn = 0xffff'ffff; }, 32, 32},
                 {"spdcid", [](auto& p) { p.request.source_pdcid = 0xffff; }, 64, 16},
                 {"dpdcid", [](auto& p) { p.request.destination_pdcid = 0xffff; }, 80, 16},
                 {"psn_offset", [](auto& p) { p.request.destination_pdcid = uet_syn_word(0xfff); }, 84, 12},
                 {"USE_RSV_PDC", [](auto& p) { p.request.destination_pdcid = uet_syn_word(0, true); }, 83, 1},
                 {"ccc_id", [](auto& p) { p.request.ccc_id = 0xff; }, 96, 8},
                 {"credit_target", [](auto& p) { p.request.credit_target = 0xff'ffff; }, 104, 24}});
}

TEST(UetFields, RequestHelpers) {
  UetRequest request;
  request.psn = 5;
  request.clear_psn_offset = -10;
  EXPECT_EQ(request.clear_psn(), 0xffff'fffbU);
  request.destination_pdcid = uet_syn_word(7);
  EXPECT_EQ(request.start_psn(), 0xffff'fffeU);
  EXPECT_FALSE(request.use_reserved_pdc());
  request.destination_pdcid = uet_syn_word(7, true);
  EXPECT_EQ(request.start_psn(), 0xffff'fffeU);
  EXPECT_TRUE(request.use_reserved_pdc());
  request.destination_pdcid = kUetUseReservedPdcOther;
  EXPECT_TRUE(request.use_reserved_pdc());
  EXPECT_EQ(kUetSynPsnMax, 0xfffU + 1);
}

/// [UE 1.0 3.5.20] The write 336 after the read 333 to 335 clears 335; of the returned data, 50 clears 47.
TEST(UetFields, ClearOffsetsOfTheSequences) {
  UetRequest request;
  request.psn = 336;
  request.clear_psn_offset = -1;
  EXPECT_EQ(request.clear_psn(), 335U);
  request.psn = 50;
  request.clear_psn_offset = -3;
  EXPECT_EQ(request.clear_psn(), 47U);
}

TEST(UetFields, Acknowledgement) {
  UetPacket uet;
  uet.prologue.type = UetPdsType::kAckCcx;
  std::construct_at(&uet.ack);
  std::construct_at(&uet.ack_congestion);
  const auto nscc = [](auto set) { return [set](UetPacket& p) { set(p.ack_congestion); }; };
  expect_fields(uet, {{"M", [](auto& p) { p.prologue.flags = kUetMarked; }, 10, 1},
                      {"RETX", [](auto& p) { p.prologue.flags = kUetRetransmit; }, 11, 1},
                      {"P", [](auto& p) { p.prologue.flags = kUetProbeAnswer; }, 12, 1},
                      {"REQ", [](auto& p) { p.prologue.flags = kUetRequestMask; }, 13, 2},
                      {"ack_psn_offset", [](auto& p) { p.ack.ack_psn_offset = -1; }, 16, 16},
                      {"cack_psn", [](auto& p) { p.ack.cumulative_psn = 0xffff'ffff; }, 32, 32},
                      {"spdcid", [](auto& p) { p.ack.source_pdcid = 0xffff; }, 64, 16},
                      {"dpdcid", [](auto& p) { p.ack.destination_pdcid = 0xffff; }, 80, 16},
                      {"cc_flags", nscc([](auto& c) { c.flags = 15; }), 100, 4},
                      {"mpr", nscc([](auto& c) { c.mpr = 255; }), 104, 8},
                      {"sack_psn_offset", nscc([](auto& c) { c.sack_psn_offset = -1; }), 112, 16},
                      {"sack_bitmap", nscc([](auto& c) { c.sack_bitmap = ~std::uint64_t{0}; }), 128, 64},
                      {"sack bit 0", nscc([](auto& c) { c.sack_bitmap = 1; }), 191, 1},
                      {"service_time", nscc([](auto& c) { c.service_time = 0xffff; }), 192, 16},
                      {"restore_cwnd", nscc([](auto& c) { c.restore_window = true; }), 208, 1},
                      {"rcv_cwnd_pend", nscc([](auto& c) { c.receiver_penalty = 127; }), 209, 7},
                      {"rcvd_bytes", nscc([](auto& c) { c.byte_units = 0xff'ffff; }), 216, 24},
                      {"ooo_count", nscc([](auto& c) { c.out_of_order = 0xffff; }), 240, 16},
                      {"more state", nscc([](auto& c) { c.state_extension = ~std::uint64_t{0}; }), 256, 64}});
  uet.prologue.type = UetPdsType::kAckCc;
  uet.ack_congestion.type = UetCcType::kCredit;
  expect_fields(uet, {{"credit", nscc([](auto& c) { c.byte_units = 0xff'ffff; }), 192, 24},
                      {"ooo_count", nscc([](auto& c) { c.out_of_order = 0xffff; }), 240, 16}});
  uet.ack_congestion.type = static_cast<UetCcType>(14);
  expect_fields(uet, {{"cc_type", nscc([](auto& c) { c.type = static_cast<UetCcType>(15); }), 99, 1},
                      {"state", nscc([](auto& c) { c.state = ~std::uint64_t{0}; }), 192, 64}});
}

TEST(UetFields, AcknowledgementHelpers) {
  UetAck ack;
  ack.cumulative_psn = 0xffff'ffff;
  ack.ack_psn_offset = 3;
  EXPECT_EQ(ack.ack_psn(), 2U);
  ack.ack_psn_offset = -3;
  EXPECT_EQ(ack.ack_psn(), 0xffff'fffcU);
  EXPECT_EQ(ack.probe_opaque(), 0xfffd);
  UetAckCongestion cc;
  cc.sack_psn_offset = 1;
  EXPECT_EQ(cc.sack_base(0xffff'ffff), 0U);
  EXPECT_EQ(uet_byte_units(1), 1U);
  EXPECT_EQ(uet_byte_units(256), 1U);
  EXPECT_EQ(uet_byte_units(257), 2U);
  EXPECT_EQ(uet_byte_units(4204), 17U);
  EXPECT_EQ(uet_byte_units(std::uint64_t{1} << 32U), 0U);
}

TEST(UetFields, Nack) {
  UetPacket uet;
  uet.prologue.type = UetPdsType::kNackCcx;
  std::construct_at(&uet.nack)->code = static_cast<UetNackCode>(0);
  std::construct_at(&uet.nack_congestion);
  expect_fields(
      uet, {{"M", [](auto& p) { p.prologue.flags = kUetMarked; }, 10, 1},
            {"NT", [](auto& p) { p.prologue.flags = kUetNackRudi; }, 12, 1},
            {"nack_code", [](auto& p) { p.nack.code = UetNackCode::kExperimentalFatal; }, 16, 8},
            {"vendor_code", [](auto& p) { p.nack.vendor_code = 0xff; }, 24, 8},
            {"nack_psn", [](auto& p) { p.nack.psn = 0xffff'ffff; }, 32, 32},
            {"spdcid", [](auto& p) { p.nack.source_pdcid = 0xffff; }, 64, 16},
            {"dpdcid", [](auto& p) { p.nack.destination_pdcid = 0xffff; }, 80, 16},
            {"payload", [](auto& p) { p.nack.payload = 0xffff'ffff; }, 96, 32},
            {"nccx_type", [](auto& p) { p.nack_congestion.type = 15; }, 128, 4},
            {"state", [](auto& p) { p.nack_congestion.state = ~std::uint64_t{0}; }, 132, 60},
            {"more state", [](auto& p) { p.nack_congestion.state_extension = ~std::uint64_t{0}; }, 192, 64}});
}

TEST(UetFields, Control) {
  UetPacket uet;
  uet.prologue.type = UetPdsType::kControl;
  std::construct_at(&uet.control);
  expect_fields(uet,
                {{"ctl_type", [](auto& p) { p.prologue.control = UetControlType::kCreditRequest; }, 5, 1},
                 {"ctl_type", [](auto& p) { p.prologue.control = UetControlType::kAckRequest; }, 8, 1},
                 {"ISROD", [](auto& p) { p.prologue.flags = kUetIsRod; }, 10, 1},
                 {"probe_opaque", [](auto& p) { p.control.probe_opaque = 0xffff; }, 16, 16},
                 {"psn", [](auto& p) { p.control.psn = 0xffff'ffff; }, 32, 32},
                 {"spdcid", [](auto& p) { p.control.source_pdcid = 0xffff; }, 64, 16},
                 {"dpdcid", [](auto& p) { p.control.destination_pdcid = 0xffff; }, 80, 16},
                 {"payload", [](auto& p) { p.control.payload = 0xffff'ffff; }, 96, 32}});
  EXPECT_TRUE(uet_control_consumes_psn(UetControlType::kNoop));
  EXPECT_TRUE(uet_control_consumes_psn(UetControlType::kCloseCommand));
  EXPECT_FALSE(uet_control_consumes_psn(UetControlType::kProbe));
}

TEST(UetFields, RudiAndUud) {
  UetPacket rudi = request_packet(UetPdsType::kRudiRequest);
  std::construct_at(&rudi.rudi);
  expect_fields(rudi, {{"RETX", [](auto& p) { p.prologue.flags = kUetRetransmit; }, 11, 1},
                       {"pkt_id", [](auto& p) { p.rudi.packet_id = 0xffff'ffff; }, 32, 32},
                       {"request_length", [](auto& p) { p.ses.request_length = 0xffff'ffff; }, 384, 32}});
  expect_fields(request_packet(UetPdsType::kUudRequest),
                {{"request_length", [](auto& p) { p.ses.request_length = 0xffff'ffff; }, 352, 32}});
}

/// Bits of SES headers are counted from the PDS header on: 12 bytes.
constexpr std::uint32_t kSesAt = 96;

std::vector<Field> request_start_fields() {
  return {{"DC", [](auto& p) { p.ses.flags |= kUetDeliverComplete; }, kSesAt + 10, 1},
          {"IE", [](auto& p) { p.ses.flags |= kUetInitiatorError; }, kSesAt + 11, 1},
          {"REL", [](auto& p) { p.ses.flags |= kUetRelative; }, kSesAt + 12, 1},
          {"EOM", [](auto& p) { p.ses.flags |= kUetEom; }, kSesAt + 14, 1},
          {"ri_generation", [](auto& p) { p.ses.ri_generation = 0xff; }, kSesAt + 32, 8},
          {"job_id", [](auto& p) { p.ses.job_id = 0xff'ffff; }, kSesAt + 40, 24},
          {"pid_on_fep", [](auto& p) { p.ses.pid_on_fep = 0xfff; }, kSesAt + 68, 12},
          {"resource_index", [](auto& p) { p.ses.resource_index = 0xfff; }, kSesAt + 84, 12}};
}

TEST(UetFields, StandardRequest) {
  std::vector<Field> fields = request_start_fields();
  const auto add = [&](const char* name, auto set, std::uint32_t bit, std::uint32_t bits) {
    fields.push_back({name, [set](UetPacket& p) { set(p.ses); }, kSesAt + bit, bits});
  };
  fields.push_back({"opcode", [](auto& p) { p.ses.opcode = static_cast<UetOpcode>(0x3f); }, kSesAt + 2, 6});
  add(
      "SOM", [](auto& s) { s.flags |= kUetSom; }, 15, 1);
  add(
      "HD", [](auto& s) { s.flags |= kUetHeaderData; }, 13, 1);
  add(
      "message_id", [](auto& s) { s.message_id = 0xffff; }, 16, 16);
  add(
      "buffer_offset", [](auto& s) { s.buffer_offset = ~std::uint64_t{0}; }, 96, 64);
  add(
      "initiator token", [](auto& s) { s.buffer_offset = uet_tokens(0xffff'ffff, 0); }, 96, 32);
  add(
      "target token", [](auto& s) { s.buffer_offset = uet_tokens(0, 0xffff'ffff); }, 128, 32);
  add(
      "initiator", [](auto& s) { s.initiator = 0xffff'ffff; }, 160, 32);
  add(
      "memory_key", [](auto& s) { s.memory_key = ~std::uint64_t{0}; }, 192, 64);
  add(
      "message_offset", [](auto& s) { s.message_offset = 0xffff'ffff; }, 288, 32);
  add(
      "request_length", [](auto& s) { s.request_length = 0xffff'ffff; }, 320, 32);
  expect_fields(request_packet(), fields);

  UetPacket first = request_packet();
  first.ses.flags = kUetSom;
  expect_fields(first,
                {{"header_data", [](auto& p) { p.ses.header_data = ~std::uint64_t{0}; }, kSesAt + 256, 64}});
  // payload_length comes from the payload.
  std::byte bytes[56];
  encode_uet_headers(request_packet(), kUetPayloadBytesMax, bytes);
  EXPECT_EQ(load_be32(bytes + 12 + 32), kUetPayloadBytesMax);
}

TEST(UetFields, MediumRequest) {
  const UetPacket medium =
      request_packet(UetPdsType::kRudRequest, UetNextHeader::kRequestMedium, static_cast<UetOpcode>(0x30));
  std::vector<Field> fields = request_start_fields();
  fields.push_back({"SOM", [](auto& p) { p.ses.flags |= kUetSom; }, kSesAt + 15, 1});
  fields.push_back({"HD", [](auto& p) { p.ses.flags |= kUetHeaderData; }, kSesAt + 13, 1});
  fields.push_back({"request_length", [](auto& p) { p.ses.request_length = 0x3fff; }, kSesAt + 18, 14});
  fields.push_back({"offset", [](auto& p) { p.ses.buffer_offset = ~std::uint64_t{0}; }, kSesAt + 96, 64});
  fields.push_back({"initiator", [](auto& p) { p.ses.initiator = 0xffff'ffff; }, kSesAt + 160, 32});
  fields.push_back({"memory_key", [](auto& p) { p.ses.memory_key = ~std::uint64_t{0}; }, kSesAt + 192, 64});
  expect_fields(medium, fields);
  UetPacket data = medium;
  data.ses.flags = kUetHeaderData;
  expect_fields(data,
                {{"header_data", [](auto& p) { p.ses.header_data = ~std::uint64_t{0}; }, kSesAt + 96, 64}});
}

TEST(UetFields, SmallRequest) {
  std::vector<Field> fields = request_start_fields();
  fields.push_back({"request_length", [](auto& p) { p.ses.request_length = 0x3fff; }, kSesAt + 18, 14});
  fields.push_back({"offset", [](auto& p) { p.ses.buffer_offset = ~std::uint64_t{0}; }, kSesAt + 96, 64});
  expect_fields(request_packet(UetPdsType::kRudRequest, UetNextHeader::kRequestSmall, UetOpcode::kRead),
                fields);
}

TEST(UetFields, Rendezvous) {
  UetPacket uet = request_packet(UetPdsType::kRudRequest, UetNextHeader::kRequestStandard,
                                 UetOpcode::kRendezvousTaggedSend);
  std::construct_at(&uet.rendezvous);
  constexpr std::uint32_t kAt = kSesAt + 352;
  expect_fields(
      uet, {{"eager_length", [](auto& p) { p.rendezvous.eager_length = 0xffff'ffff; }, kAt, 32},
            {"ri_generation", [](auto& p) { p.rendezvous.ri_generation = 0xff; }, kAt + 32, 8},
            {"pid_on_fep", [](auto& p) { p.rendezvous.pid_on_fep = 0xfff; }, kAt + 40, 12},
            {"resource_index", [](auto& p) { p.rendezvous.resource_index = 0xfff; }, kAt + 52, 12},
            {"read_offset", [](auto& p) { p.rendezvous.read_offset = ~std::uint64_t{0}; }, kAt + 64, 64},
            {"memory_key", [](auto& p) { p.rendezvous.memory_key = ~std::uint64_t{0}; }, kAt + 128, 64}});
}

TEST(UetFields, Atomics) {
  UetPacket uet =
      request_packet(UetPdsType::kRudRequest, UetNextHeader::kRequestStandard, UetOpcode::kFetchingAtomic);
  std::construct_at(&uet.atomic)->opcode = UetAtomicOpcode::kMin;
  uet.atomic.datatype = UetDatatype::kInt8;
  constexpr std::uint32_t kAt = kSesAt + 352;
  expect_fields(
      uet, {{"opcode", [](auto& p) { p.atomic.opcode = static_cast<UetAtomicOpcode>(0xff); }, kAt, 8},
            {"datatype", [](auto& p) { p.atomic.datatype = static_cast<UetDatatype>(0xff); }, kAt + 8, 8},
            {"cacheable", [](auto& p) { p.atomic.semantic_control = kUetAtomicCacheable; }, kAt + 23, 1},
            {"coherent", [](auto& p) { p.atomic.semantic_control = kUetAtomicCoherent; }, kAt + 22, 1}});
  uet.atomic.opcode = UetAtomicOpcode::kCompareSwap;
  expect_fields(uet, {{"compare", [](auto& p) { p.atomic.compare.fill(0xff); }, kAt + 32, 128},
                      {"swap", [](auto& p) { p.atomic.swap.fill(0xff); }, kAt + 160, 128}});
  // The whole CSWAP family and MSWAP have the long extension, INVAL has not.
  for (unsigned code = 0; code < 256; ++code)
    EXPECT_EQ(uet_has_compare_swap(static_cast<UetAtomicOpcode>(code)), code >= 0x0d && code <= 0x13);
}

TEST(UetFields, Responses) {
  UetPacket uet;
  uet.prologue.type = UetPdsType::kAck;
  std::construct_at(&uet.ack);
  UetSesResponse& response = *std::construct_at(&uet.response);
  response.return_code = UetReturnCode::kNull;
  const auto in = [](const char* name, auto set, std::uint32_t bit, std::uint32_t bits) {
    return Field{name, [set](UetPacket& p) { set(p.response); }, kSesAt + bit, bits};
  };
  const std::vector<Field> start = {
      in(
          "list", [](auto& r) { r.list = static_cast<UetListCode>(3); }, 0, 2),
      in(
          "opcode", [](auto& r) { r.opcode = static_cast<UetResponseOpcode>(0x3f); }, 2, 6),
      in(
          "return_code", [](auto& r) { r.return_code = static_cast<UetReturnCode>(0x3f); }, 10, 6),
      in(
          "job_id", [](auto& r) { r.job_id = 0xff'ffff; }, 40, 24)};
  uet.prologue.next = UetNextHeader::kResponse;
  expect_fields(uet, start);
  expect_fields(uet, {in(
                          "message_id", [](auto& r) { r.message_id = 0xffff; }, 16, 16),
                      in(
                          "ri_generation", [](auto& r) { r.ri_generation = 0xff; }, 32, 8),
                      in(
                          "modified_length", [](auto& r) { r.modified_length = 0xffff'ffff; }, 64, 32)});
  uet.prologue.next = UetNextHeader::kResponseData;
  expect_fields(uet, start, 7);
  expect_fields(uet, {in(
                          "message_id", [](auto& r) { r.message_id = 0xffff; }, 16, 16),
                      in(
                          "read_message_id", [](auto& r) { r.read_request_message_id = 0xffff; }, 64, 16),
                      in(
                          "modified_length", [](auto& r) { r.modified_length = 0xffff'ffff; }, 96, 32),
                      in(
                          "message_offset", [](auto& r) { r.message_offset = 0xffff'ffff; }, 128, 32)});
  uet.prologue.next = UetNextHeader::kResponseDataSmall;
  expect_fields(uet, start, 7);
  expect_fields(uet, {in(
                         "request psn", [](auto& r) { r.original_request_psn = 0xffff'ffff; }, 64, 32)});
  // payload_length: 14 bits at 82 of the data form and at 18 of the small one.
  std::byte bytes[32];
  encode_uet_headers(uet, kUetPayloadBytesMax, bytes);
  EXPECT_EQ(load_be16(bytes + 12 + 2), kUetPayloadBytesMax);
  uet.prologue.next = UetNextHeader::kResponseData;
  encode_uet_headers(uet, kUetPayloadBytesMax, bytes);
  EXPECT_EQ(load_be16(bytes + 12 + 10), kUetPayloadBytesMax);
}

TEST(UetTss, BothForms) {
  std::byte bytes[kUetTssSourceBytes];
  UetTss tss{0x0123'4567'89ab, 0xabcdef, 0, 0x55aa, false, true};
  ASSERT_EQ(encode(tss, bytes), kUetTssBytes);
  EXPECT_EQ(hex_text(std::span(bytes).first(kUetTssBytes)), "09abcdef55aa0123456789ab");
  EXPECT_EQ(uet_tss_bytes(bytes), kUetTssBytes);
  UetTss decoded = decode_uet_tss(bytes);
  EXPECT_EQ(decoded.counter, tss.counter);
  EXPECT_EQ(decoded.domain, tss.domain);
  EXPECT_EQ(decoded.epoch, tss.epoch);
  EXPECT_TRUE(decoded.association);
  EXPECT_FALSE(decoded.source_present);

  tss.source_present = true;
  tss.association = false;
  tss.source = 0x11223344;
  ASSERT_EQ(encode(tss, bytes), kUetTssSourceBytes);
  EXPECT_EQ(hex_text(bytes), "0cabcdef1122334455aa0123456789ab");
  EXPECT_EQ(uet_tss_bytes(bytes), kUetTssSourceBytes);
  decoded = decode_uet_tss(bytes);
  EXPECT_EQ(decoded.source, tss.source);
  EXPECT_EQ(decoded.counter, tss.counter);
  EXPECT_FALSE(decoded.association);
}

TEST(UetNames, CodePointsOfTheSpecification) {
  EXPECT_EQ(uet_pds_type_name(static_cast<UetPdsType>(13)), "RUD_CC_REQ");
  EXPECT_EQ(uet_pds_type_name(static_cast<UetPdsType>(15)), "unknown");
  EXPECT_EQ(uet_control_name(static_cast<UetControlType>(8)), "CREDIT_REQ");
  EXPECT_EQ(uet_next_header_name(static_cast<UetNextHeader>(6)), "RESPONSE_DATA_SMALL");
  EXPECT_EQ(uet_nack_name(static_cast<UetNackCode>(0x1a)), "RCVR_INFER_LOSS");
  EXPECT_EQ(uet_nack_name(static_cast<UetNackCode>(0x0c)), "unknown");
  EXPECT_EQ(uet_opcode_name(static_cast<UetOpcode>(0x0f)), "MSG_ERROR");
  EXPECT_EQ(uet_opcode_name(static_cast<UetOpcode>(0x10)), "unknown");
  EXPECT_EQ(uet_atomic_name(static_cast<UetAtomicOpcode>(0x14)), "INVAL");
  EXPECT_EQ(uet_datatype_name(static_cast<UetDatatype>(0x11)), "FP16");
  EXPECT_EQ(uet_response_name(static_cast<UetResponseOpcode>(3)), "NO_RESPONSE");
  EXPECT_EQ(uet_list_name(static_cast<UetListCode>(1)), "OVERFLOW");
  EXPECT_EQ(uet_return_code_name(static_cast<UetReturnCode>(0x24)), "RC_DROPPED");
  EXPECT_EQ(uet_return_code_name(static_cast<UetReturnCode>(0x19)), "RC_BAD_INDEX");
  EXPECT_EQ(uet_cc_type_name(UetCcType::kCredit), "CREDIT");
  EXPECT_EQ(uet_ack_request_name(UetAckRequest::kClear), "clear");
}

TEST(UetNames, ClassesOfNackCodes) {
  // N normal, E error, F fatal; every code from 1 on, 0x03 withdrawn and 0x0c reserved among them.
  const std::string classes = "NNNNNNNNNNN.NFFFFEFEFFNNFN";
  for (unsigned code = 1; code <= classes.size(); ++code) {
    const UetNackClass expected = classes[code - 1] == 'N'   ? UetNackClass::kNormal
                                  : classes[code - 1] == 'E' ? UetNackClass::kError
                                  : classes[code - 1] == 'F' ? UetNackClass::kFatal
                                                             : UetNackClass::kReserved;
    EXPECT_EQ(uet_nack_class(static_cast<UetNackCode>(code)), expected) << code;
  }
  EXPECT_EQ(uet_nack_class(static_cast<UetNackCode>(0xfe)), UetNackClass::kError);
  EXPECT_EQ(uet_nack_class(static_cast<UetNackCode>(0xff)), UetNackClass::kFatal);
  EXPECT_EQ(uet_nack_class(static_cast<UetNackCode>(0x1b)), UetNackClass::kReserved);
}

}  // namespace
}  // namespace wharf::wire
