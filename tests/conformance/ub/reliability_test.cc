// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 6.4 (as public documents show it): numbers, acknowledgements and repair of a TP
// channel, packet by packet.
#include <algorithm>
#include <set>
#include <string>

#include "tests/support/ub_world.h"
#include "wire/packet.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

/// One TP packet as text: "data 11", "ack 10", "nak 11", "sack 10 max 14 {0,2,4}".
std::string text(const wire::Packet& packet) {
  const wire::Rtph& rtph = packet.ub.rtph;
  const std::string psn = std::to_string(rtph.psn);
  if (rtph.opcode == wire::TpOpcode::kReliable) return "data " + psn;
  if (rtph.opcode == wire::TpOpcode::kAck) {
    return (rtph.status == wire::UbResponseStatus::kError ? "nak " : "ack ") + psn;
  }
  std::string bits;
  const auto bitmap = wire::sack_bitmap(packet);
  for (std::size_t i = 0; i < bitmap.size() * 8; ++i) {
    if ((std::to_integer<unsigned>(bitmap[i / 8]) >> (i % 8) & 1U) != 0) {
      bits += (bits.empty() ? "" : ",") + std::to_string(i);
    }
  }
  return "sack " + psn + " max " + std::to_string(packet.ub.ack.saetph.max_received) + " {" + bits + "}";
}

/// Records what each host sends, and loses the data packets of host 0 that a test names (once each).
class Reliability : public ::testing::Test {
 protected:
  void make(UbConfig config, test::EnginePairOptions options = {}) {
    config.first_psn = first_psn_;
    world_ = std::make_unique<World>(config, options);
    world_->pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      if (packet.ub.transport != wire::UbTransport::kRtp) return false;
      sent_[packet.source.number].push_back(text(packet));
      return packet.source.number == 0 && lose_.erase(text(packet)) > 0;
    };
  }
  /// Packets of host 0 that carry data, in the order in which they were sent.
  std::vector<std::string> data_of(std::uint32_t host) { return with_prefix(host, "data"); }
  /// Everything of `host` that is no data.
  std::vector<std::string> acks_of(std::uint32_t host) {
    std::vector<std::string> found;
    for (const auto& packet : sent_[host]) {
      if (!packet.starts_with("data")) found.push_back(packet);
    }
    return found;
  }
  std::vector<std::string> with_prefix(std::uint32_t host, const std::string& prefix) {
    std::vector<std::string> found;
    for (const auto& packet : sent_[host]) {
      if (packet.starts_with(prefix)) found.push_back(packet);
    }
    return found;
  }

  wire::Psn first_psn_ = 10;
  std::unique_ptr<World> world_;
  std::set<std::string> lose_;
  std::vector<std::string> sent_[2];
};

// 6.4.2, selective, worked example: sent 10..15, 11 and 13 lost; each is repeated once.
TEST_F(Reliability, SelectiveAcknowledgementsNameTheGaps) {
  make({.mtu = 1024, .segment_bytes = 65536, .recovery = LossRecovery::kSelective});
  lose_ = {"data 11", "data 13"};
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 6 * 1024)).ok());
  auto acks = acks_of(1);
  acks.resize(6);
  EXPECT_EQ(acks, (std::vector<std::string>{"ack 10", "sack 10 max 12 {0,2}", "sack 10 max 14 {0,2,4}",
                                            "sack 10 max 15 {0,2,4,5}", "sack 12 max 15 {0,2,3}", "ack 15"}));
  EXPECT_EQ(data_of(0), (std::vector<std::string>{"data 10", "data 11", "data 12", "data 13", "data 14",
                                                  "data 15", "data 11", "data 13"}));
  EXPECT_EQ(world_->counters(0).timeouts, 0u);
}

// 6.4.2, Go-Back-N, worked example: 10, 12, 13 arrive: TPACK 10, TPNAK 11 once, then 11..13 again.
TEST_F(Reliability, GoBackNAsksOncePerGap) {
  make({.mtu = 1024, .segment_bytes = 65536, .recovery = LossRecovery::kGoBackN});
  lose_ = {"data 11"};
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 4 * 1024)).ok());
  const auto acks = acks_of(1);
  EXPECT_EQ(acks, (std::vector<std::string>{"ack 10", "nak 11", "ack 11", "ack 12", "ack 13"}));
  EXPECT_EQ(data_of(0), (std::vector<std::string>{"data 10", "data 11", "data 12", "data 13", "data 11",
                                                  "data 12", "data 13"}));
  EXPECT_EQ(world_->counters(1).dropped_out_of_order, 2u);
  EXPECT_EQ(world_->counters(0).timeouts, 0u);
}

// 6.3.1: a channel repairs selectively only when both ends do.
TEST_F(Reliability, RecoveryIsNegotiated) {
  wire::PayloadPool pool;
  Arena arena;
  UbConfig selective{.host = {1}, .recovery = LossRecovery::kSelective};
  UbConfig go_back{.host = {2}, .recovery = LossRecovery::kGoBackN};
  auto a = *UbEngine::create(selective, pool, arena);
  auto b = *UbEngine::create(go_back, pool, arena);
  const auto blob = *b.export_queue(*b.create_queue(kTimeZero, {}));
  const auto queue = *a.create_queue(kTimeZero, {});
  ASSERT_TRUE(a.connect(kTimeZero, queue, blob).ok());
  // A packet ahead of its turn is not kept.
  wire::Packet packet;
  packet.source = {2};
  packet.destination = {1};
  packet.ub.rtph.source_tpn = 2;
  packet.ub.rtph.destination_tpn = 3;
  packet.ub.rtph.opcode = wire::TpOpcode::kReliable;
  packet.ub.rtph.psn = 5;
  wire::use_request(packet.ub).opcode = wire::TaOpcode::kRead;
  a.receive(kTimeZero, 0, packet);
  EXPECT_EQ(a.counters().dropped_out_of_order, 1u);
}

// 6.4.2: the loss of the first packet of a channel; nothing is in order, so the bitmap begins at the missing
// packet.
TEST_F(Reliability, LossOfTheVeryFirstPacket) {
  first_psn_ = 0;
  make({.mtu = 1024, .segment_bytes = 65536});
  lose_ = {"data 0"};
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 3 * 1024)).ok());
  auto acks = acks_of(1);
  acks.resize(3);
  EXPECT_EQ(acks, (std::vector<std::string>{"sack 0 max 1 {1}", "sack 0 max 2 {1,2}", "ack 2"}));
}

// OpenURMA: profile P2 counts the bitmap from the first missing packet.
TEST_F(Reliability, OpenUrmaBitmapsBeginAtTheGap) {
  make({.encapsulation = wire::UbEncapsulation::kRawEthernet, .mtu = 256, .segment_bytes = 65536});
  lose_ = {"data 11"};
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 4 * 256)).ok());
  EXPECT_EQ(acks_of(1)[1], "sack 11 max 12 {1}");
}

// 6.4.2: a repeated packet that is lost again is noticed when something sent after it has arrived.
TEST_F(Reliability, RepeatedLossIsRepairedWithoutTheTimer) {
  test::EnginePairOptions options;
  options.packet_interval = nanoseconds(50);
  make({.mtu = 1024, .segment_bytes = 65536}, options);
  int losses = 0;
  world_->pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return packet.ub.rtph.opcode == wire::TpOpcode::kReliable && packet.source.number == 0 &&
           packet.ub.rtph.psn == 13 && ++losses <= 3;
  };
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 200 * 1024)).ok());
  EXPECT_EQ(world_->counters(0).timeouts, 0u);
  EXPECT_EQ(world_->counters(0).packets_retransmitted, 3u);
}

// 6.4.3: RTO = base * 2^(N * attempts); when the attempts are spent, affected requests end in
// ACK_TIMEOUT_ERR, the application hears of it, and the channel is in error.
TEST_F(Reliability, SilenceDoublesTheTimeoutAndEndsInAnError) {
  UbConfig config;
  config.retransmission = {.base = microseconds(10), .attempts_max = 3};
  make(config);
  std::vector<TimePs> times;
  world_->pair().wire().options().drop_if = [&](const wire::Packet&) {
    times.push_back(world_->now());
    return true;
  };
  const TimePs start = world_->now();
  const auto done = world_->finish(world_->request(Verb::kWrite, 64));
  EXPECT_EQ(done.status, CompletionStatus::kRetryExhausted);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[1] - start, microseconds(10));
  EXPECT_EQ(times[2] - start, microseconds(30));
  EXPECT_EQ(times[3] - start, microseconds(70));
  EXPECT_EQ(world_->now() - start, microseconds(150));
  ASSERT_EQ(world_->pair().host(0).events.size(), 1u);
  EXPECT_EQ(world_->pair().host(0).events[0].kind, engine::AsyncEventKind::kPeerUnreachable);
  EXPECT_EQ(world_->pair().host(0).events[0].peer, world_->peer(0));
  EXPECT_EQ(world_->finish(world_->request(Verb::kRead, 64)).status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world_->pair().pool().in_use(), 0u);
}

TEST_F(Reliability, EveryRequestOfADeadPeerEndsOnce) {
  UbConfig config;
  config.retransmission = {.base = microseconds(10), .attempts_max = 2};
  config.mtu = 1024;
  config.send_window = 8;
  make(config);
  world_->pair().host(1).plugged = false;
  for (int i = 0; i < 100; ++i) {
    auto request = world_->request(i % 3 == 0 ? Verb::kRead : Verb::kWrite, 20'000);
    request.order = i % 5 == 0 ? verbs::OrderTag::kStrong : verbs::OrderTag::kNone;
    request.fence = i % 7 == 0;
    ASSERT_EQ(world_->post(request), engine::PostStatus::kOk);
  }
  world_->run();
  EXPECT_EQ(world_->pair().host(0).completions.size(), 100u);
  for (const auto& completion : world_->pair().host(0).completions) {
    EXPECT_EQ(completion.status, CompletionStatus::kRetryExhausted);
  }
  EXPECT_EQ(world_->pair().pool().in_use(), 0u);
}

// 6.4.2: repeated packets leave lowest first. A packet that is lost again while the room for fetched data is
// taken by later ones still gets its turn.
TEST_F(Reliability, ARepeatedPacketThatIsLostAgainComesBeforeThoseBehindIt) {
  for (const auto recovery : {LossRecovery::kSelective, LossRecovery::kGoBackN}) {
    UbConfig config;
    config.recovery = recovery;
    config.mtu = 256;
    config.fetch_ahead_packets = 1;
    config.retransmission = {.base = microseconds(30), .backoff_exponent = 0};
    test::EnginePairOptions options;
    options.packet_interval = microseconds(20);
    make(config, options);
    // At 30 us the time-out queues packets 0 and 1. 0 leaves at 40 us and 1 is prepared; at 60 us, before 1
    // can leave, the next time-out queues 0 again.
    world_->pair().wire().options().drop_if = [&](const wire::Packet&) {
      return world_->now() < microseconds(50);
    };
    world_->fill(0, World::kLocal, 512);
    EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 512)).ok());
    EXPECT_TRUE(world_->same(World::kLocal, World::kRemote, 512));
    EXPECT_EQ(world_->pair().pool().in_use(), 0u);
  }
}

// 6.4.2, err_timeout of the URMA API (4.096 us * 2^code): a peer that has confirmed a request and never
// answers it ends the request in ACK_TIMEOUT_ERR, and not before.
TEST_F(Reliability, AConfirmedRequestThatIsNeverAnsweredTimesOut) {
  UbConfig config;
  config.err_timeout = 4;
  config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
  make(config);
  bool silent = true;
  world_->pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return silent && packet.source.number == 1 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable;
  };
  const TimePs start = world_->now();
  auto add = world_->request(Verb::kFetchAdd, 8);
  add.operand[0] = 1;
  ASSERT_EQ(world_->post(add), engine::PostStatus::kOk);
  world_->pair().run_to(start + microseconds(30));
  ASSERT_EQ(world_->post(add), engine::PostStatus::kOk);
  world_->pair().run_to(start + microseconds(65));
  EXPECT_TRUE(world_->pair().host(0).completions.empty());
  world_->pair().run_to(start + microseconds(66));
  EXPECT_EQ(world_->pair().host(0).completions.size(), 1u);
  world_->pair().run_to(start + microseconds(95));
  EXPECT_EQ(world_->pair().host(0).completions.size(), 1u);
  world_->pair().run_to(start + microseconds(96));
  ASSERT_EQ(world_->pair().host(0).completions.size(), 2u);
  for (const auto& completion : world_->pair().host(0).completions) {
    EXPECT_EQ(completion.status, CompletionStatus::kRetryExhausted);
  }
  EXPECT_EQ(world_->counters(0).answers_timed_out, 2u);
  // The answers come after all: nobody waits for them. The channel works on, and rests without a deadline.
  silent = false;
  world_->run();
  EXPECT_EQ(world_->counters(0).dropped_response, 2u);
  EXPECT_EQ(world_->finish(add).atomic_result[0], 2u);
  EXPECT_EQ(world_->engine(0).deadline(), kNever);
  EXPECT_EQ(world_->counters(0).answers_timed_out, 2u);
}

// After a failure both ends connect again and go on with fresh numbers.
TEST_F(Reliability, AFailedChannelIsMadeAgainByConnect) {
  UbConfig config;
  config.retransmission = {.base = microseconds(10), .attempts_max = 1};
  make(config);
  world_->fill(0, World::kLocal, 64);
  world_->pair().host(1).plugged = false;
  EXPECT_FALSE(world_->finish(world_->request(Verb::kWrite, 64)).ok());
  world_->pair().host(1).plugged = true;
  EXPECT_TRUE(world_->pair().post(1, world_->queue(1), [&] {
    auto request = world_->request(Verb::kRead, 8);
    request.peer = world_->peer(1);
    request.remote.token = world_->token(0);
    return request;
  }()) == engine::PostStatus::kOk);
  world_->run();  // The other end notices too.
  for (std::uint32_t host = 0; host < 2; ++host) {
    const auto blob = *world_->engine(1 - host).export_queue(world_->queue(1 - host));
    ASSERT_TRUE(world_->engine(host).connect(world_->now(), world_->queue(host), blob).ok());
  }
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 64)).ok());
  EXPECT_TRUE(world_->same(World::kLocal, World::kRemote, 64));
}

// 6.4.1: PSNs wrap at 2^24; the channel does not notice.
TEST_F(Reliability, NumbersWrap) {
  for (const auto recovery : {LossRecovery::kSelective, LossRecovery::kGoBackN}) {
    first_psn_ = wire::kPsnMask - 20;
    make({.mtu = 256, .segment_bytes = 65536, .recovery = recovery}, faulty(3, 5));
    world_->fill(0, World::kLocal, 60'000);
    EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 60'000)).ok());
    EXPECT_TRUE(world_->same(World::kLocal, World::kRemote, 60'000));
  }
}

// 6.4.1: no more than the window, or the peer's window, is in flight.
TEST_F(Reliability, TheWindowBoundsWhatIsInFlight) {
  make({.mtu = 1024, .segment_bytes = 65536, .send_window = 4});
  std::uint32_t high = 0;
  std::uint32_t acknowledged = 10;
  world_->pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 0 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable) {
      high = std::max(high, packet.ub.rtph.psn);
      EXPECT_LT(high, acknowledged + 4);
    }
    if (packet.source.number == 1 && packet.ub.rtph.opcode == wire::TpOpcode::kAck) {
      acknowledged = packet.ub.rtph.psn + 1;
    }
    return false;
  };
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 100'000)).ok());
  EXPECT_EQ(high, 10u + 97);
}

// 6.4.2: TPACKs may cover several packets; a message's end is not delayed for ever.
TEST_F(Reliability, AcknowledgementsMayBeCoalesced) {
  make({.mtu = 1024, .segment_bytes = 65536, .acknowledge_every = 4, .acknowledge_delay = microseconds(5)});
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 10 * 1024)).ok());
  const auto acks = acks_of(1);
  EXPECT_EQ(acks, (std::vector<std::string>{"ack 13", "ack 17", "ack 19"}));
}

// 6.4.2: a duplicate is not executed, and its TPACK is repeated.
TEST_F(Reliability, DuplicatesAreAcknowledgedAgainAndNotExecuted) {
  make({});
  world_->pair().wire().options().duplicate = Probability::from(1);
  auto request = world_->request(Verb::kFetchAdd, 8);
  request.operand[0] = 5;
  EXPECT_TRUE(world_->finish(request).ok());
  EXPECT_EQ(world_->pair().memory(1).load64(World::kRemote), 5u);
  EXPECT_GE(world_->counters(1).duplicates, 1u);
}

// 7.4.3: the response of an atomic is lost with everything else for a while; it still runs exactly once.
TEST_F(Reliability, AtomicsRunOnceWhateverIsLost) {
  UbConfig config;
  config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
  make(config, faulty(11, 30));
  for (int i = 0; i < 100; ++i) {
    auto request = world_->request(Verb::kFetchAdd, 8);
    request.operand[0] = 1;
    const auto done = world_->finish(request);
    ASSERT_TRUE(done.ok());
    ASSERT_EQ(done.atomic_result[0], static_cast<std::uint64_t>(i));
  }
}

// 6.4.2: acknowledgements of what was never sent change nothing.
TEST_F(Reliability, ForgedAcknowledgementsAreDropped) {
  make({});
  wire::Packet forged;
  world_->pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.ub.rtph.opcode == wire::TpOpcode::kAck && packet.source.number == 1) forged = packet;
    return false;
  };
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 64)).ok());
  for (const wire::Psn psn : {11u, 500u, 0x800'009u, 9u}) {
    forged.ub.rtph.psn = psn;
    world_->pair().inject(0, forged);
  }
  forged.ub.rtph.status = wire::UbResponseStatus::kError;
  forged.ub.rtph.psn = 12;
  world_->pair().inject(0, forged);
  EXPECT_EQ(world_->counters(0).dropped_acknowledgement, 4u);
  // Of the statuses only 0 confirms (and 3 denies): the others belong to fused responses or to nobody.
  world_->pair().host(1).plugged = false;
  EXPECT_EQ(world_->post(world_->request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  const TimePs before = world_->engine(0).deadline();
  forged.ub.rtph.psn = 11;
  for (const unsigned status : {1u, 2u, 4u, 5u, 6u, 7u}) {
    for (const auto opcode : {wire::TpOpcode::kAck, wire::TpOpcode::kAckCetph, wire::TpOpcode::kSack}) {
      forged.ub.rtph.opcode = opcode;
      forged.ub.rtph.status = static_cast<wire::UbResponseStatus>(status);
      world_->pair().inject(0, forged);
    }
  }
  EXPECT_EQ(world_->counters(0).dropped_acknowledgement, 4u + 18u);
  EXPECT_EQ(world_->engine(0).deadline(), before);  // The packet still waits to be confirmed.
  world_->pair().host(1).plugged = true;
  world_->run();
  EXPECT_EQ(world_->counters(0).dropped_stale_acknowledgement, 1u);
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 64)).ok());
}

// 6.4.2: nor do those of packets that have a number while their data is still being read. Taken, they would
// end a request whose data never left.
TEST_F(Reliability, AcknowledgementsOfUnsentNumbersAreDropped) {
  test::EnginePairOptions slow;
  slow.access_shortest = slow.access_longest = microseconds(1);
  make({}, slow);
  wire::Packet acknowledgement;
  world_->pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 1 && packet.ub.rtph.opcode == wire::TpOpcode::kAck) acknowledgement = packet;
    return false;
  };
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 64)).ok());
  world_->fill(0, World::kLocal, 64, 9);
  ASSERT_EQ(world_->post(world_->request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world_->pair().memory(0).count(engine::AccessKind::kRead),
            1u);  // The second one waits for its data.
  const std::uint64_t before = world_->counters(0).dropped_acknowledgement;
  acknowledgement.ub.rtph.psn = 11;
  world_->pair().inject(0, acknowledgement);
  wire::Packet refusal = acknowledgement;
  refusal.ub.rtph.status = wire::UbResponseStatus::kError;
  world_->pair().inject(0, refusal);
  wire::Packet selective = acknowledgement;
  selective.ub.rtph.opcode = wire::TpOpcode::kSack;
  wire::use_ack(selective.ub).saetph.max_received = 11;
  selective.ub.ack.sack_bitmap.fill(std::uint8_t{0xff});
  world_->pair().inject(0, selective);
  EXPECT_EQ(world_->counters(0).dropped_acknowledgement, before + 3);
  world_->run();
  EXPECT_TRUE(world_->same(World::kLocal, World::kRemote, 64));
  EXPECT_EQ(world_->pair().host(0).completions.size(), 2u);
}

// 6.4.3: a retransmission reads memory again; the engine keeps no copy.
TEST_F(Reliability, RetransmissionReadsMemoryAgain) {
  make({.mtu = 1024, .segment_bytes = 65536});
  lose_ = {"data 11"};
  EXPECT_TRUE(world_->finish(world_->request(Verb::kWrite, 3 * 1024)).ok());
  EXPECT_EQ(world_->pair().memory(0).count(engine::AccessKind::kRead), 4u);
}

}  // namespace
}  // namespace wharf::ub
