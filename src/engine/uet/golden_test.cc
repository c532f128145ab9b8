// SPDX-License-Identifier: Apache-2.0
// The worked example of a public description of UET (a 16 KiB write of a parallel job) byte by byte, and the
// RUD sequences of the specification. [UE 1.0 3.5.20]
#include <fmt/format.h>

#include "engine/uet/engine_parts.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"
#include "wire/frame.h"

namespace wharf::uet {
namespace {

using verbs::Verb;
using wire::UetControlType;
using wire::UetPdsType;

/// Bytes of a frame behind Ethernet, IPv4 and UDP, without payload and trailer, as hex.
std::string headers_of(const wire::Packet& packet) {
  std::vector<std::byte> frame(wire::encoded_bytes(packet));
  wire::encode(packet, frame);
  constexpr std::size_t kBefore = 14 + 20 + 8;
  const std::size_t bytes = wire::uet_header_bytes(packet.uet);
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i)
    text += fmt::format("{:02X}", static_cast<unsigned>(frame[kBefore + i]));
  return text;
}

/// Job 101; host 1 is PIDonFEP 2, RI 0x00a, generation 1, region 0xacce5 at 0xba5eadd1.
class WorkedExample {
 public:
  WorkedExample() {
    test::EnginePairOptions options;
    options.memory_base = 0xba5eadd1;
    options.memory_bytes = 1U << 16U;
    pair = std::make_unique<test::EnginePair<UetEngine>>(options, [&](std::uint32_t host,
                                                                      wire::PayloadPool& pool) {
      UetConfig config;
      config.host = {host};
      config.payload_mtu = 4096;
      config.virtual_addresses = false;
      config.congestion = CongestionControl::kNone;
      config.ack_per_packet = true;
      config.use_ri_generation = true;
      config.start_psn = 0x12000;
      config.protection = wire::UetProtection::kCrc;
      config.endpoint = {101, 2, 0x00a, true};
      config.initiator_id = 0;
      arenas.emplace_back();
      return std::make_unique<UetEngine>(std::move(UetEngine::create(config, pool, arenas.back()).value()));
    });
    for (std::uint32_t host = 0; host < 2; ++host)
      queue[host] = pair->engine(host).create_queue({}, {}).value();
    token = pair->engine(1)
                .register_region({}, {.base = 0xba5eadd1, .length = 16384}, 101, 0xacce5, false)
                .value();
    peer = pair->engine(0).connect({}, queue[0], pair->engine(1).export_queue(queue[1]).value()).value();
    pair->wire().options().drop_if = [this](const wire::Packet& packet) {
      sent.push_back(packet);
      texts.push_back(headers_of(packet));
      return false;
    };
  }

  verbs::Completion write() {
    verbs::WorkRequest request;
    request.verb = Verb::kWriteImm;
    request.peer = peer;
    request.length = 16384;
    request.local_count = 1;
    request.local[0] = {0xba5eadd1, 16384};
    request.remote = {0, token};
    request.immediate = 11;
    EXPECT_EQ(pair->post(0, queue[0], request), engine::PostStatus::kOk);
    pair->run_until([this] { return !pair->host(0).completions.empty(); });
    return pair->host(0).completions.at(0);
  }

  std::deque<Arena> arenas;
  std::unique_ptr<test::EnginePair<UetEngine>> pair;
  engine::QueueId queue[2] = {};
  verbs::SegmentToken token;
  verbs::PeerId peer = 0;
  std::vector<wire::Packet> sent;
  std::vector<std::string> texts;
};

TEST(UetGolden, Uet_3_5_10_FragmentsOfTheWorkedExample) {
  WorkedExample world;
  EXPECT_TRUE(world.write().ok());
  EXPECT_EQ(world.texts[0],
            "118CFFFF0001200040010000"
            "010D000101000065"
            "0002000A00000000000000000000000000000000000ACCE5000000000000000B00004000");
  EXPECT_EQ(world.texts[1],
            "118CFFFE0001200140010001"
            "0108000101000065"
            "0002000A00000000000000000000000000000000000ACCE5000010000000100000004000");
  EXPECT_EQ(world.texts[3],
            "118CFFFC0001200340010003"
            "010A000101000065"
            "0002000A00000000000000000000000000000000000ACCE5000010000000300000004000");
}

TEST(UetGolden, Uet_3_5_12_AcknowledgementOfTheWorkedExample) {
  WorkedExample world;
  EXPECT_TRUE(world.write().ok());
  ASSERT_GE(world.texts.size(), 8U);
  EXPECT_EQ(world.texts[4],
            "3A00000000012000800140010001000101000065"
            "00004000");
  // The last acknowledgement covers all four, with the same response.
  EXPECT_EQ(world.texts[7],
            "3A00000000012003800140010001000101000065"
            "00004000");
}

TEST(UetGolden, Uet_3_6_NominalPacketSizeOfTheWorkedExample) {
  WorkedExample world;
  EXPECT_TRUE(world.write().ok());
  EXPECT_EQ(wire::encoded_bytes(world.sent[0]) - 34, 4172U - 8U);
  EXPECT_EQ(window_bytes(world.pair->engine(0).config(), world.sent[0]), 4204U);
}

TEST(UetGolden, Uet_3_4_HeaderDataBecomesRemoteCompletionData) {
  WorkedExample world;
  EXPECT_TRUE(world.write().ok());
  ASSERT_EQ(world.pair->host(1).completions.size(), 1U);
  EXPECT_EQ(world.pair->host(1).completions[0].immediate, 11U);
  EXPECT_EQ(world.pair->host(1).completions[0].length, 16384U);
}

TEST(UetGolden, Uet_3_6_ReceivedBytesRoundUpTo256) {
  EXPECT_EQ(wire::uet_byte_units(1), 1U);
  EXPECT_EQ(wire::uet_byte_units(256), 1U);
  EXPECT_EQ(wire::uet_byte_units(257), 2U);
  EXPECT_EQ(wire::uet_byte_units(4204), 17U);
}

/// A target whose peer is made by hand; PSNs begin where the test says.
class Sequence {
 public:
  explicit Sequence(wire::UetPsn start, UetConfig config = {}) : world_(with(config)) {
    world_.watch();
    hand_.start = start;
    hand_.key = (std::uint64_t{world_.token(1).value} << 32U) | world_.token(1).id;
    hand_.address = World::kRemote;
    hand_.payload = wire::pattern_payload(1, 0, 64);
  }
  static UetConfig with(UetConfig config) {
    config.idle_timeout = kTimeZero;
    return config;
  }
  HandMade& hand() { return hand_; }
  World& world() { return world_; }
  /// Hands over the request `psn` and gives what host 1 said, if anything.
  std::vector<wire::Packet> give(wire::UetPsn psn) {
    hand_.psn = psn;
    return give(hand_.packet());
  }
  std::vector<wire::Packet> give(const wire::Packet& packet) {
    world_.sent.clear();
    world_.pair().inject(1, packet);
    return world_.sent;
  }

 private:
  World world_;
  HandMade hand_;
};

TEST(UetSequences, Uet_3_5_20_ResponseWithoutGuaranteeMovesCack) {
  Sequence sequence(333);
  const auto said = sequence.give(333);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 333U);
  EXPECT_NE(said[0].uet.prologue.ack_request(), wire::UetAckRequest::kClear);
}

TEST(UetSequences, Uet_3_5_20_GuaranteedResponseHoldsCackUntilCleared) {
  Sequence sequence(333);
  sequence.hand().opcode = wire::UetOpcode::kRead;
  sequence.hand().payload = {};
  sequence.hand().request_length = 8;
  const auto said = sequence.give(333);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.ack_psn(), 333U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 332U);
  EXPECT_EQ(said[0].uet.prologue.ack_request(), wire::UetAckRequest::kClear);
  EXPECT_EQ(said[0].payload.length, 8U);
  const std::uint16_t dpdcid = said[0].uet.ack.source_pdcid;
  sequence.give(control_packet(0, UetControlType::kClearCommand, 0, 0x4001, dpdcid, 333));
  sequence.hand().opcode = wire::UetOpcode::kWrite;
  sequence.hand().payload = wire::pattern_payload(1, 0, 64);
  sequence.hand().request_length = 0;
  sequence.hand().dpdcid = dpdcid;
  EXPECT_EQ(sequence.give(334).at(0).uet.ack.cumulative_psn, 334U);
}

TEST(UetSequences, Uet_3_5_20_OneAcknowledgementForTwoPackets) {
  Sequence sequence(337);
  sequence.hand().flags = 0;
  const std::uint16_t dpdcid = sequence.give(337).at(0).uet.ack.source_pdcid;
  sequence.hand().dpdcid = dpdcid;
  EXPECT_TRUE(sequence.give(338).empty());
  sequence.hand().flags = wire::kUetAckRequested;
  const auto said = sequence.give(339);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].uet.ack.cumulative_psn, 339U);
}

TEST(UetSequences, Uet_3_5_20_RequestsInOrderMoveCackOneByOne) {
  Sequence sequence(333);
  wire::UetPsn psn = 333;
  std::uint16_t dpdcid = 0;
  for (; psn <= 335; ++psn) {
    if (dpdcid != 0) sequence.hand().dpdcid = dpdcid;
    const auto said = sequence.give(psn);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].uet.ack.cumulative_psn, psn);
    dpdcid = said[0].uet.ack.source_pdcid;
  }
}

TEST(UetSequences, Uet_3_5_20_TheNextRequestCarriesClear) {
  World world;
  world.watch();
  EXPECT_TRUE(world.finish(world.request(Verb::kRead, 16)).ok());
  world.sent.clear();
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  const auto requests = world.sent_of(UetPdsType::kRudRequest);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].uet.request.clear_psn_offset, -1);
}

TEST(UetSequences, Uet_3_5_20_WindowOfMprEightEndsAt1356) {
  PdcSend tx;
  tx.cumulative = 332;
  tx.range = 8 * wire::kUetMprUnit;
  tx.next = 1356;
  EXPECT_TRUE(tx.window_open());
  tx.next = 1357;
  EXPECT_FALSE(tx.window_open());
}

TEST(UetSequences, Uet_3_5_20_NoPacketBufferIsRefusedByNumber) {
  UetConfig config;
  config.packets_in_execution = 1;
  test::EnginePairOptions options;
  options.access_shortest = microseconds(5);
  options.access_longest = microseconds(5);
  World world(config, options);
  world.watch();
  HandMade hand;
  hand.start = 332;
  hand.key = (std::uint64_t{world.token(1).value} << 32U) | world.token(1).id;
  hand.address = World::kRemote;
  hand.payload = wire::pattern_payload(1, 0, 64);
  hand.psn = 332;
  world.pair().inject(1, hand.packet());
  hand.psn = 333;
  world.pair().inject(1, hand.packet());
  const auto nacks = world.sent_of(UetPdsType::kNack);
  ASSERT_EQ(nacks.size(), 1U);
  EXPECT_EQ(nacks[0].uet.nack.code, wire::UetNackCode::kNoPacketBuffer);
  EXPECT_EQ(nacks[0].uet.nack.psn, 333U);
}

}  // namespace
}  // namespace wharf::uet
