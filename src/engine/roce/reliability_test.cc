// SPDX-License-Identifier: Apache-2.0
// The rules of reliable connections on the wire, each with its section: segmentation, PSNs, acknowledgements,
// NAKs, duplicates, retries.
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using engine::PostStatus;
using test::RocePair;
using test::RunEnd;
using test::small_packets;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::AethClass;
using wire::RoceOpcode;

std::vector<wire::Packet> answers_of(const RocePair& world, AethClass kind) {
  std::vector<wire::Packet> some;
  for (const wire::Packet& packet : world.sent_of(RoceOpcode::kRcAcknowledge)) {
    if (packet.roce.ack.aeth.syndrome_class() == kind) some.push_back(packet);
  }
  return some;
}

/// Loses the `nth` packet (from 0) of `opcode`, once.
std::function<bool(const wire::Packet&)> lose_nth(RoceOpcode opcode, int nth) {
  return [opcode, nth](const wire::Packet& packet) mutable {
    return packet.roce.bth.opcode == opcode && nth-- == 0;
  };
}

// --- Segmentation and numbering ---

// IBTA vol 1 9.2, 9.7.4.1: First and Middles fill the path MTU, only the First carries RETH, the Last asks
// for an ACK.
TEST(RoceReliability, CutsMessagesIntoFirstMiddleLast) {
  RocePair world(small_packets());
  world.watch();
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 600));
  world.pair.run_until_idle();
  ASSERT_EQ(world.sent.size(), 4u);
  EXPECT_EQ(world.sent[0].roce.bth.opcode, RoceOpcode::kRcWriteFirst);
  EXPECT_EQ(world.sent[0].roce.reth.length, 600u);
  EXPECT_EQ(world.sent[0].payload.length, 256u);
  EXPECT_EQ(world.sent[1].roce.bth.opcode, RoceOpcode::kRcWriteMiddle);
  EXPECT_EQ(world.sent[1].payload.length, 256u);
  EXPECT_FALSE(world.sent[1].roce.bth.acknowledge_request);
  EXPECT_EQ(world.sent[2].roce.bth.opcode, RoceOpcode::kRcWriteLast);
  EXPECT_EQ(world.sent[2].payload.length, 88u);
  EXPECT_TRUE(world.sent[2].roce.bth.acknowledge_request);
  EXPECT_EQ(world.sent[2].roce.bth.psn, 102u);
  EXPECT_EQ(world.sent[3].roce.bth.opcode, RoceOpcode::kRcAcknowledge);
  EXPECT_EQ(world.sent[3].roce.bth.psn, 102u);
  EXPECT_EQ(world.sent[3].roce.ack.aeth.syndrome, wire::kAckUnlimited);
  EXPECT_EQ(world.sent[3].roce.ack.aeth.msn, 1u);
}

// IBTA vol 1 9.7.3: the bit is the requester's to set. It sets it for each half of its window, so that the
// window opens before it is used up, and for each 64 packets at least.
TEST(RoceReliability, AsksForAnAcknowledgementForEachHalfOfItsWindow) {
  for (const auto& [window, apart] :
       {std::pair{1U, 1U}, {2U, 1U}, {5U, 2U}, {32U, 16U}, {128U, 64U}, {4096U, 64U}}) {
    RoceConfig config = small_packets();
    config.window_packets = window;
    RocePair world(config);
    world.watch();
    world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 256 * 300));
    world.pair.run_until_idle();
    std::uint32_t since = 0;
    std::uint32_t most = 0;
    for (const wire::Packet& packet : world.sent) {
      if (packet.source.number != 0) continue;
      most = std::max(most, ++since);
      if (packet.roce.bth.acknowledge_request) since = 0;
    }
    EXPECT_EQ(most, apart) << window;
    EXPECT_EQ(since, 0U);
  }
}

// IBTA vol 1 9.7.3: a READ takes a PSN per response packet, MSN counts it when the request is valid.
TEST(RoceReliability, ReadTakesThePsnsOfItsAnswer) {
  RocePair world(small_packets());
  world.watch();
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, 600));
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 0));
  world.pair.run_until_idle();
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcReadRequest).at(0).roce.bth.psn, 100u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcReadResponseFirst).at(0).roce.bth.psn, 100u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcReadResponseFirst).at(0).roce.ack.aeth.msn, 1u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcReadResponseMiddle).at(0).roce.bth.psn, 101u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcReadResponseLast).at(0).roce.bth.psn, 102u);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteOnly).at(0).roce.bth.psn, 103u);
}

// IBTA vol 1 9.7.1: arithmetic modulo 2^24.
TEST(RoceReliability, PsnsWrapAround) {
  RoceConfig config = small_packets();
  config.starting_psn = 0xfffffd;
  config.unlimited_retries = true;
  RocePair world(config);
  world.watch();
  world.lose = [count = 0](const wire::Packet&) mutable { return ++count % 7 == 0; };
  world.fill(0, 0, 5000, 6);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 5000));
  world.pair.post(0, 0, world.request(Verb::kRead, 16384, 8192, 5000));
  world.pair.post(0, 0, world.request(Verb::kFetchAdd, 32768, 65536, 8));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 3u);
  for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
  EXPECT_TRUE(world.holds(0, 16384, 5000, 6));
}

// --- NAKs ---

struct Refusal {
  const char* what;
  wire::NakCode code;
  CompletionStatus status;
  std::function<void(RocePair&, verbs::WorkRequest&)> break_it;
  Verb verb = Verb::kWrite;
};

// IBTA vol 1 9.7.4.1, 9.9.3; Linux rdma_rxe behaviour for access flags: NAK code, initiator's status, memory
// untouched.
TEST(RoceReliability, RefusesWithTheSpecifiedNak) {
  const std::vector<Refusal> refusals{
      {"unknown key", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair&, verbs::WorkRequest& request) { request.remote.token.id += 0x100; }},
      {"old key", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair& world, verbs::WorkRequest&) {
         world.pair.engine(1).deregister_segment(kTimeZero, world.token[1]).ok();
       }},
      {"one byte beyond", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair& world, verbs::WorkRequest& request) {
         request.remote.address = RocePair::kBase + world.pair.memory(1).size() - 63;
       }},
      {"one byte before", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair&, verbs::WorkRequest& request) { request.remote.address = RocePair::kBase - 1; }},
      {"address wraps", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair&, verbs::WorkRequest& request) { request.remote.address = ~std::uint64_t{0} - 10; }},
      {"read-only segment", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair& world, verbs::WorkRequest& request) {
         request.remote.token =
             world.pair.engine(1)
                 .register_segment(kTimeZero,
                                   {.base = RocePair::kBase, .length = 4096, .rights = verbs::kReadOnly})
                 .value();
       }},
      {"atomic on a read-only segment", wire::NakCode::kRemoteAccess, CompletionStatus::kRemoteAccess,
       [](RocePair& world, verbs::WorkRequest& request) {
         request.remote.token =
             world.pair.engine(1)
                 .register_segment(kTimeZero,
                                   {.base = RocePair::kBase, .length = 4096, .rights = verbs::kReadOnly})
                 .value();
       },
       Verb::kFetchAdd},
      {"unaligned atomic", wire::NakCode::kInvalidRequest, CompletionStatus::kRemoteUnsupportedRequest,
       [](RocePair&, verbs::WorkRequest& request) { request.remote.address += 4; }, Verb::kFetchAdd},
      {"receive buffer too small", wire::NakCode::kInvalidRequest,
       CompletionStatus::kRemoteUnsupportedRequest,
       [](RocePair& world, verbs::WorkRequest&) { world.pair.post_receive(1, 0, world.receive(0, 63)); },
       Verb::kSend},
      {"page missing at the target", wire::NakCode::kRemoteOperation, CompletionStatus::kRemoteOperation,
       [](RocePair& world, verbs::WorkRequest& request) {
         const std::uint64_t hole = RocePair::kBase + world.pair.memory(1).size();
         const auto token = world.pair.engine(1).register_segment(kTimeZero, {.base = hole, .length = 4096});
         request.remote = {hole, token.value()};
       }},
      {"page missing for a READ", wire::NakCode::kRemoteOperation, CompletionStatus::kRemoteOperation,
       [](RocePair& world, verbs::WorkRequest& request) {
         const std::uint64_t hole = RocePair::kBase + world.pair.memory(1).size();
         const auto token = world.pair.engine(1).register_segment(kTimeZero, {.base = hole, .length = 4096});
         request.remote = {hole, token.value()};
       },
       Verb::kRead},
      {"bad receive buffer", wire::NakCode::kRemoteOperation, CompletionStatus::kRemoteOperation,
       [](RocePair& world, verbs::WorkRequest&) {
         verbs::ReceiveRequest receive = world.receive(0, 64);
         receive.local[0].address = 8;
         world.pair.post_receive(1, 0, receive);
       },
       Verb::kSend},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.what);
    RocePair world(small_packets());
    world.watch();
    world.fill(0, 0, 64, 3);
    verbs::WorkRequest request = world.request(refusal.verb, 0, 0, verbs::is_atomic(refusal.verb) ? 8 : 64);
    request.operand[0] = 1;
    refusal.break_it(world, request);
    ASSERT_EQ(world.pair.post(0, 0, request), PostStatus::kOk);
    EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
    const auto naks = answers_of(world, AethClass::kNak);
    ASSERT_EQ(naks.size(), 1u);
    EXPECT_EQ(naks[0].roce.ack.aeth.value(), static_cast<std::uint8_t>(refusal.code));
    EXPECT_EQ(naks[0].roce.bth.psn, 100u);
    EXPECT_EQ(world.completions(0).at(0).status, refusal.status);
    EXPECT_EQ(world.pair.engine(0).state(0), QueueState::kError);
    EXPECT_EQ(world.pair.engine(1).state(0), QueueState::kError);
    for (const std::byte byte : world.pair.memory(1).at(RocePair::kBase, 8192)) ASSERT_EQ(byte, std::byte{0});
    // The responder answers once, then it is silent.
    const std::size_t sent = world.sent.size();
    world.pair.inject(1, world.sent[0]);
    EXPECT_EQ(world.sent.size(), sent);
    EXPECT_EQ(world.pair.pool().in_use(), 0u);
  }
}

// An access-flag violation is an invalid request, not an access error. [Linux rdma_rxe behaviour]
TEST(RoceReliability, QueueRightsViolationIsAnInvalidRequest) {
  RoceConfig closed = small_packets();
  closed.queue_rights = {};
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd}) {
    RocePair world(small_packets(), closed, {});
    world.pair.post(0, 0, world.request(verb, 0, 0, 8));
    world.pair.run_until_idle();
    EXPECT_EQ(world.completions(0).at(0).status, CompletionStatus::kRemoteUnsupportedRequest);
  }
}

// IBTA vol 1 9.7.4.1.3, 9.7.4.1.6: opcode sequence and length rules.
TEST(RoceReliability, RefusesBrokenSequencesAndLengths) {
  struct Case {
    RoceOpcode opcode;
    std::uint32_t payload;
    std::uint32_t reth_length;
  };
  for (const Case& broken :
       {Case{RoceOpcode::kRcWriteMiddle, 256, 0}, Case{RoceOpcode::kRcWriteLast, 10, 0},
        Case{RoceOpcode::kRcSendMiddle, 256, 0}, Case{RoceOpcode::kRcWriteFirst, 255, 600},
        Case{RoceOpcode::kRcWriteFirst, 256, 256}, Case{RoceOpcode::kRcWriteOnly, 64, 65},
        Case{RoceOpcode::kRcWriteOnly, 64, 63}, Case{RoceOpcode::kRcFlush, 0, 8},
        Case{RoceOpcode::kRcAtomicWrite, 8, 8}, Case{RoceOpcode::kRcWriteOnly, 257, 257},
        Case{RoceOpcode::kRcSendOnly, 257, 0}}) {
    SCOPED_TRACE(static_cast<int>(broken.opcode));
    RocePair world(small_packets());
    world.pair.post_receive(1, 0, world.receive(0, 4096));
    world.watch();
    world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 8));
    wire::Packet packet = world.sent.at(0);
    world.lose = [](const wire::Packet&) { return false; };
    const std::vector<std::byte> bytes(300, std::byte{1});
    packet.roce.bth.opcode = broken.opcode;
    packet.payload = wire::bytes_payload(bytes.data(), broken.payload);
    packet.roce.reth = {RocePair::kBase, world.token[1].id, broken.reth_length};
    world.pair.inject(1, packet);
    const auto naks = answers_of(world, AethClass::kNak);
    ASSERT_EQ(naks.size(), 1u);
    EXPECT_EQ(naks[0].roce.ack.aeth.value(), static_cast<std::uint8_t>(wire::NakCode::kInvalidRequest));
  }
}

// IBTA vol 1 9.7.5.1.2: one NAK sequence error with the expected PSN, then silence; 9.7.5.1.1: Go-Back-N from
// there.
TEST(RoceReliability, OneSequenceNakAndGoBackN) {
  RocePair world(small_packets());
  world.watch();
  world.lose = lose_nth(RoceOpcode::kRcWriteMiddle, 1);
  world.fill(0, 0, 2000, 8);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 2000));
  world.pair.run_until_idle();
  const auto naks = answers_of(world, AethClass::kNak);
  ASSERT_EQ(naks.size(), 1u);
  EXPECT_EQ(naks[0].roce.bth.psn, 102u);
  EXPECT_TRUE(world.holds(1, 8192, 2000, 8));
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
  EXPECT_EQ(world.pair.engine(0).counters().requests_resent, 6u);  // PSN 102 to 107 of 100 to 107.
  // What is sent again keeps its PSN and goes on as Middle and Last: one First with its RETH is enough.
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcWriteFirst).size(), 1u);
  EXPECT_EQ(world.completions(0).size(), 1u);
}

// --- Duplicates ---

// IBTA vol 1 9.7.5.1.3: a duplicate WRITE is not executed; its ACK carries the newest PSN, not its own.
TEST(RoceReliability, DuplicateWriteIsAnsweredWithTheNewestPsn) {
  RocePair world(small_packets());
  world.watch();
  world.fill(0, 0, 64, 1);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64));
  world.pair.run_until_idle();
  const wire::Packet first = world.sent_of(RoceOpcode::kRcWriteOnly).at(0);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64));
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64));
  world.pair.run_until_idle();
  world.pair.memory(1).store64(RocePair::kBase + 8192, 99);
  const std::vector<std::byte> bytes(64, std::byte{7});
  wire::Packet duplicate = first;
  duplicate.payload = wire::bytes_payload(bytes);
  world.sent.clear();
  world.pair.inject(1, duplicate);
  ASSERT_EQ(world.sent.size(), 1u);
  EXPECT_EQ(world.sent[0].roce.bth.psn, 102u);
  EXPECT_EQ(world.sent[0].roce.ack.aeth.msn, 3u);
  EXPECT_EQ(world.pair.memory(1).load64(RocePair::kBase + 8192), 99u);
}

// Linux rdma_rxe behaviour: a READ is asked for again from the first missing packet, with its address moved
// on.
TEST(RoceReliability, LostReadDataIsAskedForFromWhereItIsMissing) {
  RocePair world(small_packets());
  world.watch();
  world.lose = lose_nth(RoceOpcode::kRcReadResponseMiddle, 1);
  world.fill(1, 4096, 2000, 5);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, 2000));
  world.pair.run_until_idle();
  const auto requests = world.sent_of(RoceOpcode::kRcReadRequest);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].roce.bth.psn, 102u);
  EXPECT_EQ(requests[1].roce.reth.address, RocePair::kBase + 4096 + 512);
  EXPECT_EQ(requests[1].roce.reth.length, 2000u - 512u);
  EXPECT_TRUE(world.holds(0, 0, 2000, 5));
  EXPECT_EQ(world.pair.engine(0).counters().implied_naks, 1u);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
}

// IBTA vol 1 9.7.5.1.3: a repeated READ outside the original is not answered; one inside reads memory again.
TEST(RoceReliability, DuplicateReadReadsAgainInsideTheOriginalOnly) {
  RocePair world(small_packets());
  world.watch();
  world.fill(1, 4096, 600, 5);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, 600));
  world.pair.run_until_idle();
  wire::Packet again = world.sent_of(RoceOpcode::kRcReadRequest).at(0);
  world.sent.clear();
  const std::uint64_t reads = world.pair.memory(1).count(engine::AccessKind::kRead);
  world.pair.inject(1, again);
  world.pair.run_until_idle();
  EXPECT_EQ(world.pair.memory(1).count(engine::AccessKind::kRead), reads + 3);
  world.sent.clear();
  for (int change = 0; change < 4; ++change) {
    wire::Packet wrong = again;
    if (change == 0) wrong.roce.reth.length += 1;
    if (change == 1) wrong.roce.reth.address -= 1;
    if (change == 2) wrong.roce.reth.remote_key += 1;
    if (change == 3) wrong.roce.bth.psn = wire::psn_subtract(wrong.roce.bth.psn, 1);
    world.pair.inject(1, wrong);
    world.pair.run_until_idle();
    EXPECT_TRUE(world.sent.empty()) << change;
  }
}

// IBTA vol 1 9.7.5.1.3: an atomic is executed once; a duplicate gets the saved value.
TEST(RoceReliability, DuplicateAtomicGetsTheSavedValue) {
  RocePair world(small_packets());
  world.watch();
  world.lose = lose_nth(RoceOpcode::kRcAtomicAcknowledge, 0);
  verbs::WorkRequest add = world.request(Verb::kFetchAdd, 0, 0, 8);
  add.operand[0] = 5;
  world.pair.post(0, 0, add);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).at(0).atomic_result[0], 0u);
  EXPECT_EQ(world.pair.memory(1).load64(RocePair::kBase), 5u);
  const auto answers = world.sent_of(RoceOpcode::kRcAtomicAcknowledge);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].roce.ack.atomic_original, 0u);
  // Only max_read_atomic results are kept: an older duplicate is dropped.
  const wire::Packet oldest = world.sent_of(RoceOpcode::kRcFetchAdd).at(0);
  for (int count = 0; count < 16; ++count) world.pair.post(0, 0, add);
  world.pair.run_until_idle();
  world.sent.clear();
  world.pair.inject(1, oldest);
  world.pair.run_until_idle();
  EXPECT_TRUE(world.sent.empty());
  EXPECT_EQ(world.pair.memory(1).load64(RocePair::kBase), 85u);
}

// IBTA vol 1 9.7.5.2.4: an ACK beyond an unanswered READ is an implied NAK.
TEST(RoceReliability, AckBeyondAnUnansweredReadIsAnImpliedNak) {
  RocePair world(small_packets());
  world.watch();
  world.lose = lose_nth(RoceOpcode::kRcReadResponseOnly, 0);
  world.fill(1, 4096, 64, 5);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, 64));
  world.pair.post(0, 0, world.request(Verb::kWrite, 128, 8192, 64));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 2u);
  EXPECT_EQ(world.completions(0).at(0).verb, Verb::kRead);
  EXPECT_TRUE(world.holds(0, 0, 64, 5));
  EXPECT_EQ(world.pair.engine(0).counters().implied_naks, 1u);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 0u);
}

// --- Receiver not ready ---

// IBTA vol 1 9.7.5.2.8 and table 45: wait the coded time, then send from the refused PSN.
TEST(RoceReliability, WaitsAsLongAsTheReceiverAsks) {
  RoceConfig config = small_packets();
  config.min_rnr_timer = 14;  // 1.28 ms.
  RocePair world(config);
  world.watch();
  world.fill(0, 0, 600, 2);
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 600));
  world.pair.run_to(microseconds(100));
  const auto naks = answers_of(world, AethClass::kReceiverNotReady);
  ASSERT_EQ(naks.size(), 1u);
  EXPECT_EQ(naks[0].roce.ack.aeth.value(), 14u);
  EXPECT_EQ(naks[0].roce.bth.psn, 100u);
  world.pair.post_receive(1, 0, world.receive(8192, 600));
  EXPECT_EQ(world.pair.run_until([&] { return !world.completions(0).empty(); }), RunEnd::kDone);
  // 100 ns there, 100 ns back, 1.28 ms, and once more there and back.
  EXPECT_EQ(world.pair.now(), microseconds(1280) + nanoseconds(400));
  EXPECT_TRUE(world.completions(0).at(0).ok());
  EXPECT_TRUE(world.holds(1, 8192, 600, 2));
}

TEST(RoceReliability, GivesUpOnAReceiverThatNeverGetsReady) {
  RoceConfig config = small_packets();
  config.rnr_retry = 2;
  config.min_rnr_timer = 1;
  RocePair world(config);
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(0).at(0).status, CompletionStatus::kReceiverNotReady);
  EXPECT_EQ(world.pair.engine(0).counters().rnr_naks_received, 3u);
}

// IBTA vol 1 9.7.5.2.8: the retries are those of one request: progress brings them back.
TEST(RoceReliability, ProgressRefillsTheRetriesOfAReceiverThatIsNotReady) {
  RoceConfig config = small_packets();
  config.rnr_retry = 1;
  config.min_rnr_timer = 1;
  RocePair world(config);
  for (std::uint64_t message = 1; message <= 4; ++message) {
    world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
    const auto refused = [&] { return world.pair.engine(0).counters().rnr_naks_received == message; };
    ASSERT_EQ(world.pair.run_until(refused), RunEnd::kDone) << message;
    world.pair.post_receive(1, 0, world.receive(4096, 64));
    const auto ended = [&] { return world.completions(0).size() == message; };
    ASSERT_EQ(world.pair.run_until(ended), RunEnd::kDone) << message;
    EXPECT_TRUE(world.completions(0).back().ok()) << message;
  }
}

// A NAK that is repeated begins no further episode: it spends no retry and sends nothing again. [Linux
// rdma_rxe behaviour]
TEST(RoceReliability, ARepeatedNakSpendsNoRetry) {
  RoceConfig config = small_packets();
  config.retry_count = 1;
  RocePair world(config);
  world.watch();
  std::uint32_t lost = 0;
  world.lose = [&](const wire::Packet& packet) {
    return packet.source.number == 0 && packet.roce.bth.psn == 101 && lost++ == 0;
  };
  world.fill(0, 0, 1000, 3);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 1000));
  const auto naked = [&] { return world.pair.engine(0).counters().sequence_naks_received == 1; };
  ASSERT_EQ(world.pair.run_until(naked), RunEnd::kDone);
  wire::Packet nak;
  for (const wire::Packet& packet : answers_of(world, AethClass::kNak)) nak = packet;
  for (int copy = 0; copy < 5; ++copy) world.pair.inject(0, nak);
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.pair.engine(0).counters().sequence_naks_received, 6u);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_TRUE(world.holds(1, 8192, 1000, 3));
}

// --- Timer and retries ---

// IBTA vol 1 9.7.6.1.3: 4.096 us * 2^n; retry_cnt tries, then the request fails and the rest is flushed.
TEST(RoceReliability, RetriesExhaustedAreReported) {
  RoceConfig config = small_packets();
  config.retry_count = 3;
  RocePair world(config);
  world.pair.host(1).plugged = false;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 2u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.completions(0)[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 4u);
  EXPECT_EQ(world.pair.now(), ack_timeout_duration(4) * 4);
  EXPECT_EQ(world.pair.host(0).events.at(0).kind, engine::AsyncEventKind::kPeerUnreachable);
  EXPECT_EQ(world.pair.engine(0).deadline(), kNever);
}

TEST(RoceReliability, TimeoutDoublesUpToTheBackoffLimit) {
  RoceConfig config = small_packets();
  config.retry_count = 4;
  config.backoff_limit = 2;
  RocePair world(config);
  world.pair.host(1).plugged = false;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.run_until_idle();
  EXPECT_EQ(world.pair.now(), ack_timeout_duration(4) * (1 + 2 + 4 + 4 + 4));
}

TEST(RoceReliability, UnlimitedRetriesOutlastAnyOutage) {
  RoceConfig config = small_packets();
  config.unlimited_retries = true;
  RocePair world(config);
  world.pair.host(1).plugged = false;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.run_to(seconds(1));
  EXPECT_TRUE(world.completions(0).empty());
  world.pair.host(1).plugged = true;
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_TRUE(world.completions(0).at(0).ok());
}

// Progress refills the retries: a message of many packets survives more losses than retry_cnt.
TEST(RoceReliability, ProgressRefillsTheRetries) {
  RoceConfig config = small_packets();
  config.retry_count = 1;
  config.window_packets = 1;
  RocePair world(config);
  world.watch();
  world.lose = [seen = std::vector<wire::Psn>{}](const wire::Packet& packet) mutable {
    if (packet.source.number != 0) return false;
    for (const wire::Psn psn : seen) {
      if (psn == packet.roce.bth.psn) return false;
    }
    seen.push_back(packet.roce.bth.psn);  // Every packet is lost once.
    return true;
  };
  world.fill(0, 0, 4000, 4);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 4000));
  world.pair.run_until_idle();
  EXPECT_TRUE(world.completions(0).at(0).ok());
  EXPECT_TRUE(world.holds(1, 8192, 4000, 4));
  EXPECT_EQ(world.pair.engine(0).counters().timeouts, 16u);
}

// --- Windows, credits, acknowledgements ---

// IBTA vol 1 9.4.4: at most max_rd_atomic READs and atomics outstanding; what is behind waits.
TEST(RoceReliability, LimitsOutstandingReads) {
  RoceConfig config = small_packets();
  config.max_read_atomic = 2;
  RocePair world(config);
  world.watch();
  for (int count = 0; count < 5; ++count) world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64));
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcReadRequest).size(), 2u);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 5u);
}

// IBTA vol 1 9.7.7.2: without credit one packet goes and must be acknowledged.
TEST(RoceReliability, HonoursFiniteCredits) {
  RoceConfig crediting = small_packets();
  crediting.advertise_credits = true;
  RocePair world(small_packets(), crediting, {});
  world.watch();
  for (int count = 0; count < 3; ++count) world.pair.post_receive(1, 0, world.receive(8192, 64));
  world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  world.pair.run_until_idle();
  EXPECT_EQ(world.sent.back().roce.ack.aeth.value(), 2u);
  world.sent.clear();
  for (int count = 0; count < 5; ++count) world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64));
  // Two have credit, the third goes without.
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcSendOnly).size(), 3u);
  for (int count = 0; count < 3; ++count) world.pair.post_receive(1, 0, world.receive(8192, 64));
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 6u);
  EXPECT_EQ(credits_of_code(credit_code_for(5)), 4u);
  EXPECT_EQ(credits_of_code(credit_code_for(100000)), 32768u);
}

// IBTA vol 1 9.7.5.1.2: acknowledgements may be merged; with acknowledge_every_request there is one per
// request.
TEST(RoceReliability, MergesAcknowledgementsUnlessTold) {
  for (const bool every : {false, true}) {
    RoceConfig config = small_packets();
    config.acknowledge_every_request = every;
    test::EnginePairOptions options;
    options.packet_interval = nanoseconds(500);
    RocePair world(small_packets(), config, options);
    world.watch();
    // The acknowledgements wait behind ten packets of READ data.
    world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 2560));
    for (int count = 0; count < 5; ++count) world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 8));
    world.pair.run_until_idle();
    EXPECT_EQ(world.completions(0).size(), 6u);
    const std::size_t acknowledgements = world.sent_of(RoceOpcode::kRcAcknowledge).size();
    EXPECT_TRUE(every ? acknowledgements == 5 : acknowledgements < 5) << acknowledgements;
  }
}

// --- Packets that are not for us ---

// Linux rdma_rxe behaviour: what fails before the transport's checks is dropped without an answer. Each has a
// counter.
TEST(RoceReliability, CountsWhatItDrops) {
  RocePair world(small_packets());
  world.watch();
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 0));
  const wire::Packet good = world.sent.at(0);
  world.pair.run_until_idle();
  world.sent.clear();
  RoceEngine& engine = world.pair.engine(1);
  const auto drops = [&](auto change, const std::uint64_t Counters::*counter) {
    wire::Packet packet = good;
    change(packet);
    const std::uint64_t before = engine.counters().*counter;
    world.pair.inject(1, packet);
    EXPECT_EQ(engine.counters().*counter, before + 1);
    EXPECT_TRUE(world.sent.empty());
  };
  drops([](wire::Packet& packet) { packet.protocol = wire::Protocol::kUb; }, &Counters::dropped_foreign);
  drops([](wire::Packet& packet) { packet.destination = {5}; }, &Counters::dropped_foreign);
  drops([](wire::Packet& packet) { packet.roce.bth.opcode = RoceOpcode{0x15}; },
        &Counters::dropped_unknown_opcode);
  drops([](wire::Packet& packet) { packet.roce.bth.opcode = RoceOpcode::kUdSendOnly; },
        &Counters::dropped_service);
  drops([](wire::Packet& packet) { packet.roce.bth.opcode = RoceOpcode::kUcWriteOnly; },
        &Counters::dropped_service);
  drops([](wire::Packet& packet) { packet.roce.bth.version = 1; }, &Counters::dropped_version);
  drops([](wire::Packet& packet) { packet.roce.bth.destination_queue_pair = 0; },
        &Counters::dropped_unknown_queue);
  drops([](wire::Packet& packet) { packet.roce.bth.destination_queue_pair = 900; },
        &Counters::dropped_unknown_queue);
  drops([](wire::Packet& packet) { packet.source = {7}; }, &Counters::dropped_wrong_source);
  drops([](wire::Packet& packet) { packet.roce.bth.partition_key = 0x8001; }, &Counters::dropped_partition);
  drops([](wire::Packet& packet) { packet.roce.bth.partition_key = 0; }, &Counters::dropped_partition);
  drops([](wire::Packet& packet) { packet.trim = wire::TrimState::kTrimmed; }, &Counters::dropped_oversized);
  drops([](wire::Packet& packet) { packet.roce.bth.opcode = RoceOpcode::kCnp; },
        &Counters::congestion_notifications);
  drops(
      [](wire::Packet& packet) {
        packet.roce.bth.opcode = RoceOpcode::kRcAcknowledge;
        packet.roce.ack = {};
      },
      &Counters::dropped_stale_response);
}

}  // namespace
}  // namespace wharf::roce
