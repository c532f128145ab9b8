// SPDX-License-Identifier: Apache-2.0
// Unreliable service: connections whose messages arrive whole or not at all (UC), and datagrams (UD).
// [IBTA vol 1 9.8]
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"
#include "wire/frame.h"

namespace wharf::roce {
namespace {

using engine::PostStatus;
using engine::ServiceMode;
using test::RocePair;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

constexpr std::uint32_t kMtu = 256;
constexpr std::uint32_t kHeaderRoom = 40;
constexpr std::uint32_t kKey = 0x1234;

RoceConfig small_packets() {
  RoceConfig config;
  config.path_mtu = kMtu;
  config.starting_psn = 100;
  return config;
}

/// Two hosts with a queue pair each, and no memory of what was sent before the first watch().
struct World : RocePair {
  explicit World(ServiceMode service, const RoceConfig& config = small_packets(),
                 const test::EnginePairOptions& options = {})
      : RocePair(config, options, 1, {.token = kKey, .service = service}) {
    watch();
  }
  PostStatus give(verbs::WorkRequest request, std::uint32_t from = 0) {
    request.peer = 0;
    return pair.post(from, 0, request);
  }
  void expect(std::uint64_t local, std::uint32_t length) {
    ASSERT_EQ(pair.post_receive(1, 0, receive(local, length)), PostStatus::kOk);
  }
  const Counters& counters(std::uint32_t host = 1) { return pair.engine(host).counters(); }
  std::vector<RoceOpcode> opcodes() const {
    std::vector<RoceOpcode> all;
    for (const wire::Packet& packet : sent) all.push_back(packet.roce.bth.opcode);
    return all;
  }
  /// Packets that did not come from host 0.
  std::size_t answers() const {
    return static_cast<std::size_t>(std::count_if(
        sent.begin(), sent.end(), [](const wire::Packet& packet) { return packet.source.number != 0; }));
  }
};

// --- Both

TEST(RoceUnreliable, Ibta_table_38_RequestsOfOtherServicesAreRefusedAtPost) {
  const Verb kUnreliable[] = {Verb::kWrite, Verb::kWriteImm, Verb::kSend, Verb::kSendImm};
  for (const ServiceMode service : {ServiceMode::kUnreliable, ServiceMode::kUnordered}) {
    World world(service);
    for (int number = 0; number < verbs::kVerbCount; ++number) {
      const auto verb = static_cast<Verb>(number);
      const bool taken =
          std::find(std::begin(kUnreliable), std::end(kUnreliable), verb) != std::end(kUnreliable) &&
          (service == ServiceMode::kUnreliable || verbs::is_send(verb));
      const auto request = world.request(verb, 0, 0, verbs::is_atomic(verb) ? 8 : 64);
      EXPECT_EQ(world.give(request), taken ? PostStatus::kOk : PostStatus::kUnsupported) << verbs::name(verb);
      EXPECT_EQ(supports(*service_of(service), verb), taken);
    }
  }
}

TEST(RoceUnreliable, Ibta_9_8_RequestsAreCompleteWhenTheyHaveLeft) {
  for (const ServiceMode service : {ServiceMode::kUnreliable, ServiceMode::kUnordered}) {
    World world(service);
    world.lose = [](const wire::Packet&) { return true; };
    ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 64)), PostStatus::kOk);
    ASSERT_EQ(world.completions(0).size(), 1U);
    EXPECT_TRUE(world.completions(0)[0].ok());
    EXPECT_EQ(world.pair.engine(0).deadline(), kNever);
    EXPECT_FALSE(world.sent.at(0).roce.bth.acknowledge_request);
  }
}

TEST(RoceUnreliable, Ibta_9_6_1_PacketsOfAnotherServiceAreDropped) {
  const ServiceMode kServices[] = {ServiceMode::kDefault, ServiceMode::kUnreliable, ServiceMode::kUnordered};
  const RoceOpcode kSends[] = {RoceOpcode::kRcSendOnly, RoceOpcode::kUcSendOnly, RoceOpcode::kUdSendOnly};
  for (std::size_t service = 0; service < 3; ++service) {
    for (std::size_t other = 0; other < 3; ++other) {
      World world(kServices[service]);
      world.expect(4096, 1024);
      ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 64)), PostStatus::kOk);
      wire::Packet packet = world.sent.at(0);
      world.pair.run_until_idle();
      world.expect(4096, 1024);
      packet.roce.bth.opcode = kSends[other];
      packet.payload = wire::pattern_payload(1, 0, 64);
      packet.roce.bth.psn = 101;
      if (other == 2) packet.roce.deth = {kKey, 17};
      world.sent.clear();
      world.pair.inject(1, packet);
      EXPECT_EQ(world.completions(1).size(), service == other ? 2U : 1U) << service << " " << other;
      EXPECT_EQ(world.counters().dropped_service, service == other ? 0U : 1U);
    }
  }
}

TEST(RoceUnreliable, ConnectsAndMakesWhatCanBe) {
  World reliable(ServiceMode::kDefault);
  World unreliable(ServiceMode::kUnreliable);
  World datagrams(ServiceMode::kUnordered);
  EXPECT_EQ(reliable.pair.engine(0).export_queue(0)->size(), 20U);
  for (World* world : {&unreliable, &datagrams}) {
    const auto blob = world->pair.engine(0).export_queue(0).value();
    const auto decoded = decode_exchange(blob);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(encode(*decoded), blob);
    for (std::size_t at = 0; at < blob.size(); ++at) {
      auto wrong = blob;
      wrong[at] ^= std::byte{0x80};
      const auto read = decode_exchange(wrong);
      if (read.ok()) {
        EXPECT_EQ(encode(*read), wrong) << at;
      }
    }
    auto cut = blob;
    cut.pop_back();
    EXPECT_FALSE(decode_exchange(cut).ok());
    ASSERT_TRUE(reliable.pair.engine(0).disconnect(kTimeZero, 0, 0).ok());
    const auto refused = reliable.pair.engine(0).connect(kTimeZero, 0, blob);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("expected the same"), std::string::npos);
  }
  RoceConfig controlled = small_packets();
  controlled.congestion = congestion::ConstantWindowConfig{.packets = 4};
  wire::PayloadPool pool;
  Arena arena;
  RoceEngine engine = RoceEngine::create(controlled, pool, arena).value();
  EXPECT_TRUE(engine.create_queue(kTimeZero, {}).ok());
  EXPECT_FALSE(engine.create_queue(kTimeZero, {.service = ServiceMode::kUnreliable}).ok());
  EXPECT_FALSE(engine.create_queue(kTimeZero, {.service = ServiceMode::kOrderedByTarget}).ok());
  EXPECT_TRUE(engine.capabilities().serves(ServiceMode::kUnordered));
  EXPECT_FALSE(engine.capabilities().serves(ServiceMode::kOrderedByInitiator));
  EXPECT_TRUE(engine.capabilities().suspends);
}

// --- Unreliable connections

TEST(RoceUnreliable, Ibta_9_8_2_CarriesSendsAndWritesWithoutAnswers) {
  World world(ServiceMode::kUnreliable);
  world.fill(0, 0, 1000, 3);
  for (int each = 0; each < 3; ++each) world.expect(8192, 1024);
  verbs::WorkRequest with_immediate = world.request(Verb::kWriteImm, 0, 4096, 700);
  with_immediate.immediate = 0xabcd;
  verbs::WorkRequest send = world.request(Verb::kSendImm, 0, 0, 200);
  send.immediate = 0x1234;
  send.solicited = true;
  ASSERT_EQ(world.give(world.request(Verb::kWrite, 0, 16384, 600)), PostStatus::kOk);
  ASSERT_EQ(world.give(with_immediate), PostStatus::kOk);
  ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 1000)), PostStatus::kOk);
  ASSERT_EQ(world.give(send), PostStatus::kOk);
  ASSERT_EQ(world.give(world.request(Verb::kWrite, 0, 32768, 0)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(
      world.opcodes(),
      (std::vector{RoceOpcode::kUcWriteFirst, RoceOpcode::kUcWriteMiddle, RoceOpcode::kUcWriteLast,
                   RoceOpcode::kUcWriteFirst, RoceOpcode::kUcWriteMiddle, RoceOpcode::kUcWriteLastImmediate,
                   RoceOpcode::kUcSendFirst, RoceOpcode::kUcSendMiddle, RoceOpcode::kUcSendMiddle,
                   RoceOpcode::kUcSendLast, RoceOpcode::kUcSendOnlyImmediate, RoceOpcode::kUcWriteOnly}));
  EXPECT_EQ(world.answers(), 0U);
  EXPECT_EQ(world.completions(0).size(), 5U);
  ASSERT_EQ(world.completions(1).size(), 3U);
  const auto& received = world.completions(1);
  EXPECT_EQ(received[0].verb, Verb::kWriteImm);
  EXPECT_EQ(received[0].immediate, 0xabcdU);
  EXPECT_EQ(received[0].length, 700U);
  EXPECT_EQ(received[1].verb, Verb::kSend);
  EXPECT_EQ(received[1].length, 1000U);
  EXPECT_EQ(received[2].verb, Verb::kSendImm);
  EXPECT_EQ(received[2].immediate, 0x1234U);
  EXPECT_TRUE(received[2].solicited);
  EXPECT_EQ(received[2].remote_host, 0U);
  EXPECT_TRUE(world.holds(1, 16384, 600, 3));
  EXPECT_TRUE(world.holds(1, 4096, 700, 3));
  EXPECT_TRUE(world.holds(1, 8192, 200, 3));
}

// Each packet of a message of four is lost in turn; the entry that it had taken serves the next message.
TEST(RoceUnreliable, Ibta_9_8_2_2_AGapDropsTheMessage) {
  for (const Verb verb : {Verb::kSend, Verb::kWriteImm}) {
    for (Psn lost = 100; lost < 104; ++lost) {
      SCOPED_TRACE(std::string(verbs::name(verb)) + " " + std::to_string(lost));
      World world(ServiceMode::kUnreliable);
      world.lose = [lost](const wire::Packet& packet) { return packet.roce.bth.psn == lost; };
      world.fill(0, 0, 1000, 1);
      world.fill(0, 1000, 300, 2);
      world.expect(8192, 1024);
      ASSERT_EQ(world.give(world.request(verb, 0, 4096, 1000)), PostStatus::kOk);
      ASSERT_EQ(world.give(world.request(Verb::kSend, 1000, 0, 300)), PostStatus::kOk);
      world.pair.run_until_idle();
      ASSERT_EQ(world.completions(1).size(), 1U);
      EXPECT_EQ(world.completions(1)[0].length, 300U);
      EXPECT_TRUE(world.holds(1, 8192, 300, 2));
      EXPECT_EQ(world.counters().messages_cut, lost == 100 ? 0U : 1U);
      // What comes behind the gap and begins no message: 3, 2, 1, or none of the four packets.
      EXPECT_EQ(world.counters().dropped_out_of_order, 103U - lost);
      EXPECT_EQ(world.answers(), 0U);
    }
  }
}

// What is still on its way to an entry must not land on the message that takes the entry afterwards.
TEST(RoceUnreliable, ALateWriteOfACutMessageIsNotSeen) {
  test::EnginePairOptions slow;
  slow.access_shortest = nanoseconds(100);
  slow.access_longest = microseconds(50);
  for (slow.seed = 1; slow.seed < 40; ++slow.seed) {
    World world(ServiceMode::kUnreliable, small_packets(), slow);
    world.lose = [](const wire::Packet& packet) { return packet.roce.bth.psn == 102; };
    world.fill(0, 0, 1000, 1);
    world.fill(0, 1000, 300, 2);
    world.expect(8192, 1024);
    ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 1000)), PostStatus::kOk);
    ASSERT_EQ(world.give(world.request(Verb::kSend, 1000, 0, 300)), PostStatus::kOk);
    world.pair.run_until_idle();
    ASSERT_EQ(world.completions(1).size(), 1U);
    ASSERT_TRUE(world.holds(1, 8192, 300, 2)) << slow.seed;
  }
}

/// Every pair of opcodes: the second packet goes on with the message, or begins one, or is dropped.
TEST(RoceUnreliable, Ibta_9_8_2_2_OpcodeSequence) {
  constexpr unsigned kRequests = 0x2c - 0x20;
  for (unsigned before = 0; before < kRequests; ++before) {
    for (unsigned after = 0; after < kRequests; ++after) {
      const Step first = step_of(RoceOpcode(before));
      const Step second = step_of(RoceOpcode(after));
      if (!first.first || first.kind == MessageInProgress::kNone || second.kind == MessageInProgress::kNone)
        continue;
      SCOPED_TRACE(std::string(wire::roce_opcode_name(RoceOpcode(0x20 + before))) + " then " +
                   std::string(wire::roce_opcode_name(RoceOpcode(0x20 + after))));
      World world(ServiceMode::kUnreliable);
      for (int each = 0; each < 3; ++each) world.expect(8192, 1024);
      ASSERT_EQ(world.give(world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
      wire::Packet packet = world.sent.at(0);
      world.pair.run_until_idle();
      const std::vector<std::byte> bytes(kMtu);
      const auto send = [&](unsigned opcode, const Step& step) {
        packet.roce.bth.opcode = RoceOpcode(0x20 + opcode);
        packet.roce.bth.psn = wire::psn_add(packet.roce.bth.psn, 1);
        packet.payload = wire::bytes_payload(bytes.data(), step.last ? 64 : kMtu);
        const std::uint32_t more = after == 0x07 || before == after ? kMtu : 0;
        if ((wire::roce_headers(packet.roce.bth.opcode) & wire::kRoceReth) != 0)
          packet.roce.reth = {RocePair::kBase, world.token[1].id, step.last ? 64U : kMtu + more + 64};
        world.pair.inject(1, packet);
      };
      send(before, first);
      const Counters then = world.counters();
      EXPECT_EQ(then.dropped_refused + then.dropped_out_of_order + then.messages_cut, 0U);
      send(after, second);
      const bool open = !first.last;
      const bool goes_on = open && !second.first && second.kind == first.kind;
      EXPECT_EQ(world.counters().messages_cut, open && !goes_on ? 1U : 0U);
      EXPECT_EQ(world.counters().dropped_out_of_order, !second.first && !goes_on ? 1U : 0U);
      EXPECT_EQ(world.counters().dropped_refused, 0U);
      EXPECT_EQ(world.answers(), 0U);
    }
  }
}

TEST(RoceUnreliable, Ibta_9_9_3_WhatAReliableConnectionRefusesIsDropped) {
  const auto dropped = [](auto spoil, bool with_receive = true) {
    World world(ServiceMode::kUnreliable);
    world.fill(0, 0, 64, 9);
    if (with_receive) world.expect(8192, 32);
    verbs::WorkRequest request = world.request(Verb::kWrite, 0, 4096, 64);
    spoil(world, request);
    EXPECT_EQ(world.give(request), PostStatus::kOk);
    world.pair.run_until_idle();
    EXPECT_FALSE(world.holds(1, 4096, 64, 9));
    EXPECT_TRUE(world.completions(1).empty());
    EXPECT_EQ(world.pair.engine(1).state(0), QueueState::kReadyToSend);
    EXPECT_EQ(world.answers(), 0U);
    // The next message finds nothing changed.
    EXPECT_EQ(world.give(world.request(Verb::kSend, 0, 0, 16)), PostStatus::kOk);
    world.pair.run_until_idle();
    EXPECT_EQ(world.completions(1).size(), with_receive ? 1U : 0U);
    return world.counters();
  };
  EXPECT_EQ(dropped([](World&, auto& request) { request.remote.token.id ^= 1U; }).dropped_refused, 1U);
  EXPECT_EQ(dropped([](World&, auto& request) { request.remote.address += 1U << 20U; }).dropped_refused, 1U);
  EXPECT_EQ(dropped([](World&, auto& request) { request.verb = Verb::kSend; }).dropped_refused,
            1U);  // Small.
  EXPECT_EQ(dropped([](World& world, auto&) {
              ASSERT_TRUE(world.pair.engine(1).change_queue(kTimeZero, 0, {.rights = verbs::kReadOnly}).ok());
            }).dropped_refused,
            1U);
  EXPECT_EQ(dropped([](World&, auto& request) { request.verb = Verb::kSend; }, false).dropped_without_receive,
            2U);
}

// Its data is there already, and nobody is told.
TEST(RoceUnreliable, Ibta_9_8_2_AWriteWithImmediateWithoutAReceive) {
  World world(ServiceMode::kUnreliable);
  world.fill(0, 0, 600, 9);
  ASSERT_EQ(world.give(world.request(Verb::kWriteImm, 0, 4096, 600)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_TRUE(world.holds(1, 4096, 512, 9));
  EXPECT_TRUE(world.completions(1).empty());
  EXPECT_EQ(world.counters().dropped_without_receive, 1U);
}

TEST(RoceUnreliable, MemoryThatFailsEndsTheQueuePair) {
  for (const ServiceMode service : {ServiceMode::kUnreliable, ServiceMode::kUnordered}) {
    World world(service);
    verbs::ReceiveRequest nowhere = world.receive(0, 256);
    nowhere.local[0].address = 0x10;
    ASSERT_EQ(world.pair.post_receive(1, 0, nowhere), PostStatus::kOk);
    world.expect(8192, 256);
    ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 64)), PostStatus::kOk);
    world.pair.run_until_idle();
    ASSERT_EQ(world.completions(1).size(), 2U);
    EXPECT_EQ(world.completions(1)[0].status, CompletionStatus::kLocalAccess);
    EXPECT_EQ(world.completions(1)[1].status, CompletionStatus::kFlushed);
    EXPECT_EQ(world.pair.engine(1).state(0), QueueState::kError);
    EXPECT_EQ(world.answers(), 0U);
  }
}

// --- Datagrams

/// The network header of `packet` as its frame has it, behind the Ethernet header.
std::vector<std::byte> network_header(const wire::Packet& packet) {
  std::vector<std::byte> frame(4096);
  frame.resize(wire::encode(packet, frame));
  const std::size_t length = packet.ip_version == wire::IpVersion::kV4 ? 20 : 40;
  return {frame.begin() + 14, frame.begin() + 14 + static_cast<std::ptrdiff_t>(length)};
}

TEST(RoceUnreliable, Ibta_A17_4_5_ADatagramArrivesBehindItsNetworkHeader) {
  for (const wire::IpVersion version : {wire::IpVersion::kV4, wire::IpVersion::kV6}) {
    RoceConfig config = small_packets();
    config.ip_version = version;
    World world(ServiceMode::kUnordered, config);
    world.fill(0, 0, 101, 4);
    world.expect(8192, 256);
    verbs::WorkRequest request = world.request(Verb::kSendImm, 0, 0, 101);
    request.immediate = 77;
    ASSERT_EQ(world.give(request), PostStatus::kOk);
    world.pair.run_until_idle();
    ASSERT_EQ(world.completions(1).size(), 1U);
    const verbs::Completion& received = world.completions(1)[0];
    EXPECT_EQ(received.length, kHeaderRoom + 101);
    EXPECT_EQ(received.verb, Verb::kSendImm);
    EXPECT_EQ(received.immediate, 77U);
    EXPECT_EQ(received.remote_host, 0U);
    EXPECT_EQ(received.remote_queue, kFirstQueueNumber);
    EXPECT_TRUE(world.holds(1, 8192 + kHeaderRoom, 101, 4));
    const wire::Packet& packet = world.sent.at(0);
    EXPECT_EQ(packet.roce.bth.opcode, RoceOpcode::kUdSendOnlyImmediate);
    EXPECT_EQ(packet.roce.deth.queue_key, kKey);
    EXPECT_EQ(packet.roce.deth.source_queue_pair, kFirstQueueNumber);
    const auto header = network_header(packet);
    const auto there = world.pair.memory(1).at(RocePair::kBase + 8192, kHeaderRoom);
    EXPECT_TRUE(std::equal(header.rbegin(), header.rend(), there.rbegin()));
    EXPECT_EQ(world.answers(), 0U);
  }
}

TEST(RoceUnreliable, Ibta_9_8_3_TheQueueKeyIsChecked) {
  World world(ServiceMode::kUnordered);
  world.expect(8192, 256);
  ASSERT_TRUE(world.pair.engine(1).change_queue(kTimeZero, 0, {.queue_key = kKey + 1}).ok());
  ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 64)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_TRUE(world.completions(1).empty());
  EXPECT_EQ(world.counters().dropped_queue_key, 1U);
  EXPECT_EQ(world.completions(0).size(), 1U);  // Nobody tells the sender.
}

// A Q_Key with its highest bit set is the queue pair's own to send.
TEST(RoceUnreliable, Ibta_10_2_5_APrivilegedQueueKeyIsReplacedByTheOwn) {
  World world(ServiceMode::kUnordered);
  auto record = decode_exchange(world.pair.engine(1).export_queue(0).value()).value();
  record.queue_key = 0x8001'0000;
  const auto peer = world.pair.engine(0).connect(kTimeZero, 0, encode(record)).value();
  verbs::WorkRequest request = world.request(Verb::kSend, 0, 0, 64);
  request.peer = peer;
  ASSERT_EQ(world.pair.post(0, 0, request), PostStatus::kOk);
  EXPECT_EQ(world.sent.at(0).roce.deth.queue_key, kKey);
}

TEST(RoceUnreliable, Ibta_9_8_3_ADatagramIsOnePacket) {
  World world(ServiceMode::kUnordered);
  world.expect(8192, kHeaderRoom + kMtu);
  EXPECT_EQ(world.give(world.request(Verb::kSend, 0, 0, kMtu + 1)), PostStatus::kBadRequest);
  EXPECT_EQ(world.give(world.request(Verb::kSend, 0, 0, kMtu)), PostStatus::kOk);
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(1).size(), 1U);
  EXPECT_EQ(world.completions(1)[0].length, kHeaderRoom + kMtu);
}

// [IBTA vol 1 9.9.3] A datagram that does not fit leaves the entry to the next one.
TEST(RoceUnreliable, Ibta_9_8_3_DropsWhatFindsNoRoom) {
  World world(ServiceMode::kUnordered);
  ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, 64)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(world.counters().dropped_without_receive, 1U);
  world.expect(8192, kHeaderRoom + 32);
  for (const std::uint32_t length : {33U, 32U})
    ASSERT_EQ(world.give(world.request(Verb::kSend, 0, 0, length)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(world.counters().dropped_refused, 1U);
  ASSERT_EQ(world.completions(1).size(), 1U);
  EXPECT_EQ(world.completions(1)[0].length, kHeaderRoom + 32);
  EXPECT_EQ(world.answers(), 0U);
}

// One queue pair, several peers; a handle that is gone is refused, what it was posted with goes on.
TEST(RoceUnreliable, Ibta_11_2_2_AddressHandles) {
  test::EnginePairOptions three;
  three.hosts = 3;
  Arena arena;
  test::EnginePair<RoceEngine> pair(three, [&](std::uint32_t host, wire::PayloadPool& pool) {
    RoceConfig config = small_packets();
    config.host = {host};
    return std::make_unique<RoceEngine>(RoceEngine::create(config, pool, arena).value());
  });
  for (std::uint32_t host = 0; host < 3; ++host) {
    ASSERT_TRUE(pair.engine(host).create_queue(kTimeZero, {.service = ServiceMode::kUnordered}).ok());
    EXPECT_EQ(pair.engine(host).queue_state(0), engine::QueueState::kReady);
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0] = {RocePair::kBase + 4096, 256};
    for (int each = 0; each < 4; ++each) ASSERT_EQ(pair.post_receive(host, 0, receive), PostStatus::kOk);
  }
  RoceEngine& engine = pair.engine(0);
  const auto peer1 = engine.connect(kTimeZero, 0, pair.engine(1).export_queue(0).value()).value();
  const auto peer2 = engine.connect(kTimeZero, 0, pair.engine(2).export_queue(0).value()).value();
  EXPECT_NE(peer1, peer2);
  const auto send = [&](engine::PeerId peer) {
    verbs::WorkRequest request;
    request.verb = Verb::kSend;
    request.local_count = 1;
    request.length = 8;
    request.local[0] = {RocePair::kBase, 8};
    request.peer = peer;
    return pair.post(0, 0, request);
  };
  EXPECT_EQ(send(verbs::kNoPeer), PostStatus::kBadRequest);
  ASSERT_EQ(send(peer1), PostStatus::kOk);
  ASSERT_EQ(send(peer2), PostStatus::kOk);
  ASSERT_TRUE(engine.suspend_queue(pair.now(), 0).ok());
  ASSERT_EQ(send(peer1), PostStatus::kOk);
  ASSERT_TRUE(engine.disconnect(pair.now(), 0, peer1).ok());
  EXPECT_FALSE(engine.disconnect(pair.now(), 0, peer1).ok());
  EXPECT_EQ(send(peer1), PostStatus::kBadRequest);
  ASSERT_TRUE(engine.resume_queue(pair.now(), 0).ok());
  pair.drain(0);
  pair.run_until_idle();
  EXPECT_EQ(pair.host(1).completions.size(), 2U);
  EXPECT_EQ(pair.host(2).completions.size(), 1U);
  ASSERT_TRUE(engine.forget_host(pair.now(), {2}).ok());
  EXPECT_EQ(send(peer2), PostStatus::kBadRequest);
  EXPECT_EQ(engine.queue_state(0), engine::QueueState::kReady);
  // A reset leaves the handles, and the queue pair in RTS.
  const auto again = engine.connect(pair.now(), 0, pair.engine(1).export_queue(0).value()).value();
  ASSERT_TRUE(engine.fail_queue(pair.now(), 0).ok());
  EXPECT_EQ(send(again), PostStatus::kBadQueue);
  ASSERT_TRUE(engine.reset_queue(pair.now(), 0).ok());
  ASSERT_EQ(send(again), PostStatus::kOk);
  pair.run_until_idle();
  EXPECT_EQ(pair.host(1).completions.size(), 3U);
}

// Records of queue pairs that are not on the interface, receive entries that have to be fetched, shared
// completion queues of bytes: what is beside the service works as with the others.
TEST(RoceUnreliable, GoesTogetherWithTheRest) {
  for (const ServiceMode service : {ServiceMode::kUnreliable, ServiceMode::kUnordered}) {
    RoceConfig config = small_packets();
    config.queue_cache_entries = 1;
    config.key_cache_entries = 1;
    test::EnginePairOptions slow;
    slow.access_shortest = nanoseconds(100);
    slow.access_longest = microseconds(2);
    RocePair world(config, slow, 3, {.receive_ring = 0x8000, .token = kKey, .service = service});
    for (engine::QueueId queue = 0; queue < 3; ++queue) {
      world.fill(0, queue * 256, 200, queue + 1);
      ASSERT_EQ(world.pair.post_receive(1, queue, world.receive(8192 + queue * 1024, 512)), PostStatus::kOk);
    }
    for (engine::QueueId queue = 0; queue < 3; ++queue) {
      verbs::WorkRequest request = world.request(Verb::kSend, queue * 256, 0, 200);
      request.peer = 0;
      ASSERT_EQ(world.pair.post(0, queue, request, engine::Submission::kDoorbell), PostStatus::kOk);
    }
    world.pair.run_until_idle();
    EXPECT_EQ(world.completions(0).size(), 3U);
    ASSERT_EQ(world.completions(1).size(), 3U);
    const std::uint32_t room = service == ServiceMode::kUnordered ? kHeaderRoom : 0;
    for (engine::QueueId queue = 0; queue < 3; ++queue)
      EXPECT_TRUE(world.holds(1, 8192 + queue * 1024 + room, 200, queue + 1)) << queue;
  }
}

}  // namespace
}  // namespace wharf::roce
