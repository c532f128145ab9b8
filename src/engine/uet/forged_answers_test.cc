// SPDX-License-Identifier: Apache-2.0
// Acknowledgements and refusals that do not come from the peer, or that speak of packets which were never
// sent: they change nothing. [UE 1.0 3.5.8, 3.5.11, 3.5.12]
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_answers.h"
#include "tests/support/uet_packets.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using verbs::Verb;
using wire::UetNackCode;
using wire::UetPsn;

class ForgedAnswers : public ::testing::Test {
 protected:
  /// A request of host 0 whose packets host 1 has; what it answers is lost.
  void start(Verb verb = Verb::kWrite, std::uint32_t length = 64, UetConfig config = {}) {
    test::EnginePairOptions options;
    options.hosts = 3;
    world_ = std::make_unique<World>(config, options);
    world().watch();
    world().lose = [](const wire::Packet& packet) { return packet.source.number == 1; };
    world().fill(0, World::kLocal, length);
    ASSERT_EQ(world().post(world().request(verb, length)), engine::PostStatus::kOk);
    world().pass(microseconds(1));
    ASSERT_GT(source().tx.outstanding(), 0U);
  }
  wire::Packet acknowledgement(UetPsn cumulative) { return acknowledgement_of(world(), cumulative); }
  wire::Packet refusal(UetNackCode code, UetPsn psn) { return refusal_of(world(), code, psn); }
  /// Nothing has been answered, nothing is sent again.
  void expect_untouched(const wire::Packet& forged) {
    const std::uint32_t in_flight = source().tx.in_flight;
    const UetPsn cumulative = source().tx.cumulative;
    const UetPsn una = source().tx.una;
    world().pair().inject(0, forged);
    EXPECT_EQ(source().tx.in_flight, in_flight);
    EXPECT_EQ(source().tx.cumulative, cumulative);
    EXPECT_EQ(source().tx.una, una);
    EXPECT_EQ(source().tx.resend.count, 0U);
    EXPECT_EQ(source().state, before_);
    EXPECT_EQ(world().counters(0).packets_retransmitted, 0U);
    EXPECT_TRUE(world().completions(0).empty());
  }
  /// The peer is heard, and all is well.
  void expect_to_end(std::uint32_t length) {
    world().lose = nullptr;
    world().run();
    ASSERT_EQ(world().completions(0).size(), 1U);
    EXPECT_TRUE(world().completions(0)[0].ok());
    EXPECT_TRUE(world().same(World::kLocal, World::kRemote, length));
  }
  const Pdc& source() { return world().engine(0).parts().pds.pdc(0); }
  World& world() { return *world_; }

  PdcState before_ = PdcState::kCreating;
  std::unique_ptr<World> world_;
};

TEST_F(ForgedAnswers, Uet_3_5_8_AnAcknowledgementOfAnotherHostIsNone) {
  for (const bool known : {false, true}) {
    start();
    if (known) {
      world().pair().inject(0, acknowledgement(source().tx.start - 1));
      ASSERT_TRUE(source().peer_known);
    }
    before_ = source().state;
    wire::Packet forged = acknowledgement(source().tx.start);
    forged.source = {2};
    expect_untouched(forged);
    EXPECT_EQ(world().counters(0).dropped_unknown_pdc, 1U);
    expect_to_end(64);
  }
}

TEST_F(ForgedAnswers, Uet_3_5_8_AnAcknowledgementOfAnotherPdcIsNone) {
  start();
  world().pair().inject(0, acknowledgement(source().tx.start - 1));
  ASSERT_TRUE(source().peer_known);
  before_ = source().state;
  wire::Packet forged = acknowledgement(source().tx.start);
  ++forged.uet.ack.source_pdcid;
  expect_untouched(forged);
  EXPECT_EQ(world().counters(0).dropped_unknown_pdc, 1U);
  expect_to_end(64);
}

TEST_F(ForgedAnswers, Uet_3_5_12_ANackOfAnotherHostIsNone) {
  for (const UetNackCode code :
       {UetNackCode::kTrimmed, UetNackCode::kNoPacketBuffer, UetNackCode::kPacketNotReceived,
        UetNackCode::kInvalidDpdcid, UetNackCode::kPdcHeaderMismatch, UetNackCode::kNewStartPsn}) {
    start();
    before_ = source().state;
    wire::Packet forged = refusal(code, source().tx.start);
    forged.uet.nack.payload = source().tx.start + 500;
    forged.source = {2};
    const UetPsn began = source().tx.start;
    expect_untouched(forged);
    EXPECT_EQ(source().tx.start, began);
    expect_to_end(64);
  }
}

TEST_F(ForgedAnswers, Uet_3_5_11_AnAcknowledgementOfWhatWasNeverSentIsNone) {
  for (const std::uint32_t ahead : {0U, 1U, 100U, 1U << 30U}) {
    start();
    before_ = source().state;
    expect_untouched(acknowledgement(source().tx.next + ahead));
    EXPECT_EQ(world().counters(0).dropped_acknowledgement, 1U);
    if (ahead <= 100) {
      // The same beside the answer to a packet that was sent.
      wire::Packet forged = acknowledgement(source().tx.next + ahead);
      forged.uet.ack.ack_psn_offset = static_cast<std::int16_t>(-1 - static_cast<int>(ahead));
      expect_untouched(forged);
      EXPECT_EQ(world().counters(0).dropped_acknowledgement, 2U);
    }
    expect_to_end(64);
  }
}

// The answered packet is one that was sent, whatever the cumulative number says.
TEST_F(ForgedAnswers, Uet_3_5_11_AnAnswerToWhatWasNeverSentIsNone) {
  start();
  before_ = source().state;
  wire::Packet forged = acknowledgement(source().tx.start - 1);
  forged.uet.ack.ack_psn_offset = static_cast<std::int16_t>(1 + source().tx.outstanding());
  expect_untouched(forged);
  EXPECT_EQ(world().counters(0).dropped_acknowledgement, 1U);
  expect_to_end(64);
}

TEST_F(ForgedAnswers, Uet_3_5_12_ASackOfWhatWasNeverSentConfirmsNothing) {
  UetConfig config;
  config.payload_mtu = 256;
  for (const std::int16_t offset : {1, 2, 5}) {
    start(Verb::kWrite, 1000, config);
    ASSERT_EQ(source().tx.outstanding(), 4U);
    const std::uint32_t in_flight = source().tx.in_flight;
    wire::Packet forged = acknowledgement(source().tx.start - 1);
    forged.uet.ack_congestion.sack_psn_offset = offset;
    forged.uet.ack_congestion.sack_bitmap = ~std::uint64_t{0};
    world().pair().inject(0, forged);
    // All four were sent; as many as the bitmap names are known to have arrived.
    EXPECT_EQ(source().tx.in_flight, in_flight - (offset >= 5 ? 0U : 5U - static_cast<unsigned>(offset)));
    expect_to_end(1000);
  }
}

// [UE 1.0 3.5.12] What a target says in a SACK has arrived: no bit names another packet, wherever the bitmap
// begins and however far ahead the packet that caused it lies.
TEST_F(ForgedAnswers, Uet_3_5_12_ASackNamesNothingThatHasNotCome) {
  for (const SackBase base : {SackBase::kTrack, SackBase::kTrigger}) {
    UetConfig config;
    config.sack_base = base;
    config.default_mpr = 1;
    world_ = std::make_unique<World>(config);
    world().watch();
    HandMade hand;
    hand.start = 1000;
    hand.key = (std::uint64_t{world().token(1).value} << 32U) | world().token(1).id;
    hand.address = World::kRemote;
    hand.payload = wire::pattern_payload(1, 0, 64);
    std::vector<UetPsn> come;
    const auto give = [&](UetPsn psn) {
      hand.psn = psn;
      hand.message_id = static_cast<std::uint16_t>(psn);
      world().sent.clear();
      world().pair().inject(1, hand.packet());
      come.push_back(psn);
      for (const wire::Packet& said : world().sent) {
        if (said.uet.prologue.type != wire::UetPdsType::kAckCc) continue;
        if (hand.dpdcid == 0) hand.dpdcid = said.uet.ack.source_pdcid;
        const auto& cc = said.uet.ack_congestion;
        const UetPsn first = cc.sack_base(said.uet.ack.cumulative_psn);
        for (std::uint32_t bit = 0; bit < 64; ++bit) {
          if ((cc.sack_bitmap >> bit & 1U) == 0) continue;
          const UetPsn named = first + bit;
          const bool is_below = wire::uet_psn_difference(named, said.uet.ack.cumulative_psn) <= 0;
          EXPECT_TRUE(is_below || std::find(come.begin(), come.end(), named) != come.end())
              << named << " after " << psn;
        }
      }
    };
    give(1000);
    for (UetPsn psn = 1001; psn < 1030; ++psn) give(psn);
    // A gap at 1030; then what lies right behind it, and the far end of the window.
    for (UetPsn psn = 1031; psn < 1060; psn += 2) give(psn);
    for (UetPsn psn = 1157; psn > 1060; psn -= 3) give(psn);
  }
}

// All of a short answer comes on one acknowledgement: what is missing there never comes. [UE 1.0 3.5.8.2]
TEST(CutAnswers, EndTheRequestInsteadOfLeavingItToWait) {
  for (const Verb verb : {Verb::kFetchAdd, Verb::kRead}) {
    test::EnginePairOptions options;
    options.wire.transform = [](wire::Packet& packet, bool damaged, RandomStream&, wire::PayloadPool&) {
      if (packet.source.number == 1 && packet.payload.length > 3)
        packet.payload = wire::slice(packet.payload, 0, packet.payload.length - 3);
      return !damaged;
    };
    World world({}, options);
    ASSERT_EQ(world.post(world.request(verb, 8)), engine::PostStatus::kOk);
    world.run();
    ASSERT_EQ(world.completions(0).size(), 1U) << verbs::name(verb);
    EXPECT_EQ(world.completions(0)[0].status, verbs::CompletionStatus::kResponseLength);
    EXPECT_EQ(world.pair().pool().in_use(), 0U);
  }
}

}  // namespace
}  // namespace wharf::uet
