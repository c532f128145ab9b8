// SPDX-License-Identifier: Apache-2.0
// The rules of selective repeat, one by one: what is kept, what is told, what is sent again. [decision 0110]
#include <algorithm>

#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::RocePair;
using test::RunEnd;
using test::small_packets;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

RoceConfig selective() {
  RoceConfig config = small_packets();
  config.recovery = LossRecovery::kSelective;
  return config;
}

/// Loses the first `count` packets with each of these PSNs that host `from` sends.
std::function<bool(const wire::Packet&)> lose_psns(std::vector<wire::Psn> psns, std::uint32_t from = 0) {
  return [psns, from](const wire::Packet& packet) mutable {
    const auto at = std::find(psns.begin(), psns.end(), packet.roce.bth.psn);
    if (packet.source.number != from || at == psns.end()) return false;
    psns.erase(at);
    return true;
  };
}

std::vector<wire::Packet> reports_of(const RocePair& world) {
  std::vector<wire::Packet> some;
  for (const wire::Packet& packet : world.sent_of(RoceOpcode::kRcAcknowledge)) {
    if (packet.roce.ack.aeth.syndrome == wire::nak_syndrome(wire::NakCode::kSequenceError))
      some.push_back(packet);
  }
  return some;
}

/// PSNs that host 0 sent more than once, in order of repetition.
std::vector<wire::Psn> repeated(const RocePair& world) {
  std::vector<wire::Psn> seen;
  std::vector<wire::Psn> some;
  for (const wire::Packet& packet : world.sent) {
    if (packet.source.number != 0) continue;
    const wire::Psn psn = packet.roce.bth.psn;
    if (std::find(seen.begin(), seen.end(), psn) != seen.end()) some.push_back(psn);
    seen.push_back(psn);
  }
  return some;
}

// Only what is missing goes again, however many gaps there are, and no timer is needed.
TEST(RoceSelective, SendsAgainWhatIsMissingAlone) {
  RocePair world(selective());
  world.watch();
  world.lose = lose_psns({101, 104, 105});
  world.fill(0, 0, 2560, 3);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 2560));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_TRUE(world.holds(1, 8192, 2560, 3));
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{101, 104, 105}));
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
  EXPECT_EQ(world.pair.engine(0).counters().requests_resent, 3u);
  EXPECT_EQ(world.pair.engine(1).counters().dropped_out_of_order, 0u);
}

// The report: a NAK sequence error with the first PSN that is missing, and one that is kept where the MSN is.
TEST(RoceSelective, ReportsEachRequestThatComesEarly) {
  RocePair world(selective());
  world.watch();
  world.lose = lose_psns({100});
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 1024));
  world.pair.run_until_idle();
  const auto reports = reports_of(world);
  ASSERT_EQ(reports.size(), 3u);
  for (std::uint32_t at = 0; at < 3; ++at) {
    EXPECT_EQ(reports[at].roce.bth.psn, 100u);
    EXPECT_EQ(reports[at].roce.ack.aeth.msn, 101u + at);
  }
  // The acknowledgement that ends it has the MSN again.
  EXPECT_EQ(world.sent.back().roce.ack.aeth.syndrome, wire::kAckUnlimited);
  EXPECT_EQ(world.sent.back().roce.ack.aeth.msn, 1u);
}

// Messages are executed in the order of their PSNs: Sends take receives in order, completions come in order.
TEST(RoceSelective, SendsTakeReceivesInOrder) {
  RocePair world(selective());
  world.watch();
  world.lose = lose_psns({100, 103});
  std::vector<std::uint64_t> receives;
  for (std::uint32_t at = 0; at < 4; ++at) {
    const auto receive = world.receive(16384 + at * 1024, 1024);
    receives.push_back(receive.id);
    world.pair.post_receive(1, 0, receive);
  }
  for (std::uint32_t at = 0; at < 4; ++at) {
    world.fill(0, at * 1024, 300 + at, at + 1);
    world.pair.post(0, 0, world.request(Verb::kSend, at * 1024, 0, 300 + at));
  }
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(1).size(), 4u);
  ASSERT_EQ(world.completions(0).size(), 4u);
  for (std::uint32_t at = 0; at < 4; ++at) {
    EXPECT_EQ(world.completions(1)[at].id, receives[at]);
    EXPECT_EQ(world.completions(1)[at].length, 300 + at);
    EXPECT_TRUE(world.holds(1, 16384 + at * 1024, 300 + at, at + 1));
  }
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{100, 103}));
}

// IBTA vol 1 9.7.5.2.8: the refused message goes again after the wait, and it alone.
TEST(RoceSelective, AReceiverThatIsNotReadyKeepsWhatComesBehind) {
  RocePair world(selective());
  world.watch();
  for (std::uint32_t at = 0; at < 3; ++at) world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.fill(0, 4096, 600, 5);
  world.pair.post(0, 0, world.request(Verb::kWrite, 4096, 8192, 600));
  world.pair.run_to(world.pair.now() + microseconds(50));
  for (std::uint32_t at = 0; at < 3; ++at) world.pair.post_receive(1, 0, world.receive(16384, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 4u);
  for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
  EXPECT_EQ(world.completions(1).size(), 3u);
  EXPECT_TRUE(world.holds(1, 8192, 600, 5));
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{100}));
  EXPECT_EQ(world.pair.engine(1).counters().rnr_naks_sent, 1u);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
}

// What it reports meanwhile is no loss: it costs no retry, and shortens no wait.
TEST(RoceSelective, ReportsBehindARefusedMessageCostNothing) {
  RoceConfig config = selective();
  config.retry_count = 0;
  RocePair world(config);
  world.watch();
  for (std::uint32_t at = 0; at < 3; ++at) world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_to(world.pair.now() + microseconds(50));
  for (std::uint32_t at = 0; at < 3; ++at) world.pair.post_receive(1, 0, world.receive(16384, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 3u);
  for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
}

// The refusal may wait for memory; a report that overtook it would make the refused packet look lost.
TEST(RoceSelective, NoReportOvertakesARefusal) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(3);
  RocePair world(selective(), options);
  world.watch();
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64));
  for (std::uint32_t at = 0; at < 2; ++at) world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_to(world.pair.now() + microseconds(50));
  for (std::uint32_t at = 0; at < 2; ++at) world.pair.post_receive(1, 0, world.receive(16384, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 3u);
  EXPECT_EQ(world.pair.engine(1).counters().rnr_naks_sent, 1u);
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{101}));
}

// One that was kept and finds no receive entry in its turn is refused, and must be sent again.
TEST(RoceSelective, AKeptMessageMayBeRefusedInItsTurn) {
  RocePair world(selective());
  world.watch();
  world.lose = lose_psns({100});
  world.pair.post_receive(1, 0, world.receive(16384, 64));
  for (std::uint32_t at = 0; at < 3; ++at) world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_to(world.pair.now() + microseconds(100));
  for (std::uint32_t at = 0; at < 2; ++at) world.pair.post_receive(1, 0, world.receive(16384, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 3u);
  EXPECT_EQ(world.completions(1).size(), 3u);
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{100, 101}));
}

// The part of a READ that is missing is asked for alone; the data behind it stays.
TEST(RoceSelective, AsksForMissingReadDataAlone) {
  RocePair world(selective());
  world.watch();
  world.lose = lose_psns({102, 103, 106}, 1);
  world.fill(1, 8192, 2560, 4);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 8192, 2560));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_TRUE(world.holds(0, 0, 2560, 4));
  const auto requests = world.sent_of(RoceOpcode::kRcReadRequest);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].roce.bth.psn, 102u);
  EXPECT_EQ(requests[1].roce.reth.address, RocePair::kBase + 8192 + 512);
  EXPECT_EQ(requests[1].roce.reth.length, 512u);
  EXPECT_EQ(requests[2].roce.bth.psn, 106u);
  EXPECT_EQ(requests[2].roce.reth.length, 256u);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
}

// IBTA vol 1 9.7.5.1.3: atomics and READs behind a gap are executed once, in order.
TEST(RoceSelective, AtomicsAndReadsBehindAGapAreExecutedOnce) {
  RocePair world(selective());
  world.watch();
  world.lose = [first = lose_psns({100}), answer = lose_psns({104}, 1)](const wire::Packet& packet) mutable {
    return first(packet) || answer(packet);
  };
  world.fill(0, 0, 300, 7);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 300));
  world.pair.post(0, 0, world.request(Verb::kRead, 1024, 8192, 300));
  for (std::uint32_t at = 0; at < 2; ++at) {
    auto add = world.request(Verb::kFetchAdd, 4096 + 8 * at, 65536, 8);
    add.operand = {5, 0};
    world.pair.post(0, 0, add);
  }
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 4u);
  EXPECT_TRUE(world.holds(0, 1024, 300, 7));  // What the WRITE before has placed.
  EXPECT_EQ(world.completions(0)[2].atomic_result[0], 0u);
  EXPECT_EQ(world.completions(0)[3].atomic_result[0], 5u);
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{100, 104}));
}

// A repetition that is lost is found by what was first sent after it.
TEST(RoceSelective, ALostRepetitionIsFoundByWhatIsSentLater) {
  test::EnginePairOptions options;
  options.packet_interval = nanoseconds(50);
  RocePair world(selective(), options);
  world.watch();
  world.lose = lose_psns({103, 103, 103});
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 256 * 200));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{103, 103, 103}));
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
}

// Nothing arrives behind the end of a stream: the timer sends the oldest packet again, and no other.
TEST(RoceSelective, TheTimerSendsTheOldestAlone) {
  RocePair world(selective());
  world.watch();
  bool silent = true;
  world.lose = [&](const wire::Packet& packet) { return silent && packet.source.number == 0; };
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 1024));
  world.pair.run_to(world.pair.now() + microseconds(60));
  silent = false;
  world.pair.run_to(world.pair.now() + microseconds(30));
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 1u);
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{100}));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_TRUE(world.completions(0).at(0).ok());
}

// Retries are counted as with Go-Back-N: for the oldest packet, refilled by progress.
TEST(RoceSelective, GivesUpWhenTheRetriesAreSpent) {
  RoceConfig config = selective();
  config.retry_count = 2;
  RocePair world(config);
  world.watch();
  world.lose = [](const wire::Packet& packet) {
    return packet.roce.bth.psn == 101 && packet.source.number == 0;
  };
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 1024));
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 2u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.completions(0)[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(repeated(world).size(), 2u);
  EXPECT_EQ(world.pair.engine(0).state(0), QueueState::kError);
}

// Both ends recover the same way, or there is no connection.
TEST(RoceSelective, BothEndsRecoverTheSameWay) {
  Arena arena;
  wire::PayloadPool pool;
  RoceConfig config = selective();
  auto one = RoceEngine::create(config, pool, arena).value();
  config.host = {1};
  config.recovery = LossRecovery::kGoBackN;
  auto other = RoceEngine::create(config, pool, arena).value();
  const auto a = one.create_queue(kTimeZero, {}).value();
  const auto b = other.create_queue(kTimeZero, {}).value();
  const auto refused = one.connect(kTimeZero, a, other.export_queue(b).value());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "queue pair 0 recovers by selective repeat, the peer's by Go-Back-N, expected the same");
  EXPECT_FALSE(other.connect(kTimeZero, b, one.export_queue(a).value()).ok());
}

// The narrower end decides how far the other one goes ahead.
TEST(RoceSelective, SendsNoFurtherAheadThanThePeerKeeps) {
  RoceConfig narrow = selective();
  narrow.window_packets = 4;
  RocePair world(selective(), narrow, {});
  world.watch();
  world.lose = lose_psns({100, 100});
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 4096));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_TRUE(world.completions(0).at(0).ok());
  EXPECT_EQ(world.pair.engine(1).counters().dropped_out_of_order, 0u);
  EXPECT_EQ(world.pair.engine(0).counters().requests_resent, 2u);
}

// --- Strangers ---

/// A queue pair of host 0 with eight packets of a WRITE under way, none of them answered.
struct UnderWay {
  UnderWay() : world(selective()) {
    world.watch();
    world.lose = [this](const wire::Packet&) { return silent; };
    world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 8 * 256));
    world.pair.run_to(world.pair.now() + microseconds(20));
  }
  void report(wire::Psn missing, wire::Psn arrived) {
    wire::Packet packet = wire::roce_packet();
    packet.source = {1};
    packet.destination = {0};
    packet.roce.bth.opcode = RoceOpcode::kRcAcknowledge;
    packet.roce.bth.destination_queue_pair = 17;
    packet.roce.bth.psn = missing;
    packet.roce.ack = {0, {wire::nak_syndrome(wire::NakCode::kSequenceError), arrived}};
    world.pair.inject(0, packet);
    world.pair.run_to(world.pair.now() + microseconds(5));
  }
  bool silent = true;
  RocePair world;
};

TEST(RoceSelective, ReportsOfWhatIsNotUnderWayAreDropped) {
  UnderWay under_way;
  const Counters& counters = under_way.world.pair.engine(0).counters();
  for (const auto& [missing, arrived] : {std::pair<wire::Psn, wire::Psn>{100, 108},
                                         {100, 100},
                                         {103, 103},
                                         {104, 102},
                                         {100, 99},
                                         {100, 5000},
                                         {100, 0x800000},
                                         {107, 0}}) {
    const std::uint64_t before = counters.dropped_stale_response;
    under_way.report(missing, arrived);
    EXPECT_EQ(counters.dropped_stale_response, before + 1) << missing << " " << arrived;
  }
  EXPECT_EQ(counters.requests_resent, 0u);
  EXPECT_TRUE(under_way.world.completions(0).empty());  // Nor does it acknowledge anything.
}

TEST(RoceSelective, ARepeatedReportSendsNothingTwice) {
  UnderWay under_way;
  for (int at = 0; at < 3; ++at) under_way.report(101, 104);
  under_way.report(101, 105);
  EXPECT_EQ(under_way.world.pair.engine(0).counters().requests_resent, 3u);  // 101, 102, 103.
  EXPECT_EQ(repeated(under_way.world), (std::vector<wire::Psn>{101, 102, 103}));
  under_way.silent = false;
  EXPECT_EQ(under_way.world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_TRUE(under_way.world.completions(0).at(0).ok());  // The timer finds out what was untrue.
}

// A peer that sends ahead without end fills the places of its queue pair, and nobody's else.
TEST(RoceSelective, KeepsNoMoreThanItsWindow) {
  RoceConfig config = selective();
  config.window_packets = 8;
  RocePair world(config);
  wire::Packet packet = wire::roce_packet();
  packet.source = {0};
  packet.destination = {1};
  packet.roce.bth.opcode = RoceOpcode::kRcWriteOnly;
  packet.roce.bth.destination_queue_pair = 17;
  for (std::uint32_t ahead = 1; ahead < 40; ++ahead) {
    const wire::BufferId buffer = world.pair.pool().acquire(64);
    packet.roce.bth.psn = 100 + ahead;
    packet.roce.reth = {RocePair::kBase + 8192, world.token[1].id, 64};
    packet.payload = wire::bytes_payload(world.pair.pool().data(buffer), 64, buffer);
    world.pair.engine(1).receive(world.pair.now(), 0, packet);
    world.pair.pool().release(buffer);
  }
  EXPECT_EQ(world.pair.engine(1).counters().dropped_out_of_order, 32u);
  EXPECT_EQ(world.pair.pool().in_use(), 7u);
  EXPECT_TRUE(world.pair.engine(1).reset(world.pair.now(), 0).ok());
  EXPECT_EQ(world.pair.pool().in_use(), 0u);
}

// With slow memory the answers have no room for all that is in order at once: it waits, and is not lost.
TEST(RoceSelective, WhatFindsNoRoomWaits) {
  RoceConfig config = selective();
  config.acknowledge_every_request = true;
  config.responses_ahead = 2;
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(2);
  RocePair world(config, options);
  world.watch();
  world.lose = lose_psns({100});
  for (std::uint32_t at = 0; at < 6; ++at) world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 6u);
  EXPECT_EQ(repeated(world), (std::vector<wire::Psn>{100}));
  EXPECT_EQ(world.pair.engine(1).counters().dropped_no_resources, 0u);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
}

// Requests with PSNs that a READ takes are none: they are given back when it is executed.
TEST(RoceSelective, NothingIsKeptInsideARead) {
  RocePair world(selective());
  wire::Packet packet = wire::roce_packet();
  packet.source = {0};
  packet.destination = {1};
  packet.roce.bth.opcode = RoceOpcode::kRcWriteOnly;
  packet.roce.bth.destination_queue_pair = 17;
  packet.roce.bth.psn = 102;
  const wire::BufferId buffer = world.pair.pool().acquire(64);
  packet.roce.reth = {RocePair::kBase + 8192, world.token[1].id, 64};
  packet.payload = wire::bytes_payload(world.pair.pool().data(buffer), 64, buffer);
  world.pair.engine(1).receive(world.pair.now(), 0, packet);
  world.pair.pool().release(buffer);
  EXPECT_EQ(world.pair.pool().in_use(), 1u);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 8192, 1024));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_TRUE(world.completions(0).at(0).ok());
  EXPECT_EQ(world.pair.pool().in_use(), 0u);
}

}  // namespace
}  // namespace wharf::roce
