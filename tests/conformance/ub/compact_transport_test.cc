// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 6.1 (as public documents show it): verbs over the compact transport. One packet per
// segment, one TASSN order per pair of entities, nothing repeated; what a link loses ends in the time-out of
// the transaction.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "engine/ub/compact_pair.h"
#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"
#include "tests/support/wire_bytes.h"

namespace wharf::ub {
namespace {

using engine::ServiceMode;
using engine::TransportMode;
using verbs::CompletionStatus;
using verbs::OrderTag;
using verbs::Verb;

UbConfig compact() {
  UbConfig config;
  config.transport = TransportMode::kCompact;
  config.min_rnr_timer = 1;
  config.err_timeout = 5;  // 131 us.
  return config;
}

/// Sees every packet; drops those that `drop` says.
class Observed {
 public:
  explicit Observed(World& world) {
    world.pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      packets.push_back(packet);
      return drop && drop(packet);
    };
  }
  std::vector<wire::Packet> packets;
  std::function<bool(const wire::Packet&)> drop;

  std::vector<int> request_numbers() const {
    std::vector<int> numbers;
    for (const wire::Packet& packet : packets) {
      if (packet.ub.transaction == wire::UbTransaction::kRequest) numbers.push_back(packet.ub.request.tassn);
    }
    return numbers;
  }
};

bool is_request(const wire::Packet& packet) { return packet.ub.transaction == wire::UbTransaction::kRequest; }
bool is_response(const wire::Packet& packet) {
  return packet.ub.transaction == wire::UbTransaction::kResponse;
}

void post_receive(World& world, std::uint64_t id, std::uint32_t length = 64) {
  verbs::ReceiveRequest receive{.id = id, .local_count = 1};
  receive.local[0] = {World::kRemote + 0x8000, length};
  world.pair().post_receive(1, world.queue(1), receive);
}

/// A request as host 0 sends it in the first life of the channel.
wire::Packet forged(World& world, wire::TaOpcode opcode, std::uint16_t tassn) {
  wire::Packet packet = wire::ub_packet();
  packet.source = {0};
  packet.destination = {1};
  wire::use_ctp(packet.ub).entities = {0, 1};
  packet.ub.entities = wire::UbEntities::kCompact;
  wire::Btah& header = wire::use_request(packet.ub);
  header.opcode = opcode;
  header.tassn = tassn;
  header.requester_id = world.queue(0);
  header.token_value_present = true;
  packet.ub.extension.maetah = {World::kRemote, world.token(1).id, 0};
  packet.ub.extension.token_value = world.token(1).value;
  return packet;
}

// --- What is on the wire

// 6.1, 6.2: CTPH, UPIH, EIDH and a full BTAH; the answer is a TAACK over CTP; no TPACK.
TEST(Ctp, AWriteIsOnePacketAndItsTaack) {
  World world(compact());
  world.fill(0, World::kLocal, 64);
  Observed wire(world);
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  ASSERT_EQ(wire.packets.size(), 2u);
  for (const wire::Packet& packet : wire.packets) {
    EXPECT_EQ(packet.ub.transport, wire::UbTransport::kCtp);
    EXPECT_EQ(packet.ub.ctp.opcode, wire::CtpOpcode::kData);
    EXPECT_EQ(packet.ub.entities, wire::UbEntities::kCompact);
    EXPECT_EQ(packet.ub.ctp.entities.source, packet.source.number);
    EXPECT_EQ(packet.ub.ctp.entities.destination, packet.destination.number);
    EXPECT_EQ(packet.header_bytes, wire::wire_header_bytes(packet));
  }
  EXPECT_EQ(wire.packets[0].ub.request.opcode, wire::TaOpcode::kWrite);
  EXPECT_EQ(wire.packets[1].ub.response.opcode, wire::TaOpcode::kTaack);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// 7.2: a segment is one packet with one TASSN, whatever `segment_bytes` says; a Read's are answered one by
// one.
TEST(Ctp, ASegmentIsOnePacketWithOneTassn) {
  World world(compact());
  world.fill(0, World::kLocal, 10000);
  Observed wire(world);
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 10000)).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 10000));
  EXPECT_EQ(wire.packets.size(), 6u);
  EXPECT_EQ(wire.request_numbers(), (std::vector<int>{0, 1, 2}));
  world.fill(1, World::kRemote, 9000, 5);
  wire.packets.clear();
  EXPECT_TRUE(world.finish(world.request(Verb::kRead, 9000)).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 9000));
  EXPECT_EQ(wire.packets.size(), 6u);
  EXPECT_EQ(wire.request_numbers(), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(world.counters(1).compact_requests_received, 6u);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// 6.1: one order of TASSNs for the pair of entities, whichever jetty asks.
TEST(Ctp, JettiesShareOneOrderOfTassns) {
  World world(compact(), {}, 3);
  Observed wire(world);
  for (int round = 0; round < 4; ++round) {
    for (std::size_t queue = 0; queue < 3; ++queue) {
      auto request = world.request(round % 2 == 0 ? Verb::kWrite : Verb::kRead, 64, 64 * queue);
      request.peer = world.peer(0, queue);
      ASSERT_EQ(world.pair().post(0, world.queue(0, queue), request), engine::PostStatus::kOk);
    }
  }
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 12u);
  std::vector<int> expected(12);
  for (int i = 0; i < 12; ++i) expected[i] = i;
  EXPECT_EQ(wire.request_numbers(), expected);
}

// TASSN has 16 bits.
TEST(Ctp, TassnsWrap) {
  UbConfig config = compact();
  config.transactions_per_jetty = 2048;
  World world(config);
  Observed wire(world);
  for (int i = 0; i < 66000; ++i) {
    ASSERT_EQ(world.post(world.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
    if (i % 100 == 99) world.run();
    wire.packets.clear();
  }
  EXPECT_EQ(world.pair().host(0).completions.size(), 66000u);
  EXPECT_EQ(world.counters(1).compact_requests_received, 66000u);
  EXPECT_EQ(world.counters(1).sequence_gaps, 0u);
  EXPECT_EQ(world.counters(1).dropped_sequence, 0u);
}

// 6.1: every framing that can announce CTPH carries it.
TEST(Ctp, TravelsAsBytesInEveryFramingThatHasIt) {
  for (const auto encapsulation :
       {wire::UbEncapsulation::kUdp, wire::UbEncapsulation::kIpOnLink, wire::UbEncapsulation::kCna24OnLink,
        wire::UbEncapsulation::kCna16OnLink}) {
    SCOPED_TRACE(static_cast<int>(encapsulation));
    UbConfig config = compact();
    config.encapsulation = encapsulation;
    test::EnginePairOptions options;
    options.wire.transform = test::through_bytes;
    World world(config, options);
    world.fill(0, World::kLocal, 5001);
    EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 5001)).ok());
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 5001));
    world.fill(1, World::kRemote, 5001, 9);
    EXPECT_TRUE(world.finish(world.request(Verb::kRead, 5001)).ok());
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 5001));
    EXPECT_TRUE(world.finish(world.request(Verb::kFetchAdd, 8)).ok());
    EXPECT_EQ(world.pair().pool().in_use(), 0u);
  }
}

// --- Verbs

TEST(Ctp, CarriesEveryVerb) {
  World world(compact());
  world.fill(0, World::kLocal, 9000);
  auto notify = world.request(Verb::kWriteNotify, 9000);
  notify.notify = {World::kRemote + 0x9000, world.token(1)};
  notify.immediate = 0x1122334455667788;
  EXPECT_TRUE(world.finish(notify).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 9000));
  std::uint64_t word = 0;
  std::memcpy(&word, world.pair().memory(1).at(World::kRemote + 0x9000, 8).data(), 8);
  EXPECT_EQ(word, 0x1122334455667788u);
  for (const Verb verb : {Verb::kWriteImm, Verb::kSend, Verb::kSendImm}) {
    post_receive(world, 5, 4096);
    auto request = world.request(verb, 4096);
    request.immediate = 77;
    EXPECT_TRUE(world.finish(request).ok());
    EXPECT_EQ(world.pair().host(1).completions.back().verb, verb);
  }
  for (int verb = static_cast<int>(Verb::kCompareSwap); verb <= static_cast<int>(Verb::kFetchXor); ++verb) {
    auto request = world.request(static_cast<Verb>(verb), 8, 0x4000);
    request.operand = {3, 0};
    EXPECT_TRUE(world.finish(request).ok()) << verb;
  }
  auto wide = world.request(Verb::kCompareSwap, 16, 0x4010);
  wide.operand = {1, 2};
  EXPECT_TRUE(world.finish(wide).ok());
  EXPECT_EQ(world.counters(0).packets_retransmitted, 0u);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// URMA's limit: a Send is one segment.
TEST(Ctp, ASendIsAtMostOnePacket) {
  World world(compact());
  EXPECT_EQ(world.post(world.request(Verb::kSend, 4097)), engine::PostStatus::kBadRequest);
  EXPECT_EQ(world.engine(0).capabilities().max_send_bytes, 4096u);
}

// 7.4: ROI is the initiator's, whatever carries the requests.
TEST(Ctp, StrongRequestsWaitForTheAnswersOfEarlierOnes) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(1);
  World world(compact(), options);
  Observed wire(world);
  for (int i = 0; i < 3; ++i) {
    auto request = world.request(Verb::kWrite, 64);
    request.order = OrderTag::kStrong;
    ASSERT_EQ(world.post(request), engine::PostStatus::kOk);
  }
  world.run();
  ASSERT_EQ(wire.packets.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(is_request(wire.packets[i]), i % 2 == 0);
}

// 7.3: what the target refuses, and what comes again, has the answers of RTP; it comes again as a new number.
TEST(Ctp, ReceiverNotReadyComesAgainUnderAnotherTassn) {
  World world(compact());
  Observed wire(world);
  ASSERT_EQ(world.post(world.request(Verb::kSend, 64)), engine::PostStatus::kOk);
  world.pair().run_until([&] { return world.counters(0).receiver_not_ready_retries == 2; });
  post_receive(world, 9);
  world.run();
  ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
  EXPECT_TRUE(world.pair().host(0).completions[0].ok());
  EXPECT_EQ(wire.request_numbers(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(world.counters(1).dropped_sequence, 0u);
  auto bad = world.request(Verb::kWrite, 64);
  bad.remote.token.value ^= 1;
  EXPECT_EQ(world.finish(bad).status, CompletionStatus::kRemoteAccess);
}

// --- Losses

// 6.1, URMA err_timeout: nobody sends a lost request again; the transaction says so after its time, and what
// comes behind it is not held back.
TEST(Ctp, ALostRequestEndsInAnAcknowledgementTimeout) {
  World world(compact());
  world.fill(0, World::kLocal, 64);
  Observed wire(world);
  int seen = 0;
  wire.drop = [&](const wire::Packet& packet) { return is_request(packet) && seen++ == 1; };
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(world.post(world.request(Verb::kWrite, 64, 64 * static_cast<std::uint64_t>(i))),
              engine::PostStatus::kOk);
  world.run();
  const auto& completions = world.pair().host(0).completions;
  ASSERT_EQ(completions.size(), 3u);
  EXPECT_TRUE(completions[0].ok());
  EXPECT_EQ(completions[1].status, CompletionStatus::kRetryExhausted);
  EXPECT_TRUE(completions[2].ok());
  EXPECT_FALSE(world.same(World::kLocal, World::kRemote + 64, 64));
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote + 128, 64));
  EXPECT_EQ(world.counters(0).answers_timed_out, 1u);
  EXPECT_EQ(world.counters(0).packets_retransmitted, 0u);
  EXPECT_EQ(world.counters(0).timeouts, 0u);
  EXPECT_EQ(world.counters(1).sequence_gaps, 1u);
  EXPECT_GE(world.now(), error_timeout(5));
}

// 7.3: what was executed is not executed again because its answer was lost, and the status leaves it open.
TEST(Ctp, ALostAnswerEndsInAnAcknowledgementTimeoutToo) {
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kFetchAdd}) {
    World world(compact());
    Observed wire(world);
    wire.drop = is_response;
    auto request = world.request(verb, 8);
    request.operand = {5, 0};
    EXPECT_EQ(world.finish(request).status, CompletionStatus::kRetryExhausted);
    EXPECT_EQ(wire.packets.size(), 2u);
    wire.drop = nullptr;
    if (verb != Verb::kFetchAdd) continue;
    request.id += 1;
    EXPECT_EQ(world.finish(request).atomic_result[0], 5u);
  }
}

// A request of several segments ends once, with what became of its parts.
TEST(Ctp, ARequestWithALostPartEndsOnce) {
  World world(compact());
  Observed wire(world);
  int seen = 0;
  wire.drop = [&](const wire::Packet& packet) { return is_request(packet) && seen++ == 1; };
  auto request = world.request(Verb::kWriteImm, 12000);
  post_receive(world, 3);
  EXPECT_EQ(world.finish(request).status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.pair().host(0).completions.size(), 1u);
  EXPECT_TRUE(world.pair().host(1).completions.empty());  // It announces nothing.
}

// A queue that is made to stop at such a fault does.
TEST(Ctp, ALossIsAFaultOfTheTransportToItsQueue) {
  World world(compact());
  engine::QueueConfig config;
  config.on_fault = engine::FaultMode::kSuspend;
  const engine::QueueId queue = *world.engine(0).create_queue(world.now(), config);
  const auto blob = *world.engine(1).export_queue(world.queue(1));
  auto request = world.request(Verb::kWrite, 64);
  request.peer = *world.engine(0).connect(world.now(), queue, blob);
  Observed wire(world);
  wire.drop = is_request;
  ASSERT_EQ(world.pair().post(0, queue, request), engine::PostStatus::kOk);
  world.run();
  EXPECT_EQ(world.engine(0).queue_state(queue), engine::QueueState::kSuspended);
}

// 6.1: numbers that were seen, and those that later ones have overtaken, are not executed.
TEST(Ctp, ACopyIsNotExecuted) {
  test::EnginePairOptions options;
  options.wire.duplicate = Probability::from(1.0);
  World world(compact(), options);
  for (std::uint64_t i = 0; i < 10; ++i) {
    auto request = world.request(Verb::kFetchAdd, 8);
    request.operand = {1, 0};
    EXPECT_EQ(world.finish(request).atomic_result[0], i);
  }
  EXPECT_EQ(world.counters(1).dropped_sequence, 10u);
  EXPECT_EQ(world.counters(0).dropped_response, 10u);
}

// More losses in a row than there are numbers: both ends find together again.
TEST(Ctp, AnyNumberOfLossesIsOver) {
  UbConfig config = compact();
  config.err_timeout = 0;
  World world(config);
  Observed wire(world);
  wire.drop = is_request;
  for (int i = 0; i < 40000; ++i) {
    ASSERT_EQ(world.post(world.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
    if (i % 100 == 99) world.run();
    wire.packets.clear();
  }
  wire.drop = nullptr;
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 8)).ok());
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 8)).ok());
  EXPECT_EQ(world.counters(0).answers_timed_out, 40000u);
}

// ns-3-UB: a window of 2048 TASSNs. One that is not answered holds its place until its time is over.
TEST(Ctp, TheWindowOfTassnsBoundsWhatIsOutstanding) {
  UbConfig config = compact();
  config.transactions_per_jetty = 4096;
  config.inbound_messages = 8192;
  World world(config);
  engine::QueueConfig deep;
  deep.send_depth = 4096;
  const engine::QueueId queue = *world.engine(0).create_queue(world.now(), deep);
  const verbs::PeerId peer =
      *world.engine(0).connect(world.now(), queue, *world.engine(1).export_queue(world.queue(1)));
  Observed wire(world);
  int seen = 0;
  wire.drop = [&](const wire::Packet& packet) { return is_request(packet) && seen++ == 0; };
  for (int i = 0; i < 3000; ++i) {
    auto request = world.request(Verb::kWrite, 8);
    request.peer = peer;
    ASSERT_EQ(world.pair().post(0, queue, request), engine::PostStatus::kOk);
    if (i % 64 == 63) world.pair().run_to(world.now() + nanoseconds(500));
  }
  EXPECT_EQ(wire.request_numbers().size(), CompactPair::kWindow);
  EXPECT_LT(world.now(), error_timeout(5));
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 3000u);
  EXPECT_EQ(world.counters(0).answers_timed_out, 1u);
}

// --- Who may use it

TEST(Ctp, WhatCannotBeIsRefusedInOneSentence) {
  const auto refusal = [](const std::function<void(UbConfig&)>& change) {
    UbConfig config = compact();
    change(config);
    const Result<void> checked = validate(config);
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refusal([](UbConfig&) {}), "");
  EXPECT_EQ(refusal([](UbConfig& c) { c.encapsulation = wire::UbEncapsulation::kCna16OnLink; }), "");
  EXPECT_NE(refusal([](UbConfig& c) { c.service = ServiceMode::kOrderedByTarget; }).find("rot"),
            std::string::npos);
  EXPECT_NE(refusal([](UbConfig& c) { c.service = ServiceMode::kOrderedByTransport; }).find("rol"),
            std::string::npos);
  EXPECT_NE(refusal([](UbConfig& c) { c.service = ServiceMode::kUnordered; }).find("uno"), std::string::npos);
  EXPECT_NE(refusal([](UbConfig& c) { c.spread = ChannelSpread::kPacket; }).find("ub.spread"),
            std::string::npos);
  EXPECT_NE(refusal([](UbConfig& c) { c.congestion = congestion::SwiftConfig{}; }).find("ub.congestion"),
            std::string::npos);
  EXPECT_NE(refusal([](UbConfig& c) {
              c.encapsulation = wire::UbEncapsulation::kRawEthernet;
              c.mtu = 256;
            }).find("OpenURMA"),
            std::string::npos);
  EXPECT_NE(refusal([](UbConfig& c) {
              c.encapsulation = wire::UbEncapsulation::kCna16OnLink;
              c.transport = TransportMode::kReliable;
            }).find("CNA16"),
            std::string::npos);
  // Of jetties as of engines.
  World world(compact());
  engine::QueueConfig queue;
  queue.transport = TransportMode::kCompact;
  queue.service = ServiceMode::kOrderedByTransport;
  EXPECT_FALSE(world.engine(0).create_queue(world.now(), queue).ok());
}

// Jetties of all kinds between the same hosts: each has its own way.
TEST(Ctp, JettiesOfBothTransportsWorkSideBySide) {
  UbConfig config = compact();
  config.transport = TransportMode::kReliable;
  World world(config);
  Observed wire(world);
  const TransportMode modes[2] = {TransportMode::kCompact, TransportMode::kReliable};
  engine::QueueId queue[2];
  for (std::uint32_t host = 0; host < 2; ++host) {
    engine::QueueConfig made;
    made.transport = modes[host];
    queue[host] = *world.engine(host).create_queue(world.now(), made);
  }
  verbs::PeerId peer[2];
  for (std::uint32_t host = 0; host < 2; ++host) {
    const auto blob = *world.engine(1 - host).export_queue(queue[1 - host]);
    peer[host] = *world.engine(host).connect(world.now(), queue[host], blob);
  }
  for (std::uint32_t host = 0; host < 2; ++host) {
    wire.packets.clear();
    auto request = world.request(Verb::kWrite, 64);
    request.peer = peer[host];
    request.remote.token = world.token(1 - host);
    ASSERT_EQ(world.pair().post(host, queue[host], request), engine::PostStatus::kOk);
    world.run();
    EXPECT_TRUE(world.pair().host(host).completions.back().ok());
    EXPECT_EQ(wire.packets[0].ub.transport, host == 0 ? wire::UbTransport::kCtp : wire::UbTransport::kRtp);
    EXPECT_EQ(wire.packets.size(), host == 0 ? 2u : 4u);
  }
}

// A peer that knows only RTP's records and one that has one record in its cache.
TEST(Ctp, WorksWithOneContextRecord) {
  UbConfig config = compact();
  config.context_cache_entries = 1;
  test::EnginePairOptions options;
  options.access_shortest = nanoseconds(50);
  options.access_longest = nanoseconds(900);
  World world(config, options);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(world.post(world.request(i % 2 == 0 ? Verb::kWrite : Verb::kRead, 6000)),
              engine::PostStatus::kOk);
  }
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 40u);
  for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// 6.6: a mark comes back as CTPH opcode 1, and DCQCN hears of it.
TEST(Ctp, AMarkBecomesACnp) {
  UbConfig config = compact();
  config.congestion = congestion::DcqcnConfig{};
  config.min_time_between_cnps = microseconds(50);
  test::EnginePairOptions options;
  options.wire.transform = [](wire::Packet& packet, bool damaged, RandomStream&, wire::PayloadPool&) {
    if (is_request(packet)) wire::mark_congestion(packet);
    return !damaged;
  };
  World world(config, options);
  Observed wire(world);
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 4096)).ok());
  EXPECT_EQ(std::count_if(wire.packets.begin(), wire.packets.end(),
                          [](const wire::Packet& packet) {
                            return packet.ub.transport == wire::UbTransport::kCtp &&
                                   packet.ub.ctp.opcode == wire::CtpOpcode::kCnp;
                          }),
            1);
  EXPECT_EQ(world.engine(0).congestion_counters().notifications_received, 1u);
}

// --- Strangers

// 7.2, No_TAACK: executed, and nothing comes back; a Read is answered by its data all the same.
TEST(Ctp, NoTaackSilencesTheAnswer) {
  World world(compact());
  Observed wire(world);
  wire::Packet packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.request.no_acknowledge = true;
  world.pair().inject(1, packet);
  world.run();
  EXPECT_TRUE(wire.packets.empty());
  packet.ub.request.opcode = wire::TaOpcode::kRead;
  packet.ub.request.tassn = 1;
  world.pair().inject(1, packet);
  world.run();
  EXPECT_EQ(wire.packets.size(), 1u);
  EXPECT_EQ(world.counters(1).compact_requests_received, 2u);
}

// Whatever cannot be believed is dropped or refused, and counted by its reason.
TEST(Ctp, ForgedPacketsAreCountedByReason) {
  World world(compact());
  const auto hear = [&](const wire::Packet& packet) { world.pair().inject(1, packet); };
  wire::Packet packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.source = {7};
  hear(packet);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.ctp.entities.source = 0x1'0001;  // The next life.
  hear(packet);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.ctp.entities.destination = 0;
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_unknown_channel, 3u);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.entities = wire::UbEntities::kNone;
  hear(packet);
  packet.ub.entities = wire::UbEntities::kFull;
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_transport, 2u);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.encapsulation = wire::UbEncapsulation::kCna24OnLink;
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_encapsulation, 1u);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.transaction = wire::UbTransaction::kNone;
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_malformed, 1u);
  packet.ub.ctp.opcode = wire::CtpOpcode::kCnp;
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_tp_opcode, 1u);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  wire::use_response(packet.ub).requester_id = world.queue(1);
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_response, 1u);
  packet = forged(world, wire::TaOpcode::kWrite, 65535);
  hear(packet);
  EXPECT_EQ(world.counters(1).dropped_sequence, 1u);
  packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.request.requester_type = wire::RequesterContextType::kSequence;
  hear(packet);
  EXPECT_EQ(world.counters(1).refused_sequence, 1u);
  packet = forged(world, wire::TaOpcode::kWrite, 1);
  packet.ub.extension.token_value ^= 1;
  hear(packet);
  EXPECT_EQ(world.counters(1).refused_access, 1u);
  EXPECT_EQ(world.counters(1).compact_requests_received, 2u);
  world.run();
  EXPECT_EQ(world.counters(0).dropped_response, 2u);  // The refusals, which host 0 did not ask for.
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// An answer of another kind than was asked for is none, and the true one is still taken.
TEST(Ctp, AnAnswerOfAnotherKindIsDropped) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(5);
  World world(compact(), options);
  ASSERT_EQ(world.post(world.request(Verb::kRead, 64)), engine::PostStatus::kOk);
  world.pair().run_until([&] { return world.counters(1).compact_requests_received == 1; });
  wire::Packet packet = forged(world, wire::TaOpcode::kWrite, 0);
  std::swap(packet.source, packet.destination);
  packet.ub.ctp.entities = {1, 0};
  wire::Atah& header = wire::use_response(packet.ub);
  header.opcode = wire::TaOpcode::kTaack;
  header.requester_id = world.queue(0);
  world.pair().inject(0, packet);
  EXPECT_EQ(world.counters(0).dropped_response, 1u);
  world.run();
  EXPECT_TRUE(world.pair().host(0).completions.at(0).ok());
}

// The number is the pair's: an answer that names another jetty than the one that asked under it is none.
TEST(Ctp, AnAnswerIsForTheJettyThatAsked) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(5);
  World world(compact(), options, 2);
  for (std::size_t queue = 0; queue < 2; ++queue) {
    auto request = world.request(Verb::kRead, 64);
    request.peer = world.peer(0, queue);
    ASSERT_EQ(world.pair().post(0, world.queue(0, queue), request), engine::PostStatus::kOk);
  }
  world.pair().run_until([&] { return world.counters(1).compact_requests_received == 2; });
  wire::Packet packet = forged(world, wire::TaOpcode::kWrite, 0);
  std::swap(packet.source, packet.destination);
  packet.ub.ctp.entities = {1, 0};
  wire::Atah& header = wire::use_response(packet.ub);
  header.opcode = wire::TaOpcode::kTaack;
  header.status = wire::UbResponseStatus::kError;
  header.tassn = 0;  // That of the first jetty's request, which is its own first, too.
  header.requester_id = world.queue(0, 1);
  world.pair().inject(0, packet);
  EXPECT_EQ(world.counters(0).dropped_response, 1u);
  world.run();
  for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
  EXPECT_EQ(world.pair().host(0).completions.size(), 2u);
}

// A target whose places for what waits for its own memory are taken asks for patience: nobody repeats
// unasked.
TEST(Ctp, ATargetShortOfPlacesAsksToComeAgain) {
  UbConfig config = compact();
  config.parked_packets = 1;
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(2);
  World world(config, options);
  for (std::uint64_t i = 0; i < 8; ++i) {
    post_receive(world, i);
    ASSERT_EQ(world.post(world.request(Verb::kSend, 64)), engine::PostStatus::kOk);
  }
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 8u);
  for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
  EXPECT_GT(world.counters(1).receiver_not_ready_sent, 0u);
  EXPECT_EQ(world.counters(1).dropped_no_room, 0u);
}

// 6.3.1: packets of an earlier life are of no channel: the entity ids say which life it is.
TEST(Ctp, PacketsOfAnEarlierLifeAreDropped) {
  World world(compact());
  auto decoded = *decode_queue_blob(*world.engine(0).export_queue(world.queue(0)));
  decoded.first_incarnation = 1;
  ASSERT_TRUE(world.engine(1).connect(world.now(), world.queue(1), encode(decoded)).ok());
  world.pair().inject(1, forged(world, wire::TaOpcode::kWrite, 0));
  EXPECT_EQ(world.counters(1).dropped_unknown_channel, 1u);
  wire::Packet packet = forged(world, wire::TaOpcode::kWrite, 0);
  packet.ub.ctp.entities = {entity_of({0}, 1), entity_of({1}, 1)};
  world.pair().inject(1, packet);
  EXPECT_EQ(world.counters(1).compact_requests_received, 1u);
}

// --- Everything at once

// Whatever a bad link does: each request completes once; well, and then what it asked for has happened once;
// or with the time-out, and then once or never.
TEST(Ctp, RandomRequestsOverABadLinkHappenOnceOrAreReported) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "ctp.mix");
    UbConfig config = compact();
    config.mtu = seed % 2 == 0 ? 256 : 1024;
    config.context_cache_entries = seed % 3 == 0 ? 2 : 0;
    test::EnginePairOptions options = faulty(seed, seed % 4 == 0 ? 0.0 : 3.0);
    options.access_shortest = nanoseconds(50);
    options.access_longest = nanoseconds(900);
    World world(config, options, 2);
    constexpr std::uint32_t kPiece = 2048;
    int adds = 0;
    for (std::uint64_t i = 0; i < 120; ++i) {
      const auto queue = static_cast<std::size_t>(random.below(2));
      const std::uint64_t draw = random.below(4);
      auto request = world.request(draw == 0   ? Verb::kFetchAdd
                                   : draw == 1 ? Verb::kRead
                                   : draw == 2 ? Verb::kWrite
                                               : Verb::kSend,
                                   draw == 0 ? 8 : 64 + static_cast<std::uint32_t>(random.below(192)));
      request.id = i;
      request.peer = world.peer(0, queue);
      request.order = static_cast<OrderTag>(random.below(3));
      if (draw == 0) {
        ++adds;
        request.operand = {1, 0};
      } else {
        request.local[0].address = World::kLocal + kPiece * i;
        request.remote.address = World::kRemote + 64 + kPiece * i;
        request.length = request.local[0].length =
            draw == 3 ? request.length : static_cast<std::uint32_t>(random.below(kPiece - 64));
        world.fill(draw == 1 ? 1 : 0, draw == 1 ? request.remote.address : request.local[0].address,
                   request.length, static_cast<std::uint32_t>(i));
      }
      if (draw == 3) {
        verbs::ReceiveRequest receive{.id = i, .local_count = 1};
        receive.local[0] = {World::kRemote + 0x7'0000, 256};
        world.pair().post_receive(1, world.queue(1, queue), receive);
      }
      ASSERT_EQ(world.pair().post(0, world.queue(0, queue), request), engine::PostStatus::kOk);
      if (random.below(3) == 0)
        world.pair().run_to(world.now() + nanoseconds(static_cast<std::int64_t>(random.below(4000))));
    }
    world.run();
    std::vector<int> reports(120);
    int failed = 0;
    int adds_ok = 0;
    for (const auto& completion : world.pair().host(0).completions) {
      ++reports[completion.id];
      if (!completion.ok()) {
        ++failed;
        EXPECT_EQ(completion.status, CompletionStatus::kRetryExhausted);
      } else if (completion.verb == Verb::kFetchAdd) {
        ++adds_ok;
      } else if (completion.verb != Verb::kSend) {
        EXPECT_TRUE(world.same(World::kLocal + kPiece * completion.id,
                               World::kRemote + 64 + kPiece * completion.id, completion.length));
      }
    }
    for (const int times : reports) EXPECT_EQ(times, 1);
    std::uint64_t counted = 0;
    std::memcpy(&counted, world.pair().memory(1).at(World::kRemote, 8).data(), 8);
    EXPECT_GE(counted, static_cast<std::uint64_t>(adds_ok));
    EXPECT_LE(counted, static_cast<std::uint64_t>(adds));
    if (seed % 4 == 0) {
      EXPECT_EQ(failed, 0);
    } else {
      EXPECT_EQ(world.counters(0).answers_timed_out > 0, failed > 0);
    }
    EXPECT_EQ(world.pair().pool().in_use(), 0u);
  }
}

}  // namespace
}  // namespace wharf::ub
