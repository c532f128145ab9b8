// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 7.4 (as public documents show it): the service modes beside ROI. ROT: the target
// keeps the order. ROL: the channel does, and its acknowledgements are the answers. UNO: nobody, over UTP.
#include <algorithm>
#include <string>

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using engine::ServiceMode;
using verbs::CompletionStatus;
using verbs::OrderTag;
using verbs::Verb;

UbConfig with(ServiceMode service) {
  UbConfig config;
  config.service = service;
  config.min_rnr_timer = 1;
  return config;
}

test::EnginePairOptions slow(std::uint64_t seed, double percent) {
  test::EnginePairOptions options = faulty(seed, percent);
  options.access_shortest = nanoseconds(50);
  options.access_longest = nanoseconds(900);
  options.wire.jitter = nanoseconds(300);
  return options;
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

  std::vector<int> requests() const {
    std::vector<int> ids;
    for (const wire::Packet& packet : packets) {
      if (packet.ub.transaction == wire::UbTransaction::kRequest && packet.source.number == 0)
        ids.push_back(static_cast<int>(packet.operation.value));
    }
    return ids;
  }
};

verbs::WorkRequest strong(World& world, Verb verb, std::uint32_t length, std::uint64_t offset = 0) {
  auto request = world.request(verb, length, offset);
  request.order = OrderTag::kStrong;
  request.operation = {request.id};
  return request;
}

void post_receive(World& world, std::uint64_t id) {
  verbs::ReceiveRequest receive{.id = id, .local_count = 1};
  receive.local[0] = {World::kRemote + 0x8000, 64};
  world.pair().post_receive(1, world.queue(1), receive);
}

const verbs::Completion* completion_of(World& world, std::uint64_t id) {
  for (const auto& completion : world.pair().host(0).completions) {
    if (completion.id == id && completion.kind == verbs::CompletionKind::kSend) return &completion;
  }
  return nullptr;
}

/// What a run that does not end has been doing.
std::string state_of(World& world) {
  std::string text;
  for (std::uint32_t host = 0; host < 2; ++host) {
    const UbCounters& counters = world.counters(host);
    text += "host " + std::to_string(host) + ": " + std::to_string(counters.completions) + " completions, " +
            std::to_string(counters.packets_retransmitted) + " repeated, " +
            std::to_string(counters.timeouts) + " time-outs, " +
            std::to_string(counters.receiver_not_ready_sent) + " not ready, " +
            std::to_string(counters.receiver_not_ready_retries) + " retries, " +
            std::to_string(counters.turns_waited) + " turns waited, " + std::to_string(counters.duplicates) +
            " duplicates, " + std::to_string(counters.refused_sequence) + " refused numbers, " +
            std::to_string(counters.dropped_response) + " answers dropped, " +
            std::to_string(counters.dropped_acknowledgement) + " acknowledgements dropped\n";
  }
  return text;
}

// --- Whatever the mode: what strong requests promise

// Strong Writes and Reads of one word in turns: each Read gives what the Write before it wrote, and no later
// one.
TEST(ServiceModes, StrongRequestsTakeEffectInPostingOrder) {
  for (const ServiceMode service :
       {ServiceMode::kOrderedByInitiator, ServiceMode::kOrderedByTarget, ServiceMode::kOrderedByTransport}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(std::string(engine::name(service)) + ", seed " + std::to_string(seed));
      World world(with(service), slow(seed, seed % 2 == 0 ? 5 : 0));
      constexpr std::uint64_t kPairs = 20;
      for (std::uint64_t i = 0; i < kPairs; ++i) {
        std::memcpy(world.pair().memory(0).at(World::kLocal + i * 8, 8).data(), &i, 8);
        auto write = strong(world, Verb::kWrite, 8);
        write.local[0].address = World::kLocal + i * 8;
        ASSERT_EQ(world.post(write), engine::PostStatus::kOk);
        auto read = strong(world, Verb::kRead, 8);
        read.local[0].address = World::kLocal + 0x4000 + i * 8;
        ASSERT_EQ(world.post(read), engine::PostStatus::kOk);
      }
      ASSERT_EQ(world.pair().run_until_idle(world.now() + milliseconds(50)), test::RunEnd::kDone)
          << world.pair().waiting_report() << state_of(world);
      for (std::uint64_t i = 0; i < kPairs; ++i) {
        EXPECT_EQ(world.pair().memory(0).load64(World::kLocal + 0x4000 + i * 8), i);
      }
      EXPECT_EQ(world.pair().pool().in_use(), 0u);
    }
  }
}

// --- ROT

// 7.4: the initiator holds nothing back; the target does.
TEST(Rot, StrongRequestsLeaveAtOnceAndWaitAtTheTarget) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = nanoseconds(500);
  World world(with(ServiceMode::kOrderedByTarget), options);
  Observed wire(world);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(world.engine(0).post(world.now(), world.queue(0), strong(world, Verb::kWrite, 64),
                                   engine::Submission::kInHand),
              engine::PostStatus::kOk);
  }
  world.pair().drain(0);
  world.pair().run_until([&] { return wire.requests().size() == 3; });
  EXPECT_TRUE(world.pair().host(0).completions.empty());
  world.run();
  EXPECT_EQ(world.counters(1).turns_waited, 2u);
  EXPECT_EQ(world.pair().host(0).completions.size(), 3u);
}

// INI_RC_Type 2 says whose order it is; the response copies it.
TEST(Rot, TheHeaderNamesASequenceContext) {
  World world(with(ServiceMode::kOrderedByTarget));
  Observed wire(world);
  EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
  int seen = 0;
  for (const wire::Packet& packet : wire.packets) {
    if (packet.ub.transaction == wire::UbTransaction::kNone) continue;
    ++seen;
    const auto type = packet.ub.transaction == wire::UbTransaction::kRequest
                          ? packet.ub.request.requester_type
                          : packet.ub.response.requester_type;
    EXPECT_EQ(type, wire::RequesterContextType::kSequence);
  }
  EXPECT_EQ(seen, 2);
}

// 7.4: a strong request waits for one that the target was not ready for.
TEST(Rot, AStrongRequestWaitsForOneThatComesAgain) {
  World world(with(ServiceMode::kOrderedByTarget));
  world.fill(0, World::kLocal, 64);
  ASSERT_EQ(world.post(strong(world, Verb::kSend, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world.post(strong(world, Verb::kWrite, 64)), engine::PostStatus::kOk);
  world.pair().run_to(world.now() + microseconds(5));
  EXPECT_FALSE(world.same(World::kLocal, World::kRemote, 64)) << "the Write passed the Send";
  post_receive(world, 1);
  world.run();
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
  ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
  for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
}

// Nothing waits for what the initiator has given up: its number is filled by Disconnect_SCID.
TEST(Rot, ARequestThatIsGivenUpHoldsNothingBack) {
  for (const ServiceMode service : {ServiceMode::kOrderedByTarget, ServiceMode::kOrderedByTransport}) {
    SCOPED_TRACE(engine::name(service));
    UbConfig config = with(service);
    config.rnr_retry = 2;
    World world(config);
    Observed wire(world);
    const auto send = strong(world, Verb::kSend, 64);
    ASSERT_EQ(world.post(send), engine::PostStatus::kOk);
    const auto write = strong(world, Verb::kWrite, 64);
    ASSERT_EQ(world.post(write), engine::PostStatus::kOk);
    world.run();
    ASSERT_NE(completion_of(world, send.id), nullptr);
    EXPECT_EQ(completion_of(world, send.id)->status, CompletionStatus::kReceiverNotReady);
    ASSERT_NE(completion_of(world, write.id), nullptr);
    // On a fused channel a strong request shares the fate of what it waits for; a later one does not.
    const bool waits = service == ServiceMode::kOrderedByTarget;
    EXPECT_EQ(completion_of(world, write.id)->ok(), waits);
    EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
    EXPECT_EQ(world.counters(0).sequences_filled, waits ? 1u : 2u);
    EXPECT_EQ(std::count_if(wire.packets.begin(), wire.packets.end(),
                            [](const wire::Packet& packet) {
                              return packet.ub.transaction == wire::UbTransaction::kRequest &&
                                     packet.ub.request.opcode == wire::TaOpcode::kDisconnectScid;
                            }),
              waits ? 1 : 2);
  }
}

// A queue that fails while the target is not ready leaves no gap for the one that it becomes.
TEST(Rot, AFlushedRequestHoldsNothingBack) {
  World world(with(ServiceMode::kOrderedByTarget));
  ASSERT_EQ(world.post(strong(world, Verb::kSend, 64)), engine::PostStatus::kOk);
  world.pair().run_to(world.now() + microseconds(5));
  ASSERT_TRUE(world.engine(0).fail_queue(world.now(), world.queue(0)).ok());
  world.pair().drain(0);
  world.run();
  ASSERT_TRUE(world.engine(0).reset_queue(world.now(), world.queue(0)).ok());
  EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
}

// 7.4: a refused request has had its turn.
TEST(Rot, ARefusedRequestHoldsNothingBack) {
  World world(with(ServiceMode::kOrderedByTarget));
  auto bad = strong(world, Verb::kWrite, 64);
  bad.remote.token.value ^= 1;
  ASSERT_EQ(world.post(bad), engine::PostStatus::kOk);
  EXPECT_TRUE(world.finish(strong(world, Verb::kWrite, 64)).ok());
}

TEST(Rot, AJettyHasOnePeerAtATime) {
  for (const ServiceMode service : {ServiceMode::kOrderedByTarget, ServiceMode::kOrderedByTransport}) {
    World world(with(service), {}, 2);
    const auto other = *world.engine(1).export_queue(world.queue(1, 1));
    const auto refused = world.engine(0).connect(world.now(), world.queue(0), other);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("one peer at a time"), std::string::npos)
        << refused.error().message;
    // The same one again is no other.
    const auto same = *world.engine(1).export_queue(world.queue(1));
    EXPECT_EQ(*world.engine(0).connect(world.now(), world.queue(0), same), world.peer(0));
  }
}

// Who was not bound here cannot have its order kept here.
TEST(Rot, RequestsOfAnUnboundContextAreRefused) {
  World world(with(ServiceMode::kOrderedByTarget));
  auto rewritten = [&](wire::Packet& packet, bool, RandomStream&, wire::PayloadPool&) {
    if (packet.ub.transaction == wire::UbTransaction::kRequest) packet.ub.request.requester_id += 7;
    if (packet.ub.transaction == wire::UbTransaction::kResponse) packet.ub.response.requester_id -= 7;
    return true;
  };
  world.pair().wire().options().transform = rewritten;
  EXPECT_EQ(world.finish(strong(world, Verb::kWrite, 64)).status, CompletionStatus::kRemoteOperation);
  EXPECT_EQ(world.counters(1).refused_jetty, 1u);
}

// --- ROL

// 7.4: the acknowledgement is the answer: a Write of 64 bytes takes two packets.
TEST(Rol, ASmallWriteTakesTwoPackets) {
  World world(with(ServiceMode::kOrderedByTransport));
  world.fill(0, World::kLocal, 64);
  Observed wire(world);
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
  ASSERT_EQ(wire.packets.size(), 2u);
  const wire::UbPacket& answer = wire.packets[1].ub;
  EXPECT_EQ(answer.rtph.opcode, wire::TpOpcode::kAck);
  EXPECT_EQ(answer.rtph.status, wire::UbResponseStatus::kFusedTaack);
  ASSERT_EQ(answer.transaction, wire::UbTransaction::kResponse);
  EXPECT_EQ(answer.response.opcode, wire::TaOpcode::kTaack);
  EXPECT_EQ(answer.response.tassn, wire.packets[0].ub.request.tassn);
  EXPECT_EQ(answer.response.requester_id, wire.packets[0].ub.request.requester_id);
}

// 7.4: it waits for the execution.
TEST(Rol, TheAcknowledgementWaitsForTheExecution) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(2);
  World world(with(ServiceMode::kOrderedByTransport), options);
  Observed wire(world);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world.pair().run_until([&] { return wire.packets.size() == 1; });
  const TimePs sent = world.now();
  world.pair().run_until([&] { return wire.packets.size() == 2; });
  EXPECT_GE(world.now() - sent, microseconds(2));
  world.run();
}

// Cumulative: one acknowledgement answers every request before it.
TEST(Rol, OneAcknowledgementAnswersSeveralRequests) {
  UbConfig config = with(ServiceMode::kOrderedByTransport);
  config.acknowledge_every = 4;
  World world(config);
  Observed wire(world);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(world.engine(0).post(world.now(), world.queue(0), world.request(Verb::kWrite, 64),
                                   engine::Submission::kInHand),
              engine::PostStatus::kOk);
  }
  world.pair().drain(0);
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 8u);
  EXPECT_EQ(wire.packets.size(), 8u + 2u);
}

// A lost answer is asked for by the timer, and nothing is executed twice.
TEST(Rol, ALostAcknowledgementIsRepeated) {
  World world(with(ServiceMode::kOrderedByTransport));
  Observed wire(world);
  int lost = 0;
  wire.drop = [&](const wire::Packet& packet) { return packet.source.number == 1 && lost++ == 0; };
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  EXPECT_EQ(world.counters(1).duplicates, 1u);
  EXPECT_EQ(wire.packets.size(), 4u);
}

// What is refused, has data to bring or is not ready is answered by a packet of its own.
TEST(Rol, RefusalsAndDataAreAnsweredByThemselves) {
  World world(with(ServiceMode::kOrderedByTransport));
  world.fill(1, World::kRemote, 256);
  auto bad = world.request(Verb::kWrite, 64);
  bad.remote.token.value ^= 1;
  ASSERT_EQ(world.post(bad), engine::PostStatus::kOk);
  const auto read = world.request(Verb::kRead, 256);
  ASSERT_EQ(world.post(read), engine::PostStatus::kOk);
  const auto add = world.request(Verb::kFetchAdd, 8, 1024);
  ASSERT_EQ(world.post(add), engine::PostStatus::kOk);
  const auto send = world.request(Verb::kSend, 64, 2048);
  ASSERT_EQ(world.post(send), engine::PostStatus::kOk);
  world.pair().run_to(world.now() + microseconds(3));
  post_receive(world, 1);
  world.run();
  ASSERT_EQ(world.pair().host(0).completions.size(), 4u);
  EXPECT_EQ(completion_of(world, bad.id)->status, CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(completion_of(world, read.id)->ok());
  EXPECT_TRUE(completion_of(world, add.id)->ok());
  EXPECT_TRUE(completion_of(world, send.id)->ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 256));
  EXPECT_GE(world.counters(1).receiver_not_ready_sent, 1u);
}

// The bits of a TPSACK say what has arrived, not that it has been executed.
TEST(Rol, ASelectiveAcknowledgementAnswersNothingBeyondItsBase) {
  test::EnginePairOptions options;
  options.access_shortest = options.access_longest = microseconds(3);
  World world(with(ServiceMode::kOrderedByTransport), options);
  Observed wire(world);
  int seen = 0;
  wire.drop = [&](const wire::Packet& packet) { return packet.source.number == 0 && seen++ == 1; };
  for (int i = 0; i < 4; ++i) ASSERT_EQ(world.post(world.request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  world.pair().run_until([&] { return world.counters(1).selective_acknowledgements_sent > 0; });
  world.pair().run_to(world.now() + nanoseconds(300));
  EXPECT_TRUE(world.pair().host(0).completions.empty());
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 4u);
  EXPECT_EQ(world.counters(0).packets_retransmitted, 1u);
}

// --- UNO

// 7.4, 6.1: UTPH, no acknowledgement, no answer; complete when it has left.
TEST(Uno, OnePacketAndNothingComesBack) {
  World world(with(ServiceMode::kUnordered));
  world.fill(0, World::kLocal, 64);
  Observed wire(world);
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  ASSERT_EQ(wire.packets.size(), 1u);
  EXPECT_EQ(wire.packets[0].ub.transport, wire::UbTransport::kUtp);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST(Uno, LossIsSilent) {
  World world(with(ServiceMode::kUnordered));
  world.fill(0, World::kLocal, 64);
  Observed wire(world);
  wire.drop = [](const wire::Packet&) { return true; };
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  EXPECT_FALSE(world.same(World::kLocal, World::kRemote, 64));
  EXPECT_EQ(wire.packets.size(), 1u);
}

TEST(Uno, ASendTakesAReceiveEntryOrIsLost) {
  World world(with(ServiceMode::kUnordered));
  EXPECT_TRUE(world.finish(world.request(Verb::kSend, 64)).ok());
  EXPECT_TRUE(world.pair().host(1).completions.empty());
  post_receive(world, 9);
  auto request = world.request(Verb::kSendImm, 64);
  request.immediate = 77;
  EXPECT_TRUE(world.finish(request).ok());
  ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
  EXPECT_EQ(world.pair().host(1).completions[0].id, 9u);
  EXPECT_EQ(world.pair().host(1).completions[0].immediate, 77u);
  EXPECT_EQ(world.pair().host(1).completions[0].remote_queue, world.queue(0));
}

TEST(Uno, WhatNeedsAnAnswerOrAnOrderIsRefused) {
  World world(with(ServiceMode::kUnordered));
  EXPECT_EQ(world.post(world.request(Verb::kRead, 64)), engine::PostStatus::kUnsupported);
  EXPECT_EQ(world.post(world.request(Verb::kFetchAdd, 8)), engine::PostStatus::kUnsupported);
  EXPECT_EQ(world.post(world.request(Verb::kSendInvalidate, 8)), engine::PostStatus::kUnsupported);
  EXPECT_EQ(world.post(world.request(Verb::kWrite, 4097)), engine::PostStatus::kBadRequest);
  EXPECT_EQ(world.post(strong(world, Verb::kWrite, 64)), engine::PostStatus::kBadRequest);
  auto fenced = world.request(Verb::kWrite, 64);
  fenced.fence = true;
  EXPECT_EQ(world.post(fenced), engine::PostStatus::kBadRequest);
}

// What a datagram may not do is refused silently, and counted.
TEST(Uno, ADatagramChangesOnlyWhatItsTokenGrants) {
  World world(with(ServiceMode::kUnordered));
  world.fill(0, World::kLocal, 64);
  auto bad = world.request(Verb::kWrite, 64);
  bad.remote.token.value ^= 1;
  EXPECT_TRUE(world.finish(bad).ok());
  EXPECT_FALSE(world.same(World::kLocal, World::kRemote, 64));
  EXPECT_EQ(world.counters(1).refused_access, 1u);
  // A datagram that asks for an answer, and one of a host that is not connected.
  wire::Packet packet = wire::ub_packet();
  packet.ub.transport = wire::UbTransport::kUtp;
  packet.ub.rtph.opcode = wire::TpOpcode::kUnreliable;
  packet.ub.rtph.last = true;
  packet.source = {0};
  packet.destination = {1};
  wire::use_request(packet.ub).opcode = wire::TaOpcode::kRead;
  world.engine(1).receive(world.now(), 0, packet);
  EXPECT_EQ(world.counters(1).dropped_malformed, 1u);
  packet.source = {5};
  world.engine(1).receive(world.now(), 0, packet);
  EXPECT_EQ(world.counters(1).dropped_unknown_channel, 1u);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST(Uno, ManyDatagramsOverABadWireLeaveNothingBehind) {
  World world(with(ServiceMode::kUnordered), slow(3, 10));
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(world.post(world.request(Verb::kWrite, 4096)), engine::PostStatus::kOk);
    if (i % 50 == 49) world.run();
  }
  EXPECT_EQ(world.pair().host(0).completions.size(), 500u);
  EXPECT_GT(world.counters(1).datagrams_received, 350u);
  EXPECT_LT(world.counters(1).datagrams_received, 600u);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// --- Side by side

/// A world of one ROI pair of queues, to which queues of other modes are added.
class MixedModes : public ::testing::Test {
 protected:
  struct Joined {
    engine::QueueId queue;
    verbs::PeerId peer;
  };
  Joined join(ServiceMode service) {
    engine::QueueId queue[2];
    verbs::PeerId peer[2];
    for (std::uint32_t host = 0; host < 2; ++host) {
      engine::QueueConfig config;
      config.service = service;
      queue[host] = *world_.engine(host).create_queue(world_.now(), config);
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = *world_.engine(1 - host).export_queue(queue[1 - host]);
      peer[host] = *world_.engine(host).connect(world_.now(), queue[host], blob);
    }
    return {queue[0], peer[0]};
  }
  verbs::WorkRequest request(const Joined& of, Verb verb, std::uint64_t offset) {
    auto made = world_.request(verb, 64, offset);
    made.peer = of.peer;
    return made;
  }
  World world_;
};

TEST_F(MixedModes, EveryModeBesideTheOthers) {
  const ServiceMode modes[] = {ServiceMode::kOrderedByInitiator, ServiceMode::kOrderedByTarget,
                               ServiceMode::kOrderedByTransport, ServiceMode::kUnordered};
  world_.fill(0, World::kLocal, 64);
  std::uint64_t offset = 0;
  std::size_t done = 0;
  for (int round = 0; round < 3; ++round) {
    for (const ServiceMode mode : modes) {
      const Joined joined = join(mode);
      offset += 64;
      ASSERT_EQ(world_.pair().post(0, joined.queue, request(joined, Verb::kWrite, offset)),
                engine::PostStatus::kOk);
      world_.run();
      ++done;
      ASSERT_EQ(world_.pair().host(0).completions.size(), done);
      EXPECT_TRUE(world_.pair().host(0).completions.back().ok());
      EXPECT_TRUE(world_.same(World::kLocal, World::kRemote + offset, 64)) << engine::name(mode);
    }
  }
}

// 7.4: different initiators never wait for each other. A context that waits for ever at the target holds
// neither unordered requests nor other contexts back.
TEST_F(MixedModes, AContextThatWaitsAtTheTargetHoldsNobodyUp) {
  const Joined stalled = join(ServiceMode::kOrderedByTarget);
  const Joined others[] = {join(ServiceMode::kUnordered), join(ServiceMode::kOrderedByTarget),
                           join(ServiceMode::kOrderedByInitiator), join(ServiceMode::kOrderedByTransport)};
  auto send = request(stalled, Verb::kSend, 0);
  send.order = OrderTag::kStrong;
  ASSERT_EQ(world_.pair().post(0, stalled.queue, send), engine::PostStatus::kOk);
  auto behind = request(stalled, Verb::kWrite, 64);
  behind.order = OrderTag::kStrong;
  ASSERT_EQ(world_.pair().post(0, stalled.queue, behind), engine::PostStatus::kOk);
  for (const Joined& other : others) {
    for (int i = 0; i < 8; ++i)
      ASSERT_EQ(world_.pair().post(0, other.queue, request(other, Verb::kWrite, 128)),
                engine::PostStatus::kOk);
  }
  world_.pair().run_to(world_.now() + microseconds(20));
  EXPECT_EQ(world_.pair().host(0).completions.size(), 32u);
}

// Every lane of a forgotten host ends.
TEST_F(MixedModes, AForgottenHostIsForgottenInEveryMode) {
  const Joined joined[] = {join(ServiceMode::kOrderedByTarget), join(ServiceMode::kOrderedByTransport),
                           join(ServiceMode::kUnordered)};
  ASSERT_TRUE(world_.engine(0).forget_host(world_.now(), {1}).ok());
  for (const Joined& each : joined) {
    EXPECT_EQ(world_.pair().post(0, each.queue, request(each, Verb::kWrite, 0)),
              engine::PostStatus::kBadRequest);
  }
}

}  // namespace
}  // namespace wharf::ub
